//! Changing records: new bytes in D; for each changed row of D its row of D·A₁ again; for each digit
//! that changed a rank-one update of the second level's hint. Besides, database, digits and hint are
//! copied once, since the old version goes on answering, and A₁ is expanded once.

use std::collections::BTreeSet;

use papir_core::scheme::{Parameters, check_changes};
use papir_core::{AlignedBytes, BlobSlice, Change, Progress, Result};
use rayon::prelude::*;

use super::byte_matrix::ByteMatrix;
use super::first;
use super::layout::Layout;
use super::lwe::{Masks, N, add_multiple, first_masks, second_masks};
use super::second::{SecondLevel, digit_rows, split_words};
use super::server::DoubleServer;

/// From one changed unit of a column in so many on, preparing all is faster.
const ALL_FROM: usize = 16;

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
    let seed = server.public.seed;
    if units.len() * ALL_FROM > layout.units {
        return DoubleServer::prepare(params.clone(), seed, database, progress);
    }
    progress.stage("update", units.len() as u64);
    let hint = hint_rows(layout, &database, &first_masks(seed), &units);
    let second = change_digits(layout, &server.second, &second_masks(seed), &units, &hint, progress)?;
    Ok(DoubleServer::assemble(params.clone(), seed, database, second))
}

/// The new D, and which units of a column changed in some column.
fn change_bytes(
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
        let unit = number(positions.clone().map(|position| bytes[position]));
        let unit = layout.with_record(unit, place.slot, number(change.record.iter().copied()));
        positions.zip(unit.to_le_bytes()).for_each(|(position, byte)| bytes[position] = byte);
        units.insert(place.unit as usize);
    }
    let (rows, columns) = (database.rows(), database.columns());
    let database = ByteMatrix::from_tiles(rows, columns, tiles.into(), "double's database")?;
    Ok((database, units.into_iter().collect()))
}

/// Little-endian bytes as a number.
fn number(bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.zip((0..64).step_by(8)).fold(0, |number, (byte, shift)| number | u64::from(byte) << shift)
}

/// The rows of D·A₁ of these units, B rows of n words for each.
fn hint_rows(layout: &Layout, database: &ByteMatrix, masks: &Masks, units: &[usize]) -> Vec<u32> {
    let rows = units.iter().flat_map(|unit| unit * layout.unit_bytes..(unit + 1) * layout.unit_bytes);
    let bytes: Vec<Vec<u8>> = rows
        .map(|row| {
            let mut bytes = vec![0; layout.columns];
            database.row(row, &mut bytes);
            bytes
        })
        .collect();
    let (mut hint, mut mask) = (vec![0; bytes.len() * N], vec![0; N]);
    for column in 0..layout.columns {
        masks.row(column, &mut mask);
        hint.par_chunks_exact_mut(N).zip(&bytes).for_each(|(row, bytes)| {
            add_multiple(row, &mask, i32::from(bytes[column]) - first::CENTRE as i32);
        });
    }
    hint
}

/// The second level with the digits of these units from their new rows of D·A₁.
fn change_digits(
    layout: &Layout,
    second: &SecondLevel,
    masks: &Masks,
    units: &[usize],
    hint: &[u32],
    progress: &dyn Progress,
) -> Result<SecondLevel> {
    let mut tiles = AlignedBytes::copy_of(second.digits.tiles());
    let mut products = AlignedBytes::copy_of(second.masks.bytes());
    let (mut digits, mut mask) = (vec![0; digit_rows(layout)], vec![0; N]);
    for (&unit, words) in units.iter().zip(hint.chunks_exact(layout.unit_bytes * N)) {
        split_words(words, &mut digits);
        masks.row(unit, &mut mask);
        for (row, (&new, product)) in digits.iter().zip(products.slice_mut().chunks_exact_mut(N)).enumerate()
        {
            let old = &mut tiles.bytes_mut()[second.digits.position(row, unit)];
            let difference = i32::from(new) - i32::from(*old);
            if difference != 0 {
                add_multiple(product, &mask, difference);
                *old = new;
            }
        }
        progress.advance(1);
    }
    let digits = ByteMatrix::from_tiles(digits.len(), layout.units, tiles.into(), "double's digits")?;
    let products = BlobSlice::new(products.into(), "double's masks")?;
    SecondLevel::from_parts(layout, digits, second.transposed.clone(), products)
}
