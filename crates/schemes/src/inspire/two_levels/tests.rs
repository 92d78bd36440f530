//! The layout, and the noise of all three packings at full parameters against Theorem 7's bounds as
//! computed, for an all-zero database (whose whitened words are uniform).
#![allow(clippy::unwrap_used)]

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use papir_core::scheme::{Client as _, Server as _};
use papir_core::{NoProgress, RecordBuffer, Shape};
use papir_lattice::packing::Bodies;
use papir_lattice::rlwe::Rlwe;
use papir_lattice::selection::place;
use papir_ring::{Coefficients, CyclotomicRing, Poly};

use super::layout::Layout;
use super::second::{GammaKeys, body_digits};
use super::{Client, Params, Query, Secret, Server};

/// A query for record 0, in unit 0: block 0 of column 0.
struct Case {
    server: Server,
    client: Client,
    secret: Secret,
    query: Query,
    keys: Vec<GammaKeys>,
}

impl Case {
    fn new() -> Self {
        let shape = Shape::of_bytes(1 << 17, 64).unwrap();
        let mut rng = ChaCha20Rng::from_seed([4; 32]);
        let params = Params::with_blocks(shape, 32, 64).unwrap();
        let server = Server::setup(
            params.clone(),
            &RecordBuffer::zeroed(shape),
            &mut rng,
            &NoProgress,
        )
        .unwrap();
        let client = Client::new(params, server.public().clone()).unwrap();

        let (secret, query) = client.query(None, &[0], &mut rng).unwrap();
        let keys = server.second.read_keys(&[&query]).unwrap();
        Self {
            server,
            client,
            secret,
            query,
            keys,
        }
    }

    /// Makes another query for the same record.
    fn ask_again(&mut self, seed: u8) {
        let mut rng = ChaCha20Rng::from_seed([seed; 32]);
        (self.secret, self.query) = self.client.query(None, &[0], &mut rng).unwrap();
        self.keys = self.server.second.read_keys(&[&self.query]).unwrap();
    }

    fn params(&self) -> &Params {
        &self.server.second.params
    }

    fn firsts(&self) -> Vec<Bodies> {
        let Server { first, second } = &self.server;
        let bodies = first.select(&second.params, &[&self.query]);
        first
            .pack(
                second.packings.packing(0),
                bodies,
                &second.keys_of(&self.keys, 0),
            )
            .unwrap()
    }

    /// Returns the digit in a row of the second level's matrix, of block 0.
    fn digit(&self, row: usize) -> i16 {
        self.server.second.digits[place(self.params().layout().blocks, row, 0)]
    }

    /// Returns the switched mask of block 0, from its digits.
    fn first_mask(&self) -> Vec<u64> {
        let digits = self.params().literal().mask;
        let d = self.params().literal().rlwe.degree;
        let modulo = |digit: i16| i32::from(digit).rem_euclid(1 << digits.bits) as u32;
        let digit = |j, c| digits.uncentred(modulo(self.digit(j * d + c)));
        let word = |c| digits.join((0..digits.count).map(|j| digit(j, c)));
        (0..d).map(word).collect()
    }

    /// Returns the errors of the first level's encryption of block 0, in units of q.
    fn first_errors(&self) -> Vec<f64> {
        let params = self.params();
        let ring = self.params().rlwe().ring();
        let bits = params.literal().first_bits();
        let unit = params.literal().gammas[0];
        let body = bits.body(ring, &self.firsts()[0].to_words(ring)[..unit]);
        let phases = bits.phases(ring, self.secret.key(), &self.first_mask(), &body);
        // The words of an all-zero database are the whitening stream.
        let columns = params.layout().columns;
        let error = |(row, &phase): (usize, &u64)| {
            let message =
                i64::from(self.server.first.tiles[place(columns, row, 0)]) << (bits.a - 16);
            // Differences are modulo 2^a: shifting up and down again extends the sign.
            let wrapped = (phase as i64 - message) << (64 - bits.a) >> (64 - bits.a);
            wrapped as f64 * ring.modulus() as f64 / 2f64.powi(bits.a as i32)
        };
        phases.iter().enumerate().map(error).collect()
    }

    /// Returns the errors of the first coefficients of an encryption of messages at a scale,
    /// centred.
    fn errors(
        &self,
        a: &Poly<Coefficients>,
        b: &Poly<Coefficients>,
        messages: &[i16],
        scale: u64,
    ) -> Vec<f64> {
        let ring = self.params().rlwe().ring();
        let q = ring.modulus() as f64;
        let phase = Rlwe {
            a: a.clone(),
            b: b.clone(),
        }
        .phase(ring, self.secret.key());
        let phase = ring.to_centred(&phase).into_iter();
        let error =
            |(phase, &message): (i64, &i16)| phase as f64 - f64::from(message) * scale as f64;
        phase
            .zip(messages)
            .map(error)
            .map(|error| error - (error / q).round() * q)
            .collect()
    }
}

