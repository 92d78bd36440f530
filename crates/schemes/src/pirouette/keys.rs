//! Evaluation keys: what a client uploads once, and what the server makes of it.
//!
//! ```text
//! keys     seed (32), switch to the key for bits, switch to the key for digits,
//!          RGSW(bits of the key for bits), RGSW(bits of the key for digits),
//!          automorphisms, s², switch to the response ring
//! ```
//! Of all encryptions the bodies travel, in coefficients, rounded and packed; masks follow from the seed.

use std::sync::OnceLock;

use papir_core::scheme::Wire;
use papir_core::{Error, Result};
use papir_kernels::bits;
use papir_lattice::bootstrap::circuit::{self, SquareKey};
use papir_lattice::bootstrap::galois::{self, GaloisKeys};
use papir_lattice::bootstrap::lwe::{BinaryKey, SwitchKey, SwitchParams, switch_bodies};
use papir_lattice::bootstrap::ring_switch::{self, RingSwitchKey};
use papir_lattice::bootstrap::rotation::{self, RotationKey};
use papir_lattice::key_switch::masks_from;
use papir_lattice::mod_switch::{lift_elements, round_elements};
use papir_lattice::params::RlweParams;
use papir_lattice::rows::Rows;
use papir_ring::prg::{SecretRng, Seed};
use papir_ring::{Poly, Values};
use rand_core::CryptoRng;
use rayon::prelude::*;

use super::Lengths;
use super::chain::{Chain, DEGREE, KEY_BITS, LOG2_DEGREE, RESPONSE_DEGREE, RESPONSE_KEY_BITS, ShortParams};
use super::client::Secrets;
use super::params::PirouetteParams;

/// Bytes of the seed of all masks.
const SEED_BYTES: usize = 32;
/// Parts of the larger key that the response ring's key takes over.
const RING_PARTS: usize = DEGREE / RESPONSE_DEGREE;

/// A group of ring encryptions that belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Bit(usize),
    Digit(usize),
    Galois(usize),
    Square,
    RingSwitch,
}

impl Part {
    /// All parts, as they travel.
    fn all(chain: &Chain) -> Vec<Self> {
        let bits = (0..chain.bits.switch.dimension).map(Self::Bit);
        let digits = (0..chain.digits.switch.dimension).map(Self::Digit);
        let steps = (0..LOG2_DEGREE as usize).map(Self::Galois);
        bits.chain(digits).chain(steps).chain([Self::Square, Self::RingSwitch]).collect()
    }

    /// Where its masks come from: the label of its kind, its place among them and the rows of each.
    fn place(self, chain: &Chain) -> (&'static str, usize, usize) {
        match self {
            Self::Bit(i) => ("pirouette/rotation-bits", i, 2 * chain.bits.gadget.levels()),
            Self::Digit(i) => ("pirouette/rotation-digits", i, 2 * chain.digits.gadget.levels()),
            Self::Galois(step) => ("pirouette/automorphism", step, chain.galois.levels()),
            Self::Square => ("pirouette/square", 0, chain.square.levels()),
            Self::RingSwitch => ("pirouette/ring-switch", 0, RING_PARTS * chain.ring_switch.levels()),
        }
    }

    fn rows(self, chain: &Chain) -> usize {
        self.place(chain).2
    }

    /// Its ring and the bits its elements are rounded to.
    fn ring(self, chain: &Chain) -> (&RlweParams, u32) {
        match self {
            Self::RingSwitch => (&chain.response, RESPONSE_KEY_BITS),
            _ => (&chain.rlwe, KEY_BITS),
        }
    }

    fn masks(self, chain: &Chain, seed: &Seed) -> Vec<Poly<Values>> {
        let (label, place, rows) = self.place(chain);
        masks_from(self.ring(chain).0.ring(), seed, label, place * rows..(place + 1) * rows)
    }

    fn packed_bytes(self, chain: &Chain) -> usize {
        let (params, key_bits) = self.ring(chain);
        bits::packed_len(self.rows(chain) * params.ring().degree(), key_bits)
    }

