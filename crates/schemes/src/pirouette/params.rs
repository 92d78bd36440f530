//! Parameters of Pirouette: items, rows and the gates' gadget for a shape, over the common chain.

use std::marker::PhantomData;
use std::sync::Arc;

use papir_core::codec::{Reader, Writer};
use papir_core::cost::{Counts, Operation, Work};
use papir_core::scheme::{Goal, Parameters};
use papir_core::{
    Description, Limits, MAX_RECORD_BITS, Result, Security, Shape, Sizes, UpdateCost, envelope,
};
use papir_kernels::bits::packed_len;
use papir_lattice::gadget::{Gadget, GadgetParams};
use papir_lattice::response::ResponseBits;

use super::Lengths;
use super::chain::{Chain, DEGREE, LOG2_DEGREE, LOG2_DIGIT, LOG2_P, OUTPUTS, RESPONSE_DEGREE, unfit};
use super::keys::{self, Evaluation, Expanded, OfChain};
use super::layout::Layout;
use super::noise::{self, Noise, NoiseInput};
use super::retrieval::FAST;
use super::search;
use super::wire::SEED_BYTES;
use crate::shape_io::{SHAPE_BYTES, read_shape, write_shape};

/// Bytes of encoded parameters.
const ENCODED_BYTES: usize = SHAPE_BYTES + 4 + 4 + 4 + 4 + 1 + 1;

/// How polynomials are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// As bytes, transformed by each answer.
    Compact,
    /// As transforms, eight times as large.
    Fast,
}

/// The values that parameters are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Literal {
    /// Bytes of an item in one plane.
    pub span: usize,
    /// ν₁ − 4: 2^τ rotations of a box.
    pub tau: u32,
    /// Digits of the gates' RGSW encryptions, and log₂ of their base.
    pub gate: (usize, u32),
    /// Bytes of a query's seed: 32 or 16.
    pub seed_bytes: usize,
    /// How polynomials are kept.
    pub form: Form,
}

/// Parameters of [`Pirouette`](super::Pirouette).
#[derive(Clone, Debug)]
pub struct PirouetteParams<T> {
    shape: Shape,
    literal: Literal,
    pub(super) chain: Arc<Chain>,
    /// Where records lie.
    pub layout: Layout,
    pub(super) gate: Gadget,
    pub(super) answer_bits: ResponseBits,
    failure_log2: f64,
    lengths: PhantomData<fn() -> T>,
}

/// The gates' gadget of so many digits of a base, for the ring's q of 53 bits.
pub(crate) fn gate_gadget((levels, log_base): (usize, u32)) -> Option<GadgetParams> {
    let drop = super::chain::LOG2_Q.checked_sub(log_base.checked_mul(levels as u32)?)?;
    Some(GadgetParams { levels, log_base, drop })
}

impl<T: Lengths> PirouetteParams<T> {
    /// Checked parameters.
    ///
    /// # Errors
    /// [`papir_core::Error::Parameters`] where the noise does not close or a value does not fit.
    pub fn new(shape: Shape, literal: Literal) -> Result<Self> {
        let Literal { span, tau, gate, seed_bytes, .. } = literal;
        if tau > 4 || !(1..OUTPUTS).contains(&gate.0) || !SEED_BYTES.contains(&seed_bytes) {
            let expected = format!("tau up to 4, 1 to {} digits, seeds of 32 or 16 bytes", OUTPUTS - 1);
            return Err(unfit(format!("{literal:?}: expected {expected}")));
        }
        let (chain, layout) = (Chain::get::<T>()?, Layout::new(shape, span, LOG2_DIGIT + tau)?);
        let gadget = gate_gadget(gate).ok_or_else(|| unfit(format!("digits of {gate:?}")))?;
        let input = noise::input(&chain, &layout, gadget);
        let noise = Noise::compute(&input);
        let index = noise.index_failure_log2(&input);
        let (answer_bits, failure_log2) = noise
            .retrieved
            .answer_bits(&chain, layout.planes * span, index)
            .ok_or_else(|| unfit(format!("the noise of {layout:?} exceeds the decoding limit")))?;
        let gate = Gadget::new(chain.ring(), gadget).map_err(unfit)?;
        Ok(Self { shape, literal, chain, layout, gate, answer_bits, failure_log2, lengths: PhantomData })
    }

