//! GPUs that cannot be used, and memory that does not suffice.

use papir_core::device::{Device, TileShape, Tiles, Words};
use papir_cuda::Cuda;

use crate::gpu;

#[test]
fn a_missing_gpu_is_named() {
    let error = Cuda::open(1000, Box::new(|_| ()))
        .expect_err("there are not so many")
        .to_string();
    assert!(error.starts_with("cuda:1000: "), "{error}");
}

#[test]
fn memory_comes_back() {
    let Some(gpu) = gpu() else { return };
    let whole = gpu.memory().unwrap();
    assert!(whole.free <= whole.total && whole.free > 0);
    let shape = TileShape {
        words: Words::Signed16,
        rows: 64 << 10,
        columns: 1 << 10,
    };
    let tiles = vec![1; shape.rows / 64 * shape.group_bytes()];
    let bytes = gpu.bytes(shape);
    assert_eq!(bytes, tiles.len() as u64);

    // Other programs may take and free memory of the GPU at the same moment: then again.
    let mut tries = Vec::new();
    let comes_back = (0..20).any(|_| {
        let before = gpu.memory().unwrap().free;
        let held = gpu
            .hold(Tiles::new(shape.words, shape.columns, &tiles).unwrap())
            .unwrap();
        let during = gpu.memory().unwrap().free;
        drop(held);
        let after = gpu.memory().unwrap().free;
        tries.push([before, during, after]);
        before.saturating_sub(during) >= bytes && after > during
    });
    assert!(
        comes_back,
        "{bytes} bytes: free before, during and after: {tries:?}"
    );
}
