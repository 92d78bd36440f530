//! Bootstrapping against the plaintext functions it computes, and its noise against the bound.

use papir_lattice::bootstrap::circuit::{self, SquareKey};
use papir_lattice::bootstrap::digits::Rotator;
use papir_lattice::bootstrap::galois::{self, GaloisKeys};
use papir_lattice::bootstrap::lwe::{BinaryKey, Lwe, SwitchKey, SwitchParams, switch_bodies};
use papir_lattice::bootstrap::noise::{Gate, Traced};
use papir_lattice::bootstrap::ring_switch::{self, RingSwitchKey};
use papir_lattice::bootstrap::rotation::{self, RotationKey};
use papir_lattice::bootstrap::selector;
use papir_lattice::gadget::GadgetParams;
use papir_lattice::key_switch::masks_from;
use papir_lattice::noise::Setting;
use papir_lattice::rgsw;
use papir_lattice::rlwe;
use papir_lattice::security::Secret;
use papir_lattice::wide::{Gadget, Rlwe, RlweParams, Rows, SecretKey, Workspace};
use papir_ring::sample::{self, Gaussian};
use papir_ring::wide::{Poly, Ring};
use papir_ring::{Coefficients, CyclotomicRing, Values};
use zeroize::Zeroizing;

use crate::support::{SEED, rng};

const DEGREE: usize = 256;
const PRIME: u64 = (1 << 50) - 16_383;
const SHORT: SwitchParams = SwitchParams {
    dimension: 96,
    log2_q: 14,
    sigma: 3.19,
    log_base: 2,
};
const ROTATION: GadgetParams = GadgetParams {
    levels: 3,
    log_base: 12,
    drop: 14,
};
const FINE: GadgetParams = GadgetParams {
    levels: 8,
    log_base: 6,
    drop: 2,
};

/// A ring with a ternary key.
struct Case {
    params: RlweParams,
    secret: SecretKey,
}

impl Case {
    fn new() -> Self {
        let ring = Ring::new(DEGREE, PRIME).unwrap();
        let params = RlweParams::insecure_over(ring, Secret::Ternary, 3.19).unwrap();
        let mut coefficients = Zeroizing::new(vec![0; DEGREE]);
        sample::ternary(&mut rng(1), &mut coefficients);
        let secret = SecretKey::from_coefficients(&params, coefficients);
        Self { params, secret }
    }

    fn ring(&self) -> &Ring {
        self.params.ring()
    }

    fn gadget(&self, params: GadgetParams) -> Gadget {
        Gadget::new(self.ring(), params).unwrap()
    }

    /// Noise setting of the tests; keys are not rounded here.
    fn setting(&self) -> Setting {
        let modulus = self.ring().modulus() as f64;
        Setting {
            degree: DEGREE,
            modulus,
            secret: 2.0 / 3.0,
            sigma: 3.19,
            key_bits: 60,
        }
    }

    fn encrypt(&self, message: &[u64], stream: u8) -> Rlwe {
        let ring = self.ring();
        let mut rng = rng(stream);
        let mask = ring.uniform(&mut SEED.expand("test", stream.into()));
        let message = ring.forward(ring.from_words(message));
        let body = rlwe::encrypt(&self.params, &self.secret, &mask, &message, &mut rng);
        Rlwe {
            a: ring.inverse(mask),
            b: ring.inverse(body),
        }
    }

    /// Phase minus message, centred.
    fn errors(&self, rlwe: &Rlwe, message: &Poly<Coefficients>) -> Vec<f64> {
        let mut phase = rlwe.phase(self.ring(), &self.secret);
        self.ring().sub_assign(&mut phase, message);
        self.ring()
            .to_centred(&phase)
            .into_iter()
            .map(|error| error as f64)
            .collect()
    }

    fn short_key(&self) -> BinaryKey {
        BinaryKey::generate(SHORT.dimension, &mut rng(3))
    }

