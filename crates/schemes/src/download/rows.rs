//! Rows of trivial PIR in the list of schemes.

use super::Download;
use crate::rows::{FailureRow, GoldenRow, ListedScheme, SchemeRows, SuiteRow, SuiteShapes};

impl ListedScheme for Download {
    const ROWS: SchemeRows = SchemeRows {
        paper: "none: trivial PIR",
        purpose: "Small databases: clients fetch all records once per version, compressed, and each of \
            them has the whole database",
        assumption: "none: a query does not depend on the index",
        quick: SuiteRow::QUICK,
        long: SuiteRow::LONG,
        failure: Some(FailureRow::Any(SuiteShapes::TIGHT_BYTES)),
        golden: GoldenRow {
            records: 300,
            record_bytes: 100,
            hashes: &[
                "b55136e61fe28dde",
                "a898731f82ff1354",
                "a7a909778d4b4ca5",
                "75be635aa0bcfa15",
            ],
        },
    };
}
