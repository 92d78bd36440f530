//! Rows of DoublePIR in the list of schemes.

use super::Double;
use crate::rows::{FailureRow, GoldenRow, ListedScheme, SchemeRows, SuiteRow, SuiteShapes};

/// Shapes of records of at most 64 bits, the limit of DoublePIR.
///
/// The hint has 7 MiB for each byte of a record, so the thorough shapes have records of at most 16
/// bits.
pub const SHORT_RECORDS: SuiteShapes = SuiteShapes {
    shapes: &[
        (1, 1),
        (1, 8),
        (3, 3),
        (4093, 1),
        (1009, 13),
        (1021, 8),
        (2, 64),
        (509, 24),
    ],
    thorough: &[(257, 3), (211, 16)],
};

/// Shapes of [`SHORT_RECORDS`] and of larger databases.
pub(super) const MORE_SHORT_RECORDS: SuiteShapes = SuiteShapes {
    shapes: &[
        (1, 1),
        (1, 8),
        (3, 3),
        (4093, 1),
        (1009, 13),
        (1021, 8),
        (2, 64),
        (509, 24),
        (1_000_003, 1),
        (262_139, 8),
        (65_537, 64),
        (30_011, 63),
        (99_991, 33),
    ],
    thorough: &[(1, 8), (257, 3), (211, 16), (100_003, 5), (4099, 32)],
};

impl ListedScheme for Double {
    const ROWS: SchemeRows = SchemeRows {
        paper: "DoublePIR (Henzinger et al. 2023)",
        purpose: "Records of 1 bit to 8 bytes: a hint of 7 MiB per byte of a record, whatever the size \
            of the database",
        assumption: "those of `simple`; two sets of masks, two secrets for each query",
        quick: SuiteRow::QUICK.only(SHORT_RECORDS),
        long: SuiteRow::LONG.only(MORE_SHORT_RECORDS),
        failure: Some(FailureRow::Any(SuiteShapes {
            shapes: &[(509, 24)],
            thorough: &[(211, 16)],
        })),
        golden: GoldenRow {
            records: 15_000,
            record_bytes: 2,
            hashes: &[
                "7b3ee21c11fae3e8",
                "989ba0751d256cb6",
                "c6c96bad3abd827d",
                "76650034fb177d17",
            ],
        },
    };
}
