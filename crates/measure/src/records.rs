//! Benchmark records: public pseudo-random bytes, generated on the fly.

use papir_core::{Error, Records, Result, Shape};
use papir_ring::prg::Seed;

/// Seed of all benchmark databases: digits of π as text.
const SEED: Seed = Seed(*b"3.141592653589793238462643383279");
/// Domain separation label of the records' bytes.
const LABEL: &str = "bench/records";

/// Source of records that are generated on demand. Record i is bits i·b to (i + 1)·b of one stream:
/// AES-128 in counter mode under a fixed seed. The source takes no memory, and every record can be
/// generated again for comparison.
#[derive(Clone, Copy, Debug)]
pub struct Synthetic {
    shape: Shape,
}

impl Synthetic {
    /// Creates records of whole bytes.
    ///
    /// # Errors
    /// The errors of [`Shape::of_bytes`].
    pub fn new(records: u64, record_bytes: u64) -> Result<Self> {
        Ok(Self {
            shape: Shape::of_bytes(records, record_bytes)?,
        })
    }

    /// Creates records of any length in bits.
    pub fn of(shape: Shape) -> Self {
        Self { shape }
    }
}

impl Records for Synthetic {
    fn shape(&self) -> Shape {
        self.shape
    }

    fn read_packed(&self, first: u64, count: u64, out: &mut [u8]) -> Result<()> {
        let last = first.saturating_add(count).saturating_sub(1);
        self.shape.check_index(last)?;

        let bits = self.shape.record_bits();
        if !(first * bits).is_multiple_of(8) {
            return Err(Error::malformed(
                "a packed read",
                format!("bit {}", first * bits),
                "a multiple of 8",
            ));
        }
        let length = (count * bits).div_ceil(8) as usize;
        Error::check_length("the buffer for packed records", out.len(), length)?;

        let mut stream = SEED.expand(LABEL, 0);
        stream.seek(first * bits / 8);
        stream.fill(out);

        // The stream has bits after the last record, and a packed read has zeros there.
        if let (Some(last), used @ 1..) = (out.last_mut(), (count * bits) % 8) {
            *last &= (1 << used) - 1;
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use papir_core::{extract_bits, read_record};

    use super::*;

    #[test]
    fn a_record_does_not_depend_on_the_read() {
        let source = Synthetic::new(1000, 37).unwrap();
        let mut all = vec![0; 37_000];
        source.read_packed(0, 1000, &mut all).unwrap();
        for index in [0, 1, 499, 999] {
            assert_eq!(
                read_record(&source, index).unwrap(),
                all[index as usize * 37..][..37]
            );
        }
        let ones: u32 = all.iter().map(|byte| byte.count_ones()).sum();
        assert!(
            (146_000..150_000).contains(&ones),
            "{ones} ones of 296000 bits are not random"
        );
    }

    #[test]
    fn records_are_consecutive_bits_of_the_stream() {
        let bytes = Synthetic::new(26, 1).unwrap();
        let mut stream = [0; 26];
        bytes.read_packed(0, 26, &mut stream).unwrap();

        for bits in [1, 2, 3, 13] {
            let source = Synthetic::of(Shape::new(16, bits).unwrap());
            for index in 0..16 {
                let expected = extract_bits(&stream, index * bits, bits);
                assert_eq!(
                    read_record(&source, index).unwrap(),
                    expected,
                    "record {index} of {bits} bits"
                );
            }

            let mut odd = vec![0; (3 * bits).div_ceil(8) as usize];
            source.read_packed(8, 3, &mut odd).unwrap();
            assert_eq!(
                odd,
                extract_bits(&stream, 8 * bits, 3 * bits),
                "{bits} bits"
            );
            assert!(matches!(
                source.read_packed(1, 1, &mut [0; 2]),
                Err(Error::Malformed { .. })
            ));
        }
    }

    #[test]
    fn reads_beyond_the_end_are_refused() {
        let source = Synthetic::new(10, 4).unwrap();
        assert!(matches!(
            source.read_packed(8, 3, &mut [0; 12]),
            Err(Error::IndexOutOfRange { .. })
        ));
        assert!(matches!(
            source.read_packed(8, 2, &mut [0; 7]),
            Err(Error::Length { .. })
        ));
    }
}
