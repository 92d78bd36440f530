//! Noise, secrets and updates of a packed DoublePIR, from inside.
#![allow(clippy::unwrap_used)]

use chacha20::ChaCha20Rng;
use papir_core::scheme::{Client as _, Server as _};
use papir_core::{Change, NoProgress, RecordBuffer, Records, Shape};
use papir_lattice::lwe::block_mask;
use papir_lattice::lwe32::{N, SIGMA, dot};
use papir_lattice::mod_switch::PowerSwitch;
use papir_lattice::noise::rounding;
use papir_lattice::rlwe::Rlwe;
use papir_lattice::selection::place;
use papir_ring::CyclotomicRing;
use papir_ring::prg::Seed;
use papir_testkit::noise::Moments;
use papir_testkit::typed::sections;
use rand_core::{Rng, SeedableRng};

use super::server::split_answer;
use super::{
    ByCdks, ByInspiring, Client, DigitShape, PackedDouble, PackedVariant, Params, Query, Secret,
    Server,
};
use crate::double::levels::first_masks;
use crate::double::noise::FIRST;
use crate::shared::digits::Digits;
use crate::shared::fixtures::{assert_selected_before_refused, change, changed, extreme_records};
use crate::shared::selection::{Selected, SelectionParams};

const SEVEN: DigitShape = DigitShape {
    bits: 7,
    mask: 3,
    body: 2,
};

fn setup<V: PackedVariant>(
    records: &RecordBuffer,
    params: Params<V>,
) -> (Server<V>, Client<V>, ChaCha20Rng) {
    let mut rng = ChaCha20Rng::seed_from_u64(4);
    let server = Server::setup(params, records, &mut rng, &NoProgress).unwrap();
    let client = Client::new(server.params.clone(), server.public.clone()).unwrap();
    (server, client, rng)
}

/// The packed answer of one query, not rounded.
fn packed<V: PackedVariant>(server: &Server<V>, query: &Query) -> Selected {
    let singles = [split_answer(
        &server.params,
        &server.first_level(&[query])[0],
    )];
    let selected = server.second.select(&[&query.second], &singles);
    let key = server.second.read_key(&query.second).unwrap();
    server.second.pack(selected, &[&key]).unwrap().remove(0)
}

fn split(digits: Digits, word: u32) -> impl Iterator<Item = i16> {
    digits.split_centred(digits.leading(word))
}

/// Differences of phases modulo q from digits times Δ, centred.
fn errors<V: PackedVariant>(params: &Params<V>, phases: &[u64], digits: &[i16]) -> Vec<f64> {
    let q = params.selection.rlwe().ring().modulus() as i128;
    let scale = params.selection.scale(0) as i128;

    let error = |(&phase, &digit): (&u64, &i16)| {
        let error = (i128::from(phase) - i128::from(digit) * scale).rem_euclid(q);
        (if error > q / 2 { error - q } else { error }) as f64
    };

    phases.iter().zip(digits).map(error).collect()
}

/// The errors of packed digits, not rounded: of all rows, then of single ones if they are packed.
fn packed_errors<V: PackedVariant>(
    server: &Server<V>,
    secret: &Secret,
    query: &Query,
    index: u64,
) -> Vec<f64> {
    let params = &server.params;
    let ring = server.params.selection.rlwe().ring();
    let packed = packed(server, query);
    let counts = params.selection.counts;

    let phase = |pack: usize| {
        let phase = server
            .second
            .encryption(&packed, pack)
            .phase(ring, secret.key());
        ring.to_words(&phase)[..params.literal.capacity].to_vec()
    };
    let phases: Vec<u64> = (0..counts.sent_packs::<V>()).flat_map(phase).collect();

    let unit = params.layout.place(index).unit as usize;
    let units = params.layout.units;
    let tiles: &[i16] = bytemuck::cast_slice(server.second.tiles());
    let rows = (0..counts.rows).map(|row| tiles[place(units, row, unit)]);
    let singles = split_answer(params, &server.first_level(&[query])[0]);
    let singles = singles.chunks_exact(units).map(|row| row[unit]);

    let digits: Vec<i16> = rows.chain(singles).take(counts.sent_rows::<V>()).collect();

    errors(params, &phases, &digits)
}

