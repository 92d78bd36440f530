//! A GPU that pieces of work take turns on, until it is lost.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cudarc::driver::sys::{CUdevice_attribute, CUresult};
use cudarc::driver::{CudaContext, CudaStream, DriverError};
use papir_core::device::DeviceMemory;
use papir_core::{Error, Result};

use crate::program::Program;
use crate::workspace::Workspace;

/// Called with each failure of a GPU, while the GPU is taken: it must not use the GPU.
pub type OnFailure = Box<dyn Fn(Failure<'_>) + Send + Sync>;

/// A failure of a GPU.
#[derive(Clone, Copy, Debug)]
pub struct Failure<'a> {
    /// The error.
    pub error: &'a Error,
    /// True if the GPU is not used any more. That is so after every failure but a lack of memory.
    pub lost: bool,
}

/// An open GPU. The matrices in its memory share it.
pub(crate) struct Gpu {
    pub(crate) name: String,
    context: Arc<CudaContext>,
    pub(crate) stream: Arc<CudaStream>,
    pub(crate) program: Program,
    pub(crate) multiprocessors: usize,
    workspace: Mutex<Workspace>,
    lost: AtomicBool,
    on_failure: OnFailure,
}

impl Gpu {
    /// Opens the GPU with this number, which is called `device`.
    ///
    /// # Errors
    /// The missing library, the compiler's or the driver's words.
    pub(crate) fn open(
        device: &str,
        ordinal: usize,
        on_failure: OnFailure,
    ) -> Result<Self, String> {
        check_libraries()?;
        let context = CudaContext::new(ordinal).map_err(shown)?;
        let name = format!("{device} ({})", context.name().map_err(shown)?);

        let stream = context.default_stream();
        let program = Program::compile(&context)?;
        let attribute = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT;
        let multiprocessors = context.attribute(attribute).map_err(shown)?.unsigned_abs() as usize;
        let (_, total) = context.mem_get_info().map_err(shown)?;
        let workspace = Mutex::new(Workspace::new(&stream, total).map_err(shown)?);

        let lost = AtomicBool::new(false);
        Ok(Self {
            name,
            context,
            stream,
            program,
            multiprocessors,
            workspace,
            lost,
            on_failure,
        })
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
            Ok(DeviceMemory {
                free: free as u64,
                total: total as u64,
            })
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
        self.check_lost()?;
        let mut workspace = self.workspace();

        // Checked again under the lock: the work that held it may have lost the GPU.
        self.check_lost()?;

        work(self, &mut workspace).map_err(|error| {
            // Copies that were begun still use the workspace.
            let _ = self.stream.synchronize();
            self.failed(error)
        })
    }

    fn check_lost(&self) -> Result<()> {
        if self.is_lost() {
            Err(self.error("it is lost".to_owned()))
        } else {
            Ok(())
        }
    }

    fn workspace(&self) -> MutexGuard<'_, Workspace> {
        self.workspace
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Reports a failure. A failure other than a lack of memory is the last: a context of CUDA does
    /// not recover from most of them.
    fn failed(&self, error: DriverError) -> Error {
        let lost = error.0 != CUresult::CUDA_ERROR_OUT_OF_MEMORY;
        // Only set, never cleared: a lack of memory does not make a lost GPU usable.
        self.lost.fetch_or(lost, Ordering::Relaxed);

        let error = self.error(shown(error));
        (self.on_failure)(Failure {
            error: &error,
            lost,
        });
        error
    }

    /// An error of this GPU.
    pub(crate) fn error(&self, reason: String) -> Error {
        Error::Device {
            device: self.name.clone(),
            reason,
        }
    }
}

/// Checks that both libraries are found: without them, the first call would panic.
fn check_libraries() -> Result<(), String> {
    // SAFETY: both functions only look for a library.
    let found = unsafe {
        [
            cudarc::driver::sys::is_culib_present(),
            cudarc::nvrtc::sys::is_culib_present(),
        ]
    };

    match found {
        [true, true] => Ok(()),
        [false, _] => Err("CUDA's driver (libcuda) is not installed".to_owned()),
        [_, false] => Err("CUDA's run-time compiler (libnvrtc) is not installed".to_owned()),
    }
}

/// The driver's words for an error.
fn shown(error: DriverError) -> String {
    let words = error
        .error_string()
        .map(|words| words.to_string_lossy().into_owned());
    words.unwrap_or_else(|_| error.to_string())
}
