//! Rows of the scheme without privacy in the list of schemes.

use super::Plain;
use crate::rows::{GoldenRow, ListedScheme, SchemeRows, SuiteRow};

impl ListedScheme for Plain {
    const ROWS: SchemeRows = SchemeRows {
        paper: "none",
        purpose: "For tests: **not private**, and refused without an explicit acknowledgement",
        assumption: "none: not private, and served only with an explicit acknowledgement",
        quick: SuiteRow::QUICK,
        long: SuiteRow::LONG,
        failure: None,
        golden: GoldenRow {
            records: 300,
            record_bytes: 100,
            hashes: &[
                "cf1d2208917d2cbd",
                "9e88a044a7165120",
                "ff2959613d2711f0",
                "bb907b20a503d025",
            ],
        },
    };
}
