//! SETUP and RESPOND (Algorithms 7 and 9). Changing records is [`super::update`].

use papir_core::codec::Reader;
use papir_core::scheme::{self, Session};
use papir_core::sections::{SectionSink, SectionSource};
use papir_core::{Blob, BlobSlice, Change, Error, Progress, Records, Result};
use papir_lattice::mod_switch::lift_elements;
use papir_lattice::packing::inspiring::{self, Inspiring};
use papir_lattice::packing::{Bodies, KeyBodies, LweMasks, OnlineKey, RingPacking};
use papir_lattice::rlwe::Rlwe;
use papir_lattice::rows::{Rows, Workspace};
use papir_lattice::selection::{SelectorMasks, WordMatrix};
use papir_ring::prg::Seed;
use papir_ring::{Coefficients, Poly, Values};
use rand_core::CryptoRng;
use rayon::prelude::*;

use super::Inspire;
use super::decode::Columns;
use super::encode::encode;
use super::layout::Layout;
use super::masks::{packing, rgsw_masks, selector_masks};
use super::params::Params;
use super::wire::{Answer, Public, Query};
use crate::shared::packs::{Names, PreparedPacks, sized};
use crate::shared::shapes::check_source;

const NAMES: Names = Names { scheme: super::params::NAME, words: "inspire/matrices", packs: "inspire/packs" };

/// A prepared database: the encoded matrix and its packs.
///
/// A clone shares the matrices.
#[derive(Clone)]
pub struct Server {
    pub(super) params: Params,
    pub(super) public: Public,
    /// 16-bit words in row groups.
    pub(super) tiles: BlobSlice<i16>,
    /// (row, column) of words that stand for +32768, sorted.
    pub(super) exceptions: BlobSlice<[u32; 2]>,
    pub(super) packing: Inspiring,
    /// 32-bit packing matrices in row groups, pack after pack, with masks and last digits.
    pub(super) packs: PreparedPacks<Inspiring>,
    pub(super) rgsw_masks: Vec<Poly<Values>>,
}

