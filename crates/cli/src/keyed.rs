//! Estimated size of a keyed table.

use papir_core::Error;
use papir_lookup::{LAYOUT_HEADER_BYTES, MAX_VALUE_BYTES, PILOT_BYTES};

use crate::failure::Failure;

/// Default size of a keyed table's buckets, in bytes.
const BUCKET_BYTES: u64 = 4096;
/// Bytes of the tag stored with each value.
const TAG_BYTES: u64 = 8;
/// With at least this many entries per bucket, 16 buckets share one pilot.
const MANY_SLOTS: u64 = 48;

/// The estimated size of a keyed table whose values all have one length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Estimate {
    /// Number of buckets, which are the scheme's records.
    pub(crate) records: u64,
    /// Bytes of a bucket.
    pub(crate) record_bytes: u64,
    /// Bytes of the layout that clients fetch once.
    pub(crate) layout_bytes: u64,
}

/// Estimates the table for `keys` keys with values of `value_bytes` bytes.
///
/// # Errors
/// There are no keys, or values are longer than a table supports.
pub(crate) fn estimate(keys: u64, value_bytes: u64) -> Result<Estimate, Failure> {
    if keys == 0 {
        return Err(Error::EmptyDatabase.into());
    }
    if value_bytes > MAX_VALUE_BYTES as u64 {
        let expected = format!("at most {MAX_VALUE_BYTES}");
        return Err(Error::out_of_bounds("the length of a value in bytes", value_bytes, expected).into());
    }
    let entry = TAG_BYTES + value_bytes;
    let slots = (BUCKET_BYTES / entry).clamp(1, keys);
    let least = keys.div_ceil(slots);
    let records = if least == 1 { 1 } else { (least as f64 * (1.0 + slack(slots))).ceil() as u64 };
    let pilots = if slots >= MANY_SLOTS {
        records.div_ceil(16)
    } else {
        (keys as f64 / (4.0 + 1.5 * slots as f64)) as u64 + 1
    };
    let layout_bytes = LAYOUT_HEADER_BYTES as u64 + PILOT_BYTES as u64 * pilots;
    Ok(Estimate { records, record_bytes: entry * slots, layout_bytes })
}

/// The fraction of buckets above the minimum number that could hold all entries. It is small if one
/// entry fills a bucket, or if a bucket holds hundreds of entries and its load varies little.
/// Fitted to tables of 20,000 keys.
fn slack(slots: u64) -> f64 {
    let slots = slots as f64;
    (0.01 + 0.012 * slots).min(1.15 / slots.sqrt()).min(0.165)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use papir_core::NoProgress;
    use papir_lookup::{Entry, TableOptions, build};

    use super::*;

    #[test]
    fn estimates_are_close_to_real_tables() {
        for (keys, length) in [(1, 5), (3000, 4), (20_000, 32), (20_000, 100), (20_000, 1500), (700, 9000)] {
            let entry = |i: u64| Entry { key: i.to_le_bytes().to_vec(), value: vec![1; length], line: i };
            let entries = (0..keys).map(entry).collect();
            let table = build(entries, &TableOptions::default(), &mut papir::system_rng(), &NoProgress);
            let report = table.unwrap().report;
            let found = estimate(keys, length as u64).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(found.record_bytes, report.record_bytes, "{keys} of {length}");
            let ratio = found.records as f64 / report.records as f64;
            assert!((0.85..1.2).contains(&ratio), "{keys} of {length}: {found:?} for {report:?}");
            let ratio = found.layout_bytes as f64 / report.layout_bytes as f64;
            assert!((0.6..1.6).contains(&ratio), "{keys} of {length}: {found:?} for {report:?}");
        }
    }

    #[test]
    fn unsupported_sizes_are_refused() {
        assert!(estimate(0, 8).is_err());
        let error = estimate(9, 65_537).err().unwrap().to_string();
        assert!(error.contains("65537") && error.contains("65536"), "{error}");
    }
}
