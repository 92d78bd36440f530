//! Checked parameters of InsPIRe.

use papir_core::Result;
use papir_lattice::gadget::Gadget;
use papir_lattice::packing::inspiring::matrix_words;
use papir_lattice::params::RlweParams;
use papir_lattice::response::ResponseBits;

use super::layout::{Layout, PLAINTEXT};
use super::literal::NAME;
pub use super::literal::{KeyBits, Literal};
use super::noise::{Noise, NoiseInput};
use crate::shared::matrices::Selector;
use crate::shared::parameters::{check_failure, refused, unfit};

/// Checked parameters with the tables built from them.
#[derive(Clone, Debug)]
pub struct Params {
    literal: Literal,
    layout: Layout,
    rlwe: RlweParams,
    key_switch: Gadget,
    rgsw: Gadget,
    noise: Noise,
    failure_log2: f64,
}

impl Params {
    /// Checks a literal: security from the table, failure probability from the noise.
    ///
    /// # Errors
    /// [`papir_core::Error::Insecure`], [`papir_core::Error::Parameters`] or
    /// [`papir_core::Error::OutOfBounds`].
    pub fn new(literal: Literal) -> Result<Self> {
        Self::of_ring(literal, RlweParams::new(literal.rlwe).map_err(unfit(NAME))?)
    }

    /// [`Params::new`] with the tables of the literal's ring.
    pub(super) fn of_ring(literal: Literal, rlwe: RlweParams) -> Result<Self> {
        let params = Self::build(literal, rlwe)?;
        check_failure(NAME, params.failure_log2)?;
        Ok(params)
    }

    /// Builds parameters without checking security or correctness, for tests at small degrees.
    ///
    /// # Errors
    /// [`papir_core::Error::Parameters`] or [`papir_core::Error::OutOfBounds`] if the values do not
    /// fit together.
    pub fn insecure(literal: Literal) -> Result<Self> {
        Self::build(literal, RlweParams::insecure(literal.rlwe).map_err(refused(NAME))?)
    }

    fn build(literal: Literal, rlwe: RlweParams) -> Result<Self> {
        let layout = Layout::new(literal.shape, literal.rlwe.degree, literal.interpolation)?;
        literal.check(rlwe.ring().modulus())?;
        let gadget = |params| Gadget::new(rlwe.ring(), params).map_err(refused(NAME));
        let (key_switch, rgsw) = (gadget(literal.key_switch)?, gadget(literal.rgsw)?);
        let input = NoiseInput { literal: &literal, layout: &layout };
        let noise = Noise::compute(&input);
        let failure_log2 = noise.failure_log2(&input);
        Ok(Self { literal, layout, rlwe, key_switch, rgsw, noise, failure_log2 })
    }

    /// The values.
    pub fn literal(&self) -> &Literal {
        &self.literal
    }

    /// Layout of the matrix.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Ring and noise.
    pub fn rlwe(&self) -> &RlweParams {
        &self.rlwe
    }

    /// Gadget of the packing keys.
    pub fn key_switch(&self) -> &Gadget {
        &self.key_switch
    }

    /// Gadget of the RGSW encryptions.
    pub fn rgsw(&self) -> &Gadget {
        &self.rgsw
    }

    /// Predicted noise of an answer.
    pub fn noise(&self) -> &Noise {
        &self.noise
    }

    /// Δ = round(q/p).
    pub fn scale(&self) -> u64 {
        let p = u64::from(PLAINTEXT);
        (self.rlwe.ring().modulus() + p / 2) / p
    }

    /// RGSW rows of the point of each variable.
    pub fn rgsw_rows(&self) -> usize {
        2 * self.literal.rgsw.levels
    }

    /// Bits of a coefficient for each ring element of key material in a query: y_g, y_h and,
    /// variable by variable, RGSW bodies; no RGSW bodies if a column is a single point.
    pub fn key_elements(&self) -> Vec<u32> {
        let levels = self.literal.key_switch.levels;
        let counts = [levels, levels, self.layout.interpolation.variables().len() * self.rgsw_rows()];
        let of_kind = |(bits, count)| std::iter::repeat_n(bits, count);
        self.literal.key_bits.all().into_iter().zip(counts).flat_map(of_kind).collect()
    }

    /// Bits of an answer's mask and body.
    pub fn answer_bits(&self) -> ResponseBits {
        let (a, b) = self.literal.answer_bits;
        ResponseBits { a, b }
    }

    /// Words of one pack's matrix.
    pub fn matrix_words(&self) -> usize {
        matrix_words(self.layout.degree, self.literal.key_switch.levels)
    }

    /// log₂ of the probability that an answer does not decode.
    pub(super) fn failure_log2(&self) -> f64 {
        self.failure_log2
    }

    /// The selector of a column.
    pub fn selector(&self) -> Selector<'_> {
        Selector {
            rlwe: &self.rlwe,
            label: "inspire/selector",
            columns: self.layout.columns,
            scale: self.scale(),
            bits: self.literal.query_bits,
        }
    }
}
