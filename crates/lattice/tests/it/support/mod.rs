//! LWE encryptions to pack with any packing.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used)]

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use papir_lattice::gadget::{Gadget, GadgetParams};
use papir_lattice::mod_switch::PowerSwitch;
use papir_lattice::noise::Setting;
use papir_lattice::packing::{Bodies, LweMasks, Packing, Preprocessed, RingPacking, RoundedKey};
use papir_lattice::params::{Literal, RlweParams};
use papir_lattice::rlwe::Rlwe;
use papir_lattice::secret::SecretKey;
use papir_reference::inspiring as naive;
use papir_ring::prg::Seed;
use papir_ring::{CyclotomicRing, Poly, Ring, Values};

pub const APPROXIMATE: GadgetParams = GadgetParams {
    levels: 2,
    log_base: 19,
    drop: 18,
};
pub const EXACT: GadgetParams = GadgetParams {
    levels: 3,
    log_base: 19,
    drop: 0,
};
/// Seed of the masks of all keys.
pub const SEED: Seed = Seed([1; 32]);
/// d = 2048, q ≈ 2^55.9, σ = 6.4.
pub const FULL: Literal = Literal::DEFAULT;
/// The ring of Table 5's small column: d = 1024, q ≈ 2^27.8.
pub const SMALL: Literal = Literal {
    degree: 1024,
    primes: [12_289, 18_433],
    sigma: 6.4,
};

pub fn rng(stream: u8) -> ChaCha20Rng {
    ChaCha20Rng::from_seed([stream; 32])
}

pub fn params(degree: usize) -> RlweParams {
    RlweParams::insecure(Literal { degree, ..FULL }).unwrap()
}

pub fn gadget(params: &RlweParams, gadget: GadgetParams) -> Gadget {
    Gadget::new(params.ring(), gadget).unwrap()
}

pub fn naive_gadget(gadget: GadgetParams) -> naive::Gadget {
    naive::Gadget {
        levels: gadget.levels,
        log_base: gadget.log_base,
        drop: gadget.drop,
    }
}

/// A packing and a client's secret, from fixed seeds.
pub struct Case<P> {
    pub params: RlweParams,
    pub packing: Packing<P>,
    pub secret: SecretKey,
}

impl<P: RingPacking> Case<P> {
    pub fn new(degree: usize, capacity: usize, gadget_params: GadgetParams) -> Self {
        Self::over(Literal { degree, ..FULL }, capacity, gadget_params)
    }

    pub fn over(literal: Literal, capacity: usize, gadget_params: GadgetParams) -> Self {
        let params = RlweParams::insecure(literal).unwrap();
        let gadget = gadget(&params, gadget_params);
        let packing = Packing::new(&params, &gadget, capacity, &SEED).unwrap();
        let secret = SecretKey::generate(&params, &mut rng(2));
        Self {
            params,
            packing,
            secret,
        }
    }

    pub fn ring(&self) -> &Ring {
        self.params.ring()
    }

    pub fn key(&self) -> Vec<u64> {
        self.key_from(3)
    }

    /// Returns a key of the secret in the form in which it is sent.
    pub fn key_from(&self, stream: u8) -> Vec<u64> {
        self.packing
            .generate_key(&self.secret, &mut rng(stream))
            .round(self.ring(), self.bits())
    }

    /// Returns the bits of a key's coefficients: as many as fit below q.
    pub fn bits(&self) -> u32 {
        self.ring().modulus().ilog2()
    }

