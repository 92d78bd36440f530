//! Choice and encoding of parameters.
//!
//! The search finds the message bits with the smallest messages that decode at both levels. The
//! first level is switched to whole digits: A = τ·D bits of a mask word and B = τ′·D of a body
//! word. For each D, τ, τ′ and rounding of keys, the variance that each level's threshold leaves
//! after packing and switching goes to the rounding of its selector, in closed form.

use papir_core::codec::Writer;
use papir_core::scheme::{Parameters, Target};
use papir_core::{Choice, Description, Error, FailureBound, Privacy, Result, Shape, UpdateCost};
use papir_lattice::gadget::GadgetParams;
use papir_lattice::noise::{Setting, bits_for_rounding};
use papir_lattice::params::Literal as RlweLiteral;
use papir_lattice::response::ResponseBits;

use super::layout::Layout;
use super::literal::{Literal, MAX_QUERY_BITS, NAME};
use super::noise::{Noise, NoiseInput, WORD_BITS};
use super::params::Params;
use crate::shared::digits::Digits;
use crate::shared::messages::{
    gadget_of, gadget_values, read_all, read_bytes, read_failure, read_ring, read_shape,
    write_bytes, write_failure, write_ring, write_shape,
};
use crate::shared::parameters::{self, best, one_record, refused, security, successes};
use crate::shared::units::Units;

/// Fewest words of a unit that are considered: below, packs cost more than their rows.
const LEAST_UNIT_WORDS: usize = 16;
/// log₂ of the default modulus, rounded up.
const LOG2_Q: u32 = 56;
/// log₂ of the failure probability of each level, by default. The sum is below 2⁻⁴⁰.
const LEVEL_FAILURE_LOG2: f64 = -41.5;
/// Widths of a digit that are compared.
const DIGIT_BITS: std::ops::RangeInclusive<u32> = 5..=15;
/// log₂ z of the gadgets of two digits that are compared; they drop the remaining low bits of q.
const LOG_BASES: std::ops::RangeInclusive<u32> = 12..=19;
/// Bits of a coefficient of key material.
const KEY_BITS: std::ops::RangeInclusive<u32> = 30..=54;
/// Most bits of a body beyond those of its digit; more make no message smaller.
const BODY_MARGIN: u32 = 6;

impl Params {
    /// The smallest messages with units of γ₀ words and at most `columns` columns.
    ///
    /// # Errors
    /// The errors of [`Params::new`].
    pub fn with_columns(shape: Shape, unit_words: usize, columns: u64) -> Result<Self> {
        let units = Units::new(shape, 2 * unit_words)?.units();
        Self::with_blocks(shape, unit_words, units.div_ceil(columns.max(1)) as usize)
    }

    /// The smallest messages with t units of γ₀ words in a column.
    ///
    /// # Errors
    /// The errors of [`Params::new`].
    pub fn with_blocks(shape: Shape, unit_words: usize, blocks: usize) -> Result<Self> {
        Self::failing_less(shape, (unit_words, blocks), FailureBound::DEFAULT)
    }

    /// [`Params::with_blocks`] with this failure probability.
    ///
    /// # Errors
    /// The errors of [`Params::new`].
    pub fn failing_less(
        shape: Shape,
        (unit_words, blocks): (usize, usize),
        failure: FailureBound,
    ) -> Result<Self> {
        let layout = Layout::new(shape, unit_words, blocks)?;
        // The search sets the gadget, digits and bits.
        let literal = Literal {
            shape,
            rlwe: RlweLiteral::DEFAULT,
            blocks,
            gammas: [unit_words, RlweLiteral::DEFAULT.degree / 2, unit_words],
            gadget: gadget(19),
            query_bits: [MAX_QUERY_BITS; 2],
            key_bits: 55,
            mask: Digits { bits: 14, count: 2 },
            body: Digits { bits: 14, count: 2 },
            answer: ResponseBits { a: 32, b: 32 },
            failure,
        };
        literal.check_gammas()?;
        Self::new(search(&literal, &layout).ok_or_else(|| {
            refused(NAME)(format!(
                "{} columns of {blocks} units exceed the decoding limit",
                layout.columns
            ))
        })?)
    }

    /// Fewest words of a unit that hold a record: a power of two, at least 16.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] for records beyond the largest unit.
    pub fn least_unit_words(shape: Shape) -> Result<usize> {
        let most = RlweLiteral::DEFAULT.degree / 2;
        let least = shape
            .record_bytes()
            .div_ceil(2)
            .next_power_of_two()
            .max(LEAST_UNIT_WORDS);
        if least > most {
            let expected = format!("at most {} in {NAME}", 16 * most);
            return Err(Error::out_of_bounds(
                "the record length in bits",
                shape.record_bits(),
                expected,
            ));
        }
        Ok(least)
    }
}

