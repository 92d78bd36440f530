//! Parameters of Respire: a layout, gates and the query's coefficients, over Pirouette's chain.

use std::sync::Arc;

use papir_core::codec::{Reader, Writer};
use papir_core::cost::{Counts, Operation};
use papir_core::scheme::{Goal, Parameters, Scheme};
use papir_core::{Description, Result, Shape, Sizes};
use papir_kernels::bits::packed_len;
use papir_lattice::gadget::Gadget;
use papir_lattice::noise::rounding;
use papir_lattice::response::ResponseBits;

use super::Respire;
use crate::pirouette::Full;
use crate::pirouette::chain::{Chain, DEGREE, Grain, LOG2_DEGREE, unfit};
use crate::pirouette::keys::{Conversion, Expanded};
use crate::pirouette::layout::Layout;
use crate::pirouette::noise::{GateGadgets, Origin, Retrieved};
use crate::pirouette::params::{Form, RetrievalParams, SelectingParams, gate_gadget, key_switch};
use crate::pirouette::search::{GATES, best, closing, spans};
use crate::shared::shapes::{SHAPE_BYTES, read_shape, write_shape};

/// Bytes of encoded parameters.
const ENCODED_BYTES: usize = SHAPE_BYTES + 5 * 4;
/// Bytes of the seed of a query's mask.
pub(super) const SEED_BYTES: usize = 32;
/// Bits of a row's number.
const LOG2_ROWS: std::ops::RangeInclusive<u32> = 4..=9;
/// Bits that the words of a query's body may have.
const QUERY_BITS: std::ops::RangeInclusive<u32> = 28..=48;
/// The values that parameters are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Literal {
    /// Bytes of an item in one plane.
    pub span: usize,
    /// ν₁.
    pub log2_rows: u32,
    /// Digits of the gates' RGSW encryptions, and log₂ of their base.
    pub gate: (usize, u32),
    /// Bits of a word of the query's body.
    pub query_bits: u32,
}

/// Parameters of [`Respire`].
#[derive(Clone, Debug)]
pub struct RespireParams {
    shape: Shape,
    literal: Literal,
    pub(super) chain: Arc<Chain>,
    /// Where records lie.
    pub layout: Layout,
    pub(super) gate: Gadget,
    answer_bits: ResponseBits,
    failure_log2: f64,
}

impl RespireParams {
    /// Checked parameters.
    ///
    /// # Errors
    /// [`papir_core::Error::Parameters`] where the noise does not close or a value does not fit.
    pub fn new(shape: Shape, literal: Literal) -> Result<Self> {
        let Literal { span, log2_rows, gate, query_bits } = literal;
        if !LOG2_ROWS.contains(&log2_rows) || !QUERY_BITS.contains(&query_bits) || !(1..=8).contains(&gate.0)
        {
            return Err(unfit(
                Respire::NAME,
                format!(
                    "{literal:?}: expected 4 to 9 bits of rows, 28 to 48 of a query's words, 1 to 8 digits in gates"
                ),
            ));
        }
        let chain = Chain::get::<Full>(Grain::Coarse)?;
        let layout = Layout::new(Respire::NAME, shape, span, log2_rows)?;
        let gadget = gate_gadget(gate).ok_or_else(|| unfit(Respire::NAME, format!("digits of {gate:?}")))?;
        let gate = Gadget::new(chain.ring(), gadget).map_err(|error| unfit(Respire::NAME, error))?;
        if coefficients(&layout, &gate) > DEGREE {
            return Err(unfit(
                Respire::NAME,
                format!(
                    "{} coefficients of a query: expected at most {DEGREE}",
                    coefficients(&layout, &gate)
                ),
            ));
        }
        let ring = chain.setting();
        // A trace keeps one coefficient's error, and multiplies it with d.
        let step = rounding(ring.modulus / 2f64.powi(query_bits as i32));
        let fresh = (ring.sigma * ring.sigma + step) * 4f64.powi(LOG2_DEGREE as i32);
        let trace = ring.trace(chain.galois.params(), LOG2_DEGREE as usize);
        let origin = Origin { kept: trace.kept + fresh, energy: trace.energy + fresh };
        let gadgets = GateGadgets { gate: gadget, square: chain.square.params() };
        let dimensions = [layout.log2_rows, layout.log2_columns, layout.log2_slots];
        let retrieved = Retrieved::new(&ring, gadgets, dimensions, (origin.energy, origin));
        let answer_bits = retrieved.answer_bits(&chain, layout.planes * span, f64::NEG_INFINITY);
        let (answer_bits, failure_log2) = answer_bits.ok_or_else(|| {
            unfit(Respire::NAME, format!("the noise of {literal:?} exceeds the decoding limit"))
        })?;
        Ok(Self { shape, literal, chain, layout, gate, answer_bits, failure_log2 })
    }