    pub fn rounded<'k>(&self, key: &'k [u64]) -> RoundedKey<'k> {
        let shape = self.packing.shape();
        RoundedKey::new(shape, &vec![self.bits(); shape.matrices], key).unwrap()
    }

    /// Returns w of all matrices, as coefficients.
    pub fn masks(&self) -> Vec<Vec<Vec<u64>>> {
        self.packing
            .setup()
            .switches()
            .iter()
            .map(|switch| self.words(&switch.masks))
            .collect()
    }

    /// Returns y of all matrices, as coefficients lifted to q.
    pub fn bodies_of(&self, key: &[u64]) -> Vec<Vec<Vec<u64>>> {
        let shape = self.packing.shape();
        let switch = PowerSwitch::new(self.ring().modulus(), self.bits());
        let lifted: Vec<u64> = key.iter().map(|&word| switch.up(word)).collect();
        let elements: Vec<Vec<u64>> = lifted
            .chunks_exact(shape.degree)
            .map(<[u64]>::to_vec)
            .collect();
        elements
            .chunks_exact(shape.levels)
            .map(<[Vec<u64>]>::to_vec)
            .collect()
    }

    fn words(&self, polys: &[Poly<Values>]) -> Vec<Vec<u64>> {
        polys
            .iter()
            .map(|poly| self.ring().to_words(&self.ring().inverse(poly.clone())))
            .collect()
    }

    /// Returns the masks of the LWE encryptions of one pack.
    pub fn vectors(&self, pack: usize) -> Vec<Vec<u64>> {
        let ring = self.ring();
        let first = pack * self.packing.capacity();
        let mask = |k: usize| ring.uniform(&mut Seed([2; 32]).expand("a", k as u64));
        let masks = (first..first + self.packing.capacity()).map(mask);
        masks
            .map(|mask| ring.to_words(&ring.inverse(mask)))
            .collect()
    }

    /// Returns distinct messages in the top bits of q.
    pub fn messages(&self, pack: usize) -> Vec<u64> {
        let n = self.packing.capacity() as u64;
        let step = self.ring().modulus() / n;
        (0..n).map(|k| (k + pack as u64) % n * step).collect()
    }

    /// Returns the error-free bodies of one pack's LWE encryptions.
    pub fn lwe_bodies(&self, pack: usize) -> Vec<u64> {
        let q = i128::from(self.ring().modulus());
        let inner = |vector: &[u64]| {
            let terms = vector.iter().zip(self.secret.coefficients());
            terms
                .map(|(&a, &s)| i128::from(a) * i128::from(s))
                .sum::<i128>()
        };
        let body =
            |(vector, m): (Vec<u64>, u64)| (i128::from(m) - inner(&vector)).rem_euclid(q) as u64;
        self.vectors(pack)
            .into_iter()
            .zip(self.messages(pack))
            .map(body)
            .collect()
    }

    /// Packs `packs` packs together under one key.
    pub fn pack(&self, packs: usize) -> Vec<Rlwe> {
        let keys = [self.key()];
        self.pack_under(packs, &keys).remove(0)
    }

    /// Prepares `packs` packs.
    pub fn prepare(&self, packs: usize) -> (Vec<P::Word>, Vec<Preprocessed>) {
        let mut words = vec![zero_word::<P>(); self.packing.words(packs)];
        let masks = |pack: usize| LweMasks::from_vectors(self.ring(), &self.vectors(pack));
        let prepared = self.packing.prepare_all(packs, masks, &mut words).unwrap();
        (words, prepared)
    }

    /// Packs `packs` packs under several keys of the one secret.
    pub fn pack_under(&self, packs: usize, keys: &[Vec<u64>]) -> Vec<Vec<Rlwe>> {
        let ring = self.ring();
        let packing = &self.packing;
        let (words, prepared) = self.prepare(packs);
        let keys: Vec<_> = keys
            .iter()
            .map(|key| packing.online_key(&self.rounded(key)).unwrap())
            .collect();
        let all = packing.pack(
            &words,
            &prepared.iter().collect::<Vec<_>>(),
            &keys.iter().collect::<Vec<_>>(),
        );
        let lwe: Vec<u64> = (0..packs).flat_map(|pack| self.lwe_bodies(pack)).collect();
        let lwe = Bodies::from_words(ring, packing.capacity(), &lwe);
        let join = |mut bodies: Bodies| {
            bodies.add_assign(ring, &lwe);
            assert_eq!(bodies.packs(), packs);
            let pack = |i: usize| Rlwe {
                a: prepared[i].a.clone(),
                b: bodies.poly(ring, i),
            };
            (0..packs).map(pack).collect()
        };
        all.unwrap().into_iter().map(join).collect()
    }

    /// Returns the errors of the significant coefficients, centred.
    pub fn errors(&self, pack: usize, packed: &Rlwe) -> Vec<f64> {
        let ring = self.ring();
        let mut messages = self.messages(pack);
        messages.resize(ring.degree(), 0);
        let mut phase = packed.phase(ring, &self.secret);
        ring.sub_assign(&mut phase, &ring.from_words(&messages));
        let errors = ring.to_centred(&phase);
        errors[..self.packing.capacity()]
            .iter()
            .map(|&error| error as f64)
            .collect()
    }
}

