//! Second level (Algorithm 5, lines 9 to 12).
//!
//! The second level's database has a column for each unit of a column of D, with the digits of the
//! unit's encryption. The digits of masks are a matrix, which is made at setup and packed ahead
//! like the first level (`digit_column`). The digits of bodies come from each query's first answer.
//! Only their masks and packs are made while a query waits (`respond`).

use papir_core::scheme::Combiner;
use papir_core::sections::SectionSource;
use papir_core::{BlobSlice, Error, Progress, Result, parallel};
use papir_lattice::mod_switch::PowerSwitch;
use papir_lattice::packing::inspiring::{OnlineKey as Expanded, PartialInspiring};
use papir_lattice::packing::{Bodies, OnlineKey, Packing};
use papir_lattice::rlwe::Rlwe;
use papir_lattice::selection::SelectorMasks;
use papir_ring::prg::Seed;
use papir_ring::{Coefficients, CyclotomicRing, Poly};

use super::literal::{Inspire2, NAME};
use super::packings::{LevelMatrix, PACKS, Packings, SEED};
use super::params::Params;
use super::wire::{Answer, Public, Query};
use crate::shared::device_copy::DeviceCopy;
use crate::shared::messages::load_seed;
use crate::shared::packs::{PreparedPacks, encryptions, sized};
use crate::shared::parameters::refused;

/// Section of the digits of the first level's masks.
pub(super) const DIGITS: &str = "inspire2/digits";

/// Packing keys of a query, one for each distinct γ.
pub(super) struct GammaKeys(Vec<OnlineKey<Expanded>>);

/// The second level: its matrix and packs, and the parameters and packings that an answer needs. On
/// several machines, one of them makes answers from the first levels of all others. A clone shares
/// the data.
#[derive(Clone)]
pub struct SecondLevel {
    pub(super) params: Params,
    pub(super) public: Public,
    pub(super) packings: Packings,
    /// Digits of the masks of the first level's packs, in row groups.
    pub(super) digits: BlobSlice<i16>,
    pub(super) packs: PreparedPacks<PartialInspiring>,
    /// Masks of the second selector, for the packs that are made online.
    online_masks: SelectorMasks,
}

impl SecondLevel {
    /// Reads the second level from the sections of a prepared database.
    ///
    /// # Errors
    /// The errors of [`Server::load`](papir_core::scheme::Server::load).
    pub(super) fn load(params: Params, source: &dyn SectionSource) -> Result<Self> {
        let seed = load_seed(source, SEED)?;
        let packings = Packings::new(&params, &seed)?;

        let all = params.literal().packs()[0];
        let digits = sized(source, DIGITS, 2 * params.digit_words())?;
        let packs = PreparedPacks::load(PACKS, packings.packing(1), (0..all, all), source)?;
        Ok(Self::new(params, seed, packings, digits, packs))
    }

    /// Creates the second level under a public seed, from its prepared digits and packs.
    pub(super) fn new(
        params: Params,
        seed: Seed,
        packings: Packings,
        digits: BlobSlice<i16>,
        packs: PreparedPacks<PartialInspiring>,
    ) -> Self {
        let masks = packs.answer_masks(params.rlwe().ring(), params.literal().answer);
        let online_masks = params.selector(1).masks(&seed, params.literal().gammas[2]);

        Self {
            params,
            public: Public { seed, masks },
            packings,
            digits,
            packs,
            online_masks,
        }
    }

    /// Reads the packing keys of queries.
    pub(super) fn read_keys(&self, queries: &[&Query]) -> Result<Vec<GammaKeys>> {
        parallel::try_map(queries, |query| self.keys(query))
    }

    /// Reads the packing keys of one query.
    fn keys(&self, query: &Query) -> Result<GammaKeys> {
        // Packings with the same γ share a key, which is expanded once.
        let distinct = 0..self.packings.distinct().len();
        let keys = distinct
            .map(|index| self.packings.key(&self.params, query, index))
            .collect::<Result<_>>()?;
        Ok(GammaKeys(keys))
    }

