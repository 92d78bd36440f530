//! Packing of values into bytes: see [`crate::bits`]. Without AVX-512, which LLVM
//! uses here to no gain.

compile_for! { "avx2,fma,bmi2", crate::portable::bits, {
    fn pack(values: &[u64], width: u32, out: &mut [u8]);
    fn unpack(bytes: &[u8], width: u32, out: &mut [u64]);
} }