    fn switch_key(&self, short: &BinaryKey) -> SwitchKey {
        let error = Gaussian::new(SHORT.sigma).unwrap();
        let source = self.secret.coefficients();
        let bodies = switch_bodies(&SHORT, &SEED, "switch", source, short, &error, &mut rng(4));
        SwitchKey::new(SHORT, &SEED, "switch", &bodies)
    }

    fn rotation_key(&self, short: &BinaryKey) -> RotationKey {
        let gadget = self.gadget(ROTATION);
        let mut rng = rng(5);
        let rows = 2 * gadget.levels();
        let bit = |i: usize| {
            let masks = masks_from(self.ring(), &SEED, "rotation", i * rows..(i + 1) * rows);
            let bodies = rotation::bodies(
                &self.params,
                &self.secret,
                short,
                i,
                &masks,
                &gadget,
                &mut rng,
            );
            Rows::new(self.ring(), &masks, &bodies)
        };
        RotationKey::new(
            (0..SHORT.dimension).map(bit).collect(),
            self.gadget(ROTATION),
        )
    }

    fn galois_keys(&self) -> GaloisKeys {
        let gadget = self.gadget(FINE);
        let mut rng = rng(6);
        let step = |step: usize| {
            let rows = step * gadget.levels()..(step + 1) * gadget.levels();
            let masks = masks_from(self.ring(), &SEED, "galois", rows);
            let bodies =
                galois::bodies(&self.params, &self.secret, step, &masks, &gadget, &mut rng);
            Rows::new(self.ring(), &masks, &bodies)
        };
        GaloisKeys::new((0..8).map(step).collect(), self.gadget(FINE))
    }

    fn square_key(&self) -> SquareKey {
        let gadget = self.gadget(FINE);
        let masks = masks_from(self.ring(), &SEED, "square", 0..gadget.levels());
        let bodies = circuit::bodies(&self.params, &self.secret, &masks, &gadget, &mut rng(7));
        SquareKey::new(Rows::new(self.ring(), &masks, &bodies), gadget)
    }
}

fn variance(errors: &[f64]) -> f64 {
    errors.iter().map(|error| error * error).sum::<f64>() / errors.len() as f64
}

/// Asserts that measured noise is at most a quarter above the bound, and at least an eighth of it.
#[track_caller]
fn within(errors: &[f64], bound: f64) {
    let measured = variance(errors);
    assert!(
        measured < 1.25 * bound,
        "2^{:.2} above 2^{:.2}",
        measured.log2() / 2.0,
        bound.log2() / 2.0
    );
    assert!(
        measured > bound / 8.0,
        "2^{:.2} below 2^{:.2}",
        measured.log2() / 2.0,
        bound.log2() / 2.0
    );
}

fn scattered(ring: &Ring, stream: u64) -> Poly<Coefficients> {
    ring.inverse(ring.uniform(&mut SEED.expand("scattered", stream)))
}

#[test]
fn external_product_matches_the_gadget_decomposition() {
    let case = Case::new();
    let ring = case.ring();
    let gadget = case.gadget(ROTATION);
    let masks = masks_from(ring, &SEED, "rgsw", 0..6);
    let bodies = rgsw::encrypt_monomial(
        &case.params,
        &case.secret,
        &masks,
        300,
        &gadget,
        &mut rng(8),
    );
    let ciphertext = Rlwe {
        a: scattered(ring, 0),
        b: scattered(ring, 1),
    };
    let mut digits = gadget.decompose_to_values(ring, &ciphertext.a);
    digits.append(&mut gadget.decompose_to_values(ring, &ciphertext.b));
    let sum = |rows: &[Poly<Values>]| {
        let mut sum = ring.zero();
        let products = digits
            .iter()
            .zip(rows)
            .map(|(digit, row)| ring.mul(digit, row));
        products.for_each(|product| ring.add_assign(&mut sum, &product));
        ring.inverse(sum)
    };
    let expected = Rlwe {
        a: sum(&masks),
        b: sum(&bodies),
    };
    let mut work = Workspace::new(ring, 6);
    let mut product = Rlwe::zero(ring);
    let rows = Rows::new(ring, &masks, &bodies);
    work.external_product(ring, &gadget, &ciphertext, &rows, &mut product);
    assert_eq!(product, expected);
    assert_eq!(rows.count(), 6);
}

