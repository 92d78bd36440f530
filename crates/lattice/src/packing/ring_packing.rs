//! [`RingPacking`]: what every packing offers, with the types that they share.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use bytemuck::Pod;
use papir_kernels::galois;
use papir_kernels::pointwise::{add_assign, reduce};
use papir_ring::prg::Seed;
use papir_ring::{Coefficients, Form, Poly, Ring, Values};
use rand_core::CryptoRng;
use rayon::prelude::*;
use zeroize::Zeroizing;

use super::inspiring::MatrixError;
use super::lwe_masks::LweMasks;
use crate::gadget::{Gadget, GadgetParams};
use crate::key_switch;
use crate::mod_switch::PowerSwitch;
use crate::noise::Setting;
use crate::params::RlweParams;
use crate::secret::SecretKey;

/// What a key packs, and how: keys of different shapes are never taken for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyShape {
    /// [`RingPacking::NAME`].
    pub packing: &'static str,
    /// d.
    pub degree: usize,
    /// LWE encryptions a pack: d, or γ.
    pub capacity: usize,
    /// Key-switching matrices.
    pub matrices: usize,
    /// ℓ, ring elements a matrix.
    pub levels: usize,
}

impl KeyShape {
    /// The ring elements that a client sends.
    pub fn elements(&self) -> usize {
        self.matrices * self.levels
    }
}

impl fmt::Display for KeyShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { packing, degree, capacity, matrices, levels } = self;
        write!(f, "{packing} of {capacity} at degree {degree} with {matrices} × {levels} ring elements")
    }
}

/// Why a packing refuses.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PackingError {
    /// A number of LWE encryptions that this packing does not pack.
    #[error("{packing}: {found} encryptions a pack, expected {expected}")]
    Capacity {
        /// The packing.
        packing: &'static str,
        /// What was asked.
        found: usize,
        /// What can be.
        expected: String,
    },
    /// Sums of digits do not fit 32 bits.
    #[error("entries of the packing matrix reach {found}: expected below 2^31")]
    Entries {
        /// The bound on an entry.
        found: u64,
    },
    /// Online sums could overflow.
    #[error(transparent)]
    Matrix(#[from] MatrixError),
    /// A key of another packing, or of another γ.
    #[error("a key of {found}: expected one of {expected}")]
    Key {
        /// Whose key.
        found: KeyShape,
        /// Whose it should be.
        expected: KeyShape,
    },
    /// A slot that a unit does not have.
    #[error("slot {found} of a unit: expected one below {slots}")]
    Slot {
        /// The slot.
        found: usize,
        /// How many there are.
        slots: usize,
    },
    /// A number of things that is not what the packing takes.
    #[error("{found} {what}: expected {expected}")]
    Count {
        /// What was counted.
        what: &'static str,
        /// How many there are.
        found: usize,
        /// How many there should be.
        expected: usize,
    },
}

/// Refuses a number that is not the expected one.
pub(super) fn check_count(what: &'static str, found: usize, expected: usize) -> Result<(), PackingError> {
    if found == expected { Ok(()) } else { Err(PackingError::Count { what, found, expected }) }
}

/// The public half w of a key-switching matrix from τ_e(s) to s.
#[derive(Clone, Debug)]
pub struct SwitchMasks {
    /// e.
    pub exponent: usize,
    /// w, ℓ ring elements.
    pub masks: Vec<Poly<Values>>,
}

/// What every packing is made of: ring, gadget and the masks of its keys.
#[derive(Clone, Debug)]
pub struct Setup {
    params: RlweParams,
    gadget: Gadget,
    shape: KeyShape,
    switches: Vec<SwitchMasks>,
}

