//! Checked parameters of InsPIRe⁽²⁾ and their choice for a shape and a goal.

use papir_core::codec::{Reader, Writer};
use papir_core::cost::{Counts, Operation, Work};
use papir_core::scheme::Parameters;
use papir_core::{
    Choice, Description, Error, Goal, Limits, MAX_RECORDS, Privacy, Result, Security, Shape, Sizes,
    UpdateCost, envelope,
};
use papir_kernels::bits::packed_len;
use papir_kernels::matvec_i16;
use papir_lattice::gadget::{Gadget, GadgetParams};
use papir_lattice::noise::Setting;
use papir_lattice::packing::inspiring::unit_words;
use papir_lattice::params::{Literal as RlweLiteral, ParamsError, RlweParams};
use papir_lattice::response::ResponseBits;
use papir_lattice::security::InsecureError;
use papir_lattice::selection::matrix_words;

use super::digits::Digits;
use super::layout::Layout;
use super::noise::{Noise, NoiseInput, WORD_BITS};
use super::search::{self, Bits};
use crate::shared::shapes::{read_shape, write_shape};
use crate::shared::units::Units;

/// The scheme's name.
pub(crate) const NAME: &str = "inspire2";
/// log₂ of the largest failure probability that papir accepts.
const MAX_FAILURE_LOG2: f64 = -40.0;
/// Widest selector that the database pass takes.
const MAX_QUERY_BITS: u32 = matvec_i16::PLANE_BITS * matvec_i16::MAX_PLANES as u32;
/// Fewest words of a unit that are considered: below, packs cost more than their rows.
const LEAST_UNIT_WORDS: usize = 16;
/// Uplink and downlink that [`Goal::Balanced`] assumes, bytes a second (10 Mbit/s).
const BALANCED_LINE: f64 = 1.25e6;
/// Bytes a second of one core reading database or packing matrices, for comparing candidates.
const READ_RATE: f64 = 2e10;
/// The largest degree, and the most words of each part of an answer and of the public masks: what a client
/// allocates for a server's parameters.
const MAX_DEGREE: usize = 1 << 12;
const MAX_WORDS: usize = 1 << 22;
/// Seconds that packing one LWE encryption online takes, for comparing candidates.
const ONLINE_PACK: f64 = 3e-5;

/// Unchecked values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Literal {
    /// Records and their length.
    pub shape: Shape,
    /// The ring and its noise.
    pub rlwe: RlweLiteral,
    /// t, units of a column.
    pub blocks: usize,
    /// γ₀ (words of a unit), γ₁, γ₂.
    pub gammas: [usize; 3],
    /// Gadget of the packing keys (z_ks, ℓ_ks).
    pub gadget: GadgetParams,
    /// Bits an entry of each selector is sent in.
    pub query_bits: [u32; 2],
    /// Bits a coefficient of key material is sent in.
    pub key_bits: u32,
    /// Digits of the first level's masks.
    pub mask: Digits,
    /// Digits of the first level's bodies, as wide.
    pub body: Digits,
    /// Bits a coefficient of an answer's masks and bodies is sent in.
    pub answer: ResponseBits,
}

impl Literal {
    /// The same with other bits.
    pub(super) fn with_bits(self, bits: Bits) -> Self {
        let Bits { gadget, query, key, mask, body, answer } = bits;
        Self { gadget, query_bits: query, key_bits: key, mask, body, answer, ..self }
    }

    /// What the noise depends on.
    pub(super) fn noise_input(&self, layout: &Layout) -> NoiseInput {
        let RlweLiteral { degree, primes, sigma } = self.rlwe;
        let [q1, q2] = primes.map(f64::from);
        NoiseInput {
            setting: Setting::error_like(degree, q1 * q2, sigma, self.key_bits),
            gadget: self.gadget,
            gammas: self.gammas,
            selectors: [layout.columns, layout.blocks],
            query_bits: self.query_bits,
            mask: self.mask,
            body: self.body,
            answer: self.answer,
        }
    }

    /// The distinct values of γ₀, γ₁, γ₂, in this order.
    fn distinct_gammas(&self) -> Vec<usize> {
        let mut distinct = Vec::new();
        for gamma in self.gammas {
            if !distinct.contains(&gamma) {
                distinct.push(gamma);
            }
        }
        distinct
    }

    /// Coefficients of key material: α·ℓ·d.
    fn key_words(&self) -> usize {
        self.distinct_gammas().len() * self.gadget.levels * self.rlwe.degree
    }

