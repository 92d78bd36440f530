//! Encryption, key switching, external product and selectors, with noise against its bound.

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use papir_kernels::galois;
use papir_lattice::gadget::{Gadget, GadgetParams};
use papir_lattice::noise::{Setting, Tails};
use papir_lattice::params::{DEFAULT_PRIMES, Literal, ParamsError, RlweParams};
use papir_lattice::rlwe::{Rlwe, encrypt};
use papir_lattice::rows::{Rows, Workspace};
use papir_lattice::secret::SecretKey;
use papir_lattice::{key_switch, lwe, rgsw};
use papir_ring::prg::Seed;
use papir_ring::{Coefficients, CyclotomicRing, Poly};

use crate::support::APPROXIMATE;

const GADGET: GadgetParams = APPROXIMATE;
const SEED: Seed = Seed([9; 32]);

struct Setup {
    params: RlweParams,
    gadget: Gadget,
    secret: SecretKey,
    rng: ChaCha20Rng,
}

fn setup() -> Setup {
    let params = RlweParams::new(Literal::DEFAULT).unwrap();
    let mut rng = ChaCha20Rng::from_seed([3; 32]);
    let secret = SecretKey::generate(&params, &mut rng);
    let gadget = Gadget::new(params.ring(), GADGET).unwrap();
    Setup {
        params,
        gadget,
        secret,
        rng,
    }
}

impl Setup {
    fn setting(&self) -> Setting {
        Setting::error_like(2048, self.params.ring().modulus() as f64, 6.4, 62)
    }

    /// Encrypts `message` under a fresh mask.
    fn encrypt(&mut self, message: &Poly<Coefficients>, index: u64) -> Rlwe {
        let ring = self.params.ring();
        let mask = ring.uniform(&mut SEED.expand("test mask", index));
        let message = ring.forward(message.clone());
        let body = encrypt(&self.params, &self.secret, &mask, &message, &mut self.rng);
        Rlwe {
            a: ring.inverse(mask),
            b: ring.inverse(body),
        }
    }

    /// Standard deviation of phase − message.
    fn deviation(&self, ciphertext: &Rlwe, message: &Poly<Coefficients>) -> f64 {
        let ring = self.params.ring();
        let mut error = ciphertext.phase(ring, &self.secret);
        ring.sub_assign(&mut error, message);
        let errors = ring.to_centred(&error);
        (errors.iter().map(|&e| (e as f64).powi(2)).sum::<f64>() / errors.len() as f64).sqrt()
    }

    fn message(&self) -> Poly<Coefficients> {
        let ring = self.params.ring();
        ring.from_words(
            &(0..2048)
                .map(|i| i * (ring.modulus() / 2048))
                .collect::<Vec<_>>(),
        )
    }
}

/// Asserts that the measured deviation is at most 1.1 and more than 0.5 times the predicted one.
fn assert_close(measured: f64, variance: f64) {
    let predicted = variance.sqrt();
    assert!(
        measured < 1.1 * predicted && measured > 0.5 * predicted,
        "measured {measured}, predicted {predicted}"
    );
}

#[test]
fn fresh_encryptions_have_the_standard_deviation_sigma() {
    let mut setup = setup();
    let message = setup.message();
    let ciphertext = setup.encrypt(&message, 0);
    let deviation = setup.deviation(&ciphertext, &message);
    assert!(
        (deviation - 6.4).abs() < 0.6,
        "standard deviation {deviation}: expected 6.4"
    );
}

#[test]
fn secrets_have_the_standard_deviation_sigma() {
    let setup = setup();
    let squares: f64 = setup
        .secret
        .coefficients()
        .iter()
        .map(|&s| f64::from(s).powi(2))
        .sum();
    let deviation = (squares / 2048.0).sqrt();
    assert!(
        (deviation - 6.4).abs() < 0.6,
        "standard deviation {deviation}: expected 6.4"
    );
}

