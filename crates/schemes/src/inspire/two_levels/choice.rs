//! Choice and encoding of parameters.
//!
//! The search finds the message bits with the smallest messages that decode at both levels. The
//! first level is switched to whole digits: A = τ·D bits of a mask word and B = τ′·D bits of a body
//! word. For each D, τ, τ′ and rounding of keys, packing and switching use a part of the variance
//! that each level's threshold allows. The rest goes to the rounding of the level's selector, in
//! closed form.

use papir_core::certificate::FailureCertificate;
use papir_core::codec::Writer;
use papir_core::scheme::{Parameters, Target};
use papir_core::{Choice, Description, Error, FailureBound, Privacy, Result, Shape, UpdateCost};
use papir_lattice::gadget::GadgetParams;
use papir_lattice::noise::{Setting, bits_for_rounding};
use papir_lattice::params::Literal as RlweLiteral;
use papir_lattice::response::ResponseBits;
use papir_ring::CyclotomicRing;

use super::certificate;
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

/// Least number of words in a unit that is considered. With fewer words, packs cost more than their
/// rows.
const LEAST_UNIT_WORDS: usize = 16;
/// log₂ of the default modulus, rounded up.
const LOG2_Q: u32 = 56;
/// log₂ of the failure probability of each level, by default. The probability of either is below
/// 2⁻⁴⁰.
const LEVEL_FAILURE_LOG2: f64 = -41.5;
/// Widths of a digit that are compared.
const DIGIT_BITS: std::ops::RangeInclusive<u32> = 5..=15;
/// Values of log₂ z that are compared, for gadgets of two digits. The gadgets drop the remaining
/// low bits of q.
const LOG_BASES: std::ops::RangeInclusive<u32> = 12..=19;
/// Numbers of bits of a coefficient of key material that are compared.
const KEY_BITS: std::ops::RangeInclusive<u32> = 30..=54;
/// Largest number of bits of a body beyond the bits of its digit. More bits make no message
/// smaller.
const BODY_MARGIN: u32 = 6;

impl Params {
    /// Creates the parameters with the smallest messages for units of γ₀ words and at most
    /// `columns` columns.
    ///
    /// # Errors
    /// The errors of [`Params::new`].
    pub fn with_columns(shape: Shape, unit_words: usize, columns: u64) -> Result<Self> {
        let units = Units::new(shape, 2 * unit_words)?.units();
        Self::with_blocks(shape, unit_words, units.div_ceil(columns.max(1)) as usize)
    }

    /// Creates the parameters with the smallest messages for t units of γ₀ words in a column.
    ///
    /// # Errors
    /// The errors of [`Params::new`].
    pub fn with_blocks(shape: Shape, unit_words: usize, blocks: usize) -> Result<Self> {
        Self::failing_less(shape, unit_words, blocks, FailureBound::DEFAULT)
    }

    /// Creates the parameters of [`Params::with_blocks`] within this bound on the failure
    /// probability.
    ///
    /// # Errors
    /// The errors of [`Params::new`].
    pub fn failing_less(
        shape: Shape,
        unit_words: usize,
        blocks: usize,
        failure: FailureBound,
    ) -> Result<Self> {
        let layout = Layout::new(shape, unit_words, blocks)?;

        // The search sets the gadget, digits and bits.
        let literal = Literal {
            shape,
            rlwe: RlweLiteral::DEFAULT,
            blocks,
            // γ₁ is d/2, the most that a partial pack holds.
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

        match search(&literal, &layout) {
            Some(found) => Self::new(found),
            None => Err(refused(NAME)(format!(
                "{} columns of {blocks} units exceed the decoding limit",
                layout.columns
            ))),
        }
    }

    /// Returns the least number of words in a unit that holds a record: a power of two, at least
    /// 16.
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

    /// Returns the candidates with units of `unit_words` words.
    fn of_width(
        shape: Shape,
        unit_words: usize,
        failure: FailureBound,
    ) -> impl Iterator<Item = Result<Self>> {
        // Records that fit no unit leave one candidate, whose error then is the reason.
        let units = Units::new(shape, 2 * unit_words).map_or(1, |unit_layout| unit_layout.units());
        std::iter::successors(Some(1u64), |t| Some(2 * t))
            // The second bound is t² ≤ 16·units: up to four times the square root.
            .take_while(move |&t| t <= units && t <= units.div_ceil(t).saturating_mul(16))
            .map(move |t| Self::failing_less(shape, unit_words, t as usize, failure))
    }

    /// Returns names and values of the parameters, for a description.
    fn named_values(&self) -> Vec<(&'static str, String)> {
        let Literal {
            rlwe,
            gammas,
            gadget,
            query_bits,
            key_bits,
            mask,
            body,
            answer,
            ..
        } = self.literal();
        let layout = self.layout();
        let noise = self.noise();
        let modulus_log2 = (self.rlwe().ring().modulus() as f64).log2();

        vec![
            ("d", rlwe.degree.to_string()),
            ("log2 q", format!("{modulus_log2:.2}")),
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
                deviation_log2(noise.first + noise.first_switch),
            ),
            (
                "log2 noise of the second level",
                deviation_log2(noise.second + noise.second_switch),
            ),
        ]
    }
}

