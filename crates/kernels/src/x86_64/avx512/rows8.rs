//! Database × query for 8-bit bytes: see [`crate::rows8`].

compile_for! { "avx2,fma,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni", crate::portable::rows8, {
    fn pass(tiles: &[u8], quads: usize, planes: &[i8], plane_count: usize, out: &mut [u32]);
} }
