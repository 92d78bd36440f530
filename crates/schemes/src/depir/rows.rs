//! Rows of doubly-efficient PIR in the list of schemes.

use super::Depir;
use crate::rows::{FailureRow, GoldenRow, ListedScheme, SchemeRows, SuiteRow, SuiteShapes};

/// Few entries of 16 bits: a query works on every entry in each of thousands of slots.
const FEW_ENTRIES: SuiteShapes = SuiteShapes {
    shapes: &[(1, 1), (3, 3), (2, 33), (40, 8), (61, 24)],
    thorough: &[(57, 16)],
};

const MORE_ENTRIES: SuiteShapes = SuiteShapes {
    shapes: &[
        (1, 1),
        (4093, 1),
        (1009, 13),
        (1021, 8),
        (2, 256),
        (509, 24),
        (300, 40),
    ],
    thorough: &[(257, 3), (211, 16)],
};

impl ListedScheme for Depir {
    const ROWS: SchemeRows = SchemeRows {
        paper: "Doubly-efficient PIR (Okada, Player, Pohmann, Weinert)",
        purpose: "Thousands of lookups at once in a small database, of up to 2²⁸ records of 32 bytes: \
            one query holds up to 32,768 indices, and one evaluation answers them all. The \
            server's time is linear in the database",
        assumption: "ring-LWE over Z_Q[X]/(Xⁿ + 1) with a ternary secret, fresh for each query",
        quick: SuiteRow::QUICK.only(FEW_ENTRIES).damaged_at(4),
        long: SuiteRow::LONG.only(MORE_ENTRIES),
        failure: Some(FailureRow::DefaultOnly("moments")),
        golden: GoldenRow {
            records: 200,
            record_bytes: 16,
            hashes: &[
                "ccda0b0eadc4fc6c",
                "bd84cb3600a81294",
                "80076540f3fe094a",
                "46a74d858c80a988",
            ],
        },
    };
}