/// Returns log₂ of the standard deviation of a variance, for a description.
fn deviation_log2(variance: f64) -> String {
    format!("{:.2}", variance.log2() / 2.0)
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

    fn with_fixed(shape: Shape, choice: Choice) -> Result<Self> {
        match choice {
            Choice::Columns(columns) => {
                Self::with_columns(shape, Self::least_unit_words(shape)?, columns)
            }
            Choice::Packed { columns, words } => {
                Self::with_columns(shape, usize::try_from(words).unwrap_or(usize::MAX), columns)
            }
            other => Err(other.refused_by(NAME)),
        }
    }

    /// Returns candidates with the least γ₀ and twice that, each with every power of two as t up to
    /// four times the square root of the number of units.
    fn candidates(shape: Shape, failure: FailureBound) -> Result<Vec<Self>> {
        let least = Self::least_unit_words(shape)?;
        let most = RlweLiteral::DEFAULT.degree / 2;
        let widths = [least, 2 * least]
            .into_iter()
            .filter(|&words| words <= most);
        successes(widths.flat_map(|words| Self::of_width(shape, words, failure)))
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
        let literal = self.literal();
        Description {
            scheme: NAME,
            privacy: Privacy::Private,
            shape: self.shape(),
            sizes: self.sizes(),
            security: self.rlwe().security().map(security),
            failure_log2: self.failure_log2,
            failure_bound: literal.failure,
            limits: one_record(8 * literal.rlwe.degree as u64, UpdateCost::PerPack),
            parameters: self.named_values(),
            work: self.work(),
        }
    }

    fn certificate(&self) -> Result<FailureCertificate> {
        let row = self.rlwe().security();
        certificate::of(&self.describe(), self.literal(), self.layout(), row)
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

/// Finds the literal with the smallest messages. It replaces the gadget, digits and bits of the
/// given literal, whose bits are the widest. Returns `None` if no literal decodes.
fn search(literal: &Literal, layout: &Layout) -> Option<Literal> {
    let mut found = Vec::new();

    for LevelDigits { mask, body } in DIGIT_BITS.flat_map(digits) {
        for log_base in LOG_BASES {
            for key_bits in KEY_BITS {
                let candidate = Literal {
                    gadget: gadget(log_base),
                    key_bits,
                    mask,
                    body,
                    ..*literal
                };
                found.extend(complete(candidate, layout));
            }
        }
    }

    found
        .into_iter()
        .min_by_key(|literal| literal.message_bits(layout))
}

/// Returns the gadget of two digits of `log_base` bits at the top of a modulus of 56 bits.
const fn gadget(log_base: u32) -> GadgetParams {
    GadgetParams {
        levels: 2,
        log_base,
        drop: LOG2_Q - 2 * log_base,
    }
}

/// Digits of the first level's masks and bodies.
struct LevelDigits {
    mask: Digits,
    body: Digits,
}

/// Returns the fewest digits of this width that the first level may have, and one digit more of
/// each kind, in all combinations.
fn digits(bits: u32) -> Vec<LevelDigits> {
    let mut all = Vec::new();
    // Below 22 and 17 bits switching alone exceeds the threshold of a 16-bit word.
    for mask in digit_counts(22, bits) {
        for body in digit_counts(17, bits).filter(|&body| body <= mask) {
            all.push(LevelDigits {
                mask: Digits { bits, count: mask },
                body: Digits { bits, count: body },
            });
        }
    }
    all
}

/// Returns the least number of digits of `bits` bits that have at least `least` bits together, and
/// one more. Numbers above 32 bits are left out.
fn digit_counts(least: u32, bits: u32) -> impl Iterator<Item = usize> {
    let first = least.div_ceil(bits);
    (first..=first + 1)
        .filter(move |count| count * bits <= 32)
        .map(|count| count as usize)
}

/// Completes gadget, digits and key bits with the best other bits. Returns `None` if no variance is
/// left for them.
fn complete(literal: Literal, layout: &Layout) -> Option<Literal> {
    let input = NoiseInput::new(&literal, layout);
    let noise = Noise::compute(&input);
    let Setting {
        degree,
        modulus,
        sigma,
        ..
    } = input.setting;

    let failure = LEVEL_FAILURE_LOG2 - literal.failure.beyond_default();
    let allowed = [0, 1].map(|level| {
        input
            .tails()
            .variance_for(input.threshold(level), input.coefficients()[level], failure)
    });
    // The literal has the widest selectors, so what is left is for rounding them further.
    let first = selector_bits(&input, 0, allowed[0] - noise.first - noise.first_switch)?;
    let left = allowed[1] - noise.second;

    let digit = literal.mask.bits;
    // Decoding rounds to half the distance of digits, so an answer has a bit more than a digit.
    let answers = (digit + 1..=32).flat_map(|a| {
        (digit + 1..=(digit + BODY_MARGIN).min(a)).map(move |b| ResponseBits { a, b })
    });
    answers
        .filter(|answer| answer.fit(degree, modulus, sigma))
        .filter_map(|answer| {
            let switched = input.setting.response_switch(answer.a, answer.b);
            let second = selector_bits(&input, 1, left - switched)?;
            Some(Literal {
                query_bits: [first, second],
                answer,
                ..literal
            })
        })
        .min_by_key(|literal| literal.message_bits(layout))
}

/// Returns the fewest bits of a selector whose rounding, times the words of a row, adds at most
/// `left` to the variance of the widest selector. Returns `None` if these bits are too many.
fn selector_bits(input: &NoiseInput, level: usize, left: f64) -> Option<u32> {
    let bits = bits_for_rounding(input.setting.modulus, left / input.squares(level))?;
    if bits > MAX_QUERY_BITS {
        return None;
    }
    Some(bits)
}
