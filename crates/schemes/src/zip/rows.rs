//! Rows of ZipPIR in the list of schemes.

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
                "a0f2f98c6c102d42",
                "d825d53cc83d0ef6",
                "0891b39d9e60e2e6",
                "e963e580febd6918",
                "e88fa9d76041765d",
                "ab7db4ea54b022ba",
                "780b40b52b1f0f43",
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
                "f18899f419c42ba1",
                "efe5b43b3d5c1ea0",
                "e999f7a24088c0c8",
                "7240407bdc808177",
                "ab2948ea1b3e026b",
                "f926134d511642c6",
                "a8406ff6da23cefa",
            ],
        },
    };
}
