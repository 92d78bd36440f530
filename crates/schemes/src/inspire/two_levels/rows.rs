//! Rows of InsPIRe(2) in the list of schemes.

use super::Inspire2;
use crate::rows::{FailureRow, GoldenRow, ListedScheme, SchemeRows, SuiteRow, SuiteShapes};

/// Largest record length in bits, 2 KiB. It is the limit of InsPIRe(2).
const LONGEST: u64 = 16_384;

impl ListedScheme for Inspire2 {
    const ROWS: SchemeRows = SchemeRows {
        paper: "InsPIRe⁽²⁾ (Mahdavi, Patel, Seo, Yeo 2025, section 5)",
        purpose: "The least traffic for records up to 2 KiB in databases of more than about 100 MiB; \
            local updates",
        assumption: "ring-LWE and circular security, as `inspire`: one packing key for each distinct γ",
        quick: SuiteRow::SLOW.up_to(LONGEST),
        long: SuiteRow::LONG.up_to(LONGEST),
        failure: Some(FailureRow::Any(SuiteShapes::TIGHT)),
        golden: GoldenRow {
            records: 300,
            record_bytes: 100,
            hashes: &[
                "4452f60a760702b4",
                "5704e27ae82f624c",
                "ccacbbea4bc34982",
                "cc11595840262dca",
            ],
        },
    };
}
