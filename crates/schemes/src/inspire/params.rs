//! Checked parameters of InsPIRe and their choice for a shape and a goal.

use papir_core::codec::{Reader, Writer};
use papir_core::cost::{Counts, Operation, Work};
use papir_core::envelope;
use papir_core::scheme::Parameters;
use papir_core::{Description, Error, Goal, Limits, Privacy, Result, Security, Shape, Sizes, UpdateCost};
use papir_kernels::bits::packed_len;
use papir_lattice::gadget::{Gadget, GadgetParams};
use papir_lattice::noise::Setting;
use papir_lattice::packing::inspiring::matrix_words;
use papir_lattice::params::{Literal as RlweLiteral, ParamsError, RlweParams};
use papir_lattice::response::ResponseBits;
use papir_lattice::security::InsecureError;

use super::layout::{Layout, PLAINTEXT, elements};
use super::noise::{Noise, NoiseInput};

/// The scheme's name.
pub(crate) const NAME: &str = "inspire";
/// log₂ of the largest failure probability that papir accepts.
const MAX_FAILURE_LOG2: f64 = -40.0;
/// ℓ = 2 digits of 19 bits, the lowest 18 bits dropped (appendix G.1).
const DEFAULT_GADGET: GadgetParams = GadgetParams { levels: 2, log_base: 19, drop: 18 };
/// Bits of an answer's mask and body.
const ANSWER_BITS: (u32, u32) = (28, 20);
/// Widest selector that the database pass takes: four planes of 11 bits.
const MAX_QUERY_BITS: u32 = 44;
/// Uplink and downlink that [`Goal::Balanced`] assumes, bytes a second (10 Mbit/s).
const BALANCED_LINE: f64 = 1.25e6;
/// Bytes a second of one core reading database or packing matrices, for comparing candidates.
const READ_RATE: f64 = 2e10;
/// Seconds of one external product, for comparing candidates.
const EXTERNAL_PRODUCT: f64 = 5e-5;

/// Unchecked values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Literal {
    /// Records and their length.
    pub shape: Shape,
    /// The ring and its noise.
    pub rlwe: RlweLiteral,
    /// t.
    pub points: usize,
    /// Gadget of the packing keys (z_ks, ℓ_ks).
    pub key_switch: GadgetParams,
    /// Gadget of the RGSW encryption (z_gsw, ℓ_gsw).
    pub rgsw: GadgetParams,
    /// Bits a selector entry is sent in.
    pub query_bits: u32,
    /// Bits a coefficient of key material is sent in.
    pub key_bits: u32,
    /// Bits a coefficient of an answer's mask and body is sent in.
    pub answer_bits: (u32, u32),
}

/// Checked parameters with the tables built from them.
#[derive(Clone, Debug)]
pub struct Params {
    literal: Literal,
    layout: Layout,
    rlwe: RlweParams,
    key_switch: Gadget,
    rgsw: Gadget,
    noise: Noise,
    failure_log2: f64,
}

impl Params {
    /// Checks a literal: security from the table, failure probability from the noise.
    ///
    /// # Errors
    /// [`Error::Insecure`], [`Error::Parameters`] or [`Error::OutOfBounds`].
    pub fn new(literal: Literal) -> Result<Self> {
        let rlwe = RlweParams::new(literal.rlwe).map_err(|error| match error {
            ParamsError::Insecure(InsecureError { bits, .. }) => {
                let found = bits.map_or("no estimate".to_owned(), |bits| bits.to_string());
                Error::Insecure { found, expected: 128 }
            }
            other => unfit(other.to_string()),
        })?;
        let params = Self::build(literal, rlwe)?;
        // Written so that a NaN fails too.
        let holds = params.failure_log2 <= MAX_FAILURE_LOG2;
        if !holds {
            let reason =
                format!("an answer fails with probability 2^{:.1}, above 2^-40", params.failure_log2);
            return Err(Error::Parameters { scheme: NAME, reason });
        }
        Ok(params)
    }

