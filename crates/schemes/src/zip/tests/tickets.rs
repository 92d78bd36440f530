//! Tickets and keys: updates, strangers and malformed bytes.

use std::sync::Mutex;

use papir_core::scheme::{
    Client, EarlierTicket, RegisteredClient, RegisteredServer, Scheme, Server, Session, Wire,
};
use papir_core::sections::{MemorySections, SectionSink};
use papir_core::{Change, Error, NoProgress, Progress, Shape};

use super::{OverSimple, Short};
use crate::zip::Zip;
use crate::zip::client::ZipClient;
use crate::zip::hint::CompressedHint;
use crate::zip::over_simple::Columns;
use crate::zip::params::ZipParams;
use crate::zip::server::ZipServer;
use crate::zip::wire::{Keys, ZipQuery};

#[test]
fn every_number_has_its_own_masks_and_offsets() {
    let mut setup = OverSimple::new(Shape::of_bytes(50, 9).unwrap(), 5, 1);
    let queries: Vec<ZipQuery> = (0..3).map(|_| setup.ask(4).1).collect();
    assert_eq!(
        queries.iter().map(|query| query.number).collect::<Vec<_>>(),
        [0, 1, 2]
    );

    let mut offsets: Vec<&Vec<u16>> = queries
        .iter()
        .flat_map(|query| query.offsets.as_ref().unwrap())
        .collect();
    let all = offsets.len();
    offsets.sort();
    offsets.dedup();
    assert_eq!(offsets.len(), all, "two offsets are equal");
}

#[test]
fn tickets_follow_a_change_of_the_database() {
    let shape = Shape::of_bytes(300, 8).unwrap();
    let mut setup = OverSimple::new(shape, 30, 1);
    let ticket = |server: &ZipServer<Columns<Short>>, keys: &Keys| {
        server.ticket(keys, 5, None, &NoProgress).unwrap()
    };
    let old = ticket(&setup.server, &setup.keys);

    let change = Change {
        index: 33,
        record: vec![1, 2, 3, 4, 5, 6, 7, 8],
    };
    let server = setup
        .server
        .update(std::slice::from_ref(&change), &mut setup.rng, &NoProgress)
        .unwrap();
    setup.records.set(33, &change.record).unwrap();

    let seed = server.public.seed;
    let again = ZipServer::with_seed(server.params.clone(), seed, &setup.records, &NoProgress)
        .unwrap()
        .hint;
    assert!(
        server.hint.exponents.bytes() == again.exponents.bytes(),
        "the hint's exponents"
    );
    assert!(
        server.hint.residues.bytes() == again.residues.bytes(),
        "their residues"
    );
    assert!(server.hint.sums.bytes() == again.sums.bytes(), "their sums");
    assert!(server.hint.digest == again.digest && server.hint.digest != setup.server.hint.digest);

    let kept: usize = {
        let fresh = ticket(&server, &setup.keys).ciphertexts;
        old.ciphertexts
            .iter()
            .zip(&fresh)
            .filter(|(old, new)| old == new)
            .count()
    };

    assert!(
        kept > 0 && kept < old.ciphertexts.len(),
        "{kept} of {} stay",
        old.ciphertexts.len()
    );

    let earlier = EarlierTicket {
        server: &setup.server,
        ticket: old,
    };
    let followed = server
        .ticket(&setup.keys, 5, Some(earlier), &NoProgress)
        .unwrap();
    assert!(followed.ciphertexts == ticket(&server, &setup.keys).ciphertexts);

    setup.server = server;
    let (secret, query) = setup.ask(33);
    let answer = setup.answer(&query);
    assert_eq!(
        setup.client.extract(secret, answer).unwrap(),
        [change.record]
    );
}

