//! The kernels, compiled for a GPU.

use std::sync::Arc;

use cudarc::driver::sys::{
    CUdevice_attribute as Attribute, CUfunction_attribute as FunctionAttribute,
};
use cudarc::driver::{CudaContext, CudaFunction, CudaModule};
use cudarc::nvrtc::{CompileOptions, compile_ptx_with_opts};

const SOURCE: &str = concat!(include_str!("product.cu"), include_str!("polynomials.cu"));

const SHARED: FunctionAttribute =
    FunctionAttribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;

/// The oldest GPUs whose tensor cores take the shapes that the kernels use: 8.0, Ampere.
pub(crate) const OLDEST: (i32, i32) = (8, 0);

/// The kernels.
pub(crate) struct Program {
    pub(crate) fragment: CudaFunction,
    pub(crate) digits: CudaFunction,
    pub(crate) products: [ProductKernel; 3],
    pub(crate) correct: CudaFunction,
    pub(crate) pack: CudaFunction,
    pub(crate) evaluate: CudaFunction,
    /// Most bytes of shared memory that a block of `evaluate` may have.
    pub(crate) shared_bytes: usize,
}

/// A kernel that multiplies 128 rows with `columns` columns of digits in each block.
pub(crate) struct ProductKernel {
    pub(crate) columns: usize,
    pub(crate) function: CudaFunction,
}

impl ProductKernel {
    fn load(module: &Arc<CudaModule>, columns: usize) -> Result<Self, String> {
        Ok(Self {
            columns,
            function: load(module, &format!("product_{columns}"))?,
        })
    }
}

/// Loads a kernel.
fn load(module: &Arc<CudaModule>, name: &str) -> Result<CudaFunction, String> {
    module
        .load_function(name)
        .map_err(|error| format!("{name}: {error}"))
}

impl Program {
    /// Compiles the kernels.
    ///
    /// # Errors
    /// The compiler's or the driver's words.
    pub(crate) fn compile(context: &Arc<CudaContext>) -> Result<Self, String> {
        let major = Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR;
        let minor = Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR;

        let major = context
            .attribute(major)
            .map_err(|error| error.to_string())?;
        let minor = context
            .attribute(minor)
            .map_err(|error| error.to_string())?;
        if (major, minor) < OLDEST {
            return Err(format!(
                "compute capability {major}.{minor}: expected {}.{} or later",
                OLDEST.0, OLDEST.1
            ));
        }

        let architecture = format!("--gpu-architecture=compute_{major}{minor}");
        let options = CompileOptions {
            options: vec![architecture],
            ..CompileOptions::default()
        };
        let program = compile_ptx_with_opts(SOURCE, options).map_err(|error| error.to_string())?;

        let module = context
            .load_module(program)
            .map_err(|error| error.to_string())?;

        // A block gets more than 48 KiB of shared memory only if its kernel asks for it.
        let evaluate = load(&module, "evaluate")?;
        let shared =
            context.attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
        let shared = shared.map_err(|error| error.to_string())?;
        evaluate
            .set_attribute(SHARED, shared)
            .map_err(|error| format!("evaluate: {error}"))?;

        Ok(Self {
            fragment: load(&module, "fragment")?,
            digits: load(&module, "digits")?,
            products: [
                ProductKernel::load(&module, 8)?,
                ProductKernel::load(&module, 64)?,
                ProductKernel::load(&module, 128)?,
            ],
            correct: load(&module, "correct")?,
            pack: load(&module, "pack")?,
            evaluate,
            shared_bytes: shared.unsigned_abs() as usize,
        })
    }

    /// The kernel with the narrowest blocks that hold these columns of digits, or the widest.
    pub(crate) fn product(&self, columns: usize) -> &ProductKernel {
        // They ascend by width, so that the first that suffices wastes the fewest columns.
        let [.., widest] = &self.products;
        self.products
            .iter()
            .find(|one| columns <= one.columns)
            .unwrap_or(widest)
    }
}
