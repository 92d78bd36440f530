//! Noise variances of bootstrapping.
//!
//! Variances are in units of the ring's modulus or, for LWE encryptions, of a turn. They are
//! expectations over the errors of keys and over digits, which are taken as independent and
//! uniform; the weights of keys are bounds, because heavier keys are drawn again.
//!
//! **The errors of a trace are correlated.** Where step j of a trace cancels, its own error
//! stays, and each later step adds its image to it: coefficients of one orbit are correlated, with
//! public signs. Sums of such errors with weights that somebody chose are far larger than sums of
//! independent errors of the same energy, up to [`Traced::largest`] times the weights' squares.
//! Energies are enough for weights that are independent of the errors, uniform and centred: digits,
//! and whitened records. See [`crate::noise::Products`] for the tails of such sums.

use super::lwe::{BinaryKey, SwitchParams};
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

/// Noise that a trace adds, or a trace and an expansion. Where it cancels messages it cancels
/// earlier noise as well, and leaves the noise of its own key switches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Traced {
    /// Variance of a kept coefficient.
    pub kept: f64,
    /// Variances summed over all coefficients of one output.
    pub energy: f64,
    /// Bound on the variance of a combination of the errors, in one or several outputs of an
    /// expansion, whose squares of weights sum to 1.
    pub largest: f64,
}

impl Setting {
    /// Variance of a mask's dropped bits times the secret's square. Every product of two
    /// coefficients occurs twice in s², so its coefficients have mean square 2·d times the square
    /// of the secret's mean square.
    fn dropped_square(&self, gadget: GadgetParams) -> f64 {
        let degree = self.degree as f64;
        degree * 2.0 * degree * self.secret * self.secret * dropped(gadget)
    }

    /// Variance of one digit of an element times the secret, which multiplies the errors of a
    /// gate's row.
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
    /// The `steps` steps belong to a trace, the last `expanded` of them to the expansion after it.
    /// Step j doubles the earlier noise in the coefficients that stay, which thus carry
    /// (4^steps − 1)/3 key switches. Where step j cancels, its own noise and the noise of the later
    /// steps remain, and the later steps double the variance: 2^(steps − j) − 1 key switches in a
    /// fraction 1/2^(j+1) of the coefficients.
    ///
    /// A step of a trace, x → x + x(X^e), multiplies no norm by more than 2, and a step of an
    /// expansion, with its two outputs, multiplies each by 2. So the error of step j of a trace has
    /// in no direction more than 4^(steps − 1 − j) times its variance at the end. The error of a
    /// step of an expansion is in both of its outputs, and has twice as much.
    pub fn trace(&self, gadget: GadgetParams, steps: usize, expanded: usize) -> Traced {
        let switch = self.key_switch(gadget);
        let kept = (4f64.powi(steps as i32) - 1.0) / 3.0 * switch;
        let cancelled = (0..steps).map(|j| {
            self.degree as f64 / power_of_two(j + 1) * (power_of_two(steps - j) - 1.0) * switch
        });
        // Each step halves the number of coefficients that stay.
        let stay = self.degree as f64 / power_of_two(steps);
        let largest = kept + (4f64.powi(expanded as i32) - 1.0) / 3.0 * switch;

        Traced {
            kept,
            energy: stay * kept + cancelled.sum::<f64>(),
            largest,
        }
    }

    /// Noise of RGSW rows made by RLWE′(s²) from RLWE encryptions whose errors have this energy: an
    /// average over the signs of the secret, which multiplies the errors.
    pub fn scheme_switch(&self, gadget: GadgetParams, energy: f64) -> Gate {
        let square = self.digits(gadget, self.key_energy()) + self.dropped_square(gadget);
        let degree = self.degree as f64;
        Gate {
            keyed: degree * (self.secret * energy + square),
            plain: energy,
        }
    }

    /// Variance, in turns², of key switching to a short key and rounding to `steps` steps a turn.
    pub fn switch(&self, params: &SwitchParams, steps: f64) -> f64 {
        let modulus = 2f64.powi(params.log2_q as i32);
        let digits = (self.degree * params.levels()) as f64 * digit(params.log_base);
        let first = (self.degree as f64 * self.secret + 1.0) * rounding(1.0);
        let second = (BinaryKey::most_ones(params.dimension) as f64 + 1.0) * rounding(1.0 / steps);
        (digits * params.sigma * params.sigma + first) / (modulus * modulus) + second
    }
}

fn power_of_two(exponent: usize) -> f64 {
    2f64.powi(exponent as i32)
}