fn assert_packed_noise_is_predicted<V: PackedVariant>(digits: DigitShape, capacity: usize) {
    let records = extreme_records(Shape::of_bytes(512 * 2048, 1).unwrap());
    let params = Params::<V>::with_digits(records.shape(), 2048, digits, capacity).unwrap();
    let (server, client, mut rng) = setup(&records, params);

    let mut all = Vec::new();
    let mut singles = Vec::new();
    for i in 0..4 {
        let index = i * 250_007;
        let (secret, query) = client.query(None, &[index], &mut rng).unwrap();
        let mut errors = packed_errors(&server, &secret, &query, index);
        singles.extend(errors.split_off(server.params.selection.counts.rows));
        all.extend(errors);
    }

    let mut noise = server.params.selection.noise();
    assert!(
        singles
            .iter()
            .all(|error| error.abs() < 5.0 * noise.total().sqrt()),
        "{singles:?}"
    );
    // The bound is for coefficients near single rows; most get the noise of one packing.
    noise.packing /= if singles.is_empty() { 1.0 } else { 2.0 };
    // Uniform digits have a third of the largest one's square, and a little.
    let uniform = noise.selection * (1.0 + 2.0 / 4f64.powi(digits.bits as i32)) / 3.0;

    let moments = Moments::of(all);
    println!(
        "{} of {capacity}: 2^{:.2}; predicted 2^{:.2} for uniform digits (packing 2^{:.2}), bound 2^{:.2}",
        V::DOUBLE.name,
        moments.deviation().log2(),
        (uniform + noise.packing).log2() / 2.0,
        noise.packing.log2() / 2.0,
        (noise.selection + noise.packing).log2() / 2.0,
    );

    moments.assert_within(uniform + noise.packing, 0.15, 1.6);
    assert!(
        moments.log2_max
            < moments.expected_log2_max((noise.selection + noise.packing).sqrt()) + 0.6
    );
}

#[test]
fn noise_of_full_inspiring_is_predicted() {
    assert_packed_noise_is_predicted::<ByInspiring>(SEVEN, 2048);
}

#[test]
fn noise_of_partial_inspiring_is_predicted() {
    assert_packed_noise_is_predicted::<ByInspiring>(SEVEN, 1024);
    assert_packed_noise_is_predicted::<ByInspiring>(
        DigitShape {
            bits: 11,
            mask: 2,
            body: 1,
        },
        256,
    );
}

#[test]
fn noise_of_cdks_is_predicted() {
    assert_packed_noise_is_predicted::<ByCdks>(SEVEN, 2048);
}

/// A unit's digits are the digits of the hint of its rows, single words are the digits of the first
/// answers, and both decrypt to the record.
#[test]
fn the_second_level_encrypts_the_first_hint_and_the_first_answers() {
    let records = extreme_records(Shape::new(3000, 24).unwrap());
    let params = Params::<ByInspiring>::with_digits(records.shape(), 60, SEVEN, 1024).unwrap();
    let (server, client, mut rng) = setup(&records, params);

    let (secret, query) = client.query(None, &[1234], &mut rng).unwrap();
    let firsts = server.first_level(&[&query]);
    let packed = packed(&server, &query);
    assert_eq!((packed.singles.len(), packed.added.len()), (6, 0));

    let answer = server
        .second
        .round(&packed)
        .with_masks(&server.public.masks);
    let opened = answer.open(&server.params.selection, secret.key());
    assert!(opened.decodes);

    let row = server.params.layout.place(1234).unit as usize * 3;
    let mut hint = server.first.hint(&server.params.lwe, &NoProgress);
    let hint: &[u32] = hint.slice_mut();
    let modulo = |digit: i16| digit.rem_euclid(128) as u32;
    let masks = hint[row * N..(row + 3) * N]
        .iter()
        .flat_map(|&word| split(SEVEN.of_mask(), word));
    let bodies = firsts[0][row..row + 3]
        .iter()
        .flat_map(|&word| split(SEVEN.of_body(), word));
    let expected: Vec<u32> = masks.chain(bodies).map(modulo).collect();

    assert!(
        *opened.words == expected,
        "digits of the wrong unit, or noise"
    );
}

