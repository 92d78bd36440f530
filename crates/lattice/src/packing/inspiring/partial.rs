//! PartialInspiRING (InsPIRe, Algorithm 2).

use papir_ring::prg::Seed;
use papir_ring::{CyclotomicRing, Poly, Values};

use super::super::bodies::Bodies;
use super::super::error::PackingError;
use super::super::key::{RoundedMatrix, Setup};
use super::super::lwe_masks::LweMasks;
use super::super::ring_packing::{Preprocessed, RingPacking, Scratch};
use super::aggregate::Aggregate;
use super::collapse::Chain;
use super::matrix::{self, Slot, check_entries};
use super::online::{self, OnlineKey};
use crate::gadget::{Gadget, GadgetParams};
use crate::noise::Setting;
use crate::params::RlweParams;

/// PartialInspiRING: packs γ ≤ d/2 LWE encryptions with K_g alone, g = 2d/γ + 1 of order γ.
///
/// g, K_g and its masks are specific to γ. The first γ coefficients of the packed encryption's
/// message are the γ messages; the others are meaningless, and the body contains only the first γ.
#[derive(Clone, Debug)]
pub struct PartialInspiring {
    setup: Setup,
}

impl RingPacking for PartialInspiring {
    const NAME: &'static str = "PartialInspiRING";
    type Word = i32;
    type Expanded = OnlineKey;

    fn new(
        params: &RlweParams,
        gadget: &Gadget,
        capacity: usize,
        seed: &Seed,
    ) -> Result<Self, PackingError> {
        let setup = setup(params, gadget, capacity, seed)?;
        Ok(Self { setup })
    }

    fn setup(&self) -> &Setup {
        &self.setup
    }

    fn slots(&self) -> usize {
        matrix::slots(self.setup.shape().capacity)
    }

    fn unit_words(&self) -> usize {
        let shape = self.setup.shape();
        matrix::unit_words(shape.degree, shape.capacity, shape.levels)
    }

    fn prepare_slot(
        &self,
        lwe: LweMasks,
        slot: usize,
        unit: &mut [i32],
        scratch: &Scratch,
    ) -> Preprocessed {
        prepare(&self.setup, lwe, slot, unit, scratch)
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
        setting.partial_packing(gadget, capacity)
    }
}

/// g, the exponent of the automorphism for γ.
const fn generator(degree: usize, capacity: usize) -> usize {
    2 * degree / capacity + 1
}

/// Checks γ and the gadget, and expands the masks of K_g.
pub(super) fn setup(
    params: &RlweParams,
    gadget: &Gadget,
    capacity: usize,
    seed: &Seed,
) -> Result<Setup, PackingError> {
    let d = params.ring().degree();
    if !capacity.is_power_of_two() || !(2..=d / 2).contains(&capacity) {
        let expected = format!("a power of two from 2 to {}", d / 2);
        return Err(PackingError::Capacity {
            packing: PartialInspiring::NAME,
            found: capacity,
            expected,
        });
    }
    check_entries(gadget, capacity)?;

    // The label has γ: each γ has a g of its own, and no two keys of a secret may share masks.
    let switches = [(
        generator(d, capacity),
        format!("inspiring/partial-{capacity}/w_g"),
    )];
    Ok(Setup::new(
        PartialInspiring::NAME,
        params,
        gadget,
        capacity,
        seed,
        &switches,
    ))
}

/// TRANSFORMPARTIAL, line 4 of PARTIALPACK, and COLLAPSEPARTIAL.
pub(super) fn prepare(
    setup: &Setup,
    lwe: LweMasks,
    slot: usize,
    unit: &mut [i32],
    scratch: &Scratch,
) -> Preprocessed {
    let ring = setup.ring();
    let gadget = setup.gadget();
    let capacity = setup.shape().capacity;
    let d = ring.degree();

    let aggregate = Aggregate::new(ring, lwe);
    let masks = &setup.switches()[0].masks;
    let chain = Chain::new(ring, gadget, masks, generator(d, capacity), capacity);

    // The digits are needed only until the matrix is written. Then the buffer serves another pack.
    let a = scratch.with(gadget.levels() * capacity * d, |digits| {
        let a = chain.collapse(
            &aggregate,
            1,
            &mut digits.chunks_exact_mut(d).collect::<Vec<_>>(),
        );
        matrix::from_digits(
            d,
            digits,
            Slot {
                rows: capacity,
                index: slot,
            },
            unit,
        );
        a
    });

    Preprocessed {
        a,
        last: Vec::new(),
    }
}
