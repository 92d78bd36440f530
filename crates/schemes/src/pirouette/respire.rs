//! The query path of Respire, as a baseline for Pirouette.
//!
//! Burton, Menon, Wu, *Respire: High-Rate PIR for Databases with Small Records*, over Pirouette's
//! database with the same parameters.
//!
//! A query is one RLWE encryption of the row's one-hot vector and of the digits of all gates, each
//! in a coefficient of its own. The server expands it and continues as in Pirouette
//! ([`super::retrieval`]). The client registers the keys of the expansion, the gates and the
//! response ring once.
//!
//! | the paper | function |
//! |---|---|
//! | Setup, pp | [`Evaluation`] without short keys |
//! | Query, query expansion | `ask`, `expand` |
//! | Answer, Extract | [`super::server`], [`super::client`] |
//!
//! ```text
//! query    seed of the mask (32), words of the body at multiples of the stride, packed
//! ```
//! Differences from the paper: the query path runs under Pirouette's parameters, not under
//! Respire's own chain of moduli, so that answers and database are the same. Only the coefficients
//! of a query's body that carry a message are sent, and they are rounded.

use std::ops::RangeInclusive;

use papir_core::codec::{Reader, Writer};
use papir_core::cost::{Counts, Operation};
use papir_core::scheme::{Never, Parameters, RegisteredWith, Scheme, Target, Wire};
use papir_core::{Description, Error, Privacy, Progress, Result, Shape, parallel};
use papir_kernels::bits::packed_len;
use papir_lattice::mod_switch::PowerSwitch;
use papir_lattice::noise::rounding;
use papir_lattice::rlwe::encrypt;
use papir_lattice::wide::{Gadget, Rlwe, Rows};
use papir_ring::prg::{SecretRng, Seed};
use papir_ring::wide::{Poly, Ring};
use papir_ring::{CyclotomicRing, Values};
use rand_core::CryptoRng;
use subtle::{ConditionallySelectable, ConstantTimeEq};
use zeroize::Zeroizing;

use super::chain::{Chain, DEGREE, Grain, LOG2_DEGREE, LOG2_P, Standard, half_modulo};
use super::client::{Path, RetrievalClient, RetrievalSecret};
use super::common::{
    Common, FORMATS, GATES, RetrievalParams, best, gate_gadget, key_switch, numbered, spans,
};
use super::keys::{Evaluation, Keys, State, packed_bytes};
use super::layout::Layout;
use super::noise::{Constants, Noise, Retrieved};
use super::polynomials::Sections;
use super::retrieval::Selection;
use super::server::{RetrievalServer, Selecting};
use super::wire::RetrievalAnswer;
use crate::shared::messages::{
    PublicSeed, SEED_BYTES, pack, read_all, read_shape, unpack, write_shape,
};
use crate::shared::parameters::refused;

/// Respire, as a scheme.
pub struct Respire;

impl Scheme for Respire {
    const NAME: &'static str = "respire";
    const ID: u16 = 15;
    const PRIVACY: Privacy = Privacy::Private;

    type Params = RespireParams;
    type Public = PublicSeed;
    type Query = RespireQuery;
    type Answer = RetrievalAnswer;
    type Secret = RetrievalSecret;
    type Registration = RegisteredWith<Keys, State, Never>;
    type Server = RetrievalServer<Self>;
    type Client = RetrievalClient<Self>;
}

impl Path for Respire {
    /// Encrypts a query for an item. Only the body's words at multiples of the stride are sent.
    fn ask(
        params: &RespireParams,
        state: &State,
        item: u64,
        rng: &mut dyn CryptoRng,
    ) -> RespireQuery {
        let seed = Seed::random(rng);
        let mut rng = SecretRng::new(rng);
        let chain = params.chain();
        let stride = 1 << params.log2_stride();
        let ring = chain.ring();

        let mut message = Zeroizing::new(vec![0; DEGREE]);
        let values = selection(params, item);
        message
            .iter_mut()
            .step_by(stride)
            .zip(values.iter())
            .for_each(|(out, &value)| *out = value);
        let message = Zeroizing::new(ring.forward(ring.from_words(&message)));

        let body = encrypt(
            &chain.rlwe,
            &state.0.ring,
            &mask(ring, &seed),
            &message,
            &mut rng,
        );

        // The trace of the expansion cancels the other coefficients.
        let switch = PowerSwitch::new(ring.modulus(), params.literal.query_bits);
        let body = ring.to_words(&ring.inverse(body));
        let body = body
            .into_iter()
            .step_by(stride)
            .map(|word| switch.down(word))
            .collect();

        RespireQuery { seed, body }
    }
}

