//! Kernels for x86-64 by instruction set, and the code that AVX2 and AVX-512 share.

/// Defines methods on registers by expressions; `self` must prove the CPU features.
macro_rules! lanewise {
    ($( fn $name:ident($($argument:ident),*) = $expression:expr; )*) => { $(
        #[inline(always)]
        fn $name(self, $($argument: Self::Vector),*) -> Self::Vector {
            // SAFETY: `self` proves that the CPU has the instructions.
            unsafe { $expression }
        }
    )* };
}

/// Defines methods on registers of a type by expressions; `self` must prove the CPU features.
macro_rules! registerwise {
    ($visibility:vis $vector:ty: $( fn $name:ident($($argument:ident),*) = $expression:expr; )*) => { $(
        #[inline(always)]
        $visibility fn $name(self, $($argument: $vector),*) -> $vector {
            // SAFETY: `self` proves that the CPU has the instructions.
            unsafe { $expression }
        }
    )* };
}

pub(crate) mod adx;
pub(crate) mod amx;
pub(crate) mod avx2;
pub(crate) mod avx512;
mod field;
mod galois;
mod lanes;
mod mat32;
mod ntt;
mod poly_eval;
pub(crate) mod sse2;
mod wide_ntt;
