//! Rows of packed SimplePIR in the list of schemes.

use super::{Inspire1, SimpleYpir};
use crate::rows::{FailureRow, GoldenRow, ListedScheme, SchemeRows, SuiteRow, SuiteShapes};

/// Largest record length in bits, 64 KiB. SimpleYPIR keeps 100 MB for each 4 KiB of a record, and
/// the suite holds three servers at a time.
const LONGEST: u64 = 8 << 16;

impl ListedScheme for SimpleYpir {
    const ROWS: SchemeRows = SchemeRows {
        paper: "YPIR (Menon, Wu 2024), its variant on SimplePIR",
        purpose: "A baseline: SimplePIR with CDKS packing",
        assumption: "ring-LWE and circular security, as `inspire`: a CDKS key of log₂ d matrices",
        quick: SuiteRow::SLOW,
        long: SuiteRow::LONG.up_to(LONGEST),
        failure: Some(FailureRow::Any(SuiteShapes::TIGHT)),
        golden: GoldenRow {
            records: 300,
            record_bytes: 100,
            hashes: &[
                "a2f0ca32d9fc76de",
                "f3f8024e75301b37",
                "4d4c2e25a5aa98ef",
                "d46854e060d09986",
            ],
        },
    };
}

impl ListedScheme for Inspire1 {
    const ROWS: SchemeRows = SchemeRows {
        paper: "InsPIRe (Mahdavi, Patel, Seo, Yeo 2025), without its second step",
        purpose: "Long records in the fewest bytes: clients fetch the masks of answers once per version, \
            and an answer is 5/4 of its records",
        assumption: "ring-LWE and circular security, as `inspire`, with a ternary secret",
        quick: SuiteRow::QUICK,
        long: SuiteRow::LONG,
        failure: Some(FailureRow::Any(SuiteShapes::TIGHT)),
        golden: GoldenRow {
            records: 300,
            record_bytes: 100,
            hashes: &[
                "5bf06c1b8004c112",
                "c1ec2e8265b5ba9f",
                "7b403f47ce1b025e",
                "be853e0f68413f1c",
            ],
        },
    };
}
