//! Noise of every stage, encryptions and their keys.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use chacha20::ChaCha20Rng;
use papir_core::scheme::{Client, Goal, Parameters, RegisteredClient, Server, Session, Wire};
use papir_core::sections::{MemorySections, SectionSource};
use papir_core::{Change, Error, NoProgress, OwnerKey, Privacy, RecordBuffer, Shape};
use papir_lattice::wide::Rlwe;
use papir_ring::CyclotomicRing;
use rand_core::{Rng, SeedableRng};

use super::Encrypted;
use super::params::{EncryptedParams, Literal, noise};
use super::server::EncryptedServer;
use crate::pirouette::chain::{DEGREE, Grain};
use crate::pirouette::client::RetrievalClient;
use crate::pirouette::common::RetrievalParams;
use crate::pirouette::keys::{Keys, State};
use crate::pirouette::{ParameterSet, Standard};
use crate::shared::messages::EmptyPublic;

type Params = EncryptedParams<Standard>;

fn rng(seed: u8) -> ChaCha20Rng {
    ChaCha20Rng::from_seed([seed; 32])
}

fn key(seed: u8) -> OwnerKey {
    OwnerKey::generate(&mut rng(seed))
}

fn random_records(shape: Shape) -> RecordBuffer {
    let mut records = RecordBuffer::zeroed(shape);
    rng(1).fill_bytes(records.packed_mut());
    records
}

fn choose(records: u64, bytes: u64) -> Params {
    Params::choose(Shape::of_bytes(records, bytes).unwrap(), Goal::Balanced).unwrap()
}

fn set_up(params: Params, records: &RecordBuffer) -> EncryptedServer<Standard> {
    EncryptedServer::setup(params, records, &mut rng(2), &NoProgress).unwrap()
}

fn register(params: Params) -> (RetrievalClient<Encrypted>, State, Keys) {
    let client = RetrievalClient::<Encrypted>::new(params, EmptyPublic).unwrap();
    let (state, keys) = client.register(None, &mut rng(3)).unwrap();
    (client, state, keys)
}

/// Returns the errors of a phase in turns, at the places where it encodes bytes.
fn errors(phase: &[u64], q: u64, bytes: impl Iterator<Item = (usize, u8)>) -> Vec<f64> {
    let turns =
        |(place, byte): (usize, u8)| phase[place] as f64 / q as f64 - f64::from(byte) / 256.0;
    bytes
        .map(turns)
        .map(|turns| turns - turns.round())
        .collect()
}

fn variance(errors: &[f64]) -> f64 {
    errors.iter().map(|error| error * error).sum::<f64>() / errors.len() as f64
}

/// Computed and measured noise: of fresh encryptions, and after all gates.
#[test]
fn noise_of_records_and_of_items_is_within_its_bound() {
    let literal = Literal {
        span: 64,
        gate: (5, 4),
        seed_bytes: 32,
        grain: Grain::Coarse,
    };

    items_are_within_their_bound(literal);
    items_are_within_their_bound(Literal {
        gate: (3, 7),
        grain: Grain::Fine,
        ..literal
    });
}

fn items_are_within_their_bound(literal: Literal) {
    let shape = Shape::of_bytes(3000, 64).unwrap();
    let params = Params::new(shape, literal)
        .unwrap()
        .with_owner_key(&key(9))
        .unwrap();
    let records = random_records(shape);

    let server = set_up(params.clone(), &records);
    let ring = params.chain().ring();
    let layout = params.layout();
    let (client, mut state, keys) = register(params.clone());
    let secret =
        |rlwe: &Rlwe| -> Vec<u64> { ring.to_words(&rlwe.phase(ring, params.owner.key().unwrap())) };
    let computed = noise(params.chain(), layout, params.gate()).retrieved;

    let fresh: Vec<f64> = (0..layout.polys())
        .flat_map(|index| {
            let phase = secret(&server.ciphertexts.lifted(ring, 0, index));
            let plain = layout.spread(&layout.items(&records, index).unwrap());
            errors(&phase, ring.modulus(), plain.into_iter().enumerate())
        })
        .collect();
    check("records", variance(&fresh), computed.first);

    let mut found = Vec::new();
    for index in [0, 1234, 2999] {
        let (_, query) = client
            .query(Some(&mut state), &[index], &mut rng(index as u8))
            .unwrap();
        let planes = server.planes(&keys.expanded(&params).unwrap(), &query, &NoProgress);
        let record = records.get(index).unwrap();
        let places = record
            .iter()
            .enumerate()
            .map(|(i, &byte)| (i * layout.slots(), byte));
        found.append(&mut errors(&secret(&planes[0]), ring.modulus(), places));
    }
    check("items", variance(&found), computed.first + computed.gates);
}

fn check(what: &str, measured: f64, computed: f64) {
    let [found, bound] = [measured, computed].map(|variance| variance.log2() / 2.0);
    eprintln!("Measured noise of {what}: 2^{found:.2}, computed 2^{bound:.2}");
    // All coefficients share a few errors of gates, so a handful of items varies.
    assert!(
        measured < 1.2 * computed && measured > computed / 16.0,
        "{what}: 2^{found:.2}, 2^{bound:.2}"
    );
}