impl Setup {
    /// For packs of `capacity`, with one matrix for each exponent: its masks come from the stream of
    /// the label beside it, one label for each (packing, γ, matrix).
    pub fn new(
        packing: &'static str,
        params: &RlweParams,
        gadget: &Gadget,
        capacity: usize,
        seed: &Seed,
        switches: &[(usize, String)],
    ) -> Self {
        let ring = params.ring();
        let levels = gadget.levels();
        let shape = KeyShape { packing, degree: ring.degree(), capacity, matrices: switches.len(), levels };
        let expand = |(exponent, label): &(usize, String)| {
            let masks = key_switch::masks(ring, seed, label, levels);
            SwitchMasks { exponent: *exponent, masks }
        };
        let switches = switches.iter().map(expand).collect();
        Self { params: params.clone(), gadget: gadget.clone(), shape, switches }
    }

    /// Ring and error.
    pub fn params(&self) -> &RlweParams {
        &self.params
    }

    /// R_q.
    pub fn ring(&self) -> &Ring {
        self.params.ring()
    }

    /// The gadget of all keys.
    pub fn gadget(&self) -> &Gadget {
        &self.gadget
    }

    /// What its keys look like.
    pub fn shape(&self) -> KeyShape {
        self.shape
    }

    /// The public halves of all keys, in the order in which a client sends the other halves.
    pub fn switches(&self) -> &[SwitchMasks] {
        &self.switches
    }
}

/// The bodies y = −s·w + e + τ_e(s)·g of all matrices of a packing's key: what a client sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyBodies<F: Form> {
    shape: KeyShape,
    elements: Vec<Poly<F>>,
}

impl<F: Form> KeyBodies<F> {
    /// From what was received; `shape` is what the sender says that it is.
    ///
    /// # Errors
    /// [`PackingError::Count`] when the shape has another number of elements.
    pub fn new(shape: KeyShape, elements: Vec<Poly<F>>) -> Result<Self, PackingError> {
        check_count("ring elements of a packing key", elements.len(), shape.elements())?;
        Ok(Self { shape, elements })
    }

    /// Whose key it is.
    pub fn shape(&self) -> KeyShape {
        self.shape
    }

    /// ℓ ring elements a matrix, matrix after matrix.
    pub fn elements(&self) -> &[Poly<F>] {
        &self.elements
    }
}

impl KeyBodies<Values> {
    /// The ring elements, in the order of [`KeyBodies::elements`].
    pub fn into_elements(self) -> Vec<Poly<Values>> {
        self.elements
    }

    /// The same in coefficients, as they travel (unrounded).
    pub fn into_coefficients(self, ring: &Ring) -> KeyBodies<Coefficients> {
        let elements = self.elements.into_iter().map(|y| ring.inverse(y)).collect();
        KeyBodies { shape: self.shape, elements }
    }
}

/// A client's key as the online part uses it.
#[derive(Clone, Debug)]
pub struct OnlineKey<K> {
    shape: KeyShape,
    key: K,
}

/// What one pack keeps beside its words.
#[derive(Clone, Debug)]
pub struct Preprocessed {
    /// The mask of the packed encryption, d coefficients.
    pub a: Poly<Coefficients>,
    /// The digits of the last step, which meet y_h; ℓ ring elements for InspiRING, else none.
    pub last: Vec<Poly<Values>>,
}

/// Buffers for preparing packs: those prepared with one `Scratch`, on any thread, share its memory.
#[derive(Debug, Default)]
pub struct Scratch {
    free: Mutex<Vec<Vec<i32>>>,
}

impl Scratch {
    /// Calls `work` with a buffer of this length and any content.
    pub(super) fn with<T>(&self, length: usize, work: impl FnOnce(&mut [i32]) -> T) -> T {
        let free = || self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let mut buffer = free().pop().unwrap_or_default();
        buffer.resize(length, 0);
        let result = work(&mut buffer);
        free().push(buffer);
        result
    }
}

/// The bodies of packs: the coefficients that mean anything, pack after pack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bodies {
    capacity: usize,
    residues: [Vec<u32>; 2],
}

