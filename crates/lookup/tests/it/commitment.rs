//! Commitments: valid proofs open, all others are refused.

use crate::common::{self, rng};
use papir_core::{RecordBuffer, Records, Shape};
use papir_lookup::{Commitment, Error, PlainRecords, ProvenRecords, proof_bytes};
use rand_core::Rng;

fn random(records: u64, bytes: u64) -> RecordBuffer {
    let mut buffer = RecordBuffer::zeroed(Shape::of_bytes(records, bytes).unwrap());
    rng(5).fill_bytes(buffer.packed_mut());
    buffer
}

fn read(records: &dyn Records, index: u64) -> Vec<u8> {
    let mut record = vec![0; records.shape().record_bytes()];
    records.read_packed(index, 1, &mut record).unwrap();
    record
}

#[test]
fn every_record_opens_and_is_read_back() {
    for (records, bytes) in (1..=17).map(|n| (n, 5)).chain([(100, 1), (257, 64)]) {
        let plain = random(records, bytes);
        let proven = ProvenRecords::new(&plain).unwrap();
        let commitment = proven.commitment();
        assert_eq!(
            commitment,
            Commitment::of_prepared(&proven.shape(), *commitment.top()).unwrap()
        );
        for index in 0..records {
            let record = commitment.open(index, &read(&proven, index)).unwrap();
            assert_eq!(record, plain.get(index).unwrap(), "{index} of {records}");
        }
        let back = PlainRecords::new(&proven, &commitment).unwrap();
        let mut all = vec![0; plain.packed().len()];
        back.read_packed(0, records, &mut all).unwrap();
        assert_eq!(all, plain.packed());
        assert!(
            back.read_packed(1, records, &mut all).is_err()
                && proven.read_packed(0, 1, &mut []).is_err()
        );
    }
}

#[test]
fn other_records_indices_and_bytes_do_not_open() {
    let plain = random(13, 9);
    let proven = ProvenRecords::new(&plain).unwrap();
    let commitment = proven.commitment();
    let whole = read(&proven, 6);
    assert_eq!(whole.len(), 9 + proof_bytes(13));
    for index in (0..16).filter(|&index| index != 6) {
        assert!(
            matches!(commitment.open(index, &whole), Err(Error::NotCommitted)),
            "at {index}"
        );
    }
    for position in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[position] ^= 1;
        assert!(
            matches!(commitment.open(6, &damaged), Err(Error::NotCommitted)),
            "byte {position}"
        );
    }
    assert!(matches!(
        commitment.open(6, &whole[1..]),
        Err(Error::Core(_))
    ));
    let other = ProvenRecords::new(&random(13, 9)).unwrap().commitment();
    assert_eq!(
        other.root(None),
        commitment.root(None),
        "the same records, the same root"
    );
}

#[test]
fn the_root_binds_records_lengths_and_layout() {
    let roots: Vec<_> = [(13, 9), (13, 10), (14, 9)]
        .map(|(records, bytes)| {
            ProvenRecords::new(&random(records, bytes))
                .unwrap()
                .commitment()
                .root(None)
        })
        .into();
    assert!(roots[0] != roots[1] && roots[1] != roots[2] && roots[0] != roots[2]);
    let table = common::table_with(
        vec![common::entry(1, b"a", b"b")],
        papir_lookup::BucketTarget::default(),
        papir_lookup::OnDuplicate::Refuse,
    )
    .unwrap();
    let commitment = ProvenRecords::new(&table.records).unwrap().commitment();
    assert_ne!(commitment.root(Some(&table.layout)), commitment.root(None));
}
