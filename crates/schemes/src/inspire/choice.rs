//! Choice and encoding of parameters.
//!
//! For a shape and an interpolation, the search finds modulus, gadgets (appendix G.1) and message
//! bits with the smallest messages at a failure probability; for a goal, also the t.

use std::cell::Cell;

use papir_core::codec::{Reader, Writer};
use papir_core::scheme::{Parameters, Target};
use papir_core::{
    Choice, Description, Error, FailureBound, MAX_RECORD_BITS, Privacy, Result, Shape, UpdateCost,
};
use papir_lattice::params::Literal as RlweLiteral;

use super::interpolation::Interpolation;
use super::layout::{Layout, PLAINTEXT, unit_layout};
use super::literal::{KeyBits, Literal, NAME};
use super::noise;
use super::params::Params;
use super::widths::{Frame, MODULI, Modulus, PACKING_LEVELS, RGSW_LEVELS};
use crate::shared::messages::{
    gadget_of, gadget_values, read_bytes, read_failure, read_ring, read_shape, write_bytes,
    write_failure, write_ring, write_shape,
};
use crate::shared::parameters::{best, gadget, one_record, refused, security, successes};

/// Moduli and numbers of digits are polished if their messages are at most a 32nd larger than the
/// smallest.
const CLOSE: u64 = 32;
/// Odd factors of a t other than powers of two. The rotations of an interpolation grow with their
/// squares.
const ODD_FACTORS: [usize; 2] = [3, 5];
/// Factor by which a t that is not a power of two must be better.
const PREFERENCE: f64 = 0.99;
/// Factor by which its setup may take longer.
const MAX_SETUP: f64 = 2.0;
/// Set in the byte of an answer's mask bits, as a part of the range is reserved.
const RESERVED: u32 = 1 << 7;

impl Params {
    /// The smallest messages with at most `columns` columns, as many as a t of a power of two, or
    /// three or five times one, gives: with larger odd factors encoding takes long.
    ///
    /// # Errors
    /// The errors of [`Params::with_points`].
    pub fn with_columns(shape: Shape, columns: u64) -> Result<Self> {
        let degree = RlweLiteral::DEFAULT.degree;
        let least = unit_layout(shape, degree)?.units().div_ceil(columns.max(1)) as usize;
        let of_factor = |odd: &usize| odd * least.div_ceil(*odd).next_power_of_two();
        let mixed = ODD_FACTORS
            .iter()
            .map(of_factor)
            .filter(|&points| points <= 2 * degree);
        // Above 2d points there are products of powers of two only.
        let points = mixed.fold(least.next_power_of_two(), usize::min);
        Self::with_points(shape, points)
    }

    /// The smallest messages for a shape and a t.
    ///
    /// # Errors
    /// The errors of [`Params::with_interpolation`].
    pub fn with_points(shape: Shape, points: usize) -> Result<Self> {
        Self::with_interpolation(
            shape,
            Interpolation::of_points(points, RlweLiteral::DEFAULT.degree)?,
        )
    }

    /// Like [`Params::with_points`], for a failure probability of the bound divided by 2^`margin`.
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

    /// The smallest messages for a shape and an interpolation.
    ///
    /// # Errors
    /// [`Error::Parameters`] if no answer would decode, [`Error::OutOfBounds`] for too many columns
    /// or rows.
    pub fn with_interpolation(shape: Shape, interpolation: Interpolation) -> Result<Self> {
        Search::new(FailureBound::DEFAULT, 0.0)?.smallest(shape, interpolation)
    }
}

