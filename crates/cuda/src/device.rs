//! A GPU: found, opened, and lost.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use cudarc::driver::sys::{CUdevice_attribute, CUresult};
use cudarc::driver::{CudaContext, CudaStream, DriverError};
use papir_core::device::{Device, DeviceMemory, HeldMatrix, HeldPacks, Packs, TileShape, Tiles};
use papir_core::{Error, Result};

use crate::matrix::Matrix;
use crate::polynomials::GpuPacks;
use crate::program::Program;
use crate::workspace::Workspace;

/// Beginning of a GPU's name, before its number.
const PREFIX: &str = "cuda:";
/// Copies that are timed together.
const COPIES: usize = 20;
const GIB: f64 = (1u64 << 30) as f64;

/// Called once with the error after which a GPU is not used any more.
pub type OnLoss = Box<dyn Fn(&Error) + Send + Sync>;

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

/// What a GPU and the matrices in its memory share.
pub(crate) struct Gpu {
    pub(crate) name: String,
    pub(crate) context: Arc<CudaContext>,
    pub(crate) stream: Arc<CudaStream>,
    pub(crate) program: Program,
    pub(crate) multiprocessors: usize,
    workspace: Mutex<Workspace>,
    lost: AtomicBool,
    on_loss: OnLoss,
}

impl Cuda {
    /// Opens a GPU by its name, as in cuda:0.
    ///
    /// # Errors
    /// [`CudaError`] for another name, and the errors of [`Cuda::open`].
    pub fn by_name(name: &str, on_loss: OnLoss) -> Result<Self, CudaError> {
        match name.strip_prefix(PREFIX).map(str::parse) {
            Some(Ok(ordinal)) => Self::open(ordinal, on_loss),
            _ => {
                let reason = "no such device: expected cuda:0, or another number".to_owned();
                Err(CudaError { device: name.to_owned(), reason })
            }
        }
    }

    /// Opens the GPU with this number, compiles the kernels for it and takes a workspace of its memory.
    ///
    /// # Errors
    /// [`CudaError`] if CUDA's driver or NVRTC is not installed, or the GPU does not exist, is too old
    /// or fails.
    pub fn open(ordinal: usize, on_loss: OnLoss) -> Result<Self, CudaError> {
        let refused = |reason: String| CudaError { device: format!("{PREFIX}{ordinal}"), reason };
        check_libraries().map_err(refused)?;
        let failed = |error: DriverError| refused(shown(error));
        let context = CudaContext::new(ordinal).map_err(failed)?;
        let name = format!("{PREFIX}{ordinal} ({})", context.name().map_err(failed)?);
        let stream = context.default_stream();
        let program = Program::compile(&context).map_err(refused)?;
        let attribute = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT;
        let multiprocessors = context.attribute(attribute).map_err(failed)?.unsigned_abs() as usize;
        let (_, total) = context.mem_get_info().map_err(failed)?;
        let workspace = Mutex::new(Workspace::new(&stream, total).map_err(failed)?);
        let lost = AtomicBool::new(false);
        Ok(Self(Arc::new(Gpu { name, context, stream, program, multiprocessors, workspace, lost, on_loss })))
    }
}

impl Cuda {
    /// Bytes that a copy within the GPU's memory reads and writes in a second: the rate that products of one
    /// vector are compared with.
    ///
    /// # Errors
    /// [`Error::Device`].
    pub fn bandwidth(&self) -> Result<f64> {
        self.0.run(|gpu, workspace| {
            let words = workspace.device.len() / 2;
            let (from, mut to) = workspace.device.split_at_mut(words);
            let from = from.as_view().slice(..words);
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
}

impl Cuda {
    /// Checks that the memory suffices for these matrices.
    fn check_memory<const N: usize>(&self, shapes: [TileShape; N]) -> Result<()> {
        let needed: u64 = shapes.map(Matrix::bytes).iter().sum();
        let free = self.memory()?.free;
        if needed <= free {
            return Ok(());
        }
        let [needed, free] = [needed, free].map(|bytes| bytes as f64 / GIB);
        Err(self.0.error(format!("{free:.2} GiB of its memory are free: the matrices take {needed:.2} GiB")))
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
        self.0.lost.load(Ordering::Relaxed)
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

impl Gpu {
    fn memory(&self) -> Result<DeviceMemory> {
        // Memory of dropped matrices is given back at a synchronization.
        self.run(|gpu, _| {
            gpu.stream.synchronize()?;
            let (free, total) = gpu.context.mem_get_info()?;
            Ok(DeviceMemory { free: free as u64, total: total as u64 })
        })
    }

    /// Runs work on the GPU, one piece after another.
    ///
    /// # Errors
    /// [`Error::Device`] if the work fails, or if the GPU is lost.
    pub(crate) fn run<T>(
        &self,
        work: impl FnOnce(&Self, &mut Workspace) -> Result<T, DriverError>,
    ) -> Result<T> {
        let mut workspace = self.workspace();
        if self.lost.load(Ordering::Relaxed) {
            return Err(self.error("it is lost".to_owned()));
        }
        work(self, &mut workspace).map_err(|error| self.failed(error))
    }

    fn workspace(&self) -> MutexGuard<'_, Workspace> {
        self.workspace.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A failure other than a lack of memory is the last: CUDA's contexts do not recover from them.
    fn failed(&self, error: DriverError) -> Error {
        let out_of_memory = error.0 == CUresult::CUDA_ERROR_OUT_OF_MEMORY;
        let error = self.error(shown(error));
        if !out_of_memory && !self.lost.swap(true, Ordering::Relaxed) {
            (self.on_loss)(&error);
        }
        error
    }

    fn error(&self, reason: String) -> Error {
        Error::Device { device: self.name.clone(), reason }
    }
}

/// Checks that both libraries are found: without them, the first call would panic.
fn check_libraries() -> Result<(), String> {
    // SAFETY: both functions only look for a library.
    let found = unsafe { [cudarc::driver::sys::is_culib_present(), cudarc::nvrtc::sys::is_culib_present()] };
    match found {
        [true, true] => Ok(()),
        [false, _] => Err("CUDA's driver (libcuda) is not installed".to_owned()),
        [_, false] => Err("CUDA's run-time compiler (libnvrtc) is not installed".to_owned()),
    }
}

/// The driver's words for an error.
fn shown(error: DriverError) -> String {
    let words = error.error_string().map(|words| words.to_string_lossy().into_owned());
    words.unwrap_or_else(|_| error.to_string())
}