impl Parameters for Params {
    fn choose(shape: Shape, target: impl Into<Target>) -> Result<Self> {
        let Target { goal, failure } = target.into();
        let affordable = Self::candidates(shape, failure)?
            .into_iter()
            .filter(|candidate| candidate.affordable(goal));
        best(affordable, |candidate| candidate.score(goal)).ok_or_else(|| {
            refused(NAME)(format!(
                "{shape:?}: the packing matrices would exceed the database"
            ))
        })
    }

    fn with_choice(shape: Shape, choice: Choice) -> Result<Self> {
        match choice {
            Choice::Goal(goal) => Self::choose(shape, goal),
            Choice::Columns(columns) => {
                Self::with_columns(shape, Self::least_unit_words(shape)?, columns)
            }
            Choice::Packed { columns, words } => {
                Self::with_columns(shape, usize::try_from(words).unwrap_or(usize::MAX), columns)
            }
            other => Err(other.refused_by(NAME)),
        }
    }

    /// The least γ₀ and twice that, with a t of every power of two up to four times the square root
    /// of the number of units.
    fn candidates(shape: Shape, failure: FailureBound) -> Result<Vec<Self>> {
        let least = Self::least_unit_words(shape)?;
        let most = RlweLiteral::DEFAULT.degree / 2;
        let of_width = |unit_words: usize| {
            let units =
                Units::new(shape, 2 * unit_words).map_or(1, |unit_layout| unit_layout.units());
            std::iter::successors(Some(1u64), |t| Some(2 * t))
                .take_while(move |&t| t <= units && t <= units.div_ceil(t).saturating_mul(16))
                .map(move |t| Self::failing_less(shape, (unit_words, t as usize), failure))
        };
        let widths = [least, 2 * least]
            .into_iter()
            .filter(|&words| words <= most);
        successes(widths.flat_map(of_width))
    }

    fn label(&self) -> String {
        let [unit, first, second] = self.literal().gammas;
        let Layout {
            blocks, columns, ..
        } = self.layout();
        format!("t = {blocks}, {columns} columns, gamma = {unit}, {first}, {second}")
    }

    fn shape(&self) -> Shape {
        self.layout().shape()
    }

    fn describe(&self) -> Description {
        let Literal {
            rlwe,
            gammas,
            gadget,
            query_bits,
            key_bits,
            mask,
            body,
            answer,
            failure,
            ..
        } = self.literal();
        let layout = self.layout();
        let noise = self.noise();
        let log2 = |variance: f64| format!("{:.2}", variance.log2() / 2.0);
        Description {
            scheme: NAME,
            privacy: Privacy::Private,
            shape: self.shape(),
            sizes: self.sizes(),
            security: self.rlwe().security().map(security),
            failure_log2: self.failure_log2,
            failure_bound: *failure,
            limits: one_record(8 * rlwe.degree as u64, UpdateCost::PerPack),
            parameters: vec![
                ("d", rlwe.degree.to_string()),
                (
                    "log2 q",
                    format!("{:.2}", (self.rlwe().ring().modulus() as f64).log2()),
                ),
                ("sigma", rlwe.sigma.to_string()),
                ("p of the first level", (1u32 << WORD_BITS).to_string()),
                ("p of the second level", (1u32 << mask.bits).to_string()),
                ("t (units of a column)", layout.blocks.to_string()),
                ("N/t (columns)", layout.columns.to_string()),
                ("records of a unit", layout.per_unit().to_string()),
                (
                    "gamma_0, gamma_1, gamma_2",
                    format!("{}, {}, {}", gammas[0], gammas[1], gammas[2]),
                ),
                (
                    "digits of a mask and of a body",
                    format!("{} and {}", mask.count, body.count),
                ),
                ("packing gadget", parameters::gadget(*gadget)),
                (
                    "query bits",
                    format!("{} and {}", query_bits[0], query_bits[1]),
                ),
                ("key bits", key_bits.to_string()),
                (
                    "answer bits (mask, body)",
                    format!("{}, {}", answer.a, answer.b),
                ),
                (
                    "log2 noise of the first level",
                    log2(noise.first + noise.first_switch),
                ),
                (
                    "log2 noise of the second level",
                    log2(noise.second + noise.second_switch),
                ),
            ],
            work: self.work(),
        }
    }

    fn encode(&self) -> Vec<u8> {
        let Literal {
            shape,
            rlwe,
            blocks,
            gammas,
            gadget,
            query_bits,
            key_bits,
            mask,
            body,
            answer,
            failure,
        } = *self.literal();
        let mut writer = Writer::new();
        write_shape(&mut writer, shape);
        write_ring(&mut writer, &rlwe);
        let [unit, first, second] = gammas.map(|gamma| gamma as u32);
        writer.u32(blocks as u32).u32(unit).u32(first).u32(second);
        write_bytes(&mut writer, gadget_values(gadget));
        write_bytes(&mut writer, [query_bits[0], query_bits[1], key_bits]);
        write_bytes(
            &mut writer,
            [
                mask.bits,
                mask.count as u32,
                body.count as u32,
                answer.a,
                answer.b,
            ],
        );
        write_failure(&mut writer, failure);
        writer.finish()
    }

