//! Rows of SimplePIR in the list of schemes.

use super::Simple;
use crate::rows::{FailureRow, GoldenRow, ListedScheme, SchemeRows, SuiteRow, SuiteShapes};

impl ListedScheme for Simple {
    const ROWS: SchemeRows = SchemeRows {
        paper: "SimplePIR (Henzinger et al. 2023)",
        purpose: "The smallest real scheme: clients download a hint once per version",
        assumption: "ring-LWE over Z_{2³²}[X]/(X¹⁰²⁴ + 1), with the reference string's masks fixed for a \
            database version and a fresh secret for each query",
        quick: SuiteRow::QUICK,
        long: SuiteRow::LONG,
        failure: Some(FailureRow::Any(SuiteShapes::TIGHT)),
        golden: GoldenRow {
            records: 300,
            record_bytes: 100,
            hashes: &[
                "342220a974949318",
                "73da9048b3ffd664",
                "b025cef06fc9370b",
                "cf91cb61452522ce",
            ],
        },
    };
}
