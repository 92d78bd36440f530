//! Parameters that all schemes of the family have.

use std::sync::Arc;

use papir_core::cost::{Counts, Operation, Work};
use papir_core::scheme::Parameters;
use papir_core::{Description, Limits, MAX_RECORD_BITS, Privacy, Result, Shape, Sizes, UpdateCost};
use papir_kernels::bits::packed_len;
use papir_lattice::gadget::{Gadget, GadgetParams};
use papir_lattice::response::ResponseBits;
use papir_lattice::secret::SecretKey;
use rand_core::CryptoRng;

use super::chain::{Chain, DEGREE, LOG2_P, LOG2_Q, RESPONSE_DEGREE};
use super::layout::Layout;
use super::noise::Retrieved;
use crate::shared::parameters::{one_record, refused, sealed, sealed_public, security};

/// How polynomials are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// As bytes, transformed by each answer.
    Compact,
    /// As transforms, eight times as large.
    Fast,
}

/// Parameters that every scheme of the family has.
#[derive(Clone, Debug)]
pub struct Common {
    pub(crate) shape: Shape,
    pub(crate) chain: Arc<Chain>,
    pub(crate) layout: Layout,
    pub(crate) gate: Gadget,
    pub(crate) answer_bits: ResponseBits,
    failure_log2: f64,
}

impl Common {
    /// The shortest answers that decode. `besides` is log₂ of the probability that the index is not
    /// found.
    ///
    /// # Errors
    /// [`papir_core::Error::Parameters`] if the noise exceeds the decoding limit.
    pub(crate) fn new(
        scheme: &'static str,
        shape: Shape,
        chain: Arc<Chain>,
        layout: Layout,
        gate: Gadget,
        retrieved: &Retrieved,
        besides: f64,
    ) -> Result<Self> {
        let (answer_bits, failure_log2) = retrieved
            .answer_bits(&chain, layout.planes * layout.span, besides)
            .ok_or_else(|| refused(scheme)(format!("the noise of {layout:?} exceeds the decoding limit")))?;
        Ok(Self { shape, chain, layout, gate, answer_bits, failure_log2 })
    }

    /// Bytes of an answer's masks and of its bodies.
    pub(crate) fn answer_parts(&self) -> [usize; 2] {
        let (Layout { planes, span, .. }, bits) = (&self.layout, self.answer_bits);
        [packed_len(planes * RESPONSE_DEGREE, bits.a), packed_len(planes * span, bits.b)]
    }

    /// Bytes of messages, envelopes included, from those of encoded parameters, keys and queries;
    /// and of a database and what is kept besides.
    pub(crate) fn sizes(
        &self,
        [parameters, keys, query]: [usize; 3],
        [database, material]: [u64; 2],
    ) -> Sizes {
        Sizes {
            public: sealed_public(parameters, 0),
            keys: sealed(keys),
            query: sealed(query),
            answer: sealed(self.answer_parts().iter().sum()),
            database,
            material,
            ..Sizes::default()
        }
    }

    /// A description with these parameters and the scheme's own.
    pub(crate) fn describe(
        &self,
        scheme: &'static str,
        privacy: Privacy,
        sizes: Sizes,
        own: Vec<(&'static str, String)>,
        work: Work,
    ) -> Description {
        let (ring, gate, answer) = (self.chain.ring(), &self.gate, self.answer_bits);
        let Layout { log2_rows, log2_columns, log2_slots, span, planes, .. } = self.layout;
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
        parameters.extend(own);
        let (shape, failure_log2) = (self.shape, self.failure_log2);
        let limits = Limits {
            records: self.layout.most_records(),
            client_keys: true,
            ..one_record(MAX_RECORD_BITS, UpdateCost::PerRecord)
        };
        // The weakest of everything published.
        let security = self.chain.weakest().map(security);
        Description { scheme, privacy, shape, sizes, security, failure_log2, limits, parameters, work }
    }
}

/// Parameters of schemes that retrieve items.
pub trait RetrievalParams: Parameters {
    /// The parameters that all these schemes have.
    fn common(&self) -> &Common;

    /// Rings, keys and their gadgets.
    fn chain(&self) -> &Chain {
        &self.common().chain
    }

    /// Places of records.
    fn layout(&self) -> &Layout {
        &self.common().layout
    }

    /// Gadget of gates.
    fn gate(&self) -> &Gadget {
        &self.common().gate
    }

    /// The ring key that a client registers with: a fresh one. `kept` is the key of an earlier
    /// registration.
    ///
    /// # Errors
    /// [`papir_core::Error::OwnerKey`] if it must be a database owner's and is missing.
    fn ring_key(&self, _kept: Option<&SecretKey>, rng: &mut dyn CryptoRng) -> Result<SecretKey> {
        Ok(SecretKey::generate(&self.chain().rlwe, rng))
    }

    /// Whether a client with this ring key can query.
    fn takes(&self, _ring_key: &SecretKey) -> bool {
        true
    }
}

/// Parameters of schemes that retrieve polynomials' items by selections, in phases 1 to 3.
pub trait SelectingParams: RetrievalParams {
    /// How polynomials are stored.
    fn form(&self) -> Form;

    /// Work of the verbs, given that of a query and of its selection.
    fn retrieval_work(&self, query: Counts, selection: Counts) -> Work {
        let layout = self.layout();
        let (planes, columns) = (layout.planes, layout.columns());
        // Cost of a polynomial in the first dimension, in external products of two digits, as
        // measured (decision 20).
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

    /// Bytes of a query, envelope excluded.
    fn query_bytes(&self) -> usize {
        self.seed_bytes() + 4
    }
}

/// The gadget of gates with this many digits and log₂ of their base, for the ring's q of 53 bits.
pub(crate) fn gate_params((levels, log_base): (usize, u32)) -> Option<GadgetParams> {
    let drop = LOG2_Q.checked_sub(log_base.checked_mul(levels as u32)?)?;
    Some(GadgetParams { levels, log_base, drop })
}

/// The same with its table.
///
/// # Errors
/// [`papir_core::Error::Parameters`] for digits that do not fit q.
pub(crate) fn gate_gadget(scheme: &'static str, chain: &Chain, gate: (usize, u32)) -> Result<Gadget> {
    let params = gate_params(gate).ok_or_else(|| refused(scheme)(format!("digits of {gate:?}")))?;
    Gadget::new(chain.ring(), params).map_err(refused(scheme))
}

/// Cost of an external product under this gadget, in those of two digits.
pub(crate) fn external(gadget: &Gadget) -> f64 {
    (gadget.levels() + 1) as f64 / 3.0
}

/// Cost of a key switch under this gadget, in external products of two digits.
pub(crate) fn key_switch(gadget: &Gadget) -> f64 {
    (gadget.levels() + 2) as f64 / 6.0
}