#[test]
fn extraction_gives_every_coefficient() {
    let case = Case::new();
    let ring = case.ring();
    let rlwe = Rlwe {
        a: scattered(ring, 2),
        b: scattered(ring, 3),
    };
    let phase = ring.to_words(&rlwe.phase(ring, &case.secret));
    for index in [0, 1, 100, DEGREE - 1] {
        let found = Lwe::extract(ring, &rlwe, index).phase(case.secret.coefficients());
        let expected = ((u128::from(phase[index]) << 64) / u128::from(ring.modulus())) as u64;
        let distance = found.wrapping_sub(expected) as i64;
        assert!(
            distance.abs() < 4 * DEGREE as i64,
            "coefficient {index}: {distance} off"
        );
    }
}

#[test]
fn sums_of_extracted_encryptions_wrap_around() {
    let mut sum = Lwe {
        a: vec![1 << 63, 5],
        b: 7,
    };
    sum.add_shifted(
        &Lwe {
            a: vec![1 << 62, 1],
            b: 1,
        },
        1,
    );
    assert_eq!(
        sum,
        Lwe {
            a: vec![0, 7],
            b: 9
        }
    );
    assert_eq!(
        sum.shifted(62),
        Lwe {
            a: vec![0, 3 << 62],
            b: 1 << 62
        }
    );
}

#[test]
fn switching_to_a_short_key_preserves_the_phase() {
    let case = Case::new();
    let short = case.short_key();
    let order = 2 * DEGREE as u32;
    let key = case.switch_key(&short);
    let mut errors = Vec::new();
    for i in 0..200 {
        let rlwe = Rlwe {
            a: scattered(case.ring(), 10 + i),
            b: scattered(case.ring(), 300 + i),
        };
        let lwe = Lwe::extract(case.ring(), &rlwe, i as usize);
        let exponents = key.exponents(&lwe, order, 2);
        assert!(exponents.iter().all(|e| *e < order && e % 2 == 0));
        let (mask, body) = exponents.split_at(SHORT.dimension);
        let bits = short.bits().iter().map(|&bit| bit as u32);
        let found = mask
            .iter()
            .zip(bits)
            .fold(body[0], |sum, (&e, bit)| sum + e * bit)
            % order;
        let expected = lwe.phase(case.secret.coefficients()) as f64 / 2f64.powi(64);
        let turns = f64::from(found) / f64::from(order) - expected;
        errors.push(turns - turns.round());
    }
    within(&errors, case.setting().switch(&SHORT, f64::from(order / 2)));
}

#[test]
fn blind_rotation_multiplies_the_table_by_the_phase_monomial() {
    let case = Case::new();
    let ring = case.ring();
    let short = case.short_key();
    let key = case.rotation_key(&short);
    let table: Vec<u64> = (0..DEGREE as u64).map(|i| (i + 1) << 40).collect();
    let mut start = Rlwe::zero(ring);
    start.b = ring.from_words(&table);
    let mut errors = Vec::new();
    for stream in 0..4u32 {
        let exponents: Vec<u32> = (0..=SHORT.dimension as u32)
            .map(|i| (i * i * 7 + stream * 31) % (2 * DEGREE as u32))
            .collect();
        let bits = short.bits().iter().map(|&bit| bit as u32).chain([1]);
        let phase = exponents
            .iter()
            .zip(bits)
            .fold(0, |sum, (&e, bit)| sum + e * bit)
            % (2 * DEGREE as u32);
        let mut expected = Rlwe::zero(ring);
        let mut rotated = start.clone();
        rotation::rotate(ring, &start, phase as usize, &mut expected);
        key.rotate(ring, &mut rotated, &exponents);
        errors.append(&mut case.errors(&rotated, &expected.b));
    }
    within(&errors, case.setting().rotation(ROTATION, SHORT.dimension));
}

