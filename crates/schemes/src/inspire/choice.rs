//! Choice and encoding of parameters.
//!
//! For a shape and an interpolation, the search finds the modulus, gadgets (appendix G.1) and
//! message bits with the smallest messages at a failure probability. For a goal, it also finds t.

use std::cell::Cell;

use papir_core::certificate::FailureCertificate;
use papir_core::codec::{Reader, Writer};
use papir_core::scheme::{Parameters, Target};
use papir_core::{
    Choice, Description, Error, FailureBound, Goal, MAX_RECORD_BITS, Privacy, Result, Shape,
    UpdateCost,
};
use papir_lattice::params::Literal as RlweLiteral;
use papir_ring::CyclotomicRing;

use super::certificate;
use super::interpolation::Interpolation;
use super::layout::{Layout, PLAINTEXT, unit_layout};
use super::literal::{KeyBits, Literal, NAME};
use super::noise;
use super::params::Params;
use super::widths::{Frame, MODULI, Modulus, PACKING_LEVELS, RGSW_LEVELS, Widths};
use crate::shared::messages::{
    gadget_of, gadget_values, read_bytes, read_failure, read_ring, read_shape, write_bytes,
    write_failure, write_ring, write_shape,
};
use crate::shared::parameters::{best, gadget, one_record, refused, security, successes};

/// Inverse share of the smallest messages. Moduli and numbers of digits are polished if their
/// messages are larger than the smallest by at most this share.
const CLOSE: u64 = 32;
/// Odd factors of t that are compared. The number of rotations of an interpolation grows with their
/// squares.
const ODD_FACTORS: [usize; 2] = [3, 5];
/// Factor of the cost of a power of two, below which a t that is not a power of two is preferred.
const PREFERENCE: f64 = 0.99;
/// Factor by which the setup of a t that is not a power of two may take longer.
const MAX_SETUP: f64 = 2.0;
/// Flag in the byte of an answer's mask bits. It is set if a part of the range is reserved.
const RESERVED: u32 = 1 << 7;

impl Params {
    /// Creates the parameters with the smallest messages for at most `columns` columns. t is the
    /// least power of two, or three or five times a power of two, that gives few enough columns.
    /// With larger odd factors encoding takes long.
    ///
    /// # Errors
    /// The errors of [`Params::with_points`].
    pub fn with_columns(shape: Shape, columns: u64) -> Result<Self> {
        let degree = RlweLiteral::DEFAULT.degree;
        let least = unit_layout(shape, degree)?.units().div_ceil(columns.max(1)) as usize;

        let mixed = ODD_FACTORS
            .iter()
            .map(|&odd| odd * least.div_ceil(odd).next_power_of_two())
            .filter(|&points| points <= 2 * degree);

        // Above 2d points there are products of powers of two only.
        let points = mixed.fold(least.next_power_of_two(), usize::min);
        Self::with_points(shape, points)
    }

    /// Creates the parameters with the smallest messages for a shape and t = `points`.
    ///
    /// # Errors
    /// The errors of [`Params::with_interpolation`].
    pub fn with_points(shape: Shape, points: usize) -> Result<Self> {
        Self::with_interpolation(
            shape,
            Interpolation::of_points(points, RlweLiteral::DEFAULT.degree)?,
        )
    }

    /// Creates parameters like [`Params::with_points`], for a failure probability of at most the
    /// bound divided by 2^`margin`.
    ///
    /// # Errors
    /// The errors of [`Params::with_points`].
    pub fn failing_less(
        shape: Shape,
        points: usize,
        failure: FailureBound,
        margin: f64,
    ) -> Result<Self> {
        let interpolation = Interpolation::of_points(points, RlweLiteral::DEFAULT.degree)?;
        Search::new(failure, margin)?.smallest(shape, interpolation)
    }

    /// Creates the parameters with the smallest messages for a shape and an interpolation.
    ///
    /// # Errors
    /// [`Error::Parameters`] if no answer would decode, [`Error::OutOfBounds`] for too many columns
    /// or rows.
    pub fn with_interpolation(shape: Shape, interpolation: Interpolation) -> Result<Self> {
        Search::new(FailureBound::DEFAULT, 0.0)?.smallest(shape, interpolation)
    }

