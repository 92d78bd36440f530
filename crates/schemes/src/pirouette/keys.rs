//! Secrets of a client, and the evaluation keys that it uploads.
//!
//! ```text
//! state    the ring's key (2048), the response ring's (1024): a coefficient a byte, signed
//! keys     seed (32), switch to the key for bits, switch to the key for digits,
//!          RGSW(bits of the key for bits), RGSW(bits of the key for digits),
//!          automorphisms, s², switch to the response ring
//! ```
//! Encryptions are sent as bodies in coefficients, rounded and packed. Masks are expanded from the
//! seed.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use papir_core::codec::Reader;
use papir_core::scheme::Wire;
use papir_core::{Error, Result, parallel};
use papir_kernels::bits::packed_len;
use papir_lattice::bootstrap::circuit::{self, SquareKey};
use papir_lattice::bootstrap::galois::{self, GaloisKeys};
use papir_lattice::bootstrap::lwe::{BinaryKey, SwitchKey, SwitchParams, switch_bodies};
use papir_lattice::bootstrap::ring_switch::{self, RingSwitchKey};
use papir_lattice::bootstrap::rotation::{self, RotationKey};
use papir_lattice::key_switch::masks_from;
use papir_lattice::mod_switch::{lift_elements, round_elements};
use papir_lattice::wide::{RlweParams, Rows, SecretKey};
use papir_ring::prg::{SecretRng, Seed};
use papir_ring::wide::Poly;
use papir_ring::{CyclotomicRing, Values};
use rand_core::CryptoRng;
use zeroize::Zeroizing;

use super::chain::{
    Chain, DEGREE, KEY_BITS, LOG2_DEGREE, RESPONSE_DEGREE, RESPONSE_KEY_BITS, RESPONSE_WEIGHT,
};
use super::common::RetrievalParams;
use super::recent::Recent;
use crate::shared::messages::{SEED_BYTES, pack, unpack, unpack_u32};

/// Names of the state and the keys in errors.
const STATE: &str = "pirouette's client state";
const WHAT: &str = "evaluation keys";
/// Number of parts into which the ring's key is cut for the switch to the response ring.
const RING_PARTS: usize = DEGREE / RESPONSE_DEGREE;

/// Long-term secrets of a client: the ring's key, under which queries are encrypted, and the
/// response ring's key.
pub struct Secrets {
    pub(crate) ring: SecretKey,
    pub(crate) response: SecretKey,
}

/// State of a registered client.
pub struct State(pub(super) Arc<Secrets>);

impl State {
    /// Generates fresh secrets. `kept` is the state of an earlier registration.
    pub(crate) fn generate<P: RetrievalParams>(
        params: &P,
        kept: Option<&Self>,
        rng: &mut dyn CryptoRng,
    ) -> Result<Self> {
        let ring = params.ring_key(kept.map(|kept| &kept.0.ring), rng)?;
        let response = SecretKey::generate_light(&params.chain().response, RESPONSE_WEIGHT, rng);
        Ok(Self(Arc::new(Secrets { ring, response })))
    }
}

impl<P: RetrievalParams> Wire<P> for State {
    fn encode(&self, _params: &P) -> Vec<u8> {
        let keys = [&self.0.ring, &self.0.response];

        // The final length: growing would leave copies of the keys behind.
        let mut bytes = Vec::with_capacity(DEGREE + RESPONSE_DEGREE);
        bytes.extend(
            keys.into_iter()
                .flat_map(SecretKey::coefficients)
                .map(|&c| c as i8 as u8),
        );
        bytes
    }

    fn decode(params: &P, bytes: &[u8]) -> Result<Self> {
        Error::check_length(STATE, bytes.len(), DEGREE + RESPONSE_DEGREE)?;
        let (ring, response) = bytes.split_at(DEGREE);
        let chain = params.chain();

        let bound = chain.response.error().bound();
        if !(within(ring, 1) && within(response, bound)) {
            let found = "a coefficient outside of its key's range";
            let expected = format!("a ternary key, and one of coefficients up to {bound}");
            return Err(Error::malformed(STATE, found, expected));
        }

        Ok(Self(Arc::new(Secrets {
            ring: SecretKey::from_coefficients(&chain.rlwe, coefficients(ring)),
            response: SecretKey::from_coefficients(&chain.response, coefficients(response)),
        })))
    }
}

/// Reads the coefficients of a key, one from each byte.
fn coefficients(bytes: &[u8]) -> Zeroizing<Vec<i32>> {
    Zeroizing::new(bytes.iter().map(|&c| i32::from(c as i8)).collect())
}

