//! Memory for one group of vectors: on the GPU, and page-locked memory of the CPU beside it.

use std::sync::Arc;

use cudarc::driver::sys::CUresult;
use cudarc::driver::{CudaSlice, CudaStream, DriverError, PinnedHostSlice};

/// The most memory of the GPU, in bytes: enough for 128 vectors and a matrix of half a million
/// rows.
const MOST_BYTES: usize = 1 << 30;
/// Most vectors of a group: a grid has at most 65,535 blocks in its second direction.
const MOST_VECTORS: usize = 1 << 12;
/// Share of the GPU's memory, if that is less.
const SHARE: usize = 16;

/// Memory that all groups use in turn. That of the GPU is taken once; that of the CPU grows with
/// the groups.
pub(crate) struct Workspace {
    /// Words of 64 bits on the GPU.
    pub(crate) device: CudaSlice<u64>,
    host: Option<PinnedHostSlice<u64>>,
}

impl Workspace {
    /// Takes the memory of a GPU that has `total` bytes.
    ///
    /// # Errors
    /// The driver's.
    pub(crate) fn new(stream: &Arc<CudaStream>, total: usize) -> Result<Self, DriverError> {
        let words = MOST_BYTES.min(total / SHARE) / size_of::<u64>();
        Ok(Self {
            device: stream.alloc_zeros(words)?,
            host: None,
        })
    }

    /// The largest group, of at most `most` vectors, whose words fit the memory of the GPU.
    ///
    /// # Errors
    /// A lack of memory if not even one vector fits.
    pub(crate) fn fitting(
        &self,
        most: usize,
        words: impl Fn(usize) -> usize,
    ) -> Result<usize, DriverError> {
        (1..=most.min(MOST_VECTORS))
            .rev()
            .find(|&count| words(count) <= self.device.len())
            .ok_or(DriverError(CUresult::CUDA_ERROR_OUT_OF_MEMORY))
    }

    /// Takes page-locked memory of `words` words. Its contents are arbitrary.
    ///
    /// # Errors
    /// The driver's.
    pub(crate) fn lock(&mut self, stream: &CudaStream, words: usize) -> Result<(), DriverError> {
        if self.host.as_ref().is_none_or(|host| host.len() < words) {
            // Freed first, so that the old and the new memory are not held together.
            self.host = None;

            // SAFETY: the words are plain numbers, and written before they are read.
            let host = unsafe {
                stream
                    .context()
                    .alloc_pinned_with_flags(words.next_power_of_two(), 0)?
            };
            self.host = Some(host);
        }
        Ok(())
    }

    /// The page-locked memory, after [`Self::lock`], and the memory of the GPU.
    ///
    /// # Errors
    /// The driver's.
    pub(crate) fn parts(&mut self) -> Result<(&mut [u64], &mut CudaSlice<u64>), DriverError> {
        let host = match &mut self.host {
            Some(host) => host.as_mut_slice()?,
            None => &mut [],
        };
        Ok((host, &mut self.device))
    }
}
