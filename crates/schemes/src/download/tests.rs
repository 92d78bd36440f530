//! Compression, its limits and updates, from inside.
#![allow(clippy::unwrap_used)]

use chacha20::ChaCha20Rng;
use papir_core::scheme::{Client, Parameters, Server, Session, Wire};
use papir_core::{Blob, Change, Error, Goal, NoProgress, RecordBuffer, Records, Shape};
use rand_core::{Rng, SeedableRng};

use super::blocks::{BLOCK_BYTES, Blocks, estimate, longest};
use super::{DownloadClient, DownloadParams, DownloadPublic, DownloadServer};

/// Records of digits, which compress to less than half, around a block of random bytes, which do
/// not.
fn mixed(shape: Shape) -> RecordBuffer {
    let mut records = RecordBuffer::zeroed(shape);
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    rng.fill_bytes(records.packed_mut());

    let mut blocks = records.packed_mut().chunks_mut(BLOCK_BYTES).enumerate();
    blocks
        .by_ref()
        .filter(|(i, _)| *i != 1)
        .for_each(|(_, block)| {
            block.iter_mut().for_each(|byte| *byte = b'0' + *byte % 10);
        });
    records
}

fn setup(records: &RecordBuffer) -> DownloadServer {
    let params = DownloadParams::choose(records.shape(), Goal::Balanced).unwrap();
    DownloadServer::setup(
        params,
        records,
        &mut ChaCha20Rng::seed_from_u64(2),
        &NoProgress,
    )
    .unwrap()
}

fn client_of(server: &DownloadServer) -> DownloadClient {
    let bytes = server.public().encode(server.params());
    assert_eq!(bytes.len() as u64, server.params().describe().sizes.hint);
    let public = DownloadPublic::decode(server.params(), &bytes).unwrap();
    DownloadClient::new(server.params().clone(), public).unwrap()
}

#[test]
fn records_that_compress_are_sent_in_less() {
    let records = mixed(Shape::of_bytes(3 * 1024 + 7, 1024).unwrap());
    let server = setup(&records);

    let sent = server.params().stored() as u64;
    let total = records.shape().total_bytes();
    assert!(
        sent < total * 3 / 4 && sent > BLOCK_BYTES as u64,
        "{sent} of {total} bytes"
    );

    assert_eq!(
        DownloadParams::decode(&server.params().encode()).unwrap(),
        *server.params()
    );

    let client = client_of(&server);
    let mut rng = ChaCha20Rng::seed_from_u64(3);
    // The first and last records of blocks, which hold 1024 of 1 KiB.
    let wanted = [0, 1023, 1024, 2048, 3078];
    let (secret, query) = client.query(None, &wanted, &mut rng).unwrap();
    let answer = server.answer(Session::anonymous(), &query).unwrap();

    let expected = wanted.map(|index| records.get(index).unwrap());
    assert_eq!(client.extract(secret, answer).unwrap(), expected);
}

#[test]
fn the_compressed_length_is_estimated() {
    for (records, bytes) in [
        (3 * 1024 + 7, 1024),
        (40_000, 100),
        (1, 1),
        (5, 3),
        (3, 200_000),
    ] {
        let records = mixed(Shape::of_bytes(records, bytes).unwrap());
        let found = estimate(&records).unwrap() as f64;
        let exact = setup(&records).params().stored() as f64;

        assert!(
            (0.8..1.3).contains(&(found / exact)),
            "{:?}: {found}, not {exact}",
            records.shape()
        );
    }

    let odd = mixed(Shape::new(1_000_003, 3).unwrap());
    assert!(estimate(&odd).unwrap() <= longest(odd.shape().total_bytes()));
}