/// Returns true if the absolute values of all coefficients are at most `bound`.
fn within(bytes: &[u8], bound: i32) -> bool {
    bytes.iter().all(|&c| i32::from(c as i8).abs() <= bound)
}

/// A group of ring encryptions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyPart {
    Bit(usize),
    Digit(usize),
    Galois(usize),
    Square,
    RingSwitch,
}

/// Source of a part's masks.
struct MaskSource {
    label: &'static str,
    /// Position of the masks under the label.
    position: usize,
    /// Number of masks.
    rows: usize,
}

impl KeyPart {
    /// Returns all parts of keys with `shorts` short keys, in the order of their bytes.
    pub(super) fn all(chain: &Chain, shorts: usize) -> Vec<Self> {
        let [bits, digits] = [0, 1].map(|which| {
            if which < shorts {
                chain.short(which).switch.dimension
            } else {
                0
            }
        });

        let bits = (0..bits).map(Self::Bit);
        let digits = (0..digits).map(Self::Digit);
        let steps = (0..LOG2_DEGREE as usize).map(Self::Galois);
        bits.chain(digits)
            .chain(steps)
            .chain([Self::Square, Self::RingSwitch])
            .collect()
    }

    /// Returns the source of the part's masks.
    fn mask_source(self, chain: &Chain) -> MaskSource {
        let (label, position, rows) = match self {
            Self::Bit(i) => ("pirouette/rotation-bits", i, 2 * chain.bits.gadget.levels()),
            Self::Digit(i) => {
                let rows = 2 * chain.digits.gadget.levels();
                ("pirouette/rotation-digits", i, rows)
            }
            Self::Galois(step) => ("pirouette/automorphism", step, chain.conversion.levels()),
            Self::Square => ("pirouette/square", 0, chain.conversion.levels()),
            Self::RingSwitch => {
                let rows = RING_PARTS * chain.ring_switch.levels();
                ("pirouette/ring-switch", 0, rows)
            }
        };

        MaskSource {
            label,
            position,
            rows,
        }
    }

    pub(super) fn rows(self, chain: &Chain) -> usize {
        self.mask_source(chain).rows
    }

    /// Returns the part's ring, and the number of bits to which elements are rounded.
    fn ring(self, chain: &Chain) -> (&RlweParams, u32) {
        match self {
            Self::RingSwitch => (&chain.response, RESPONSE_KEY_BITS),
            _ => (&chain.rlwe, KEY_BITS),
        }
    }

    pub(super) fn masks(self, chain: &Chain, seed: &Seed) -> Vec<Poly<Values>> {
        let MaskSource {
            label,
            position,
            rows,
        } = self.mask_source(chain);

        masks_from(
            self.ring(chain).0.ring(),
            seed,
            label,
            position * rows..(position + 1) * rows,
        )
    }

    fn packed_bytes(self, chain: &Chain) -> usize {
        let (params, key_bits) = self.ring(chain);
        packed_len(self.rows(chain) * params.ring().degree(), key_bits)
    }

    /// Generates fresh encryptions, packed.
    fn generate(
        self,
        chain: &Chain,
        own: &Own<'_>,
        seed: &Seed,
        rng: &mut dyn CryptoRng,
    ) -> Vec<u8> {
        let (params, key_bits) = self.ring(chain);
        let masks = self.masks(chain, seed);
        let rlwe = &chain.rlwe;
        let ring_key = &own.secrets.ring;

        let bodies = match self {
            Self::Bit(i) => own.rotation_bodies(chain, 0, i, &masks, rng),
            Self::Digit(i) => own.rotation_bodies(chain, 1, i, &masks, rng),
            Self::Galois(step) => {
                galois::bodies(rlwe, ring_key, step, &masks, &chain.conversion, rng)
            }
            Self::Square => circuit::bodies(rlwe, ring_key, &masks, &chain.conversion, rng),
            Self::RingSwitch => {
                let source = ring_key.coefficients();
                let target = &own.secrets.response;
                ring_switch::bodies(params, source, target, &masks, &chain.ring_switch, rng)
            }
        };

        let mut packed = Vec::with_capacity(self.packed_bytes(chain));
        pack(
            &round_elements(params.ring(), key_bits, bodies),
            key_bits,
            &mut packed,
        );
        packed
    }

    /// Expands packed bodies to rows in values.
    fn expand(self, chain: &Chain, seed: &Seed, packed: &[u8]) -> Result<Rows> {
        let (params, key_bits) = self.ring(chain);
        let ring = params.ring();

        let count = self.rows(chain) * ring.degree();
        let words = unpack(&mut Reader::new(WHAT, packed), WHAT, key_bits, count)?;

        let bodies: Vec<Poly<Values>> = lift_elements(ring, key_bits, &words)
            .into_iter()
            .map(|body| ring.forward(body))
            .collect();
        Ok(Rows::new(ring, &self.masks(chain, seed), &bodies))
    }
}