    /// Builds parameters without asking for security or correctness: for tests at small degrees.
    ///
    /// # Errors
    /// [`Error::Parameters`] or [`Error::OutOfBounds`] when the values do not fit together at all.
    pub fn insecure(literal: Literal) -> Result<Self> {
        let rlwe = RlweParams::insecure(literal.rlwe).map_err(|error| unfit(error.to_string()))?;
        Self::build(literal, rlwe)
    }

    /// The best parameters with as many columns as asked for, or the next fewer that t = 2^i gives.
    ///
    /// # Errors
    /// As [`Params::new`].
    pub fn with_columns(shape: Shape, columns: u64) -> Result<Self> {
        let points =
            elements(&shape, RlweLiteral::DEFAULT.degree).div_ceil(columns.max(1)).next_power_of_two();
        Self::with_points(shape, points as usize)
    }

    /// The smallest messages for a shape and a t.
    ///
    /// # Errors
    /// As [`Params::new`].
    pub fn with_points(shape: Shape, points: usize) -> Result<Self> {
        let literal = Literal {
            shape,
            rlwe: RlweLiteral::DEFAULT,
            points,
            key_switch: DEFAULT_GADGET,
            rgsw: DEFAULT_GADGET,
            query_bits: MAX_QUERY_BITS,
            key_bits: 55,
            answer_bits: ANSWER_BITS,
        };
        let layout = Layout::new(shape, literal.rlwe.degree, points)?;
        Self::new(round_messages(literal, &layout)?)
    }

    fn build(literal: Literal, rlwe: RlweParams) -> Result<Self> {
        let layout = Layout::new(literal.shape, literal.rlwe.degree, literal.points)?;
        check_bits(&literal, rlwe.ring().modulus())?;
        check_matrix(&literal)?;
        let gadget = |params| Gadget::new(rlwe.ring(), params).map_err(|error| unfit(error.to_string()));
        let (key_switch, rgsw) = (gadget(literal.key_switch)?, gadget(literal.rgsw)?);
        let input = noise_input(&literal, &layout);
        let noise = Noise::compute(&input);
        let failure_log2 = noise.failure_log2(&input);
        Ok(Self { literal, layout, rlwe, key_switch, rgsw, noise, failure_log2 })
    }

    /// The values.
    pub fn literal(&self) -> &Literal {
        &self.literal
    }

    /// Where records lie.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The ring and its noise.
    pub fn rlwe(&self) -> &RlweParams {
        &self.rlwe
    }

    /// The packing keys' gadget.
    pub fn key_switch(&self) -> &Gadget {
        &self.key_switch
    }

    /// The RGSW gadget.
    pub fn rgsw(&self) -> &Gadget {
        &self.rgsw
    }

    /// The predicted noise of an answer.
    pub fn noise(&self) -> &Noise {
        &self.noise
    }

    /// Δ = round(q/p).
    pub fn scale(&self) -> u64 {
        let p = u64::from(PLAINTEXT);
        (self.rlwe.ring().modulus() + p / 2) / p
    }

    /// RGSW rows a query carries: none where a column is a single point.
    pub fn rgsw_rows(&self) -> usize {
        if self.layout.points == 1 { 0 } else { 2 * self.literal.rgsw.levels }
    }

    /// Ring elements of key material in a query: y_g, y_h and the RGSW bodies.
    pub fn key_elements(&self) -> usize {
        2 * self.literal.key_switch.levels + self.rgsw_rows()
    }

    /// Payload bytes of the selector, and of the key material.
    pub fn query_parts(&self) -> (usize, usize) {
        let coefficients = self.key_elements() * self.layout.degree;
        (
            packed_len(self.layout.columns, self.literal.query_bits),
            packed_len(coefficients, self.literal.key_bits),
        )
    }

    /// Payload bytes of the masks, and of the bodies, of an answer.
    pub fn answer_parts(&self) -> (usize, usize) {
        let coefficients = self.layout.chunks * self.layout.degree;
        (
            packed_len(coefficients, self.literal.answer_bits.0),
            packed_len(coefficients, self.literal.answer_bits.1),
        )
    }

    /// Bits of an answer's mask and body.
    pub fn answer_bits(&self) -> ResponseBits {
        let (a, b) = self.literal.answer_bits;
        ResponseBits { a, b }
    }