    /// Packs of the second and the third packing.
    fn packs(&self) -> [usize; 2] {
        let [unit, first, second] = self.gammas;
        let rows = [self.mask.count * self.rlwe.degree, self.body.count * unit];
        [rows[0].div_ceil(first), rows[1].div_ceil(second)]
    }

    /// Words of an answer: bodies of resp₁, masks and bodies of resp₂.
    fn answer_words(&self) -> [usize; 3] {
        let [first, second] = self.packs();
        [first * self.gammas[1], second * self.rlwe.degree, second * self.gammas[2]]
    }

    /// Words of the masks of resp₁.
    fn public_words(&self) -> usize {
        self.packs()[0] * self.rlwe.degree
    }

    /// Bits of a query, an answer and the masks of resp₁: what Theorem 6 counts.
    pub(super) fn message_bits(&self, layout: &Layout) -> u64 {
        let [first, masks, second] = self.answer_words();
        let words = [
            (layout.columns, self.query_bits[0]),
            (layout.blocks, self.query_bits[1]),
            (self.key_words(), self.key_bits),
            (first + second, self.answer.b),
            (masks + self.public_words(), self.answer.a),
        ];
        words.into_iter().map(|(count, bits)| count as u64 * u64::from(bits)).sum()
    }
}

/// Checked parameters with the tables built from them.
#[derive(Clone, Debug)]
pub struct Params {
    literal: Literal,
    layout: Layout,
    rlwe: RlweParams,
    gadget: Gadget,
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
            return Err(unfit(reason));
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

    /// The smallest messages with units of γ₀ words and as many columns as asked for, or the next fewer.
    ///
    /// # Errors
    /// As [`Params::new`].
    pub fn with_columns(shape: Shape, unit_words: usize, columns: u64) -> Result<Self> {
        let units = Units::new(shape, 2 * unit_words)?.units();
        Self::with_blocks(shape, unit_words, units.div_ceil(columns.max(1)) as usize)
    }

    /// The smallest messages with units of γ₀ words, t of them in a column.
    ///
    /// # Errors
    /// As [`Params::new`].
    pub fn with_blocks(shape: Shape, unit_words: usize, blocks: usize) -> Result<Self> {
        let layout = Layout::new(shape, unit_words, blocks)?;
        // Where the search starts from; it sets all bits and the gadget.
        let literal = Literal {
            shape,
            rlwe: RlweLiteral::DEFAULT,
            blocks,
            gammas: [unit_words, RlweLiteral::DEFAULT.degree / 2, unit_words],
            gadget: search::gadget(19),
            query_bits: [MAX_QUERY_BITS; 2],
            key_bits: 55,
            mask: Digits { bits: 14, count: 2 },
            body: Digits { bits: 14, count: 2 },
            answer: ResponseBits { a: 32, b: 32 },
        };
        check_gammas(&literal)?;
        let bits = search::choose(&literal, &layout, MAX_QUERY_BITS).ok_or_else(|| {
            unfit(format!("{} columns of {blocks} units exceed the decoding limit", layout.columns))
        })?;
        Self::new(literal.with_bits(bits))
    }

    /// The fewest words of a unit that hold a record: a power of two, at least 16.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] for records beyond the largest unit.
    pub fn least_unit_words(shape: Shape) -> Result<usize> {
        let most = RlweLiteral::DEFAULT.degree / 2;
        let least = shape.record_bytes().div_ceil(2).next_power_of_two().max(LEAST_UNIT_WORDS);
        if least > most {
            let expected = format!("at most {} in {NAME}", 16 * most);
            return Err(Error::out_of_bounds("the record length in bits", shape.record_bits(), expected));
        }
        Ok(least)
    }

