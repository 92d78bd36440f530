//! Cache-line-aligned bytes on the heap or in a mapped file, writable by their owner or shared.

use std::marker::PhantomData;
use std::ops::{Deref, Range};
use std::sync::Arc;

use bytemuck::{AnyBitPattern, NoUninit, Pod, Zeroable};

use crate::{Error, Result};

/// One cache line, whose type aligns the bytes of [`AlignedMemory::Heap`].
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(64))]
struct CacheLine([u8; 64]);

/// Writable bytes of a mapped file.
pub trait MappedBytes: AsRef<[u8]> + AsMut<[u8]> + Send + Sync {}

impl<T: AsRef<[u8]> + AsMut<[u8]> + Send + Sync> MappedBytes for T {}

/// Writable bytes that start on a 64-byte boundary. A clone is on the heap.
pub struct AlignedBytes(AlignedMemory);

enum AlignedMemory {
    Heap {
        lines: Vec<CacheLine>,
        length: usize,
    },
    Mapped(Box<dyn MappedBytes>),
}

impl AlignedBytes {
    /// `length` zero bytes on the heap.
    pub fn zeroed(length: usize) -> Self {
        Self(AlignedMemory::Heap {
            lines: vec![CacheLine([0; 64]); length.div_ceil(64)],
            length,
        })
    }

    /// The bytes of a mapped file.
    ///
    /// # Errors
    /// [`Error::Malformed`] if they do not start on a 64-byte boundary in memory.
    pub fn mapped(bytes: impl MappedBytes + 'static) -> Result<Self> {
        // Kernels load whole cache lines, none of which may straddle two.
        check_alignment(bytes.as_ref())?;
        Ok(Self(AlignedMemory::Mapped(Box::new(bytes))))
    }

    /// Returns true if the bytes are in a mapped file.
    pub fn is_mapped(&self) -> bool {
        matches!(self.0, AlignedMemory::Mapped(_))
    }

    /// A copy of `bytes`.
    pub fn copy_of(bytes: &[u8]) -> Self {
        let (lines, tail) = bytes.split_at(bytes.len() / 64 * 64);

        if let (Ok(lines), []) = (bytemuck::try_cast_slice(lines), tail) {
            // Whole aligned lines, as in a blob, are copied without zeroing the memory first.
            return Self(AlignedMemory::Heap {
                lines: lines.to_vec(),
                length: bytes.len(),
            });
        }

        let mut copy = Self::zeroed(bytes.len());
        copy.bytes_mut().copy_from_slice(bytes);
        copy
    }

    /// The bytes, writable.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        match &mut self.0 {
            AlignedMemory::Heap { lines, length } => {
                &mut bytemuck::cast_slice_mut(lines.as_mut_slice())[..*length]
            }
            AlignedMemory::Mapped(bytes) => (**bytes).as_mut(),
        }
    }

    /// The bytes as a slice of numbers, without a tail too short for a number.
    pub fn slice_mut<T: AnyBitPattern + NoUninit>(&mut self) -> &mut [T] {
        let bytes = self.bytes_mut();
        // `cast_slice_mut` panics on a tail.
        let whole = bytes.len() / size_of::<T>() * size_of::<T>();
        bytemuck::cast_slice_mut(&mut bytes[..whole])
    }
}

impl AsRef<[u8]> for AlignedBytes {
    fn as_ref(&self) -> &[u8] {
        match &self.0 {
            AlignedMemory::Heap { lines, length } => {
                &bytemuck::cast_slice(lines.as_slice())[..*length]
            }
            AlignedMemory::Mapped(bytes) => (**bytes).as_ref(),
        }
    }
}

impl Clone for AlignedBytes {
    fn clone(&self) -> Self {
        Self::copy_of(self.as_ref())
    }
}

fn check_alignment(bytes: &[u8]) -> Result<()> {
    if bytes.is_empty() || (bytes.as_ptr() as usize).is_multiple_of(64) {
        return Ok(());
    }
    Err(Error::malformed(
        "a shared range",
        "an unaligned address",
        "a 64-byte boundary",
    ))
}

/// Shared immutable bytes, cheap to clone. Starts on a 64-byte boundary.
#[derive(Clone)]
pub struct Blob {
    owner: Arc<dyn AsRef<[u8]> + Send + Sync>,
    range: Range<usize>,
}

