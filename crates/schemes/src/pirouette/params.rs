//! Parameters of Pirouette: items, rows and the gates' gadget for a shape, over the common chain.

use std::marker::PhantomData;
use std::sync::Arc;

use papir_core::codec::{Reader, Writer};
use papir_core::cost::{Counts, Operation, Work};
use papir_core::scheme::{Goal, Parameters};
use papir_core::{
    Description, Limits, MAX_RECORD_BITS, Privacy, Result, Security, Shape, Sizes, UpdateCost, envelope,
};
use papir_kernels::bits::packed_len;
use papir_lattice::gadget::{Gadget, GadgetParams};
use papir_lattice::response::ResponseBits;
use papir_lattice::secret::SecretKey;
use rand_core::CryptoRng;

use super::Lengths;
use super::chain::{
    Chain, DEGREE, Grain, LOG2_DEGREE, LOG2_DIGIT, LOG2_P, OUTPUTS, RESPONSE_DEGREE, ShortParams, unfit,
};
use super::keys::{self, Evaluation, Expanded};
use super::layout::Layout;
use super::noise::{self, Noise, NoiseInput};
use super::retrieval::FAST;
use super::search;
use super::wire::SEED_BYTES;
use crate::shared::shapes::{SHAPE_BYTES, read_shape, write_shape};

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
            return Err(unfit(T::NAME, format!("{literal:?}: expected {expected}")));
        }
        let (chain, layout) =
            (Chain::get::<T>(Grain::Coarse)?, Layout::new(T::NAME, shape, span, LOG2_DIGIT + tau)?);
        let gadget = gate_gadget(gate).ok_or_else(|| unfit(T::NAME, format!("digits of {gate:?}")))?;
        let input = noise::input(&chain, &layout, gadget);
        let noise = Noise::compute(&input);
        let index = noise.index_failure_log2(&input);
        let (answer_bits, failure_log2) = noise
            .retrieved
            .answer_bits(&chain, layout.planes * span, index)
            .ok_or_else(|| unfit(T::NAME, format!("the noise of {layout:?} exceeds the decoding limit")))?;
        let gate = Gadget::new(chain.ring(), gadget).map_err(|error| unfit(T::NAME, error))?;
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

    fn sizes(&self) -> Sizes {
        let (bytes, fast) = (self.layout.bytes(), self.literal.form == Form::Fast);
        let keys = Evaluation::packed_bytes(&self.chain);
        let stored = if fast { [FAST * bytes, bytes] } else { [bytes, 0] };
        self.sealed_sizes([ENCODED_BYTES, keys, self.query_bytes()], stored)
    }

    /// What phase 0 does: bits one after the other, boxes, then the gates' encryptions, digit by digit.
    fn selection(&self) -> Counts {
        let (chain, k) = (&self.chain, self.layout.index_bits());
        let rotation = |short: &ShortParams| short.switch.dimension as f64 * external(&short.gadget);
        let boxes = 1 << self.literal.tau;
        let traces = f64::from(LOG2_DEGREE) * key_switch(&chain.galois) + key_switch(&chain.square);
        let digits = (k - self.layout.log2_rows) as usize * self.gate.levels();
        Counts::new()
            .with(Operation::ExternalProduct, f64::from(k - LOG2_DIGIT) * rotation(&chain.bits), 1)
            .with(Operation::ExternalProduct, boxes as f64 * rotation(&chain.digits), boxes)
            .with(Operation::ExternalProduct, digits as f64 * traces, digits)
    }
}

/// Parameters of schemes that retrieve items: what gates and answers depend on.
pub trait RetrievalParams: Parameters {
    /// Rings, keys and their gadgets.
    fn chain(&self) -> &Chain;

    /// Where records lie.
    fn layout(&self) -> &Layout;

    /// The gadget of gates.
    fn gate(&self) -> &Gadget;

    /// Bits of an answer's mask and body.
    fn answer_bits(&self) -> ResponseBits;

    /// log₂ of the probability that an honest answer does not decode.
    fn failure_log2(&self) -> f64;

    /// Bytes of an answer's masks and of its bodies.
    fn answer_parts(&self) -> [usize; 2] {
        let (Layout { planes, span, .. }, bits) = (self.layout(), self.answer_bits());
        [packed_len(planes * RESPONSE_DEGREE, bits.a), packed_len(planes * span, bits.b)]
    }

    /// What it can take.
    fn limits(&self) -> Limits {
        limits(self.layout())
    }

    /// The weakest of what is published.
    fn security(&self) -> Option<Security> {
        self.chain().weakest().map(|row| Security { bits: row.matzov, source: row.set })
    }

    /// Bytes of messages, envelopes included, from those of encoded parameters, keys and queries; and of a
    /// database and what is kept beside it.
    fn sealed_sizes(&self, [parameters, keys, query]: [usize; 3], [database, material]: [u64; 2]) -> Sizes {
        let sealed = |payload: usize| (payload + envelope::OVERHEAD) as u64;
        Sizes {
            public: sealed(8 + parameters),
            keys: sealed(keys),
            query: sealed(query),
            answer: sealed(self.answer_parts().iter().sum()),
            database,
            material,
            ..Sizes::default()
        }
    }