impl Selecting for Respire {
    const SECTIONS: Sections = Sections {
        seed: "respire/seed",
        bytes: "respire/database",
        values: "respire/transforms",
    };

    fn select(
        params: &RespireParams,
        batch: &[(&Evaluation, &RespireQuery)],
        progress: &dyn Progress,
    ) -> Vec<Selection> {
        progress.stage("expand", batch.len() as u64);
        parallel::map(batch, |(keys, query)| expand(params, keys, query))
    }
}

/// A query: an RLWE encryption of the selectors and gates of an item.
pub struct RespireQuery {
    /// Seed of the mask.
    seed: Seed,
    /// Coefficients of the body that carry a message, rounded.
    body: Vec<u64>,
}

impl Wire<RespireParams> for RespireQuery {
    fn encode(&self, params: &RespireParams) -> Vec<u8> {
        let mut bytes = self.seed.0.to_vec();
        pack(&self.body, params.literal.query_bits, &mut bytes);
        bytes
    }

    fn decode(params: &RespireParams, bytes: &[u8]) -> Result<Self> {
        let what = "respire's query";
        Error::check_length(what, bytes.len(), params.query_bytes())?;

        let mut reader = Reader::new(what, bytes);
        let seed = Seed(reader.array()?);
        let bits = params.literal.query_bits;
        let body = unpack(&mut reader, what, bits, params.query_words())?;
        Ok(Self { seed, body })
    }
}

/// Expands the mask of a query.
fn mask(ring: &Ring, seed: &Seed) -> Poly<Values> {
    ring.uniform(&mut seed.expand("respire/query", 0))
}

/// Returns q/p at the row's place, then each digit's gⱼ for each set bit of slot and column, all
/// divided by d, because the expansion multiplies by d. No branch depends on the item.
fn selection(params: &RespireParams, item: u64) -> Zeroizing<Vec<u64>> {
    let layout = params.layout();
    let q = params.chain().ring().modulus();
    let below = layout.log2_columns + layout.log2_slots;
    let row = item >> below;
    let scale = divided((q + (1 << (LOG2_P - 1))) >> LOG2_P, q);

    // The final length: growing would leave copies behind.
    let mut values = Zeroizing::new(Vec::with_capacity(params.query_words()));
    for r in 0..1u64 << layout.log2_rows {
        values.push(u64::conditional_select(&0, &scale, r.ct_eq(&row)));
    }

    for bit in 0..below {
        let set = (item >> bit & 1).ct_eq(&1);
        for level in 0..params.gate().levels() {
            let factor = divided(params.gate().factor(level), q);
            values.push(u64::conditional_select(&0, &factor, set));
        }
    }

    values
}

/// Returns x/d modulo q.
fn divided(x: u64, q: u64) -> u64 {
    (0..LOG2_DEGREE).fold(x, |x, _| half_modulo(x, q))
}

/// Expands a query to selectors and gates.
fn expand(params: &RespireParams, keys: &Evaluation, query: &RespireQuery) -> Selection {
    let ring = params.chain().ring();
    let steps = params.log2_stride() as usize;

    let mut encryption = encryption(params, query);
    keys.galois.trace(ring, &mut encryption, steps);
    let mut parts = keys.galois.expand(ring, encryption, steps);

    // The rows come first, then each gate's digits.
    let mut digits = parts.split_off(1 << params.layout().log2_rows).into_iter();
    let bits = params.layout().log2_columns + params.layout().log2_slots;
    let gates: Vec<Vec<Rlwe>> = (0..bits)
        .map(|_| digits.by_ref().take(params.gate().levels()).collect())
        .collect();
    let gates = parallel::map(gates, |levels| keys.square.rgsw(ring, levels));

    parts.truncate(params.layout().rows);
    Selection {
        gates,
        selectors: Rows::of(ring, parts),
    }
}

