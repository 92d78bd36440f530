//! Unchecked parameters of InsPIRe⁽²⁾, and the counts that follow from them.

use papir_core::{Error, FailureBound, Result, Shape};
use papir_kernels::matvec_i16;
use papir_lattice::gadget::GadgetParams;
use papir_lattice::params::Literal as RlweLiteral;
use papir_lattice::response::ResponseBits;

use super::layout::Layout;
use crate::shared::digits::Digits;
use crate::shared::parameters::refused;

/// The scheme's name.
pub(crate) const NAME: &str = "inspire2";
/// Largest number of bits of a selector entry that the pass over the database supports.
pub(super) const MAX_QUERY_BITS: u32 = matvec_i16::PLANE_BITS * matvec_i16::MAX_PLANES as u32;
/// Largest degree, and largest number of words in each part of an answer and in the public masks.
/// They bound the memory that a client allocates for the parameters of a server.
const MAX_DEGREE: usize = 1 << 12;
const MAX_WORDS: usize = 1 << 22;

/// InsPIRe⁽²⁾, as a scheme.
#[derive(Clone, Copy, Debug)]
pub struct Inspire2;

/// Values of parameters, unchecked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Literal {
    /// Records and their length.
    pub shape: Shape,
    /// Ring and noise.
    pub rlwe: RlweLiteral,
    /// t, the number of units in a column.
    pub blocks: usize,
    /// γ₀ (the number of words in a unit), γ₁ and γ₂.
    pub gammas: [usize; 3],
    /// Gadget of the packing keys (z_ks, ℓ_ks).
    pub gadget: GadgetParams,
    /// Bits of an entry of each selector.
    pub query_bits: [u32; 2],
    /// Bits of a coefficient of key material.
    pub key_bits: u32,
    /// Digits of the first level's masks.
    pub mask: Digits,
    /// Digits of the first level's bodies, of the same width.
    pub body: Digits,
    /// Bits of a coefficient of an answer's masks and bodies.
    pub answer: ResponseBits,
    /// Bound on the failure probability.
    pub failure: FailureBound,
}

impl Literal {
    /// Returns the distinct values of γ₀, γ₁, γ₂, in this order. Each has one key.
    pub fn distinct_gammas(&self) -> Vec<usize> {
        (0..self.gammas.len())
            .filter(|&i| !self.gammas[..i].contains(&self.gammas[i]))
            .map(|i| self.gammas[i])
            .collect()
    }

    /// Returns the number of coefficients of key material: α·ℓ·d.
    pub fn key_words(&self) -> usize {
        self.distinct_gammas().len() * self.gadget.levels * self.rlwe.degree
    }

    /// Returns the numbers of packs of the second and the third packing.
    pub fn packs(&self) -> [usize; 2] {
        let [unit, first, second] = self.gammas;
        // Second packing: a row for each digit of a mask's coefficient. Third: one for each digit
        // of a body's.
        let rows = [self.mask.count * self.rlwe.degree, self.body.count * unit];
        [rows[0].div_ceil(first), rows[1].div_ceil(second)]
    }

    /// Returns the numbers of words in an answer: bodies of resp₁, masks and bodies of resp₂.
    pub fn answer_words(&self) -> [usize; 3] {
        let [first, second] = self.packs();
        [
            first * self.gammas[1],
            second * self.rlwe.degree,
            second * self.gammas[2],
        ]
    }

    /// Returns the number of words in the masks of resp₁.
    pub fn public_words(&self) -> usize {
        self.packs()[0] * self.rlwe.degree
    }

    /// Returns the total bits of a query, an answer and the masks of resp₁, as Theorem 6 counts
    /// them.
    pub(super) fn message_bits(&self, layout: &Layout) -> u64 {
        let [first, masks, second] = self.answer_words();
        let words = [
            (layout.columns, self.query_bits[0]),
            (layout.blocks, self.query_bits[1]),
            (self.key_words(), self.key_bits),
            (first + second, self.answer.b),
            (masks + self.public_words(), self.answer.a),
        ];
        words
            .into_iter()
            .map(|(count, bits)| count as u64 * u64::from(bits))
            .sum()
    }

    /// Returns the bits of the first level's encryptions, whose words become digits.
    pub fn first_bits(&self) -> ResponseBits {
        ResponseBits {
            a: self.mask.word_bits(),
            b: self.body.word_bits(),
        }
    }

    /// Checks all values for a modulus.
    pub(super) fn check(&self, modulus: u64) -> Result<()> {
        self.check_gammas()?;
        self.check_bits(modulus)?;

        let degree = self.rlwe.degree;
        if degree > MAX_DEGREE {
            let expected = format!("at most {MAX_DEGREE} in {NAME}");
            return Err(Error::out_of_bounds(
                "the degree d",
                degree as u64,
                expected,
            ));
        }

        let parts = self
            .answer_words()
            .into_iter()
            .chain([self.public_words(), self.key_words()]);
        match parts.max() {
            Some(words) if words > MAX_WORDS => {
                let what = "the number of words of an answer's part";
                let expected = format!("at most {MAX_WORDS}");
                Err(Error::out_of_bounds(what, words as u64, expected))
            }
            _ => Ok(()),
        }
    }

    /// Checks that every γ is a power of two from 2 to d/2.
    pub(super) fn check_gammas(&self) -> Result<()> {
        let most = self.rlwe.degree / 2;
        let misfit = self
            .gammas
            .into_iter()
            .find(|gamma| !gamma.is_power_of_two() || !(2..=most).contains(gamma));

        match misfit {
            None => Ok(()),
            Some(gamma) => {
                let expected = format!("a power of two from 2 to {most}");
                Err(Error::out_of_bounds("gamma", gamma as u64, expected))
            }
        }
    }

    /// Checks the bits of messages and digits for a modulus.
    fn check_bits(&self, modulus: u64) -> Result<()> {
        let below_q = |bits: u32, most: u32| (1..=most).contains(&bits) && 1u64 << bits < modulus;
        let digits = |digits: Digits| {
            digits.bits == self.mask.bits
                && (1..=16).contains(&digits.bits)
                && (1..=32).contains(&digits.count)
        };
        let response =
            |bits: ResponseBits| bits.fit(self.rlwe.degree, modulus as f64, self.rlwe.sigma);

        // Entries of a packing matrix are sums of up to γ digits of half a base.
        let entry = (self.rlwe.degree as u64 / 2) << (self.gadget.log_base.clamp(1, 32) - 1);

        let fits = self
            .query_bits
            .iter()
            .all(|&bits| below_q(bits, MAX_QUERY_BITS))
            && below_q(self.key_bits, 62)
            && digits(self.mask)
            && digits(self.body)
            && response(self.first_bits())
            && response(self.answer)
            && entry < 1 << 31;
        if !fits {
            return Err(refused(NAME)(format!(
                "message bits {self:?} do not fit q = {modulus}"
            )));
        }
        Ok(())
    }
}