impl Parameters for Params {
    /// The best of the candidates for a goal. A t that is not a power of two must be better by 1 %,
    /// and its setup may take at most twice as long.
    fn choose(shape: Shape, target: impl Into<Target>) -> Result<Self> {
        let Target { goal, failure } = target.into();
        let affordable = Self::candidates(shape, failure)?
            .into_iter()
            .filter(|one| one.affordable(goal));
        let (powers, others): (Vec<_>, Vec<_>) = affordable.partition(is_power);
        let best = |all: Vec<Self>| best(all, |params| params.score(goal));
        let better = |power: &Self, other: &Self| {
            other.score(goal) < PREFERENCE * power.score(goal)
                && other.rough_setup_seconds() <= MAX_SETUP * power.rough_setup_seconds()
        };
        match (best(powers), best(others)) {
            (Some(power), Some(other)) if better(&power, &other) => Ok(other),
            (Some(one), _) | (None, Some(one)) => Ok(one),
            (None, None) => Err(refused(NAME)(format!(
                "{shape:?}: the packing matrices would exceed the database"
            ))),
        }
    }

    fn with_choice(shape: Shape, choice: Choice) -> Result<Self> {
        match choice {
            Choice::Goal(goal) => Self::choose(shape, goal),
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
        let literal = self.literal();
        let layout = self.layout();
        Description {
            scheme: NAME,
            privacy: Privacy::Private,
            shape: layout.shape,
            sizes: self.sizes(),
            security: self.rlwe().security().map(security),
            failure_log2: self.failure_log2,
            failure_bound: literal.failure,
            limits: one_record(MAX_RECORD_BITS, UpdateCost::PerPack),
            parameters: vec![
                ("d", layout.degree.to_string()),
                (
                    "log2 q",
                    format!("{:.2}", (self.rlwe().ring().modulus() as f64).log2()),
                ),
                ("sigma", literal.rlwe.sigma.to_string()),
                ("p", PLAINTEXT.to_string()),
                ("t", layout.interpolation.to_string()),
                ("N/t (columns)", layout.columns.to_string()),
                ("ring elements a record", layout.chunks.to_string()),
                ("records a ring element", layout.per_element().to_string()),
                ("packing gadget", gadget(literal.key_switch)),
                (
                    "RGSW gadget",
                    if layout.points == 1 {
                        "none".to_owned()
                    } else {
                        gadget(literal.rgsw)
                    },
                ),
                ("query bits", literal.query_bits.to_string()),
                (
                    "key bits",
                    literal
                        .key_bits
                        .all()
                        .map(|bits| bits.to_string())
                        .join(" + "),
                ),
                (
                    "answer bits",
                    format!("{} + {}", literal.answer_bits.0, literal.answer_bits.1),
                ),
            ],
            work: self.work(),
        }
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
        let reserved = if literal.reserved { RESERVED } else { 0 };
        write_bytes(
            &mut writer,
            [literal.query_bits, y_g, y_h, rgsw, a | reserved, b],
        );
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

/// One variable of t points, or several variables if their sizes follow, and the failure bound.
fn read_interpolation(
    points: usize,
    mut reader: Reader<'_>,
) -> Result<(Interpolation, FailureBound)> {
    let (sizes, rest) = reader.rest().as_chunks::<4>();
    let failure = read_failure(&mut Reader::new("InsPIRe parameters", rest))?;
    let sizes: Vec<usize> = sizes
        .iter()
        .map(|size| u32::from_le_bytes(*size) as usize)
        .collect();
    if sizes.is_empty() {
        return Ok((Interpolation::of_one_variable(points)?, failure));
    }
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

/// The moduli and gadgets that are searched.
struct Search {
    moduli: Vec<Modulus>,
    failure: FailureBound,
    /// log₂ of the largest failure probability.
    failure_log2: f64,
    /// Number of computed variances; a test bounds it.
    tried: Cell<usize>,
}

impl Search {
    /// A search for a failure probability of at most the bound divided by 2^`margin`.
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

    /// The smallest messages for a shape and an interpolation; of equal ones those with the fewest
    /// digits, then the smallest modulus.
    fn smallest(&self, shape: Shape, interpolation: Interpolation) -> Result<Params> {
        let layout = Layout::new(shape, RlweLiteral::DEFAULT.degree, interpolation)?;
        let frames = self.frames(&layout);
        let cut: Vec<_> = frames
            .iter()
            .filter_map(|frame| Some((frame, frame.cut()?)))
            .collect();
        let least = cut
            .iter()
            .map(|(frame, widths)| frame.bits(widths))
            .min()
            .unwrap_or(0);
        let close = cut
            .into_iter()
            .filter(|(frame, widths)| frame.bits(widths) <= least + least / CLOSE);
        let polished = close.map(|(frame, widths)| (frame, frame.polish(widths)));
        let best = polished.min_by_key(|(frame, widths)| frame.bits(widths));
        let found = best.and_then(|(frame, widths)| {
            Some((frame.literal(&widths)?, frame.modulus.rlwe.clone()))
        });
        let (literal, rlwe) = found.ok_or_else(|| {
            refused(NAME)(format!(
                "t = {} and {} columns fail with probability above {} even at full message precision",
                layout.interpolation, layout.columns, self.failure
            ))
        })?;
        Params::of_ring(literal, rlwe)
    }

    /// Fewest digits first, then the smallest modulus.
    fn frames<'a>(&'a self, layout: &'a Layout) -> Vec<Frame<'a>> {
        let levels = |packing| (0..RGSW_LEVELS.len()).map(move |rgsw| (packing, rgsw));
        let levels = (0..PACKING_LEVELS.len()).flat_map(levels);
        let frames = levels.flat_map(|(packing, rgsw)| {
            self.moduli
                .iter()
                .filter_map(move |modulus| self.frame(modulus, layout, packing, rgsw))
        });
        frames.collect()
    }

    fn frame<'a>(
        &'a self,
        modulus: &'a Modulus,
        layout: &'a Layout,
        packing: usize,
        rgsw: usize,
    ) -> Option<Frame<'a>> {
        let allowed = noise::allowed(layout, modulus.value, (self.failure, self.failure_log2))?;
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

    /// The smallest messages of each t: the powers of two that no other dominates in size and time,
    /// then other t that nothing dominates.
    fn candidates(&self, shape: Shape) -> Result<Vec<Params>> {
        let degree = RlweLiteral::DEFAULT.degree;
        let largest = unit_layout(shape, degree)?
            .units()
            .next_power_of_two()
            .min(8 * degree as u64) as usize;
        let multiples = |odd: usize| std::iter::successors(Some(odd), |t| Some(2 * t));
        let of_points =
            |t| Interpolation::of_points(t, degree).and_then(|points| self.smallest(shape, points));
        let powers = multiples(1).take_while(|&t| t <= largest).map(of_points);
        let mut candidates = undominated(successes(powers)?);
        let most = largest.min(2 * degree);
        let others = ODD_FACTORS
            .into_iter()
            .flat_map(|odd| multiples(odd).take_while(|&t| t < most));
        let others: Vec<Params> = others.map(of_points).filter_map(Result::ok).collect();
        let all: Vec<Params> = candidates.iter().cloned().chain(others).collect();
        candidates.extend(undominated(all).into_iter().filter(|one| !is_power(one)));
        Ok(candidates)
    }
}

/// The candidates that no other dominates in message bytes and answer time.
fn undominated(all: Vec<Params>) -> Vec<Params> {
    let costs: Vec<(u64, f64)> = all
        .iter()
        .map(|one| (one.message_bytes(), one.rough_seconds()))
        .collect();
    let dominated = |i: usize| {
        let (bytes, seconds) = costs[i];
        let beats = |(j, other): (usize, &(u64, f64))| {
            let equal = *other == (bytes, seconds);
            other.0 <= bytes && other.1 <= seconds && (!equal || j < i)
        };
        costs.iter().enumerate().any(beats)
    };
    let keep: Vec<bool> = (0..all.len()).map(|i| !dominated(i)).collect();
    all.into_iter()
        .zip(keep)
        .filter_map(|(one, keep)| keep.then_some(one))
        .collect()
}

fn is_power(params: &Params) -> bool {
    params.layout().points.is_power_of_two()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
