//! The second level (Algorithm 5, lines 9 to 12).
//!
//! The second level's database has a column for each unit of a column of D: the digits of the
//! unit's encryption. The digits of masks are a matrix, made at setup and packed ahead like the
//! first level (`digit_column`). The digits of bodies come from each query's first answer; their
//! masks and packs are the only ones made while a query waits (`respond`).

use papir_core::scheme::Combiner;
use papir_core::sections::SectionSource;
use papir_core::{BlobSlice, Error, Progress, Result, parallel};
use papir_lattice::mod_switch::PowerSwitch;
use papir_lattice::packing::inspiring::{OnlineKey as Expanded, PartialInspiring};
use papir_lattice::packing::{Bodies, OnlineKey, RingPacking};
use papir_lattice::rlwe::Rlwe;
use papir_lattice::selection::SelectorMasks;
use papir_ring::prg::Seed;
use papir_ring::{Coefficients, Poly};

use super::literal::{Inspire2, NAME};
use super::packings::{PACKS, Packings, SEED, select};
use super::params::Params;
use super::wire::{Answer, Public, Query};
use crate::shared::held::Held;
use crate::shared::messages::load_seed;
use crate::shared::packs::{PreparedPacks, encryptions, sized};
use crate::shared::parameters::refused;

/// Section of the digits of the first level's masks.
pub(super) const DIGITS: &str = "inspire2/digits";

/// Packing keys of a query, one for each distinct γ.
pub(super) struct Keys(Vec<OnlineKey<Expanded>>);

/// The second level's matrix and packs, with what finishes an answer. On several machines, one
/// makes answers of the first levels of all others. A clone shares them.
#[derive(Clone)]
pub struct SecondLevel {
    pub(super) params: Params,
    pub(super) public: Public,
    pub(super) packings: Packings,
    /// Digits of the masks of the first level's packs, in row groups.
    pub(super) digits: BlobSlice<i16>,
    pub(super) packs: PreparedPacks<PartialInspiring>,
    /// Masks of the second selector, for the packs made online.
    online_masks: SelectorMasks,
}

impl SecondLevel {
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

    /// Packing keys of queries.
    pub(super) fn read_keys(&self, queries: &[&Query]) -> Result<Vec<Keys>> {
        let distinct = 0..self.packings.distinct().len();
        let keys = |query: &&Query| {
            let keys = distinct
                .clone()
                .map(|index| self.packings.key(&self.params, query, index));
            Ok(Keys(keys.collect::<Result<_>>()?))
        };
        parallel::try_map(queries, keys)
    }

    /// Keys of the first, second or third packing.
    pub(super) fn keys_of<'a>(
        &self,
        keys: &'a [Keys],
        packing: usize,
    ) -> Vec<&'a OnlineKey<Expanded>> {
        keys.iter()
            .map(|keys| &keys.0[self.packings.role(packing)])
            .collect()
    }

    /// Lines 9 to 12: answers from the packed bodies of all units.
    pub(super) fn answers(
        &self,
        queries: &[&Query],
        firsts: &[Bodies],
        keys: &[Keys],
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

    /// Lines 10 and 11: bodies of resp₁.
    pub(super) fn pack_masks(&self, queries: &[&Query], keys: &[Keys]) -> Result<Vec<Bodies>> {
        let packs = [
            self.params.literal().gammas[1],
            self.params.literal().packs()[0],
        ];
        let bodies = select(
            &self.params,
            (&self.digits, &Held::default()),
            queries,
            1,
            packs,
        );
        self.packs
            .pack(self.packings.packing(1), bodies, &self.keys_of(keys, 1))
    }

    /// Lines 9, 10 and 12: resp₂, from the digits of the packed bodies.
    pub(super) fn pack_online(
        &self,
        queries: &[&Query],
        firsts: &[Bodies],
        keys: &[Keys],
    ) -> Result<Vec<Vec<Rlwe>>> {
        let packing = self.packings.packing(2);
        let masks = &self.online_masks;
        let answer = |((query, first), key): ((&&Query, &Bodies), &OnlineKey<Expanded>)| {
            let digits = body_digits(&self.params, first);
            respond(
                &self.params,
                packing,
                masks,
                &digits,
                &query.selectors[1],
                key,
            )
        };
        parallel::try_map(
            queries.iter().zip(firsts).zip(self.keys_of(keys, 2)),
            answer,
        )
    }

    /// Switches masks and bodies to the bits of an answer.
    fn switch(&self, second: &Bodies, third: &[Rlwe]) -> Answer {
        let ring = self.params.rlwe().ring();
        let bits = self.params.literal().answer;
        let gamma = self.params.literal().gammas[2];
        let body = |pack: &Rlwe| bits.body(ring, &ring.to_words(&pack.b)[..gamma]);
        Answer {
            first: bits.body(ring, &second.to_words(ring)),
            masks: third
                .iter()
                .flat_map(|pack| bits.mask(ring, &pack.a))
                .collect(),
            second: third.iter().flat_map(body).collect(),
        }
    }
}

