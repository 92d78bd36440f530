//! GPUs that cannot be used, and memory that does not suffice.

use papir_core::device::{Device, TileShape, Tiles, Words};
use papir_cuda::Cuda;

use crate::gpu;

#[test]
fn a_missing_gpu_is_named() {
    let error = Cuda::open(1000, Box::new(|_| ())).expect_err("there are not so many").to_string();
    assert!(error.starts_with("cuda:1000: "), "{error}");
}

#[test]
fn memory_comes_back() {
    let Some(gpu) = gpu() else { return };
    let before = gpu.memory().unwrap();
    assert!(before.free <= before.total && before.free > 0);
    let shape = TileShape { words: Words::Signed16, rows: 64 << 10, columns: 1 << 10 };
    let tiles = vec![1; shape.rows / 64 * shape.group_bytes()];
    let held = gpu.hold(Tiles::new(shape.words, shape.columns, &tiles).unwrap()).unwrap();
    assert_eq!(gpu.bytes(shape), tiles.len() as u64);
    let during = gpu.memory().unwrap().free;
    assert!(
        before.free - during >= gpu.bytes(shape),
        "{} of {} bytes",
        before.free - during,
        gpu.bytes(shape)
    );
    drop(held);
    assert!(gpu.memory().unwrap().free > during, "memory of a dropped matrix");
}
