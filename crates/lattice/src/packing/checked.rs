//! Packing with any algorithm: keys, checks, and the loop over packs.

use papir_kernels::galois;
use papir_ring::prg::Seed;
use papir_ring::{CyclotomicRing, Poly, Values};
use rand_core::CryptoRng;
use rayon::prelude::*;
use zeroize::Zeroizing;

use super::bodies::Bodies;
use super::error::{PackingError, check_count};
use super::key::{KeyBodies, OnlineKey, RoundedKey, Setup, SwitchMasks};
use super::key_shape::KeyShape;
use super::lwe_masks::LweMasks;
use super::ring_packing::{Preprocessed, RingPacking, Scratch};
use crate::gadget::Gadget;
use crate::key_switch;
use crate::params::RlweParams;
use crate::secret::SecretKey;

/// A packing: an algorithm, and the methods that are the same for all algorithms.
#[derive(Clone, Debug)]
pub struct Packing<P> {
    pub(super) algorithm: P,
}

impl<P: RingPacking> Packing<P> {
    /// Creates a packing with packs of `capacity`; the masks of all keys are expanded from a public
    /// seed.
    ///
    /// A secret must encrypt only one key for each (seed, algorithm, capacity): a second key would
    /// reuse its masks.
    ///
    /// # Errors
    /// The errors of [`RingPacking::new`].
    pub fn new(
        params: &RlweParams,
        gadget: &Gadget,
        capacity: usize,
        seed: &Seed,
    ) -> Result<Self, PackingError> {
        let algorithm = P::new(params, gadget, capacity, seed)?;
        Ok(Self { algorithm })
    }

    /// Ring, gadget and masks.
    pub fn setup(&self) -> &Setup {
        self.algorithm.setup()
    }

    /// Shape of its keys.
    pub fn shape(&self) -> KeyShape {
        self.setup().shape()
    }

    /// LWE encryptions in one pack.
    pub fn capacity(&self) -> usize {
        self.shape().capacity
    }

    /// Packs in a unit.
    pub fn slots(&self) -> usize {
        self.algorithm.slots()
    }

    /// Words of a unit.
    pub fn unit_words(&self) -> usize {
        self.algorithm.unit_words()
    }

    /// Ring elements of [`Preprocessed::last`] for each pack.
    pub fn last_elements(&self) -> usize {
        self.algorithm.last_elements()
    }

    /// Words of `packs` packs, in whole units.
    pub fn words(&self, packs: usize) -> usize {
        packs.div_ceil(self.slots()) * self.unit_words()
    }

