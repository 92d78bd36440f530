//! Checked parameters of InsPIRe.

use papir_core::codec::{Reader, Writer};
use papir_core::scheme::Parameters;
use papir_core::{Choice, Description, Error, Goal, Limits, Privacy, Result, Security, Shape, UpdateCost};
use papir_kernels::matvec_i16;
use papir_lattice::gadget::{Gadget, GadgetParams};
use papir_lattice::packing::inspiring::matrix_words;
use papir_lattice::params::{Literal as RlweLiteral, ParamsError, RlweParams};
use papir_lattice::response::ResponseBits;
use papir_lattice::security::InsecureError;

use super::interpolation::Interpolation;
use super::layout::{Layout, PLAINTEXT, elements};
use super::noise::{Noise, NoiseInput};
use super::search::{self, Search};

/// The scheme's name.
pub(crate) const NAME: &str = "inspire";
/// log₂ of the largest failure probability that papir accepts.
pub(super) const MAX_FAILURE_LOG2: f64 = -40.0;
/// Widest selector that the database pass takes.
pub(super) const MAX_QUERY_BITS: u32 = matvec_i16::MAX_PLANES as u32 * matvec_i16::PLANE_BITS;

/// Bits a coefficient of key material is sent in. y_h is in one of the d − 1 key switches of a pack, and
/// an external product is as one key switch, so both may be rounded more than y_g.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyBits {
    /// Of y_g.
    pub y_g: u32,
    /// Of y_h.
    pub y_h: u32,
    /// Of the RGSW bodies.
    pub rgsw: u32,
}

impl KeyBits {
    /// The same for all.
    pub const fn equal(bits: u32) -> Self {
        Self { y_g: bits, y_h: bits, rgsw: bits }
    }

    /// In the order in which they are sent.
    pub const fn all(self) -> [u32; 3] {
        [self.y_g, self.y_h, self.rgsw]
    }
}

