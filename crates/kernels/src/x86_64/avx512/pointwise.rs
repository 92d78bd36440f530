//! Arithmetic on slices of residues: the portable loops, vectorised by LLVM.

use crate::pointwise::Modulus;

compile_for!(
    "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx512ifma,avx512vbmi",
    crate::portable::pointwise,
    {
        fn add(out: &mut [u32], a: &[u32], b: &[u32], modulus: Modulus);
        fn add_assign(acc: &mut [u32], a: &[u32], modulus: Modulus);
        fn sub(out: &mut [u32], a: &[u32], b: &[u32], modulus: Modulus);
        fn sub_assign(acc: &mut [u32], a: &[u32], modulus: Modulus);
        fn neg(out: &mut [u32], a: &[u32], modulus: Modulus);
        fn mul(out: &mut [u32], a: &[u32], b: &[u32], modulus: Modulus);
        fn mul_assign(acc: &mut [u32], a: &[u32], modulus: Modulus);
        fn scale(out: &mut [u32], a: &[u32], constant: u32, modulus: Modulus);
        fn mul_accumulate(acc: &mut [u64], a: &[u32], b: &[u32]);
        fn reduce(out: &mut [u32], acc: &[u64], modulus: Modulus);
    }
);
