//! The records of a benchmark: public pseudo-random bytes that are made when they are read.

use papir_core::{Error, Record, Records, Result, Shape};
use papir_ring::prg::Seed;

/// The seed of all benchmark databases: the digits of π, as text.
const SEED: Seed = Seed(*b"3.141592653589793238462643383279");
/// Names these bytes among everything that a seed expands to.
const LABEL: &str = "bench/records";

/// Records that no memory holds: record i is bytes i·b to (i + 1)·b of one stream, AES-128 in
/// counter mode under a fixed seed. So a database of 1 GiB needs no second GiB beside it, and every
/// record can be made again to compare.
#[derive(Clone, Copy, Debug)]
pub struct Synthetic {
    shape: Shape,
}

impl Synthetic {
    /// Records of whole bytes.
    ///
    /// # Errors
    /// As [`Shape::of_bytes`].
    pub fn new(records: u64, record_bytes: u64) -> Result<Self> {
        Ok(Self { shape: Shape::of_bytes(records, record_bytes)? })
    }
}

impl Records for Synthetic {
    fn shape(&self) -> Shape {
        self.shape
    }

    fn read_packed(&self, first: u64, count: u64, out: &mut [u8]) -> Result<()> {
        let last = first.saturating_add(count).saturating_sub(1);
        self.shape.check_index(last)?;
        let bytes = self.shape.record_bytes();
        Error::check_length("the buffer for packed records", out.len(), count as usize * bytes)?;
        let mut stream = SEED.expand(LABEL, 0);
        stream.seek(first * bytes as u64);
        stream.fill(out);
        Ok(())
    }
}

/// One record of a source of whole bytes.
///
/// # Errors
/// As [`Records::read_packed`].
pub fn record(source: &dyn Records, index: u64) -> Result<Record> {
    let mut record = vec![0; source.shape().record_bytes()];
    source.read_packed(index, 1, &mut record)?;
    Ok(record)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_the_same_however_it_is_read() {
        let source = Synthetic::new(1000, 37).unwrap();
        let mut all = vec![0; 37_000];
        source.read_packed(0, 1000, &mut all).unwrap();
        for index in [0, 1, 499, 999] {
            assert_eq!(record(&source, index).unwrap(), all[index as usize * 37..][..37]);
        }
        let ones: u32 = all.iter().map(|byte| byte.count_ones()).sum();
        assert!((146_000..150_000).contains(&ones), "{ones} ones of 296000 bits are not random");
    }

    #[test]
    fn reads_beyond_the_end_are_refused() {
        let source = Synthetic::new(10, 4).unwrap();
        assert!(matches!(source.read_packed(8, 3, &mut [0; 12]), Err(Error::IndexOutOfRange { .. })));
        assert!(matches!(source.read_packed(8, 2, &mut [0; 7]), Err(Error::Length { .. })));
    }
}
