//! Leakage tests of InsPIRe queries: masks, secrets and noise, read from the bytes.

use std::collections::HashSet;

use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use papir_core::scheme::{Client as _, Scheme, Wire as _};
use papir_core::{Privacy, Shape};
use papir_lattice::mod_switch::PowerSwitch;
use papir_lattice::secret::SecretKey;
use papir_ring::prg::{SecretRng, Seed};
use papir_ring::{Coefficients, CyclotomicRing, Poly, Values};
use papir_schemes::inspire::{Client, Inspire, Interpolation, Params, Public, Query, Secret};

const SEED: Seed = Seed([42; 32]);

/// Returns parameters of two variables, so that a query has two RGSW encryptions.
fn params() -> Params {
    let shape = Shape::of_bytes(64 * 15_000, 64).unwrap();
    Params::with_interpolation(shape, Interpolation::of_variables(&[3, 2]).unwrap()).unwrap()
}

fn client() -> Client {
    Client::new(params(), Public { seed: SEED }).unwrap()
}

fn rng(seed: u8) -> ChaCha20Rng {
    ChaCha20Rng::from_seed([seed; 32])
}

/// Returns every mask that encryptions under one secret use.
fn all_masks(params: &Params) -> Vec<Poly<Values>> {
    let blocks = params.layout().columns.div_ceil(params.layout().degree);
    let mut all: Vec<_> = (0..blocks)
        .map(|i| params.selector().mask(&SEED, i))
        .collect();
    let packing = params.packing(&SEED).unwrap();
    all.extend(
        packing
            .setup()
            .switches()
            .iter()
            .flat_map(|switch| switch.masks.clone()),
    );
    all.extend(params.rgsw_masks(&SEED));
    all
}

/// Returns the RLWE bodies of a query, lifted to q: selector blocks, y_g, y_h, RGSW rows.
fn all_bodies(params: &Params, query: &Query) -> Vec<Poly<Coefficients>> {
    let ring = params.rlwe().ring();
    let lift = |words: &[u64], bits| {
        let switch = PowerSwitch::new(ring.modulus(), bits);
        let mut lifted: Vec<u64> = words.iter().map(|&word| switch.up(word)).collect();
        lifted.resize(ring.degree(), 0);
        ring.from_words(&lifted)
    };
    let selector = query
        .selector
        .chunks(ring.degree())
        .map(|words| lift(words, params.literal().query_bits));
    let keys = query.keys.chunks(ring.degree()).zip(params.key_elements());
    let keys = keys.map(|(words, bits)| lift(words, bits));
    selector.chain(keys).collect()
}

#[test]
fn no_two_masks_under_one_secret_are_equal() {
    let params = params();
    let masks = all_masks(&params);
    assert_eq!(params.literal().rgsw.levels, 2);
    assert_eq!(
        masks.len(),
        2 + 2 * 2 + 2 * 4,
        "selector blocks, packing keys, RGSW rows of two points"
    );
    let distinct: HashSet<&[u32]> = masks.iter().map(Poly::residues).collect();
    assert_eq!(distinct.len(), masks.len());
    // No four successive residues occur in two masks, so the streams do not overlap.
    let windows = |mask: &Poly<Values>| {
        mask.residues()
            .windows(4)
            .map(<[u32]>::to_vec)
            .collect::<HashSet<_>>()
    };
    let parts: Vec<_> = masks.iter().map(windows).collect();
    for i in 0..parts.len() {
        for j in 0..i {
            assert!(
                parts[i].is_disjoint(&parts[j]),
                "masks {i} and {j} share residues"
            );
        }
    }
}

/// If two bodies shared a mask, their difference would be small, or a small multiple of a gadget
/// factor.
#[test]
fn differences_of_bodies_look_uniform() {
    let params = params();
    let ring = params.rlwe().ring();
    let (_, query) = client().query(None, &[77], &mut rng(1)).unwrap();
    let bodies = all_bodies(&params, &query);
    let q = ring.modulus() as f64;
    for i in 0..bodies.len() {
        for j in 0..i {
            let mut difference = bodies[i].clone();
            ring.sub_assign(&mut difference, &bodies[j]);
            let part = &ring.to_centred(&difference)[..900];
            let mean_square =
                part.iter().map(|&x| (x as f64 / q).powi(2)).sum::<f64>() / part.len() as f64;
            assert!(
                (mean_square * 12.0 - 1.0).abs() < 0.3,
                "bodies {i} and {j}: {mean_square}"
            );
        }
    }
}

#[test]
fn the_secret_does_not_follow_from_public_bytes() {
    let params = params();
    let (secret, query) = client().query(None, &[0], &mut rng(2)).unwrap();
    let bytes = query.encode(&params);
    let mut candidates: Vec<[u8; 32]> = vec![[0; 32], [0xFF; 32], SEED.0];
    candidates.extend(
        bytes
            .chunks_exact(32)
            .take(2000)
            .map(|part| <[u8; 32]>::try_from(part).unwrap()),
    );
    for label in [
        "secret",
        "inspire/secret",
        "inspire/selector",
        "inspire/rgsw",
        "inspiring/w_g",
        "inspiring/w_h",
    ] {
        let mut derived = [0; 32];
        SEED.expand(label, 0).fill(&mut derived);
        candidates.push(derived);
    }
    for candidate in candidates {
        let direct = SecretKey::generate(params.rlwe(), &mut ChaCha20Rng::from_seed(candidate));
        let seeded = SecretKey::generate(
            params.rlwe(),
            &mut SecretRng::new(&mut ChaCha20Rng::from_seed(candidate)),
        );
        assert_ne!(direct.coefficients(), secret.key().coefficients());
        assert_ne!(seeded.coefficients(), secret.key().coefficients());
    }
    assert!(
        secret.key().coefficients().iter().any(|&s| s != 0),
        "an all-zero secret"
    );
}

