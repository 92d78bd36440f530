//! The interface of all packings.

use std::sync::{Mutex, MutexGuard, PoisonError};

use bytemuck::Pod;
use papir_kernels::galois;
use papir_ring::prg::Seed;
use papir_ring::{Coefficients, CyclotomicRing, Poly, Values};
use rand_core::CryptoRng;
use rayon::prelude::*;
use zeroize::Zeroizing;

use super::bodies::Bodies;
use super::error::{PackingError, check_count};
use super::key::{KeyBodies, OnlineKey, RoundedKey, RoundedMatrix, Setup, SwitchMasks};
use super::key_shape::KeyShape;
use super::lwe_masks::LweMasks;
use crate::gadget::{Gadget, GadgetParams};
use crate::key_switch;
use crate::noise::Setting;
use crate::params::RlweParams;
use crate::secret::SecretKey;

/// Offline data of one pack besides its words.
#[derive(Clone, Debug)]
pub struct Preprocessed {
    /// Mask of the packed encryption, d coefficients.
    pub a: Poly<Coefficients>,
    /// Digits of the last step, which multiply y_h: ℓ ring elements for InspiRING, none otherwise.
    pub last: Vec<Poly<Values>>,
}

/// Reusable buffers for preparing packs, shared between threads.
#[derive(Debug, Default)]
pub struct Scratch {
    free: Mutex<Vec<Vec<i32>>>,
}

impl Scratch {
    /// Calls `work` with a buffer of this length and arbitrary content.
    pub(super) fn with<T>(&self, length: usize, work: impl FnOnce(&mut [i32]) -> T) -> T {
        // Not locked during the work: other threads take buffers meanwhile.
        let mut buffer = self.free().pop().unwrap_or_default();
        buffer.resize(length, 0);
        let result = work(&mut buffer);
        self.free().push(buffer);
        result
    }

    fn free(&self) -> MutexGuard<'_, Vec<Vec<i32>>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A packing of LWE encryptions into RLWE encryptions under masks fixed in advance.
///
/// Offline work produces words in *units* of [`RingPacking::unit_words`]. A unit holds
/// [`RingPacking::slots`] packs, several if a pack has fewer rows than a kernel processes. The
/// packs of one database are contiguous and share one pass and one key.
pub trait RingPacking: Sized + Send + Sync {
    /// Name in keys and messages.
    const NAME: &'static str;
    /// Word of the offline data.
    type Word: Pod + Send + Sync;
    /// A client's key, expanded for the online part.
    type Expanded: Send + Sync;

    /// Creates a packing with packs of `capacity`; the masks of all keys are expanded from a public
    /// seed.
    ///
    /// A secret must encrypt only one key for each (seed, packing, capacity): a second key would
    /// reuse its masks.
    ///
    /// # Errors
    /// [`PackingError::Capacity`], [`PackingError::Entries`].
    fn new(
        params: &RlweParams,
        gadget: &Gadget,
        capacity: usize,
        seed: &Seed,
    ) -> Result<Self, PackingError>;

    /// Ring, gadget and masks.
    fn setup(&self) -> &Setup;

    /// Packs in a unit.
    fn slots(&self) -> usize;

    /// Words of a unit.
    fn unit_words(&self) -> usize;

    /// Ring elements of [`Preprocessed::last`] for each pack.
    fn last_elements(&self) -> usize {
        0
    }

    /// [`RingPacking::prepare`] after its checks.
    fn prepare_slot(
        &self,
        lwe: LweMasks,
        slot: usize,
        unit: &mut [Self::Word],
        scratch: &Scratch,
    ) -> Preprocessed;

    /// [`RingPacking::online_key`] after its checks.
    fn expand(&self, matrices: &[RoundedMatrix<'_>]) -> Self::Expanded;

    /// [`RingPacking::pack`] after its checks; `last` holds [`Preprocessed::last`] of all packs.
    fn apply(
        &self,
        words: &[Self::Word],
        packs: usize,
        last: &[&[Poly<Values>]],
        keys: &[&Self::Expanded],
    ) -> Vec<Bodies>;

    /// Returns a bound on the variance that packing adds to a coefficient, in units of q.
    fn variance(setting: &Setting, gadget: GadgetParams, capacity: usize) -> f64;

    /// Shape of its keys.
    fn shape(&self) -> KeyShape {
        self.setup().shape()
    }

    /// LWE encryptions in one pack.
    fn capacity(&self) -> usize {
        self.shape().capacity
    }

    /// Words of `packs` packs.
    fn words(&self, packs: usize) -> usize {
        packs.div_ceil(self.slots()) * self.unit_words()
    }

    /// Generates a key for a secret, on the client (GENKSMATY of Algorithm 8 with the sign of
    /// KS.Setup, for each matrix).
    fn generate_key(&self, secret: &SecretKey, rng: &mut dyn CryptoRng) -> KeyBodies {
        let setup = self.setup();
        let ring = self.setup().ring();
        let mut elements = Vec::with_capacity(self.shape().elements());

        for SwitchMasks { exponent, masks } in setup.switches() {
            let permutation = galois::permutation(ring.degree(), *exponent);
            let image = Zeroizing::new(ring.permute(secret.values(), &permutation));
            elements.extend(key_switch::generate(
                setup.params(),
                secret,
                &image,
                masks,
                setup.gadget(),
                rng,
            ));
        }

        KeyBodies::generated(self.shape(), elements)
    }

    /// Offline: prepares one pack in a slot of a unit from its masks; other slots are left
    /// unchanged.
    ///
    /// # Errors
    /// [`PackingError::Count`] for wrong numbers of masks or words, [`PackingError::Slot`] for a
    /// slot outside the unit.
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
            return Err(PackingError::Slot {
                found: slot,
                slots: self.slots(),
            });
        }

        Ok(self.prepare_slot(lwe, slot, unit, scratch))
    }

