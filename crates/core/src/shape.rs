//! Number and length of a database's records.

use crate::{Error, Result};

/// Maximum number of records: 2⁴⁰. All records together then have fewer than 2⁶² bits, a number of
/// 64 bits.
pub const MAX_RECORDS: u64 = 1 << 40;
/// Maximum length of a record in bits: 260 KiB. That is a value of 256 KiB and 4 KiB, one ring
/// element of InsPIRe, for the bytes around it: the header of a keyword table's entry and the proof
/// of a verifiable database.
pub const MAX_RECORD_BITS: u64 = 260 * 1024 * 8;

/// Length of a record in bits above which classes of lengths are multiples of it: 4 KiB.
const CLASS_BITS: u64 = 4096 * 8;

/// The shape of a database: `records` records of `record_bits` bits each.
///
/// Records shorter than a byte are allowed. A record of b bits occupies the low b bits of ⌈b/8⌉
/// bytes, least significant bit first. The other bits are zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    records: u64,
    record_bits: u64,
}

impl Shape {
    /// A shape of `records` records of `record_bits` bits.
    ///
    /// # Errors
    /// [`Error::EmptyDatabase`] for zero records, [`Error::OutOfBounds`] for more than
    /// [`MAX_RECORDS`] records or a length outside 1 to [`MAX_RECORD_BITS`].
    pub fn new(records: u64, record_bits: u64) -> Result<Self> {
        if records == 0 {
            return Err(Error::EmptyDatabase);
        }
        if records > MAX_RECORDS {
            return Err(Error::out_of_bounds(
                "the number of records",
                records,
                "at most 2^40",
            ));
        }

        if record_bits == 0 || record_bits > MAX_RECORD_BITS {
            let expected = "1 bit to 2129920 bits (260 KiB)";
            return Err(Error::out_of_bounds(
                "the record length in bits",
                record_bits,
                expected,
            ));
        }

        Ok(Self {
            records,
            record_bits,
        })
    }

    /// A shape with records of whole bytes.
    ///
    /// # Errors
    /// The errors of [`Shape::new`].
    pub fn of_bytes(records: u64, record_bytes: u64) -> Result<Self> {
        // Saturated, a length that does not fit is refused below as too long.
        let bits = record_bytes.saturating_mul(8);
        Self::new(records, bits)
    }

    /// The number of records.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// The length of a record in bits.
    pub fn record_bits(&self) -> u64 {
        self.record_bits
    }

    /// The length of a record in bytes: ⌈bits/8⌉.
    pub fn record_bytes(&self) -> usize {
        self.record_bits.div_ceil(8) as usize
    }

    /// The length in bytes, rounded up, of all records packed without gaps.
    pub fn total_bytes(&self) -> u64 {
        let bits = u128::from(self.records) * u128::from(self.record_bits);
        u64::try_from(bits.div_ceil(8)).unwrap_or(u64::MAX)
    }

    /// The largest shape of the same class: the number of records rounded up to a power of two, and
    /// the length of a record to a power of two or, above 4 KiB, to a multiple of 4 KiB.
    ///
    /// Choices by the class stay the same while a database grows within it.
    #[must_use]
    pub fn class(&self) -> Self {
        // Both bounds are powers of two, or multiples of 4 KiB, so that a class keeps them.
        let record_bits = match self.record_bits {
            short @ ..=CLASS_BITS => short.next_power_of_two(),
            long => long.next_multiple_of(CLASS_BITS),
        };
        Self {
            records: self.records.next_power_of_two(),
            record_bits,
        }
    }

    /// Checks that a record with this index exists.
    ///
    /// # Errors
    /// [`Error::IndexOutOfRange`] if it does not.
    pub fn check_index(&self, index: u64) -> Result<()> {
        if index < self.records {
            return Ok(());
        }
        Err(Error::IndexOutOfRange {
            found: index,
            records: self.records,
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_reached_from_below_and_are_their_own() {
        for (records, bits, class) in [
            (1, 1, (1, 1)),
            (3, 3, (4, 4)),
            (30_000, 8 * 200, (1 << 15, 8 * 256)),
            (1 << 40, 8 * 4096, (1 << 40, 8 * 4096)),
            (5, 8 * 4097, (8, 8 * 8192)),
            (5, 8 * 20_000, (8, 8 * 20_480)),
            (9, MAX_RECORD_BITS, (16, MAX_RECORD_BITS)),
        ] {
            let found = Shape::new(records, bits).unwrap().class();
            assert_eq!((found.records(), found.record_bits()), class);
            assert_eq!(found.class(), found);
            assert!(Shape::new(class.0, class.1).is_ok());
        }
    }

    #[test]
    fn limits_are_enforced_and_the_largest_shape_fits_64_bits() {
        let largest = Shape::new(1 << 40, MAX_RECORD_BITS).unwrap();
        assert_eq!(largest.record_bytes(), 266_240);
        assert_eq!(largest.total_bytes(), 266_240 << 40);
        let bits = largest.records().checked_mul(largest.record_bits());
        assert!(bits.is_some_and(|bits| bits < 1 << 62), "{bits:?}");
        assert!(
            largest.check_index((1 << 40) - 1).is_ok() && largest.check_index(1 << 40).is_err()
        );

        for (records, bits) in [((1 << 40) + 1, 1), (0, 1), (1, 0), (1, 2_129_921)] {
            assert!(Shape::new(records, bits).is_err(), "{records} × {bits}");
        }

        let error = Shape::of_bytes(1, 266_241).unwrap_err().to_string();
        assert!(
            error.contains("2129928") && error.contains("2129920 bits (260 KiB)"),
            "{error}"
        );

        let error = Shape::new(5_000_000_000_000, 8).unwrap_err().to_string();
        assert!(
            error.contains("5000000000000") && error.contains("2^40"),
            "{error}"
        );
    }
}
