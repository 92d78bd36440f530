//! Layouts of SimpleYPIR.
#![allow(clippy::unwrap_used)]

use papir_core::Shape;

use super::layout::{Layout, MAX_PACKS};
use crate::shared::selection::ByCdks;

#[test]
fn columns_hold_whole_records() {
    for (bits, packs, per_column) in [
        (1, 1, 32768),
        (1, 3, 98304),
        (512, 2, 128),
        (3000 * 8, 3, 4),
        (262_144, 8, 1),
        (262_144, 16, 2),
    ] {
        let layout =
            Layout::new::<ByCdks>(Shape::new(100_000, bits).unwrap(), 2048, packs).unwrap();

        assert_eq!(
            (layout.unit_layout.per_unit, layout.rows),
            (per_column, packs as usize * 2048)
        );
        assert_eq!(layout.columns as u64, 100_000u64.div_ceil(per_column));

        let last = layout.locate(99_999);
        assert_eq!((u64::from(last.column) * per_column) + last.slot, 99_999);
    }
}

#[test]
fn layouts_that_do_not_fit_are_refused() {
    let shape = Shape::new(1000, 262_144).unwrap();
    assert!(
        Layout::new::<ByCdks>(shape, 2048, 7).is_err()
            && Layout::new::<ByCdks>(shape, 2048, 0).is_err()
    );
    assert!(Layout::new::<ByCdks>(shape, 2048, MAX_PACKS + 1).is_err());

    let many = Shape::new(1 << 40, 8).unwrap();
    assert!(
        Layout::new::<ByCdks>(many, 2048, 1).is_err(),
        "2^28 columns"
    );
}
