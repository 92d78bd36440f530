//! InspiRING (InsPIRe, Algorithm 1).

use papir_ring::prg::Seed;
use papir_ring::{CyclotomicRing, Poly, Values};

use super::super::bodies::Bodies;
use super::super::error::PackingError;
use super::super::key::{RoundedMatrix, Setup};
use super::super::lwe_masks::LweMasks;
use super::super::ring_packing::{Preprocessed, RingPacking, Scratch};
use super::collapse::Preprocessor;
use super::exponents::GENERATOR;
use super::matrix::{check_entries, matrix_words};
use super::online::{self, OnlineKey};
use crate::gadget::{Gadget, GadgetParams};
use crate::noise::Setting;
use crate::params::RlweParams;

/// InspiRING: packs d LWE encryptions with K_g, from τ_g(s) to s, and K_h, from τ_h(s) to s.
#[derive(Clone, Debug)]
pub struct Inspiring {
    setup: Setup,
}

impl RingPacking for Inspiring {
    const NAME: &'static str = "InspiRING";
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
        1
    }

    fn unit_words(&self) -> usize {
        matrix_words(self.setup.ring().degree(), self.setup.gadget().levels())
    }

    fn last_elements(&self) -> usize {
        self.setup.gadget().levels()
    }

    fn prepare_slot(
        &self,
        lwe: LweMasks,
        _: usize,
        unit: &mut [i32],
        scratch: &Scratch,
    ) -> Preprocessed {
        prepare(&self.setup, lwe, unit, scratch)
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

    fn variance(setting: &Setting, gadget: GadgetParams, _: usize) -> f64 {
        setting.packing(gadget)
    }
}

/// Checks capacity and gadget, and expands the masks of K_g and K_h.
pub(super) fn setup(
    params: &RlweParams,
    gadget: &Gadget,
    capacity: usize,
    seed: &Seed,
) -> Result<Setup, PackingError> {
    let d = params.ring().degree();
    if capacity != d {
        let expected = format!("the degree, {d}");
        return Err(PackingError::Capacity {
            packing: Inspiring::NAME,
            found: capacity,
            expected,
        });
    }
    check_entries(gadget, d)?;

    let switches = [
        (GENERATOR, "inspiring/w_g".to_owned()),
        (2 * d - 1, "inspiring/w_h".to_owned()),
    ];
    Ok(Setup::new(
        Inspiring::NAME,
        params,
        gadget,
        capacity,
        seed,
        &switches,
    ))
}

/// PACK on masks.
pub(super) fn prepare(
    setup: &Setup,
    lwe: LweMasks,
    unit: &mut [i32],
    scratch: &Scratch,
) -> Preprocessed {
    let switches = setup.switches();
    let preprocessor = Preprocessor::new(
        setup.ring(),
        setup.gadget(),
        &switches[0].masks,
        &switches[1].masks,
    );
    preprocessor.prepare(lwe, unit, scratch)
}
