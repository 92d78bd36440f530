//! A GPU that pieces of work take turns on, until it is lost.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cudarc::driver::sys::{CUdevice_attribute, CUresult};
use cudarc::driver::{CudaContext, CudaStream, DriverError};
use papir_core::device::DeviceMemory;
use papir_core::{Error, Result};

use crate::program::Program;
use crate::workspace::Workspace;

/// Called once with the error after which a GPU is not used any more.
pub type OnLoss = Box<dyn Fn(&Error) + Send + Sync>;

/// What a GPU and the matrices in its memory share.
pub(crate) struct Gpu {
    pub(crate) name: String,
    context: Arc<CudaContext>,
    pub(crate) stream: Arc<CudaStream>,
    pub(crate) program: Program,
    pub(crate) multiprocessors: usize,
    workspace: Mutex<Workspace>,
    lost: AtomicBool,
    on_loss: OnLoss,
}

impl Gpu {
    /// Opens the GPU with this number, which is called `device`.
    ///
    /// # Errors
    /// The missing library, the compiler's or the driver's words.
    pub(crate) fn open(device: &str, ordinal: usize, on_loss: OnLoss) -> Result<Self, String> {
        check_libraries()?;
        let context = CudaContext::new(ordinal).map_err(shown)?;
        let name = format!("{device} ({})", context.name().map_err(shown)?);
        let (stream, program) = (context.default_stream(), Program::compile(&context)?);
        let attribute = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT;
        let multiprocessors = context.attribute(attribute).map_err(shown)?.unsigned_abs() as usize;
        let (_, total) = context.mem_get_info().map_err(shown)?;
        let workspace = Mutex::new(Workspace::new(&stream, total).map_err(shown)?);
        let lost = AtomicBool::new(false);
        Ok(Self { name, context, stream, program, multiprocessors, workspace, lost, on_loss })
    }

    /// True after a failure from which it does not recover.
    pub(crate) fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }

    /// Its memory, in bytes.
    ///
    /// # Errors
    /// [`Error::Device`].
    pub(crate) fn memory(&self) -> Result<DeviceMemory> {
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
        if self.is_lost() {
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

    /// An error of this GPU.
    pub(crate) fn error(&self, reason: String) -> Error {
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
