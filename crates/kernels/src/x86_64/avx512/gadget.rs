//! Balanced digits: the portable loops, vectorised by LLVM.

use crate::gadget::Gadget2;
use crate::pointwise::Modulus;

compile_for!(
    "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx512ifma,avx512vbmi",
    crate::portable::gadget,
    {
        fn decompose(gadget: &Gadget2, digits: &mut [i32], r1: &[u32], r2: &[u32]);
        fn to_residues(out: &mut [u32], digits: &[i32], modulus: Modulus);
        fn centre(out: &mut [i32], residues: &[u32], modulus: Modulus);
    }
);
