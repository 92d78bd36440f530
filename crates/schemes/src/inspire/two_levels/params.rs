//! Checked parameters of InsPIRe⁽²⁾.

use papir_core::{Error, Result, Shape};
use papir_lattice::gadget::Gadget;
use papir_lattice::params::{Literal as RlweLiteral, RlweParams};
use papir_lattice::response::ResponseBits;

use super::layout::Layout;
pub use super::literal::Literal;
use super::literal::{MAX_QUERY_BITS, NAME, check_gammas};
use super::noise::{Noise, NoiseInput, WORD_BITS};
use super::search;
use crate::shared::digits::Digits;
use crate::shared::matrices::Selector;
use crate::shared::parameters::{check_failure, refused, unfit};
use crate::shared::units::Units;

/// Fewest words of a unit that are considered: below, packs cost more than their rows.
const LEAST_UNIT_WORDS: usize = 16;
/// Labels of the masks of A₀ and A₁.
const SELECTORS: [&str; 2] = ["inspire2/first", "inspire2/second"];

/// Checked parameters with the tables built from them.
#[derive(Clone, Debug)]
pub struct Params {
    literal: Literal,
    layout: Layout,
    rlwe: RlweParams,
    gadget: Gadget,
    noise: Noise,
    failure_log2: f64,
}

impl Params {
    /// Checks a literal: security from the table, failure probability from the noise.
    ///
    /// # Errors
    /// [`Error::Insecure`], [`Error::Parameters`] or [`Error::OutOfBounds`].
    pub fn new(literal: Literal) -> Result<Self> {
        let params = Self::build(literal, RlweParams::new(literal.rlwe).map_err(unfit(NAME))?)?;
        check_failure(NAME, params.failure_log2)?;
        Ok(params)
    }

    /// Builds parameters without checking security or correctness, for tests at small degrees.
    ///
    /// # Errors
    /// [`Error::Parameters`] or [`Error::OutOfBounds`] if the values do not fit together.
    pub fn insecure(literal: Literal) -> Result<Self> {
        Self::build(literal, RlweParams::insecure(literal.rlwe).map_err(refused(NAME))?)
    }

    /// The smallest messages with units of γ₀ words and at most `columns` columns.
    ///
    /// # Errors
    /// As [`Params::new`].
    pub fn with_columns(shape: Shape, unit_words: usize, columns: u64) -> Result<Self> {
        let units = Units::new(shape, 2 * unit_words)?.units();
        Self::with_blocks(shape, unit_words, units.div_ceil(columns.max(1)) as usize)
    }

    /// The smallest messages with t units of γ₀ words in a column.
    ///
    /// # Errors
    /// As [`Params::new`].
    pub fn with_blocks(shape: Shape, unit_words: usize, blocks: usize) -> Result<Self> {
        let layout = Layout::new(shape, unit_words, blocks)?;
        // The search sets all bits and the gadget.
        let literal = Literal {
            shape,
            rlwe: RlweLiteral::DEFAULT,
            blocks,
            gammas: [unit_words, RlweLiteral::DEFAULT.degree / 2, unit_words],
            gadget: search::gadget(19),
            query_bits: [MAX_QUERY_BITS; 2],
            key_bits: 55,
            mask: Digits { bits: 14, count: 2 },
            body: Digits { bits: 14, count: 2 },
            answer: ResponseBits { a: 32, b: 32 },
        };
        check_gammas(&literal)?;
        let bits = search::choose(&literal, &layout, MAX_QUERY_BITS).ok_or_else(|| {
            refused(NAME)(format!("{} columns of {blocks} units exceed the decoding limit", layout.columns))
        })?;
        Self::new(literal.with_bits(bits))
    }

    /// Fewest words of a unit that hold a record: a power of two, at least 16.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] for records beyond the largest unit.
    pub fn least_unit_words(shape: Shape) -> Result<usize> {
        let most = RlweLiteral::DEFAULT.degree / 2;
        let least = shape.record_bytes().div_ceil(2).next_power_of_two().max(LEAST_UNIT_WORDS);
        if least > most {
            let expected = format!("at most {} in {NAME}", 16 * most);
            return Err(Error::out_of_bounds("the record length in bits", shape.record_bits(), expected));
        }
        Ok(least)
    }

    fn build(literal: Literal, rlwe: RlweParams) -> Result<Self> {
        literal.check(rlwe.ring().modulus())?;
        let layout = Layout::new(literal.shape, literal.gammas[0], literal.blocks)?;
        let gadget = Gadget::new(rlwe.ring(), literal.gadget).map_err(refused(NAME))?;
        let input = NoiseInput::new(&literal, &layout);
        let noise = Noise::compute(&input);
        let failure_log2 = noise.failure_log2(&input);
        Ok(Self { literal, layout, rlwe, gadget, noise, failure_log2 })
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
    pub fn gadget(&self) -> &Gadget {
        &self.gadget
    }

    /// Predicted noise of both levels.
    pub fn noise(&self) -> &Noise {
        &self.noise
    }

    /// Δ = round(q/p) of both levels: p = 2¹⁶, and 2^D.
    pub fn scales(&self) -> [u64; 2] {
        [WORD_BITS, self.literal.mask.bits]
            .map(|bits| (self.rlwe.ring().modulus() + (1 << (bits - 1))) >> bits)
    }

    /// Lengths of both selectors: N/t and t.
    pub fn selectors(&self) -> [usize; 2] {
        [self.layout.columns, self.layout.blocks]
    }

    /// log₂ of the probability that an answer does not decode.
    pub(super) fn failure_log2(&self) -> f64 {
        self.failure_log2
    }

    /// The selector of a level.
    pub fn selector(&self, level: usize) -> Selector<'_> {
        Selector {
            rlwe: &self.rlwe,
            label: SELECTORS[level],
            columns: self.selectors()[level],
            scale: self.scales()[level],
            bits: self.literal.query_bits[level],
        }
    }
}
