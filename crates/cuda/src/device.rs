//! A GPU as a device.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use papir_core::Result;
use papir_core::device::{Device, DeviceMemory, HeldMatrix, HeldPacks, Packs, TileShape, Tiles};

use crate::gpu::{Gpu, OnFailure};
use crate::matrix::Matrix;
use crate::polynomials::GpuPacks;

/// Beginning of a GPU's name, before its number.
const PREFIX: &str = "cuda:";
/// Copies that are timed together.
const COPIES: usize = 20;
/// Memory that a database takes beside its matrices: tiles on their way, masks and last digits.
const BESIDE_BYTES: u64 = 192 << 20;
const GIB: f64 = (1u64 << 30) as f64;

/// Error from [`Cuda::open`]: no GPU with this number can be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CudaError {
    /// The GPU's name, as in cuda:0.
    pub device: String,
    /// The missing library, or the driver's words.
    pub reason: String,
}

impl fmt::Display for CudaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.device, self.reason)
    }
}

impl std::error::Error for CudaError {}

/// A GPU. Products take turns on it.
pub struct Cuda(Arc<Gpu>);

impl Cuda {
    /// Opens a GPU by its name, as in cuda:0.
    ///
    /// # Errors
    /// [`CudaError`] for another name, and the errors of [`Cuda::open`].
    pub fn by_name(name: &str, on_failure: OnFailure) -> Result<Self, CudaError> {
        match name.strip_prefix(PREFIX).map(str::parse::<u16>) {
            Some(Ok(ordinal)) => Self::open(ordinal.into(), on_failure),
            _ => {
                let reason = "no such device: expected cuda:0, or another number".to_owned();
                Err(CudaError {
                    device: name.to_owned(),
                    reason,
                })
            }
        }
    }

    /// Opens the GPU with this number, compiles the kernels for it and takes a workspace of its
    /// memory.
    ///
    /// # Errors
    /// [`CudaError`] if CUDA's driver or NVRTC is not installed, or the GPU does not exist, is too
    /// old or fails.
    pub fn open(ordinal: usize, on_failure: OnFailure) -> Result<Self, CudaError> {
        let device = format!("{PREFIX}{ordinal}");
        match Gpu::open(&device, ordinal, on_failure) {
            Ok(gpu) => Ok(Self(Arc::new(gpu))),
            Err(reason) => Err(CudaError { device, reason }),
        }
    }

    /// Bytes that a copy within the GPU's memory reads and writes in a second: the rate that
    /// products of one vector are compared with.
    ///
    /// # Errors
    /// [`papir_core::Error::Device`].
    pub fn bandwidth(&self) -> Result<f64> {
        self.0.run(|gpu, workspace| {
            let words = workspace.device.len() / 2;
            let (from, mut to) = workspace.device.split_at_mut(words);
            let from = from.as_view().slice(..words);

            // The first copy warms up, and the stream is empty before the clock starts.
            gpu.stream.memcpy_dtod(&from, &mut to)?;
            gpu.stream.synchronize()?;

            let started = Instant::now();
            for _ in 0..COPIES {
                gpu.stream.memcpy_dtod(&from, &mut to)?;
            }
            gpu.stream.synchronize()?;

            Ok((2 * COPIES * words * size_of::<u64>()) as f64 / started.elapsed().as_secs_f64())
        })
    }

    /// Checks that the memory suffices for these matrices.
    fn check_memory<const N: usize>(&self, shapes: [TileShape; N]) -> Result<()> {
        let needed = shapes.map(Matrix::bytes).iter().sum::<u64>() + BESIDE_BYTES;
        let free = self.memory()?.free;
        if needed <= free {
            return Ok(());
        }

        let [needed, free] = [needed, free].map(|bytes| bytes as f64 / GIB);
        Err(self.0.error(format!(
            "{free:.2} GiB of its memory are free: the matrices take {needed:.2} GiB"
        )))
    }
}

impl fmt::Debug for Cuda {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cuda({})", self.0.name)
    }
}

impl Device for Cuda {
    fn name(&self) -> &str {
        &self.0.name
    }

    fn is_lost(&self) -> bool {
        self.0.is_lost()
    }

    fn memory(&self) -> Result<DeviceMemory> {
        self.0.memory()
    }

    fn bytes(&self, shape: TileShape) -> u64 {
        Matrix::bytes(shape)
    }

    fn hold(&self, tiles: Tiles<'_>) -> Result<Arc<dyn HeldMatrix>> {
        self.check_memory([tiles.shape()])?;
        Ok(Arc::new(Matrix::copy(&self.0, tiles)?))
    }

    fn hold_packs(&self, packs: &Packs<'_>) -> Result<Option<Arc<dyn HeldPacks>>> {
        self.check_memory([packs.selected.shape(), packs.packing.shape()])?;
        Ok(GpuPacks::copy(&self.0, packs)?.map(|held| Arc::new(held) as _))
    }
}
