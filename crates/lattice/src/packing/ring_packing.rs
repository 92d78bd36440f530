//! The steps that a packing algorithm implements.

use std::sync::{Mutex, MutexGuard, PoisonError};

use bytemuck::Pod;
use papir_ring::prg::Seed;
use papir_ring::{Coefficients, Poly, Values};

use super::bodies::Bodies;
use super::error::PackingError;
use super::key::{RoundedMatrix, Setup};
use super::lwe_masks::LweMasks;
use crate::gadget::{Gadget, GadgetParams};
use crate::noise::Setting;
use crate::params::RlweParams;

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

/// A packing algorithm: LWE encryptions into RLWE encryptions under masks fixed in advance.
///
/// Offline work produces words in *units* of [`RingPacking::unit_words`]. A unit holds
/// [`RingPacking::slots`] packs, several if a pack has fewer rows than a kernel processes. The
/// packs of one database are contiguous and share one pass and one key.
///
/// [`super::Packing`] calls the steps, and checks their input first.
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

    /// Offline, from checked input: prepares one pack in a slot of a unit from its masks; other
    /// slots are left unchanged.
    fn prepare_slot(
        &self,
        lwe: LweMasks,
        slot: usize,
        unit: &mut [Self::Word],
        scratch: &Scratch,
    ) -> Preprocessed;

    /// Expands a received key of the right shape.
    fn expand(&self, matrices: &[RoundedMatrix<'_>]) -> Self::Expanded;

    /// Online, from checked input: returns, for each key, the term that packing adds to the bodies
    /// of all packs. `last` holds [`Preprocessed::last`] of all packs.
    fn apply(
        &self,
        words: &[Self::Word],
        packs: usize,
        last: &[&[Poly<Values>]],
        keys: &[&Self::Expanded],
    ) -> Vec<Bodies>;

    /// Returns a bound on the variance that packing adds to a coefficient, in units of q.
    fn variance(setting: &Setting, gadget: GadgetParams, capacity: usize) -> f64;
}
