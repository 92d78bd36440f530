//! Rows of InsPIRe in the list of schemes.

use super::Inspire;
use crate::rows::{FailureRow, GoldenRow, ListedScheme, SchemeRows, SuiteRow, SuiteShapes};

impl ListedScheme for Inspire {
    const ROWS: SchemeRows = SchemeRows {
        paper: "InsPIRe (Mahdavi, Patel, Seo, Yeo 2025, section 6)",
        purpose: "The reference: no hint to download, no keys kept by the server, records of 1 bit to \
            260 KiB, and clients see little besides their record",
        assumption: "ring-LWE over R_q, as `simple`; and circular security: packing keys encrypt τ(s), \
            RGSW rows encrypt s·m, under s",
        quick: SuiteRow::QUICK,
        long: SuiteRow::LONG,
        failure: Some(FailureRow::Any(SuiteShapes {
            shapes: &[(4093, 1), (5, 32_776)],
            thorough: &[(211, 264)],
        })),
        golden: GoldenRow {
            records: 300,
            record_bytes: 100,
            hashes: &[
                "e13a2d782ecef174",
                "59af3859c39dd6db",
                "02c1751d4efdb473",
                "684b789789db8e66",
            ],
        },
    };
}