    fn build(literal: Literal, rlwe: RlweParams) -> Result<Self> {
        check_gammas(&literal)?;
        check_bits(&literal, rlwe.ring().modulus())?;
        check_words(&literal)?;
        let layout = Layout::new(literal.shape, literal.gammas[0], literal.blocks)?;
        let gadget = Gadget::new(rlwe.ring(), literal.gadget).map_err(|error| unfit(error.to_string()))?;
        let input = literal.noise_input(&layout);
        let noise = Noise::compute(&input);
        let failure_log2 = noise.failure_log2(&input);
        Ok(Self { literal, layout, rlwe, gadget, noise, failure_log2 })
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
    pub fn gadget(&self) -> &Gadget {
        &self.gadget
    }

    /// The predicted noise of both levels.
    pub fn noise(&self) -> &Noise {
        &self.noise
    }

    /// Δ = round(q/p) of both levels: p = 2¹⁶, and 2^D.
    pub fn scales(&self) -> [u64; 2] {
        [WORD_BITS, self.literal.mask.bits]
            .map(|bits| (self.rlwe.ring().modulus() + (1 << (bits - 1))) >> bits)
    }

    /// Bits of the first level's encryptions, whose words become digits.
    pub fn first_bits(&self) -> ResponseBits {
        ResponseBits { a: self.literal.mask.word_bits(), b: self.literal.body.word_bits() }
    }

    /// Bits of an answer's masks and bodies.
    pub fn answer_bits(&self) -> ResponseBits {
        self.literal.answer
    }

    /// Lengths of both selectors: N/t and t.
    pub fn selectors(&self) -> [usize; 2] {
        [self.layout.columns, self.layout.blocks]
    }

    /// The distinct values of γ₀, γ₁, γ₂, in this order: one key each.
    pub fn distinct_gammas(&self) -> Vec<usize> {
        self.literal.distinct_gammas()
    }

    /// Coefficients of key material.
    pub fn key_words(&self) -> usize {
        self.literal.key_words()
    }

    /// Packs of resp₁ and of resp₂.
    pub fn packs(&self) -> [usize; 2] {
        self.literal.packs()
    }

    /// Words of an answer: bodies of resp₁, masks and bodies of resp₂.
    pub fn answer_words(&self) -> [usize; 3] {
        self.literal.answer_words()
    }

    /// Words of the masks of resp₁.
    pub fn public_words(&self) -> usize {
        self.literal.public_words()
    }

    /// Payload bytes of both selectors and of the key material.
    pub fn query_parts(&self) -> [usize; 3] {
        let ([c, t], [first, second]) = (self.selectors(), self.literal.query_bits);
        [packed_len(c, first), packed_len(t, second), packed_len(self.key_words(), self.literal.key_bits)]
    }

    /// Payload bytes of [`Params::answer_words`].
    pub fn answer_parts(&self) -> [usize; 3] {
        let ([first, masks, second], ResponseBits { a, b }) = (self.answer_words(), self.literal.answer);
        [packed_len(first, b), packed_len(masks, a), packed_len(second, b)]
    }

    /// Rows of the second level's matrix: τ·d.
    pub fn digit_rows(&self) -> usize {
        self.literal.mask.count * self.literal.rlwe.degree
    }

    /// Words of the second level's matrix.
    pub fn digit_words(&self) -> usize {
        matrix_words(self.digit_rows(), self.layout.blocks)
    }

    /// Words of so many packs' matrices of the first or second packing.
    pub(super) fn pack_words(&self, packing: usize, packs: usize) -> usize {
        let (gamma, RlweLiteral { degree, .. }) = (self.literal.gammas[packing], self.literal.rlwe);
        let unit = unit_words(degree, gamma, self.literal.gadget.levels);
        packs.div_ceil(unit / (gamma * degree * self.literal.gadget.levels)) * unit
    }

    /// Bytes of the first level's packing matrices.
    fn first_material(&self) -> usize {
        4 * self.pack_words(0, self.layout.blocks)
    }

    fn sizes(&self) -> Sizes {
        let [first, second, keys] = self.query_parts();
        let hint = packed_len(self.public_words(), self.literal.answer.a);
        let [packs, _] = self.packs();
        let second_level = 2 * self.digit_words() + 4 * self.pack_words(1, packs);
        let masks = 8 * self.literal.rlwe.degree * packs;
        Sizes {
            public: (envelope::OVERHEAD + 8 + self.encode().len() + 32 + hint) as u64,
            hint: hint as u64,
            keys: 0,
            ticket: 0,
            query_keys: keys as u64,
            query: (envelope::OVERHEAD + first + second + keys) as u64,
            answer: (envelope::OVERHEAD + self.answer_parts().iter().sum::<usize>()) as u64,
            database: self.layout.matrix_bytes() as u64,
            material: (self.first_material() + second_level + masks) as u64,
        }
    }

    /// What the verbs do.
    fn work(&self) -> Work {
        let degree = self.literal.rlwe.degree;
        let ([first, second], [packs, online]) = (self.selectors(), self.packs());
        let groups = self.layout.rows() / matvec_i16::ROWS;
        let encryptions = first.div_ceil(degree) + second.div_ceil(degree) + self.key_words() / degree;
        let matrices = self.first_material() + 4 * self.pack_words(1, packs);
        let online_packs = online as f64 * self.share_of_a_pack(2);
        Work {
            setup: self.setup_work(),
            query: Counts::new().with(Operation::Encrypt, encryptions as f64, 1),
            answer: Counts::new()
                .with(Operation::Select16, self.layout.matrix_bytes() as f64, groups)
                .with(
                    Operation::Select16,
                    2.0 * self.digit_words() as f64,
                    self.digit_rows() / matvec_i16::ROWS,
                )
                .with(Operation::Matrix, matrices as f64, groups)
                .with(Operation::Pack, online_packs, online)
                .with(Operation::Word, self.answer_work() as f64, 1),
            extract: Counts::new().with(Operation::Decrypt, (packs + online + 1) as f64, 1),
        }
    }

    /// Every word is encoded, and all packs are made.
    fn setup_work(&self) -> Counts {
        let words = (self.layout.matrix_bytes() / 2) as f64;
        self.material_work(self.layout.blocks).with(Operation::Encode16, words, self.layout.columns)
    }

    /// So many packs of the first level, and the second level: every row is multiplied with the masks of all
    /// blocks of d columns.
    pub(super) fn material_work(&self, blocks: usize) -> Counts {
        let degree = self.literal.rlwe.degree;
        let [first, second] = self.selectors().map(|columns| columns.div_ceil(degree));
        let ([packs, _], [unit, ..]) = (self.packs(), self.literal.gammas);
        let transforms = blocks * unit * first + self.digit_rows() * second;
        let full_packs = blocks as f64 * self.share_of_a_pack(0) + packs as f64 * self.share_of_a_pack(1);
        Counts::new().with(Operation::HintTransform, transforms as f64, blocks).with(
            Operation::Pack,
            full_packs,
            blocks,
        )
    }

    /// What preparing a pack of one of the γ takes of preparing one of d: γ/d of the key switches, and a
    /// transform of log₂ γ levels instead of log₂ d (measured: five levels weigh as much as the rest).
    fn share_of_a_pack(&self, packing: usize) -> f64 {
        let (gamma, degree) = (self.literal.gammas[packing] as f64, self.literal.rlwe.degree as f64);
        gamma / degree * (5.0 + gamma.log2()) / (5.0 + degree.log2())
    }

    /// Bytes that a new version copies from the last.
    pub(super) fn snapshot_bytes(&self) -> usize {
        let Sizes { database, material, .. } = self.sizes();
        (database + material) as usize
    }

    /// Words of messages that are unpacked, split, lifted or rounded.
    fn answer_work(&self) -> usize {
        let [first, second] = self.selectors();
        let answer: usize = self.answer_words().iter().sum();
        2 * (first + second + self.key_words()) + 2 * self.layout.rows() + 2 * self.digit_rows() + 2 * answer
    }

    /// Seconds of one core for an answer, roughly: for comparing candidates only.
    fn rough_seconds(&self) -> f64 {
        let sizes = self.sizes();
        let online = self.packs()[1] * self.literal.gammas[2];
        (sizes.database + sizes.material) as f64 / READ_RATE + online as f64 * ONLINE_PACK
    }

    /// What the goal minimises.
    fn score(&self, goal: Goal) -> f64 {
        let sizes = self.sizes();
        let bytes = (sizes.query + sizes.answer + sizes.hint) as f64;
        match goal {
            Goal::MinCommunication => bytes,
            Goal::Balanced => bytes / BALANCED_LINE + self.rough_seconds(),
            Goal::MinTime => self.rough_seconds(),
        }
    }

    /// Whether the first level's material may be as large as it is: not above the database (four times it
    /// for the least communication), unless a single unit a column already is.
    fn affordable(&self, goal: Goal) -> bool {
        let times = if goal == Goal::MinCommunication { 4 } else { 1 };
        self.layout.blocks == 1 || self.first_material() <= times * self.layout.matrix_bytes()
    }
}

impl Parameters for Params {
    fn choose(shape: Shape, goal: Goal) -> Result<Self> {
        let affordable = Self::candidates(shape)?.into_iter().filter(|candidate| candidate.affordable(goal));
        let best = affordable.min_by(|a, b| a.score(goal).total_cmp(&b.score(goal)));
        best.ok_or_else(|| unfit(format!("{shape:?}: the packing matrices would exceed the database")))
    }

