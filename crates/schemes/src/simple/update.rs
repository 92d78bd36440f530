//! Changing records: new bytes in the matrix, and for each changed byte a rank-one update of the
//! hint. Besides, database and hint are copied once, since the old version goes on answering.

use papir_core::scheme::{Parameters, check_changes};
use papir_core::{AlignedBytes, Change, Progress, RecordBuffer, Result, Shape};

use super::hint;
use super::params::N;
use super::server::SimpleServer;
use super::wire::SimplePublic;

/// The database with these changes, in order, under the same seed: byte for byte what a setup of
/// the changed records gives.
pub(super) fn update(
    server: &SimpleServer,
    changes: &[Change],
    progress: &dyn Progress,
) -> Result<SimpleServer> {
    check_changes(&server.params.shape(), changes)?;
    let mut tiles = AlignedBytes::copy_of(&server.tiles);
    let mut hint = AlignedBytes::copy_of(&server.public.hint);
    progress.stage("update", changes.len() as u64);
    for change in changes {
        apply(server, change, tiles.bytes_mut(), hint.bytes_mut())?;
        progress.advance(1);
    }
    let public = SimplePublic { seed: server.public.seed, hint: hint.into() };
    Ok(SimpleServer { params: server.params.clone(), public, tiles: tiles.into() })
}

fn apply(server: &SimpleServer, change: &Change, tiles: &mut [u8], hint: &mut [u8]) -> Result<()> {
    let layout = &server.params.layout;
    let place = layout.place(change.index);
    let column = place.column as usize;
    let first = place.unit as usize * layout.unit_bytes;
    let positions = (first..first + layout.unit_bytes).map(|row| (row, layout.tile_position(row, column)));
    let old: Vec<u8> = positions.clone().map(|(_, position)| tiles[position]).collect();
    let shape = Shape::new(layout.unit_records, server.params.shape().record_bits())?;
    let mut unit = RecordBuffer::from_packed(shape, old)?;
    unit.set(place.slot, &change.record)?;
    let mut matrix_row = vec![0; N];
    hint::matrix_row(&server.public.seed, column, &mut matrix_row);
    for ((row, position), &new) in positions.zip(unit.packed()) {
        let difference = i32::from(new) - i32::from(tiles[position]);
        if difference != 0 {
            hint::add_row(&mut hint[row * N * 4..][..N * 4], &matrix_row, difference);
            tiles[position] = new;
        }
    }
    Ok(())
}
