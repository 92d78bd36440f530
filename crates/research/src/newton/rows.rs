//! Rows of NewtonPIR.

use papir_schemes::batched::rows::ListedBucket;
use papir_schemes::rows::{GoldenRow, ListedScheme, SchemeRows, SuiteRow, SuiteShapes};

use super::{Newton, NewtonBucket, Registered, Symmetric};

impl ListedScheme for Newton<Registered> {
    const ROWS: SchemeRows = SchemeRows {
        paper: "NewtonPIR (Lu, Qu)",
        purpose: "**Not private**: [its queries reveal their index](notes/newtonpir.md), as \
            `papir attack newton` shows. For comparison only, behind `--insecure-newton`",
        assumption: "none: not private, contrary to its paper ([why](notes/newtonpir.md)); a server or a \
            client needs an explicit acknowledgement",
        quick: SuiteRow::QUICK.only(SuiteShapes::ONE_SMALL),
        long: SuiteRow::LONG.only(SuiteShapes::FEW_COLUMNS),
        failure: None,
        golden: GoldenRow {
            records: 300,
            record_bytes: 300,
            hashes: &[
                "50ac0782672f3bb9",
                "7fe560c7fb805b7f",
                "e84c13cf9f1757c0",
                "9372765298834280",
                "bd1325e54c894125",
                "0ccc8d7c389046ff",
                "93460cb0763c02d5",
            ],
        },
    };
}

impl ListedScheme for Newton<Symmetric> {
    const ROWS: SchemeRows = SchemeRows {
        paper: "NewtonPIR (Lu, Qu, section 4.3)",
        purpose: "The same with one public modulus: **not private** either",
        assumption: "none: as `newton`",
        quick: SuiteRow::QUICK.only(SuiteShapes::ONE_SMALL),
        long: SuiteRow::LONG.only(SuiteShapes::FEW_COLUMNS),
        failure: None,
        golden: GoldenRow {
            records: 300,
            record_bytes: 300,
            hashes: &[
                "086b2f4f723232aa",
                "6703e2883adb43fa",
                "48a9fe0e2e1808b9",
                "145fee9f51640f1d",
            ],
        },
    };
}

impl ListedBucket for NewtonBucket {
    const BATCHED_ROWS: SchemeRows = SchemeRows {
        paper: "Probabilistic batch codes (Angel, Chen, Laine, Setty 2018) over `newtonsym`",
        purpose: "Many records in one query, **not private** either",
        assumption: "none: as `newton`, for each bucket's query",
        quick: SuiteRow::QUICK.only(SuiteShapes::ONE_SMALL),
        long: SuiteRow::LONG.only(SuiteShapes::FEW_COLUMNS),
        failure: None,
        golden: GoldenRow {
            records: 300,
            record_bytes: 300,
            hashes: &[
                "3d92ff908c7b2674",
                "80ad93af77ea71a7",
                "bbd51780ef6d3c89",
                "875525e678a87727",
            ],
        },
    };
}
