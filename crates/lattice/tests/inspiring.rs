//! InspiRING against the sequential algorithm, bit for bit, and its noise against the bound.
#![allow(clippy::unwrap_used)]

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use papir_lattice::gadget::{Gadget, GadgetParams};
use papir_lattice::noise::Setting;
use papir_lattice::packing::inspiring::{
    LweMasks, OnlineKey, PackingKey, PackingMasks, Preprocessed, Preprocessor, matrix_words, pack,
};
use papir_lattice::params::{DEFAULT_PRIMES, Literal, RlweParams};
use papir_lattice::rlwe::Rlwe;
use papir_lattice::secret::SecretKey;
use papir_reference::inspiring as naive;
use papir_ring::prg::Seed;
use papir_ring::{Poly, Values};

const GADGET: GadgetParams = GadgetParams { levels: 2, log_base: 19, drop: 18 };

struct Case {
    params: RlweParams,
    gadget: Gadget,
    masks: PackingMasks,
    secret: SecretKey,
    key: PackingKey,
    vectors: Vec<Vec<u64>>,
    bodies: Vec<u64>,
    messages: Vec<u64>,
}

/// d LWE encryptions of distinct messages at the top of q, and packing keys, all from one seed.
fn case(degree: usize, gadget: GadgetParams) -> Case {
    let params = RlweParams::insecure(Literal { degree, primes: DEFAULT_PRIMES, sigma: 6.4 }).unwrap();
    let mut rng = ChaCha20Rng::from_seed([degree as u8; 32]);
    let ring = params.ring();
    let gadget = Gadget::new(ring, gadget).unwrap();
    let masks = PackingMasks::expand(ring, &Seed([1; 32]), gadget.levels());
    let secret = SecretKey::generate(&params, &mut rng);
    let key = PackingKey::generate(&params, &secret, &masks, &gadget, &mut rng);
    let q = ring.modulus();
    let vector =
        |k: usize| ring.to_words(&ring.inverse(ring.uniform(&mut Seed([2; 32]).expand("a", k as u64))));
    let vectors: Vec<Vec<u64>> = (0..degree).map(vector).collect();
    let messages: Vec<u64> = (0..degree as u64).map(|k| k * (q / degree as u64)).collect();
    let inner = |vector: &[u64]| {
        let terms = vector.iter().zip(secret.coefficients());
        terms.map(|(&a, &s)| (i128::from(a) * i128::from(s)).rem_euclid(q.into())).sum::<i128>()
    };
    let body = |(vector, &m): (&Vec<u64>, &u64)| (i128::from(m) - inner(vector)).rem_euclid(q.into()) as u64;
    let bodies = vectors.iter().zip(&messages).map(body).collect();
    Case { params, gadget, masks, secret, key, vectors, bodies, messages }
}

impl Case {
    fn pack(&self) -> Rlwe {
        let ring = self.params.ring();
        let mut tiles = vec![0; matrix_words(ring.degree(), self.gadget.levels())];
        let lwe = LweMasks::from_vectors(ring, &self.vectors);
        let preprocessor = Preprocessor::new(ring, &self.gadget, &self.masks);
        let Preprocessed { a, last } = preprocessor.run(lwe, &mut tiles).unwrap();
        let key = OnlineKey::from_key(ring, &self.key);
        let mut b = pack(ring, &tiles, &[&last], &[&key]).remove(0).remove(0);
        ring.add_assign(&mut b, &ring.from_words(&self.bodies));
        Rlwe { a, b }
    }

    fn words(&self, polys: &[Poly<Values>]) -> Vec<Vec<u64>> {
        let ring = self.params.ring();
        polys.iter().map(|poly| ring.to_words(&ring.inverse(poly.clone()))).collect()
    }

    /// The errors of the packed encryption, centred.
    fn errors(&self) -> Vec<f64> {
        let ring = self.params.ring();
        let mut phase = self.pack().phase(ring, &self.secret);
        ring.sub_assign(&mut phase, &ring.from_words(&self.messages));
        ring.to_centred(&phase).into_iter().map(|error| error as f64).collect()
    }
}

fn assert_matches_the_sequential_algorithm(degree: usize, gadget: GadgetParams) {
    let case = case(degree, gadget);
    let ring = case.params.ring();
    let (wg, yg) = (case.words(&case.masks.g), case.words(&case.key.g));
    let (wh, yh) = (case.words(&case.masks.h), case.words(&case.key.h));
    let naive_gadget = naive::Gadget { levels: gadget.levels, log_base: gadget.log_base, drop: gadget.drop };
    let expected =
        naive::pack(&case.vectors, &case.bodies, (&wg, &yg), (&wh, &yh), ring.modulus(), naive_gadget);
    let packed = case.pack();
    assert_eq!(ring.to_words(&packed.a), expected.0, "mask at degree {degree}");
    assert_eq!(ring.to_words(&packed.b), expected.1, "body at degree {degree}");
}

#[test]
fn equals_the_sequential_algorithm_with_the_approximate_gadget() {
    assert_matches_the_sequential_algorithm(64, GADGET);
}

#[test]
fn equals_the_sequential_algorithm_with_the_exact_gadget() {
    assert_matches_the_sequential_algorithm(64, GadgetParams { levels: 3, log_base: 19, drop: 0 });
}

#[test]
fn equals_the_sequential_algorithm_at_a_larger_degree() {
    assert_matches_the_sequential_algorithm(128, GADGET);
}

#[test]
fn noise_is_as_predicted_at_full_parameters() {
    let case = case(2048, GADGET);
    let errors = case.errors();
    let variance = errors.iter().map(|e| e * e).sum::<f64>() / errors.len() as f64;
    let modulus = case.params.ring().modulus() as f64;
    let setting = Setting { degree: 2048, modulus, sigma: 6.4, key_bits: 62 };
    let predicted = setting.packing(GADGET);
    let (measured, bound) = (variance.log2() / 2.0, predicted.log2() / 2.0);
    println!("InspiRING noise at d = 2048: measured 2^{measured:.2}, predicted 2^{bound:.2}");
    assert!(measured < bound + 0.1, "measured 2^{measured:.2}, bound 2^{bound:.2}");
    assert!(
        measured > bound - 1.0,
        "measured 2^{measured:.2} far below 2^{bound:.2}: is there noise at all?"
    );
}