    fn with_choice(shape: Shape, choice: Choice) -> Result<Self> {
        match choice {
            Choice::Goal(goal) => Self::choose(shape, goal),
            Choice::Columns(columns) => Self::with_columns(shape, Self::least_unit_words(shape)?, columns),
            Choice::Packed { columns, words } => {
                Self::with_columns(shape, usize::try_from(words).unwrap_or(usize::MAX), columns)
            }
            other => Err(other.refused_by(NAME)),
        }
    }

    /// The least γ₀ and the next, with a t of every power of two around the square root of all units.
    fn candidates(shape: Shape) -> Result<Vec<Self>> {
        let least = Self::least_unit_words(shape)?;
        let most = RlweLiteral::DEFAULT.degree / 2;
        let of_width = |unit_words: usize| {
            let units = Units::new(shape, 2 * unit_words).map_or(1, |bundle| bundle.units());
            std::iter::successors(Some(1u64), |t| Some(2 * t))
                .take_while(move |&t| t <= units && t <= units.div_ceil(t).saturating_mul(16))
                .map(move |t| Self::with_blocks(shape, unit_words, t as usize))
        };
        let widths = [least, 2 * least].into_iter().filter(|&words| words <= most);
        let (fit, errors): (Vec<_>, Vec<_>) = widths.flat_map(of_width).partition(Result::is_ok);
        match errors.into_iter().filter_map(Result::err).next_back() {
            Some(error) if fit.is_empty() => Err(error),
            _ => Ok(fit.into_iter().flatten().collect()),
        }
    }