    /// Fresh encryptions, packed.
    fn generate(self, chain: &Chain, own: &Own<'_>, seed: &Seed, rng: &mut dyn CryptoRng) -> Vec<u8> {
        let ((params, key_bits), masks) = (self.ring(chain), self.masks(chain, seed));
        let (rlwe, ring_key) = (&chain.rlwe, &own.secrets.ring);
        let bodies = match self {
            Self::Bit(i) => rotation::bodies(rlwe, ring_key, (&own.bits, i), &masks, &chain.bits.gadget, rng),
            Self::Digit(i) => {
                rotation::bodies(rlwe, ring_key, (&own.digits, i), &masks, &chain.digits.gadget, rng)
            }
            Self::Galois(step) => galois::bodies(rlwe, ring_key, step, &masks, &chain.galois, rng),
            Self::Square => circuit::bodies(rlwe, ring_key, &masks, &chain.square, rng),
            Self::RingSwitch => {
                let (source, target) = (ring_key.coefficients(), &own.secrets.response);
                ring_switch::bodies(params, source, target, &masks, &chain.ring_switch, rng)
            }
        };
        let mut packed = Vec::with_capacity(self.packed_bytes(chain));
        bits::pack(&round_elements(params.ring(), key_bits, bodies), key_bits, &mut packed);
        packed
    }

    /// What the server computes with.
    fn expand(self, chain: &Chain, seed: &Seed, packed: &[u8]) -> Result<Rows> {
        let (params, key_bits) = self.ring(chain);
        let ring = params.ring();
        let words = unpack(packed, key_bits, self.rows(chain) * ring.degree())?;
        let bodies = lift_elements(ring, key_bits, &words).into_iter().map(|body| ring.forward(body));
        Ok(Rows::new(&self.masks(chain, seed), &bodies.collect::<Vec<_>>()))
    }
}

/// A client's keys while they are made: the short ones are gone afterwards.
struct Own<'a> {
    secrets: &'a Secrets,
    bits: BinaryKey,
    digits: BinaryKey,
}

/// Labels of the switches' masks.
const SWITCH_LABELS: [&str; 2] = ["pirouette/switch-bits", "pirouette/switch-digits"];

fn switch_bytes(params: &SwitchParams) -> usize {
    bits::packed_len(DEGREE * params.levels(), params.log2_q)
}

/// Bytes of the keys as they travel, envelope apart.
pub(super) fn packed_bytes(chain: &Chain) -> usize {
    let switches = switch_bytes(&chain.bits.switch) + switch_bytes(&chain.digits.switch);
    SEED_BYTES + switches + Part::all(chain).into_iter().map(|part| part.packed_bytes(chain)).sum::<usize>()
}

/// Bytes that they take in the server's memory.
pub(super) fn expanded_bytes(chain: &Chain) -> usize {
    let switches = [&chain.bits.switch, &chain.digits.switch].map(|params| SwitchKey::bytes(params, DEGREE));
    let rows = |part: Part| Rows::bytes(part.ring(chain).0.ring().degree(), part.rows(chain));
    switches.iter().sum::<usize>() + Part::all(chain).into_iter().map(rows).sum::<usize>()
}

/// Ring elements of the keys.
pub(super) fn elements(chain: &Chain) -> usize {
    Part::all(chain).into_iter().map(|part| part.rows(chain)).sum()
}

/// The masks of all ring encryptions of the keys.
#[cfg(test)]
pub(super) fn all_masks(chain: &Chain, seed: &Seed) -> Vec<Poly<Values>> {
    Part::all(chain).into_iter().flat_map(|part| part.masks(chain, seed)).collect()
}

fn unpack(bytes: &[u8], width: u32, count: usize) -> Result<Vec<u64>> {
    let mut words = Vec::new();
    bits::unpack(bytes, width, count, &mut words)
        .map_err(|error| Error::malformed("pirouette's keys", error, "zeros after the last word"))?;
    Ok(words)
}

/// Keys as they travel; expanded where a server first needs them.
pub struct Keys {
    packed: Vec<u8>,
    evaluation: OnceLock<Result<Evaluation, String>>,
}

impl Keys {
    /// Fresh keys for a client's secrets, under short keys that nobody keeps.
    pub(super) fn generate(chain: &Chain, secrets: &Secrets, rng: &mut dyn CryptoRng) -> Self {
        let seed = Seed::random(rng);
        let short =
            |short: &ShortParams, rng: &mut dyn CryptoRng| BinaryKey::generate(short.switch.dimension, rng);
        let (bits, digits) = (short(&chain.bits, rng), short(&chain.digits, rng));
        let mut packed = Vec::with_capacity(packed_bytes(chain));
        packed.extend_from_slice(&seed.0);
        for ((short, key), label) in
            [(&chain.bits, &bits), (&chain.digits, &digits)].into_iter().zip(SWITCH_LABELS)
        {
            let source = secrets.ring.coefficients();
            let bodies = switch_bodies(&short.switch, (&seed, label), source, key, &short.error, rng);
            let (bodies, mut bytes): (Vec<u64>, _) =
                (bodies.into_iter().map(u64::from).collect(), Vec::new());
            bits::pack(&bodies, short.switch.log2_q, &mut bytes);
            packed.append(&mut bytes);
        }
        let own = Own { secrets, bits, digits };
        // A generator each, so that threads share the work.
        let parts: Vec<_> = Part::all(chain).into_iter().map(|part| (part, SecretRng::new(rng))).collect();
        let parts: Vec<Vec<u8>> = parts
            .into_par_iter()
            .map(|(part, mut rng)| part.generate(chain, &own, &seed, &mut rng))
            .collect();
        parts.iter().for_each(|part| packed.extend_from_slice(part));
        Self { packed, evaluation: OnceLock::new() }
    }

