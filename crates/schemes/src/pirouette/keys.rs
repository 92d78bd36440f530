//! Evaluation keys: uploaded once, expanded by the server.
//!
//! ```text
//! keys     seed (32), switch to the key for bits, switch to the key for digits,
//!          RGSW(bits of the key for bits), RGSW(bits of the key for digits),
//!          automorphisms, s², switch to the response ring
//! ```
//! Encryptions are sent as bodies in coefficients, rounded and packed. Masks are expanded from the
//! seed.

use std::sync::OnceLock;

use papir_core::codec::Reader;
use papir_core::scheme::Wire;
use papir_core::{Error, Result};
use papir_kernels::bits::packed_len;
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

use super::chain::{Chain, DEGREE, KEY_BITS, LOG2_DEGREE, RESPONSE_DEGREE, RESPONSE_KEY_BITS};
use super::common::RetrievalParams;
use super::secrets::Secrets;
use crate::shared::messages::{SEED_BYTES, pack, unpack, unpack_u32};

/// Name of the keys in errors.
const WHAT: &str = "evaluation keys";
/// Parts that the ring's key is cut into for the switch to the response ring.
const RING_PARTS: usize = DEGREE / RESPONSE_DEGREE;

/// A group of ring encryptions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Bit(usize),
    Digit(usize),
    Galois(usize),
    Square,
    RingSwitch,
}

impl Part {
    /// All parts of keys with this many short ones, in the order of their bytes.
    fn all(chain: &Chain, shorts: usize) -> Vec<Self> {
        let count = |which: usize| if which < shorts { chain.short(which).switch.dimension } else { 0 };
        let bits = (0..count(0)).map(Self::Bit);
        let digits = (0..count(1)).map(Self::Digit);
        let steps = (0..LOG2_DEGREE as usize).map(Self::Galois);
        bits.chain(digits).chain(steps).chain([Self::Square, Self::RingSwitch]).collect()
    }

    /// Source of its masks: label, position under that label, and number of rows.
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

    /// Ring, and bits to which elements are rounded.
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
        packed_len(self.rows(chain) * params.ring().degree(), key_bits)
    }

    /// Fresh encryptions, packed.
    fn generate(self, chain: &Chain, own: &Own<'_>, seed: &Seed, rng: &mut dyn CryptoRng) -> Vec<u8> {
        let ((params, key_bits), masks) = (self.ring(chain), self.masks(chain, seed));
        let (rlwe, ring_key) = (&chain.rlwe, &own.secrets.ring);
        let bit = |which, index, gadget, rng: &mut dyn CryptoRng| {
            let bodies = |key| rotation::bodies(rlwe, ring_key, key, index, &masks, gadget, rng);
            own.short.get(which).map(bodies).unwrap_or_default()
        };
        let bodies = match self {
            Self::Bit(i) => bit(0, i, &chain.bits.gadget, rng),
            Self::Digit(i) => bit(1, i, &chain.digits.gadget, rng),
            Self::Galois(step) => galois::bodies(rlwe, ring_key, step, &masks, &chain.galois, rng),
            Self::Square => circuit::bodies(rlwe, ring_key, &masks, &chain.square, rng),
            Self::RingSwitch => {
                let (source, target) = (ring_key.coefficients(), &own.secrets.response);
                ring_switch::bodies(params, source, target, &masks, &chain.ring_switch, rng)
            }
        };
        let mut packed = Vec::with_capacity(self.packed_bytes(chain));
        pack(&round_elements(params.ring(), key_bits, bodies), key_bits, &mut packed);
        packed
    }

    /// Expands packed bodies to rows in values.
    fn expand(self, chain: &Chain, seed: &Seed, packed: &[u8]) -> Result<Rows> {
        let (params, key_bits) = self.ring(chain);
        let ring = params.ring();
        let mut reader = Reader::new(WHAT, packed);
        let words = unpack(&mut reader, WHAT, key_bits, self.rows(chain) * ring.degree())?;
        let bodies = lift_elements(ring, key_bits, &words).into_iter().map(|body| ring.forward(body));
        Ok(Rows::new(&self.masks(chain, seed), &bodies.collect::<Vec<_>>()))
    }
}

/// Secret keys during generation. The short ones are dropped afterwards.
struct Own<'a> {
    secrets: &'a Secrets,
    short: Vec<BinaryKey>,
}

impl<'a> Own<'a> {
    /// Fresh short keys.
    fn new(chain: &Chain, secrets: &'a Secrets, shorts: usize, rng: &mut dyn CryptoRng) -> Self {
        let key = |which| BinaryKey::generate(chain.short(which).switch.dimension, rng);
        Self { secrets, short: (0..shorts).map(key).collect() }
    }