/// The first level's errors with masks rounded as their digits round them, against its bound.
#[test]
fn noise_of_the_first_level_is_within_its_bound() {
    let records = extreme_records(Shape::of_bytes(512 * 4096, 1).unwrap());
    let params = Params::<ByInspiring>::with_digits(records.shape(), 512, SEVEN, 1024).unwrap();
    let (server, client, mut rng) = setup(&records, params);

    let mut hint = server.first.hint(&server.params.lwe, &NoProgress);
    let hint: &[u32] = hint.slice_mut();
    let mask = SEVEN.of_mask();
    let modulo = |digit: i16| mask.uncentred(digit.rem_euclid(128) as u32);
    let digits = |word: u32| split(mask, word).map(modulo).collect::<Vec<_>>();
    let rounded = |word: &u32| mask.join_leading(digits(*word).into_iter());

    let mut errors = Vec::new();
    let bits = server.params.literal.first_bits;
    for i in 0..8 {
        let (secret, query) = client.query(None, &[i * 250_007], &mut rng).unwrap();
        let column = server.params.layout.place(i * 250_007).column as usize;
        let answers = server.first_level(&[&query]).remove(0);
        for (row, (words, answer)) in hint.chunks_exact(N).zip(&answers).enumerate() {
            let words: Vec<u32> = words.iter().map(rounded).collect();
            let database = &server.first.database;
            let byte = u32::from(database.tiles()[database.position(row, column)]);
            let phase = answer.wrapping_sub(dot(&words, secret.first_key()));
            let expected = byte.wrapping_sub(128) << FIRST.log2_delta;
            errors.push(f64::from(phase.wrapping_sub(expected) as i32));
        }
    }

    let bound = FIRST.deviation(4096, 32 - bits, mask.dropped_bits());
    let moments = Moments::of(errors);
    println!(
        "first level: bound 2^{:.2}, measured 2^{:.2}",
        bound.log2(),
        moments.deviation().log2()
    );

    moments.assert_within(bound * bound, 0.0, 4.0);
    assert!(moments.log2_max < f64::from(server.params.first_bound).log2());
}

/// The stream of the second selector's masks.
const SELECTOR: &str = "selection/selector";