#[test]
fn every_query_has_a_fresh_secret_and_fresh_noise() {
    let client = client();
    let mut rng = rng(3);
    let (first, a) = client.query(None, &[5], &mut rng).unwrap();
    let (second, b) = client.query(None, &[5], &mut rng).unwrap();
    assert_ne!(first.key().coefficients(), second.key().coefficients());
    let equal = a
        .selector
        .iter()
        .zip(&b.selector)
        .filter(|(x, y)| x == y)
        .count();
    assert!(
        equal < 3,
        "{equal} of {} selector entries are equal",
        a.selector.len()
    );
}

/// Returns the mean square of body + s·mask − message, over the first `count` coefficients.
fn mean_square(
    params: &Params,
    secret: &Secret,
    body: &Poly<Coefficients>,
    mask: &Poly<Values>,
    message: &Poly<Values>,
    count: usize,
) -> f64 {
    let ring = params.rlwe().ring();
    let mut phase = ring.mul(mask, secret.key().values());
    ring.sub_assign(&mut phase, message);
    let mut phase = ring.inverse(phase);
    ring.add_assign(&mut phase, body);
    ring.to_centred(&phase)[..count]
        .iter()
        .map(|&e| (e as f64).powi(2))
        .sum::<f64>()
        / count as f64
}

/// Every body has noise of standard deviation σ. The test fails for σ = 0, and where σ is taken for
/// the width σ·√(2π).
#[test]
fn every_body_carries_noise() {
    let params = params();
    let ring = params.rlwe().ring();
    let layout = params.layout();
    let d = ring.degree();
    // Element 4 of a column is the second point of either variable.
    let index = 4 * 64;
    let (secret, query) = client().query(None, &[index], &mut rng(4)).unwrap();
    let location = layout.locate(index);
    let s = secret.key().values();
    let mut messages: Vec<Poly<Values>> = Vec::new();
    for block in 0..layout.columns.div_ceil(d) {
        let mut unit = vec![0; d];
        if location.column as usize / d == block {
            unit[location.column as usize % d] = params.scale();
        }
        messages.push(ring.forward(ring.from_words(&unit)));
    }
    for e in [5, 2 * d - 1] {
        let image = ring.permute(s, &papir_kernels::galois::permutation(d, e));
        messages.extend((0..2).map(|i| ring.scale(&image, params.key_switch().factor(i))));
    }
    for exponent in layout.interpolation.exponents(location.block, d) {
        let mut point = vec![0; d];
        point[exponent as usize % d] = if (exponent as usize) < d { 1 } else { -1 };
        let point = ring.forward(ring.from_signed(&point));
        for message in [ring.mul(&point, s), point] {
            messages.extend((0..2).map(|i| ring.scale(&message, params.rgsw().factor(i))));
        }
    }
    let blocks = layout.columns.div_ceil(d);
    let bodies = all_bodies(&params, &query);
    assert_eq!(bodies.len(), messages.len());
    for (i, ((body, mask), message)) in bodies
        .iter()
        .zip(&all_masks(&params))
        .zip(&messages)
        .enumerate()
    {
        let bits = if i < blocks {
            params.literal().query_bits
        } else {
            params.key_elements()[i - blocks]
        };
        let count = if i < blocks {
            d.min(layout.columns - i * d)
        } else {
            d
        };
        let grid = ring.modulus() as f64 / 2f64.powi(bits as i32);
        let expected = 6.4f64.powi(2) + grid * grid / 12.0;
        let measured = mean_square(&params, &secret, body, mask, message, count);
        assert!(
            (measured / expected - 1.0).abs() < 0.25,
            "body {i}: mean square {measured}, expected {expected}"
        );
    }
}

/// Key recovery from gadget rows that share a mask, a known attack on other implementations.
///
/// Such rows differ by (gᵢ − gⱼ) times the message and a small error, so round(Δb/(gᵢ − gⱼ)) would
/// be the message, or s times it.
#[test]
fn differences_of_rows_do_not_give_the_key() {
    let params = params();
    let ring = params.rlwe().ring();
    let (secret, query) = client().query(None, &[10], &mut rng(6)).unwrap();
    let bodies = all_bodies(&params, &query);
    let rows = &bodies[bodies.len() - 4..];
    let gap = (params.rgsw().factor(1) - params.rgsw().factor(0)) as f64;
    for i in 0..rows.len() {
        for j in 0..i {
            let mut difference = rows[i].clone();
            ring.sub_assign(&mut difference, &rows[j]);
            let rounded: Vec<i32> = ring
                .to_centred(&difference)
                .iter()
                .map(|&x| (x as f64 / gap).round() as i32)
                .collect();
            let small = rounded.iter().filter(|x| x.abs() <= 64).count();
            assert!(small < 64, "rows {i} and {j}: {small} small quotients");
            assert_ne!(rounded, secret.key().coefficients());
        }
    }
}

#[test]
fn queries_of_all_indices_have_one_length() {
    let params = params();
    let client = client();
    let mut rng = rng(5);
    let last = params.layout().shape.records() - 1;
    let mut lengths = HashSet::new();
    for index in [0, 1, last / 2, last, rng.next_u64() % last] {
        lengths.insert(
            client
                .query(None, &[index], &mut rng)
                .unwrap()
                .1
                .encode(&params)
                .len(),
        );
    }
    assert_eq!(lengths.len(), 1);
    assert_eq!(Inspire::PRIVACY, Privacy::Private);
}