/// Secret keys while evaluation keys are generated. The short keys are dropped afterwards.
struct Own<'a> {
    secrets: &'a Secrets,
    short: Vec<BinaryKey>,
}

impl Own<'_> {
    /// Returns the bodies of RGSW(bit `index` of a short key). `which` is the key for bits (0) or
    /// for digits (1). Without that key there are no bodies.
    fn rotation_bodies(
        &self,
        chain: &Chain,
        which: usize,
        index: usize,
        masks: &[Poly<Values>],
        rng: &mut dyn CryptoRng,
    ) -> Vec<Poly<Values>> {
        let Some(key) = self.short.get(which) else {
            return Vec::new();
        };

        let ring_key = &self.secrets.ring;
        let gadget = &chain.short(which).gadget;
        rotation::bodies(&chain.rlwe, ring_key, key, index, masks, gadget, rng)
    }
}

/// Labels of the switches' masks.
const SWITCH_LABELS: [&str; 2] = ["pirouette/switch-bits", "pirouette/switch-digits"];

/// Returns the bytes of packed keys with `shorts` short keys, without the envelope.
pub(crate) fn packed_bytes(chain: &Chain, shorts: usize) -> usize {
    let switches = (0..shorts).map(|which| packed_switch_bytes(&chain.short(which).switch));
    let parts = KeyPart::all(chain, shorts)
        .into_iter()
        .map(|part| part.packed_bytes(chain));

    SEED_BYTES + switches.sum::<usize>() + parts.sum::<usize>()
}

/// Returns the bytes of a packed switch to a short key.
fn packed_switch_bytes(params: &SwitchParams) -> usize {
    packed_len(DEGREE * params.levels(), params.log2_q)
}

/// Returns the bytes of expanded keys with `shorts` short keys, in the form with which a server
/// computes.
pub(crate) fn expanded_bytes(chain: &Chain, shorts: usize) -> usize {
    let switches = (0..shorts).map(|which| SwitchKey::bytes(&chain.short(which).switch, DEGREE));
    let parts = KeyPart::all(chain, shorts)
        .into_iter()
        .map(|part| Rows::bytes(part.ring(chain).0.ring(), part.rows(chain)));

    switches.sum::<usize>() + parts.sum::<usize>()
}

/// A short key for the server: the switch to it, and the rotation by it.
pub(super) struct ShortKey {
    pub(super) switch: SwitchKey,
    pub(super) rotation: RotationKey,
}

/// Expanded keys, in the form with which a server computes.
pub struct Evaluation {
    /// Short keys for bits and for digits, if the scheme uses them.
    pub(super) shorts: Vec<ShortKey>,
    /// Keys for traces and expansions.
    pub(super) galois: GaloisKeys,
    /// Key for gates.
    pub(super) square: SquareKey,
    /// Key for the switch to the response ring.
    pub(super) ring_switch: Arc<RingSwitchKey>,
}

impl Evaluation {
    /// Expands packed keys with `shorts` short keys.
    fn expand(chain: &Chain, shorts: usize, packed: &[u8]) -> Result<Self> {
        Error::check_length(WHAT, packed.len(), packed_bytes(chain, shorts))?;
        let mut reader = Reader::new(WHAT, packed);
        let seed = Seed(reader.array()?);
        let switches = read_switches(chain, shorts, &seed, &mut reader)?;

        let mut places = Vec::new();
        for part in KeyPart::all(chain, shorts) {
            places.push((part, reader.raw(part.packed_bytes(chain))?));
        }
        let mut rows = parallel::try_map(places, |(part, bytes)| part.expand(chain, &seed, bytes))?;

        // Rows are in the order of the parts, whose last two are these.
        let ring_switch = rows.pop().unwrap_or_default();
        let square = rows.pop().unwrap_or_default();

        let mut rows = rows.into_iter();
        let mut short_keys = Vec::with_capacity(shorts);
        for (which, switch) in switches.into_iter().enumerate() {
            let short = chain.short(which);
            let bits = rows.by_ref().take(short.switch.dimension).collect();
            let rotation = RotationKey::new(bits, short.gadget.clone());
            short_keys.push(ShortKey { switch, rotation });
        }

        Ok(Self {
            shorts: short_keys,
            galois: GaloisKeys::new(rows.collect(), chain.conversion.clone()),
            square: SquareKey::new(square, chain.conversion.clone()),
            ring_switch: Arc::new(RingSwitchKey::new(ring_switch, chain.ring_switch.clone())),
        })
    }
}

