//! SimpleYPIR and InsPIRe with t = 1 at full parameters: correct records, noise as predicted, and
//! short messages.

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use papir_core::scheme::{Client as _, Parameters, Server as _, Session};
use papir_core::{Change, FailureBound, Goal, NoProgress, RecordBuffer, Shape};
use papir_lattice::selection::{Stacking, Storage};
use papir_ring::CyclotomicRing;
use papir_ring::prg::Seed;
use papir_schemes::shared::selection::{Masks, Selects};
use papir_schemes::simple::packed::layout::Layout;
use papir_schemes::simple::packed::{
    ByCdks, ByInspiring, Client, Packed, PackedVariant, Params, Server,
};
use papir_testkit::noise::Moments;
use papir_testkit::typed::{assert_opens_under_its_own_secret_only, sections};

use crate::packed::{assert_queries_share_the_passes, records};

fn prepare<V: PackedVariant>(params: Params<V>, records: &RecordBuffer) -> (Server<V>, Client<V>) {
    let mut rng = ChaCha20Rng::from_seed([1; 32]);
    let server = Server::setup(params.clone(), records, &mut rng, &NoProgress).unwrap();
    let client = Client::new(params, server.public().clone()).unwrap();
    (server, client)
}

fn fetch<V: PackedVariant>(
    server: &Server<V>,
    client: &Client<V>,
    index: u64,
    rng: &mut ChaCha20Rng,
) -> Vec<u8> {
    let (secret, query) = client.query(None, &[index], rng).unwrap();
    let answer = server.answer(Session::anonymous(), &query).unwrap();
    client.extract(secret, answer).unwrap().remove(0)
}

fn records_are_retrieved_from_columns_of_every_height<V: PackedVariant>() {
    let mut rng = ChaCha20Rng::from_seed([2; 32]);
    for (count, bits, packs) in [
        (1, 1, 1),
        (3000, 13, 1),
        (3000, 13, 2),
        (50, 3000 * 8, 3),
        (9, 5000 * 8, 2),
        (4, 5000 * 8, 5),
        (2, 8192 * 8 - 3, 2),
    ] {
        let records = records(Shape::new(count, bits).unwrap(), 3);
        let shape = Shape::new(count, bits).unwrap();
        // A pack has 4 KiB of words of 16 bits, and less of shorter ones.
        let packs = packs * 16 / u64::from(V::SIMPLE.storage.word_bits());
        let (server, client) = prepare(Params::<V>::with_packs(shape, packs).unwrap(), &records);
        for index in [0, count / 2, count - 1] {
            let found = fetch(&server, &client, index, &mut rng);
            assert!(
                found == records.get(index).unwrap(),
                "{count} × {bits} in {packs} packs: {index}"
            );
        }
    }
}

/// Records of every word of an entry, before and after an update of one of them.
fn every_word_of_an_entry_is_selected<V: PackedVariant>() {
    let mut rng = ChaCha20Rng::from_seed([4; 32]);
    let shape = Shape::of_bytes(23, 700).unwrap();
    let packs = 16 / u64::from(V::SIMPLE.storage.word_bits());

    for &stacking in V::SIMPLE.stackings {
        let mut records = records(shape, 5);
        let Ok(params) = Params::<V>::stacked(shape, packs, stacking, FailureBound::DEFAULT) else {
            continue;
        };
        let (server, client) = prepare(params, &records);
        for index in 0..23 {
            let found = fetch(&server, &client, index, &mut rng);
            assert!(
                found == records.get(index).unwrap(),
                "{stacking:?}: {index}"
            );
        }

        let change = Change {
            index: 7,
            record: vec![0x5a; 700],
        };
        records.set(7, &change.record).unwrap();
        let updated = server.update(&[change], &mut rng, &NoProgress).unwrap();
        let client = Client::new(updated.params().clone(), updated.public().clone()).unwrap();
        for index in 5..10 {
            let found = fetch(&updated, &client, index, &mut rng);
            assert!(
                found == records.get(index).unwrap(),
                "{stacking:?}: {index}"
            );
        }
        let mut read = vec![0; 23 * 700];
        updated.read_packed(0, 23, &mut read).unwrap();
        assert!(read == records.packed(), "{stacking:?}");
    }
}

fn an_update_is_the_setup_of_the_changed_records<V: PackedVariant>() {
    let mut rng = ChaCha20Rng::from_seed([5; 32]);
    let shape = Shape::new(70_001, 3).unwrap();
    let mut records = records(shape, 6);
    let (server, _) = prepare(Params::<V>::with_packs(shape, 1).unwrap(), &records);
    let change = |index, byte| Change {
        index,
        record: vec![byte],
    };
    let changes = [change(70_000, 5), change(0, 2), change(70_000, 1)];
    let updated = server.update(&changes, &mut rng, &NoProgress).unwrap();
    changes
        .iter()
        .for_each(|change| records.set(change.index, &change.record).unwrap());
    let fresh = Server::prepare(
        server.params().clone(),
        server.public().seed,
        &records,
        &NoProgress,
    )
    .unwrap();
    let saved = sections::<Packed<V>>;
    assert!(saved(&updated) == saved(&fresh) && saved(&updated) != saved(&server));
    let same = server
        .update(
            &[change(1, records.get(1).unwrap()[0])],
            &mut rng,
            &NoProgress,
        )
        .unwrap();
    assert!(saved(&same) == saved(&server));
}