#[test]
fn a_missing_or_wrong_key_is_refused() {
    let params = choose(300, 100);
    let records = random_records(params.shape());
    let refused = |error: Option<Error>| error.unwrap().to_string();

    let setup = EncryptedServer::setup(params.clone(), &records, &mut rng(2), &NoProgress);
    let expected = "an encrypted database needs a key of its owner: found none";
    assert_eq!(refused(setup.err()), expected);

    let bound = params.clone().with_owner_key(&key(9)).unwrap();
    let id = bound.owner.id.unwrap();
    let server = set_up(bound.clone(), &records);

    // A server that knows the identifier but not the key answers, but cannot read, update or
    // register.
    let mut sections = MemorySections::default();
    server.save(&mut sections).unwrap();
    let known = Params::decode(&bound.encode()).unwrap();
    let served = EncryptedServer::load(known.clone(), &sections).unwrap();
    let needs = format!("an encrypted database needs its owner's key, {id}: found none");
    let change = Change {
        index: 7,
        record: vec![1; 100],
    };

    assert_eq!(
        refused(served.read_packed(0, 1, &mut [0; 100]).err()),
        needs
    );
    assert_eq!(
        refused(served.update(&[change], &mut rng(4), &NoProgress).err()),
        needs
    );

    let client = RetrievalClient::<Encrypted>::new(known.clone(), EmptyPublic).unwrap();
    assert_eq!(refused(client.register(None, &mut rng(3)).err()), needs);
    let other = refused(known.clone().with_owner_key(&key(8)).err());
    assert!(
        other.starts_with(&needs[..needs.len() - 4]) && other.contains("found key "),
        "{other}"
    );

    let unnamed = EncryptedServer::<Standard>::load(params, &sections)
        .err()
        .unwrap()
        .to_string();
    assert!(unnamed.contains("no key identifier"), "{unnamed}");

    // A client with state queries without the key; state of another key is refused.
    let (_, mut state, keys) = register(bound);
    assert!(client.state_fits(&state));

    let (secret, query) = client.query(Some(&mut state), &[7], &mut rng(5)).unwrap();
    let answer = served
        .answer(
            Session {
                keys: Some(&keys),
                ticket: None,
            },
            &query,
        )
        .unwrap();

    assert_eq!(
        client.extract(secret, answer).unwrap(),
        [records.get(7).unwrap()]
    );

    let (_, foreign, _) = register(choose(300, 100).with_owner_key(&key(8)).unwrap());
    assert!(!client.state_fits(&foreign));
}

/// Two encryptions of the same records share no mask, and changed records get fresh ones.
#[test]
fn masks_never_repeat() {
    let params = choose(300, 100).with_owner_key(&key(9)).unwrap();
    let records = random_records(params.shape());

    let seeds = |server: &EncryptedServer<Standard>| {
        let mut sections = MemorySections::default();
        server.save(&mut sections).unwrap();
        let seeds = sections.get("pirouette/seeds").unwrap();
        seeds
            .chunks_exact(32)
            .map(<[u8]>::to_vec)
            .collect::<Vec<_>>()
    };

    let mut rng = rng(2);
    let first = EncryptedServer::setup(params.clone(), &records, &mut rng, &NoProgress).unwrap();
    let second = EncryptedServer::setup(params.clone(), &records, &mut rng, &NoProgress).unwrap();
    let change = Change {
        index: 7,
        record: vec![1; 100],
    };
    let changed = first.update(&[change], &mut rng, &NoProgress).unwrap();

    let mut all: BTreeSet<Vec<u8>> = seeds(&first).into_iter().collect();
    assert_eq!(all.len(), params.layout().polys());
    assert!(
        seeds(&second).into_iter().all(|seed| all.insert(seed)),
        "a mask twice"
    );

    let fresh: Vec<_> = seeds(&changed)
        .into_iter()
        .filter(|seed| !all.contains(seed))
        .collect();
    assert_eq!(fresh.len(), 1, "of the polynomial that holds record 7");

    // A restored machine draws the same bytes for other records.
    let [one, two] = [1, 2].map(|byte| {
        let change = Change {
            index: 7,
            record: vec![byte; 100],
        };
        seeds(
            &first
                .update(&[change], &mut self::rng(3), &NoProgress)
                .unwrap(),
        )
    });
    assert_eq!(
        one.iter().zip(&two).filter(|(one, two)| one != two).count(),
        1
    );
}

#[test]
fn changed_records_come_back_and_others_stay() {
    let params = choose(50, 2500).with_owner_key(&key(9)).unwrap();
    let records = random_records(params.shape());
    let server = set_up(params, &records);

    let changes = [3, 49, 3].map(|index| Change {
        index,
        record: vec![index as u8 + 1; 2500],
    });
    let changed = server.update(&changes, &mut rng(4), &NoProgress).unwrap();

    let mut out = vec![0; 50 * 2500];
    changed.read_packed(0, 50, &mut out).unwrap();
    for (index, found) in out.chunks_exact(2500).enumerate() {
        let expected = match index {
            3 | 49 => vec![index as u8 + 1; 2500],
            _ => records.get(index as u64).unwrap(),
        };
        assert_eq!(found, expected, "record {index}");
    }
}

