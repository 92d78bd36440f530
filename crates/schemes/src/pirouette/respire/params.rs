//! Parameters of Respire: a layout, gates and the query's coefficients, over Pirouette's chain.

use papir_core::codec::Writer;
use papir_core::cost::{Counts, Operation};
use papir_core::scheme::{Goal, Parameters, Scheme};
use papir_core::{Description, Result, Shape, Sizes};
use papir_kernels::bits::packed_len;
use papir_lattice::gadget::Gadget;
use papir_lattice::noise::rounding;

use crate::pirouette::chain::{Chain, DEGREE, Grain, LOG2_DEGREE, Standard};
use crate::pirouette::common::{Common, Form, RetrievalParams, SelectingParams, gate_gadget, key_switch};
use crate::pirouette::keys::{Evaluation, Expanded};
use crate::pirouette::layout::Layout;
use crate::pirouette::noise::{GateGadgets, Origin, Retrieved};
use crate::pirouette::search::{GATES, best, closing, spans};
use crate::shared::messages::{SEED_BYTES, SHAPE_BYTES, read_all, read_shape, write_shape};
use crate::shared::parameters::refused;

/// Bytes of encoded parameters.
const ENCODED_BYTES: usize = SHAPE_BYTES + 5 * 4;
/// Bits of a row's number.
const LOG2_ROWS: std::ops::RangeInclusive<u32> = 4..=9;
/// Bits of a word of the query's body.
const QUERY_BITS: std::ops::RangeInclusive<u32> = 28..=48;

/// Respire.
pub struct Respire;

/// Free values of the parameters.
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
    literal: Literal,
    common: Common,
}

impl RespireParams {
    /// Checked parameters.
    ///
    /// # Errors
    /// [`papir_core::Error::Parameters`] if the noise does not close or a value does not fit.
    pub fn new(shape: Shape, literal: Literal) -> Result<Self> {
        let Literal { span, log2_rows, gate, query_bits } = literal;
        if !LOG2_ROWS.contains(&log2_rows) || !QUERY_BITS.contains(&query_bits) || !(1..=8).contains(&gate.0)
        {
            let expected = "4 to 9 bits of rows, 28 to 48 of a query's words, 1 to 8 digits in gates";
            return Err(refused(Respire::NAME)(format!("{literal:?}: expected {expected}")));
        }
        let chain = Chain::get::<Standard>(Grain::Coarse)?;
        let layout = Layout::new(Respire::NAME, shape, span, log2_rows)?;
        let gate = gate_gadget(Respire::NAME, &chain, gate)?;
        let found = coefficients(&layout, &gate);
        if found > DEGREE {
            let reason = format!("{found} coefficients of a query: expected at most {DEGREE}");
            return Err(refused(Respire::NAME)(reason));
        }
        let ring = chain.setting();
        // A trace keeps one coefficient's error and multiplies it by d.
        let step = rounding(ring.modulus / 2f64.powi(query_bits as i32));
        let fresh = (ring.sigma * ring.sigma + step) * 4f64.powi(LOG2_DEGREE as i32);
        let trace = ring.trace(chain.galois.params(), LOG2_DEGREE as usize);
        let origin = Origin { kept: trace.kept + fresh, energy: trace.energy + fresh };
        let gadgets = GateGadgets { gate: gate.params(), square: chain.square.params() };
        let dimensions = [layout.log2_rows, layout.log2_columns, layout.log2_slots];
        let retrieved = Retrieved::new(&ring, gadgets, dimensions, (origin.energy, origin));
        let common = Common::new(Respire::NAME, shape, chain, layout, gate, &retrieved, f64::NEG_INFINITY)?;
        Ok(Self { literal, common })
    }

    /// Words of a query's body that are sent: coefficients at multiples of
    /// 2^[`RespireParams::log2_stride`].
    pub(super) fn query_words(&self) -> usize {
        coefficients(self.layout(), self.gate()).next_power_of_two()
    }

    /// log₂ of the distance between coefficients that are sent.
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

    /// Cost of expanding a query and encrypting the gates, in external products of two digits.
    fn selection(&self) -> f64 {
        let (layout, chain) = (self.layout(), self.chain());
        let digits = (layout.log2_slots + layout.log2_columns) as usize * self.gate().levels();
        self.query_words() as f64 * key_switch(&chain.galois) + digits as f64 * key_switch(&chain.square)
    }

    fn sizes(&self) -> Sizes {
        let keys = Evaluation::<0>::packed_bytes(self.chain());
        self.common.sizes([ENCODED_BYTES, keys, self.query_bytes()], [self.layout().bytes(), 0])
    }
}

/// Coefficients of a query that carry a message.
fn coefficients(layout: &Layout, gate: &Gadget) -> usize {
    (1 << layout.log2_rows) + (layout.log2_columns + layout.log2_slots) as usize * gate.levels()
}

impl RetrievalParams for RespireParams {
    fn common(&self) -> &Common {
        &self.common
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
            // The first gate, then the fewest bits of the query, whose noise closes.
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
        let Layout { rows, span, .. } = *self.layout();
        format!("{rows} rows, {} columns, items of {span} B", self.layout().columns())
    }

    fn shape(&self) -> Shape {
        self.common.shape
    }

    fn describe(&self) -> Description {
        let own =
            vec![("query words", format!("{} of {} bits", self.query_words(), self.literal.query_bits))];
        let query = Counts::new().with(Operation::Encrypt, 1.0, 1);
        let selection = Counts::new().with(Operation::ExternalProduct, self.selection(), 1);
        let work = self.retrieval_work(query, selection);
        self.common.describe(Respire::NAME, Respire::PRIVACY, self.sizes(), own, work)
    }

    fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::new();
        write_shape(&mut writer, self.common.shape);
        let Literal { span, log2_rows, gate, query_bits } = self.literal;
        writer.u32(span as u32).u32(log2_rows).u32(gate.0 as u32).u32(gate.1).u32(query_bits);
        writer.finish()
    }

    fn decode(bytes: &[u8]) -> Result<Self> {
        let (shape, literal) = read_all("respire's parameters", bytes, |reader| {
            let (shape, span, log2_rows) = (read_shape(reader)?, reader.u32()? as usize, reader.u32()?);
            let (gate, query_bits) = ((reader.u32()? as usize, reader.u32()?), reader.u32()?);
            Ok((shape, Literal { span, log2_rows, gate, query_bits }))
        })?;
        Self::new(shape, literal)
    }
}
