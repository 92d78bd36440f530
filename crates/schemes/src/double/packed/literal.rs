//! Noise and the search for parameters.
//!
//! The first level is the first level of DoublePIR (`crate::double::noise`): masks and bodies are
//! rounded to their digits, and the bound holds for every database. The second level is a packed
//! selection ([`crate::shared::selection::bits`]) of centred digits, which are at most 2^(D − 1) in
//! absolute value. So its bound holds for every database, too.

use std::marker::PhantomData;

use papir_core::scheme::{Goal, Target};
use papir_core::{FailureBound, Result, Shape};
use papir_lattice::lwe32::{LOG2_Q, N, matrix_bytes};
use papir_lattice::params::Literal as RlweLiteral;
use papir_lattice::selection::{Stacking, Storage};

use crate::double::noise::{FIRST, tail_log2};
use crate::double::params::{MAX_SIDE, layout_of, units_of};
use crate::shared::byte_matrix::Layout;
use crate::shared::digits::Digits;
use crate::shared::parameters::{READ_RATE, either_log2, refused, scaled};
use crate::shared::selection::{PackedVariant, Selection, SelectionBits, SelectionRing};

/// Largest number of bits of a digit. A digit is stored as a signed word of 16 bits.
const MAX_DIGIT_BITS: u32 = 16;
/// Widths and numbers of digits that are compared. Narrow digits take fewer bits of a selector;
/// wide digits take fewer rows.
const DIGITS: [DigitShape; 8] = [
    DigitShape {
        bits: 3,
        mask: 7,
        body: 4,
    },
    DigitShape {
        bits: 3,
        mask: 8,
        body: 3,
    },
    DigitShape {
        bits: 4,
        mask: 5,
        body: 3,
    },
    DigitShape {
        bits: 4,
        mask: 6,
        body: 3,
    },
    DigitShape {
        bits: 5,
        mask: 4,
        body: 3,
    },
    DigitShape {
        bits: 6,
        mask: 4,
        body: 2,
    },
    DigitShape {
        bits: 7,
        mask: 3,
        body: 2,
    },
    DigitShape {
        bits: 11,
        mask: 2,
        body: 1,
    },
];
/// Candidates compared for each doubling of the number of units.
const PER_OCTAVE: f64 = 2.0;

/// The scheme of a variant.
#[derive(Clone, Copy, Debug)]
pub struct PackedDouble<V>(PhantomData<V>);

/// Width and number of the digits of the first level's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DigitShape {
    /// D, the number of bits of a digit.
    pub bits: u32,
    /// Number of digits of a word of the hint. The rounding of the hint is multiplied by the
    /// secret, so a word of the hint needs more digits than a body.
    pub mask: usize,
    /// Number of digits of a word of the first answer.
    pub body: usize,
}

impl DigitShape {
    /// Returns true if the widths are valid and no word has more digits than bits.
    pub(super) fn fits(&self) -> bool {
        (1..=MAX_DIGIT_BITS).contains(&self.bits)
            && self.word_holds(self.mask)
            && self.word_holds(self.body)
    }

    /// Returns true if a word has bits for `count` digits.
    fn word_holds(&self, count: usize) -> bool {
        (1..=LOG2_Q as usize).contains(&count.saturating_mul(self.bits as usize))
    }

    /// Returns the digits of a word of the hint.
    pub(super) const fn of_mask(self) -> Digits {
        Digits {
            bits: self.bits,
            count: self.mask,
        }
    }

    /// Returns the digits of a word of the first answer.
    pub(super) const fn of_body(self) -> Digits {
        Digits {
            bits: self.bits,
            count: self.body,
        }
    }
}

/// Values of parameters, unchecked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Literal {
    /// Records and their length.
    pub shape: Shape,
    /// Number of units in a column of D, which is the number of columns of the second level.
    pub units: u64,
    /// Width and number of the digits of the first level's words.
    pub digits: DigitShape,
    /// Number of LWE encryptions in a pack.
    pub capacity: usize,
    /// Bits of a word of the first level's query.
    pub first_bits: u32,
    /// Message bits and gadget of the second level.
    pub bits: SelectionBits,
    /// Bound on the failure probability.
    pub failure: FailureBound,
}

/// The values of a [`Literal`], besides bits, on which the noise depends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub(super) digits: DigitShape,
    pub(super) capacity: usize,
    pub(super) failure: FailureBound,
}

impl Literal {
    pub(super) fn frame(&self) -> Frame {
        Frame {
            digits: self.digits,
            capacity: self.capacity,
            failure: self.failure,
        }
    }
}

