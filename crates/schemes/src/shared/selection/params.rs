//! Checked parameters of a packed selection, and the sizes that follow.

use std::marker::PhantomData;

use papir_core::codec::{Reader, Writer};
use papir_core::cost::{Counts, Operation};
use papir_core::{Error, Result};
use papir_kernels::bits::packed_len;
use papir_kernels::matvec_i16::ROWS;
use papir_lattice::gadget::{Gadget, GadgetParams};
use papir_lattice::packing::RingPacking;
use papir_lattice::params::{ParamsError, RlweParams};
use papir_lattice::response::ResponseBits;
use papir_lattice::security::{InsecureError, Row};
use papir_lattice::selection::{SelectorMasks, matrix_words};
use papir_ring::prg::Seed;

use super::bits::{MAX_ANSWER_BITS, MAX_QUERY_BITS, Noise, RING, Selection, SelectionBits, modulus};
use super::family::Family;

/// The stream of the selector's masks, one index a block of d columns.
pub(super) const SELECTOR: &str = "selection/selector";
/// Preparing a full pack in [`Operation::Pack`], which stands for ℓ = 2 (measured for all packings): for
/// itself, and for each digit.
const PACK: (f64, f64) = (0.4, 0.3);

/// A packed selection with the tables built for it.
#[derive(Clone, Debug)]
pub struct SelectionParams<F> {
    scheme: &'static str,
    selection: Selection,
    bits: SelectionBits,
    rlwe: RlweParams,
    gadget: Gadget,
    bound: u64,
    family: PhantomData<F>,
}

impl<F: Family> SelectionParams<F> {
    /// Checks counts and bits; `scheme` is whose they are.
    ///
    /// # Errors
    /// [`Error::Insecure`] for a ring that the security table does not back, [`Error::Parameters`] for bits
    /// or a gadget that do not fit, or that do not decode.
    pub fn new(scheme: &'static str, selection: Selection, bits: SelectionBits) -> Result<Self> {
        let unfit = |reason: String| Error::Parameters { scheme, reason };
        check(&selection, &bits).map_err(unfit)?;
        if !F::takes(RING.degree, selection.capacity, bits.gadget) {
            return Err(unfit(format!("packs of {} with {:?}", selection.capacity, bits.gadget)));
        }
        let rlwe = RlweParams::new(RING).map_err(|error| insecure(scheme, error))?;
        let gadget = Gadget::new(rlwe.ring(), bits.gadget).map_err(|error| unfit(error.to_string()))?;
        let bound = selection
            .bound::<F>(&bits)
            .ok_or_else(|| unfit(format!("{selection:?} with {bits:?} fails more often than 2^-40")))?;
        Ok(Self { scheme, selection, bits, rlwe, gadget, bound, family: PhantomData })
    }

