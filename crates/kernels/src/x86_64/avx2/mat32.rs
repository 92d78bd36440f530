//! 32-bit matrix × two vectors: see [`crate::mat32`].

compile_for! { "avx2,fma,bmi2", crate::portable::mat32, {
    fn pass(tiles: &[i32], cols: usize, ys: [&[i32]; 2], outs: [&mut [i64]; 2]);
} }