/// Returns the largest distance that decoding accepts at the first level, with `bits` bits of a
/// query's word. Returns `None` if the noise may be too large.
pub(super) fn first_bound(layout: &Layout, frame: &Frame, bits: u32) -> Option<u32> {
    let mask = frame.digits.of_mask().dropped_bits();
    let body = frame.digits.of_body().dropped_bits();

    let deviation = FIRST.deviation(layout.columns, LOG2_Q - bits, mask);
    FIRST.bound(
        deviation,
        layout.unit_layout.unit_bytes,
        body,
        frame.failure,
    )
}

/// Counts of the second level.
pub(super) fn selection<V: PackedVariant>(layout: &Layout, frame: &Frame) -> Selection {
    let Frame {
        digits,
        capacity,
        failure,
    } = *frame;

    Selection {
        ring: SelectionRing::ERROR_LIKE,
        storage: Storage::Words,
        masks: V::MASKS,
        columns: layout.units,
        stacking: Stacking::NONE,
        plain_bits: digits.bits,
        squares: layout.units as f64 * 4f64.powi(digits.bits as i32 - 1),
        capacity,
        rows: layout.unit_layout.unit_bytes * N * digits.mask,
        singles: layout.unit_layout.unit_bytes * digits.body,
        failure,
    }
}

/// Returns log₂ of a bound on the probability that an honest answer exceeds the bound of a level.
pub(super) fn failure_log2(selection: &Selection) -> f64 {
    either_log2(tail_log2(selection.failure), selection.failure_log2())
}

/// The fewest bits for a layout, digits and a capacity; `None` if the noise is too large for any.
pub(super) fn fewest_bits<V: PackedVariant>(
    shape: Shape,
    units: u64,
    frame: Frame,
) -> Result<Option<Literal>> {
    let layout = layout_of(&shape, units)?;

    let first = (1..=LOG2_Q).find(|&bits| first_bound(&layout, &frame, bits).is_some());
    let Some(first_bits) = first else {
        return Ok(None);
    };
    let Some(bits) = selection::<V>(&layout, &frame).choose::<V>() else {
        return Ok(None);
    };

    let Frame {
        digits,
        capacity,
        failure,
    } = frame;
    Ok(Some(Literal {
        shape,
        units,
        digits,
        capacity,
        first_bits,
        bits,
        failure,
    }))
}

/// The best of all digits and capacities with these numbers of units.
pub(super) fn best<V: PackedVariant>(
    shape: Shape,
    units: &[u64],
    target: Target,
) -> Result<Literal> {
    let Target { goal, failure } = target;

    let mut frames = Vec::new();
    for capacity in V::capacities(RlweLiteral::DEFAULT.degree) {
        frames.extend(DIGITS.map(|digits| Frame {
            digits,
            capacity,
            failure,
        }));
    }

    let mut best: Option<(f64, Literal)> = None;
    for &units in units {
        for &frame in &frames {
            let Some(literal) = fewest_bits::<V>(shape, units, frame)? else {
                continue;
            };
            let cost = cost::<V>(&layout_of(&shape, units)?, &literal, goal);
            if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                best = Some((cost, literal));
            }
        }
    }

    match best {
        Some((_, literal)) => Ok(literal),
        None => Err(refused(V::DOUBLE.name)(format!(
            "{shape:?}: the noise exceeds the decoding limit"
        ))),
    }
}

/// Returns the numbers of units in a column that are compared. Fails if there would be too many
/// columns.
pub(super) fn units(shape: &Shape) -> Result<Vec<u64>> {
    let all = units_of(shape)?.units();
    let least = all.div_ceil(MAX_SIDE);
    let most = all.min(MAX_SIDE);
    layout_of(shape, least)?;

    let mut units = scaled(least, most, PER_OCTAVE);
    units.push(most);
    units.dedup();
    Ok(units)
}

/// Seconds that a goal minimises: of a line at 10 Mbit/s and of one core. Parsing a byte of a
/// message takes about half a nanosecond.
fn cost<V: PackedVariant>(layout: &Layout, literal: &Literal, goal: Goal) -> f64 {
    let (byte, work) = match goal {
        Goal::MinCommunication => (8e-7, 0.0),
        Goal::Balanced => (8e-7, 1.0),
        Goal::MinTime => (5e-10, 1.0),
    };

    let selection = selection::<V>(layout, &literal.frame());
    let first = layout.columns * literal.first_bits as usize;
    let sent = (first + selection.message_bits::<V>(&literal.bits)) as f64 / 8.0;

    let database = matrix_bytes(layout.rows, layout.columns) as f64;
    let second = selection.rough_seconds::<V>(&literal.bits);
    byte * sent + work * (database / READ_RATE + second)
}
