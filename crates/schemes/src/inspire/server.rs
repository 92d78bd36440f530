//! SETUP and RESPOND (Algorithms 7 and 9). Changing records is [`super::update`].

use papir_core::codec::Reader;
use papir_core::scheme::{self, Session};
use papir_core::sections::{SectionSink, SectionSource};
use papir_core::{AlignedBytes, Blob, BlobSlice, Change, Error, Progress, Records, Result};
use papir_kernels::rows16;
use papir_lattice::mod_switch::PowerSwitch;
use papir_lattice::packing::inspiring::{self, OnlineKey, Preprocessed, Preprocessor};
use papir_lattice::rgsw::external_product;
use papir_lattice::rlwe::Rlwe;
use papir_ring::prg::Seed;
use papir_ring::{Coefficients, Poly, Values};
use rand_core::CryptoRng;
use rayon::prelude::*;

use super::Inspire;
use super::encode::encode;
use super::hint::{pack_masks, scaled_masks};
use super::masks::{packing_masks, rgsw_masks};
use super::params::Params;
use super::wire::{Answer, Public, Query};

/// A prepared database: the encoded matrix, and for each pack its matrix, mask and last digits.
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
    /// 32-bit packing matrices in row groups, pack after pack.
    pub(super) matrices: BlobSlice<i32>,
    pub(super) packs: Vec<Preprocessed>,
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

    fn answer(&self, _session: Session<'_, Inspire>, query: &Query) -> Result<Answer> {
        let keys = self.read_keys(query);
        let packed = self.pack(self.select(query), &keys);
        Ok(self.switch(&self.evaluate(packed, &keys)))
    }

    fn answer_many(&self, batch: Vec<(Session<'_, Inspire>, &Query)>) -> Result<Vec<Answer>> {
        let queries: Vec<&Query> = batch.into_iter().map(|(_, query)| query).collect();
        let keys: Vec<Keys> = queries.par_iter().map(|query| self.read_keys(query)).collect();
        let packed = self.pack_many(self.select_many(&queries), &keys);
        let finish = |(packed, keys)| self.switch(&self.evaluate(packed, keys));
        Ok(packed.into_par_iter().zip(&keys).map(finish).collect())
    }

    /// Keeps the public seed: byte for byte what [`Server::prepare`] gives for the changed records.
    fn update(&self, changes: &[Change], _rng: &mut dyn CryptoRng, progress: &dyn Progress) -> Result<Self> {
        super::update::update(self, changes, progress)
    }

    fn save(&self, sink: &mut dyn SectionSink) -> Result<()> {
        let count = self.exceptions.len() as u64;
        sink.put("inspire/header", &[&self.public.seed.0, &count.to_le_bytes()])?;
        sink.put("inspire/database", &[self.tiles.bytes()])?;
        sink.put("inspire/exceptions", &[self.exceptions.bytes()])?;
        sink.put("inspire/matrices", &[self.matrices.bytes()])?;
        let parts: Vec<&[u8]> = self.packs.iter().flat_map(pack_residues).map(as_bytes).collect();
        sink.put("inspire/packs", &parts)
    }

    fn load(params: Params, source: &dyn SectionSource) -> Result<Self> {
        let (public, exception_count) = read_header(&source.get("inspire/header")?)?;
        let layout = params.layout();
        let tiles = sized(source, "inspire/database", layout.matrix_bytes())?;
        let matrices = sized(source, "inspire/matrices", layout.packs() * params.matrix_words() * 4)?;
        let exceptions = sized(source, "inspire/exceptions", exception_count)?;
        check_exceptions(&params, &exceptions)?;
        let packs = read_packs(&params, &source.get("inspire/packs")?)?;
        let rgsw_masks = rgsw_masks(&params, &public.seed);
        Ok(Self { params, public, tiles, exceptions, matrices, packs, rgsw_masks })
    }
}