    /// The values that they are made of.
    pub fn literal(&self) -> Literal {
        self.literal
    }

    /// What the noise depends on.
    pub fn noise_input(&self) -> NoiseInput {
        noise::input(&self.chain, &self.layout, self.gate.params())
    }

    /// Bytes of a query, envelope apart.
    pub(super) fn query_bytes(&self) -> usize {
        self.literal.seed_bytes + 4
    }

    fn sizes(&self) -> Sizes {
        let sealed = |payload: usize| (payload + envelope::OVERHEAD) as u64;
        let (bytes, fast) = (self.layout.bytes(), self.literal.form == Form::Fast);
        Sizes {
            public: sealed(8 + ENCODED_BYTES),
            keys: sealed(Evaluation::packed_bytes(&self.chain)),
            query: sealed(self.query_bytes()),
            answer: sealed(self.answer_parts().iter().sum()),
            database: if fast { FAST * bytes } else { bytes },
            material: if fast { bytes } else { 0 },
            ..Sizes::default()
        }
    }

    /// External products of two digits, of four transforms of digits and two of sums, by phase: bits, boxes,
    /// gates' encryptions, first dimension, gates.
    pub(super) fn products(&self) -> [f64; 5] {
        let Layout { rows, log2_rows, planes, .. } = self.layout;
        let external = |gadget: &Gadget| (gadget.levels() + 1) as f64 / 3.0;
        let switch = |gadget: &Gadget| (gadget.levels() + 2) as f64 / 6.0;
        let (chain, k) = (&self.chain, self.layout.index_bits());
        let bits =
            f64::from(k - LOG2_DIGIT) * chain.bits.switch.dimension as f64 * external(&chain.bits.gadget);
        let boxes = f64::from(1u32 << self.literal.tau);
        let rotated = boxes * chain.digits.switch.dimension as f64 * external(&chain.digits.gadget);
        let traces = f64::from(LOG2_DEGREE) * switch(&chain.galois) + switch(&chain.square);
        let converted = f64::from(k - log2_rows) * self.gate.levels() as f64 * traces;
        let transform = if self.literal.form == Form::Fast { 0.12 } else { 0.3 };
        let first = (planes * rows * self.layout.columns()) as f64 * transform;
        let gates = (planes * (self.layout.columns() + self.layout.log2_slots as usize)) as f64;
        [bits, rotated, converted, first, gates * external(&self.gate)]
    }

    fn work(&self) -> Work {
        let [bits, boxes, converted, first, gates] = self.products();
        let bytes = self.layout.bytes() as f64;
        let digits = (self.layout.index_bits() - self.layout.log2_rows) as usize * self.gate.levels();
        let columns = self.layout.columns();
        Work {
            setup: Counts::new().with(Operation::Encode8, bytes, self.layout.polys()),
            // One inner product; the keys, made once, are left out.
            query: Counts::new().with(Operation::Word, 2.0 * DEGREE as f64, 1),
            answer: Counts::new()
                .with(Operation::ExternalProduct, bits, 1)
                .with(Operation::ExternalProduct, boxes, 1 << self.literal.tau)
                .with(Operation::ExternalProduct, converted, digits)
                .with(Operation::ExternalProduct, first + gates, columns),
            extract: Counts::new().with(
                Operation::DecryptRow,
                (self.layout.planes * self.layout.span) as f64,
                1,
            ),
        }
    }
}

