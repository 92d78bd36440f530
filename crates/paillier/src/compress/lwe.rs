//! LWE encryptions and RLWE coefficients.
//!
//! An encryption under the secret s is (a, b) with phase b − ⟨a, s⟩ modulo q.

use crypto_bigint::{BoxedUint, ConcatenatingMul, NonZero, U128};
use zeroize::Zeroizing;

use crate::error::{Error, Result};
use crate::integer::to_words;

/// Maximum number of entries of a secret.
const MAXIMUM_N: usize = 1 << 20;
/// Maximum bound on the entries of a small secret.
const MAXIMUM_BOUND: u32 = 1 << 20;

/// Range of an LWE secret's entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyKind {
    /// 0 or 1.
    Binary,
    /// −1, 0 or 1.
    Ternary,
    /// From −B to B.
    Bounded(u32),
    /// Any residues.
    General,
}

/// Dimension, modulus and kind of secret of LWE encryptions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LweParams {
    n: usize,
    q: u128,
    kind: KeyKind,
}

impl LweParams {
    /// Parameters with n from 1 to 2²⁰ and q from 2 to 2⁶⁴; q must exceed twice the bound of the
    /// secret's entries.
    ///
    /// Security is not checked: the encryptions belong to another scheme.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`].
    pub fn new(n: usize, q: u128, kind: KeyKind) -> Result<Self> {
        if !(1..=MAXIMUM_N).contains(&n) {
            return Err(Error::out_of_bounds(
                "LWE dimension",
                n as u64,
                format!("1 to {MAXIMUM_N}"),
            ));
        }

        if !(2..=1 << 64).contains(&q) {
            let found = u64::try_from(q).unwrap_or(u64::MAX);
            return Err(Error::out_of_bounds("LWE modulus", found, "2 to 2^64"));
        }

        let params = Self { n, q, kind };
        let bound = params.bound().unwrap_or(0);
        // Entries of both signs differ modulo q only if q exceeds twice their bound. Binary ones
        // have no sign, so q = 2 is enough.
        let most = u64::from(MAXIMUM_BOUND)
            .min(((q - 1) / 2) as u64)
            .max(u64::from(kind == KeyKind::Binary));
        if bound > most {
            return Err(Error::out_of_bounds(
                "bound of the secret's entries",
                bound,
                format!("up to {most}"),
            ));
        }
        Ok(params)
    }

    /// n.
    pub fn dimension(&self) -> usize {
        self.n
    }

    /// q.
    pub fn modulus(&self) -> u128 {
        self.q
    }

    /// Kind of the secret.
    pub fn kind(&self) -> KeyKind {
        self.kind
    }

    /// ⌈log₂ q⌉.
    pub fn modulus_bits(&self) -> u32 {
        128 - (self.q - 1).leading_zeros()
    }

    /// Largest absolute value of a secret's entries; `None` for general secrets.
    pub fn bound(&self) -> Option<u64> {
        match self.kind {
            KeyKind::Binary | KeyKind::Ternary => Some(1),
            KeyKind::Bounded(bound) => Some(bound.into()),
            KeyKind::General => None,
        }
    }

    /// Offset that makes a secret's entries nonnegative digits.
    pub(crate) fn shift(&self) -> u64 {
        match self.kind {
            KeyKind::Binary | KeyKind::General => 0,
            KeyKind::Ternary => 1,
            KeyKind::Bounded(bound) => bound.into(),
        }
    }

    /// D, the largest digit.
    pub(crate) fn largest_digit(&self) -> u64 {
        match self.kind {
            KeyKind::Binary => 1,
            KeyKind::Ternary => 2,
            KeyKind::Bounded(bound) => 2 * u64::from(bound),
            KeyKind::General => (self.q - 1) as u64,
        }
    }

    /// V = (q − 1)·(1 + n·D), the largest value of a [`Linear`] form.
    pub(crate) fn largest_value(&self) -> BoxedUint {
        self.largest_factor()
            .concatenating_mul(BoxedUint::from(self.q - 1))
    }

    /// 1 + n·D.
    pub(crate) fn largest_factor(&self) -> BoxedUint {
        BoxedUint::from(1 + self.n as u128 * u128::from(self.largest_digit()))
    }

    /// Converts the secret's entries, residues modulo q, to digits. Refuses entries of another
    /// kind.
    pub(crate) fn digits(&self, secret: &[u64]) -> Result<Zeroizing<Vec<u64>>> {
        Error::check_length("entries of the LWE secret", secret.len(), self.n)?;
        let shift = u128::from(self.shift());
        let largest = u128::from(self.largest_digit());

        // All entries are converted before a fault is reported: the time reveals none of them.
        let mut digits = Zeroizing::new(Vec::with_capacity(self.n));
        let mut too_large = 0;
        for &entry in secret {
            // (entry + shift) modulo q without a branch; the entry is below q.
            let sum = u128::from(entry) + shift;
            let wraps = u128::from(sum >= self.q);
            let digit = sum - wraps * self.q;

            too_large |= u128::from(digit > largest);
            digits.push(digit as u64);
        }

        if too_large == 0 {
            return Ok(digits);
        }
        Err(Error::Residue {
            what: "an entry of the LWE secret",
            found: "too large",
            expected: "an entry of the kind in the parameters",
        })
    }

    /// Returns a + b modulo q.
    pub(crate) fn add(&self, a: u64, b: u64) -> u64 {
        ((u128::from(a) + u128::from(b)) % self.q) as u64
    }

    /// Returns −a modulo q.
    fn negate(&self, a: u64) -> u64 {
        if a == 0 {
            0
        } else {
            (self.q - u128::from(a)) as u64
        }
    }