/// A query's key material as the answer uses it.
pub struct Keys {
    packing: OnlineKey,
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
        if records.shape() != params.layout().shape {
            let reason =
                format!("they are for {:?}, the source has {:?}", params.layout().shape, records.shape());
            return Err(Error::Parameters { scheme: super::params::NAME, reason });
        }
        let encoded = encode(params.layout(), &seed, records, progress)?;
        let tiles = BlobSlice::new(encoded.tiles.into(), "inspire/database")?;
        let (matrices, packs) =
            prepare_packs(&params, &seed, &tiles, &encoded.exceptions, |_| None, progress)?;
        let exceptions = Blob::copy_of(bytemuck::cast_slice(&encoded.exceptions));
        Ok(Self {
            rgsw_masks: rgsw_masks(&params, &seed),
            exceptions: BlobSlice::new(exceptions, "inspire/exceptions")?,
            public: Public { seed },
            params,
            tiles,
            matrices: BlobSlice::new(matrices, "inspire/matrices")?,
            packs,
        })
    }

    /// Line 7, b′ = D′·b: the bodies of all packs, modulo q. One read of the database.
    pub fn select(&self, query: &Query) -> Vec<Poly<Coefficients>> {
        let planes = self.planes(query);
        let mut sums = vec![0u64; self.params.layout().rows()];
        let pairs = self.params.layout().pairs();
        let count = self.plane_count();
        let share = self.groups_per_thread();
        let parts = self
            .tiles
            .par_chunks(share * pairs * 2 * rows16::ROWS)
            .zip(sums.par_chunks_mut(share * rows16::ROWS));
        parts.for_each(|(tiles, sums)| rows16::pass(tiles, pairs, &planes, count, sums));
        self.lift(query, sums)
    }

    /// [`Server::select`] for several queries with one read of the database.
    pub fn select_many(&self, queries: &[&Query]) -> Vec<Vec<Poly<Coefficients>>> {
        let planes: Vec<Vec<i16>> = queries.iter().map(|query| self.planes(query)).collect();
        let planes: Vec<&[i16]> = planes.iter().map(Vec::as_slice).collect();
        let (pairs, rows) = (self.params.layout().pairs(), self.params.layout().rows());
        let share = self.groups_per_thread();
        let parts: Vec<Vec<Vec<u64>>> = self
            .tiles
            .par_chunks(share * pairs * 2 * rows16::ROWS)
            .map(|tiles| {
                let mut sums = vec![vec![0u64; tiles.len() / (pairs * 2)]; planes.len()];
                let mut outs: Vec<&mut [u64]> = sums.iter_mut().map(Vec::as_mut_slice).collect();
                rows16::pass_many(tiles, pairs, &planes, self.plane_count(), &mut outs);
                sums
            })
            .collect();
        let gather = |i: usize| {
            let mut sums = Vec::with_capacity(rows);
            parts.iter().for_each(|part| sums.extend_from_slice(&part[i]));
            sums
        };
        queries.iter().enumerate().map(|(i, query)| self.lift(query, gather(i))).collect()
    }

    /// The key material of a query, lifted to q: packing key and RGSW bodies.
    pub fn read_keys(&self, query: &Query) -> Keys {
        let ring = self.params.rlwe().ring();
        let switch = PowerSwitch::new(ring.modulus(), self.params.literal().key_bits);
        let lift =
            |words: &[u64]| ring.from_words(&words.iter().map(|&word| switch.up(word)).collect::<Vec<_>>());
        let mut elements: Vec<_> = query.keys.chunks_exact(ring.degree()).map(lift).collect();
        let levels = self.params.key_switch().levels();
        let rgsw = elements.split_off(2 * levels).into_iter().map(|poly| ring.forward(poly)).collect();
        let h = elements.split_off(levels);
        Keys { packing: OnlineKey::new(ring, &elements, h), rgsw }
    }

    /// Lines 8 to 12: packs the selected bodies, t a chunk.
    pub fn pack(&self, bodies: Vec<Poly<Coefficients>>, keys: &Keys) -> Vec<Rlwe> {
        self.pack_many(vec![bodies], std::slice::from_ref(keys)).into_iter().flatten().collect()
    }

    /// [`Server::pack`] for several queries with one read of the packing matrices.
    pub fn pack_many(&self, bodies: Vec<Vec<Poly<Coefficients>>>, keys: &[Keys]) -> Vec<Vec<Rlwe>> {
        let ring = self.params.rlwe().ring();
        let last: Vec<&[Poly<Values>]> = self.packs.iter().map(|pack| &pack.last[..]).collect();
        let packing: Vec<&OnlineKey> = keys.iter().map(|keys| &keys.packing).collect();
        let added = inspiring::pack(ring, &self.matrices, &last, &packing);
        let join = |((mut b, added), pack): ((Poly<Coefficients>, _), &Preprocessed)| {
            ring.add_assign(&mut b, &added);
            Rlwe { a: pack.a.clone(), b }
        };
        let join_all = |(bodies, added): (Vec<_>, Vec<_>)| {
            bodies.into_iter().zip(added).zip(&self.packs).map(join).collect()
        };
        bodies.into_iter().zip(added).map(join_all).collect()
    }

    /// EVALPOLY: Horner's rule at the encrypted point, one result a chunk.
    pub fn evaluate(&self, packed: Vec<Rlwe>, keys: &Keys) -> Vec<Rlwe> {
        let ring = self.params.rlwe().ring();
        let horner = |coefficients: &[Rlwe]| {
            let mut descending = coefficients.iter().rev();
            let first = descending.next().cloned().unwrap_or_else(|| Rlwe::zero(ring));
            descending.fold(first, |sum, coefficient| {
                let mut next = external_product(ring, self.params.rgsw(), &sum, &self.rgsw_masks, &keys.rgsw);
                next.add_assign(ring, coefficient);
                next
            })
        };
        packed.par_chunks(self.params.layout().points).map(horner).collect()
    }

    /// Switches masks and bodies to the few bits that an answer carries.
    pub fn switch(&self, results: &[Rlwe]) -> Answer {
        let ring = self.params.rlwe().ring();
        let (a_bits, b_bits) = self.params.literal().answer_bits;
        let down = |polys: Vec<&Poly<Coefficients>>, bits| {
            let switch = PowerSwitch::new(ring.modulus(), bits);
            polys.into_iter().flat_map(|poly| ring.to_words(poly)).map(|word| switch.down(word)).collect()
        };
        Answer {
            masks: down(results.iter().map(|result| &result.a).collect(), a_bits),
            bodies: down(results.iter().map(|result| &result.b).collect(), b_bits),
        }
    }

    fn planes(&self, query: &Query) -> Vec<i16> {
        let mut planes = Vec::new();
        rows16::pack_planes(
            &query.selector,
            self.params.literal().query_bits,
            self.plane_count(),
            &mut planes,
        );
        planes
    }

    fn plane_count(&self) -> usize {
        rows16::planes_for_bits(self.params.literal().query_bits)
    }

    /// Adds what the exceptions stand for, and lifts sums modulo 2^k to q.
    fn lift(&self, query: &Query, mut sums: Vec<u64>) -> Vec<Poly<Coefficients>> {
        for &[row, column] in self.exceptions.iter() {
            let correction = query.selector[column as usize] << 16;
            let sum = &mut sums[row as usize];
            *sum = sum.wrapping_add(correction);
        }
        let ring = self.params.rlwe().ring();
        let switch = PowerSwitch::new(ring.modulus(), self.params.literal().query_bits);
        let mask = (1u64 << self.params.literal().query_bits) - 1;
        sums.iter_mut().for_each(|sum| *sum = switch.up(*sum & mask));
        sums.chunks_exact(ring.degree()).map(|words| ring.from_words(words)).collect()
    }

    fn groups_per_thread(&self) -> usize {
        (self.params.layout().rows() / rows16::ROWS).div_ceil(rayon::current_num_threads())
    }
}