impl Bodies {
    /// From residues modulo both primes, `capacity` a pack.
    pub(super) fn from_residues(capacity: usize, residues: [Vec<u32>; 2]) -> Self {
        Self { capacity, residues }
    }

    /// From one ring element a pack, of which `capacity` coefficients count.
    pub(super) fn from_polys(capacity: usize, polys: &[Poly<Coefficients>]) -> Self {
        let gather =
            |i: usize| polys.iter().flat_map(|poly| poly.parts()[i][..capacity].iter().copied()).collect();
        Self { capacity, residues: [gather(0), gather(1)] }
    }

    /// The bodies of LWE encryptions, any words: of their residues modulo q.
    ///
    /// # Panics
    /// When they do not fill packs of `capacity`.
    pub fn from_words(ring: &Ring, capacity: usize, words: &[u64]) -> Self {
        assert!(words.len().is_multiple_of(capacity), "{} bodies in packs of {capacity}", words.len());
        let residues = ring.primes().map(|prime| {
            let mut residues = vec![0; words.len()];
            reduce(&mut residues, words, prime);
            residues
        });
        Self { capacity, residues }
    }

    /// From what a matrix gave for a selector, sums modulo 2^bits for each row: those of so many packs,
    /// lifted to q. Rows beyond are padding.
    ///
    /// # Panics
    /// When there are fewer rows.
    pub fn from_sums(ring: &Ring, capacity: usize, packs: usize, sums: &[u64], bits: u32) -> Self {
        let switch = PowerSwitch::new(ring.modulus(), bits);
        let words: Vec<u64> = sums[..packs * capacity].iter().map(|&sum| switch.up(sum)).collect();
        Self::from_words(ring, capacity, &words)
    }

    /// The number of packs.
    pub fn packs(&self) -> usize {
        self.residues[0].len() / self.capacity
    }

    /// `self += other`.
    ///
    /// # Panics
    /// When they are of different packs.
    pub fn add_assign(&mut self, ring: &Ring, other: &Self) {
        for ((a, b), prime) in self.residues.iter_mut().zip(&other.residues).zip(ring.primes()) {
            add_assign(a, b, prime);
        }
    }

    /// The coefficients in [0, q) of all packs.
    pub fn to_words(&self, ring: &Ring) -> Vec<u64> {
        ring.to_words(&Poly::from_residues(self.residues.concat()))
    }

    /// The body of one pack as a ring element; coefficients beyond the capacity are zero.
    pub fn poly(&self, ring: &Ring, pack: usize) -> Poly<Coefficients> {
        let mut poly = ring.zero();
        for (out, residues) in poly.parts_mut().into_iter().zip(&self.residues) {
            let range = pack * self.capacity..(pack + 1) * self.capacity;
            out[..self.capacity].copy_from_slice(&residues[range]);
        }
        poly
    }
}

/// A way to pack LWE encryptions into RLWE encryptions under masks that are fixed ahead.
///
/// What offline keeps of the packs are words, *units* of [`RingPacking::unit_words`] one after the
/// other; a unit holds [`RingPacking::slots`] packs (more than one where a pack has fewer rows than
/// a kernel takes). The packs of one database lie contiguous and share one pass and one key.
pub trait RingPacking: Sized + Send + Sync {
    /// The name in keys and messages.
    const NAME: &'static str;
    /// What offline keeps, beside [`Preprocessed`].
    type Word: Pod + Send + Sync;
    /// A client's key, expanded.
    type Expanded: Send + Sync;

    /// For packs of `capacity`, the masks of all keys expanded from a public seed.
    ///
    /// One secret encrypts one key a (seed, packing, capacity): a second would use its masks again.
    ///
    /// # Errors
    /// [`PackingError::Capacity`], [`PackingError::Entries`].
    fn new(params: &RlweParams, gadget: &Gadget, capacity: usize, seed: &Seed) -> Result<Self, PackingError>;

    /// Ring, gadget and masks.
    fn setup(&self) -> &Setup;