    fn decode(bytes: &[u8]) -> Result<Self> {
        Self::new(read_all("the parameters of InsPIRe(2)", bytes, |reader| {
            let shape = read_shape(reader)?;
            let rlwe = read_ring(reader)?;
            let blocks = reader.u32()? as usize;
            let gammas = [
                reader.u32()? as usize,
                reader.u32()? as usize,
                reader.u32()? as usize,
            ];
            let gadget = gadget_of(read_bytes(reader)?);
            let [first, second, key_bits, bits, mask, body, a, b] = read_bytes(reader)?;
            let [mask, body] = [mask, body].map(|count| Digits {
                bits,
                count: count as usize,
            });
            let query_bits = [first, second];
            let answer = ResponseBits { a, b };
            let failure = read_failure(reader)?;
            Ok(Literal {
                shape,
                rlwe,
                blocks,
                gammas,
                gadget,
                query_bits,
                key_bits,
                mask,
                body,
                answer,
                failure,
            })
        })?)
    }
}

/// The literal with the smallest messages, with other gadget, digits and bits than the given one,
/// whose bits are the widest; `None` if none decodes.
fn search(literal: &Literal, layout: &Layout) -> Option<Literal> {
    let keys =
        LOG_BASES.flat_map(|log_base| KEY_BITS.map(move |key_bits| (gadget(log_base), key_bits)));
    let of_digits = |(mask, body)| {
        let of_keys = move |(gadget, key_bits)| Literal {
            gadget,
            key_bits,
            mask,
            body,
            ..*literal
        };
        keys.clone().map(of_keys)
    };
    let literals = DIGIT_BITS.flat_map(digits).flat_map(of_digits);
    let complete = literals.filter_map(|literal| complete(literal, layout));
    complete.min_by_key(|literal| literal.message_bits(layout))
}

/// Two digits of `log_base` bits at the top of a modulus of 56 bits.
const fn gadget(log_base: u32) -> GadgetParams {
    GadgetParams {
        levels: 2,
        log_base,
        drop: LOG2_Q - 2 * log_base,
    }
}

/// The fewest digits of this width that the first level may have, and one more of each.
fn digits(bits: u32) -> impl Iterator<Item = (Digits, Digits)> {
    let counts = move |least: u32| {
        let first = least.div_ceil(bits);
        (first..=first + 1)
            .filter(move |count| count * bits <= 32)
            .map(move |count| count as usize)
    };
    // Below 22 and 17 bits switching alone exceeds the threshold of a 16-bit word.
    counts(22).flat_map(move |mask| {
        let body = counts(17).filter(move |&body| body <= mask);
        body.map(move |body| (Digits { bits, count: mask }, Digits { bits, count: body }))
    })
}

/// Completes gadget, digits and key bits with the best other bits; `None` if no variance is left
/// for them.
fn complete(literal: Literal, layout: &Layout) -> Option<Literal> {
    let input = NoiseInput::new(&literal, layout);
    let noise = Noise::compute(&input);
    let Setting {
        degree,
        modulus,
        sigma,
        ..
    } = input.setting;
    // The fewest bits of a selector whose rounding, times the words of a row, adds at most `left`
    // to the variance of the widest selector.
    let query_bits = |level: usize, left: f64| {
        let bits = bits_for_rounding(modulus, left / input.squares(level))?;
        (bits <= MAX_QUERY_BITS).then_some(bits)
    };
    let failure = LEVEL_FAILURE_LOG2 - literal.failure.beyond_default();
    let allowed = [0, 1].map(|level| {
        input
            .tails()
            .variance_for(input.threshold(level), input.coefficients()[level], failure)
    });
    let first = query_bits(0, allowed[0] - noise.first - noise.first_switch)?;
    let left = allowed[1] - noise.second;
    let of_answer = |answer: ResponseBits| {
        let second = query_bits(1, left - input.setting.response_switch(answer.a, answer.b))?;
        Some(Literal {
            query_bits: [first, second],
            answer,
            ..literal
        })
    };
    let digit = literal.mask.bits;
    let answers = (digit + 1..=32).flat_map(|a| {
        (digit + 1..=(digit + BODY_MARGIN).min(a)).map(move |b| ResponseBits { a, b })
    });
    let fitting = answers.filter(|answer| answer.fit(degree, modulus, sigma));
    fitting
        .filter_map(of_answer)
        .min_by_key(|literal| literal.message_bits(layout))
}