    /// Returns the keys of the first, second or third packing.
    pub(super) fn keys_of<'a>(
        &self,
        keys: &'a [GammaKeys],
        packing: usize,
    ) -> Vec<&'a OnlineKey<Expanded>> {
        keys.iter()
            .map(|keys| &keys.0[self.packings.role(packing)])
            .collect()
    }

    /// Computes lines 9 to 12: answers from the packed bodies of all units.
    pub(super) fn answers(
        &self,
        queries: &[&Query],
        firsts: &[Bodies],
        keys: &[GammaKeys],
        progress: &dyn Progress,
    ) -> Result<Vec<Answer>> {
        let count = queries.len() as u64;

        progress.stage("pack_second", count);
        let seconds = self.pack_masks(queries, keys)?;

        progress.stage("pack_online", count);
        let thirds = self.pack_online(queries, firsts, keys)?;

        progress.stage("switch", count);
        Ok(seconds
            .iter()
            .zip(&thirds)
            .map(|(second, third)| self.switch(second, third))
            .collect())
    }

    /// Computes lines 10 and 11: the bodies of resp₁.
    pub(super) fn pack_masks(&self, queries: &[&Query], keys: &[GammaKeys]) -> Result<Vec<Bodies>> {
        let literal = self.params.literal();
        let matrix = LevelMatrix {
            level: 1,
            tiles: &self.digits,
            // Devices hold the first level only.
            held: &DeviceCopy::default(),
            gamma: literal.gammas[1],
            packs: literal.packs()[0],
        };
        let bodies = matrix.select(&self.params, queries);

        self.packs
            .pack(self.packings.packing(1), bodies, &self.keys_of(keys, 1))
    }

    /// Computes lines 9, 10 and 12: resp₂ from the digits of the packed bodies.
    pub(super) fn pack_online(
        &self,
        queries: &[&Query],
        firsts: &[Bodies],
        keys: &[GammaKeys],
    ) -> Result<Vec<Vec<Rlwe>>> {
        let cases = queries.iter().zip(firsts).zip(self.keys_of(keys, 2));
        parallel::try_map(cases, |((query, first), key)| {
            self.respond_to(query, first, key)
        })
    }

    /// Computes resp₂ of one query.
    fn respond_to(
        &self,
        query: &Query,
        first: &Bodies,
        key: &OnlineKey<Expanded>,
    ) -> Result<Vec<Rlwe>> {
        let digits = body_digits(&self.params, first);
        respond(
            &self.params,
            self.packings.packing(2),
            &self.online_masks,
            &digits,
            &query.selectors[1],
            key,
        )
    }

    /// Switches masks and bodies to the bits of an answer.
    fn switch(&self, second: &Bodies, third: &[Rlwe]) -> Answer {
        let ring = self.params.rlwe().ring();
        let bits = self.params.literal().answer;
        let gamma = self.params.literal().gammas[2];

        // The masks of the first part depend on the snapshot alone, so that the public part has
        // them.
        Answer {
            first: bits.body(ring, &second.to_words(ring)),
            masks: third
                .iter()
                .flat_map(|pack| bits.mask(ring, &pack.a))
                .collect(),
            second: third
                .iter()
                .flat_map(|pack| bits.body(ring, &ring.to_words(&pack.b)[..gamma]))
                .collect(),
        }
    }
}

impl Combiner<Inspire2> for SecondLevel {
    fn public(&self) -> &Public {
        &self.public
    }

    fn combine_many(
        &self,
        batch: &[(&Query, &[u64])],
        progress: &dyn Progress,
    ) -> Result<Vec<Answer>> {
        let queries: Vec<&Query> = batch.iter().map(|(query, _)| *query).collect();
        // Lengths are checked first, before keys are expanded.
        let firsts = parallel::try_map(batch, |(_, first)| first_bodies(&self.params, first))?;

        progress.stage("read_keys", queries.len() as u64);
        let keys = self.read_keys(&queries)?;

        self.answers(&queries, &firsts, &keys, progress)
    }
}