    /// Packs in a unit.
    fn slots(&self) -> usize;

    /// Words of a unit.
    fn unit_words(&self) -> usize;

    /// Ring elements of [`Preprocessed::last`] of a pack.
    fn last_elements(&self) -> usize {
        0
    }

    /// [`RingPacking::prepare`] after its checks.
    ///
    /// # Errors
    /// [`PackingError::Matrix`].
    fn prepare_slot(
        &self,
        lwe: LweMasks,
        slot: usize,
        unit: &mut [Self::Word],
        scratch: &Scratch,
    ) -> Result<Preprocessed, PackingError>;

    /// [`RingPacking::online_key`] after its checks.
    fn expand(&self, bodies: &[Poly<Coefficients>]) -> Self::Expanded;

    /// [`RingPacking::pack`] after its checks; `last` has [`Preprocessed::last`] of all packs.
    fn apply(
        &self,
        words: &[Self::Word],
        packs: usize,
        last: &[&[Poly<Values>]],
        keys: &[&Self::Expanded],
    ) -> Vec<Bodies>;

    /// A bound on the variance that packing adds to a coefficient, in units of q.
    fn variance(setting: &Setting, gadget: GadgetParams, capacity: usize) -> f64;

    /// What its keys look like.
    fn shape(&self) -> KeyShape {
        self.setup().shape()
    }

    /// LWE encryptions in one pack.
    fn capacity(&self) -> usize {
        self.shape().capacity
    }

    /// Words of so many packs.
    fn words(&self, packs: usize) -> usize {
        packs.div_ceil(self.slots()) * self.unit_words()
    }

    /// A fresh key for one secret: the client's part (GENKSMATY of Algorithm 8 with the sign of
    /// KS.Setup, for each matrix).
    fn generate_key(&self, secret: &SecretKey, rng: &mut dyn CryptoRng) -> KeyBodies<Values> {
        let (setup, ring) = (self.setup(), self.setup().ring());
        let mut elements = Vec::with_capacity(self.shape().elements());
        for SwitchMasks { exponent, masks } in setup.switches() {
            let permutation = galois::permutation(ring.degree(), *exponent);
            let image = Zeroizing::new(ring.permute(secret.values(), &permutation));
            elements.extend(key_switch::generate(setup.params(), secret, &image, masks, setup.gadget(), rng));
        }
        KeyBodies { shape: self.shape(), elements }
    }

    /// Offline, on masks only: prepares one pack in a slot of a unit; other slots stay as they are.
    ///
    /// # Errors
    /// [`PackingError::Count`] for masks, words or a slot that are none of this packing's, and
    /// [`PackingError::Matrix`], which random masks do not cause.
    fn prepare(
        &self,
        lwe: LweMasks,
        slot: usize,
        unit: &mut [Self::Word],
        scratch: &Scratch,
    ) -> Result<Preprocessed, PackingError> {
        check_count("LWE masks", lwe.count(), self.capacity())?;
        check_count("words of a unit", unit.len(), self.unit_words())?;
        if slot >= self.slots() {
            return Err(PackingError::Slot { found: slot, slots: self.slots() });
        }
        self.prepare_slot(lwe, slot, unit, scratch)
    }

    /// Offline for all packs: [`RingPacking::prepare`] for masks 0 to `packs`, units in parallel.
    ///
    /// # Errors
    /// As [`RingPacking::prepare`], and [`PackingError::Count`] for words of another number of packs.
    fn prepare_all(
        &self,
        packs: usize,
        masks: impl Fn(usize) -> LweMasks + Sync,
        words: &mut [Self::Word],
    ) -> Result<Vec<Preprocessed>, PackingError> {
        let prepared = self.prepare_where(packs, |_| true, masks, words)?;
        Ok(prepared.into_iter().flatten().collect())
    }