    /// Words of one pack's matrix.
    pub fn matrix_words(&self) -> usize {
        matrix_words(self.layout.degree, self.literal.key_switch.levels)
    }

    fn sizes(&self) -> Sizes {
        let (selector, keys) = self.query_parts();
        let (masks, bodies) = self.answer_parts();
        let element = 8 * self.layout.degree;
        let pack = self.matrix_words() * 4 + (1 + self.literal.key_switch.levels) * element;
        Sizes {
            public: (envelope::OVERHEAD + 8 + self.encode().len() + 32) as u64,
            hint: 0,
            keys: 0,
            query_keys: keys as u64,
            query: (envelope::OVERHEAD + selector + keys) as u64,
            answer: (envelope::OVERHEAD + masks + bodies) as u64,
            database: self.layout.matrix_bytes() as u64,
            material: (self.layout.packs() * pack) as u64,
        }
    }

    /// What the verbs do.
    fn work(&self) -> Work {
        let Layout { degree, points, chunks, columns, .. } = self.layout;
        let encryptions = columns.div_ceil(degree) + self.key_elements();
        Work {
            setup: self.setup_work(),
            query: Counts::new().with(Operation::Encrypt, encryptions as f64, 1),
            answer: Counts::new()
                .with(Operation::Select16, self.layout.matrix_bytes() as f64, self.groups())
                .with(
                    Operation::Matrix,
                    (self.layout.packs() * self.matrix_words() * 4) as f64,
                    self.groups(),
                )
                .with(Operation::ExternalProduct, ((points - 1) * chunks) as f64, chunks)
                .with(Operation::Word, self.answer_words() as f64, 1),
            extract: Counts::new().with(Operation::Decrypt, chunks as f64, 1),
        }
    }

    /// Every word is encoded and is in log₂ t levels of the interpolation; every row is multiplied
    /// with the masks of all blocks of d columns.
    fn setup_work(&self) -> Counts {
        let Layout { degree, points, columns, .. } = self.layout;
        let (rows, packs) = (self.layout.rows(), self.layout.packs());
        let words = (rows * 2 * self.layout.pairs()) as f64;
        Counts::new()
            .with(Operation::Encode16, words, columns)
            .with(Operation::Interpolate, words * f64::from(points.ilog2()), columns)
            .with(Operation::HintTransform, (rows * columns.div_ceil(degree)) as f64, self.groups())
            .with(Operation::Pack, packs as f64, packs)
    }

    /// Words of messages: the selector is unpacked and split into planes, the keys are unpacked and
    /// lifted, every row is lifted, and mask and body of each result are rounded and packed.
    fn answer_words(&self) -> usize {
        let Layout { degree, chunks, columns, .. } = self.layout;
        2 * columns + 2 * self.key_elements() * degree + self.layout.rows() + 4 * chunks * degree
    }

    /// Row groups: what threads share.
    fn groups(&self) -> usize {
        self.layout.rows() / papir_kernels::rows16::ROWS
    }

    /// Seconds of one core for an answer, roughly: for comparing candidates only.
    fn rough_seconds(&self) -> f64 {
        let sizes = self.sizes();
        let products = (self.layout.points - 1) * self.layout.chunks;
        (sizes.database + sizes.material) as f64 / READ_RATE + products as f64 * EXTERNAL_PRODUCT
    }

    /// What the goal minimises.
    fn score(&self, goal: Goal) -> f64 {
        let sizes = self.sizes();
        let bytes = (sizes.query + sizes.answer) as f64;
        match goal {
            Goal::MinCommunication => bytes,
            Goal::Balanced => bytes / BALANCED_LINE + self.rough_seconds(),
            Goal::MinTime => self.rough_seconds(),
        }
    }

    /// Whether the material may be as large as it is: not above the database (four times it for the
    /// least communication), unless a single pack a chunk already is.
    fn affordable(&self, goal: Goal) -> bool {
        let sizes = self.sizes();
        let times = if goal == Goal::MinCommunication { 4 } else { 1 };
        self.layout.points == 1 || sizes.material <= times * sizes.database
    }
}

