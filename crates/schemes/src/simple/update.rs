//! Changing records: new bytes in the matrix, and for each changed byte a rank-one update of the
//! hint. Besides, database and hint are copied once, since the old version goes on answering.

use papir_core::scheme::{Parameters, check_changes};
use papir_core::{AlignedBytes, Change, Progress, RecordBuffer, Result, Shape};
use papir_lattice::lwe32::{N, add_multiple};

use super::server::SimpleServer;
use super::wire::SimplePublic;
use super::{ByteMatrix, masks};

/// The database with these changes, in order, under the same seed: byte for byte what a setup of
/// the changed records gives.
pub(super) fn update(
    server: &SimpleServer,
    changes: &[Change],
    progress: &dyn Progress,
) -> Result<SimpleServer> {
    check_changes(&server.params.shape(), changes)?;
    let mut tiles = AlignedBytes::copy_of(server.database.tiles());
    let mut hint = AlignedBytes::copy_of(&server.public.hint);
    progress.stage("update", changes.len() as u64);
    for change in changes {
        apply(server, change, tiles.bytes_mut(), hint.slice_mut())?;
        progress.advance(1);
    }
    let public = SimplePublic { seed: server.public.seed, hint: hint.into() };
    let database = ByteMatrix::new(server.database.rows(), server.database.columns(), tiles.into());
    Ok(SimpleServer { params: server.params.clone(), public, database })
}

fn apply(server: &SimpleServer, change: &Change, tiles: &mut [u8], hint: &mut [u32]) -> Result<()> {
    let layout = &server.params.layout;
    let place = layout.place(change.index);
    let column = place.column as usize;
    let first = place.unit as usize * layout.unit_bytes;
    let positions =
        (first..first + layout.unit_bytes).map(|row| (row, server.database.position(row, column)));
    let old: Vec<u8> = positions.clone().map(|(_, position)| tiles[position]).collect();
    let shape = Shape::new(layout.unit_records, server.params.shape().record_bits())?;
    let mut unit = RecordBuffer::from_packed(shape, old)?;
    unit.set(place.slot, &change.record)?;
    let mut mask = vec![0; N];
    masks(server.public.seed).row(column, &mut mask);
    for ((row, position), &new) in positions.zip(unit.packed()) {
        let difference = i32::from(new) - i32::from(tiles[position]);
        if difference != 0 {
            add_multiple(&mut hint[row * N..][..N], &mask, difference);
            tiles[position] = new;
        }
    }
    Ok(())
}