    /// [`RingPacking::prepare_all`] for the wanted packs only: the words of others stay as they are.
    ///
    /// # Errors
    /// As [`RingPacking::prepare_all`].
    fn prepare_where(
        &self,
        packs: usize,
        wanted: impl Fn(usize) -> bool + Sync,
        masks: impl Fn(usize) -> LweMasks + Sync,
        words: &mut [Self::Word],
    ) -> Result<Vec<Option<Preprocessed>>, PackingError> {
        check_count("words of all packs", words.len(), self.words(packs))?;
        let (slots, scratch) = (self.slots(), Scratch::default());
        let prepare_unit = |(i, unit): (usize, &mut [Self::Word])| {
            let first = i * slots;
            let mut prepare_one = |pack| {
                wanted(pack).then(|| self.prepare(masks(pack), pack - first, unit, &scratch)).transpose()
            };
            (first..packs.min(first + slots)).map(&mut prepare_one).collect::<Result<Vec<_>, _>>()
        };
        let units = words.par_chunks_exact_mut(self.unit_words()).enumerate().map(prepare_unit);
        Ok(units.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
    }

    /// A key as it arrived, made ready for packing.
    ///
    /// # Errors
    /// [`PackingError::Key`] for the key of another packing or another γ.
    fn online_key(&self, key: &KeyBodies<Coefficients>) -> Result<OnlineKey<Self::Expanded>, PackingError> {
        let (found, expected) = (key.shape(), self.shape());
        if found != expected {
            return Err(PackingError::Key { found, expected });
        }
        Ok(OnlineKey { shape: found, key: self.expand(key.elements()) })
    }

    /// Online: what packing adds to the bodies of all packs, for each key. `words` holds the packs'
    /// units, of which the keys share one read.
    ///
    /// # Errors
    /// [`PackingError::Count`] for words of another number of packs, [`PackingError::Key`].
    fn pack(
        &self,
        words: &[Self::Word],
        packs: &[&Preprocessed],
        keys: &[&OnlineKey<Self::Expanded>],
    ) -> Result<Vec<Bodies>, PackingError> {
        let last: Vec<&[Poly<Values>]> = packs.iter().map(|pack| &pack.last[..]).collect();
        self.pack_words(words, packs.len(), &last, keys)
    }

    /// [`RingPacking::pack`] by words and last digits; the latter may be left out by packings that have
    /// none.
    ///
    /// # Errors
    /// As [`RingPacking::pack`], and [`PackingError::Count`] for last digits of another number of packs.
    fn pack_words(
        &self,
        words: &[Self::Word],
        packs: usize,
        last: &[&[Poly<Values>]],
        keys: &[&OnlineKey<Self::Expanded>],
    ) -> Result<Vec<Bodies>, PackingError> {
        check_count("words of all packs", words.len(), self.words(packs))?;
        if self.last_elements() > 0 {
            check_count("last digits of packs", last.len(), packs)?;
        }
        let expected = self.shape();
        if let Some(key) = keys.iter().find(|key| key.shape != expected) {
            return Err(PackingError::Key { found: key.shape, expected });
        }
        let keys: Vec<&Self::Expanded> = keys.iter().map(|key| &key.key).collect();
        Ok(self.apply(words, packs, last, &keys))
    }

    /// [`RingPacking::pack_words`], and the LWE bodies added: the packed bodies of each key.
    ///
    /// # Errors
    /// As [`RingPacking::pack_words`].
    fn pack_bodies(
        &self,
        words: &[Self::Word],
        last: &[&[Poly<Values>]],
        mut bodies: Vec<Bodies>,
        keys: &[&OnlineKey<Self::Expanded>],
    ) -> Result<Vec<Bodies>, PackingError> {
        let Some(packs) = bodies.first().map(Bodies::packs) else {
            return Ok(Vec::new());
        };
        let added = self.pack_words(words, packs, last, keys)?;
        for (bodies, added) in bodies.iter_mut().zip(&added) {
            bodies.add_assign(self.setup().ring(), added);
        }
        Ok(bodies)
    }
}