#[test]
fn key_switching_adds_the_predicted_noise() {
    let mut setup = setup();
    let ring = setup.params.ring().clone();
    let message = setup.message();
    let ciphertext = setup.encrypt(&message, 1);
    let image = Rlwe {
        a: ring.automorphism(&ciphertext.a, 5),
        b: ring.automorphism(&ciphertext.b, 5),
    };
    let source = ring.permute(setup.secret.values(), &galois::permutation(2048, 5));
    let masks = key_switch::masks(&ring, &SEED, "test key", 2);
    let bodies = key_switch::generate(
        &setup.params,
        &setup.secret,
        &source,
        &masks,
        &setup.gadget,
        &mut setup.rng,
    );
    let mut work = Workspace::new(&ring, 2);
    let mut switched = Rlwe::zero(&ring);
    work.multiply(
        &ring,
        &setup.gadget,
        &image.a,
        &Rows::new(&ring, &masks, &bodies),
        &mut switched,
    );
    ring.add_assign(&mut switched.b, &image.b);
    let measured = setup.deviation(&switched, &ring.automorphism(&message, 5));
    assert_close(measured, setup.setting().packing(GADGET) / 2047.0);
}

#[test]
fn external_product_with_a_monomial_adds_the_predicted_noise() {
    let mut setup = setup();
    let ring = setup.params.ring().clone();
    let message = setup.message();
    let ciphertext = setup.encrypt(&message, 2);
    let masks = rgsw::masks(&ring, &SEED, "test rgsw", &setup.gadget);
    for exponent in [0u32, 5, 2047, 2048, 4095] {
        let bodies = rgsw::encrypt_monomial(
            &setup.params,
            &setup.secret,
            &masks,
            exponent,
            &setup.gadget,
            &mut setup.rng,
        );
        let mut work = Workspace::new(&ring, 4);
        let mut product = Rlwe::zero(&ring);
        work.external_product(
            &ring,
            &setup.gadget,
            &ciphertext,
            &Rows::new(&ring, &masks, &bodies),
            &mut product,
        );
        let mut monomial = vec![0i32; 2048];
        monomial[exponent as usize % 2048] = if exponent < 2048 { 1 } else { -1 };
        let expected = ring.mul(
            &ring.forward(message.clone()),
            &ring.forward(ring.from_signed(&monomial)),
        );
        let measured = setup.deviation(&product, &ring.inverse(expected));
        assert_close(measured, setup.setting().external_product(GADGET));
    }
}

#[test]
fn selectors_encrypt_the_scale_at_one_column_and_zero_elsewhere() {
    let mut setup = setup();
    let ring = setup.params.ring().clone();
    let columns = 3000;
    let selected = 2500u32;
    let scale = ring.modulus() / 16;
    let masks = || (0..).map(|i| lwe::block_mask(&setup.params, &SEED, "test selector", i));
    let bodies = lwe::encrypt_selector(
        &setup.params,
        &setup.secret,
        masks(),
        columns,
        selected,
        scale,
        &mut setup.rng,
    );
    assert_eq!(bodies.len(), columns);
    for (block, (mask, bodies)) in masks().zip(bodies.chunks(2048)).enumerate() {
        let mut padded = bodies.to_vec();
        padded.resize(2048, 0);
        let ciphertext = Rlwe {
            a: ring.inverse(mask),
            b: ring.from_words(&padded),
        };
        let phase = ring.to_centred(&ciphertext.phase(&ring, &setup.secret));
        for (c, &value) in phase.iter().enumerate().take(bodies.len()) {
            let expected = if block * 2048 + c == selected as usize {
                scale as i64
            } else {
                0
            };
            assert!(
                (value - expected).abs() < 64,
                "column {}: {value}",
                block * 2048 + c
            );
        }
    }
}

#[test]
fn insecure_parameters_are_refused() {
    for literal in [
        Literal {
            sigma: 2.55,
            ..Literal::DEFAULT
        },
        Literal {
            degree: 1024,
            ..Literal::DEFAULT
        },
        Literal {
            degree: 64,
            primes: DEFAULT_PRIMES,
            sigma: 6.4,
        },
    ] {
        assert!(
            matches!(RlweParams::new(literal), Err(ParamsError::Insecure(_))),
            "{literal:?}"
        );
    }
    assert!(
        RlweParams::new(Literal::DEFAULT)
            .unwrap()
            .security()
            .unwrap()
            .matzov
            >= 128.0
    );
}

#[test]
fn failure_probability_decreases_with_the_square_of_the_threshold() {
    let at = |sigmas: f64| Tails::Gaussian.failure_log2(sigmas, 1.0, 2048.0);
    assert!(
        at(8.6) < -40.0 && at(8.4) > -40.0,
        "{} {}",
        at(8.6),
        at(8.4)
    );
    assert_eq!(at(0.0), 0.0);
    assert_eq!(at(1.0), 0.0);
}
