//! Reading records back from a prepared database.

use papir_core::erased::ErasedServer;
use papir_core::{Error, NoProgress, PreparedRecords, Records};
use rand_core::Rng;

use super::fixture::{Fixture, Registration};

/// The fixture's database returns its records, all and in part, and refuses invalid reads.
pub(super) fn check_reads(fixture: &mut Fixture<'_>) {
    check_records_of(fixture, &*fixture.server);
    check_ranges(fixture);
    check_refusals(fixture);
}

/// Reads all records of a database that has the fixture's records.
pub(super) fn check_records_of(fixture: &Fixture<'_>, server: &dyn ErasedServer) {
    let mut found = vec![0xFF; fixture.shape.total_bytes() as usize];
    server
        .read_packed(0, fixture.shape.records(), &mut found)
        .expect("all records");
    let mut expected = vec![0; found.len()];
    fixture
        .records
        .read_packed(0, fixture.shape.records(), &mut expected)
        .unwrap();
    assert!(
        found == expected,
        "{:?}: other records are read",
        fixture.shape
    );
}

/// Ranges that start at every kind of position, including empty ones.
fn check_ranges(fixture: &mut Fixture<'_>) {
    let records = fixture.shape.records();
    for first in fixture.indices(8) {
        // A read starts on a byte boundary; every eighth record does.
        let first = if fixture.shape.record_bits().is_multiple_of(8) {
            first
        } else {
            first / 8 * 8
        };

        let left = records - first;
        for count in [0, 1, left.min(9), fixture.rng.next_u64() % left + 1, left] {
            let length = (count * fixture.shape.record_bits()).div_ceil(8) as usize;
            let mut found = vec![0xFF; length];
            let mut expected = vec![0; length];

            fixture
                .server
                .read_packed(first, count, &mut found)
                .expect("a range of records");
            fixture
                .records
                .read_packed(first, count, &mut expected)
                .unwrap();

            assert!(
                found == expected,
                "{:?}: {count} records from {first}",
                fixture.shape
            );
        }
    }
}

/// Reads beyond the last record, reads that start within a byte, and buffers of the wrong length.
fn check_refusals(fixture: &Fixture<'_>) {
    let records = fixture.shape.records();
    let bits = fixture.shape.record_bits();
    let read = |first, count, length| {
        fixture
            .server
            .read_packed(first, count, &mut vec![0; length])
            .expect_err("a read that does not fit")
    };

    let all = fixture.shape.total_bytes() as usize;
    for (first, count) in [
        (0, records + 1),
        (records, 1),
        (records + 1, 0),
        (u64::MAX, 1),
        (0, u64::MAX),
    ] {
        let error = read(first, count, all);
        assert!(
            matches!(error, Error::IndexOutOfRange { .. }),
            "{count} from {first}: {error:?}"
        );
    }

    for length in [all + 1, all - 1] {
        assert!(
            matches!(read(0, records, length), Error::Length { .. }),
            "{length} bytes"
        );
    }

    if !bits.is_multiple_of(8) && records > 1 {
        assert!(
            matches!(
                read(1, 1, bits.div_ceil(8) as usize),
                Error::Malformed { .. }
            ),
            "from within a byte"
        );
    }
}

/// Prepares a database from the records of the fixture's, checks its answers, and replaces the
/// fixture's by it.
pub(super) fn check_setup_from_prepared(fixture: &mut Fixture<'_>) {
    let source = PreparedRecords::new(&*fixture.server);
    assert_eq!(source.shape(), fixture.shape);
    let server = fixture
        .scheme
        .setup(&source, fixture.target.goal, &mut fixture.rng, &NoProgress);
    let server = server.expect("a setup from a prepared database");

    fixture.client = fixture
        .scheme
        .client(&server.public())
        .expect("a client from the public part");
    fixture.registration = Registration::open(&*fixture.client, &*server, &mut fixture.rng);
    fixture.server = server;

    let last = fixture.shape.records() - 1;
    [0, last / 2, last]
        .iter()
        .for_each(|&index| fixture.check_lookup(&[index]));
}
