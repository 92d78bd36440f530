//! The server of ZipPIR: `Response` of Algorithm 5, and what is prepared for it.

use std::collections::BTreeSet;

use papir_core::scheme::{Parameters, Server, Session, UpdateEstimate};
use papir_core::sections::{SectionSink, SectionSource};
use papir_core::{AlignedBytes, BlobSlice, Change, Error, Progress, Records, Result};
use papir_lattice::lwe32::MaskProducts;
use papir_paillier::{Ciphertext, PublicKey};
use papir_ring::prg::Seed;
use rand_core::CryptoRng;
use rayon::prelude::*;

use super::noise::CENTRE;
use super::params::{SEED_BYTES, ZipParams};
use super::residues::Residues;
use super::slots::{self, RowSums};
use super::wire::{ZipAnswer, ZipKeys, ZipPublic, ZipQuery, ZipTicket, malformed};
use super::{ByteMatrix, Strength, Zip, masks, ticket, update};
use crate::packs::sized;
use crate::shape_io::check_source;
use crate::simple::columns;

const SEED: &str = "zip/seed";
const DATABASE: &str = "zip/database";
const EXPONENTS: &str = "zip/exponents";
const RESIDUES: &str = "zip/residues";
const SUMS: &str = "zip/sums";

/// The matrix and its hint, in slots. A clone shares them.
#[derive(Clone)]
pub struct ZipServer<T> {
    pub(super) params: ZipParams<T>,
    pub(super) public: ZipPublic,
    pub(super) database: ByteMatrix,
    pub(super) hint: SlottedHint,
    pub(super) system: Residues,
}

/// H as the exponents of compression keys.
#[derive(Clone)]
pub(super) struct SlottedHint {
    /// ciphertexts × n × digits.
    pub(super) exponents: BlobSlice<u16>,
    /// The same as centred residues.
    pub(super) residues: BlobSlice<i32>,
    /// (rounding, digits) of each row.
    pub(super) sums: BlobSlice<[i32; 2]>,
}