impl scheme::Server<Inspire> for Server {
    fn setup(
        params: Params,
        records: &dyn Records,
        rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Self> {
        Self::prepare(params, Seed::random(rng), records, progress)
    }

    fn params(&self) -> &Params {
        &self.params
    }

    fn public(&self) -> &Public {
        &self.public
    }

    fn answer_many(
        &self,
        batch: Vec<(Session<'_, Inspire>, &Query)>,
        progress: &dyn Progress,
    ) -> Result<Vec<Answer>> {
        let queries: Vec<&Query> = batch.into_iter().map(|(_, query)| query).collect();
        let count = queries.len() as u64;
        progress.stage("read_keys", count);
        let keys = queries.par_iter().map(|query| self.read_keys(query)).collect::<Result<Vec<_>>>()?;
        progress.stage("select", count);
        let bodies = self.select_many(&queries);
        progress.stage("pack", count);
        let packed = self.pack_many(bodies, &keys)?;
        progress.stage("evaluate", count);
        let results: Vec<Vec<Rlwe>> =
            packed.into_par_iter().zip(&keys).map(|(packed, keys)| self.evaluate(packed, keys)).collect();
        progress.stage("switch", count);
        Ok(results.par_iter().map(|result| self.switch(result)).collect())
    }

    fn update_cost(&self, changes: &[Change]) -> Result<scheme::UpdateEstimate> {
        super::update::cost(self, changes)
    }

    /// Keeps the public seed: byte for byte what [`Server::prepare`] gives for the changed records.
    fn update(&self, changes: &[Change], _rng: &mut dyn CryptoRng, progress: &dyn Progress) -> Result<Self> {
        super::update::update(self, changes, progress)
    }

    fn read_packed(&self, first: u64, count: u64, out: &mut [u8]) -> Result<()> {
        let (layout, seed) = (self.params.layout(), &self.public.seed);
        // Those of other columns need not be sorted: a database is often read column by column.
        let columns = [first, first.saturating_add(count)].map(|index| layout.locate(index).column);
        let near = |[_, column]: &&[u32; 2]| (columns[0]..=columns[1]).contains(column);
        let exceptions: Vec<[u32; 2]> = self.exceptions.iter().filter(near).copied().collect();
        Columns::new(layout, seed, &self.tiles, &exceptions).read_packed(first, count, out)
    }

    fn save(&self, sink: &mut dyn SectionSink) -> Result<()> {
        let count = self.exceptions.len() as u64;
        sink.put("inspire/header", &[&self.public.seed.0, &count.to_le_bytes()])?;
        sink.put("inspire/database", &[self.tiles.bytes()])?;
        sink.put("inspire/exceptions", &[self.exceptions.bytes()])?;
        self.packs.save(sink)
    }

    fn load(params: Params, source: &dyn SectionSource) -> Result<Self> {
        let (public, exception_count) = read_header(&source.get("inspire/header")?)?;
        let layout = params.layout();
        let tiles = sized(source, "inspire/database", layout.matrix_bytes())?;
        let exceptions = sized(source, "inspire/exceptions", exception_count)?;
        check_exceptions(params.layout(), &exceptions)?;
        let packing = packing(&params, &public.seed)?;
        let packs = PreparedPacks::load(NAMES, &packing, layout.packs(), source)?;
        let rgsw_masks = rgsw_masks(&params, &public.seed);
        Ok(Self { params, public, tiles, exceptions, packing, packs, rgsw_masks })
    }
}

/// A query's key material as the answer uses it.
pub struct Keys {
    packing: OnlineKey<inspiring::OnlineKey>,
    rgsw: Vec<Poly<Values>>,
}

impl Server {
    /// Prepares a database under a given public seed.
    ///
    /// # Errors
    /// Those of the source, and [`Error::Parameters`] when its shape is not the parameters'.
    pub fn prepare(
        params: Params,
        seed: Seed,
        records: &dyn Records,
        progress: &dyn Progress,
    ) -> Result<Self> {
        check_source(super::params::NAME, params.layout().shape, records)?;
        let encoded = encode(params.layout(), &seed, records, progress)?;
        let tiles = BlobSlice::new(encoded.tiles.into(), "inspire/database")?;
        let (packs, packing) = (params.layout().packs(), packing(&params, &seed)?);
        progress.stage("pack", packs as u64);
        let masks = PackMasks::new(&params, &seed, &tiles, &encoded.exceptions, progress);
        let packs = PreparedPacks::prepare(NAMES, &packing, packs, |pack| masks.of_pack(pack))?;
        let exceptions = Blob::copy_of(bytemuck::cast_slice(&encoded.exceptions));
        Ok(Self {
            rgsw_masks: rgsw_masks(&params, &seed),
            exceptions: BlobSlice::new(exceptions, "inspire/exceptions")?,
            public: Public { seed },
            params,
            tiles,
            packing,
            packs,
        })
    }

    fn matrix(&self) -> WordMatrix<'_> {
        WordMatrix::new(self.params.layout().columns, &self.tiles).with_exceptions(&self.exceptions)
    }

    /// Line 7, b′ = D′·b: the bodies of all packs, modulo q. One read of the database.
    pub fn select(&self, query: &Query) -> Vec<Bodies> {
        self.select_many(&[query])
    }

    /// [`Server::select`] for several queries with one read of the database.
    pub fn select_many(&self, queries: &[&Query]) -> Vec<Bodies> {
        let selectors: Vec<&[u64]> = queries.iter().map(|query| query.selector.as_slice()).collect();
        let (bits, layout) = (self.params.literal().query_bits, self.params.layout());
        let lift = |sums: Vec<u64>| {
            Bodies::from_sums(self.params.rlwe().ring(), layout.degree, layout.packs(), &sums, bits)
        };
        self.matrix().select(&selectors, bits).into_iter().map(lift).collect()
    }

    /// The key material of a query, lifted to q: packing key and RGSW bodies.
    ///
    /// # Errors
    /// None for a query of these parameters: [`Error::Parameters`] for a key of others.
    pub fn read_keys(&self, query: &Query) -> Result<Keys> {
        let ring = self.params.rlwe().ring();
        let mut elements = lift_keys(&self.params, &query.keys);
        let shape = self.packing.shape();
        let rgsw = elements.split_off(shape.elements()).into_iter().map(|poly| ring.forward(poly)).collect();
        let key = KeyBodies::new(shape, elements).and_then(|key| self.packing.online_key(&key));
        let packing = key.map_err(|error| NAMES.refused(error))?;
        Ok(Keys { packing, rgsw })
    }

    /// Lines 8 to 12: packs the selected bodies, t a chunk.
    ///
    /// # Errors
    /// As [`Server::read_keys`].
    pub fn pack(&self, bodies: Vec<Bodies>, keys: &Keys) -> Result<Vec<Rlwe>> {
        Ok(self.pack_many(bodies, std::slice::from_ref(keys))?.into_iter().flatten().collect())
    }

    /// [`Server::pack`] for several queries with one read of the packing matrices.
    ///
    /// # Errors
    /// As [`Server::read_keys`].
    pub fn pack_many(&self, bodies: Vec<Bodies>, keys: &[Keys]) -> Result<Vec<Vec<Rlwe>>> {
        let ring = self.params.rlwe().ring();
        let keys: Vec<_> = keys.iter().map(|keys| &keys.packing).collect();
        let packed = self.packs.pack(&self.packing, bodies, &keys)?;
        let join = |bodies: &Bodies| {
            let packs = self.packs.packs.iter().enumerate();
            packs.map(|(i, pack)| Rlwe { a: pack.a.clone(), b: bodies.poly(ring, i) }).collect()
        };
        Ok(packed.iter().map(join).collect())
    }

    /// EVALPOLY: Horner's rule at the encrypted point, one result a chunk. With several variables (appendix
    /// G.2) the polynomials in the innermost one are evaluated first, their values are the coefficients in
    /// the next.
    pub fn evaluate(&self, packed: Vec<Rlwe>, keys: &Keys) -> Vec<Rlwe> {
        let rows = self.params.rgsw_rows();
        let points = self.rgsw_masks.chunks_exact(rows).zip(keys.rgsw.chunks_exact(rows));
        let variables = self.params.layout().interpolation.variables().zip(points);
        variables.fold(packed, |coefficients, (size, (masks, bodies))| {
            let point = Rows::new(masks, bodies);
            coefficients.par_chunks(size).map(|polynomial| self.horner(polynomial, &point)).collect()
        })
    }

    /// Σ_k cₖ·Z^k at the encrypted Z.
    fn horner(&self, coefficients: &[Rlwe], point: &Rows) -> Rlwe {
        let ring = self.params.rlwe().ring();
        let mut descending = coefficients.iter().rev();
        let first = descending.next().cloned().unwrap_or_else(|| Rlwe::zero(ring));
        let mut work = Workspace::new(ring, point.count());
        descending.fold(first, |sum, coefficient| {
            let mut next = Rlwe::zero(ring);
            work.external_product(ring, self.params.rgsw(), &sum, point, &mut next);
            next.add_assign(ring, coefficient);
            next
        })
    }

    /// Switches masks and bodies to the few bits that an answer carries.
    pub fn switch(&self, results: &[Rlwe]) -> Answer {
        switch(&self.params, results)
    }
}

/// Key material of [`Params::key_elements`] bits, lifted to q.
pub(crate) fn lift_keys(params: &Params, keys: &[u64]) -> Vec<Poly<Coefficients>> {
    let ring = params.rlwe().ring();
    let words = keys.chunks_exact(ring.degree()).zip(params.key_elements());
    words.flat_map(|(words, bits)| lift_elements(ring, bits, words)).collect()
}

/// [`Server::switch`] under given parameters.
pub(crate) fn switch(params: &Params, results: &[Rlwe]) -> Answer {
    let (ring, bits) = (params.rlwe().ring(), params.answer_bits());
    Answer {
        masks: results.iter().flat_map(|result| bits.mask(ring, &result.a)).collect(),
        bodies: results.iter().flat_map(|result| bits.body(ring, &ring.to_words(&result.b))).collect(),
    }
}

/// Lines 7 and 8 on what is public: the masks of each pack's LWE encryptions.
pub(super) struct PackMasks<'a> {
    params: &'a Params,
    matrix: WordMatrix<'a>,
    masks: SelectorMasks,
    progress: &'a dyn Progress,
}