    /// Whose they are.
    pub fn scheme(&self) -> &'static str {
        self.scheme
    }

    /// The counts.
    pub fn selection(&self) -> &Selection {
        &self.selection
    }

    /// What travels.
    pub fn bits(&self) -> &SelectionBits {
        &self.bits
    }

    /// The ring and its noise.
    pub fn rlwe(&self) -> &RlweParams {
        &self.rlwe
    }

    /// d.
    pub fn degree(&self) -> usize {
        RING.degree
    }

    /// The packing key's gadget.
    pub fn gadget(&self) -> &Gadget {
        &self.gadget
    }

    /// The predicted noise of a packed coefficient.
    pub fn noise(&self) -> Noise {
        self.selection.noise::<F>(&self.bits)
    }

    /// The largest distance from a message that decoding accepts, in units of q/2^a.
    pub fn bound(&self) -> u64 {
        self.bound
    }

    /// The security of the ring, as the table has it.
    pub fn security(&self) -> Option<&'static Row> {
        self.rlwe.security()
    }

    /// Δ = round(q/2^D).
    pub fn scale(&self) -> u64 {
        let half = 1 << (self.selection.plain_bits - 1);
        (self.rlwe.ring().modulus() + half) >> self.selection.plain_bits
    }

    /// Coefficients of a packing key.
    pub fn key_words(&self) -> usize {
        self.selection.key_elements::<F>(self.bits.gadget) * RING.degree
    }

    /// Payload bytes of the selector, and of the key.
    pub fn query_parts(&self) -> [usize; 2] {
        [packed_len(self.selection.columns, self.bits.query), packed_len(self.key_words(), self.bits.key)]
    }

    /// Payload bytes of an answer's masks, and of its bodies.
    pub fn answer_parts(&self) -> [usize; 2] {
        let masks = packed_len(self.selection.masks() * RING.degree, self.bits.answer.a);
        [masks, packed_len(self.selection.bodies(), self.bits.answer.b)]
    }

    /// Rows of the matrix: whole packs.
    pub fn matrix_rows(&self) -> usize {
        self.selection.packs() * self.selection.capacity
    }

    /// Bytes of the matrix.
    pub fn matrix_bytes(&self) -> usize {
        2 * matrix_words(self.matrix_rows(), self.selection.columns)
    }

    /// Bytes of the packs' words.
    fn pack_words_bytes(&self) -> usize {
        self.selection.pack_words_bytes::<F>(self.bits.gadget)
    }

    /// Bytes of all that is prepared of the packs: words, masks and last digits.
    pub fn packs_bytes(&self) -> usize {
        let last =
            if F::has_last(RING.degree, self.selection.capacity) { self.bits.gadget.levels } else { 0 };
        self.pack_words_bytes() + self.selection.packs() * (1 + last) * 8 * RING.degree
    }

    /// Adds what an answer takes: it reads matrix and packs, unpacks selector and key and splits or lifts
    /// them, lifts rows, rounds the masks of single rows and all bodies, and packs what it sends.
    pub fn count_answer(&self, counts: Counts) -> Counts {
        let Selection { columns, singles, .. } = self.selection;
        let masks = (self.selection.masks() + singles) * RING.degree;
        let words = 2 * (columns + self.key_words() + self.selection.bodies()) + self.matrix_rows() + masks;
        let groups = self.matrix_rows() / ROWS;
        let blocks = columns.div_ceil(RING.degree) + 1;
        let counts = counts
            .with(Operation::Select16, self.matrix_bytes() as f64, groups)
            .with(Operation::HintTransform, (singles * blocks) as f64, singles)
            .with(Operation::Word, words as f64, 1);
        let Selection { capacity, .. } = self.selection;
        F::count_packs(counts, self.selection.packs(), RING.degree, capacity, self.bits.gadget.levels)
    }

    /// Adds what preparing all packs takes.
    pub fn count_setup(&self, counts: Counts) -> Counts {
        self.count_packs(counts, self.selection.packs())
    }

    /// Adds what preparing so many packs takes.
    pub fn count_packs(&self, counts: Counts, packs: usize) -> Counts {
        let (rows, blocks) = (packs * self.selection.capacity, self.selection.columns.div_ceil(RING.degree));
        let full_packs = rows as f64 / RING.degree as f64;
        let each = PACK.0 + PACK.1 * self.bits.gadget.levels as f64;
        counts.with(Operation::HintTransform, (rows * blocks) as f64, rows / ROWS).with(
            Operation::Pack,
            full_packs * each,
            packs,
        )
    }

    /// Ring encryptions of a query.
    pub fn encryptions(&self) -> usize {
        self.selection.columns.div_ceil(RING.degree) + self.selection.key_elements::<F>(self.bits.gadget)
    }

    /// The parameters by name.
    pub fn values(&self) -> Vec<(&'static str, String)> {
        let SelectionBits { gadget, query, key, answer } = self.bits;
        let deviation = |variance: f64| format!("{:.2}", variance.log2() / 2.0);
        let noise = self.noise();
        vec![
            ("d", RING.degree.to_string()),
            ("log2 q", format!("{:.2}", modulus().log2())),
            ("sigma", RING.sigma.to_string()),
            ("log2 p of packed words", self.selection.plain_bits.to_string()),
            ("packing", F::Packing::NAME.to_owned()),
            ("encryptions a pack", self.selection.capacity.to_string()),
            ("packs", self.selection.packs().to_string()),
            (
                "packing gadget",
                format!("l = {}, z = 2^{}, drop {}", gadget.levels, gadget.log_base, gadget.drop),
            ),
            ("selector bits", query.to_string()),
            ("key bits", key.to_string()),
            ("answer bits", format!("{} and {}", answer.a, answer.b)),
            ("log2 noise of selection", deviation(noise.selection)),
            ("log2 noise of packing", deviation(noise.packing)),
            ("log2 noise of the answer", deviation(noise.total())),
        ]
    }

    /// The packing under the masks that a seed gives.
    ///
    /// # Errors
    /// None for checked parameters: those of a gadget that does not fit.
    pub fn packing(&self, seed: &Seed) -> Result<F::Packing> {
        F::Packing::new(&self.rlwe, &self.gadget, self.selection.capacity, seed)
            .map_err(|error| Error::Parameters { scheme: self.scheme, reason: error.to_string() })
    }

    /// The masks of the selector, for packs of so many rows; of 1 for rows that are not packed.
    pub fn selector_masks(&self, seed: &Seed, capacity: usize) -> SelectorMasks {
        SelectorMasks::new(&self.rlwe, seed, SELECTOR, self.selection.columns, capacity)
    }
}

