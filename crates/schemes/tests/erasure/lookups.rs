//! Lookups in every private scheme: the record, its place, and the index in a downloaded copy.

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use papir_core::envelope::{self, Header, Kind};
use papir_core::erased::{ErasedScheme, ErasedSession};
use papir_core::hedge::Circumstances;
use papir_core::scheme::{Client as _, Goal, Parameters as _, Server as _};
use papir_core::{Choice, NoProgress, Privacy, RecordBuffer, Records as _, Shape};
use papir_schemes::download::{DownloadClient, DownloadParams, DownloadServer};

use crate::peer::Peer;
use crate::short;
use crate::watch::{Pattern, bytes_of, freed, turn};

/// Makes a query for one record and opens its answer through the interface over bytes. Checks that
/// both free no block with one of these patterns.
fn assert_lookup_frees_nothing(
    scheme: &dyn ErasedScheme,
    choice: Choice,
    records: &RecordBuffer,
    index: u64,
    patterns: &[Pattern],
) {
    let name = scheme.name();
    let rng = &mut ChaCha20Rng::from_seed([5; 32]);
    let parameters = scheme
        .candidate(records.shape(), choice)
        .unwrap()
        .parameters;
    let server = scheme
        .setup_candidate(&parameters, records, rng, &NoProgress)
        .unwrap();
    let mut peer = Peer::new(scheme, &*server, &Circumstances::now(), rng);
    let ticket = peer.ticket(&*server);

    let ((secret, query), seen) = freed(patterns.to_vec(), || peer.query(index, rng));
    assert!(seen.is_empty(), "{name}: making a query frees {seen:?}");

    let session = peer.session(ticket.as_ref());
    let answer = server.answer(session, &query).unwrap();
    let (found, seen) = freed(patterns.to_vec(), || {
        peer.client.extract(secret, &answer).unwrap()
    });
    assert!(seen.is_empty(), "{name}: opening an answer frees {seen:?}");
    assert_eq!(found, [records.get(index).unwrap()], "{name}");
}

/// Records of scattered bytes.
fn scattered_records(shape: Shape) -> RecordBuffer {
    let bytes = (0..shape.total_bytes() as u32)
        .map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    RecordBuffer::from_packed(shape, bytes).unwrap()
}

/// The record that is looked up, in every private scheme: as bytes, as the low bytes of words, and
/// as centred bytes with a distance each. Schemes with slow clients have short keys.
#[test]
fn freed_memory_holds_no_record_that_was_looked_up() {
    let _turn = turn();
    let shape = Shape::of_bytes(300, 8).unwrap();
    let records = scattered_records(shape);

    // In the first rows of its column: a list of rows that grows copies them each time.
    let index = 1;
    let record = records.get(index).unwrap();
    let centred = record.iter().map(|byte| byte.wrapping_sub(128)).collect();
    let patterns = [
        Pattern::from(("the record", record.clone())),
        Pattern {
            name: "the record's bytes in words",
            bytes: record,
            stride: 4,
        },
        Pattern {
            name: "the record's rows",
            bytes: centred,
            stride: 4,
        },
    ];

    let listed = short::registered();
    let mut tested = 0;
    for (listed, scheme) in listed.iter().zip(short::all()) {
        if listed.properties().privacy != Privacy::Private {
            continue;
        }
        let choice = match listed.name() {
            // Columns of many rows.
            "zip" => Choice::Columns(10),
            _ => Choice::Goal(Goal::Balanced),
        };
        assert_lookup_frees_nothing(&*scheme, choice, &records, index, &patterns);
        tested += 1;
    }
    assert!(tested >= 17, "{tested} private schemes");
}

