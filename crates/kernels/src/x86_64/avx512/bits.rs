//! Packing of values into bytes: see [`crate::bits`].

compile_for! { "avx2,fma,bmi2,avx512f,avx512bw,avx512dq,avx512vl", crate::portable::bits, {
    fn pack(values: &[u64], width: u32, out: &mut [u8]);
    fn unpack(bytes: &[u8], width: u32, out: &mut [u64]);
} }