impl<T: Strength> Server<Zip<T>> for ZipServer<T> {
    fn setup(
        params: ZipParams<T>,
        records: &dyn Records,
        rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Self> {
        check_source(T::NAME, params.shape(), records)?;
        let public = ZipPublic { seed: Seed::random(rng) };
        let database = columns::encode(&params.layout, records, progress)?;
        let system = params.residues();
        let hint = SlottedHint::new(&params, &system, public.seed, &database, progress)?;
        Ok(Self { params, public, database, hint, system })
    }

    fn params(&self) -> &ZipParams<T> {
        &self.params
    }

    fn public(&self) -> &ZipPublic {
        &self.public
    }

    fn answer(&self, session: Session<'_, Zip<T>>, query: &ZipQuery) -> Result<ZipAnswer> {
        self.answer_many(vec![(session, query)])?.pop().ok_or(Error::NotDecodable)
    }

    fn answer_many(&self, batch: Vec<(Session<'_, Zip<T>>, &ZipQuery)>) -> Result<Vec<ZipAnswer>> {
        let sessions = batch.iter().map(|(session, query)| self.session(session, query));
        let sessions = sessions.collect::<Result<Vec<_>>>()?;
        let queries: Vec<&ZipQuery> = batch.into_iter().map(|(_, query)| query).collect();
        let (rows, products) = (self.select(&queries), self.second_products(&queries));
        let answers = sessions.into_iter().zip(rows.iter().zip(&products));
        answers.map(|((keys, ticket), (rows, products))| self.join(keys, ticket, rows, products)).collect()
    }

    fn keys_fit(&self, _keys: &ZipKeys) -> bool {
        true
    }

    fn ticket(&self, keys: &ZipKeys, number: u64, progress: &dyn Progress) -> Result<ZipTicket> {
        ticket::prepare(self, keys, number, progress)
    }

    fn follow(
        &self,
        earlier: (&Self, ZipTicket),
        keys: &ZipKeys,
        number: u64,
        progress: &dyn Progress,
    ) -> Result<ZipTicket> {
        ticket::follow(self, earlier, keys, number, progress)
    }

    fn update_cost(&self, changes: &[Change]) -> Result<UpdateEstimate> {
        update::cost(self, changes)
    }

    /// Keeps the public seed: byte for byte what a setup of the changed records under it gives.
    fn update(&self, changes: &[Change], _rng: &mut dyn CryptoRng, progress: &dyn Progress) -> Result<Self> {
        update::update(self, changes, progress)
    }

    fn read_packed(&self, first: u64, count: u64, out: &mut [u8]) -> Result<()> {
        let place = (self.params.shape(), &self.params.layout);
        columns::read_packed(place, &self.database, (first, count), out)
    }

    fn save(&self, sink: &mut dyn SectionSink) -> Result<()> {
        sink.put(SEED, &[&self.public.seed.0])?;
        sink.put(DATABASE, &[self.database.tiles()])?;
        sink.put(EXPONENTS, &[self.hint.exponents.bytes()])?;
        sink.put(RESIDUES, &[self.hint.residues.bytes()])?;
        sink.put(SUMS, &[self.hint.sums.bytes()])
    }

    fn load(params: ZipParams<T>, source: &dyn SectionSource) -> Result<Self> {
        let seed = source.get(SEED)?;
        Error::check_length("zip's seed", seed.len(), SEED_BYTES)?;
        let mut bytes = [0; SEED_BYTES];
        bytes.copy_from_slice(&seed);
        let hint = SlottedHint {
            exponents: sized(source, EXPONENTS, params.exponent_bytes())?,
            residues: sized(source, RESIDUES, params.residue_bytes())?,
            sums: sized(source, SUMS, 8 * params.layout.rows)?,
        };
        let (database, system) = (columns::load(&params.layout, source, DATABASE)?, params.residues());
        Ok(Self { params, public: ZipPublic { seed: Seed(bytes) }, database, hint, system })
    }
}

impl<T: Strength> ZipServer<T> {
    /// The keys and the ticket of a query's session: the client's own, of the query's number.
    ///
    /// # Errors
    /// [`Error::Session`] without them, [`Error::Malformed`] for others.
    pub fn session<'a>(
        &self,
        session: &Session<'a, Zip<T>>,
        query: &ZipQuery,
    ) -> Result<(&'a ZipKeys, &'a ZipTicket)> {
        ticket::check(session, query)
    }

    /// Line 17, D·qu_0 modulo q for each query, with centred words, in one read of the database.
    pub fn select(&self, queries: &[&ZipQuery]) -> Vec<Vec<u32>> {
        let values: Vec<&[u32]> = queries.iter().map(|query| query.values.as_slice()).collect();
        let mut rows = self.database.products(&values, self.params.query_bits(), CENTRE);
        // Modulo q again.
        rows.iter_mut().flatten().for_each(|sum| *sum <<= self.params.budget.dropped_bits);
        rows
    }

    /// Line 18, H·ck_o of each query over the integers, ciphertext by ciphertext, in one read of the hint.
    pub fn second_products(&self, queries: &[&ZipQuery]) -> Vec<Vec<Vec<u64>>> {
        let vectors: Vec<_> = queries.iter().map(|query| self.system.vector(&query.offsets)).collect();
        self.system.products(self.params.dimensions(), &self.hint.residues, &vectors)
    }

    /// Line 18's sum, added to the ticket's ciphertexts: the words of D·qu_0 in their slots, and the second
    /// product.
    ///
    /// # Errors
    /// [`Error::Malformed`] for a ticket that this key did not make.
    pub fn join(
        &self,
        keys: &ZipKeys,
        ticket: &ZipTicket,
        rows: &[u32],
        products: &[Vec<u64>],
    ) -> Result<ZipAnswer> {
        let words = self.words(rows);
        let parts = words.par_chunks(self.params.slots).zip(products).zip(&ticket.ciphertexts);
        let add = |((words, product), hint): ((&[u16], &Vec<u64>), &Vec<u64>)| {
            let hint = keys.public.ciphertext(hint.clone()).map_err(malformed("a ticket of zip"))?;
            Ok(add_words(&keys.public, &hint, product, words))
        };
        Ok(ZipAnswer { ciphertexts: parts.map(add).collect::<Result<_>>()? })
    }

    /// b′ of every row.
    fn words(&self, rows: &[u32]) -> Vec<u16> {
        let sums = |row: usize| {
            let [rounding, digits] = self.hint.sums[row];
            RowSums { rounding, digits }
        };
        let word = |(row, sum): (usize, &u32)| {
            let below = (!row.is_multiple_of(self.params.slots)).then(|| sums(row - 1));
            slots::word(*sum, sums(row), below)
        };
        rows.iter().enumerate().map(word).collect()
    }
}

/// Adds a product and the words of its slots to a ciphertext.
fn add_words(public: &PublicKey, hint: &Ciphertext, product: &[u64], words: &[u16]) -> Vec<u64> {
    let (mut sum, mut carry) = (product.to_vec(), false);
    for (out, addend) in sum.iter_mut().zip(slots::words(words).chain(std::iter::repeat(0))) {
        let (first, over) = out.overflowing_add(addend);
        let (second, again) = first.overflowing_add(u64::from(carry));
        (*out, carry) = (second, over || again);
    }
    public.add_plain(hint, &public.reduce(&sum)).words().to_vec()
}

#[cfg(test)]
impl<T: Strength> ZipServer<T> {
    /// The hint of other records under the seed of a server.
    pub(super) fn setup_under(server: &Self, records: &dyn Records) -> Result<SlottedHint> {
        let (params, progress) = (&server.params, &papir_core::NoProgress);
        let database = columns::encode(&params.layout, records, progress)?;
        SlottedHint::new(params, &server.system, server.public.seed, &database, progress)
    }
}

impl SlottedHint {
    /// H = D·A in slots.
    ///
    /// # Errors
    /// None for parts of the lengths that the parameters give.
    fn new<T: Strength>(
        params: &ZipParams<T>,
        system: &Residues,
        seed: Seed,
        database: &ByteMatrix,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let parts = [params.exponent_bytes(), 8 * params.layout.rows, params.residue_bytes()];
        let all = (0..params.layout.rows).collect();
        Self::with_rows((params, system, seed), database, &all, parts.map(AlignedBytes::zeroed), progress)
    }