impl Parameters for Params {
    fn choose(shape: Shape, goal: Goal) -> Result<Self> {
        let affordable = Self::candidates(shape)?.into_iter().filter(|candidate| candidate.affordable(goal));
        let best = affordable.min_by(|a, b| a.score(goal).total_cmp(&b.score(goal)));
        best.ok_or_else(|| unfit(format!("{shape:?}: the packing matrices would exceed the database")))
    }

    /// Every t of 1, 2, 4, … 2d that the failure probability allows.
    fn candidates(shape: Shape) -> Result<Vec<Self>> {
        let degree = RlweLiteral::DEFAULT.degree;
        let elements = elements(&shape, degree);
        let largest = (elements.next_power_of_two() as usize).min(2 * degree);
        let all = std::iter::successors(Some(1), |t| Some(2 * t)).take_while(|&t| t <= largest);
        let (fit, errors): (Vec<_>, Vec<_>) =
            all.map(|points| Self::with_points(shape, points)).partition(Result::is_ok);
        match errors.into_iter().filter_map(Result::err).next_back() {
            Some(error) if fit.is_empty() => Err(error),
            _ => Ok(fit.into_iter().flatten().collect()),
        }
    }

    fn label(&self) -> String {
        format!("t = {}, {} columns", self.layout.points, self.layout.columns)
    }

    fn shape(&self) -> Shape {
        self.layout.shape
    }

    fn describe(&self) -> Description {
        let gadget =
            |g: GadgetParams| format!("z = 2^{}, l = {}, {} low bits dropped", g.log_base, g.levels, g.drop);
        let (literal, layout) = (&self.literal, &self.layout);
        Description {
            scheme: NAME,
            privacy: Privacy::Private,
            shape: layout.shape,
            sizes: self.sizes(),
            security: self.rlwe.security().map(|row| Security { bits: row.matzov, source: row.set }),
            failure_log2: self.failure_log2,
            limits: Limits {
                records: papir_core::MAX_RECORDS,
                record_bits: papir_core::MAX_RECORD_BITS,
                batch: 1,
                client_keys: false,
                tickets: false,
                update: UpdateCost::Rebuild,
            },
            parameters: vec![
                ("d", layout.degree.to_string()),
                ("log2 q", format!("{:.2}", (self.rlwe.ring().modulus() as f64).log2())),
                ("sigma", literal.rlwe.sigma.to_string()),
                ("p", PLAINTEXT.to_string()),
                ("t", layout.points.to_string()),
                ("N/t (columns)", layout.columns.to_string()),
                ("ring elements a record", layout.chunks.to_string()),
                ("records a ring element", layout.per_element.to_string()),
                ("packing gadget", gadget(literal.key_switch)),
                ("RGSW gadget", gadget(literal.rgsw)),
                ("query bits", literal.query_bits.to_string()),
                ("key bits", literal.key_bits.to_string()),
                ("answer bits", format!("{} + {}", literal.answer_bits.0, literal.answer_bits.1)),
            ],
            work: self.work(),
        }
    }

    fn encode(&self) -> Vec<u8> {
        let literal = &self.literal;
        let mut writer = Writer::new();
        writer.u64(literal.shape.records()).u64(literal.shape.record_bits());
        writer.u32(literal.rlwe.degree as u32).u32(literal.rlwe.primes[0]).u32(literal.rlwe.primes[1]);
        writer.u64(literal.rlwe.sigma.to_bits()).u32(literal.points as u32);
        for gadget in [literal.key_switch, literal.rgsw] {
            writer.u8(gadget.levels as u8).u8(gadget.log_base as u8).u8(gadget.drop as u8);
        }
        for bits in [literal.query_bits, literal.key_bits, literal.answer_bits.0, literal.answer_bits.1] {
            writer.u8(bits as u8);
        }
        writer.finish()
    }

