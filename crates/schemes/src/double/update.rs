//! Changing records: new bytes in D; for each changed row of D its row of D·A₁ again; for each digit
//! that changed a rank-one update of the second level's hint, or that product again where many did.
//! Besides, database, digits and hint are copied once, since the old version goes on answering, and A₁ is
//! transformed once.

use std::collections::BTreeSet;

use papir_core::cost::{Counts, Operation};
use papir_core::scheme::{Parameters, UpdateEstimate, check_changes};
use papir_core::{AlignedBytes, BlobSlice, Change, Progress, Result};
use papir_lattice::lwe32::matrix::transformed_bytes;
use papir_lattice::lwe32::{LweParams, MaskProducts, Masks, N, add_multiple};
use rayon::prelude::*;

use super::first::{self, ByteMatrix, first_masks};
use super::layout::Layout;
use super::second::{SecondLevel, digit_rows, multiply, second_masks, split_words};
use super::server::DoubleServer;

/// From one changed unit of a column in so many on, preparing all is faster.
const ALL_FROM: usize = 2;
/// Changed units for each n of a column up to which rank-one updates are faster than the product.
const FEW: usize = 4;

/// What [`update`] with these changes would cost.
///
/// # Errors
/// As [`check_changes`].
pub(super) fn cost(server: &DoubleServer, changes: &[Change]) -> Result<UpdateEstimate> {
    let (params, layout) = (&server.params, &server.params.layout);
    check_changes(&params.shape(), changes)?;
    let description = params.describe();
    let (sizes, setup) = (description.sizes, description.work.setup);
    let hint = |rows, columns| {
        Counts::new().with(Operation::HintProduct8, transformed_bytes(rows, columns) as f64, rows)
    };
    let rows = digit_rows(layout);
    let second = hint(rows, layout.units);
    let update = match touched_units(layout, changes) {
        0 => Counts::new(),
        units if from_scratch(layout, units) => {
            hint(layout.rows(), layout.columns).and(second).with(Operation::Copy, sizes.database as f64, 1)
        }
        units => {
            let first = hint(units * layout.unit_bytes, layout.columns);
            // A row of n words is added to, instead of multiplied with a key.
            let added = Counts::new().with(Operation::DecryptRow, (units * rows) as f64, 1);
            let second = if few(layout, units) { added } else { second };
            first.and(second).with(Operation::Copy, (sizes.database + sizes.material) as f64, 1)
        }
    };
    Ok(UpdateEstimate { update, setup })
}

/// Units of a column that hold changes in some column.
pub(crate) fn touched_units(layout: &Layout, changes: &[Change]) -> usize {
    let units: BTreeSet<u64> = changes.iter().map(|change| layout.place(change.index).unit).collect();
    units.len()
}

/// Whether so many changed units are enough to prepare all.
pub(crate) fn from_scratch(layout: &Layout, units: usize) -> bool {
    units * ALL_FROM > layout.units
}

/// Whether rank-one updates of the second hint are faster than its product.
fn few(layout: &Layout, units: usize) -> bool {
    units <= FEW * layout.units.div_ceil(N)
}

/// The database with these changes, in order, under the same seed: byte for byte what a setup of the
/// changed records gives.
pub(super) fn update(
    server: &DoubleServer,
    changes: &[Change],
    progress: &dyn Progress,
) -> Result<DoubleServer> {
    let (params, layout) = (&server.params, &server.params.layout);
    check_changes(&params.shape(), changes)?;
    let (database, units) = change_bytes(layout, &server.first.database, changes)?;
    if units.is_empty() {
        return Ok(server.clone());
    }
    let seed = server.public.seed;
    if from_scratch(layout, units.len()) {
        return DoubleServer::prepare(params.clone(), seed, database, progress);
    }
    progress.stage("update", units.len() as u64);
    let hint = hint_rows(&params.lwe, layout, &database, &first_masks(seed), &units);
    let lwe = (&params.lwe, &second_masks(seed));
    let second = change_digits(lwe, layout, &server.second, (&units, &hint), progress)?;
    Ok(DoubleServer::assemble(params.clone(), seed, database, second))
}

/// The new D, and which units of a column changed in some column.
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
    let products = MaskProducts::new(lwe, masks, layout.columns, first::CENTRE);
    let rows =
        units.par_iter().flat_map_iter(|unit| unit * layout.unit_bytes..(unit + 1) * layout.unit_bytes);
    let hint_row = |row| {
        let mut bytes = vec![0; layout.columns];
        database.read_row(row, &mut bytes);
        products.of_row(lwe, &bytes)
    };
    rows.flat_map_iter(hint_row).collect()
}

/// The second level with the digits of these units from their new rows of D·A₁.
///
/// # Errors
/// None for a second level of this layout and encryption.
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

/// Adds what changed digits of one unit add to their rows' products: the difference times the unit's mask.
fn change_products(sums: &mut [u32], mask: &[u32], digits: &[u8], old: impl Fn(usize) -> u8) {
    for (row, (sum, &digit)) in sums.chunks_exact_mut(mask.len()).zip(digits).enumerate() {
        let difference = i32::from(digit) - i32::from(old(row));
        if difference != 0 {
            add_multiple(sum, mask, difference);
        }
    }
}
