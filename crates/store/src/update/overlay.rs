//! Records with changes and additions laid over them.

use papir_core::{Change, Records, Result, Shape, check_read};

/// Records of another source, some of them changed. A record is a whole number of bytes.
pub(super) struct Overlay<'a> {
    below: &'a dyn Records,
    shape: Shape,
    /// Ascending by index, at most one per record. Changes beyond the records below add records.
    changes: &'a [Change],
}

impl<'a> Overlay<'a> {
    /// Applies changes to the records below. The result has `records` records. The changes ascend,
    /// and each is as long as a record.
    pub(super) fn new(below: &'a dyn Records, records: u64, changes: &'a [Change]) -> Result<Self> {
        Ok(Self {
            below,
            shape: Shape::new(records, below.shape().record_bits())?,
            changes,
        })
    }
}

impl Records for Overlay<'_> {
    fn shape(&self) -> Shape {
        self.shape
    }

    fn read_packed(&self, first: u64, count: u64, out: &mut [u8]) -> Result<()> {
        check_read(&self.shape, first, count, out.len())?;
        let length = self.shape.record_bytes();
        let end = first + count;

        // A range may begin below and end in the added records.
        let below = end.min(self.below.shape().records()).saturating_sub(first);
        let (old, new) = out.split_at_mut(below as usize * length);
        if below > 0 {
            self.below.read_packed(first, below, old)?;
        }

        // Each added record has a change, which is written below. A gap would read as zeros, and
        // not as what was in the buffer.
        new.fill(0);
        // Changes ascend: a setup reads range after range, and would look through all of them each
        // time.
        let start = self.changes.partition_point(|change| change.index < first);
        let changes = self.changes[start..].iter();
        for change in changes.take_while(|change| change.index < end) {
            let position = (change.index - first) as usize * length;
            out[position..position + length].copy_from_slice(&change.record);
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use papir_core::RecordBuffer;

    use super::*;

    #[test]
    fn changed_and_new_records_are_read_in_every_range() {
        let records: Vec<[u8; 2]> = (0..7).map(|i| [i, i + 100]).collect();
        let below = RecordBuffer::from_records(&records).unwrap();
        let change = |index: u64| Change {
            index,
            record: vec![index as u8, 255],
        };
        let changes: Vec<Change> = [0, 3, 6, 7, 8].map(change).to_vec();
        let overlay = Overlay::new(&below, 9, &changes).unwrap();

        let expected = |i: u64| match i {
            0 | 3 | 6 | 7 | 8 => [i as u8, 255],
            _ => [i as u8, i as u8 + 100],
        };

        for first in 0..9 {
            for count in 0..=9 - first {
                let mut out = vec![9; 2 * count as usize];
                overlay.read_packed(first, count, &mut out).unwrap();
                assert_eq!(
                    out,
                    (first..first + count)
                        .flat_map(expected)
                        .collect::<Vec<_>>()
                );
            }
        }

        assert_eq!(
            overlay.read_packed(8, 2, &mut [0; 4]).unwrap_err().code(),
            "index_out_of_range"
        );
    }
}
