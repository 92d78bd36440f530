//! Rows of Pirouette over encrypted records in the list of schemes.

use super::Encrypted;
use crate::pirouette::Standard;
use crate::rows::{FailureRow, GoldenRow, ListedScheme, SchemeRows, SuiteRow, SuiteShapes};

impl ListedScheme for Encrypted<Standard> {
    const ROWS: SchemeRows = SchemeRows {
        paper: "Pirouette (Kang, Schild, section 4.2)",
        purpose: "Records that the service must not see either: [`papir build \
            --encrypt`](operate.md#records-that-the-service-must-not-see)",
        assumption: "those of `pirouette`, without those for digits; records are encrypted modulo 2¹⁶ \
            under the ring's key, which the owner and all clients share",
        quick: SuiteRow::QUICK.only(SuiteShapes::ONE_SMALL),
        long: SuiteRow::LONG.only(SuiteShapes::FEW_COLUMNS),
        failure: Some(FailureRow::DefaultOnly("expected variances")),
        golden: GoldenRow {
            records: 300,
            record_bytes: 100,
            hashes: &[
                "edc4cbdd71e6f218",
                "883ece240f085a4e",
                "e4c1774401d8eae1",
                "910c2c94be1177d1",
                "a55b150e4d795a2f",
                "ba6ae3b49179c779",
            ],
        },
    };
}