/// Words of a column in the order of its rows.
fn words_of<V: PackedVariant>(bytes: &[u8]) -> Vec<i128> {
    match V::SIMPLE.storage {
        Storage::Words => bytes
            .chunks_exact(2)
            .map(|pair| i16::from_le_bytes([pair[0], pair[1]]).into())
            .collect(),
        Storage::Nibbles => {
            let halves = |bytes: &[u8]| {
                [0, 4].map(|half| {
                    bytes
                        .iter()
                        .map(|b| i128::from(b >> half & 15) - 8)
                        .collect()
                })
            };
            let groups: Vec<[Vec<i128>; 2]> = bytes.chunks_exact(64).map(halves).collect();
            groups.as_flattened().concat()
        }
    }
}

/// Returns the error of each entry of a decrypted column, modulo q and centred.
///
/// The records are zero, so the column's words are the whitening stream.
fn errors<V: PackedVariant>(
    server: &Server<V>,
    client: &Client<V>,
    index: u64,
    rng: &mut ChaCha20Rng,
) -> Vec<f64> {
    let params = server.params();
    let ring = params.selection().rlwe().ring();
    let (secret, query) = client.query(None, &[index], rng).unwrap();
    let matrix = server.matrix();
    let key = matrix.read_key(&query).unwrap();
    let selected = matrix.select(&[&query], &[Vec::new()]);
    let answer = matrix
        .round(&matrix.pack(selected, &[&key]).unwrap()[0])
        .with_masks(&server.public().masks);
    let layout = params.layout();
    let place = layout.locate(index);
    let scale = params.selection().scale(place.block) as i128;
    let q = ring.modulus() as i128;
    let bits = params.selection().bits().answer;
    let phases = answer.phases(params.selection(), secret.key());
    let error = |(entry, &phase): (i128, &u64)| {
        let expected = (entry * scale).rem_euclid(q) as f64 * 2f64.powi(bits.a as i32) / q as f64;
        let half = 2f64.powi(bits.a as i32 - 1);
        let difference = (phase as f64 - expected + 3.0 * half).rem_euclid(2.0 * half) - half;
        difference * q as f64 / 2f64.powi(bits.a as i32)
    };
    entries_of::<V>(layout, &server.public().seed, place.column)
        .into_iter()
        .zip(phases.iter())
        .map(error)
        .collect()
}

/// Entries of a column of zero records: its words are the whitening stream.
fn entries_of<V: PackedVariant>(layout: &Layout, seed: &Seed, column: u32) -> Vec<i128> {
    let Stacking { words, step } = layout.stacking;
    let mut entries = vec![0; layout.rows];

    for word in 0..words {
        let mut bytes = vec![0; layout.rows * V::SIMPLE.storage.word_bits() as usize / 8];
        let unit = u64::from(column) * words as u64 + word as u64;
        layout.whiten(seed, unit, &mut bytes);
        for (entry, of_unit) in entries.iter_mut().zip(words_of::<V>(&bytes)) {
            *entry += of_unit << (word as u32 * step);
        }
    }

    entries
}

/// Parameters that answer with the given bits of mask and body.
fn answering<V: PackedVariant>(params: &Params<V>, bits: [u8; 2]) -> Params<V> {
    let mut bytes = params.encode();
    // The words of an entry follow, if there are several.
    let stacked = params.layout().stacking != Stacking::NONE;
    let end = bytes.len() - if stacked { 2 } else { 0 };
    bytes[end - 2..end].copy_from_slice(&bits);
    Params::decode(&bytes).unwrap()
}