/// Parameters whose answers are Pirouette's.
pub trait OfAnswer: Parameters {
    /// Where records lie.
    fn layout(&self) -> &Layout;

    /// Bits of an answer's mask and body.
    fn answer_bits(&self) -> ResponseBits;

    /// Bytes of an answer's masks and of its bodies.
    fn answer_parts(&self) -> [usize; 2] {
        let (Layout { planes, span, .. }, bits) = (self.layout(), self.answer_bits());
        [packed_len(planes * RESPONSE_DEGREE, bits.a), packed_len(planes * span, bits.b)]
    }
}

impl<T: Lengths> OfAnswer for PirouetteParams<T> {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn answer_bits(&self) -> ResponseBits {
        self.answer_bits
    }
}

impl<T> OfChain for PirouetteParams<T> {
    fn chain(&self) -> &Chain {
        &self.chain
    }
}

impl<T: Lengths> Parameters for PirouetteParams<T> {
    fn choose(shape: Shape, goal: Goal) -> Result<Self> {
        search::choose(shape, goal)
    }

    fn label(&self) -> String {
        let Layout { rows, span, .. } = self.layout;
        let form = if self.literal.form == Form::Fast { ", transformed" } else { "" };
        format!("{rows} rows, {} columns, items of {span} B{form}", self.layout.columns())
    }

    fn shape(&self) -> Shape {
        self.shape
    }

    fn describe(&self) -> Description {
        let weakest = self.chain.weakest();
        let Layout { log2_rows, log2_columns, log2_slots, span, planes, .. } = self.layout;
        Description {
            scheme: T::NAME,
            privacy: T::PRIVACY,
            shape: self.shape,
            sizes: self.sizes(),
            security: weakest.map(|row| Security { bits: row.matzov, source: row.set }),
            failure_log2: self.failure_log2,
            limits: Limits {
                records: self.layout.most_records(),
                record_bits: MAX_RECORD_BITS,
                batch: 1,
                client_keys: true,
                tickets: false,
                update: UpdateCost::PerRecord,
            },
            parameters: vec![
                ("n", self.chain.bits.switch.dimension.to_string()),
                ("N", DEGREE.to_string()),
                ("log2 Q", format!("{:.2}", (self.chain.ring().modulus() as f64).log2())),
                ("N1", RESPONSE_DEGREE.to_string()),
                ("log2 p", LOG2_P.to_string()),
                ("nu1", log2_rows.to_string()),
                ("nu2", log2_columns.to_string()),
                ("nu3", log2_slots.to_string()),
                ("item bytes", (span * planes).to_string()),
                ("gate digits", format!("{} of {} bits", self.gate.levels(), self.gate.params().log_base)),
                ("answer bits", format!("{} and {}", self.answer_bits.a, self.answer_bits.b)),
                ("query payload bytes", self.query_bytes().to_string()),
                ("server bytes a client", keys::server_bytes(&self.chain).to_string()),
            ],
            work: self.work(),
        }
    }

    fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::new();
        write_shape(&mut writer, self.shape);
        let Literal { span, tau, gate, seed_bytes, form } = self.literal;
        writer.u32(span as u32).u32(tau).u32(gate.0 as u32).u32(gate.1);
        writer.raw(&[seed_bytes as u8, u8::from(form == Form::Fast)]);
        writer.finish()
    }

    fn decode(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new("pirouette's parameters", bytes);
        let shape = read_shape(&mut reader)?;
        let (span, tau) = (reader.u32()? as usize, reader.u32()?);
        let gate = (reader.u32()? as usize, reader.u32()?);
        let [seed_bytes, form] = reader.array()?;
        reader.finish()?;
        let form = match form {
            0 => Form::Compact,
            1 => Form::Fast,
            other => return Err(unfit(format!("form {other}: expected 0, compact, or 1, transformed"))),
        };
        Self::new(shape, Literal { span, tau, gate, seed_bytes: seed_bytes.into(), form })
    }
}
