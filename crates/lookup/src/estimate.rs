//! Estimated sizes of tables, and choice of bucket lengths.

use papir_core::Error as CoreError;

use crate::dimensions::{BucketTarget, DEFAULT_BUCKET_BYTES, Dimensions, Lengths, MAX_VALUE_BYTES};
use crate::error::{Error, Result};
use crate::layout::{LAYOUT_HEADER_BYTES, PILOT_BYTES};
use crate::weights::MANY_SLOTS;

/// The estimated size of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// Number of buckets, which are the scheme's records.
    pub records: u64,
    /// Length of a bucket in bytes. It is exact.
    pub record_bytes: u64,
    /// Length in bytes of the layout, which clients fetch once.
    pub layout_bytes: u64,
    /// Number of records that every lookup fetches. It is exact.
    pub lookups: u64,
}

impl Estimate {
    /// Estimates the table for values of these lengths.
    ///
    /// # Errors
    /// [`CoreError::EmptyDatabase`] without values, [`CoreError::OutOfBounds`] for a value longer
    /// than [`MAX_VALUE_BYTES`], or an invalid bucket length.
    pub fn of(lengths: &Lengths, target: BucketTarget) -> Result<Self> {
        if lengths.count == 0 {
            return Err(CoreError::EmptyDatabase.into());
        }
        if lengths.longest > MAX_VALUE_BYTES {
            let expected = format!("at most {MAX_VALUE_BYTES}");
            let what = "the length of a value in bytes";
            return Err(CoreError::out_of_bounds(what, lengths.longest as u64, expected).into());
        }

        let Dimensions {
            format,
            bucket_bytes,
            lookups,
        } = Dimensions::choose(target, lengths)?;

        // Cut values have an entry for each chunk.
        let entries = lengths.count.saturating_mul(lookups.into());
        let headers = entries.saturating_mul(format.header_bytes() as u64);
        let bytes = headers.saturating_add(lengths.total);
        let least = bytes.div_ceil(bucket_bytes.into()).max(1);
        let slots = (f64::from(bucket_bytes) * entries as f64 / bytes as f64).max(1.0);

        // A single bucket holds all entries in any arrangement.
        let records = if least == 1 {
            1
        } else {
            (least as f64 * (1.0 + slack(slots))).ceil() as u64
        };
        let pilots = if slots >= MANY_SLOTS {
            records.div_ceil(16)
        } else {
            ((entries as f64 / (4.0 + 1.5 * slots)) as u64).saturating_add(1)
        };
        let layout_bytes = (LAYOUT_HEADER_BYTES as u64)
            .saturating_add((PILOT_BYTES as u64).saturating_mul(pilots));

        Ok(Self {
            records,
            record_bytes: bucket_bytes.into(),
            layout_bytes,
            lookups: lookups.into(),
        })
    }
}

/// Fraction by which the number of buckets may differ between the estimate and the table, or
/// between placement seeds. Numbers in labels of parameters depend on it.
pub const LABEL_SLACK: f64 = 0.2;
/// Bucket lengths in bytes that are compared, the default first.
const BUCKET_BYTES: [u32; 6] = [DEFAULT_BUCKET_BYTES, 8, 32, 256, 1024, 16384];
/// Fraction of the default length's cost below which another length is chosen.
const CLEARLY_LESS: f64 = 0.95;

/// Chooses the length of a table's buckets for a scheme: the default, unless the scheme does not
/// support it or another length costs clearly less. `target` maps a length to a bucket target, and
/// `cost` returns the cost of a lookup in a table of an estimated size.
///
/// # Errors
/// The errors of [`Estimate::of`]. If `cost` fails for all lengths, its error for the shortest
/// bucket.
pub fn choose_bucket(
    lengths: &Lengths,
    target: impl Fn(u32) -> BucketTarget,
    cost: impl Fn(&Estimate) -> Result<f64>,
) -> Result<BucketTarget> {
    let mut best: Option<(f64, BucketTarget)> = None;
    let mut refused: Option<(u64, Error)> = None;
    let mut seen = Vec::new();

    // The default comes first and counts for less, so that another must cost clearly less.
    let mut share = CLEARLY_LESS;
    for bytes in BUCKET_BYTES {
        let target = target(bytes);
        let estimate = Estimate::of(lengths, target)?;
        // Several targets may lead to one length, of which one cost is enough.
        if seen.contains(&estimate.record_bytes) {
            continue;
        }
        seen.push(estimate.record_bytes);

        match cost(&estimate) {
            Ok(cost) => {
                if best.is_none_or(|(least, _)| share * cost < least) {
                    best = Some((share * cost, target));
                }
            }
            Err(error) => {
                let found = estimate.record_bytes;
                if refused.as_ref().is_none_or(|(least, _)| found < *least) {
                    refused = Some((found, error));
                }
            }
        }
        share = 1.0;
    }

    match (best, refused) {
        (Some((_, target)), _) => Ok(target),
        (None, Some((_, error))) => Err(error),
        (None, None) => Ok(BucketTarget::default()),
    }
}

/// Estimates the table of these lengths whose buckets [`choose_bucket`] chooses.
///
/// # Errors
/// The errors of [`choose_bucket`].
pub fn least_table(
    lengths: &Lengths,
    target: impl Fn(u32) -> BucketTarget,
    cost: impl Fn(&Estimate) -> Result<f64>,
) -> Result<Estimate> {
    let chosen = choose_bucket(lengths, target, cost)?;
    Estimate::of(lengths, chosen)
}

/// The estimated fraction of additional buckets above the minimum number that could hold all
/// entries. It is small if one entry fills a bucket, or if a bucket holds hundreds of entries and
/// its load varies little. Fitted to tables of 20,000 keys.
fn slack(slots: f64) -> f64 {
    (0.01 + 0.012 * slots).min(1.15 / slots.sqrt()).min(0.165)
}