/// Every error of an answer as sent is within the bound. The errors of an answer that is hardly
/// rounded are as predicted.
fn measured_noise_is_as_predicted<V: PackedVariant>() {
    let mut rng = ChaCha20Rng::from_seed([7; 32]);
    let shape = Shape::of_bytes(1 << 13, 4096).unwrap();
    let packs = 2 * 16 / u64::from(V::SIMPLE.storage.word_bits());
    let stacked = V::SIMPLE.stackings.iter().filter_map(|&stacking| {
        Params::<V>::stacked(shape, packs, stacking, FailureBound::DEFAULT).ok()
    });
    let stacked = stacked.flat_map(|params| [answering(&params, [32, 32]), params]);

    for params in stacked {
        let (server, client) = prepare(params.clone(), &RecordBuffer::zeroed(shape));
        let errors = (0..4).flat_map(|i| errors(&server, &client, i * 2001, &mut rng));
        let moments = Moments::of(errors);
        let predicted = params.selection().noise();
        println!(
            "{:?}: noise 2^{:.2}, predicted 2^{:.2} (packing 2^{:.2})",
            params.layout().stacking,
            moments.deviation().log2(),
            predicted.total().log2() / 2.0,
            predicted.packing.log2() / 2.0
        );
        let q = params.selection().rlwe().ring().modulus() as f64;
        let bits = params.selection().bits().answer;
        let rounded = match V::MASKS {
            Masks::Answers => 0.0,
            // It counts at its largest in the bound, not in the prediction.
            Masks::Public => (q / 2f64.powi(bits.b as i32)).powi(2) / 12.0,
        };
        moments.assert_within(predicted.total() + rounded, 0.1, 1.6);
        let unit = 2f64.powi(bits.a as i32) / q;
        assert!(moments.log2_max.exp2() * unit < params.selection().bound() as f64);
    }
}

fn an_answer_opens_under_its_own_secret_only<V: PackedVariant>() {
    let mut rng = ChaCha20Rng::from_seed([8; 32]);
    let shape = Shape::of_bytes(500, 64).unwrap();
    let records = records(shape, 9);
    let (server, client) = prepare(
        Params::<V>::choose(shape, Goal::Balanced).unwrap(),
        &records,
    );
    assert_opens_under_its_own_secret_only::<Packed<V>>(&server, &client, &records, &mut rng);
}

fn several_queries_share_the_passes<V: PackedVariant>() {
    let mut rng = ChaCha20Rng::from_seed([10; 32]);
    let shape = Shape::of_bytes(3000, 40).unwrap();
    let (server, client) = prepare(
        Params::<V>::with_packs(shape, 2).unwrap(),
        &records(shape, 11),
    );
    assert_queries_share_the_passes::<Packed<V>>(&server, &client, &mut rng);
}

/// Makes the tests of a scheme.
macro_rules! tests {
    ($module:ident: $form:ty) => {
        mod $module {
            use super::*;

            #[test]
            fn records_are_retrieved_from_columns_of_every_height() {
                super::records_are_retrieved_from_columns_of_every_height::<$form>();
            }

            #[test]
            fn every_word_of_an_entry_is_selected() {
                super::every_word_of_an_entry_is_selected::<$form>();
            }

            #[test]
            fn an_update_is_the_setup_of_the_changed_records() {
                super::an_update_is_the_setup_of_the_changed_records::<$form>();
            }

            #[test]
            fn measured_noise_is_as_predicted() {
                super::measured_noise_is_as_predicted::<$form>();
            }

            #[test]
            fn an_answer_opens_under_its_own_secret_only() {
                super::an_answer_opens_under_its_own_secret_only::<$form>();
            }

            #[test]
            fn several_queries_share_the_passes() {
                super::several_queries_share_the_passes::<$form>();
            }
        }
    };
}

tests!(simpleypir: ByCdks);
tests!(inspire1: ByInspiring);

/// Long records in few bytes: at most 130 KiB for a record of 32 KiB in 1 GiB, with 1/8 MiB fetched
/// once. Answers are 5/4 of their records.
#[test]
fn long_records_take_few_bytes() {
    for (records, bytes, most) in [(1 << 15, 1 << 15, 130 << 10), (30_000, 57 << 10, 156 << 10)] {
        let shape = Shape::of_bytes(records, bytes).unwrap();
        let sizes = Params::<ByInspiring>::choose(shape, Goal::MinCommunication)
            .unwrap()
            .describe()
            .sizes;
        assert!(
            sizes.query + sizes.answer <= most && sizes.public <= 256 << 10,
            "{sizes:?}"
        );
        assert!(sizes.answer <= bytes * 5 / 4 + 64, "{sizes:?}");
        assert!(sizes.material < sizes.database, "{sizes:?}");
    }
}

/// Total bytes compared with SimpleYPIR's in InsPIRe, Tables 2 to 4, and the goals with one
/// another.
#[test]
fn messages_are_never_longer_than_the_papers() {
    for (log2_bytes, paper) in [(30, 802_000), (33, 1_354_000), (35, 2_246_000)] {
        for record_bits in [1, 512, 262_144] {
            let shape = Shape::new((8u64 << log2_bytes) / record_bits, record_bits).unwrap();
            let chosen =
                Goal::ALL.map(|goal| Params::<ByCdks>::choose(shape, goal).unwrap().describe());
            let [least, balanced, fast] = chosen.map(|description| {
                assert!(description.failure_log2 <= -40.0);
                println!(
                    "2^{log2_bytes} bytes, {record_bits} bits: {:?}",
                    description.sizes
                );
                description.sizes.query + description.sizes.answer
            });
            assert!(
                least <= balanced && balanced <= fast,
                "{least}, {balanced}, {fast}"
            );
            assert!(least <= paper, "{least} bytes, the paper has {paper}");
        }
    }
}