/// Lines 8 to 11 on what is public: each pack's matrix, mask and last digits.
///
/// `kept` gives the packs that are copied as they are.
pub(super) fn prepare_packs<'a>(
    params: &Params,
    seed: &Seed,
    tiles: &[i16],
    exceptions: &[[u32; 2]],
    kept: impl Fn(usize) -> Option<(&'a [i32], &'a Preprocessed)> + Sync,
    progress: &dyn Progress,
) -> Result<(Blob, Vec<Preprocessed>)> {
    let ring = params.rlwe().ring();
    let layout = params.layout();
    let masks = packing_masks(params, seed);
    let selector_masks = scaled_masks(params, seed);
    let preprocessor = Preprocessor::new(ring, params.key_switch(), &masks);
    let words = params.matrix_words();
    let mut matrices = AlignedBytes::zeroed(layout.packs() * words * 4);
    progress.stage("pack", (0..layout.packs()).filter(|&pack| kept(pack).is_none()).count() as u64);
    let prepared =
        matrices.slice_mut::<i32>().par_chunks_exact_mut(words).enumerate().map(|(pack, matrix)| {
            if let Some((old, prepared)) = kept(pack) {
                matrix.copy_from_slice(old);
                return Ok(prepared.clone());
            }
            let lwe = pack_masks(ring, layout, tiles, exceptions, &selector_masks, pack);
            let prepared = preprocessor.run(lwe, matrix);
            progress.advance(1);
            prepared
                .map_err(|error| Error::Parameters { scheme: super::params::NAME, reason: error.to_string() })
        });
    let packs = prepared.collect::<Result<Vec<_>>>()?;
    Ok((matrices.into(), packs))
}