/// Errors of a query: its words less masks and unit vectors.
#[test]
fn a_query_is_two_encrypted_unit_vectors() {
    let records = RecordBuffer::zeroed(Shape::of_bytes(4000 * 3000, 1).unwrap());
    let params = Params::<ByInspiring>::with_digits(records.shape(), 3000, SEVEN, 1024).unwrap();
    let seed = Seed([4; 32]);
    let client = Client::new(
        params.clone(),
        super::Public {
            seed,
            masks: Vec::new(),
        },
    )
    .unwrap();
    let mut rng = ChaCha20Rng::seed_from_u64(2);
    let (secret, query) = client.query(None, &[777 * 3000 + 2222], &mut rng).unwrap();

    let dropped = 32 - params.literal.first_bits;
    let masks = first_masks(seed);
    let mut row = vec![0; N];
    let first = query.first.iter().enumerate().map(|(i, &word)| {
        masks.row(i, &mut row);
        let unit = if i == 777 { 1 << FIRST.log2_delta } else { 0 };
        f64::from(
            (word << dropped)
                .wrapping_sub(dot(&row, secret.first_key()))
                .wrapping_sub(unit) as i32,
        )
    });
    Moments::of(first).assert_within(
        SIGMA * SIGMA + (4f64.powi(dropped as i32) + 2.0) / 12.0,
        0.12,
        1.12,
    );

    let selection = &params.selection;
    let rlwe = params.selection.rlwe();
    let ring = rlwe.ring();
    let d = rlwe.ring().degree();
    let switch = PowerSwitch::new(ring.modulus(), selection.bits().query);
    let lifted: Vec<u64> = query
        .second
        .selector
        .iter()
        .map(|&entry| switch.up(entry))
        .collect();

    let mut phases = Vec::new();
    for (block, bodies) in lifted.chunks(d).enumerate() {
        let mut words = bodies.to_vec();
        words.resize(d, 0);
        let a = ring.inverse(block_mask(rlwe, &seed, SELECTOR, block));
        let phase = Rlwe {
            a,
            b: ring.from_words(&words),
        }
        .phase(ring, secret.key());
        phases.extend_from_slice(&ring.to_words(&phase)[..bodies.len()]);
    }

    let unit: Vec<i16> = (0..3000).map(|i| i16::from(i == 2222)).collect();
    let step = ring.modulus() as f64 / 2f64.powi(selection.bits().query as i32);
    let expected = rlwe.error().sigma().powi(2) + rounding(step);
    Moments::of(errors(&params, &phases, &unit)).assert_within(expected, 0.12, 1.12);
}

/// Masks under the second level's secret: of the selector's blocks and of all key-switching keys.
fn all_masks<V: PackedVariant>(params: &Params<V>, seed: &Seed) -> Vec<Vec<u32>> {
    let selection = &params.selection;
    let blocks = selection
        .counts
        .columns
        .div_ceil(selection.rlwe().ring().degree());
    let selector = (0..blocks).map(|i| block_mask(selection.rlwe(), seed, SELECTOR, i));

    let packing = selection.packing(seed).unwrap();
    let keys = packing
        .setup()
        .switches()
        .iter()
        .flat_map(|switch| switch.masks.clone());

    selector
        .chain(keys)
        .map(|mask| mask.residues().to_vec())
        .collect()
}

fn assert_masks_differ<V: PackedVariant>(params: &Params<V>) {
    let mut masks = all_masks(params, &Seed([7; 32]));
    masks.sort();
    assert!(
        masks.windows(2).all(|pair| pair[0][..4] != pair[1][..4]),
        "{}: two masks are equal",
        V::DOUBLE.name
    );
}

#[test]
fn no_two_masks_under_one_secret_are_equal() {
    let shape = Shape::of_bytes(1 << 20, 1).unwrap();
    for capacity in [2048, 1024] {
        assert_masks_differ(
            &Params::<ByInspiring>::with_digits(shape, 1 << 14, SEVEN, capacity).unwrap(),
        );
    }
    assert_masks_differ(&Params::<ByCdks>::with_digits(shape, 1 << 14, SEVEN, 2048).unwrap());
}

#[test]
fn secrets_are_fresh() {
    let shape = Shape::of_bytes(100, 1).unwrap();
    let params = Params::<ByInspiring>::with_digits(shape, 10, SEVEN, 1024).unwrap();
    let client = Client::new(
        params,
        super::Public {
            seed: Seed([4; 32]),
            masks: Vec::new(),
        },
    )
    .unwrap();

    let mut rng = ChaCha20Rng::seed_from_u64(3);
    let secrets = [0, 1, 2].map(|_| client.query(None, &[7], &mut rng).unwrap().0);

    for (i, secret) in secrets.iter().enumerate() {
        assert!(secret.first_key().iter().any(|&word| word != 0));
        for other in &secrets[..i] {
            assert!(other.first_key() != secret.first_key());
            assert!(other.key().coefficients() != secret.key().coefficients());
        }
    }
}