    /// Returns names and values of the parameters, for a description.
    fn named_values(&self) -> Vec<(&'static str, String)> {
        let literal = self.literal();
        let layout = self.layout();
        let modulus_log2 = (self.rlwe().ring().modulus() as f64).log2();
        let rgsw = if layout.points == 1 {
            "none".to_owned()
        } else {
            gadget(literal.rgsw)
        };
        let key_bits = literal.key_bits.all().map(|bits| bits.to_string());
        let (a, b) = literal.answer_bits;

        vec![
            ("d", layout.degree.to_string()),
            ("log2 q", format!("{modulus_log2:.2}")),
            ("sigma", literal.rlwe.sigma.to_string()),
            ("p", PLAINTEXT.to_string()),
            ("t", layout.interpolation.to_string()),
            ("N/t (columns)", layout.columns.to_string()),
            ("ring elements a record", layout.chunks.to_string()),
            ("records a ring element", layout.per_element().to_string()),
            ("packing gadget", gadget(literal.key_switch)),
            ("RGSW gadget", rgsw),
            ("query bits", literal.query_bits.to_string()),
            ("key bits", key_bits.join(" + ")),
            ("answer bits", format!("{a} + {b}")),
        ]
    }
}

impl Parameters for Params {
    /// Chooses the best of the candidates for a goal. A t that is not a power of two must be better
    /// by 1 %, and its setup may take at most twice the time.
    fn choose(shape: Shape, target: impl Into<Target>) -> Result<Self> {
        let Target { goal, failure } = target.into();
        let affordable = Self::candidates(shape, failure)?
            .into_iter()
            .filter(|one| one.affordable(goal));
        let (powers, others): (Vec<_>, Vec<_>) = affordable.partition(is_power);
        let power = best(powers, |params| params.score(goal));
        let other = best(others, |params| params.score(goal));

        match (power, other) {
            (Some(power), Some(other)) if is_preferred(&other, &power, goal) => Ok(other),
            (Some(one), _) | (None, Some(one)) => Ok(one),
            (None, None) => Err(refused(NAME)(format!(
                "{shape:?}: the packing matrices would exceed the database"
            ))),
        }
    }

    fn with_fixed(shape: Shape, choice: Choice) -> Result<Self> {
        match choice {
            Choice::Columns(columns) => Self::with_columns(shape, columns),
            other => Err(other.refused_by(NAME)),
        }
    }

    fn candidates(shape: Shape, failure: FailureBound) -> Result<Vec<Self>> {
        Search::new(failure, 0.0)?.candidates(shape)
    }

    fn label(&self) -> String {
        format!(
            "t = {}, {} columns",
            self.layout().interpolation,
            self.layout().columns
        )
    }

    fn shape(&self) -> Shape {
        self.layout().shape
    }

    fn describe(&self) -> Description {
        Description {
            scheme: NAME,
            privacy: Privacy::Private,
            shape: self.shape(),
            sizes: self.sizes(),
            security: self.rlwe().security().map(security),
            failure_log2: self.failure_log2,
            failure_bound: self.literal().failure,
            limits: one_record(MAX_RECORD_BITS, UpdateCost::PerPack),
            parameters: self.named_values(),
            work: self.work(),
        }
    }

    fn certificate(&self) -> Result<FailureCertificate> {
        let row = self.rlwe().security();
        certificate::of(&self.describe(), self.literal(), self.layout(), row)
    }

    fn encode(&self) -> Vec<u8> {
        let literal = self.literal();
        let mut writer = Writer::new();
        write_shape(&mut writer, literal.shape);
        write_ring(&mut writer, &literal.rlwe);
        writer.u32(literal.interpolation.points() as u32);
        write_bytes(&mut writer, gadget_values(literal.key_switch));
        write_bytes(&mut writer, gadget_values(literal.rgsw));

        let [y_g, y_h, rgsw] = literal.key_bits.all();
        let (a, b) = literal.answer_bits;
        // A mask has at most 62 bits, so the highest bit of their byte is free.
        let reserved = if literal.reserved { RESERVED } else { 0 };
        write_bytes(
            &mut writer,
            [literal.query_bits, y_g, y_h, rgsw, a | reserved, b],
        );

        // One variable is its t, which is written already: its size would be redundant.
        if literal.interpolation.variables().len() > 1 {
            for size in literal.interpolation.variables() {
                writer.u32(size as u32);
            }
        }

        write_failure(&mut writer, literal.failure);
        writer.finish()
    }