impl Blob {
    /// The bytes of `owner` in `range`, without a copy.
    ///
    /// # Errors
    /// [`Error::Length`] if the range exceeds the owner's bytes, [`Error::Malformed`] if it does
    /// not start on a 64-byte boundary in memory.
    pub fn part_of(owner: Arc<dyn AsRef<[u8]> + Send + Sync>, range: Range<usize>) -> Result<Self> {
        let all = (*owner).as_ref();
        let Some(bytes) = all.get(range.clone()) else {
            return Err(Error::Length {
                what: "a shared range",
                found: all.len() as u64,
                expected: range.end as u64,
            });
        };

        check_alignment(bytes)?;
        Ok(Self { owner, range })
    }

    /// A copy of `bytes` on the heap.
    pub fn copy_of(bytes: &[u8]) -> Self {
        AlignedBytes::copy_of(bytes).into()
    }

    /// The bytes in `range`, without a copy.
    ///
    /// # Errors
    /// [`Error::Length`] if the range exceeds these bytes, [`Error::Malformed`] if it does not
    /// start on a 64-byte boundary in memory.
    pub fn slice(&self, range: Range<usize>) -> Result<Self> {
        // Before the offset is added: the end of this blob need not be that of its owner.
        if range.end > self.len() || range.start > range.end {
            let found = self.len() as u64;
            let expected = range.end as u64;
            return Err(Error::Length {
                what: "a shared range",
                found,
                expected,
            });
        }

        let [start, end] = [range.start, range.end].map(|at| self.range.start + at);
        Self::part_of(self.owner.clone(), start..end)
    }

    /// The bytes as numbers of type `T`; `what` names them in errors.
    ///
    /// # Errors
    /// [`Error::Length`] if the number of bytes is not a multiple of the size of `T`.
    pub fn slice_of<T: AnyBitPattern>(&self, what: &'static str) -> Result<&[T]> {
        // An empty blob may have any address, also one where no `T` can be.
        if self.is_empty() {
            return Ok(&[]);
        }
        bytemuck::try_cast_slice(self).map_err(|_| Error::Length {
            what,
            found: self.len() as u64,
            expected: (self.len() / size_of::<T>() * size_of::<T>()) as u64,
        })
    }
}

/// A blob checked once to contain a whole number of values of type `T`.
#[derive(Clone, Debug)]
pub struct BlobSlice<T> {
    blob: Blob,
    numbers: PhantomData<fn() -> T>,
}

impl<T: AnyBitPattern> BlobSlice<T> {
    /// Checks that a blob contains whole values of type `T`; `what` names it in errors.
    ///
    /// # Errors
    /// The errors of [`Blob::slice_of`].
    pub fn new(blob: Blob, what: &'static str) -> Result<Self> {
        // Checked once, since `deref` cannot report an error.
        blob.slice_of::<T>(what)?;
        Ok(Self {
            blob,
            numbers: PhantomData,
        })
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.blob
    }

    /// Returns the blob itself.
    pub fn into_blob(self) -> Blob {
        self.blob
    }
}

impl<T: AnyBitPattern> Deref for BlobSlice<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // Length and alignment were checked by the constructor, so the empty default is never used.
        self.blob.slice_of("a checked blob").unwrap_or_default()
    }
}

impl From<AlignedBytes> for Blob {
    fn from(bytes: AlignedBytes) -> Self {
        let range = 0..bytes.as_ref().len();
        Self {
            owner: Arc::new(bytes),
            range,
        }
    }
}

impl Deref for Blob {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &(*self.owner).as_ref()[self.range.clone()]
    }
}

impl std::fmt::Debug for Blob {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Blob({} bytes)", self.range.len())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_equal_and_aligned_for_every_source_alignment() {
        let bytes: Vec<u8> = (0..500).map(|i| (i * 7) as u8).collect();
        let aligned = AlignedBytes::copy_of(&bytes);

        for range in [
            0..0,
            0..64,
            0..448,
            64..192,
            0..500,
            1..65,
            1..500,
            449..500,
        ] {
            let copy = AlignedBytes::copy_of(&aligned.as_ref()[range.clone()]);
            assert!(copy.as_ref() == &bytes[range.clone()], "{range:?}");
            assert!(
                (copy.as_ref().as_ptr() as usize).is_multiple_of(64),
                "{range:?}"
            );
        }
    }

    #[test]
    fn slices_share_memory_and_stay_within_their_blob() {
        let all = Blob::copy_of(&(0..=255).collect::<Vec<u8>>());
        let half = all.slice(64..192).unwrap();
        assert_eq!(half.as_ptr(), all[64..].as_ptr());
        assert_eq!(half.slice(64..128).unwrap()[..2], [128, 129]);
        assert!(half.slice(0..0).unwrap().is_empty());
        assert!(matches!(
            half.slice(64..129),
            Err(Error::Length {
                found: 128,
                expected: 129,
                ..
            })
        ));
        assert!(matches!(half.slice(1..2), Err(Error::Malformed { .. })));
    }
}