/// Bytes of encoded bits.
pub const BITS_BYTES: usize = 7;

impl SelectionBits {
    /// Appends a byte each: ℓ, log₂ z and dropped bits of the gadget, bits of selector, key, mask and body.
    pub fn write(&self, writer: &mut Writer) {
        let GadgetParams { levels, log_base, drop } = self.gadget;
        let ResponseBits { a, b } = self.answer;
        [levels as u32, log_base, drop, self.query, self.key, a, b].iter().for_each(|&value| {
            writer.u8(value as u8);
        });
    }

    /// Reads what [`SelectionBits::write`] wrote.
    ///
    /// # Errors
    /// [`Error::Length`].
    pub fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let [levels, log_base, drop, query, key, a, b] = reader.array::<BITS_BYTES>()?.map(u32::from);
        let gadget = GadgetParams { levels: levels as usize, log_base, drop };
        Ok(Self { gadget, query, key, answer: ResponseBits { a, b } })
    }
}

fn check(selection: &Selection, bits: &SelectionBits) -> std::result::Result<(), String> {
    let Selection { columns, plain_bits, capacity, rows, .. } = *selection;
    if columns == 0 || columns > u32::MAX as usize || rows == 0 || !(1..=16).contains(&plain_bits) {
        return Err(format!("{columns} columns of {rows} rows of words of {plain_bits} bits"));
    }
    if !capacity.is_power_of_two() || !(2..=RING.degree).contains(&capacity) {
        return Err(format!("packs of {capacity}: expected a power of two up to {}", RING.degree));
    }
    let ResponseBits { a, b } = bits.answer;
    let sent = 1..=MAX_QUERY_BITS;
    let fits = sent.contains(&bits.query)
        && sent.contains(&bits.key)
        && (plain_bits + 1..=MAX_ANSWER_BITS).contains(&a)
        && (1..=a).contains(&b)
        && bits.answer.fit(RING.degree, modulus(), RING.sigma);
    if fits { Ok(()) } else { Err(format!("message bits {bits:?}")) }
}

/// What the security table refuses, as the scheme's error.
pub(crate) fn insecure(scheme: &'static str, error: ParamsError) -> Error {
    match error {
        ParamsError::Insecure(InsecureError { bits, .. }) => {
            let found = bits.map_or("no estimate".to_owned(), |bits| bits.to_string());
            Error::Insecure { found, expected: 128 }
        }
        other => Error::Parameters { scheme, reason: other.to_string() },
    }
}
