//! Kernels for x86-64, by instruction set, and what the wide ones share.

/// Methods on registers, each the expression given; `self` must prove the CPU features.
macro_rules! lanewise {
    ($( fn $name:ident($($argument:ident),*) = $expression:expr; )*) => { $(
        #[inline(always)]
        fn $name(self, $($argument: Self::Vector),*) -> Self::Vector {
            // SAFETY: there is a `self` only where the CPU has the instructions.
            unsafe { $expression }
        }
    )* };
}

pub(crate) mod avx2;
pub(crate) mod avx512;
mod field;
mod galois;
mod lanes;
mod mat32;
mod ntt;
mod poly_eval;
pub(crate) mod sse2;