    /// The bodies of the switches to the short keys, packed.
    fn switches(&self, chain: &Chain, seed: &Seed, rng: &mut dyn CryptoRng) -> Vec<u8> {
        let (mut packed, source) = (Vec::new(), self.secrets.ring.coefficients());
        for (which, key) in self.short.iter().enumerate() {
            let (short, label) = (chain.short(which), SWITCH_LABELS[which]);
            let bodies = switch_bodies(&short.switch, seed, label, source, key, &short.error, rng);
            pack(&bodies, short.switch.log2_q, &mut packed);
        }
        packed
    }

    /// Fresh encryptions of these parts, packed. Each part has a generator of its own, so that
    /// threads share the work.
    fn parts(&self, chain: &Chain, parts: Vec<Part>, seed: &Seed, rng: &mut dyn CryptoRng) -> Vec<u8> {
        let parts: Vec<_> = parts.into_iter().map(|part| (part, SecretRng::new(rng))).collect();
        let generate = |(part, mut rng): (Part, SecretRng)| part.generate(chain, self, seed, &mut rng);
        parts.into_par_iter().map(generate).collect::<Vec<_>>().concat()
    }
}

/// Labels of the switches' masks.
const SWITCH_LABELS: [&str; 2] = ["pirouette/switch-bits", "pirouette/switch-digits"];

fn switch_bytes(params: &SwitchParams) -> usize {
    packed_len(DEGREE * params.levels(), params.log2_q)
}

/// Number of ring elements in Pirouette's keys.
#[cfg(test)]
pub(super) fn elements(chain: &Chain) -> usize {
    Part::all(chain, 2).into_iter().map(|part| part.rows(chain)).sum()
}

/// The masks of all ring encryptions of the keys.
#[cfg(test)]
pub(super) fn all_masks(chain: &Chain, seed: &Seed) -> Vec<Poly<Values>> {
    let parts = Part::all(chain, 2).into_iter();
    parts.flat_map(|part| part.masks(chain, seed)).collect()
}

/// Expanded keys, as the server computes with them.
pub trait Expanded: Send + Sync + Sized + 'static {
    /// Bytes of the packed keys, envelope excluded.
    fn packed_bytes(chain: &Chain) -> usize;

    /// Fresh packed keys, without their seed.
    fn generate(chain: &Chain, secrets: &Secrets, seed: &Seed, rng: &mut dyn CryptoRng) -> Vec<u8>;

    /// Expands what [`Expanded::generate`] returned.
    ///
    /// # Errors
    /// [`Error::Malformed`] for bits that no client sends.
    fn expand(chain: &Chain, seed: &Seed, packed: &[u8]) -> Result<Self>;

    /// The part that all keys have.
    fn conversion(&self) -> &Conversion;
}

/// Keys with a number of short ones: none; one to extract an index's bits; two to make selectors as
/// well.
pub struct Evaluation<const SHORTS: usize> {
    pub(super) shorts: [ShortKey; SHORTS],
    pub(crate) conversion: Conversion,
}

impl<const SHORTS: usize> Evaluation<SHORTS> {
    /// Bytes in the server's memory: expanded and packed.
    pub(crate) fn server_bytes(chain: &Chain) -> usize {
        let switch = |which| SwitchKey::bytes(&chain.short(which).switch, DEGREE);
        let rows = |part: Part| Rows::bytes(part.ring(chain).0.ring().degree(), part.rows(chain));
        let expanded: usize = Part::all(chain, SHORTS).into_iter().map(rows).sum();
        (0..SHORTS).map(switch).sum::<usize>() + expanded + Self::packed_bytes(chain)
    }
}

impl<const SHORTS: usize> Expanded for Evaluation<SHORTS> {
    fn packed_bytes(chain: &Chain) -> usize {
        let parts = Part::all(chain, SHORTS).into_iter().map(|part| part.packed_bytes(chain));
        let switches = (0..SHORTS).map(|which| switch_bytes(&chain.short(which).switch));
        SEED_BYTES + switches.sum::<usize>() + parts.sum::<usize>()
    }

    fn generate(chain: &Chain, secrets: &Secrets, seed: &Seed, rng: &mut dyn CryptoRng) -> Vec<u8> {
        let own = Own::new(chain, secrets, SHORTS, rng);
        let mut packed = own.switches(chain, seed, rng);
        packed.append(&mut own.parts(chain, Part::all(chain, SHORTS), seed, rng));
        packed
    }

