//! Rotations and their Fourier transform: the portable loops, vectorised by LLVM.

use crate::pointwise::Modulus;

compile_for!(
    "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx512ifma,avx512vbmi",
    crate::portable::monomial,
    {
        fn rotate_i32(out: &mut [i32], a: &[i32], shift: usize);
        fn rotate_mod(out: &mut [u32], a: &[u32], shift: usize, modulus: Modulus);
        fn butterfly_i32(u: &mut [i32], v: &mut [i32], shift: usize, scratch: &mut [i32]);
        fn butterfly_mod(u: &mut [u32], v: &mut [u32], shift: usize, modulus: Modulus, scratch: &mut [u32]);
        fn dft_i32(polys: &mut [i32], d: usize, scratch: &mut [i32]);
        fn dft_mod(polys: &mut [u32], d: usize, modulus: Modulus, scratch: &mut [u32]);
    }
);