impl<'a> PackMasks<'a> {
    pub(super) fn new(
        params: &'a Params,
        seed: &Seed,
        tiles: &'a [i16],
        exceptions: &'a [[u32; 2]],
        progress: &'a dyn Progress,
    ) -> Self {
        let matrix = WordMatrix::new(params.layout().columns, tiles).with_exceptions(exceptions);
        Self { params, matrix, masks: selector_masks(params, seed), progress }
    }

    /// Of rows pack·d to (pack + 1)·d of the matrix.
    pub(super) fn of_pack(&self, pack: usize) -> LweMasks {
        let d = self.params.layout().degree;
        self.progress.advance(1);
        self.masks.of_rows(self.params.rlwe().ring(), &self.matrix, pack * d..(pack + 1) * d)
    }
}

/// The seed, and the bytes of the list of exceptions.
fn read_header(bytes: &[u8]) -> Result<(Public, usize)> {
    let mut reader = Reader::new("inspire/header", bytes);
    let public = Public { seed: Seed(reader.array()?) };
    let count = usize::try_from(reader.u64()?).unwrap_or(usize::MAX);
    reader.finish()?;
    Ok((public, count.saturating_mul(size_of::<[u32; 2]>())))
}

/// Exceptions must stand in the matrix, each once, in order: what reads them relies on it.
///
/// # Errors
/// [`Error::Malformed`].
pub(crate) fn check_exceptions(layout: &Layout, exceptions: &[[u32; 2]]) -> Result<()> {
    let (rows, columns) = (layout.rows(), layout.columns);
    let outside = |[row, column]: &&[u32; 2]| *row as usize >= rows || *column as usize >= columns;
    if let Some([row, column]) = exceptions.iter().find(outside) {
        let found = format!("row {row}, column {column}");
        return Err(Error::malformed(
            "the list of exceptions",
            found,
            format!("{rows} rows, {columns} columns"),
        ));
    }
    if !exceptions.is_sorted_by(|a, b| a < b) {
        return Err(Error::malformed(
            "the list of exceptions",
            "places out of order",
            "each place once, in order",
        ));
    }
    Ok(())
}