fn assert_within(what: &str, errors: &[f64], bound: f64, slack: f64) {
    let measured = (errors.iter().map(|e| e * e).sum::<f64>() / errors.len() as f64).log2() / 2.0;
    let bound = bound.log2() / 2.0;
    println!("{what}: measured 2^{measured:.2}, bound 2^{bound:.2}");
    assert!(
        measured < bound + 0.1,
        "{what}: measured 2^{measured:.2}, bound 2^{bound:.2}"
    );
    assert!(
        measured > bound - slack,
        "{what}: 2^{measured:.2} far below 2^{bound:.2}: is there noise?"
    );
}

/// Σ₀: the unit that record 0 lies in, switched to its digits; over several queries, as it is
/// short.
#[test]
fn the_first_level() {
    let mut case = Case::new();
    let errors = (0..24).flat_map(|seed| {
        case.ask_again(seed);
        case.first_errors()
    });
    let errors: Vec<f64> = errors.collect();
    let noise = case.params().noise();
    assert_within(
        "first level",
        &errors,
        noise.first + noise.first_switch,
        1.5,
    );
}

/// Σ₁: the digits of the unit's mask.
#[test]
fn the_second_packing() {
    let case = Case::new();
    let params = case.params();
    let ring = case.params().rlwe().ring();
    let gamma = params.literal().gammas[1];

    let bodies = case
        .server
        .second
        .pack_masks(&[&case.query], &case.keys)
        .unwrap()
        .remove(0);
    let errors = case
        .server
        .second
        .packs
        .packs
        .iter()
        .enumerate()
        .flat_map(|(i, pack)| {
            let messages: Vec<i16> = (i * gamma..(i + 1) * gamma)
                .map(|row| case.digit(row))
                .collect();
            case.errors(
                &pack.a,
                &bodies.poly(ring, i),
                &messages,
                params.scales()[1],
            )
        });

    // Digits are uniform and the bound takes the largest.
    assert_within(
        "second packing",
        &errors.collect::<Vec<_>>(),
        params.noise().second,
        1.0,
    );
}

/// Σ₂: the digits of the unit's body. The bound is for packs of γ₁; packs of γ₂ are less noisy.
#[test]
fn the_third_packing() {
    let case = Case::new();
    let params = case.params();
    let firsts = case.firsts();
    let gamma = params.literal().gammas[2];

    let thirds = case
        .server
        .second
        .pack_online(&[&case.query], &firsts, &case.keys)
        .unwrap()
        .remove(0);
    let rows = body_digits(params, &firsts[0]);
    // A row of digits has one for each of the t units, of which the first is wanted.
    let digits: Vec<i16> = rows
        .iter()
        .step_by(params.layout().blocks)
        .copied()
        .collect();
    let errors = thirds
        .iter()
        .zip(digits.chunks_exact(gamma))
        .flat_map(|(pack, messages)| case.errors(&pack.a, &pack.b, messages, params.scales()[1]));
    assert_within(
        "third packing",
        &errors.collect::<Vec<_>>(),
        params.noise().second,
        2.5,
    );
}

#[test]
fn every_record_has_a_place_of_its_own() {
    // Two records of 13 bytes fill a unit of 32, and 112 rows two groups of 64.
    let layout = Layout::new(Shape::new(1000, 100).unwrap(), 16, 7).unwrap();
    assert_eq!(
        (layout.per_unit(), layout.columns, layout.rows()),
        (2, 72, 128)
    );
    for index in 0..1000 {
        let place = layout.locate(index);
        assert_eq!(
            u64::from(place.column) * 7 + u64::from(place.block),
            place.unit
        );
        assert_eq!(place.unit * 2 + place.slot, index);
        assert!((place.column as usize) < layout.columns);
    }
}

#[test]
fn layouts_that_do_not_fit_are_refused() {
    let shape = Shape::of_bytes(1000, 32).unwrap();
    assert!(Layout::new(shape, 16, 0).is_err() && Layout::new(shape, 16, 1001).is_err());
    assert!(
        Layout::new(shape, 8, 4).is_err(),
        "a record of 32 bytes in a unit of 16"
    );
    assert!(Layout::new(shape, 16, 1000).is_ok() && Layout::new(shape, 16, 1).is_ok());
}
