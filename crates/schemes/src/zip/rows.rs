//! Rows of ZipPIR.

use super::{Zip, ZipDouble};
use crate::rows::{FailureRow, GoldenRow, ListedScheme, SchemeRows, SuiteRow, SuiteShapes};

impl ListedScheme for Zip {
    const ROWS: SchemeRows = SchemeRows {
        paper: "ZipPIR (Akhavan Mahdavi, Diao, Kerschbaum)",
        purpose: "Clients that store nothing of the database and register 448 bytes once: the server \
            prepares a ticket for each query in idle time. Clients can send most of a lookup's \
            traffic ahead (`papir hold`)",
        assumption: "decisional composite residuosity modulo the client's own m of 3,072 bits (which must \
            not be factored); and module-LWE of rank 5 over Z_{2³²}[X]/(X²⁵⁶ + 1) with a binary \
            secret, fresh for each query",
        quick: SuiteRow::QUICK.only(SuiteShapes::ONE_SMALL),
        long: SuiteRow::SLOW.only(SuiteShapes::FEW_COLUMNS),
        failure: Some(FailureRow::Any(SuiteShapes::ONE_SMALL)),
        golden: GoldenRow {
            records: 300,
            record_bytes: 100,
            hashes: &[
                "d24df8c091f1c842",
                "5ea2f3daec1d748b",
                "7ed81b7004913a99",
                "fb8c883dd83a3661",
                "157f37fbba95681e",
                "a5c5df98d6921989",
                "20d69d9588bce35d",
            ],
        },
    };
}

impl ListedScheme for ZipDouble {
    const ROWS: SchemeRows = SchemeRows {
        paper: "ZipPIR on DoublePIR (its section 6)",
        purpose: "The same for records of 1 bit to 8 bytes: a ticket takes seconds, whatever the size \
            of the database",
        assumption: "those of `zip` for the second level's key, and those of `double` for the first \
            level's",
        quick: SuiteRow::QUICK.only(SuiteShapes::ONE_SHORT),
        long: SuiteRow::LONG.only(SuiteShapes::ONE_SMALL),
        failure: Some(FailureRow::Any(SuiteShapes::ONE_SHORT)),
        golden: GoldenRow {
            records: 300,
            record_bytes: 1,
            hashes: &[
                "e0d4ebd8cfb32ceb",
                "f54abcc4a3e2f05a",
                "e0caff141e8de144",
                "0d738169398f0f3b",
                "4306fe3b8b3e380f",
                "f33d62ef183c7b91",
                "658d5617148e0a56",
            ],
        },
    };
}