#[test]
fn trace_and_expansion_separate_coefficients() {
    let case = Case::new();
    let ring = case.ring();
    let keys = case.galois_keys();
    let message: Vec<u64> = (0..DEGREE as u64).map(|i| (i * i + 3) << 20).collect();
    for steps in [0, 3, 8] {
        let mut traced = case.encrypt(&message, 20 + steps as u8);
        let scale = 1 << steps;
        keys.trace(ring, &mut traced, steps);
        let kept = |i: usize| {
            if i.is_multiple_of(scale) {
                message[i] * scale as u64
            } else {
                0
            }
        };
        let expected = ring.from_words(&(0..DEGREE).map(kept).collect::<Vec<_>>());
        let errors = case.errors(&traced, &expected);
        // The fresh error of a kept coefficient is multiplied as well.
        let Traced {
            kept: bound,
            energy,
            ..
        } = case.setting().trace(FINE, steps, 0);
        let bound = bound + 3.19f64.powi(2) * 4f64.powi(steps as i32);
        if steps > 0 {
            within(
                &[(errors.iter().map(|error| error * error).sum::<f64>()).sqrt()],
                energy,
            );
        }
        let kept: Vec<f64> = errors.into_iter().step_by(scale).collect();
        assert!(kept.iter().all(|error| error * error < 36.0 * bound));
        if kept.len() > 30 {
            within(&kept, bound);
        }
        let parts = keys.expand(ring, traced, steps);
        assert_eq!(parts.len(), DEGREE / scale);
        let mut constants = Vec::new();
        for (i, part) in parts.iter().enumerate() {
            let mut expected = vec![0; DEGREE];
            expected[0] = message[i * scale] * DEGREE as u64;
            let errors = case.errors(part, &ring.from_words(&expected));
            assert!(
                errors.iter().all(|error| error.abs() < 2f64.powi(36)),
                "part {i} of 2^{steps}"
            );
            constants.push(errors[0]);
        }
        let fresh = 3.19f64.powi(2) * 4f64.powi(8);
        if constants.len() > 30 {
            within(
                &constants,
                case.setting().trace(FINE, 8, 8 - steps).kept + fresh,
            );
        }
    }
}

/// Errors of a trace in cancelled coefficients are correlated, with public signs: sums with these
/// signs are far above those of independent errors, but within the bound for all combinations.
#[test]
fn errors_of_a_trace_are_correlated_within_the_bound() {
    let case = Case::new();
    let ring = case.ring();
    let keys = case.galois_keys();
    let steps = 8;
    // The image of an error of the first step at X after the other steps.
    let x: Vec<i32> = (0..DEGREE as i32).map(|k| i32::from(k == 1)).collect();
    let mut image = ring.from_signed(&x);
    for step in 1..steps {
        let next = ring.automorphism(&image, (DEGREE >> step) + 1);
        ring.add_assign(&mut image, &next);
    }
    let signs: Vec<f64> = ring
        .to_centred(&image)
        .into_iter()
        .map(|sign| sign.signum() as f64)
        .collect();
    let weight = signs.iter().map(|sign| sign * sign).sum::<f64>().sqrt();
    let sum = |stream: u8| {
        let mut traced = case.encrypt(&[0; DEGREE], stream);
        keys.trace(ring, &mut traced, steps);
        let errors = case.errors(&traced, &ring.zero());
        errors
            .iter()
            .zip(&signs)
            .map(|(error, sign)| error * sign)
            .sum::<f64>()
            / weight
    };
    let sums: Vec<f64> = (0..100).map(|i| sum(100 + i)).collect();
    let Traced {
        energy, largest, ..
    } = case.setting().trace(FINE, steps, 0);
    let measured = variance(&sums);
    let independent = energy / DEGREE as f64;
    assert!(measured < largest, "{measured}, at most {largest}");
    assert!(
        measured > 5.0 * independent,
        "{measured}, of independent errors {independent}"
    );
}