    /// What the server computes with.
    ///
    /// # Errors
    /// [`Error::Malformed`] for bits that no client sends.
    pub(super) fn evaluation(&self, chain: &Chain) -> Result<&Evaluation> {
        let make = || Evaluation::new(chain, &self.packed).map_err(|error| error.to_string());
        let made = self.evaluation.get_or_init(make);
        made.as_ref()
            .map_err(|found| Error::malformed("pirouette's keys", found, "keys as clients make them"))
    }
}

impl<T: Lengths> Wire<PirouetteParams<T>> for Keys {
    fn encode(&self, _params: &PirouetteParams<T>) -> Vec<u8> {
        self.packed.clone()
    }

    fn decode(params: &PirouetteParams<T>, bytes: &[u8]) -> Result<Self> {
        Error::check_length("pirouette's keys", bytes.len(), packed_bytes(&params.chain))?;
        let keys = Self { packed: bytes.to_vec(), evaluation: OnceLock::new() };
        keys.evaluation(&params.chain)?;
        Ok(keys)
    }
}

/// A switch to a short key and the rotation by it.
pub(super) struct ShortKey {
    pub(super) switch: SwitchKey,
    pub(super) rotation: RotationKey,
}

/// The keys in values.
pub(super) struct Evaluation {
    pub(super) bits: ShortKey,
    pub(super) digits: ShortKey,
    pub(super) galois: GaloisKeys,
    pub(super) square: SquareKey,
    pub(super) ring_switch: RingSwitchKey,
}

impl Evaluation {
    /// From bytes of the right length.
    fn new(chain: &Chain, packed: &[u8]) -> Result<Self> {
        let (seed, mut rest) = packed.split_at(SEED_BYTES);
        let seed = Seed(seed.try_into().map_err(|_| Error::NotDecodable)?);
        let mut switch = |params: SwitchParams, label| -> Result<SwitchKey> {
            let (bytes, after) = rest.split_at(switch_bytes(&params));
            rest = after;
            let words = unpack(bytes, params.log2_q, DEGREE * params.levels())?;
            let bodies: Vec<u32> = words.into_iter().map(|word| word as u32).collect();
            Ok(SwitchKey::new(params, (&seed, label), &bodies))
        };
        let [first, second] = SWITCH_LABELS;
        let switches = [switch(chain.bits.switch, first)?, switch(chain.digits.switch, second)?];
        let mut places = Vec::new();
        for part in Part::all(chain) {
            let (bytes, after) = rest.split_at(part.packed_bytes(chain));
            places.push((part, bytes));
            rest = after;
        }
        let rows = places.into_par_iter().map(|(part, bytes)| part.expand(chain, &seed, bytes));
        Ok(Self::assemble(chain, switches, rows.collect::<Result<Vec<_>>>()?))
    }

    /// From the switches for bits and digits, and the rows of all parts in their order.
    fn assemble(chain: &Chain, [bits, digits]: [SwitchKey; 2], rows: Vec<Rows>) -> Self {
        let mut rows = rows.into_iter();
        let mut take = |count: usize| rows.by_ref().take(count).collect::<Vec<_>>();
        let mut short = |switch, short: &ShortParams| {
            let rotation = RotationKey::new(take(short.switch.dimension), short.gadget.clone());
            ShortKey { switch, rotation }
        };
        let (bits, digits) = (short(bits, &chain.bits), short(digits, &chain.digits));
        let galois = GaloisKeys::new(take(LOG2_DEGREE as usize), chain.galois.clone());
        let mut one = || take(1).pop().unwrap_or_default();
        let square = SquareKey::new(one(), chain.square.clone());
        let ring_switch = RingSwitchKey::new(one(), chain.ring_switch.clone());
        Self { bits, digits, galois, square, ring_switch }
    }
}