    /// Offline: [`RingPacking::prepare`] for the masks 0 to `packs`, units in parallel.
    ///
    /// # Errors
    /// The errors of [`RingPacking::prepare`], and [`PackingError::Count`] if the words are of
    /// another number of packs.
    fn prepare_all(
        &self,
        packs: usize,
        masks: impl Fn(usize) -> LweMasks + Sync,
        words: &mut [Self::Word],
    ) -> Result<Vec<Preprocessed>, PackingError> {
        let prepared = self.prepare_where(packs, |_| true, masks, words)?;
        Ok(prepared.into_iter().flatten().collect())
    }

    /// [`RingPacking::prepare_all`] for the wanted packs only; the words of others are left
    /// unchanged.
    ///
    /// # Errors
    /// The errors of [`RingPacking::prepare_all`].
    fn prepare_where(
        &self,
        packs: usize,
        wanted: impl Fn(usize) -> bool + Sync,
        masks: impl Fn(usize) -> LweMasks + Sync,
        words: &mut [Self::Word],
    ) -> Result<Vec<Option<Preprocessed>>, PackingError> {
        check_count("words of all packs", words.len(), self.words(packs))?;
        let slots = self.slots();
        let scratch = Scratch::default();

        // Packs of a unit interleave in its row groups, so units are the smallest parallel parts.
        let units = words
            .par_chunks_exact_mut(self.unit_words())
            .enumerate()
            .map(|(i, unit)| -> Result<Vec<_>, PackingError> {
                let first = i * slots;
                let mut prepared = Vec::with_capacity(slots);
                for pack in first..packs.min(first + slots) {
                    if wanted(pack) {
                        let one = self.prepare(masks(pack), pack - first, unit, &scratch)?;
                        prepared.push(Some(one));
                    } else {
                        prepared.push(None);
                    }
                }
                Ok(prepared)
            });
        let prepared = units.collect::<Result<Vec<_>, PackingError>>()?;
        Ok(prepared.into_iter().flatten().collect())
    }

    /// Expands a received key for packing.
    ///
    /// # Errors
    /// [`PackingError::Key`] if the key is for another packing or another γ.
    fn online_key(&self, key: &RoundedKey<'_>) -> Result<OnlineKey<Self::Expanded>, PackingError> {
        let found = key.shape();
        let expected = self.shape();
        if found != expected {
            return Err(PackingError::Key { found, expected });
        }

        Ok(OnlineKey {
            shape: found,
            key: self.expand(key.matrices()),
        })
    }

    /// Online: returns, for each key, the term that packing adds to the bodies of all packs.
    ///
    /// `words` holds the units of all packs; the keys share one pass over them.
    ///
    /// # Errors
    /// [`PackingError::Count`] if the words are of another number of packs, [`PackingError::Key`].
    fn pack(
        &self,
        words: &[Self::Word],
        packs: &[&Preprocessed],
        keys: &[&OnlineKey<Self::Expanded>],
    ) -> Result<Vec<Bodies>, PackingError> {
        let last: Vec<&[Poly<Values>]> = packs.iter().map(|pack| &pack.last[..]).collect();
        self.pack_words(words, packs.len(), &last, keys)
    }

    /// [`RingPacking::pack`] from words and last digits. Packings without last digits ignore
    /// `last`.
    ///
    /// # Errors
    /// The errors of [`RingPacking::pack`], and [`PackingError::Count`] if the last digits are of
    /// another number of packs.
    fn pack_words(
        &self,
        words: &[Self::Word],
        packs: usize,
        last: &[&[Poly<Values>]],
        keys: &[&OnlineKey<Self::Expanded>],
    ) -> Result<Vec<Bodies>, PackingError> {
        check_count("words of all packs", words.len(), self.words(packs))?;
        let keys = self.checked(packs, last, keys)?;
        Ok(self.apply(words, packs, last, &keys))
    }

    /// The keys, after the checks of [`RingPacking::pack_words`] on keys and last digits.
    ///
    /// # Errors
    /// The errors of [`RingPacking::pack_words`].
    fn checked<'a>(
        &self,
        packs: usize,
        last: &[&[Poly<Values>]],
        keys: &[&'a OnlineKey<Self::Expanded>],
    ) -> Result<Vec<&'a Self::Expanded>, PackingError> {
        if self.last_elements() > 0 {
            check_count("last digits of packs", last.len(), packs)?;
        }

        let expected = self.shape();
        if let Some(key) = keys.iter().find(|key| key.shape != expected) {
            return Err(PackingError::Key {
                found: key.shape,
                expected,
            });
        }

        Ok(keys.iter().map(|key| &key.key).collect())
    }

    /// [`RingPacking::pack_words`] with the LWE bodies added: returns the packed bodies for each
    /// key.
    ///
    /// # Errors
    /// The errors of [`RingPacking::pack_words`].
    fn pack_bodies(
        &self,
        words: &[Self::Word],
        last: &[&[Poly<Values>]],
        bodies: Vec<Bodies>,
        keys: &[&OnlineKey<Self::Expanded>],
    ) -> Result<Vec<Bodies>, PackingError> {
        let Some(packs) = bodies.first().map(Bodies::packs) else {
            return Ok(Vec::new());
        };
        let added = self.pack_words(words, packs, last, keys)?;
        Ok(self.added(bodies, &added))
    }

    /// The LWE bodies plus the term of packing, for each key.
    fn added(&self, mut bodies: Vec<Bodies>, terms: &[Bodies]) -> Vec<Bodies> {
        bodies
            .iter_mut()
            .zip(terms)
            .for_each(|(bodies, term)| bodies.add_assign(self.setup().ring(), term));
        bodies
    }
}
