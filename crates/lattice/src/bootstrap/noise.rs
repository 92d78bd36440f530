//! Noise variances of bootstrapping.
//!
//! Variances are in units of the ring's modulus or, for LWE encryptions, of a turn. Errors are
//! independent, so variances add. The errors of gates from circuit bootstrapping are products with
//! an error that all coefficients share: see [`crate::noise::Products`] for their tails.

use super::lwe::SwitchParams;
use crate::gadget::GadgetParams;
use crate::noise::{Setting, digit, dropped, rounding};

/// Noise of RGSW rows as energies: variances summed over the coefficients of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gate {
    /// Energy of a row that multiplies the mask's digits.
    pub keyed: f64,
    /// Energy of a row that multiplies the body's digits.
    pub plain: f64,
}

/// Noise that a trace adds. It is concentrated in the kept coefficients: where the trace cancels
/// messages it cancels noise as well, except that of later key switches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Traced {
    /// Variance of a kept coefficient.
    pub kept: f64,
    /// Variances summed over all coefficients.
    pub energy: f64,
}

impl Setting {
    /// Variance of a mask's dropped bits times the secret's square. Every product of two
    /// coefficients occurs twice in s², so its coefficients have mean square 2·d times the square
    /// of the secret's mean square.
    fn dropped_square(&self, gadget: GadgetParams) -> f64 {
        let degree = self.degree as f64;
        degree * 2.0 * degree * self.secret * self.secret * dropped(gadget)
    }

    /// Variance of one digit of an element times the secret, which multiplies the one error that a
    /// trace leaves in a gate's row.
    pub fn digit_times_key(&self, gadget: GadgetParams) -> f64 {
        self.degree as f64 * self.secret * digit(gadget.log_base)
    }

    /// Variance that a gate adds, for a message of one bit.
    pub fn gate(&self, gadget: GadgetParams, gate: Gate) -> f64 {
        self.digits(gadget, gate.keyed + gate.plain) + self.dropped_mask(gadget) + dropped(gadget)
    }

    /// Variance of a blind rotation over n = `dimension` bits.
    pub fn rotation(&self, gadget: GadgetParams, dimension: usize) -> f64 {
        dimension as f64 * self.external_product(gadget)
    }

    /// Noise that the key switches of a trace add.
    ///
    /// The `steps` steps are those of a trace, or of a trace and the expansion after it. Step
    /// j doubles the earlier noise in the coefficients that stay, which thus carry (4^steps − 1)/3
    /// key switches. Where step j cancels, its own noise and that of the later steps remains, and
    /// the later steps double the variance: 2^(steps − j) − 1 key switches in a fraction 1/2^(j+1)
    /// of the coefficients.
    pub fn trace(&self, gadget: GadgetParams, steps: usize) -> Traced {
        let switch = self.key_switch(gadget);
        let power = |exponent: usize| 2f64.powi(exponent as i32);
        let kept = (4f64.powi(steps as i32) - 1.0) / 3.0 * switch;
        let cancelled = |j: usize| self.degree as f64 / power(j + 1) * (power(steps - j) - 1.0) * switch;
        let stay = self.degree as f64 / power(steps);
        Traced { kept, energy: stay * kept + (0..steps).map(cancelled).sum::<f64>() }
    }

    /// Noise of RGSW rows made by RLWE′(s²) from RLWE encryptions whose errors have this energy.
    pub fn scheme_switch(&self, gadget: GadgetParams, energy: f64) -> Gate {
        let square = self.digits(gadget, self.key_energy()) + self.dropped_square(gadget);
        let degree = self.degree as f64;
        Gate { keyed: degree * (self.secret * energy + square), plain: energy }
    }

    /// Variance, in turns², of key switching to a short key and rounding to `steps` steps a turn.
    pub fn switch(&self, params: &SwitchParams, steps: f64) -> f64 {
        let modulus = 2f64.powi(params.log2_q as i32);
        let digits = (self.degree * params.levels()) as f64 * digit(params.log_base);
        let first = (self.degree as f64 * self.secret + 1.0) * rounding(1.0);
        // The mean square of a bit is 1/2.
        let second = (params.dimension as f64 / 2.0 + 1.0) * rounding(1.0 / steps);
        (digits * params.sigma * params.sigma + first) / (modulus * modulus) + second
    }
}