/// Checks `packs` packs of InspiRING against a sequential algorithm, which returns the mask and the
/// body of a pack under bodies y.
///
/// The algorithm multiplies y modulo q, and the online part words modulo 2^bits. So the stored matrix M
/// is multiplied here: M·y modulo q must give the algorithm's body, and M·y′ modulo 2^bits, lifted, the
/// packing's.
pub fn assert_matches_sequential<P: RingPacking<Word = i32>>(
    case: &Case<P>,
    packs: usize,
    naive: impl Fn(usize, &[Vec<Vec<u64>>]) -> (Vec<u64>, Vec<u64>),
) {
    let ring = case.ring();
    let q = case.ring().modulus();
    let capacity = case.packing.capacity();
    let (words, prepared) = case.prepare(packs);
    let key = case.key();
    let columns = case.packing.shape().levels * ring.degree();
    let product = |pack: usize, y: &[u64], modulus: i128| -> Vec<i128> {
        let entry = |row: usize, c: usize| words[row / 64 * 64 * columns + c * 64 + row % 64];
        let sum = |row: usize| {
            (0..columns)
                .map(|c| i128::from(entry(row, c)) * i128::from(y[c]))
                .sum::<i128>()
        };
        (pack * capacity..(pack + 1) * capacity)
            .map(|row| sum(row).rem_euclid(modulus))
            .collect()
    };
    // The last step alone: the packing under a key whose y_g is zero.
    let mut last = key.clone();
    last[..columns].fill(0);
    let y = case.bodies_of(&key);
    let switch = PowerSwitch::new(q, case.bits());
    let packed = case.pack_under(packs, std::slice::from_ref(&key));
    let rest = case.pack_under(packs, &[last]);
    for pack in 0..packs {
        let (mask, body) = naive(pack, &y);
        assert_eq!(
            ring.to_words(&prepared[pack].a),
            mask,
            "mask of pack {pack} of {capacity}"
        );
        let rest = &ring.to_words(&rest[0][pack].b)[..capacity];
        let plus_rest = |sums: Vec<u64>| -> Vec<u64> {
            sums.iter()
                .zip(rest)
                .map(|(&sum, &rest)| (sum + rest) % q)
                .collect()
        };
        let modulo_q = product(pack, &y[0].concat(), q.into())
            .into_iter()
            .map(|sum| sum as u64)
            .collect();
        assert_eq!(
            plus_rest(modulo_q),
            body[..capacity],
            "matrix of pack {pack} of {capacity}"
        );
        let sums = product(pack, &key[..columns], 1 << case.bits());
        let lifted = sums.into_iter().map(|sum| switch.up(sum as u64)).collect();
        let found = ring.to_words(&packed[0][pack].b);
        assert_eq!(
            plus_rest(lifted),
            found[..capacity],
            "body of pack {pack} of {capacity}"
        );
        assert!(
            found[capacity..].iter().all(|&b| b == 0),
            "only {capacity} coefficients"
        );
    }
}

fn zero_word<P: RingPacking>() -> P::Word {
    bytemuck::Zeroable::zeroed()
}

/// Asserts that noise measured over `packs` packs is at most 0.1 bits above and 1 bit below the
/// bound.
pub fn assert_noise_is_predicted<P: RingPacking>(
    ring: Literal,
    capacity: usize,
    gadget: GadgetParams,
    packs: usize,
) {
    let case = Case::<P>::over(ring, capacity, gadget);
    let packed = case.pack(packs);
    let errors: Vec<f64> = packed
        .iter()
        .enumerate()
        .flat_map(|(pack, packed)| case.errors(pack, packed))
        .collect();
    let variance = errors.iter().map(|e| e * e).sum::<f64>() / errors.len() as f64;
    let modulus = case.ring().modulus() as f64;
    let setting = Setting::error_like(ring.degree, modulus, ring.sigma, case.bits());
    let bits = |variance: f64| variance.log2() / 2.0;
    let measured = bits(variance);
    let bound = bits(P::variance(&setting, gadget, capacity));
    let name = P::NAME;
    let d = ring.degree;
    println!("{name} of {capacity} at d = {d}: measured 2^{measured:.2}, predicted 2^{bound:.2}");
    assert!(
        measured < bound + 0.1,
        "measured 2^{measured:.2}, bound 2^{bound:.2}"
    );
    assert!(
        measured > bound - 1.0,
        "measured 2^{measured:.2} far below 2^{bound:.2}: is there noise?"
    );
}

/// Asserts that a key gives the same bodies alone and together with other keys.
pub fn assert_keys_do_not_mix<P: RingPacking>(capacity: usize) {
    let case = Case::<P>::new(64, capacity, APPROXIMATE);
    let keys = [3, 4, 5].map(|stream| case.key_from(stream));
    let together = case.pack_under(3, &keys);
    for (key, together) in keys.iter().zip(&together) {
        assert_eq!(&case.pack_under(3, std::slice::from_ref(key))[0], together);
    }
    assert_ne!(together[0], together[1]);
}

/// Returns whether two packings have no mask in common.
pub fn masks_differ<P: RingPacking, Q: RingPacking>(
    first: &Packing<P>,
    second: &Packing<Q>,
) -> bool {
    let all = |switches: &[papir_lattice::packing::SwitchMasks]| -> Vec<Poly<Values>> {
        switches
            .iter()
            .flat_map(|switch| switch.masks.clone())
            .collect()
    };
    let first = all(first.setup().switches());
    let second = all(second.setup().switches());
    !first.iter().any(|mask| second.contains(mask))
}