    /// The hint with some rows of D·A again.
    ///
    /// # Errors
    /// As [`SlottedHint::new`].
    pub(super) fn changed<T: Strength>(
        &self,
        server: &ZipServer<T>,
        database: &ByteMatrix,
        rows: &BTreeSet<usize>,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let parts = [self.exponents.bytes(), self.sums.bytes(), self.residues.bytes()];
        let place = (&server.params, &server.system, server.public.seed);
        Self::with_rows(place, database, rows, parts.map(AlignedBytes::copy_of), progress)
    }

    /// Writes some rows of D·A into exponents, sums and residues.
    fn with_rows<T: Strength>(
        (params, system, seed): (&ZipParams<T>, &Residues, Seed),
        database: &ByteMatrix,
        rows: &BTreeSet<usize>,
        [mut exponents, mut sums, mut residues]: [AlignedBytes; 3],
        progress: &dyn Progress,
    ) -> Result<Self> {
        let (n, digits) = (params.n(), params.exponent_digits());
        progress.stage("hint", rows.len() as u64);
        let products = MaskProducts::new(&params.lwe, &masks(seed), database.columns(), CENTRE);
        let parts = exponents.slice_mut::<u16>().par_chunks_exact_mut(n * digits);
        let parts = parts.zip(sums.slice_mut::<[i32; 2]>().par_chunks_mut(params.slots)).enumerate();
        parts.for_each(|(i, (exponents, sums))| {
            let first = i * params.slots;
            for &row in rows.range(first..first + sums.len()) {
                sums[row - first] = write_row(params, &products, database, row, exponents);
                progress.advance(1);
            }
        });
        let ciphertexts: BTreeSet<usize> = rows.iter().map(|row| row / params.slots).collect();
        let exponents: BlobSlice<u16> = BlobSlice::new(exponents.into(), EXPONENTS)?;
        let exponent = |row: usize, column: usize| &exponents[(row * n + column) * digits..][..digits];
        system.fill(params.dimensions(), &ciphertexts, exponent, (residues.slice_mut(), progress));
        let (residues, sums) =
            (BlobSlice::new(residues.into(), RESIDUES)?, BlobSlice::new(sums.into(), SUMS)?);
        Ok(Self { exponents, residues, sums })
    }
}

/// Writes the digits of one row of D, its slot of one ciphertext's exponents, and gives its sums.
fn write_row<T: Strength>(
    params: &ZipParams<T>,
    products: &MaskProducts,
    database: &ByteMatrix,
    row: usize,
    exponents: &mut [u16],
) -> [i32; 2] {
    let (mut bytes, mut digits) = (vec![0; database.columns()], vec![0; params.n()]);
    database.read_row(row, &mut bytes);
    let sums = RowSums::of(&products.of_row(&params.lwe, &bytes), &mut digits);
    let places = exponents.chunks_exact_mut(params.exponent_digits());
    places.zip(&digits).for_each(|(exponent, digit)| exponent[row % params.slots] = *digit);
    [sums.rounding, sums.digits]
}