    /// A description with what all have in common, and the scheme's own parameters.
    fn described(
        &self,
        (scheme, privacy): (&'static str, Privacy),
        sizes: Sizes,
        mut own: Vec<(&'static str, String)>,
        work: Work,
    ) -> Description {
        let (ring, gate, answer) = (self.chain().ring(), self.gate(), self.answer_bits());
        let Layout { log2_rows, log2_columns, log2_slots, span, planes, .. } = self.layout();
        let mut parameters = vec![
            ("N", DEGREE.to_string()),
            ("log2 Q", format!("{:.2}", (ring.modulus() as f64).log2())),
            ("N1", RESPONSE_DEGREE.to_string()),
            ("log2 p", LOG2_P.to_string()),
            ("nu1", log2_rows.to_string()),
            ("nu2", log2_columns.to_string()),
            ("nu3", log2_slots.to_string()),
            ("item bytes", (span * planes).to_string()),
            ("gate digits", format!("{} of {} bits", gate.levels(), gate.params().log_base)),
            ("answer bits", format!("{} and {}", answer.a, answer.b)),
        ];
        parameters.append(&mut own);
        let (shape, security, limits) = (self.shape(), self.security(), self.limits());
        let failure_log2 = self.failure_log2();
        Description { scheme, privacy, shape, sizes, security, failure_log2, limits, parameters, work }
    }

    /// The key of the ring that a client registers with, who may have had one before: a fresh one.
    ///
    /// # Errors
    /// [`papir_core::Error::OwnerKey`] where it is to be a database's owner's, and is missing.
    fn ring_key(&self, _kept: Option<&SecretKey>, rng: &mut dyn CryptoRng) -> Result<SecretKey> {
        Ok(SecretKey::generate(&self.chain().rlwe, rng))
    }

    /// Whether a client with this key can ask.
    fn takes(&self, _ring_key: &SecretKey) -> bool {
        true
    }
}

/// Parameters of schemes whose selections retrieve items of polynomials: what phases 1 to 3 depend on.
pub trait SelectingParams: RetrievalParams {
    /// How polynomials are kept.
    fn form(&self) -> Form;

    /// Counted work, but for that of queries and of their selections.
    fn retrieval_work(&self, query: Counts, selection: Counts) -> Work {
        let layout = self.layout();
        let (planes, columns) = (layout.planes, layout.columns());
        // External products of two digits that a polynomial of the first dimension is worth, as measured
        // (decision 20).
        let transform = if self.form() == Form::Fast { 0.05 } else { 0.15 };
        let first = (planes * layout.rows * columns) as f64 * transform;
        let gates = (planes * (columns + layout.log2_slots as usize)) as f64;
        let products = first + gates * external(self.gate());
        let words = (planes * layout.span) as f64;
        Work {
            setup: Counts::new().with(Operation::Encode8, layout.bytes() as f64, layout.polys()),
            query,
            answer: selection.with(Operation::ExternalProduct, products, columns),
            extract: Counts::new().with(Operation::DecryptRow, words, 1),
        }
    }
}

/// Parameters of schemes whose query is one LWE encryption under a seed.
pub trait LweParams: RetrievalParams {
    /// Bytes of a query's seed: 32 or 16.
    fn seed_bytes(&self) -> usize;

    /// Bytes of a query, envelope apart.
    fn query_bytes(&self) -> usize {
        self.seed_bytes() + 4
    }
}

impl<T: Lengths> LweParams for PirouetteParams<T> {
    fn seed_bytes(&self) -> usize {
        self.literal.seed_bytes
    }
}

/// What schemes over a layout can take.
pub(crate) fn limits(layout: &Layout) -> Limits {
    Limits {
        records: layout.most_records(),
        record_bits: MAX_RECORD_BITS,
        batch: 1,
        client_keys: true,
        tickets: false,
        owner_key: false,
        update: UpdateCost::PerRecord,
    }
}

/// External products of two digits that one under this gadget is worth.
pub(crate) fn external(gadget: &Gadget) -> f64 {
    (gadget.levels() + 1) as f64 / 3.0
}

/// External products of two digits that a key switch under this gadget is worth.
pub(crate) fn key_switch(gadget: &Gadget) -> f64 {
    (gadget.levels() + 2) as f64 / 6.0
}

impl<T: Lengths> RetrievalParams for PirouetteParams<T> {
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

impl<T: Lengths> SelectingParams for PirouetteParams<T> {
    fn form(&self) -> Form {
        self.literal.form
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
        let own = vec![
            ("n", self.chain.bits.switch.dimension.to_string()),
            ("query payload bytes", self.query_bytes().to_string()),
            ("server bytes a client", keys::server_bytes::<Evaluation>(&self.chain).to_string()),
        ];
        // One inner product; the keys, made once, are left out.
        let query = Counts::new().with(Operation::Word, 2.0 * DEGREE as f64, 1);
        let work = self.retrieval_work(query, self.selection());
        self.described((T::NAME, T::PRIVACY), self.sizes(), own, work)
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
            other => {
                let expected = "0, compact, or 1, transformed";
                return Err(unfit(T::NAME, format!("form {other}: expected {expected}")));
            }
        };
        Self::new(shape, Literal { span, tau, gate, seed_bytes: seed_bytes.into(), form })
    }
}