#[test]
fn the_noise_closes_for_databases_up_to_four_gibibytes() {
    for (log2_records, bytes) in [
        (0, 1),
        (10, 256),
        (20, 256),
        (22, 256),
        (24, 256),
        (25, 8),
        (13, 1 << 18),
    ] {
        for goal in Goal::ALL {
            let params =
                Params::choose(Shape::of_bytes(1 << log2_records, bytes).unwrap(), goal).unwrap();

            let description = params.describe();
            assert!(description.failure_log2 <= -40.0);
            assert!(description.security.as_ref().unwrap().bits >= 128.0);
            assert!(
                description.sizes.answer < (6 << 10) * params.layout().planes as u64,
                "{description:?}"
            );

            let plain = (params.layout().planes * params.layout().polys() * DEGREE) as u64;
            let stored = description.sizes.database + description.sizes.material;
            assert!(stored <= plain * 202 / 100, "{description:?}");

            let again = Params::decode(&params.encode()).unwrap();
            assert_eq!(again.describe(), description);
        }
    }
}

/// With many gates, a quarter fewer digits in them is worth keys a third larger.
#[test]
fn large_databases_use_large_keys_and_small_ones_small_keys() {
    let [few, many] = [1 << 10, 1 << 20].map(|records| choose(records, 256));
    assert!(!few.label().contains("large keys") && many.label().contains("large keys"));

    let small_keys = Literal {
        grain: Grain::Coarse,
        ..many.literal
    };
    assert!(
        Params::new(many.shape(), small_keys).is_err(),
        "as few digits with small keys"
    );
    assert!(few.describe().sizes.keys < many.describe().sizes.keys);
}

/// Short keys that anybody can guess; everything else has its full length.
#[derive(Clone, Copy, Debug)]
struct Short;

impl ParameterSet for Short {
    const NAME: &'static str = "pirouette-unguarded";
    const ID: u16 = 0xfff7;
    const ENCRYPTED: (&'static str, u16) = ("pirouette-encrypted-unguarded", 0xfff8);
    const PRIVACY: Privacy = Privacy::NotPrivate("its keys are short: it is for tests");
    const DIMENSIONS: [usize; 2] = [16, 24];
}

/// An odd number of polynomials shared by threads: of 301, 45 are in the last share and 13 in its
/// last block; and fewer than a block or a share.
#[test]
fn any_number_of_polynomials_is_folded() {
    for (records, asked) in [
        (601, vec![0, 31, 32, 511, 512, 543, 544, 599, 600]),
        (1, vec![0]),
        (33, vec![0, 32]),
        (6, vec![4, 5]),
    ] {
        let shape = Shape::of_bytes(records, 1024).unwrap();
        let literal = Literal {
            span: 1024,
            gate: (4, 5),
            seed_bytes: 32,
            grain: Grain::Coarse,
        };
        let params = EncryptedParams::<Short>::new(shape, literal)
            .unwrap()
            .with_owner_key(&key(9))
            .unwrap();
        assert_eq!(params.layout().polys() as u64, records.div_ceil(2));

        let records = random_records(shape);
        let server =
            EncryptedServer::setup(params.clone(), &records, &mut rng(2), &NoProgress).unwrap();
        let client = RetrievalClient::<Encrypted<Short>>::new(params, EmptyPublic).unwrap();
        let (mut state, keys) = client.register(None, &mut rng(3)).unwrap();

        for index in asked {
            let (secret, query) = client
                .query(Some(&mut state), &[index], &mut rng(4))
                .unwrap();

            let answer = server
                .answer(
                    Session {
                        keys: Some(&keys),
                        ticket: None,
                    },
                    &query,
                )
                .unwrap();

            let found = client.extract(secret, answer).unwrap();
            assert!(
                found == [records.get(index).unwrap()],
                "record {index} of {:?}",
                shape
            );
        }
    }
}

/// After the server has forgotten a client, registering again needs no owner's key, because the
/// state has it. State under another key is refused.
#[test]
fn a_forgotten_client_registers_again_with_its_state() {
    let bound = choose(300, 100).with_owner_key(&key(9)).unwrap();
    let (_, kept, first) = register(bound.clone());
    let known = Params::decode(&bound.encode()).unwrap();
    let client = RetrievalClient::<Encrypted>::new(known.clone(), EmptyPublic).unwrap();

    let (again, second) = client.register(Some(&kept), &mut rng(6)).unwrap();
    assert!(client.state_fits(&again));
    assert!(
        first.encode(&known) != second.encode(&known),
        "other masks, other short keys"
    );

    let (_, foreign, _) = register(choose(300, 100).with_owner_key(&key(8)).unwrap());
    let refused = client
        .register(Some(&foreign), &mut rng(6))
        .err()
        .unwrap()
        .to_string();
    assert!(refused.ends_with("found none"), "{refused}");
}
