//! Parameters of all schemes of the family, and their search.

use std::sync::Arc;

use papir_core::codec::Reader;
use papir_core::cost::{Counts, Operation, Rates, Work};
use papir_core::scheme::{Goal, Parameters, Target};
use papir_core::{
    Description, FailureBound, Formats, Limits, MAX_RECORD_BITS, Privacy, Result, Shape, Sizes,
    UpdateCost,
};
use papir_kernels::bits::packed_len;
use papir_lattice::gadget::GadgetParams;
use papir_lattice::response::ResponseBits;
use papir_lattice::wide::{Gadget, SecretKey};
use papir_ring::CyclotomicRing;
use rand_core::CryptoRng;

use super::chain::{Chain, DEGREE, LOG2_P, LOG2_Q, RESPONSE_DEGREE, TERNARY};
use super::layout::{LEAST_SPAN, LOG2_GROUP, Layout, SHARE};
use super::noise::Noise;
use crate::shared::parameters::{
    self, check_default_only, one_record, refused, score, sealed, sealed_public, security,
    successes,
};

/// Formats of parameters of `pirouette` and `respire`, and of the databases that they describe. In
/// format 1 records are not whitened, and no bound on their noise holds for all records. In format
/// 2 the ring has two primes.
pub(crate) const FORMATS: Formats = Formats {
    what: "a database of pirouette or respire",
    oldest: 3,
    written: 3,
    renew: "build it again from its source: `papir build …`",
};

/// Reads the number before parameters and returns the rest. Parameters of format 1 have
/// `unnumbered` bytes and no number.
pub(crate) fn numbered<'a>(
    formats: &Formats,
    bytes: &'a [u8],
    unnumbered: usize,
) -> Result<&'a [u8]> {
    if bytes.len() == unnumbered {
        formats.check(1)?;
        return Ok(bytes);
    }

    let mut reader = Reader::new(formats.what, bytes);
    formats.check(reader.u32()?)?;
    reader.raw(bytes.len() - size_of::<u32>())
}

/// Storage of polynomials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Stores bytes, which each answer transforms.
    Compact,
    /// Stores transforms, which take 6.25 times the memory.
    Fast,
}

/// Parameters that every scheme of the family has.
#[derive(Clone, Debug)]
pub struct Common {
    pub(crate) shape: Shape,
    pub(crate) chain: Arc<Chain>,
    pub(crate) layout: Layout,
    pub(crate) gate: Gadget,
    pub(crate) form: Form,
    pub(crate) answer_bits: ResponseBits,
    pub(crate) failure_log2: f64,
}

impl Common {
    /// Creates parameters of the compact form with the shortest answers that decode. Fails if the
    /// noise exceeds the decoding limit.
    pub(crate) fn new(
        scheme: &'static str,
        shape: Shape,
        chain: Arc<Chain>,
        layout: Layout,
        gate: Gadget,
        noise: &Noise,
    ) -> Result<Self> {
        let found = noise.answer_bits(&chain, layout.planes * layout.span);
        let Some((answer_bits, failure_log2)) = found else {
            let reason = format!("the noise of {layout:?} exceeds the decoding limit");
            return Err(refused(scheme)(reason));
        };

        Ok(Self {
            shape,
            chain,
            layout,
            gate,
            form: Form::Compact,
            answer_bits,
            failure_log2,
        })
    }

    /// Returns the bytes of an answer's masks, and of its bodies.
    pub(crate) fn answer_parts(&self) -> [usize; 2] {
        let Layout { planes, span, .. } = &self.layout;
        let bits = self.answer_bits;
        [
            packed_len(planes * RESPONSE_DEGREE, bits.a),
            packed_len(planes * span, bits.b),
        ]
    }