/// The unit of a record in its column and its slot there, in the schemes that keep both with the
/// secret of a query.
#[test]
fn freed_memory_holds_no_place_of_a_record() {
    let _turn = turn();
    // Eight records of five bits are a unit. A choice of columns counts records as units, so that
    // a column has a hundred units.
    let shape = Shape::new(20_000, 5).unwrap();
    let records = RecordBuffer::zeroed(shape);
    let unit = 97;
    let slot = 6;

    let bytes = |place: [u64; 2]| place.map(u64::to_le_bytes).concat();
    let patterns = [
        Pattern::from(("unit and slot", bytes([unit, slot]))),
        Pattern::from(("slot and unit", bytes([slot, unit]))),
    ];
    for name in ["simple", "zip"] {
        let scheme = short::with_short_modulus(name);
        let choice = Choice::Columns(200);
        let index = 8 * unit + slot;
        assert_lookup_frees_nothing(&*scheme, choice, &records, index, &patterns);
    }
}

/// A record of several chunks, which a client of NewtonPIR joins.
#[test]
fn freed_memory_holds_no_record_of_several_chunks() {
    let _turn = turn();
    let shape = Shape::of_bytes(20, 200).unwrap();
    let records = scattered_records(shape);

    let index = 7;
    let begin = records.get(index).unwrap()[..16].to_vec();
    let patterns = [Pattern::from(("the record's first bytes", begin))];
    for name in ["newton", "newtonsym"] {
        let scheme = short::with_short_modulus(name);
        let choice = Choice::Goal(Goal::Balanced);
        assert_lookup_frees_nothing(&*scheme, choice, &records, index, &patterns);
    }
}

/// A record of NewtonPIR that is refused, because the last chunk of its answer is damaged.
#[test]
fn freed_memory_holds_no_refused_record() {
    let _turn = turn();
    let shape = Shape::of_bytes(20, 200).unwrap();
    let records = scattered_records(shape);
    let index = 7;
    let begin = records.get(index).unwrap()[..16].to_vec();

    let rng = &mut ChaCha20Rng::from_seed([5; 32]);
    let scheme = short::with_short_modulus("newtonsym");
    let candidate = scheme.candidate(shape, Choice::Goal(Goal::Balanced));
    let parameters = candidate.unwrap().parameters;
    let server = scheme
        .setup_candidate(&parameters, &records, rng, &NoProgress)
        .unwrap();
    let client = scheme.client(&server.public()).unwrap();
    let (secret, query) = client.query(None, &[index], rng).unwrap();
    let session = ErasedSession {
        keys: None,
        ticket: None,
    };
    let answer = server.answer(session, &query).unwrap();

    // The last number, of 256 bits. The other chunks still give most of the record.
    let id = scheme.properties().id;
    let (version, payload) = envelope::open(&answer, Kind::Answer, id).unwrap();
    let mut payload = payload.to_vec();
    let number = payload.len() - 32;
    payload[number] ^= 1;
    let header = Header {
        kind: Kind::Answer,
        scheme: id,
        version,
    };
    let answer = envelope::seal(&header, &payload);

    let (refused, seen) = freed(vec![("the record's first bytes", begin)], || {
        client.extract(secret, &answer)
    });
    assert!(matches!(refused, Err(papir_core::Error::NotDecodable)));
    assert!(seen.is_empty(), "a refused answer frees {seen:?}");
}

/// The indices of a download, which are looked up in the client's own copy.
#[test]
fn freed_memory_holds_no_index_of_a_download() {
    let _turn = turn();
    let shape = Shape::of_bytes(300, 8).unwrap();
    let rng = &mut ChaCha20Rng::from_seed([5; 32]);
    let params = DownloadParams::choose(shape, Goal::Balanced).unwrap();
    let server =
        DownloadServer::setup(params, &RecordBuffer::zeroed(shape), rng, &NoProgress).unwrap();
    let client = DownloadClient::new(server.params().clone(), server.public().clone()).unwrap();
    let indices: Vec<u64> = (0..8).map(|i| 17 * i + 3).collect();
    let (_, seen) = freed(vec![("the indices", bytes_of(&indices))], || {
        let (secret, _) = client.query(None, &indices, rng).unwrap();
        drop(secret);
    });
    assert!(seen.is_empty(), "a query frees {seen:?}");
}