/// Returns the query's encryption. Coefficients that were not sent are set to zero, because the
/// trace cancels them.
fn encryption(params: &RespireParams, query: &RespireQuery) -> Rlwe {
    let ring = params.chain().ring();
    let switch = PowerSwitch::new(ring.modulus(), params.literal.query_bits);

    let mut body = vec![0; DEGREE];
    let places = body.iter_mut().step_by(1 << params.log2_stride());
    places
        .zip(&query.body)
        .for_each(|(out, &word)| *out = switch.up(word));

    Rlwe {
        a: ring.inverse(mask(ring, &query.seed)),
        b: ring.from_words(&body),
    }
}

/// Numbers of bits of a row's number that are compared.
const LOG2_ROWS: RangeInclusive<u32> = 4..=9;
/// Numbers of bits of a word of the query's body that are compared.
const QUERY_BITS: RangeInclusive<u32> = 28..=48;

/// Bytes of parameters in format 1, which had no number.
const UNNUMBERED: usize = 36;

/// Values that determine the parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Literal {
    /// Bytes of an item in one plane.
    pub span: usize,
    /// ν₁, the number of bits of a row's number.
    pub log2_rows: u32,
    /// Number of digits of the gates' RGSW encryptions, and log₂ of their base.
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
    /// Creates checked parameters.
    ///
    /// # Errors
    /// [`papir_core::Error::Parameters`] if the noise does not close or a value does not fit.
    pub fn new(shape: Shape, literal: Literal) -> Result<Self> {
        let Literal {
            span,
            log2_rows,
            gate,
            query_bits,
        } = literal;

        if !LOG2_ROWS.contains(&log2_rows)
            || !QUERY_BITS.contains(&query_bits)
            || !(1..=8).contains(&gate.0)
        {
            let expected =
                "4 to 9 bits of rows, 28 to 48 of a query's words, 1 to 8 digits in gates";
            return Err(refused(Respire::NAME)(format!(
                "{literal:?}: expected {expected}"
            )));
        }

        let chain = Chain::get::<Standard>(Grain::Coarse)?;
        let layout = Layout::new(Respire::NAME, shape, span, log2_rows)?;
        let gate = gate_gadget(Respire::NAME, &chain, gate)?;

        // Each message has a coefficient of its own.
        let found = coefficients(&layout, &gate);
        if found > DEGREE {
            let reason = format!("{found} coefficients of a query: expected at most {DEGREE}");
            return Err(refused(Respire::NAME)(reason));
        }

        let noise = noise(&chain, &layout, &gate, query_bits);
        let common = Common::new(Respire::NAME, shape, chain, layout, gate, &noise)?;
        Ok(Self { literal, common })
    }

    /// Creates the parameters with the shortest words of a query for which the noise closes.
    fn with_shortest_query(
        shape: Shape,
        span: usize,
        log2_rows: u32,
        gate: (usize, u32),
    ) -> Result<Self> {
        let longest = Literal {
            span,
            log2_rows,
            gate,
            query_bits: *QUERY_BITS.end(),
        };

        for query_bits in QUERY_BITS.step_by(4) {
            let literal = Literal {
                query_bits,
                ..longest
            };
            if let Ok(params) = Self::new(shape, literal) {
                return Ok(params);
            }
        }

        // The reason why the longest words do not fit either.
        Self::new(shape, longest)
    }

    /// Returns the number of words of a query's body that are sent. They are coefficients at
    /// multiples of 2^[`RespireParams::log2_stride`].
    fn query_words(&self) -> usize {
        words(self.layout(), self.gate())
    }

    /// Returns log₂ of the distance between coefficients that are sent.
    pub(super) fn log2_stride(&self) -> u32 {
        LOG2_DEGREE - self.query_words().trailing_zeros()
    }

    /// Returns the cost of expanding a query and encrypting the gates, in external products of two
    /// digits.
    fn selection(&self) -> f64 {
        let layout = self.layout();
        let chain = self.chain();
        let digits = (layout.log2_slots + layout.log2_columns) as usize * self.gate().levels();

        let switch = key_switch(&chain.conversion);
        self.query_words() as f64 * switch + digits as f64 * switch
    }
}