/// Words that change places within a row leave its sums the same.
#[test]
fn hints_of_equal_sums_and_different_rows_have_different_digests() {
    let params = ZipParams::<Columns<Short>>::new(Shape::of_bytes(300, 8).unwrap(), 30, 1).unwrap();
    let compression = &params.compression;
    let row = |r: usize| -> Vec<u32> {
        (0..compression.lwe.n() as u32)
            .map(|i| (i + r as u32).wrapping_mul(0x9e37_79b9))
            .collect()
    };
    let swapped = |r: usize| {
        let mut row = row(r);
        row.swap(0, 1);
        row
    };

    let one = CompressedHint::new(compression, row, &NoProgress).unwrap();
    let same = CompressedHint::new(compression, row, &NoProgress).unwrap();
    let other = CompressedHint::new(compression, swapped, &NoProgress).unwrap();
    assert!(one.exponents.bytes() != other.exponents.bytes());
    assert!(one.sums.bytes() == other.sums.bytes());
    assert!(one.digest == same.digest && one.digest != other.digest);
}

/// A database that 0.1.0 stored has no digest in its section of sums: the hint keeps the one of the
/// sums until an update, also if it is stored again before.
#[test]
fn a_hint_without_a_stored_digest_keeps_that_of_its_sums_until_an_update() {
    let mut setup = OverSimple::new(Shape::of_bytes(300, 8).unwrap(), 30, 1);
    let load = |sections: &MemorySections| {
        ZipServer::<Columns<Short>>::load(setup.server.params.clone(), sections)
    };
    let mut sections = MemorySections::default();
    setup.server.save(&mut sections).unwrap();
    assert!(load(&sections).unwrap().public.digest == setup.server.public.digest);

    let sums = setup.server.hint.sums.bytes().to_vec();
    sections.put("zip/sums", &[&sums]).unwrap();
    let older = load(&sections).unwrap();
    assert_eq!(older.public.digest, blake3::hash(&sums).as_bytes()[..16]);
    assert!(older.public.digest != setup.server.public.digest);

    older.save(&mut sections).unwrap();
    assert!(load(&sections).unwrap().public.digest == older.public.digest);
    for bytes in [&sums[1..], &[&sums[..], &[0]].concat()] {
        sections.put("zip/sums", &[bytes]).unwrap();
        let error = load(&sections).map(drop).unwrap_err();
        assert!(matches!(error, Error::Length { .. }), "{error}");
    }

    let change = Change {
        index: 33,
        record: vec![7; 8],
    };
    let changes = std::slice::from_ref(&change);
    let updated = older.update(changes, &mut setup.rng, &NoProgress).unwrap();
    let same = setup
        .server
        .update(changes, &mut setup.rng, &NoProgress)
        .unwrap();
    assert!(updated.public.digest == same.public.digest);
}

#[test]
fn sessions_of_others_are_refused() {
    let mut setup = OverSimple::new(Shape::of_bytes(50, 9).unwrap(), 5, 1);
    let (_, query) = setup.ask(4);
    let (_, others) = setup.client.register(None, &mut setup.rng).unwrap();
    let ticket = setup
        .server
        .ticket(&setup.keys, 0, None, &NoProgress)
        .unwrap();
    let late = setup
        .server
        .ticket(&setup.keys, 1, None, &NoProgress)
        .unwrap();
    let stranger = setup.server.ticket(&others, 0, None, &NoProgress).unwrap();

    let answer = |keys, ticket| setup.server.answer(Session { keys, ticket }, &query);
    let keys = Some(&setup.keys);

    assert!(matches!(
        answer(None, Some(&ticket)),
        Err(Error::Session { .. })
    ));
    assert!(matches!(answer(keys, None), Err(Error::Session { .. })));
    assert!(matches!(
        answer(keys, Some(&late)),
        Err(Error::Malformed { .. })
    ));
    assert!(matches!(
        answer(keys, Some(&stranger)),
        Err(Error::Malformed { .. })
    ));
    assert!(matches!(
        answer(Some(&others), Some(&ticket)),
        Err(Error::Malformed { .. })
    ));

    assert!(answer(keys, Some(&ticket)).is_ok());
}