    /// Returns the phase of a sample as a linear form in the secret's digits.
    ///
    /// With c = −a modulo q and β = b + shift·Σaᵢ modulo q, the form β + Σcᵢ·dᵢ is the phase modulo
    /// q, and between 0 and V over the integers. Refuses entries not below q.
    pub(crate) fn linear(&self, sample: &Lwe) -> Result<Linear> {
        Error::check_length("entries of an LWE mask", sample.mask.len(), self.n)?;
        let mut entries = sample.mask.iter().chain([&sample.body]);
        if entries.any(|&entry| u128::from(entry) >= self.q) {
            return Err(Error::Residue {
                what: "an entry of an LWE encryption",
                found: "too large",
                expected: "a residue below q",
            });
        }

        // The sample is public, so divisions and branches on it reveal nothing.
        let sum = sample
            .mask
            .iter()
            .fold(0, |sum, &entry| self.add(sum, entry));
        let shifted = (u128::from(sum) * u128::from(self.shift()) % self.q) as u64;
        let coefficients = sample
            .mask
            .iter()
            .map(|&entry| self.negate(entry))
            .collect();

        Ok(Linear {
            coefficients,
            constant: self.add(sample.body, shifted),
        })
    }

    /// Switches a sample to the modulus `to`, at most q: each entry x becomes ⌊x·to/q⌉ modulo `to`.
    ///
    /// In units of the new modulus the error becomes e·to/q + ε with |ε| ≤ (1 + n·B)/2, where B is
    /// the bound of the secret's entries: every rounding is off by at most ½, and the mask's
    /// roundings are multiplied by the secret. So for messages of scale Δ, an error below Δ/4
    /// decodes if (1 + n·B)/2 is below Δ·to/(4q), that is, if `to` > 2·(1 + n·B)·q/Δ.
    /// [`LweParams::rescaling_error`] returns the bound on ε.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] if `to` exceeds q or the secret is general.
    pub fn rescale(&self, sample: &Lwe, to: &Self) -> Result<Lwe> {
        if to.q > self.q || self.bound().is_none() || (self.n, self.kind) != (to.n, to.kind) {
            return Err(Error::out_of_bounds(
                "modulus to rescale to",
                u64::try_from(to.q).unwrap_or(u64::MAX),
                "at most q, with the same small secret",
            ));
        }

        let mask = sample.mask.iter();
        Ok(Lwe {
            mask: mask.map(|&entry| self.rescaled(entry, to)).collect(),
            body: self.rescaled(sample.body, to),
        })
    }

    /// Returns ⌊x·to/q⌉ modulo `to`.
    fn rescaled(&self, entry: u64, to: &Self) -> u64 {
        // The sum is at most (2⁶⁴ − 1)·2⁶⁴ + 2⁶³ < 2¹²⁸.
        ((u128::from(entry) * to.q + self.q / 2) / self.q % to.q) as u64
    }

    /// Maximum change of a phase by [`LweParams::rescale`], in units of the new modulus, rounded
    /// up; `None` for general secrets.
    pub fn rescaling_error(&self) -> Option<u64> {
        self.bound()
            .map(|bound| (1 + self.n as u64 * bound).div_ceil(2))
    }
}

/// An LWE encryption: residues modulo q.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lwe {
    /// a, n entries.
    pub mask: Vec<u64>,
    /// b.
    pub body: u64,
}

impl Lwe {
    /// Extracts coefficient k of the message of an RLWE encryption.
    ///
    /// (A, B) modulo q and Xⁿ + 1 gives an LWE encryption under the coefficients of the ring secret
    /// (ZipPIR, Algorithm 8): entry i of its mask is A\[k − i\] up to i = k, then −A\[n + k − i\].
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] unless k is below n, [`Error::Length`], [`Error::Residue`].
    pub fn coefficient(params: &LweParams, mask: &[u64], body: &[u64], k: usize) -> Result<Self> {
        let n = params.n;
        Error::check_length("coefficients of an RLWE mask", mask.len(), n)?;
        Error::check_length("coefficients of an RLWE body", body.len(), n)?;

        if k >= n {
            return Err(Error::out_of_bounds(
                "coefficient",
                k as u64,
                format!("below {n}"),
            ));
        }
        if mask.iter().any(|&entry| u128::from(entry) >= params.q) {
            return Err(Error::Residue {
                what: "an entry of an RLWE mask",
                found: "too large",
                expected: "a residue below q",
            });
        }

        let entries = (0..n).map(|i| {
            if i <= k {
                mask[k - i]
            } else {
                params.negate(mask[n + k - i])
            }
        });
        Ok(Self {
            mask: entries.collect(),
            body: body[k],
        })
    }
}

/// A phase as a linear form in the secret's digits: `constant` + Σ coefficientᵢ·digitᵢ.
pub(crate) struct Linear {
    pub(crate) coefficients: Vec<u64>,
    pub(crate) constant: u64,
}

/// Decodes a phase Δ·μ + e with Δ = ⌊q/p⌋ to ⌊phase/Δ⌉ modulo p.
///
/// The result is correct for −Δ/2 ≤ e < Δ/2 if p² is at most q/2. `None` if p is zero or Δ would be
/// zero.
pub fn decode(phase: u64, q: u128, p: u64) -> Option<u64> {
    let delta = q.checked_div(p.into()).filter(|&delta| delta > 0)?;

    // Unlike the processor's, these divisions take the same time for all phases.
    let rounded = U128::from_u128(u128::from(phase) + delta / 2)
        .div_rem(&divisor(delta)?)
        .0;
    Some(to_words(&rounded.rem(&divisor(p.into())?).into(), 2)[0])
}

fn divisor(number: u128) -> Option<NonZero<U128>> {
    NonZero::new(U128::from_u128(number)).into_option()
}