/// Returns the number of words of a query's body that are sent.
fn words(layout: &Layout, gate: &Gadget) -> usize {
    coefficients(layout, gate).next_power_of_two()
}

/// Computes the noise from the query to the item.
pub(super) fn noise(chain: &Chain, layout: &Layout, gate: &Gadget, query_bits: u32) -> Noise {
    let ring = chain.setting();

    // A trace keeps one coefficient's error and multiplies it by d.
    let step = rounding(ring.modulus / 2f64.powi(query_bits as i32));
    let fresh = (ring.sigma * ring.sigma + step) * 4f64.powi(LOG2_DEGREE as i32);

    let conversion = chain.conversion.params();
    let expanded = words(layout, gate).trailing_zeros();
    let made = Constants::new(&ring, conversion, fresh, expanded);
    let dimensions = [layout.log2_rows, layout.log2_columns, layout.log2_slots];
    let retrieved =
        Retrieved::new(&ring, conversion, gate.params(), dimensions, made, made).of_one_expansion();

    // A query of ring encryptions is read without error.
    Noise {
        retrieved,
        index_failure_log2: f64::NEG_INFINITY,
    }
}

/// Returns the number of coefficients of a query that carry a message.
fn coefficients(layout: &Layout, gate: &Gadget) -> usize {
    (1 << layout.log2_rows) + (layout.log2_columns + layout.log2_slots) as usize * gate.levels()
}

impl RetrievalParams for RespireParams {
    const SHORTS: usize = 0;
    const PUBLIC_BYTES: usize = SEED_BYTES;

    fn common(&self) -> &Common {
        &self.common
    }

    fn query_bytes(&self) -> usize {
        SEED_BYTES + packed_len(self.query_words(), self.literal.query_bits)
    }
}

impl Parameters for RespireParams {
    fn choose(shape: Shape, target: impl Into<Target>) -> Result<Self> {
        let choices = spans(shape).flat_map(|span| {
            LOG2_ROWS.flat_map(move |log2_rows| {
                GATES.map(move |gate| Self::with_shortest_query(shape, span, log2_rows, gate))
            })
        });

        best(Respire::NAME, target.into(), choices)
    }

    fn label(&self) -> String {
        let Layout { rows, span, .. } = *self.layout();
        format!(
            "{rows} rows, {} columns, items of {span} B",
            self.layout().columns()
        )
    }

    fn shape(&self) -> Shape {
        self.common.shape
    }

    fn describe(&self) -> Description {
        let own = vec![(
            "query words",
            format!("{} of {} bits", self.query_words(), self.literal.query_bits),
        )];

        let query = Counts::new().with(Operation::Encrypt, 1.0, 1);
        let selection = Counts::new().with(Operation::WideProduct, self.selection(), 1);
        let work = self.common.work(query, selection);

        let sizes = self.sizes(
            packed_bytes(self.chain(), Self::SHORTS),
            [self.layout().bytes(), 0],
        );
        self.common
            .describe(Respire::NAME, Respire::PRIVACY, sizes, own, work)
    }

    fn encode(&self) -> Vec<u8> {
        let Literal {
            span,
            log2_rows,
            gate,
            query_bits,
        } = self.literal;

        let mut writer = Writer::new();
        writer.u32(FORMATS.written);
        write_shape(&mut writer, self.common.shape);
        writer
            .u32(span as u32)
            .u32(log2_rows)
            .u32(gate.0 as u32)
            .u32(gate.1)
            .u32(query_bits);
        writer.finish()
    }

    fn decode(bytes: &[u8]) -> Result<Self> {
        let (shape, literal) = read_all(
            "respire's parameters",
            numbered(&FORMATS, bytes, UNNUMBERED)?,
            read_parameters,
        )?;
        Self::new(shape, literal)
    }
}

/// Reads a shape and the values that determine the parameters.
fn read_parameters(reader: &mut Reader<'_>) -> Result<(Shape, Literal)> {
    let shape = read_shape(reader)?;
    let literal = Literal {
        span: reader.u32()? as usize,
        log2_rows: reader.u32()?,
        gate: (reader.u32()? as usize, reader.u32()?),
        query_bits: reader.u32()?,
    };

    Ok((shape, literal))
}
