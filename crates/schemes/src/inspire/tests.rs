//! The layout of the matrix and the bound on its sums.
#![allow(clippy::unwrap_used)]

use papir_core::Shape;

use super::interpolation::Interpolation;
use super::layout::Layout;
use super::noise::squared_sums;

#[test]
fn elements_hold_whole_records() {
    for (bits, stored, per_element, chunks) in [
        (1, 1, 32768, 1),
        (3, 3, 10920, 1),
        (512, 512, 64, 1),
        (2100, 2104, 15, 1),
        (32768, 32768, 1, 1),
        (32769, 32776, 1, 2),
        (262_144, 262_144, 1, 8),
    ] {
        let four = Interpolation::of_points(4, 2048).unwrap();
        let layout = Layout::new(Shape::new(100_000, bits).unwrap(), 2048, four).unwrap();
        assert_eq!(
            (layout.unit_layout.stored_bits, layout.per_element(), layout.chunks),
            (stored, per_element, chunks)
        );
        let last = layout.locate(99_999);
        assert!((last.column as usize) < layout.columns && last.block < 4);
    }
}

#[test]
fn a_variable_has_at_most_2d_points() {
    let shape = Shape::new(10, 8).unwrap();
    let layout = |sizes: &[usize]| Layout::new(shape, 64, Interpolation::of_variables(sizes).unwrap());
    for sizes in [&[][..], &[3], &[127], &[128], &[128, 2], &[128, 5, 128]] {
        assert_eq!(layout(sizes).unwrap().points, sizes.iter().product::<usize>(), "{sizes:?}");
    }
    assert!(layout(&[129]).is_err() && layout(&[2, 256]).is_err());
}

fn bound(columns: u64, points: usize) -> f64 {
    let shape = Shape::of_bytes(columns * points as u64, 4096).unwrap();
    let interpolation = Interpolation::of_points(points, 2048).unwrap();
    squared_sums(&Layout::new(shape, 2048, interpolation).unwrap())
}

/// One column under many points is a single square: its largest value counts, not its mean.
#[test]
fn few_columns_are_bounded_by_their_tail() {
    let mean = 2f64.powi(32) / 12.0;
    assert!(bound(1, 64) > 80.0 * 64.0 * mean, "{}", bound(1, 64) / mean);
    assert!(bound(1 << 16, 4) < 1.06 * 4.0 * 65536.0 * mean);
    assert_eq!(bound(1, 1), 2f64.powi(30));
}