    fn decode(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new("InsPIRe parameters", bytes);
        let shape = read_shape(&mut reader)?;
        let rlwe = read_ring(&mut reader)?;
        let points = reader.u32()? as usize;
        let key_switch = gadget_of(read_bytes(&mut reader)?);
        let rgsw = gadget_of(read_bytes(&mut reader)?);

        let [query_bits, y_g, y_h, point, a, b] = read_bytes(&mut reader)?;
        let key_bits = KeyBits {
            y_g,
            y_h,
            rgsw: point,
        };
        let (interpolation, failure) = read_interpolation(points, reader)?;

        // A service that could choose otherwise would make clients accept foreign answers.
        if a & RESERVED == 0 {
            return Err(Error::malformed(
                "InsPIRe parameters",
                "no reserve between messages",
                "1/32",
            ));
        }

        Self::new(Literal {
            shape,
            rlwe,
            interpolation,
            key_switch,
            rgsw,
            query_bits,
            key_bits,
            answer_bits: (a & !RESERVED, b),
            reserved: true,
            failure,
        })
    }
}

/// Reads the interpolation and the failure bound. The interpolation has one variable of t points,
/// or several variables if their sizes follow.
fn read_interpolation(
    points: usize,
    mut reader: Reader<'_>,
) -> Result<(Interpolation, FailureBound)> {
    // Sizes have four bytes each and a failure bound one: what is left of whole sizes is the bound.
    let (sizes, rest) = reader.rest().as_chunks::<4>();
    let failure = read_failure(&mut Reader::new("InsPIRe parameters", rest))?;
    let sizes: Vec<usize> = sizes
        .iter()
        .map(|size| u32::from_le_bytes(*size) as usize)
        .collect();

    if sizes.is_empty() {
        return Ok((Interpolation::of_one_variable(points)?, failure));
    }

    // Each interpolation has one encoding: one variable by its size is refused.
    let interpolation = Interpolation::of_variables(&sizes)?;
    if sizes.len() > 1 && interpolation.points() == points {
        return Ok((interpolation, failure));
    }

    let expected = format!("two or more numbers whose product is {points}");
    Err(Error::malformed(
        "the points of InsPIRe's variables",
        format!("{sizes:?}"),
        expected,
    ))
}

/// A frame with message bits that solve it.
struct Solution<'a> {
    frame: &'a Frame<'a>,
    widths: Widths,
}

impl Solution<'_> {
    /// Returns the number of bits of all messages.
    fn bits(&self) -> u64 {
        self.frame.bits(&self.widths)
    }
}

/// A search over moduli and gadgets.
struct Search {
    moduli: Vec<Modulus>,
    failure: FailureBound,
    /// log₂ of the largest accepted failure probability.
    failure_log2: f64,
    /// Number of computed variances. A test checks that it is small.
    tried: Cell<usize>,
}

impl Search {
    /// Creates a search for a failure probability of at most the bound divided by 2^`margin`.
    fn new(failure: FailureBound, margin: f64) -> Result<Self> {
        let moduli = MODULI
            .into_iter()
            .map(Modulus::new)
            .collect::<Result<_>>()?;
        Ok(Self {
            moduli,
            failure,
            failure_log2: failure.log2() - margin,
            tried: Cell::new(0),
        })
    }

    /// Finds the smallest messages for a shape and an interpolation. Of equal ones, it takes the
    /// ones with the fewest digits, then the ones with the smallest modulus.
    fn smallest(&self, shape: Shape, interpolation: Interpolation) -> Result<Params> {
        let layout = Layout::new(shape, RlweLiteral::DEFAULT.degree, interpolation)?;
        let frames = self.frames(&layout);
        let mut cut = Vec::with_capacity(frames.len());
        for frame in &frames {
            if let Some(widths) = frame.cut() {
                cut.push(Solution { frame, widths });
            }
        }

        // Polishing saves little: it does not make up for messages much larger than the smallest.
        let least = cut.iter().map(|one| one.bits()).min().unwrap_or(0);
        let polished = cut
            .into_iter()
            .filter(|one| one.bits() <= least + least / CLOSE)
            .map(|one| Solution {
                frame: one.frame,
                widths: one.frame.polish(one.widths),
            });

        let best = polished.min_by_key(|one| one.bits());
        if let Some(Solution { frame, widths }) = best
            && let Some(literal) = frame.literal(&widths)
        {
            return Params::of_ring(literal, frame.modulus.rlwe.clone());
        }
        Err(refused(NAME)(format!(
            "t = {} and {} columns fail with probability above {} even at full message precision",
            layout.interpolation, layout.columns, self.failure
        )))
    }

    /// Returns all frames of a layout: the fewest digits first, then the smallest modulus.
    fn frames<'a>(&'a self, layout: &'a Layout) -> Vec<Frame<'a>> {
        let mut frames = Vec::new();
        for packing in 0..PACKING_LEVELS.len() {
            for rgsw in 0..RGSW_LEVELS.len() {
                for modulus in &self.moduli {
                    frames.extend(self.frame(modulus, layout, packing, rgsw));
                }
            }
        }
        frames
    }