#[test]
fn an_update_compresses_changed_blocks_and_equals_a_setup() {
    // Records of 13 bits lie across blocks.
    let shape = Shape::new(3 * 8 * BLOCK_BYTES as u64 / 13, 13).unwrap();
    let mut records = mixed(shape);
    let server = setup(&records);
    let across = 8 * BLOCK_BYTES as u64 / 13;
    let changes = [0, across, across].map(|index| Change {
        index,
        record: vec![index as u8 ^ 0x55, 0x0a],
    });

    let blocks = &server.public().blocks;
    assert!(
        blocks.changed(&changes).into_iter().eq([0, 1]) && blocks.changed(&changes[..1]).len() == 1
    );

    let cost = server.update_cost(&changes[..1]).unwrap();
    assert!(2.0 * cost.update.core_seconds(&rates()) < cost.setup.core_seconds(&rates()));

    changes
        .iter()
        .for_each(|change| records.set(change.index, &change.record).unwrap());
    let updated = server
        .update(&changes, &mut ChaCha20Rng::seed_from_u64(4), &NoProgress)
        .unwrap();

    assert!(updated.public().blocks.bytes() == setup(&records).public().blocks.bytes());
    assert!(updated.public().blocks.bytes() != blocks.bytes());
}

fn rates() -> papir_core::cost::Rates {
    papir_core::cost::Rates::BUILT_IN
}

#[test]
fn blocks_that_hold_something_else_are_refused() {
    let records = mixed(Shape::of_bytes(2000, 1024).unwrap());
    let shape = records.shape();
    let blocks = Blocks::pack("download", &records, &NoProgress).unwrap();
    let damaged = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = blocks.bytes().to_vec();
        change(&mut bytes);
        Blocks::parse(shape, Blob::copy_of(&bytes))
            .and_then(|blocks| blocks.unpack())
            .unwrap_err()
    };

    let first = u32::from_le_bytes(blocks.bytes()[..4].try_into().unwrap());
    // The first block ends earlier, and the second is as much longer: its stream is torn.
    let shifted = damaged(&|bytes| bytes[..4].copy_from_slice(&(first - 1).to_le_bytes()));
    assert!(
        matches!(shifted, Error::Length { .. } | Error::Malformed { .. }),
        "{shifted}"
    );

    let long = damaged(&|bytes| bytes[2] = 0xff);
    assert!(matches!(long, Error::OutOfBounds { .. }), "{long}");

    let empty = damaged(&|bytes| bytes[..4].fill(0));
    assert!(matches!(empty, Error::OutOfBounds { .. }), "{empty}");

    let other = damaged(&|bytes| bytes[8..40].fill(0xff));
    assert!(matches!(other, Error::Malformed { .. }), "{other}");

    let more = damaged(&|bytes| bytes.push(0));
    assert!(matches!(more, Error::Length { .. }), "{more}");
}

#[test]
fn a_stream_with_more_than_its_block_is_refused() {
    // Two blocks of zeros, of which the second is shorter; their streams change places.
    let shape = Shape::of_bytes(1500, 1024).unwrap();
    let blocks = Blocks::pack("download", &RecordBuffer::zeroed(shape), &NoProgress).unwrap();
    let bytes = blocks.bytes();
    let length = |i: usize| u32::from_le_bytes(bytes[4 * i..][..4].try_into().unwrap()) as usize;

    let (first, second) = bytes[8..].split_at(length(0));
    let swapped = [&bytes[4..8], &bytes[..4], second, first].concat();

    let error = Blocks::parse(shape, Blob::copy_of(&swapped))
        .unwrap()
        .unpack()
        .unwrap_err();
    assert!(matches!(error, Error::Malformed { .. }), "{error}");

    let only = Shape::of_bytes(1500 - 1024, 1024).unwrap();
    let longer = [&bytes[..4], first].concat();

    let error = Blocks::parse(only, Blob::copy_of(&longer))
        .unwrap()
        .unpack()
        .unwrap_err();
    assert!(error.to_string().contains("more bytes"), "{error}");
}

#[test]
fn databases_above_the_longest_public_part_are_refused() {
    let choose =
        |bytes: u64| DownloadParams::choose(Shape::of_bytes(bytes, 1).unwrap(), Goal::Balanced);

    assert!(choose(4 << 30).is_err() && choose((4 << 30) - (1 << 15)).is_ok());
    let error = choose(1 << 40).unwrap_err();
    assert!(matches!(error, Error::Parameters { .. }), "{error}");

    let shape = Shape::of_bytes(1000, 10).unwrap();
    let params = choose(1000).unwrap();
    assert_eq!(params.stored() as u64, longest(1000));
    assert!(params.with_stored(4).is_err() && params.with_stored(5).is_ok());
    assert!(params.with_stored(longest(1000) + 1).is_err());
    assert!(DownloadParams::choose(shape, Goal::MinTime).is_ok());
}
