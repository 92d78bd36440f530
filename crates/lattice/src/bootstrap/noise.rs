//! Noise of bootstrapping as variances, in units of the ring's modulus or, for LWE encryptions, of a turn.
//!
//! Errors are independent, so variances add. Those of gates from circuit bootstrapping are products of an error
//! that all coefficients share: see [`crate::noise::Products`] for their tails.

use super::lwe::SwitchParams;
use crate::gadget::GadgetParams;
use crate::noise::{Setting, digit, dropped, rounding};

/// What RGSW rows carry, as energies: variances summed over the coefficients of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gate {
    /// Of a row that meets the mask's digits.
    pub keyed: f64,
    /// Of a row that meets the body's digits.
    pub plain: f64,
}

/// What a trace leaves behind: nearly all in the coefficients that it keeps, since what it adds up to zero
/// leaves no noise either, but for the later key switches'.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Traced {
    /// Variance of a coefficient that stays.
    pub kept: f64,
    /// Variances summed over all coefficients.
    pub energy: f64,
}

impl Setting {
    /// The digits left out of a mask where they meet the secret's square, whose coefficients' mean square is 2·d
    /// times the square of the secret's.
    fn dropped_square(&self, gadget: GadgetParams) -> f64 {
        let degree = self.degree as f64;
        degree * 2.0 * degree * self.secret * self.secret * dropped(gadget)
    }

    /// Variance of one digit of an element times the secret: what meets the one error that a trace leaves in a
    /// gate's row.
    pub fn digit_times_key(&self, gadget: GadgetParams) -> f64 {
        self.degree as f64 * self.secret * digit(gadget.log_base)
    }

    /// What a gate adds to what it passes on, for a message of one bit.
    pub fn gate(&self, gadget: GadgetParams, gate: Gate) -> f64 {
        self.digits(gadget, gate.keyed + gate.plain) + self.dropped_mask(gadget) + dropped(gadget)
    }

    /// What a blind rotation over n bits leaves.
    pub fn rotation(&self, gadget: GadgetParams, dimension: usize) -> f64 {
        dimension as f64 * self.external_product(gadget)
    }

    /// What the key switches of a trace add whose first `steps` steps sum up, or an expansion after them, to
    /// constants. Step j doubles what comes before it in the coefficients that stay, so that these carry
    /// (4^steps − 1)/3 key switches; where step j annuls, noise remains of it and the later steps, which double
    /// its variance: 2^(steps − j) − 1 key switches in the share 1/2^(j+1) of the coefficients.
    pub fn trace(&self, gadget: GadgetParams, steps: usize) -> Traced {
        let switch = self.key_switch(gadget);
        let power = |exponent: usize| 2f64.powi(exponent as i32);
        let kept = (4f64.powi(steps as i32) - 1.0) / 3.0 * switch;
        let annulled = |j: usize| self.degree as f64 / power(j + 1) * (power(steps - j) - 1.0) * switch;
        let stay = self.degree as f64 / power(steps);
        Traced { kept, energy: stay * kept + (0..steps).map(annulled).sum::<f64>() }
    }

    /// RGSW rows from RLWE encryptions whose errors have this energy, by RLWE′(s²) under a gadget.
    pub fn scheme_switch(&self, gadget: GadgetParams, energy: f64) -> Gate {
        let square = self.digits(gadget, self.key_energy()) + self.dropped_square(gadget);
        let degree = self.degree as f64;
        Gate { keyed: degree * (self.secret * energy + square), plain: energy }
    }

    /// Variance, in turns², that switching to a short key and rounding to `steps` steps a turn adds.
    pub fn switch(&self, params: &SwitchParams, steps: f64) -> f64 {
        let modulus = 2f64.powi(params.log2_q as i32);
        let digits = (self.degree * params.levels()) as f64 * digit(params.log_base);
        let first = (self.degree as f64 * self.secret + 1.0) * rounding(1.0);
        // A bit's square is 1/2 on average.
        let second = (params.dimension as f64 / 2.0 + 1.0) * rounding(1.0 / steps);
        (digits * params.sigma * params.sigma + first) / (modulus * modulus) + second
    }
}
