//! Rows of the list of schemes for batches.

use super::{Batched, Bucket};
use crate::inspire::parts::InspireInParts;
use crate::rows::{FailureRow, GoldenRow, ListedScheme, SchemeRows, SuiteRow, SuiteShapes};
use crate::simple::Simple;

/// A bucket whose batches are in the list of schemes.
pub trait ListedBucket: Bucket {
    /// Rows for batches over the bucket.
    const BATCHED_ROWS: SchemeRows;
}

impl<S: ListedBucket> ListedScheme for Batched<S> {
    const ROWS: SchemeRows = S::BATCHED_ROWS;
}

impl ListedBucket for InspireInParts {
    const BATCHED_ROWS: SchemeRows = SchemeRows {
        paper: "Probabilistic batch codes (Angel, Chen, Laine, Setty 2018) over `inspire`",
        purpose: "Many records in one query: `papir build --batch K`",
        assumption: "those of `inspire`, with a selector for each bucket under one secret",
        quick: SuiteRow::QUICK.only(SuiteShapes::FEW_COLUMNS),
        long: SuiteRow::LONG.only(SuiteShapes::FEW_COLUMNS),
        failure: Some(FailureRow::Any(SuiteShapes::TIGHT_BYTES)),
        golden: GoldenRow {
            records: 300,
            record_bytes: 100,
            hashes: &[
                "989e3c45f15e0091",
                "96dda9da619aea48",
                "7d46094522ebbc1d",
                "9a2ac665057dd875",
            ],
        },
    };
}

impl ListedBucket for Simple {
    const BATCHED_ROWS: SchemeRows = SchemeRows {
        paper: "Probabilistic batch codes (Angel, Chen, Laine, Setty 2018) over `simple`",
        purpose: "The same over `simple`",
        assumption: "those of `simple`",
        quick: SuiteRow::QUICK.only(SuiteShapes::FEW_COLUMNS),
        long: SuiteRow::LONG,
        failure: Some(FailureRow::Any(SuiteShapes::TIGHT_BYTES)),
        golden: GoldenRow {
            records: 300,
            record_bytes: 100,
            hashes: &[
                "6043895078337c96",
                "d9117461c2cf0da8",
                "708897c397d5ffd1",
                "c44278ab284c31ba",
            ],
        },
    };
}