    /// The coefficients of a query's body that travel: those at multiples of 2^[`RespireParams::log2_stride`].
    pub(super) fn query_words(&self) -> usize {
        coefficients(&self.layout, &self.gate).next_power_of_two()
    }

    /// log₂ of the distance between coefficients that hold something.
    pub(super) fn log2_stride(&self) -> u32 {
        LOG2_DEGREE - self.query_words().trailing_zeros()
    }

    /// Bits of a word of the query's body.
    pub(super) fn query_bits(&self) -> u32 {
        self.literal.query_bits
    }

    pub(super) fn query_bytes(&self) -> usize {
        SEED_BYTES + packed_len(self.query_words(), self.literal.query_bits)
    }

    /// External products of two digits that the query's expansion and the gates' encryptions are worth.
    fn selection(&self) -> f64 {
        let bits = self.layout.log2_slots + self.layout.log2_columns;
        let digits = (bits as usize * self.gate.levels()) as f64;
        self.query_words() as f64 * key_switch(&self.chain.galois) + digits * key_switch(&self.chain.square)
    }

    fn sizes(&self) -> Sizes {
        let keys = Conversion::packed_bytes(&self.chain);
        self.sealed_sizes([ENCODED_BYTES, keys, self.query_bytes()], [self.layout.bytes(), 0])
    }
}

/// Coefficients of a query that hold something.
fn coefficients(layout: &Layout, gate: &Gadget) -> usize {
    (1 << layout.log2_rows) + (layout.log2_columns + layout.log2_slots) as usize * gate.levels()
}

impl RetrievalParams for RespireParams {
    fn chain(&self) -> &Chain {
        &self.chain
    }

    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn gate(&self) -> &Gadget {
        &self.gate
    }

    fn answer_bits(&self) -> ResponseBits {
        self.answer_bits
    }

    fn failure_log2(&self) -> f64 {
        self.failure_log2
    }
}

impl SelectingParams for RespireParams {
    fn form(&self) -> Form {
        Form::Compact
    }
}

impl Parameters for RespireParams {
    fn choose(shape: Shape, goal: Goal) -> Result<Self> {
        let rows = |span| LOG2_ROWS.map(move |log2_rows| (span, log2_rows));
        let made = |(span, log2_rows)| {
            // Of gates, then of bits of the query, the least that close.
            closing(&GATES, |gate| {
                let new = |query_bits| Self::new(shape, Literal { span, log2_rows, gate, query_bits });
                QUERY_BITS
                    .step_by(4)
                    .find_map(|bits| new(bits).ok())
                    .map_or_else(|| new(*QUERY_BITS.end()), Ok)
            })
        };
        best(Respire::NAME, goal, spans(shape).flat_map(rows).map(made))
    }

    fn label(&self) -> String {
        let Layout { rows, span, .. } = self.layout;
        format!("{rows} rows, {} columns, items of {span} B", self.layout.columns())
    }

    fn shape(&self) -> Shape {
        self.shape
    }

    fn describe(&self) -> Description {
        let own =
            vec![("query words", format!("{} of {} bits", self.query_words(), self.literal.query_bits))];
        let query = Counts::new().with(Operation::Encrypt, 1.0, 1);
        let selection = Counts::new().with(Operation::ExternalProduct, self.selection(), 1);
        let work = self.retrieval_work(query, selection);
        self.described((Respire::NAME, Respire::PRIVACY), self.sizes(), own, work)
    }

    fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::new();
        write_shape(&mut writer, self.shape);
        let Literal { span, log2_rows, gate, query_bits } = self.literal;
        writer.u32(span as u32).u32(log2_rows).u32(gate.0 as u32).u32(gate.1).u32(query_bits);
        writer.finish()
    }

    fn decode(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new("respire's parameters", bytes);
        let shape = read_shape(&mut reader)?;
        let (span, log2_rows) = (reader.u32()? as usize, reader.u32()?);
        let (gate, query_bits) = ((reader.u32()? as usize, reader.u32()?), reader.u32()?);
        reader.finish()?;
        Self::new(shape, Literal { span, log2_rows, gate, query_bits })
    }
}
