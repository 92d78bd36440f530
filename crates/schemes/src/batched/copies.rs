//! The records of one bucket, read from the records of the database.

use papir_core::{Record, RecordBuffer, Records, Result, Shape, check_read};

use super::code::{Code, Place};

/// What one bucket holds: copies, and zeros where it has no record's.
pub(super) struct Copies<'a> {
    pub(super) records: &'a RecordBuffer,
    pub(super) code: &'a Code,
    pub(super) bucket: usize,
    pub(super) shape: Shape,
}

impl Copies<'_> {
    /// The copy at a position; none at the end of some buckets.
    fn copy(&self, position: u64) -> Result<Option<Record>> {
        let record = self.code.record_at(Place { bucket: self.bucket, position });
        record.map(|index| self.records.get(index)).transpose()
    }
}

impl Records for Copies<'_> {
    fn shape(&self) -> Shape {
        self.shape
    }

    fn read_packed(&self, first: u64, count: u64, out: &mut [u8]) -> Result<()> {
        check_read(&self.shape, first, count, out.len())?;
        if count == 0 {
            return Ok(());
        }
        let mut packed = RecordBuffer::zeroed(Shape::new(count, self.shape.record_bits())?);
        for i in 0..count {
            if let Some(record) = self.copy(first + i)? {
                packed.set(i, &record)?;
            }
        }
        out.copy_from_slice(packed.packed());
        Ok(())
    }
}