    fn label(&self) -> String {
        let [unit, first, second] = self.literal.gammas;
        let Layout { blocks, columns, .. } = self.layout;
        format!("t = {blocks}, {columns} columns, gamma = {unit}, {first}, {second}")
    }

    fn shape(&self) -> Shape {
        self.layout.shape()
    }

    fn describe(&self) -> Description {
        Description {
            scheme: NAME,
            privacy: Privacy::Private,
            shape: self.shape(),
            sizes: self.sizes(),
            security: self.rlwe.security().map(|row| Security { bits: row.matzov, source: row.set }),
            failure_log2: self.failure_log2,
            limits: Limits {
                records: MAX_RECORDS,
                record_bits: 16 * (self.literal.rlwe.degree / 2) as u64,
                batch: 1,
                client_keys: false,
                tickets: false,
                owner_key: false,
                update: UpdateCost::PerPack,
            },
            parameters: self.values(),
            work: self.work(),
        }
    }

    fn encode(&self) -> Vec<u8> {
        let Literal { shape, rlwe, blocks, gammas, gadget, query_bits, key_bits, mask, body, answer } =
            self.literal;
        let mut writer = Writer::new();
        write_shape(&mut writer, shape);
        writer.u32(rlwe.degree as u32).u32(rlwe.primes[0]).u32(rlwe.primes[1]).u64(rlwe.sigma.to_bits());
        writer.u32(blocks as u32);
        gammas.iter().for_each(|&gamma| {
            writer.u32(gamma as u32);
        });
        let counts =
            [gadget.levels as u32, gadget.log_base, gadget.drop, query_bits[0], query_bits[1], key_bits];
        let digits = [mask.bits, mask.count as u32, body.count as u32, answer.a, answer.b];
        counts.iter().chain(&digits).for_each(|&value| {
            writer.u8(value as u8);
        });
        writer.finish()
    }

