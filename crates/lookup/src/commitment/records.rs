//! Records with proofs, and plain records read back from them.

use papir_core::{Error, Records, Result, Shape, check_read};

use super::commit::{Commitment, proof_bytes};
use super::tree::RecordTree;

/// Records, each followed by its proof, for a scheme to prepare.
pub struct ProvenRecords<'a> {
    records: &'a dyn Records,
    tree: RecordTree,
    shape: Shape,
}

impl<'a> ProvenRecords<'a> {
    /// Reads all records, and makes the tree over them, which needs 64 bytes of memory per record.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] for records that are not a whole number of bytes, or too long with
    /// their proofs; the errors of the source.
    pub fn new(records: &'a dyn Records) -> Result<Self> {
        let plain = records.shape();
        let bytes = plain.record_bytes() + proof_bytes(plain.records());
        let tree = RecordTree::of(records)?;
        Ok(Self {
            records,
            tree,
            shape: Shape::of_bytes(plain.records(), bytes as u64)?,
        })
    }

    /// The commitment to the records.
    pub fn commitment(&self) -> Commitment {
        Commitment {
            shape: self.records.shape(),
            top: self.tree.top(),
        }
    }

    /// Writes the records from `first` on to `out`, each followed by its proof.
    fn write(&self, first: u64, out: &mut [u8]) -> Result<()> {
        let record_bytes = self.records.shape().record_bytes();
        let proven_bytes = self.shape.record_bytes();
        let count = out.len() / proven_bytes;
        let mut records = vec![0; count * record_bytes];
        self.records
            .read_packed(first, count as u64, &mut records)?;

        let pairs = records
            .chunks_exact(record_bytes)
            .zip(out.chunks_exact_mut(proven_bytes));
        for (index, (record, out)) in (first..).zip(pairs) {
            let (place, proof) = out.split_at_mut(record_bytes);
            place.copy_from_slice(record);
            self.tree.write_proof(index, proof);
        }
        Ok(())
    }
}

impl Records for ProvenRecords<'_> {
    fn shape(&self) -> Shape {
        self.shape
    }

    fn read_packed(&self, first: u64, count: u64, out: &mut [u8]) -> Result<()> {
        check_read(&self.shape, first, count, out.len())?;
        // Records without their proofs need a buffer of their own, which a step bounds.
        let step = step(self.shape.record_bytes());
        let parts = out.chunks_mut(step * self.shape.record_bytes());
        for (first, out) in (first..).step_by(step).zip(parts) {
            self.write(first, out)?;
        }
        Ok(())
    }
}

/// The records of a prepared verifiable database without their proofs.
pub struct PlainRecords<'a> {
    proven: &'a dyn Records,
    shape: Shape,
}

impl<'a> PlainRecords<'a> {
    /// The records of a database with this commitment, from its prepared records.
    ///
    /// # Errors
    /// [`Error::Malformed`] if the shapes differ.
    pub fn new(proven: &'a dyn Records, commitment: &Commitment) -> Result<Self> {
        let shape = *commitment.shape();
        let found = proven.shape();
        let bytes = shape.record_bytes() + proof_bytes(shape.records());
        let expected = Shape::of_bytes(shape.records(), bytes as u64)?;
        if found != expected {
            let found = shape_words(&found);
            let expected = shape_words(&expected);
            return Err(Error::malformed("a verifiable database", found, expected));
        }
        Ok(Self { proven, shape })
    }

    /// Reads the records from `first` on into `out`, without their proofs.
    fn read(&self, first: u64, out: &mut [u8]) -> Result<()> {
        let record_bytes = self.shape.record_bytes();
        let proven_bytes = self.proven.shape().record_bytes();
        let count = out.len() / record_bytes;
        let mut proven = vec![0; count * proven_bytes];
        self.proven.read_packed(first, count as u64, &mut proven)?;

        let pairs = out
            .chunks_exact_mut(record_bytes)
            .zip(proven.chunks_exact(proven_bytes));
        for (out, proven) in pairs {
            out.copy_from_slice(&proven[..record_bytes]);
        }
        Ok(())
    }
}

impl Records for PlainRecords<'_> {
    fn shape(&self) -> Shape {
        self.shape
    }

    fn read_packed(&self, first: u64, count: u64, out: &mut [u8]) -> Result<()> {
        check_read(&self.shape, first, count, out.len())?;
        // Records with their proofs need a buffer of their own, which a step bounds.
        let step = step(self.proven.shape().record_bytes());
        let parts = out.chunks_mut(step * self.shape.record_bytes());
        for (first, out) in (first..).step_by(step).zip(parts) {
            self.read(first, out)?;
        }
        Ok(())
    }
}

/// A shape in words, for an error.
fn shape_words(shape: &Shape) -> String {
    let records = shape.records();
    let bits = shape.record_bits();
    format!("{records} records of {bits} bits")
}

/// Number of records that are read at a time: about a megabyte.
fn step(record_bytes: usize) -> usize {
    ((1 << 20) / record_bytes).max(1)
}
