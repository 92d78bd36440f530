//! Rows of packed DoublePIR in the list of schemes.

use super::{Inspire0, Ypir};
use crate::double::rows::MORE_SHORT_RECORDS;
use crate::rows::{FailureRow, GoldenRow, ListedScheme, SchemeRows, SuiteRow, SuiteShapes};

/// Shapes of short records. They are few, since these schemes take a good part of a second to
/// prepare a pack.
const FEW_SHORT_RECORDS: SuiteShapes = SuiteShapes {
    shapes: &[(1, 1), (3, 3), (4093, 1), (2, 40)],
    thorough: &[(257, 3)],
};

impl ListedScheme for Inspire0 {
    const ROWS: SchemeRows = SchemeRows {
        paper: "InsPIRe₀ (Mahdavi, Patel, Seo, Yeo 2025, section 4)",
        purpose: "Records of 1 bit to 8 bytes: the least server time without a hint of megabytes",
        assumption: "those of `double`'s first level and those of `inspire2`: a secret for each level",
        quick: SuiteRow::QUICK.only(FEW_SHORT_RECORDS),
        long: SuiteRow::LONG.only(MORE_SHORT_RECORDS),
        failure: Some(FailureRow::Any(SuiteShapes::TIGHT_SHORT)),
        golden: GoldenRow {
            records: 15_000,
            record_bytes: 2,
            hashes: &[
                "6038965689ee2877",
                "04935fdd5ae107f5",
                "4ab317373ec6e800",
                "f34c53b3e67830b2",
            ],
        },
    };
}

impl ListedScheme for Ypir {
    const ROWS: SchemeRows = SchemeRows {
        paper: "YPIR (Menon, Wu 2024)",
        purpose: "A baseline: DoublePIR with CDKS packing",
        assumption: "those of `double`'s first level and those of `simpleypir`: a secret for each level",
        quick: SuiteRow::QUICK.only(FEW_SHORT_RECORDS),
        long: SuiteRow::LONG.only(MORE_SHORT_RECORDS),
        failure: Some(FailureRow::Any(SuiteShapes::TIGHT_SHORT)),
        golden: GoldenRow {
            records: 15_000,
            record_bytes: 2,
            hashes: &[
                "0494fa107a7b3402",
                "99211ad629e0a8d6",
                "4060c8591e6250b7",
                "85b0a24785411668",
            ],
        },
    };
}