/// Reads the switches to the short keys.
fn read_switches(
    chain: &Chain,
    shorts: usize,
    seed: &Seed,
    reader: &mut Reader<'_>,
) -> Result<Vec<SwitchKey>> {
    let mut switches = Vec::with_capacity(shorts);
    for (which, label) in SWITCH_LABELS.into_iter().enumerate().take(shorts) {
        let params = chain.short(which).switch;
        let bodies = unpack_u32(reader, WHAT, params.log2_q, DEGREE * params.levels())?;
        switches.push(SwitchKey::new(params, seed, label, &bodies));
    }

    Ok(switches)
}

/// Expanded keys of the clients that queried last, of all databases of a process.
static RECENT: Recent<Evaluation> = Recent::new(2 << 30);

/// Keys as a client sends them. Their expansion is kept while the client is among the clients that
/// queried last.
pub struct Keys {
    packed: Vec<u8>,
    expanded: Mutex<Weak<Evaluation>>,
}

impl Keys {
    /// Generates fresh keys for a client's secrets, under masks from a public seed.
    pub(super) fn generate<P: RetrievalParams>(
        params: &P,
        secrets: &Secrets,
        seed: Seed,
        rng: &mut dyn CryptoRng,
    ) -> Self {
        let chain = params.chain();
        let source = secrets.ring.coefficients();
        let own = Own {
            secrets,
            short: (0..P::SHORTS)
                .map(|which| BinaryKey::generate(chain.short(which).switch.dimension, rng))
                .collect(),
        };

        let mut packed = Vec::with_capacity(packed_bytes(chain, P::SHORTS));
        packed.extend_from_slice(&seed.0);
        for (which, key) in own.short.iter().enumerate() {
            let short = chain.short(which);
            let label = SWITCH_LABELS[which];
            let bodies = switch_bodies(&short.switch, &seed, label, source, key, &short.error, rng);
            pack(&bodies, short.switch.log2_q, &mut packed);
        }

        // Each part has a generator of its own, so that threads share the work.
        let mut parts: Vec<_> = KeyPart::all(chain, P::SHORTS)
            .into_iter()
            .map(|part| (part, SecretRng::new(rng)))
            .collect();
        let bodies = parallel::map(&mut parts, |(part, rng)| {
            part.generate(chain, &own, &seed, rng)
        });
        packed.append(&mut bodies.concat());

        Self::of(packed)
    }

    pub(super) fn of(packed: Vec<u8>) -> Self {
        Self {
            packed,
            expanded: Mutex::new(Weak::new()),
        }
    }

    pub(super) fn place(&self) -> MutexGuard<'_, Weak<Evaluation>> {
        self.expanded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of clients whose expanded keys are in memory together.
    pub(super) fn clients_together<P: RetrievalParams>(params: &P) -> usize {
        RECENT.room(expanded_bytes(params.chain(), P::SHORTS))
    }

    /// Splits a batch into parts of at most `clients` clients each, in order.
    pub(super) fn parts<'a, 'b, Q>(
        batch: &'b [(&'a Self, Q)],
        clients: usize,
    ) -> Vec<&'b [(&'a Self, Q)]> {
        let mut parts = Vec::new();
        let mut rest = batch;

        while !rest.is_empty() {
            let mut seen: Vec<*const Self> = Vec::new();
            let taken = rest.iter().take_while(|(keys, _)| {
                if !seen.contains(&std::ptr::from_ref(*keys)) {
                    seen.push(*keys);
                }
                seen.len() <= clients
            });

            let (part, later) = rest.split_at(taken.count());
            parts.push(part);
            rest = later;
        }

        parts
    }

    /// Returns the expanded keys, which were kept or are expanded now.
    pub(super) fn expanded<P: RetrievalParams>(&self, params: &P) -> Result<Arc<Evaluation>> {
        let kept = self.place().upgrade();

        // Without the lock: a thread that waits for others in the expansion may meanwhile answer
        // another query of the same client.
        let keys = match kept {
            Some(keys) => keys,
            None => Arc::new(Evaluation::expand(params.chain(), P::SHORTS, &self.packed)?),
        };

        *self.place() = Arc::downgrade(&keys);
        RECENT.touch(&keys, expanded_bytes(params.chain(), P::SHORTS));
        Ok(keys)
    }
}

impl<P: RetrievalParams> Wire<P> for Keys {
    fn encode(&self, _params: &P) -> Vec<u8> {
        self.packed.clone()
    }

    fn decode(params: &P, bytes: &[u8]) -> Result<Self> {
        Error::check_length(WHAT, bytes.len(), packed_bytes(params.chain(), P::SHORTS))?;
        Ok(Self::of(bytes.to_vec()))
    }
}