/// Changes of few rows are multiplied into a ticket, and changes of many rows make its ciphertexts
/// anew: the result is the same.
#[test]
fn tickets_follow_few_and_many_rows_alike() {
    for (key_bits, records) in [(1, 1), (1, 3), (1, 15), (2, 1), (4, 1)] {
        // A column has 30 records of one byte: rows are single bytes.
        let mut setup = OverSimple::new(Shape::of_bytes(300, 1).unwrap(), 30, key_bits);
        let old = setup
            .server
            .ticket(&setup.keys, 5, None, &NoProgress)
            .unwrap();

        let changes: Vec<Change> = (0..records)
            .map(|i| Change {
                index: 2 * i,
                record: vec![201 + i as u8],
            })
            .collect();
        let server = setup
            .server
            .update(&changes, &mut setup.rng, &NoProgress)
            .unwrap();

        let stages = Stages::default();
        let earlier = EarlierTicket {
            server: &setup.server,
            ticket: old,
        };
        let followed = server
            .ticket(&setup.keys, 5, Some(earlier), &stages)
            .unwrap();
        let fresh = server.ticket(&setup.keys, 5, None, &NoProgress).unwrap();

        assert!(
            followed.ciphertexts == fresh.ciphertexts,
            "{records} records, {key_bits} key bits"
        );

        let stages = stages.0.into_inner().unwrap();
        assert!(
            stages.iter().any(|stage| stage == "difference") != (records == 15),
            "{records}: {stages:?}"
        );

        setup.client = ZipClient::new(server.params.clone(), server.public().clone()).unwrap();
        setup.server = server;
        let (secret, query) = setup.ask(0);
        assert_eq!(
            setup.client.extract(secret, setup.answer(&query)).unwrap(),
            [vec![201]]
        );
    }
}

/// Names of the stages with any work.
#[derive(Default)]
struct Stages(Mutex<Vec<String>>);

impl Progress for Stages {
    fn stage(&self, name: &str, total: u64) {
        if total > 0 {
            self.0.lock().unwrap().push(name.to_owned());
        }
    }

    fn advance(&self, _steps: u64) {}
}

#[test]
fn malformed_keys_are_refused_with_a_reason() {
    let setup = OverSimple::new(Shape::of_bytes(50, 9).unwrap(), 5, 1);
    let params = setup.client.params();
    let good = setup.keys.encode(params);
    let with = |modulus: &[u8]| [modulus, &good[modulus.len()..]].concat();
    let number = |add: i8| {
        let mut bytes = good.clone();
        bytes[0] = bytes[0].wrapping_add_signed(add);
        bytes
    };
    let prime = {
        // 2^256 − 189.
        let mut bytes = [0xff; 32];
        bytes[0] = 0x43;
        with(&bytes)
    };

    let cases = [
        ("m + 1", number(1)),
        ("m − 1", number(-1)),
        ("zero", with(&[0; 32])),
        (
            "too short",
            with(&[
                good[0], 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 0,
                0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
            ]),
        ),
        ("a prime", prime),
    ];

    for (what, bytes) in cases {
        let error = <Keys as Wire<ZipParams<Columns<Short>>>>::decode(params, &bytes)
            .map(drop)
            .unwrap_err();
        assert!(matches!(error, Error::Malformed { .. }), "{what}: {error}");
    }

    for length in [0, good.len() - 1, good.len() + 1] {
        let mut bytes = good.clone();
        bytes.resize(length, 0);
        let error = <Keys as Wire<ZipParams<Columns<Short>>>>::decode(params, &bytes)
            .map(drop)
            .unwrap_err();
        assert!(
            matches!(error, Error::Length { .. }),
            "{length} bytes: {error}"
        );
    }
    assert_eq!(<Zip<Short> as Scheme>::ID, 0xfff1);
}