    fn decode(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new("the parameters of InsPIRe(2)", bytes);
        let shape = read_shape(&mut reader)?;
        let rlwe = RlweLiteral {
            degree: reader.u32()? as usize,
            primes: [reader.u32()?, reader.u32()?],
            sigma: f64::from_bits(reader.u64()?),
        };
        let blocks = reader.u32()? as usize;
        let gammas = [reader.u32()? as usize, reader.u32()? as usize, reader.u32()? as usize];
        let [levels, log_base, drop, first, second, key_bits, bits, mask, body, a, b] =
            reader.array::<11>()?.map(u32::from);
        reader.finish()?;
        Self::new(Literal {
            shape,
            rlwe,
            blocks,
            gammas,
            gadget: GadgetParams { levels: levels as usize, log_base, drop },
            query_bits: [first, second],
            key_bits,
            mask: Digits { bits, count: mask as usize },
            body: Digits { bits, count: body as usize },
            answer: ResponseBits { a, b },
        })
    }
}

impl Params {
    /// The parameters by name.
    fn values(&self) -> Vec<(&'static str, String)> {
        let Literal { rlwe, gammas, gadget, query_bits, key_bits, mask, body, answer, .. } = &self.literal;
        let log2 = |variance: f64| format!("{:.2}", variance.log2() / 2.0);
        vec![
            ("d", rlwe.degree.to_string()),
            ("log2 q", format!("{:.2}", (self.rlwe.ring().modulus() as f64).log2())),
            ("sigma", rlwe.sigma.to_string()),
            ("p of the first level", (1u32 << WORD_BITS).to_string()),
            ("p of the second level", (1u32 << mask.bits).to_string()),
            ("t (units of a column)", self.layout.blocks.to_string()),
            ("N/t (columns)", self.layout.columns.to_string()),
            ("records of a unit", self.layout.per_unit().to_string()),
            ("gamma_0, gamma_1, gamma_2", format!("{}, {}, {}", gammas[0], gammas[1], gammas[2])),
            ("digits of a mask and of a body", format!("{} and {}", mask.count, body.count)),
            (
                "packing gadget",
                format!("z = 2^{}, l = {}, {} low bits dropped", gadget.log_base, gadget.levels, gadget.drop),
            ),
            ("query bits", format!("{} and {}", query_bits[0], query_bits[1])),
            ("key bits", key_bits.to_string()),
            ("answer bits (mask, body)", format!("{}, {}", answer.a, answer.b)),
            ("log2 noise of the first level", log2(self.noise.first + self.noise.first_switch)),
            ("log2 noise of the second level", log2(self.noise.second + self.noise.second_switch)),
        ]
    }
}

fn unfit(reason: String) -> Error {
    Error::Parameters { scheme: NAME, reason }
}

fn check_gammas(literal: &Literal) -> Result<()> {
    let most = literal.rlwe.degree / 2;
    let fits = |&gamma: &usize| gamma.is_power_of_two() && (2..=most).contains(&gamma);
    match literal.gammas.iter().find(|gamma| !fits(gamma)) {
        None => Ok(()),
        Some(&gamma) => {
            let expected = format!("a power of two from 2 to {most}");
            Err(Error::out_of_bounds("gamma", gamma as u64, expected))
        }
    }
}

fn check_words(literal: &Literal) -> Result<()> {
    let degree = literal.rlwe.degree;
    if degree > MAX_DEGREE {
        let expected = format!("at most {MAX_DEGREE} in {NAME}");
        return Err(Error::out_of_bounds("the degree d", degree as u64, expected));
    }
    let parts = literal.answer_words().into_iter().chain([literal.public_words(), literal.key_words()]);
    match parts.max() {
        Some(words) if words > MAX_WORDS => {
            let expected = format!("at most {MAX_WORDS}");
            Err(Error::out_of_bounds("the number of words of an answer's part", words as u64, expected))
        }
        _ => Ok(()),
    }
}

fn check_bits(literal: &Literal, modulus: u64) -> Result<()> {
    let Literal { query_bits, key_bits, mask, body, answer, gadget, rlwe, .. } = literal;
    let below_q = |bits: u32, most: u32| (1..=most).contains(&bits) && 1u64 << bits < modulus;
    let digits = |digits: &Digits| {
        digits.bits == mask.bits && (1..=16).contains(&digits.bits) && (1..=32).contains(&digits.count)
    };
    let first = ResponseBits { a: mask.word_bits(), b: body.word_bits() };
    let response = |bits: ResponseBits| bits.fit(rlwe.degree, modulus as f64, rlwe.sigma);
    // Entries of a packing matrix are sums of up to γ digits of half a base.
    let entry = (rlwe.degree as u64 / 2) << (gadget.log_base.clamp(1, 32) - 1);
    let fits = query_bits.iter().all(|&bits| below_q(bits, MAX_QUERY_BITS))
        && below_q(*key_bits, 62)
        && digits(mask)
        && digits(body)
        && response(first)
        && response(*answer)
        && entry < 1 << 31;
    if fits { Ok(()) } else { Err(unfit(format!("message bits {literal:?} do not fit q = {modulus}"))) }
}