fn pack_residues(pack: &Preprocessed) -> impl Iterator<Item = &[u32]> {
    std::iter::once(pack.a.residues()).chain(pack.last.iter().map(Poly::residues))
}

fn as_bytes(residues: &[u32]) -> &[u8] {
    bytemuck::cast_slice(residues)
}

/// The seed, and the bytes of the list of exceptions.
fn read_header(bytes: &[u8]) -> Result<(Public, usize)> {
    let mut reader = Reader::new("inspire/header", bytes);
    let public = Public { seed: Seed(reader.array()?) };
    let count = usize::try_from(reader.u64()?).unwrap_or(usize::MAX);
    reader.finish()?;
    Ok((public, count.saturating_mul(size_of::<[u32; 2]>())))
}

fn sized<T: bytemuck::AnyBitPattern>(
    source: &dyn SectionSource,
    name: &'static str,
    expected: usize,
) -> Result<BlobSlice<T>> {
    let blob = source.get(name)?;
    Error::check_length(name, blob.len(), expected)?;
    BlobSlice::new(blob, name)
}

fn check_exceptions(params: &Params, exceptions: &[[u32; 2]]) -> Result<()> {
    let (rows, columns) = (params.layout().rows(), params.layout().columns);
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

fn read_packs(params: &Params, bytes: &Blob) -> Result<Vec<Preprocessed>> {
    let ring = params.rlwe().ring();
    let element = 2 * ring.degree();
    let levels = params.key_switch().levels();
    let expected = params.layout().packs() * (1 + levels) * element * 4;
    Error::check_length("inspire/packs", bytes.len(), expected)?;
    let residues: &[u32] = bytes.slice_of("inspire/packs")?;
    check_residues(residues, ring)?;
    let pack = |words: &[u32]| {
        let mut polys = words.chunks_exact(element);
        let a = Poly::from_residues(polys.next().unwrap_or_default().to_vec());
        Preprocessed { a, last: polys.map(|poly| Poly::from_residues(poly.to_vec())).collect() }
    };
    Ok(residues.chunks_exact((1 + levels) * element).map(pack).collect())
}

/// All residues must be reduced: the kernels rely on it.
fn check_residues(residues: &[u32], ring: &papir_ring::Ring) -> Result<()> {
    for (i, part) in residues.chunks_exact(ring.degree()).enumerate() {
        let prime = ring.primes()[i % 2].value();
        if let Some(residue) = part.iter().find(|&&residue| residue >= prime) {
            return Err(Error::malformed("inspire/packs", residue, format!("residues below {prime}")));
        }
    }
    Ok(())
}