    /// Returns a description with these parameters and the scheme's own.
    pub(crate) fn describe(
        &self,
        scheme: &'static str,
        privacy: Privacy,
        sizes: Sizes,
        own: Vec<(&'static str, String)>,
        work: Work,
    ) -> Description {
        let mut parameters = self.parameters();
        parameters.extend(own);

        let limits = Limits {
            records: self.layout.most_records(),
            client_keys: true,
            ..one_record(MAX_RECORD_BITS, UpdateCost::PerRecord)
        };

        Description {
            scheme,
            privacy,
            shape: self.shape,
            sizes,
            // The weakest of everything published.
            security: self.chain.weakest.map(security),
            failure_log2: self.failure_log2,
            failure_bound: FailureBound::DEFAULT,
            limits,
            parameters,
            work,
        }
    }

    /// Returns names and values of the parameters, for a description.
    fn parameters(&self) -> Vec<(&'static str, String)> {
        let ring = self.chain.ring();
        let gate = &self.gate;
        let answer = self.answer_bits;
        let Layout {
            log2_rows,
            log2_columns,
            log2_slots,
            span,
            planes,
            ..
        } = self.layout;

        vec![
            ("N", DEGREE.to_string()),
            ("log2 Q", format!("{:.2}", (ring.modulus() as f64).log2())),
            ("N1", RESPONSE_DEGREE.to_string()),
            ("log2 p", LOG2_P.to_string()),
            ("nu1", log2_rows.to_string()),
            ("nu2", log2_columns.to_string()),
            ("nu3", log2_slots.to_string()),
            ("item bytes", (span * planes).to_string()),
            (
                "gate digits",
                format!("{} of {} bits", gate.levels(), gate.params().log_base),
            ),
            ("answer bits", format!("{} and {}", answer.a, answer.b)),
        ]
    }

    /// Returns the work of all operations, given the work of a query and of its selection.
    pub(crate) fn work(&self, query: Counts, selection: Counts) -> Work {
        let layout = &self.layout;
        let planes = self.layout.planes;
        let columns = self.layout.columns();
        let transform = if self.form == Form::Fast {
            TRANSFORMED
        } else {
            COMPACT
        };

        let first = (planes * layout.rows * columns) as f64 * transform;
        let gates = (planes * (columns + layout.log2_slots as usize)) as f64;
        let products = first + gates * external(&self.gate);
        let words = planes as f64 * layout.span as f64;

        // Groups of columns are processed one after another, by tasks of several columns each.
        let tasks = columns.min(1 << LOG2_GROUP).div_ceil(SHARE);
        Work {
            setup: Counts::new().with(Operation::Encode8, layout.bytes() as f64, layout.polys()),
            query,
            answer: selection.with(Operation::WideProduct, products, tasks),
            extract: Counts::new().with(Operation::DecryptRow, words, 1),
        }
    }
}

/// Parameters of a scheme of the family.
pub trait RetrievalParams: Parameters {
    /// Number of a client's short keys: 0; 1 to extract an index's bits; 2 to make selectors as
    /// well.
    const SHORTS: usize;
    /// Bytes of the public part beside the parameters.
    const PUBLIC_BYTES: usize;

    /// Returns the parameters that all schemes of the family have.
    fn common(&self) -> &Common;

    /// Returns the rings, keys and their gadgets.
    fn chain(&self) -> &Chain {
        &self.common().chain
    }

    /// Returns the places of records.
    fn layout(&self) -> &Layout {
        &self.common().layout
    }

    /// Returns the gadget of gates.
    fn gate(&self) -> &Gadget {
        &self.common().gate
    }

    /// Returns the bytes of a query's seed: 32 or 16.
    fn seed_bytes(&self) -> usize {
        32
    }

    /// Returns the bytes of a query, without the envelope. By default it is one LWE encryption
    /// under a seed.
    fn query_bytes(&self) -> usize {
        self.seed_bytes() + 4
    }

    /// Returns the bytes of messages, envelopes included, for keys of `keys` bytes, and the bytes
    /// of the database and of further material.
    fn sizes(&self, keys: usize, [database, material]: [u64; 2]) -> Sizes {
        Sizes {
            public: sealed_public(self.encode().len(), Self::PUBLIC_BYTES),
            keys: sealed(keys),
            query: sealed(self.query_bytes()),
            answer: sealed(self.common().answer_parts().iter().sum()),
            database,
            material,
            ..Sizes::default()
        }
    }

    /// Returns the ring key with which a client registers. By default it is a fresh key. `_kept` is
    /// the key of an earlier registration.
    ///
    /// # Errors
    /// [`papir_core::Error::OwnerKey`] if it must be the key of a database owner and that is
    /// missing.
    fn ring_key(&self, _kept: Option<&SecretKey>, rng: &mut dyn CryptoRng) -> Result<SecretKey> {
        Ok(SecretKey::generate_light(&self.chain().rlwe, TERNARY, rng))
    }