#[test]
fn an_update_is_the_setup_of_the_changed_records() {
    let saved = sections::<PackedDouble<ByInspiring>>;
    for (bits, units) in [(24, 200), (3, 300), (1, 187), (8, 7)] {
        let shape = Shape::new(1500, bits).unwrap();
        let mut records = RecordBuffer::zeroed(shape);
        let mut rng = ChaCha20Rng::seed_from_u64(6);
        (0..1500).for_each(|i| {
            records
                .set(i, &changed(rng.next_u64() % 1000, &shape).record)
                .unwrap()
        });

        let params = Params::<ByInspiring>::with_digits(shape, units, SEVEN, 1024).unwrap();
        let (server, _, mut rng) = setup(&records, params.clone());
        let before = saved(&server);

        let same = Change {
            index: 5,
            record: records.get(5).unwrap(),
        };
        let unchanged = server.update(&[same], &mut rng, &NoProgress).unwrap();
        assert!(saved(&unchanged) == before, "{bits} bits: nothing changed");

        let changes = change(&mut records, &[0, 1499, 700, 701, 700, 3]);
        let updated = server.update(&changes, &mut rng, &NoProgress).unwrap();
        let fresh = Server::prepare(params, server.public.seed, &records, &NoProgress).unwrap();
        assert!(
            saved(&updated) == saved(&fresh),
            "{bits} bits: differs from a fresh setup"
        );
        assert!(
            saved(&updated) != before && saved(&server) == before,
            "{bits} bits"
        );
    }
}

#[test]
fn the_record_is_selected_before_an_answer_is_refused() {
    let mut records = RecordBuffer::zeroed(Shape::of_bytes(1000, 2).unwrap());
    ChaCha20Rng::seed_from_u64(6).fill_bytes(records.packed_mut());
    let params = Params::<ByInspiring>::with_digits(records.shape(), 8, SEVEN, 2048).unwrap();
    let (server, client, mut rng) = setup(&records, params);
    assert_selected_before_refused::<PackedDouble<ByInspiring>>(&server, &client, &[3], &mut rng);
}

/// Compares a variant's predictions with its packing.
fn assert_variant_is_right<V: PackedVariant>(params: &SelectionParams<V>) {
    let selection = params.counts;
    let gadget = params.bits().gadget;
    let packing = params.packing(&Seed([1; 32])).unwrap();

    assert_eq!(
        packing.shape().elements(),
        selection.key_elements::<V>(gadget)
    );
    assert_eq!(packing.capacity(), selection.capacity);
    assert_eq!(
        packing.words(selection.packs()) as u64 * 4,
        selection.pack_words_bytes::<V>(gadget)
    );
    assert_eq!(
        packing.last_elements() > 0,
        V::has_last(params.rlwe().ring().degree(), selection.capacity)
    );
}

#[test]
fn families_say_what_their_packings_have() {
    let shape = Shape::of_bytes(1 << 20, 1).unwrap();
    for capacity in [2048, 1024, 512, 64] {
        let params = Params::<ByInspiring>::with_digits(shape, 1024, SEVEN, capacity).unwrap();
        assert_variant_is_right(&params.selection);
    }
    assert_variant_is_right(
        &Params::<ByCdks>::with_digits(shape, 1024, SEVEN, 2048)
            .unwrap()
            .selection,
    );
    assert_eq!(ByCdks::capacities(2048), [2048]);
}

#[test]
fn invalid_digits_do_not_fit() {
    let fits = |bits, mask, body| DigitShape { bits, mask, body }.fits();
    assert!(fits(7, 3, 2) && fits(16, 2, 1) && fits(1, 32, 32) && fits(11, 2, 1));
    assert!(
        !fits(0, 3, 2) && !fits(17, 1, 1) && !fits(7, 5, 2) && !fits(7, 0, 2) && !fits(7, 3, 0)
    );
    assert!(!fits(7, 3, usize::MAX));
}