/// Returns the first level's bodies from the words of all units.
fn first_bodies(params: &Params, words: &[u64]) -> Result<Bodies> {
    let layout = params.layout();
    let expected = layout.blocks * layout.unit_words;
    Error::check_length("the words of all units", words.len(), expected)?;

    Ok(Bodies::from_words(
        params.rlwe().ring(),
        layout.unit_words,
        words,
    ))
}

/// Splits the switched mask a of a unit into digits: a column of the second level's matrix. Digit j
/// of coefficient c is at j·d + c.
pub(super) fn digit_column(params: &Params, a: &Poly<Coefficients>) -> Vec<i16> {
    let ring = params.rlwe().ring();
    let digits = params.literal().mask;
    let words = params.literal().first_bits().mask(ring, a);
    let d = ring.degree();

    let mut column = vec![0; params.digit_rows()];
    for (c, word) in words.into_iter().enumerate() {
        for (j, digit) in digits.split_centred(word).enumerate() {
            column[j * d + c] = digit;
        }
    }
    column
}

/// Splits the switched bodies of all units into digits, in rows of t. Digit j of coefficient c of
/// unit k is at (j·γ₀ + c)·t + k. The rows fill the third packing's packs.
pub(super) fn body_digits(params: &Params, bodies: &Bodies) -> Vec<i16> {
    let ring = params.rlwe().ring();
    let digits = params.literal().body;
    let [gamma, _, last] = params.literal().gammas;
    let t = params.layout().blocks;
    let [_, packs] = params.literal().packs();
    let switch = PowerSwitch::new(ring.modulus(), params.literal().first_bits().b);

    // Rows after the last digit stay zero: they only fill up the last pack.
    let mut rows = vec![0; packs * last * t];
    for (i, word) in bodies.to_words(ring).into_iter().enumerate() {
        let unit = i / gamma;
        let c = i % gamma;
        for (j, digit) in digits.split_centred(switch.down(word)).enumerate() {
            rows[(j * gamma + c) * t + unit] = digit;
        }
    }
    rows
}

/// Computes resp₂: selects from rows of digits ([`body_digits`]) and packs the selection by γ₂,
/// while a query waits. `masks` are the masks of the second selector.
pub(super) fn respond(
    params: &Params,
    packing: &Packing<PartialInspiring>,
    masks: &SelectorMasks,
    digits: &[i16],
    selector: &[u64],
    key: &OnlineKey<Expanded>,
) -> Result<Vec<Rlwe>> {
    let ring = params.rlwe().ring();
    let gamma = packing.capacity();
    let columns = params.layout().blocks;
    let packs = digits.len() / (gamma * columns);
    let bits = params.literal().query_bits[1];

    let mut words = vec![0; packing.words(packs)];
    let prepared = packing
        .prepare_all(
            packs,
            |pack| {
                let pack_digits = &digits[pack * gamma * columns..][..gamma * columns];
                masks.of_words(ring, pack_digits, columns)
            },
            &mut words,
        )
        .map_err(refused(NAME))?;

    // The sums need the query alone, unlike the masks above, which need the digits alone: both meet
    // in the packing.
    let sums: Vec<u64> = digits
        .chunks_exact(columns)
        .map(|row| product(row, selector, bits))
        .collect();
    let bodies = Bodies::from_sums(ring, gamma, packs, &sums, bits);

    let packed = packing
        .pack_bodies(&words, &[], vec![bodies], &[key])
        .map_err(refused(NAME))?;
    match packed.first() {
        Some(bodies) => Ok(encryptions(ring, &prepared, bodies)),
        None => Ok(Vec::new()),
    }
}

/// Computes a row of digits times the selector, modulo 2^`bits`.
#[inline]
fn product(row: &[i16], selector: &[u64], bits: u32) -> u64 {
    // Digits are sign-extended, and sums that wrap modulo 2^64 are exact modulo 2^bits.
    let terms = row.iter().zip(selector);
    let sum = terms.fold(0u64, |sum, (&digit, &entry)| {
        sum.wrapping_add((digit as u64).wrapping_mul(entry))
    });
    // At most 55 bits, so that the shift does not overflow.
    sum & ((1 << bits) - 1)
}