#[test]
fn gates_from_scheme_switching_select() {
    let case = Case::new();
    let ring = case.ring();
    let gadget = case.gadget(FINE);
    let square = case.square_key();
    for bit in [0, 1] {
        let level = |i: usize| {
            let mut message = vec![0; DEGREE];
            message[0] = bit * gadget.factor(i);
            case.encrypt(&message, 40 + i as u8)
        };
        let gate = square.rgsw(ring, (0..gadget.levels()).map(level).collect());
        let fresh = case
            .setting()
            .scheme_switch(FINE, DEGREE as f64 * 3.19f64.powi(2));
        let Gate { keyed, plain } = fresh;
        assert!(keyed > 100.0 * plain, "the key multiplies the error");
        let input = Rlwe {
            a: scattered(ring, 50),
            b: scattered(ring, 51),
        };
        let mut work = Workspace::new(ring, 2 * gadget.levels());
        let mut chosen = Rlwe::zero(ring);
        work.external_product(ring, &gadget, &input, &gate, &mut chosen);
        let expected = if bit == 1 {
            input.phase(ring, &case.secret)
        } else {
            ring.zero()
        };
        let errors = case.errors(&chosen, &expected);
        within(&errors, case.setting().gate(FINE, fresh));
    }
}

/// Returns an LWE encryption of a message of `bits` bits under the ring key, with an error of about
/// 2⁻³⁰ of a turn.
fn message(case: &Case, value: u64, bits: u32, stream: u64) -> Lwe {
    let mut lwe = Lwe::extract(
        case.ring(),
        &Rlwe {
            a: scattered(case.ring(), stream),
            b: case.ring().zero(),
        },
        0,
    );
    let wanted = (value << (64 - bits)).wrapping_add(stream << 30);
    lwe.b = wanted.wrapping_sub(
        Lwe {
            b: 0,
            ..lwe.clone()
        }
        .phase(case.secret.coefficients()),
    );
    lwe
}

/// Returns the number of `bits` bits nearest to the phase.
fn decode(case: &Case, lwe: &Lwe, bits: u32) -> u64 {
    let phase = lwe.phase(case.secret.coefficients());
    phase.wrapping_add(1 << (63 - bits)) >> (64 - bits)
}

#[test]
fn decomposition_returns_the_digits_and_bits_of_the_message() {
    let case = Case::new();
    let short = BinaryKey::generate(SHORT.dimension, &mut rng(3));
    let params = SwitchParams {
        log2_q: 20,
        ..SHORT
    };
    let error = Gaussian::new(params.sigma).unwrap();
    let bodies = switch_bodies(
        &params,
        &SEED,
        "fine",
        case.secret.coefficients(),
        &short,
        &error,
        &mut rng(9),
    );
    let switch = SwitchKey::new(params, &SEED, "fine", &bodies);
    let rotation = case.rotation_key(&short);
    let rotator = Rotator {
        ring: case.ring(),
        switch: &switch,
        rotation: &rotation,
    };
    let digits = 3;
    let v = 3;
    let bits = digits * v;
    for (stream, value) in [0u64, 1, 7, 8, 0o123, 0o400, 0o377, 0o704, 0o777]
        .into_iter()
        .enumerate()
    {
        let lwe = message(&case, value, bits, 400 + stream as u64);
        let (left, digit) = rotator.floor(&lwe, bits, 0, v);
        assert_eq!(
            (decode(&case, &left, bits), decode(&case, &digit, v)),
            (value & !7, value & 7),
            "{value:o}"
        );
        let (left, digit) = rotator.floor(&left, bits, v, v);
        assert_eq!(
            (decode(&case, &left, bits), decode(&case, &digit, v)),
            (value & !63, value >> 3 & 7)
        );
        for digit in 0..8 {
            let lwe = message(&case, digit, v, 500 + digit);
            let found: Vec<u64> = rotator
                .bits(&lwe, v)
                .iter()
                .map(|bit| decode(&case, bit, 1))
                .collect();
            assert_eq!(found, [digit & 1, digit >> 1 & 1, digit >> 2], "{digit}");
        }
        let found: Vec<u64> = rotator
            .decompose(&lwe, digits, v)
            .iter()
            .map(|bit| decode(&case, bit, 1))
            .collect();
        let expected: Vec<u64> = (0..bits).map(|i| value >> i & 1).collect();
        assert_eq!(found, expected, "{value:o}");
    }
}