impl Combiner<Inspire2> for SecondLevel {
    fn load(params: Params, source: &dyn SectionSource) -> Result<Self> {
        let seed = load_seed(source, SEED)?;
        let packings = Packings::new(&params, &seed)?;
        let all = params.literal().packs()[0];
        let digits = sized(source, DIGITS, 2 * params.digit_words())?;
        let packs = PreparedPacks::load(PACKS, packings.packing(1), (0..all, all), source)?;
        Ok(Self::new(params, seed, packings, digits, packs))
    }

    fn params(&self) -> &Params {
        &self.params
    }

    fn public(&self) -> &Public {
        &self.public
    }

    fn combine_many(
        &self,
        batch: &[(&Query, &[u64])],
        progress: &dyn Progress,
    ) -> Result<Vec<Answer>> {
        let ring = self.params.rlwe().ring();
        let layout = self.params.layout();
        let words = layout.blocks * layout.unit_words;
        let queries: Vec<&Query> = batch.iter().map(|(query, _)| *query).collect();
        let bodies = |(_, first): &(&Query, &[u64])| -> Result<Bodies> {
            Error::check_length("the words of all units", first.len(), words)?;
            Ok(Bodies::from_words(ring, layout.unit_words, first))
        };
        let firsts = parallel::try_map(batch, bodies)?;
        progress.stage("read_keys", queries.len() as u64);
        let keys = self.read_keys(&queries)?;
        self.answers(&queries, &firsts, &keys, progress)
    }
}

/// The digits of a unit's mask a, switched: a column of the second level's matrix. Digit j of
/// coefficient c is at j·d + c.
pub(super) fn digit_column(params: &Params, a: &Poly<Coefficients>) -> Vec<i16> {
    let ring = params.rlwe().ring();
    let digits = params.literal().mask;
    let words = params.literal().first_bits().mask(ring, a);
    let d = ring.degree();
    let mut column = vec![0; params.digit_rows()];
    for (c, word) in words.into_iter().enumerate() {
        digits
            .split_centred(word)
            .enumerate()
            .for_each(|(j, digit)| column[j * d + c] = digit);
    }
    column
}

/// The digits of all units' bodies, switched, row by row of t: digit j of coefficient c of unit k
/// is at (j·γ₀ + c)·t + k. Rows are as many as fill the third packing's packs.
pub(super) fn body_digits(params: &Params, bodies: &Bodies) -> Vec<i16> {
    let ring = params.rlwe().ring();
    let digits = params.literal().body;
    let [gamma, _, last] = params.literal().gammas;
    let t = params.layout().blocks;
    let [_, packs] = params.literal().packs();
    let switch = PowerSwitch::new(ring.modulus(), params.literal().first_bits().b);
    let mut rows = vec![0; packs * last * t];
    for (i, word) in bodies.to_words(ring).into_iter().enumerate() {
        let unit = i / gamma;
        let c = i % gamma;
        let split = digits.split_centred(switch.down(word)).enumerate();
        split.for_each(|(j, digit)| rows[(j * gamma + c) * t + unit] = digit);
    }
    rows
}

/// resp₂: selects from rows of digits ([`body_digits`]) and packs the selection by γ₂, while a
/// query waits. `masks` are those of the second selector.
pub(super) fn respond(
    params: &Params,
    packing: &PartialInspiring,
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
    let pack_digits = |pack: usize| &digits[pack * gamma * columns..][..gamma * columns];
    let masks = |pack| masks.of_words(ring, pack_digits(pack), columns);
    let prepared = packing
        .prepare_all(packs, masks, &mut words)
        .map_err(refused(NAME))?;
    // Each row times the selector, modulo 2^bits.
    let product = |row: &[i16]| {
        let terms = row.iter().zip(selector);
        let sum = |sum: u64, (&digit, &entry): (&i16, &u64)| {
            sum.wrapping_add((digit as u64).wrapping_mul(entry))
        };
        terms.fold(0, sum) & ((1 << bits) - 1)
    };
    let sums: Vec<u64> = digits.chunks_exact(columns).map(product).collect();
    let bodies = Bodies::from_sums(ring, gamma, packs, &sums, bits);
    let packed = packing
        .pack_bodies(&words, &[], vec![bodies], &[key])
        .map_err(refused(NAME))?;
    Ok(packed
        .first()
        .map(|bodies| encryptions(ring, &prepared, bodies))
        .unwrap_or_default())
}