/// Unchecked values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Literal {
    /// Records and their length.
    pub shape: Shape,
    /// The ring and its noise.
    pub rlwe: RlweLiteral,
    /// The variables of a column's polynomial, and t.
    pub interpolation: Interpolation,
    /// Gadget of the packing keys (z_ks, ℓ_ks).
    pub key_switch: GadgetParams,
    /// Gadget of the RGSW encryptions (z_gsw, ℓ_gsw).
    pub rgsw: GadgetParams,
    /// Bits a selector entry is sent in.
    pub query_bits: u32,
    /// Bits a coefficient of key material is sent in.
    pub key_bits: KeyBits,
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
        Self::of_ring(literal, rlwe)
    }

    /// [`Params::new`] with the tables of the literal's ring at hand.
    pub(super) fn of_ring(literal: Literal, rlwe: RlweParams) -> Result<Self> {
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

    /// The smallest messages with as many columns as asked for, or the next fewer that a t of a power of two, or
    /// three or five times one, gives: with larger odd factors encoding takes long.
    ///
    /// # Errors
    /// As [`Params::with_points`].
    pub fn with_columns(shape: Shape, columns: u64) -> Result<Self> {
        let degree = RlweLiteral::DEFAULT.degree;
        let least = elements(&shape, degree)?.div_ceil(columns.max(1)) as usize;
        let of_factor = |odd: &usize| odd * least.div_ceil(*odd).next_power_of_two();
        let mixed = search::ODD_FACTORS.iter().map(of_factor).filter(|&points| points <= 2 * degree);
        // Above 2d points there are products of powers of two only.
        let points = mixed.fold(least.next_power_of_two(), usize::min);
        Self::with_points(shape, points)
    }

    /// The smallest messages for a shape and a t.
    ///
    /// # Errors
    /// As [`Params::with_interpolation`].
    pub fn with_points(shape: Shape, points: usize) -> Result<Self> {
        Self::with_interpolation(shape, Interpolation::of_points(points, RlweLiteral::DEFAULT.degree)?)
    }

    /// As [`Params::with_points`], for a failure probability of at most 2^`failure_log2`.
    ///
    /// # Errors
    /// As [`Params::with_points`].
    pub fn failing_less(shape: Shape, points: usize, failure_log2: f64) -> Result<Self> {
        let interpolation = Interpolation::of_points(points, RlweLiteral::DEFAULT.degree)?;
        Search::failing(failure_log2.min(MAX_FAILURE_LOG2))?.smallest(shape, interpolation)
    }

    /// The smallest messages for a shape and an interpolation.
    ///
    /// # Errors
    /// [`Error::Parameters`] where no answer would decode, [`Error::OutOfBounds`] for too many columns or rows.
    pub fn with_interpolation(shape: Shape, interpolation: Interpolation) -> Result<Self> {
        Search::new()?.smallest(shape, interpolation)
    }

    fn build(literal: Literal, rlwe: RlweParams) -> Result<Self> {
        let layout = Layout::new(literal.shape, literal.rlwe.degree, literal.interpolation)?;
        check_bits(&literal, rlwe.ring().modulus())?;
        check_matrix(literal.rlwe.degree, literal.key_switch)?;
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

    /// RGSW rows of each variable's point.
    pub fn rgsw_rows(&self) -> usize {
        2 * self.literal.rgsw.levels
    }

    /// The ring elements of key material in a query, by the bits that their coefficients are sent in: y_g,
    /// y_h and, variable by variable, RGSW bodies; none of these where a column is a single point.
    pub fn key_elements(&self) -> Vec<u32> {
        let levels = self.literal.key_switch.levels;
        let counts = [levels, levels, self.layout.interpolation.variables().len() * self.rgsw_rows()];
        let of_kind = |(bits, count)| std::iter::repeat_n(bits, count);
        self.literal.key_bits.all().into_iter().zip(counts).flat_map(of_kind).collect()
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
}

impl Parameters for Params {
    fn choose(shape: Shape, goal: Goal) -> Result<Self> {
        search::choose(shape, goal)
    }

    fn with_choice(shape: Shape, choice: Choice) -> Result<Self> {
        match choice {
            Choice::Goal(goal) => Self::choose(shape, goal),
            Choice::Columns(columns) => Self::with_columns(shape, columns),
            other => Err(other.refused_by(NAME)),
        }
    }

    fn candidates(shape: Shape) -> Result<Vec<Self>> {
        search::candidates(shape)
    }

    fn label(&self) -> String {
        format!("t = {}, {} columns", self.layout.interpolation, self.layout.columns)
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
                owner_key: false,
                update: UpdateCost::PerPack,
            },
            parameters: vec![
                ("d", layout.degree.to_string()),
                ("log2 q", format!("{:.2}", (self.rlwe.ring().modulus() as f64).log2())),
                ("sigma", literal.rlwe.sigma.to_string()),
                ("p", PLAINTEXT.to_string()),
                ("t", layout.interpolation.to_string()),
                ("N/t (columns)", layout.columns.to_string()),
                ("ring elements a record", layout.chunks.to_string()),
                ("records a ring element", layout.per_element().to_string()),
                ("packing gadget", gadget(literal.key_switch)),
                ("RGSW gadget", if layout.points == 1 { "none".to_owned() } else { gadget(literal.rgsw) }),
                ("query bits", literal.query_bits.to_string()),
                ("key bits", literal.key_bits.all().map(|bits| bits.to_string()).join(" + ")),
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
        writer.u64(literal.rlwe.sigma.to_bits()).u32(literal.interpolation.points() as u32);
        for gadget in [literal.key_switch, literal.rgsw] {
            writer.u8(gadget.levels as u8).u8(gadget.log_base as u8).u8(gadget.drop as u8);
        }
        let [y_g, y_h, rgsw] = literal.key_bits.all();
        for bits in [literal.query_bits, y_g, y_h, rgsw, literal.answer_bits.0, literal.answer_bits.1] {
            writer.u8(bits as u8);
        }
        if literal.interpolation.variables().len() > 1 {
            for size in literal.interpolation.variables() {
                writer.u32(size as u32);
            }
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
        let query_bits = u32::from(reader.u8()?);
        let [y_g, y_h, point] = reader.array()?.map(u32::from);
        let key_bits = KeyBits { y_g, y_h, rgsw: point };
        let answer_bits = (u32::from(reader.u8()?), u32::from(reader.u8()?));
        let interpolation = read_interpolation(points, reader)?;
        Self::new(Literal { shape, rlwe, interpolation, key_switch, rgsw, query_bits, key_bits, answer_bits })
    }
}

/// One variable of t points, or, where bytes are left, their sizes for several.
fn read_interpolation(points: usize, mut reader: Reader<'_>) -> Result<Interpolation> {
    let sizes = reader.rest().chunks(4).map(|bytes| Reader::new("points of a variable", bytes).u32());
    let sizes = sizes.map(|size| Ok(size? as usize)).collect::<Result<Vec<_>>>()?;
    if sizes.is_empty() {
        return Interpolation::of_one_variable(points);
    }
    let interpolation = Interpolation::of_variables(&sizes)?;
    if sizes.len() > 1 && interpolation.points() == points {
        return Ok(interpolation);
    }
    let expected = format!("two or more numbers whose product is {points}");
    Err(Error::malformed("the points of InsPIRe's variables", format!("{sizes:?}"), expected))
}

pub(super) fn unfit(reason: String) -> Error {
    Error::Parameters { scheme: NAME, reason }
}

fn noise_input<'a>(literal: &Literal, layout: &'a Layout) -> NoiseInput<'a> {
    let [q1, q2] = literal.rlwe.primes.map(f64::from);
    NoiseInput {
        layout,
        modulus: q1 * q2,
        sigma: literal.rlwe.sigma,
        query_bits: literal.query_bits,
        key_bits: literal.key_bits,
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
        && literal.key_bits.all().into_iter().all(below_q)
        && (17..=32).contains(&a_bits)
        && (17..=a_bits).contains(&b_bits);
    if fits { Ok(()) } else { Err(unfit(format!("message bits {literal:?} do not fit q = {modulus}"))) }
}

/// The entries of a packing matrix are sums of up to d digits in 32 bits.
pub(super) fn check_matrix(degree: usize, key_switch: GadgetParams) -> Result<()> {
    let entry = (degree as u64) << (key_switch.log_base.clamp(1, 32) - 1);
    if entry < 1 << 31 {
        return Ok(());
    }
    Err(unfit(format!("entries of the packing matrix reach {entry}: expected below 2^31")))
}