    /// Returns true if a client with this ring key can query. By default it can if the key is as
    /// light as the noise assumes.
    fn takes(&self, ring_key: &SecretKey) -> bool {
        ring_key.is_light(TERNARY)
    }
}

/// Returns the gadget of gates of `levels` digits of `log_base` bits, for the ring's q of 50 bits.
/// Returns `None` for digits that do not fit.
pub(crate) fn gate_params(levels: usize, log_base: u32) -> Option<GadgetParams> {
    let drop = LOG2_Q.checked_sub(log_base.checked_mul(levels as u32)?)?;

    Some(GadgetParams {
        levels,
        log_base,
        drop,
    })
}

/// Creates the gadget of [`gate_params`] with its table. Fails for digits that do not fit q.
pub(crate) fn gate_gadget(
    scheme: &'static str,
    chain: &Chain,
    gate: (usize, u32),
) -> Result<Gadget> {
    let params = gate_params(gate.0, gate.1)
        .ok_or_else(|| refused(scheme)(format!("digits of {gate:?}")))?;
    Gadget::new(chain.ring(), params).map_err(refused(scheme))
}

/// Returns the cost of an external product under this gadget, in external products of two digits.
pub(crate) fn external(gadget: &Gadget) -> f64 {
    (gadget.levels() + 1) as f64 / 3.0
}

/// Returns the cost of a key switch under this gadget, in external products of two digits.
pub(crate) fn key_switch(gadget: &Gadget) -> f64 {
    (gadget.levels() + 2) as f64 / 6.0
}

/// Cost of a polynomial of bytes in the first dimension, in external products of two digits, as
/// measured (decision 45).
pub(crate) const COMPACT: f64 = 0.16;
/// Cost of a transformed polynomial in the first dimension, in external products of two digits.
const TRANSFORMED: f64 = 0.07;

/// Gadgets of gates that are compared: the number of digits, and log₂ of the base.
pub(crate) const GATES: [(usize, u32); 6] = [(3, 7), (4, 6), (4, 5), (5, 4), (6, 4), (7, 3)];

/// Reason that the schemes prove no failure probability below 2⁻⁴⁰.
const EXPECTATIONS: &str = "errors of keys are counted by their expected variances";

/// Returns the part of a label for the seeds of queries. It is empty for seeds of 32 bytes.
pub(crate) fn seeds(seed_bytes: usize) -> &'static str {
    if seed_bytes == 16 {
        ", seeds of 16 B"
    } else {
        ""
    }
}

/// Returns the lengths of items in bytes that fit the records, from the least on.
pub(crate) fn spans(shape: Shape) -> impl Iterator<Item = usize> {
    let least = shape
        .record_bytes()
        .clamp(LEAST_SPAN, RESPONSE_DEGREE)
        .next_power_of_two();

    (0..)
        .map(move |shift| least << shift)
        .take_while(|&span| span <= RESPONSE_DEGREE)
}

/// Returns the parameters of least cost. If there are errors only, returns the last one. Refuses a
/// failure bound other than the default.
pub(crate) fn best<P: Parameters>(
    scheme: &'static str,
    target: Target,
    choices: impl Iterator<Item = Result<P>>,
) -> Result<P> {
    let Target { goal, failure } = target;
    let best = parameters::best(successes(choices)?, |params| cost(goal, params))
        .ok_or_else(|| refused(scheme)("no items"))?;

    check_default_only(scheme, best.describe().failure_log2, failure, EXPECTATIONS)?;
    Ok(best)
}

/// Returns the cost of parameters for a goal.
fn cost<P: Parameters>(goal: Goal, params: &P) -> f64 {
    let Description { sizes, work, .. } = params.describe();
    let seconds = work.answer.core_seconds(&Rates::BUILT_IN);

    // Prefers the faster of equally short messages.
    let tie = if goal == Goal::MinCommunication {
        seconds * 1e-3
    } else {
        0.0
    };

    score(goal, (sizes.query + sizes.answer) as f64, seconds) + tie
}
