//! InspiRING with the algorithm that a capacity needs.

use papir_ring::prg::Seed;
use papir_ring::{CyclotomicRing, Poly, Values};

use super::super::bodies::Bodies;
use super::super::error::PackingError;
use super::super::key::{RoundedMatrix, Setup};
use super::super::lwe_masks::LweMasks;
use super::super::ring_packing::{Preprocessed, RingPacking, Scratch};
use super::full::{self, Inspiring};
use super::matrix;
use super::online::{self, OnlineKey};
use super::partial::{self, PartialInspiring};
use crate::gadget::{Gadget, GadgetParams};
use crate::noise::Setting;
use crate::params::RlweParams;

/// InspiRING for packs of d, PartialInspiRING for smaller ones. Keys record which one they belong
/// to.
#[derive(Clone, Debug)]
pub struct EitherInspiring {
    setup: Setup,
}

impl EitherInspiring {
    /// True for packs of d.
    fn is_full(&self) -> bool {
        self.setup.shape().capacity == self.setup.ring().degree()
    }
}

impl RingPacking for EitherInspiring {
    const NAME: &'static str = "InspiRING, full or partial";
    type Word = i32;
    type Expanded = OnlineKey;

    fn new(
        params: &RlweParams,
        gadget: &Gadget,
        capacity: usize,
        seed: &Seed,
    ) -> Result<Self, PackingError> {
        let setup = if capacity == params.ring().degree() {
            full::setup(params, gadget, capacity, seed)?
        } else {
            partial::setup(params, gadget, capacity, seed)?
        };
        Ok(Self { setup })
    }

    fn setup(&self) -> &Setup {
        &self.setup
    }

    fn slots(&self) -> usize {
        // From d = 64 on, a pack of d is whole row groups, and the formulas of partial packs give
        // one slot.
        matrix::slots(self.setup.shape().capacity)
    }

    fn unit_words(&self) -> usize {
        let shape = self.setup.shape();
        matrix::unit_words(shape.degree, shape.capacity, shape.levels)
    }

    fn last_elements(&self) -> usize {
        if self.is_full() {
            self.setup.gadget().levels()
        } else {
            0
        }
    }

    fn prepare_slot(
        &self,
        lwe: LweMasks,
        slot: usize,
        unit: &mut [i32],
        scratch: &Scratch,
    ) -> Preprocessed {
        if self.is_full() {
            full::prepare(&self.setup, lwe, unit, scratch)
        } else {
            partial::prepare(&self.setup, lwe, slot, unit, scratch)
        }
    }

    fn expand(&self, matrices: &[RoundedMatrix<'_>]) -> OnlineKey {
        OnlineKey::new(self.setup.ring(), matrices)
    }

    fn apply(
        &self,
        words: &[i32],
        packs: usize,
        last: &[&[Poly<Values>]],
        keys: &[&OnlineKey],
    ) -> Vec<Bodies> {
        online::apply(&self.setup, words, packs, last, keys)
    }

    fn variance(setting: &Setting, gadget: GadgetParams, capacity: usize) -> f64 {
        if capacity == setting.degree {
            return Inspiring::variance(setting, gadget, capacity);
        }
        PartialInspiring::variance(setting, gadget, capacity)
    }
}