    /// Returns the frame of a modulus and numbers of digits; `packing` and `rgsw` are places in the
    /// lists of these numbers. Returns `None` if no variance is allowed.
    fn frame<'a>(
        &'a self,
        modulus: &'a Modulus,
        layout: &'a Layout,
        packing: usize,
        rgsw: usize,
    ) -> Option<Frame<'a>> {
        let allowed = noise::allowed(layout, modulus.value, self.failure, self.failure_log2)?;

        let d = layout.degree as u64;
        let keys = PACKING_LEVELS[packing] as u64 * d;
        let points =
            2 * RGSW_LEVELS[rgsw] as u64 * layout.interpolation.variables().len() as u64 * d;
        let answer = layout.chunks as u64 * d;

        Some(Frame {
            modulus,
            layout,
            packing: &modulus.packing[packing],
            rgsw: &modulus.rgsw[rgsw],
            failure: self.failure,
            // The checked parameters sum up in another order, and below 2⁻⁴⁰ they add the words'
            // part.
            allowed: allowed * (1.0 - 1e-9),
            squared_sums: noise::squared_sums(layout, self.failure),
            coefficients: [layout.columns as u64, keys, keys, points, answer, answer],
            tried: &self.tried,
        })
    }

    /// Returns the smallest messages of each t: first the powers of two that no other power
    /// dominates in size and time, then the other t that nothing dominates.
    fn candidates(&self, shape: Shape) -> Result<Vec<Params>> {
        let degree = RlweLiteral::DEFAULT.degree;
        let largest = unit_layout(shape, degree)?
            .units()
            .next_power_of_two()
            .min(8 * degree as u64) as usize;

        let powers = doublings(1)
            .take_while(|&t| t <= largest)
            .map(|t| self.smallest_of(shape, t));
        let mut candidates = undominated(successes(powers)?);

        // Above 2d points there are several variables, which only a power of two has.
        let most = largest.min(2 * degree);
        let others = ODD_FACTORS
            .into_iter()
            .flat_map(|odd| doublings(odd).take_while(|&t| t < most))
            .filter_map(|t| self.smallest_of(shape, t).ok());

        // Powers of two stay, also where another t dominates them: a goal may prefer them.
        let all: Vec<Params> = candidates.iter().cloned().chain(others).collect();
        candidates.extend(undominated(all).into_iter().filter(|one| !is_power(one)));
        Ok(candidates)
    }

    /// Finds the smallest messages for a shape and a t.
    fn smallest_of(&self, shape: Shape, t: usize) -> Result<Params> {
        let interpolation = Interpolation::of_points(t, RlweLiteral::DEFAULT.degree)?;
        self.smallest(shape, interpolation)
    }
}

/// Returns a number times each power of two, in ascending order.
fn doublings(odd: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(odd), |t| Some(2 * t))
}

/// Cost of an answer.
#[derive(Clone, Copy, PartialEq)]
struct AnswerCost {
    bytes: u64,
    seconds: f64,
}

/// Returns the candidates that no other candidate dominates in message bytes and answer time.
fn undominated(all: Vec<Params>) -> Vec<Params> {
    let costs: Vec<AnswerCost> = all
        .iter()
        .map(|one| AnswerCost {
            bytes: one.message_bytes(),
            seconds: one.rough_seconds(),
        })
        .collect();

    let mut kept = Vec::new();
    for (i, one) in all.into_iter().enumerate() {
        if !is_dominated(i, &costs) {
            kept.push(one);
        }
    }
    kept
}

/// Returns true if another cost is at most cost `i` in both bytes and seconds. Of equal costs, the
/// first is not dominated.
fn is_dominated(i: usize, costs: &[AnswerCost]) -> bool {
    let one = costs[i];
    costs.iter().enumerate().any(|(j, other)| {
        let equal = *other == one;
        other.bytes <= one.bytes && other.seconds <= one.seconds && (!equal || j < i)
    })
}

/// Returns true if a t that is not a power of two is worth its longer setup.
fn is_preferred(other: &Params, power: &Params, goal: Goal) -> bool {
    other.score(goal) < PREFERENCE * power.score(goal)
        && other.rough_setup_seconds() <= MAX_SETUP * power.rough_setup_seconds()
}

/// Returns true if t is a power of two.
fn is_power(params: &Params) -> bool {
    params.layout().points.is_power_of_two()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