    fn decode(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new("InsPIRe parameters", bytes);
        let shape = Shape::new(reader.u64()?, reader.u64()?)?;
        let rlwe = RlweLiteral {
            degree: reader.u32()? as usize,
            primes: [reader.u32()?, reader.u32()?],
            sigma: f64::from_bits(reader.u64()?),
        };
        let points = reader.u32()? as usize;
        let mut gadget = || -> Result<GadgetParams> {
            let (levels, log_base, drop) = (reader.u8()?, reader.u8()?, reader.u8()?);
            Ok(GadgetParams { levels: levels.into(), log_base: log_base.into(), drop: drop.into() })
        };
        let (key_switch, rgsw) = (gadget()?, gadget()?);
        let (query_bits, key_bits) = (u32::from(reader.u8()?), u32::from(reader.u8()?));
        let answer_bits = (u32::from(reader.u8()?), u32::from(reader.u8()?));
        reader.finish()?;
        Self::new(Literal { shape, rlwe, points, key_switch, rgsw, query_bits, key_bits, answer_bits })
    }
}

fn unfit(reason: String) -> Error {
    Error::Parameters { scheme: NAME, reason }
}

fn noise_input<'a>(literal: &Literal, layout: &'a Layout) -> NoiseInput<'a> {
    let [q1, q2] = literal.rlwe.primes.map(f64::from);
    NoiseInput {
        layout,
        setting: Setting {
            degree: layout.degree,
            modulus: q1 * q2,
            sigma: literal.rlwe.sigma,
            key_bits: literal.key_bits,
        },
        query_bits: literal.query_bits,
        key_switch: literal.key_switch,
        rgsw: literal.rgsw,
        answer_bits: literal.answer_bits,
    }
}

fn check_bits(literal: &Literal, modulus: u64) -> Result<()> {
    let (a_bits, b_bits) = literal.answer_bits;
    let below_q = |bits: u32| (1..=62).contains(&bits) && 1u64 << bits < modulus;
    // The mask of an answer times the secret must stay below q/2: see the client's extraction.
    let product = 2f64.powi(a_bits as i32) * literal.rlwe.sigma * (literal.rlwe.degree as f64).sqrt() * 16.0;
    let fits = product < modulus as f64 / 2.0
        && below_q(a_bits)
        && (1..=MAX_QUERY_BITS).contains(&literal.query_bits)
        && below_q(literal.query_bits)
        && below_q(literal.key_bits)
        && (17..=32).contains(&a_bits)
        && (17..=a_bits).contains(&b_bits);
    if fits { Ok(()) } else { Err(unfit(format!("message bits {literal:?} do not fit q = {modulus}"))) }
}

/// The entries of a packing matrix are sums of up to d digits in 32 bits.
fn check_matrix(literal: &Literal) -> Result<()> {
    let entry = (literal.rlwe.degree as u64) << (literal.key_switch.log_base.clamp(1, 32) - 1);
    if entry < 1 << 31 {
        return Ok(());
    }
    Err(unfit(format!("entries of the packing matrix reach {entry}: expected below 2^31")))
}

/// Rounds selector and key material to the fewest bytes that keep the failure below 2⁻⁴⁰.
fn round_messages(literal: Literal, layout: &Layout) -> Result<Literal> {
    let fails = |query_bits, key_bits| {
        let input = noise_input(&Literal { query_bits, key_bits, ..literal }, layout);
        Noise::compute(&input).failure_log2(&input) > MAX_FAILURE_LOG2
    };
    let elements =
        2 * literal.key_switch.levels + if layout.points == 1 { 0 } else { 2 * literal.rgsw.levels };
    let keys = elements * layout.degree;
    let size = |(query_bits, key_bits): &(u32, u32)| {
        layout.columns as u64 * u64::from(*query_bits) + keys as u64 * u64::from(*key_bits)
    };
    let fewest_for =
        |key_bits| (20..=MAX_QUERY_BITS).find(|&bits| !fails(bits, key_bits)).map(|bits| (bits, key_bits));
    let best = (40..=55).filter_map(fewest_for).min_by_key(size);
    let (query_bits, key_bits) = best.ok_or_else(|| unfit(too_noisy(&literal, layout)))?;
    Ok(Literal { query_bits, key_bits, ..literal })
}

fn too_noisy(literal: &Literal, layout: &Layout) -> String {
    let input = noise_input(literal, layout);
    let failure = Noise::compute(&input).failure_log2(&input);
    format!(
        "t = {} and {} columns fail with probability 2^{failure:.1} even at full message precision, above 2^-40",
        layout.points, layout.columns
    )
}