#[test]
fn selectors_are_one_hot() {
    let case = Case::new();
    let ring = case.ring();
    let gadget = case.gadget(FINE);
    let square = case.square_key();
    let levels = case.gadget(GadgetParams {
        levels: 2,
        log_base: 4,
        drop: 45,
    });
    let wanted = 5usize;
    let gate = |bit: usize| {
        let rows = (0..gadget.levels()).map(|i| {
            let mut message = vec![0; DEGREE];
            message[0] = (wanted >> bit & 1) as u64 * gadget.factor(i);
            case.encrypt(&message, (60 + 8 * bit + i) as u8)
        });
        square.rgsw(ring, rows.collect())
    };
    let gates: Vec<Rows> = (0..3).map(gate).collect();
    let nodes = selector::tree(ring, &gadget, &gates, &levels);
    assert_eq!(nodes.len(), 8);
    let fresh = case
        .setting()
        .scheme_switch(FINE, DEGREE as f64 * 3.19f64.powi(2));
    // The noise of a node is that of up to three products.
    let bound = 3.0 * case.setting().gate(FINE, fresh);
    for (i, node) in nodes.iter().enumerate() {
        for (j, row) in node.iter().enumerate() {
            let mut message = vec![0; DEGREE];
            message[0] = if i == wanted { levels.factor(j) } else { 0 };
            let errors = case.errors(row, &ring.from_words(&message));
            assert!(
                variance(&errors) < 1.25 * bound,
                "{i}, {j}: 2^{:.2}",
                variance(&errors).log2() / 2.0
            );
        }
    }
}

#[test]
fn ring_switching_keeps_every_other_coefficient() {
    let case = Case::new();
    let small = Ring::new(DEGREE / 2, 226_510_849).unwrap();
    let small = RlweParams::insecure_over(small, Secret::ErrorLike, 6.4).unwrap();
    let target = SecretKey::generate(&small, &mut rng(60));
    let params = GadgetParams {
        levels: 7,
        log_base: 4,
        drop: 0,
    };
    let gadget = Gadget::new(small.ring(), params).unwrap();
    let masks = masks_from(small.ring(), &SEED, "ring-switch", 0..14);
    let source = case.secret.coefficients();
    let bodies = ring_switch::bodies(&small, source, &target, &masks, &gadget, &mut rng(61));
    let key = RingSwitchKey::new(Rows::new(small.ring(), &masks, &bodies), gadget);
    let q = case.ring().modulus();
    let q1 = small.ring().modulus();
    let message: Vec<u64> = (0..DEGREE as u64).map(|i| i * (q >> 8)).collect();
    let switched = key.switch(case.ring(), small.ring(), &case.encrypt(&message, 62));
    let phase = small
        .ring()
        .to_words(&switched.phase(small.ring(), &target));
    let errors: Vec<f64> = phase
        .iter()
        .zip(message.iter().step_by(2))
        .map(|(&found, &message)| {
            let turns = found as f64 / q1 as f64 - message as f64 / q as f64;
            (turns - turns.round()) * q1 as f64
        })
        .collect();
    let setting = Setting::error_like(DEGREE / 2, q1 as f64, 6.4, 60);
    within(
        &errors,
        2.0 * setting.key_switch(params) + (DEGREE as f64 * 2.0 / 3.0 + 1.0) / 12.0,
    );
}