    /// Generates a key for a secret, on the client (GENKSMATY of Algorithm 8 with the sign of
    /// KS.Setup, for each matrix).
    pub fn generate_key(&self, secret: &SecretKey, rng: &mut dyn CryptoRng) -> KeyBodies {
        let setup = self.setup();
        let ring = setup.ring();
        let mut elements = Vec::with_capacity(self.shape().elements());

        for SwitchMasks { exponent, masks } in setup.switches() {
            let permutation = galois::permutation(ring.degree(), *exponent);
            // The image tells the secret, so it is erased too.
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

    /// Offline: prepares one pack in a slot of a unit from its masks (PACK of Algorithm 1,
    /// PARTIALPACK of Algorithm 2, or PackLWEs of CDKS, on the masks); other slots are left
    /// unchanged.
    ///
    /// # Errors
    /// [`PackingError::Count`] for wrong numbers of masks or words, [`PackingError::Slot`] for a
    /// slot outside the unit.
    pub fn prepare(
        &self,
        lwe: LweMasks,
        slot: usize,
        unit: &mut [P::Word],
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

        Ok(self.algorithm.prepare_slot(lwe, slot, unit, scratch))
    }

    /// Offline: [`Packing::prepare`] for the masks 0 to `packs`, units in parallel.
    ///
    /// # Errors
    /// The errors of [`Packing::prepare`], and [`PackingError::Count`] if the words are of another
    /// number of packs.
    pub fn prepare_all(
        &self,
        packs: usize,
        masks: impl Fn(usize) -> LweMasks + Sync,
        words: &mut [P::Word],
    ) -> Result<Vec<Preprocessed>, PackingError> {
        let prepared = self.prepare_where(packs, |_| true, masks, words)?;
        Ok(prepared.into_iter().flatten().collect())
    }

    /// [`Packing::prepare_all`] for the wanted packs only; the words of others are left unchanged.
    ///
    /// # Errors
    /// The errors of [`Packing::prepare_all`].
    pub fn prepare_where(
        &self,
        packs: usize,
        wanted: impl Fn(usize) -> bool + Sync,
        masks: impl Fn(usize) -> LweMasks + Sync,
        words: &mut [P::Word],
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
                // The last unit may have unused slots: there are only `packs` masks.
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
    pub fn online_key(&self, key: &RoundedKey<'_>) -> Result<OnlineKey<P::Expanded>, PackingError> {
        let shape = key.shape();
        self.check_key(shape)?;

        Ok(OnlineKey {
            shape,
            key: self.algorithm.expand(key.matrices()),
        })
    }

    /// Online: returns, for each key, the term that packing adds to the bodies of all packs (the
    /// algorithms of [`Packing::prepare`] on the bodies of the key).
    ///
    /// `words` holds the units of all packs; the keys share one pass over them.
    ///
    /// # Errors
    /// [`PackingError::Count`] if the words are of another number of packs, [`PackingError::Key`].
    pub fn pack(
        &self,
        words: &[P::Word],
        packs: &[&Preprocessed],
        keys: &[&OnlineKey<P::Expanded>],
    ) -> Result<Vec<Bodies>, PackingError> {
        let last: Vec<&[Poly<Values>]> = packs.iter().map(|pack| &pack.last[..]).collect();
        self.pack_words(words, packs.len(), &last, keys)
    }

    /// [`Packing::pack`] from words and last digits. Algorithms without last digits ignore `last`.
    ///
    /// # Errors
    /// The errors of [`Packing::pack`], and [`PackingError::Count`] if the last digits are of
    /// another number of packs.
    pub fn pack_words(
        &self,
        words: &[P::Word],
        packs: usize,
        last: &[&[Poly<Values>]],
        keys: &[&OnlineKey<P::Expanded>],
    ) -> Result<Vec<Bodies>, PackingError> {
        check_count("words of all packs", words.len(), self.words(packs))?;
        let keys = self.checked_keys(packs, last, keys)?;
        Ok(self.algorithm.apply(words, packs, last, &keys))
    }

    /// [`Packing::pack_words`] with the LWE bodies added: returns the packed bodies for each key.
    ///
    /// # Errors
    /// The errors of [`Packing::pack_words`].
    pub fn pack_bodies(
        &self,
        words: &[P::Word],
        last: &[&[Poly<Values>]],
        bodies: Vec<Bodies>,
        keys: &[&OnlineKey<P::Expanded>],
    ) -> Result<Vec<Bodies>, PackingError> {
        let Some(packs) = bodies.first().map(Bodies::packs) else {
            return Ok(Vec::new());
        };
        let added = self.pack_words(words, packs, last, keys)?;
        Ok(self.added(bodies, &added))
    }

    /// The keys, after the checks of [`Packing::pack_words`] on keys and last digits.
    pub(super) fn checked_keys<'a>(
        &self,
        packs: usize,
        last: &[&[Poly<Values>]],
        keys: &[&'a OnlineKey<P::Expanded>],
    ) -> Result<Vec<&'a P::Expanded>, PackingError> {
        if self.last_elements() > 0 {
            check_count("last digits of packs", last.len(), packs)?;
        }

        for key in keys {
            self.check_key(key.shape)?;
        }

        Ok(keys.iter().map(|key| &key.key).collect())
    }

    /// Returns [`PackingError::Key`] unless keys of this shape are for this packing.
    pub(super) fn check_key(&self, found: KeyShape) -> Result<(), PackingError> {
        let expected = self.shape();
        if found == expected {
            Ok(())
        } else {
            Err(PackingError::Key { found, expected })
        }
    }

    /// The LWE bodies plus the term of packing, for each key.
    pub(super) fn added(&self, mut bodies: Vec<Bodies>, terms: &[Bodies]) -> Vec<Bodies> {
        bodies
            .iter_mut()
            .zip(terms)
            .for_each(|(bodies, term)| bodies.add_assign(self.setup().ring(), term));
        bodies
    }
}