    fn expand(chain: &Chain, seed: &Seed, packed: &[u8]) -> Result<Self> {
        let mut reader = Reader::new(WHAT, packed);
        let mut switches = Vec::with_capacity(SHORTS);
        for (which, label) in SWITCH_LABELS.into_iter().enumerate().take(SHORTS) {
            let params = chain.short(which).switch;
            let bodies = unpack_u32(&mut reader, WHAT, params.log2_q, DEGREE * params.levels())?;
            switches.push(SwitchKey::new(params, seed, label, &bodies));
        }
        let mut rows = expand_parts(chain, Part::all(chain, SHORTS), seed, reader)?.into_iter();
        let short = |(which, switch)| {
            let short = chain.short(which);
            let bits = rows.by_ref().take(short.switch.dimension).collect();
            ShortKey { switch, rotation: RotationKey::new(bits, short.gadget.clone()) }
        };
        let shorts: Vec<_> = switches.into_iter().enumerate().map(short).collect();
        let (count, conversion) = (shorts.len(), Conversion::new(chain, rows.collect()));
        let shorts =
            shorts.try_into().map_err(|_| Error::malformed(WHAT, format!("{count} short keys"), SHORTS))?;
        Ok(Self { shorts, conversion })
    }

    fn conversion(&self) -> &Conversion {
        &self.conversion
    }
}

/// Packed keys, and their expansion: made when a server accepts them, or at the first use of fresh
/// ones.
pub struct Keys<E> {
    packed: Vec<u8>,
    expanded: OnceLock<Result<E, String>>,
}

impl<E: Expanded> Keys<E> {
    /// Fresh keys for a client's secrets, under masks from a public seed.
    pub(crate) fn generate(chain: &Chain, secrets: &Secrets, seed: Seed, rng: &mut dyn CryptoRng) -> Self {
        let mut packed = Vec::with_capacity(E::packed_bytes(chain));
        packed.extend_from_slice(&seed.0);
        packed.append(&mut E::generate(chain, secrets, &seed, rng));
        Self { packed, expanded: OnceLock::new() }
    }

    /// The expanded keys.
    ///
    /// # Errors
    /// [`Error::Malformed`] for bits that no client sends.
    pub(crate) fn expanded(&self, chain: &Chain) -> Result<&E> {
        let make = || {
            let (seed, packed) = self.packed.split_first_chunk().ok_or("no seed")?;
            E::expand(chain, &Seed(*seed), packed).map_err(|error| error.to_string())
        };
        let made = self.expanded.get_or_init(make);
        made.as_ref().map_err(|found| Error::malformed(WHAT, found, "valid keys"))
    }
}

impl<P: RetrievalParams, E: Expanded> Wire<P> for Keys<E> {
    fn encode(&self, _params: &P) -> Vec<u8> {
        self.packed.clone()
    }

    fn decode(params: &P, bytes: &[u8]) -> Result<Self> {
        Error::check_length(WHAT, bytes.len(), E::packed_bytes(params.chain()))?;
        let keys = Self { packed: bytes.to_vec(), expanded: OnceLock::new() };
        keys.expanded(params.chain())?;
        Ok(keys)
    }
}

/// The switch to a short key and the rotation by it.
pub struct ShortKey {
    pub(super) switch: SwitchKey,
    pub(super) rotation: RotationKey,
}

/// Keys that turn coefficients into gates and selectors, and items into answers.
pub struct Conversion {
    /// For traces and expansions.
    pub(crate) galois: GaloisKeys,
    /// For gates.
    pub(crate) square: SquareKey,
    /// For the switch to the response ring.
    pub(crate) ring_switch: RingSwitchKey,
}

impl Conversion {
    /// Keys from the rows of their parts, in order.
    fn new(chain: &Chain, mut rows: Vec<Rows>) -> Self {
        let mut last = || rows.pop().unwrap_or_default();
        let (ring_switch, square) = (last(), last());
        Self {
            galois: GaloisKeys::new(rows, chain.galois.clone()),
            square: SquareKey::new(square, chain.square.clone()),
            ring_switch: RingSwitchKey::new(ring_switch, chain.ring_switch.clone()),
        }
    }
}

/// Expands consecutive parts.
fn expand_parts(chain: &Chain, parts: Vec<Part>, seed: &Seed, mut reader: Reader<'_>) -> Result<Vec<Rows>> {
    let place = |part: Part| Ok((part, reader.raw(part.packed_bytes(chain))?));
    let places = parts.into_iter().map(place).collect::<Result<Vec<_>>>()?;
    places.into_par_iter().map(|(part, bytes)| part.expand(chain, seed, bytes)).collect()
}
