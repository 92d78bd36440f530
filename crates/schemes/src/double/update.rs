//! Updates: new bytes in D, the rows of D·A₁ that change, and the second level's hint.
//!
//! Each changed row of D needs its row of D·A₁ again. Each changed digit is a rank-one update of
//! the second level's hint; if many changed, the product is computed again. Database, digits and
//! hint are copied once, since the old version still answers, and A₁ is transformed once.

use std::collections::BTreeSet;

use papir_core::{AlignedBytes, BlobSlice, Change, Progress, Result};
use papir_lattice::lwe32::{LweParams, MaskProducts, Masks, N, add_multiple};
use rayon::prelude::*;

use super::first::{ByteMatrix, CENTRE};
use super::layout::Layout;
use super::second::{SecondLevel, digit_rows, multiply, split_words};
use crate::shared::matrices::row_products;

/// Inverse share of changed units of a column above which preparing all is faster.
const ALL_FROM: usize = 2;
/// Changed units for each n of a column, up to which rank-one updates are faster than the product.
const FEW: usize = 4;

/// Number of units that hold changes in any column.
pub(crate) fn touched_units(layout: &Layout, changes: &[Change]) -> usize {
    let units: BTreeSet<u64> = changes.iter().map(|change| layout.place(change.index).unit).collect();
    units.len()
}

/// Whether preparing all is faster for `units` changed units.
pub(crate) fn from_scratch(layout: &Layout, units: usize) -> bool {
    units * ALL_FROM > layout.units
}

/// Whether rank-one updates of the second hint are faster than its product.
pub(super) fn few(layout: &Layout, units: usize) -> bool {
    units <= FEW * layout.units.div_ceil(N)
}

/// The new D, and the units that changed in any column.
pub(crate) fn change_bytes(
    layout: &Layout,
    database: &ByteMatrix,
    changes: &[Change],
) -> Result<(ByteMatrix, Vec<usize>)> {
    let mut tiles = AlignedBytes::copy_of(database.tiles());
    let mut units = BTreeSet::new();
    for change in changes {
        let place = layout.place(change.index);
        let (row, column) = (place.unit as usize * layout.unit_bytes, place.column as usize);
        let positions = (row..row + layout.unit_bytes).map(|row| database.position(row, column));
        let bytes = tiles.bytes_mut();
        let old = number(positions.clone().map(|position| bytes[position]));
        let new = layout.with_record(old, place.slot, number(change.record.iter().copied()));
        if new != old {
            positions.zip(new.to_le_bytes()).for_each(|(position, byte)| bytes[position] = byte);
            units.insert(place.unit as usize);
        }
    }
    let (rows, columns) = (database.rows(), database.columns());
    Ok((ByteMatrix::new(rows, columns, tiles.into()), units.into_iter().collect()))
}

/// Little-endian bytes as a number.
fn number(bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.zip((0..64).step_by(8)).fold(0, |number, (byte, shift)| number | u64::from(byte) << shift)
}

/// The rows of D·A₁ of these units, B rows of n words for each.
pub(crate) fn hint_rows(
    lwe: &LweParams,
    layout: &Layout,
    database: &ByteMatrix,
    masks: &Masks,
    units: &[usize],
) -> Vec<u32> {
    let products = MaskProducts::new(lwe, masks, layout.columns, CENTRE);
    let rows =
        units.par_iter().flat_map_iter(|unit| unit * layout.unit_bytes..(unit + 1) * layout.unit_bytes);
    rows.flat_map_iter(|row| row_products(lwe, &products, database, row)).collect()
}

/// The second level with the digits of these units from their new rows of D·A₁.
///
/// # Errors
/// Does not fail for a second level of this layout and encryption.
pub(crate) fn change_digits(
    (lwe, masks): (&LweParams, &Masks),
    layout: &Layout,
    second: &SecondLevel,
    (units, hint): (&[usize], &[u32]),
    progress: &dyn Progress,
) -> Result<SecondLevel> {
    let mut sums = few(layout, units.len()).then(|| AlignedBytes::copy_of(second.masks.bytes()));
    let mut tiles = AlignedBytes::copy_of(second.digits.tiles());
    let (mut digits, mut mask) = (vec![0; digit_rows(layout)], vec![0; lwe.n()]);
    for (&unit, words) in units.iter().zip(hint.chunks_exact(layout.unit_bytes * N)) {
        split_words(words, &mut digits);
        if let Some(sums) = &mut sums {
            masks.row(unit, &mut mask);
            let old = |row| tiles.as_ref()[second.digits.position(row, unit)];
            change_products(sums.slice_mut(), &mask, &digits, old);
        }
        for (row, &digit) in digits.iter().enumerate() {
            tiles.bytes_mut()[second.digits.position(row, unit)] = digit;
        }
        progress.advance(1);
    }
    let digits = ByteMatrix::new(digits.len(), layout.units, tiles.into());
    let sums = sums.unwrap_or_else(|| multiply(lwe, &second.products, &digits, progress));
    let masks = BlobSlice::new(sums.into(), "double's masks")?;
    SecondLevel::from_parts(lwe, layout, digits, second.products.clone(), masks)
}

/// Adds to the products of rows the differences of one unit's digits times the unit's mask.
fn change_products(sums: &mut [u32], mask: &[u32], digits: &[u8], old: impl Fn(usize) -> u8) {
    for (row, (sum, &digit)) in sums.chunks_exact_mut(mask.len()).zip(digits).enumerate() {
        let difference = i32::from(digit) - i32::from(old(row));
        if difference != 0 {
            add_multiple(sum, mask, difference);
        }
    }
}
