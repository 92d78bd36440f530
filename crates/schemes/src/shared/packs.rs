//! Packs of one selection: preparation, packing and storage.

use std::ops::Range;

use papir_core::device::{Device, Words};
use papir_core::scratch::{Piece, Scratch, find_usable};
use papir_core::sections::{SectionSink, SectionSource};
use papir_core::{AlignedBytes, Blob, BlobSlice, Error, Progress, Result, parallel};
use papir_lattice::packing::inspiring::{OnlineKey as Expanded, multiply};
use papir_lattice::packing::{
    Bodies, LweMasks, OnlineKey, Packing, PackingError, Preprocessed, RingPacking, RoundedKey,
};
use papir_lattice::response::ResponseBits;
use papir_lattice::rlwe::Rlwe;
use papir_ring::{CyclotomicRing, Poly, Ring, Values};

use super::device_copy::DeviceCopy;
use super::parameters::refused;

/// Name of the packs' scheme, and the names of their sections.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Names {
    pub(crate) scheme: &'static str,
    /// Section of the words of all packs.
    pub(crate) words: &'static str,
    /// Section of the masks and last digits of all packs.
    pub(crate) packs: &'static str,
}

impl Names {
    /// Maps errors of a packing to errors of the scheme.
    pub(crate) fn refused(self, error: PackingError) -> Error {
        refused(self.scheme)(error)
    }

    /// Expands a client's packing key from the words of a query. `bits` has the bits of each
    /// matrix. A key of another packing gives [`Error::Parameters`].
    pub(crate) fn online_key<P: RingPacking>(
        self,
        packing: &Packing<P>,
        bits: &[u32],
        words: &[u64],
    ) -> Result<OnlineKey<P::Expanded>> {
        let key =
            RoundedKey::new(packing.shape(), bits, words).and_then(|key| packing.online_key(&key));
        key.map_err(|error| self.refused(error))
    }
}

/// Offline data of the packs of one selection. A clone shares the words.
pub(crate) struct PreparedPacks<P: RingPacking> {
    names: Names,
    pub(crate) words: BlobSlice<P::Word>,
    pub(crate) packs: Vec<Preprocessed>,
    /// Copy of the words in the memory of a device, if there is one.
    held: DeviceCopy,
}

impl<P: RingPacking> Clone for PreparedPacks<P> {
    fn clone(&self) -> Self {
        let words = self.words.clone();
        let packs = self.packs.clone();
        let held = self.held.clone();
        Self {
            names: self.names,
            words,
            packs,
            held,
        }
    }
}

impl<P: RingPacking> PreparedPacks<P> {
    /// Finds packs in `scratch`, or prepares them from their masks in memory of `scratch`. Packs
    /// with residues that are not reduced are prepared again. Random masks cause no error.
    pub(crate) fn prepare(
        names: Names,
        packing: &Packing<P>,
        packs: usize,
        masks: impl Fn(usize) -> LweMasks + Sync,
        scratch: &mut dyn Scratch,
        progress: &dyn Progress,
    ) -> Result<Self> {
        if let Some(found) = Self::find(names, packing, packs, scratch, progress)? {
            return Ok(found);
        }

        let mut words = scratch.zeroed(names.words, word_bytes(packing, packs))?;
        let packs = packing
            .prepare_all(packs, masks, words.slice_mut())
            .map_err(|error| names.refused(error))?;

        Ok(Self {
            names,
            words: BlobSlice::new(words.into(), names.words)?,
            packs,
            // A device that held the packs has the old words.
            held: DeviceCopy::default(),
        })
    }

    /// Finds packs that tasks prepared. Returns `None` if a part is missing or unusable.
    fn find(
        names: Names,
        packing: &Packing<P>,
        packs: usize,
        scratch: &mut dyn Scratch,
        progress: &dyn Progress,
    ) -> Result<Option<Self>> {
        // Parts of other lengths are of other parameters.
        let words = find_usable(scratch, names.words, progress, |words| {
            Error::check_length(names.words, words.len(), word_bytes(packing, packs))?;
            BlobSlice::new(words, names.words)
        })?;
        let packs = find_usable(scratch, names.packs, progress, |residues| {
            let bytes = packs * 4 * pack_residues(packing);
            Error::check_length(names.packs, residues.len(), bytes)?;
            read_packs(packing, residues.slice_of(names.packs)?, names.packs)
        })?;
        let (Some(words), Some(packs)) = (words, packs) else {
            return Ok(None);
        };

        Ok(Some(Self {
            names,
            words,
            packs,
            held: DeviceCopy::default(),
        }))
    }

    /// Returns both sections as pieces, for the parts that [`Self::prepare`] finds.
    pub(crate) fn into_pieces(self) -> [Piece; 2] {
        let residues: Vec<&[u32]> = self.packs.iter().flat_map(residues).collect();
        let residues = Blob::copy_of(bytemuck::cast_slice(&residues.concat()));

        [
            Piece {
                part: self.names.words.to_owned(),
                bytes: self.words.into_blob(),
            },
            Piece {
                part: self.names.packs.to_owned(),
                bytes: residues,
            },
        ]
    }

    /// Prepares the wanted packs again and copies the others.
    pub(crate) fn refresh(
        &self,
        packing: &Packing<P>,
        wanted: impl Fn(usize) -> bool + Sync,
        masks: impl Fn(usize) -> LweMasks + Sync,
    ) -> Result<Self> {
        let names = self.names;
        let mut words = AlignedBytes::zeroed(self.words.bytes().len());
        let slots = packing.slots();
        let unit_words = packing.unit_words();

        // A unit with all packs wanted is written whole below: only the others need the old words.
        let units = words.slice_mut::<P::Word>().chunks_exact_mut(unit_words);
        let units = units.zip(self.words.chunks_exact(unit_words)).enumerate();
        parallel::for_each(units, |(unit, (new, old))| {
            let mut packs = unit * slots..self.packs.len().min((unit + 1) * slots);
            if !packs.all(&wanted) {
                new.copy_from_slice(old);
            }
        });

        let fresh = packing
            .prepare_where(self.packs.len(), wanted, masks, words.slice_mut())
            .map_err(|error| names.refused(error))?;
        let packs = fresh
            .into_iter()
            .zip(&self.packs)
            .map(|(new, old)| new.unwrap_or_else(|| old.clone()));

        Ok(Self {
            names,
            words: BlobSlice::new(words.into(), names.words)?,
            packs: packs.collect(),
            held: DeviceCopy::default(),
        })
    }

    /// Packs the bodies for each key, in one pass over the words. A key of another packing gives
    /// [`PackingError::Key`].
    pub(crate) fn pack(
        &self,
        packing: &Packing<P>,
        bodies: Vec<Bodies>,
        keys: &[&OnlineKey<P::Expanded>],
    ) -> Result<Vec<Bodies>> {
        packing
            .pack_bodies(&self.words, &self.last(), bodies, keys)
            .map_err(|error| self.names.refused(error))
    }

    /// Returns the masks of all packs, switched to the bits of an answer.
    pub(crate) fn answer_masks(&self, ring: &Ring, bits: ResponseBits) -> Vec<u64> {
        self.packs
            .iter()
            .flat_map(|pack| bits.mask(ring, &pack.a))
            .collect()
    }

    /// Writes both sections.
    pub(crate) fn save(&self, sink: &mut dyn SectionSink) -> Result<()> {
        sink.put(self.names.words, &[self.words.bytes()])?;
        let parts: Vec<&[u8]> = self
            .packs
            .iter()
            .flat_map(residues)
            .map(bytemuck::cast_slice)
            .collect();
        sink.put(self.names.packs, &parts)
    }

    /// Reads packs from the sections of [`Self::save`]. `packs` is a range of packs in whole units,
    /// and the number of all packs. Residues that are not reduced give [`Error::Malformed`].
    pub(crate) fn load(
        names: Names,
        packing: &Packing<P>,
        packs: (Range<usize>, usize),
        source: &dyn SectionSource,
    ) -> Result<Self> {
        let words = load_words(packing, names.words, packs.clone(), source)?;
        let packs = load_packs(names, packing, packs, source)?;

        Ok(Self {
            names,
            words,
            packs,
            held: DeviceCopy::default(),
        })
    }

    fn last(&self) -> Vec<&[Poly<Values>]> {
        self.packs.iter().map(|pack| &pack.last[..]).collect()
    }
}

impl<P: RingPacking<Word = i32, Expanded = Expanded>> PreparedPacks<P> {
    /// The same packs, whose words a device holds too.
    pub(crate) fn on_device(&self, packing: &Packing<P>, device: &dyn Device) -> Result<Self> {
        let columns = matrix_columns(packing);
        Ok(Self {
            held: DeviceCopy::on(device, Words::Signed32, columns, self.words.bytes())?,
            ..self.clone()
        })
    }

    /// Does the work of [`Self::pack`], with the products of a device if one holds the words.
    pub(crate) fn pack_on_device(
        &self,
        packing: &Packing<P>,
        bodies: Vec<Bodies>,
        keys: &[&OnlineKey<P::Expanded>],
    ) -> Result<Vec<Bodies>> {
        packing
            .pack_bodies_by(
                |vectors, bits| self.products(vectors, bits),
                &self.last(),
                bodies,
                keys,
            )
            .map_err(|error| self.names.refused(error))
    }

    /// Computes products of the words with vectors, on the device if one holds the words.
    fn products(&self, vectors: &[&[u64]], bits: u32) -> Vec<Vec<u64>> {
        self.held
            .products(vectors, bits)
            .unwrap_or_else(|| multiply(&self.words, vectors, bits))
    }
}

/// Columns of the matrices of packs: ℓ·d.
pub(crate) fn matrix_columns<P: RingPacking>(packing: &Packing<P>) -> usize {
    packing.setup().gadget().levels() * packing.setup().ring().degree()
}

/// Reads the words of a range of packs. `packs` is the range, in whole units, and the number of all
/// packs.
pub(crate) fn load_words<P: RingPacking>(
    packing: &Packing<P>,
    section: &'static str,
    packs: (Range<usize>, usize),
    source: &dyn SectionSource,
) -> Result<BlobSlice<P::Word>> {
    let (packs, all) = packs;
    let range = word_bytes(packing, packs.start)..word_bytes(packing, packs.end);
    ranged(source, section, range, word_bytes(packing, all))
}

/// Bytes of the words of `packs` packs.
fn word_bytes<P: RingPacking>(packing: &Packing<P>, packs: usize) -> usize {
    packing.words(packs) * size_of::<P::Word>()
}

/// Reads masks and last digits of a range of packs. `packs` is the range and the number of all
/// packs.
pub(crate) fn load_packs<P: RingPacking>(
    names: Names,
    packing: &Packing<P>,
    packs: (Range<usize>, usize),
    source: &dyn SectionSource,
) -> Result<Vec<Preprocessed>> {
    let (packs, all) = packs;
    let bytes = 4 * pack_residues(packing);
    let range = packs.start * bytes..packs.end * bytes;
    let residues = ranged::<u32>(source, names.packs, range, all * bytes)?;
    read_packs(packing, &residues, names.packs)
}

/// Returns the packed encryptions, from masks known in advance and the bodies of one query.
pub(crate) fn encryptions(ring: &Ring, packs: &[Preprocessed], bodies: &Bodies) -> Vec<Rlwe> {
    packs
        .iter()
        .enumerate()
        .map(|(i, pack)| Rlwe {
            a: pack.a.clone(),
            b: bodies.poly(ring, i),
        })
        .collect()
}

/// Reads a section of numbers, `expected` bytes long.
pub(crate) fn sized<T: bytemuck::AnyBitPattern>(
    source: &dyn SectionSource,
    name: &'static str,
    expected: usize,
) -> Result<BlobSlice<T>> {
    ranged(source, name, 0..expected, expected)
}

/// Reads a part of a section of numbers, `expected` bytes long.
pub(crate) fn ranged<T: bytemuck::AnyBitPattern>(
    source: &dyn SectionSource,
    name: &'static str,
    bytes: Range<usize>,
    expected: usize,
) -> Result<BlobSlice<T>> {
    // The whole section is measured, not the range: the same range of a longer section holds other
    // packs.
    Error::check_length(name, source.length(name)?, expected)?;
    BlobSlice::new(source.get_range(name, bytes)?, name)
}

/// Residues of a pack's mask and last digits.
fn pack_residues<P: RingPacking>(packing: &Packing<P>) -> usize {
    // A coefficient is stored modulo each of the two primes.
    (1 + packing.last_elements()) * 2 * packing.setup().ring().degree()
}

fn residues(pack: &Preprocessed) -> impl Iterator<Item = &[u32]> {
    std::iter::once(pack.a.residues()).chain(pack.last.iter().map(Poly::residues))
}

fn read_packs<P: RingPacking>(
    packing: &Packing<P>,
    residues: &[u32],
    name: &'static str,
) -> Result<Vec<Preprocessed>> {
    let ring = packing.setup().ring();
    check_residues(residues, ring, name)?;

    Ok(residues
        .chunks_exact(pack_residues(packing))
        .map(|pack| read_pack(ring, pack))
        .collect())
}

/// Returns the mask and last digits with these residues.
fn read_pack(ring: &Ring, residues: &[u32]) -> Preprocessed {
    let mut polys = residues.chunks_exact(2 * ring.degree());
    let a = Poly::from_residues(polys.next().unwrap_or_default());
    Preprocessed {
        a,
        last: polys.map(Poly::from_residues).collect(),
    }
}

/// Checks that all residues are reduced. The kernels rely on it.
fn check_residues(residues: &[u32], ring: &Ring, name: &'static str) -> Result<()> {
    // A polynomial is d residues modulo the first prime, then d modulo the second, and packs are
    // whole polynomials: primes alternate.
    for (i, part) in residues.chunks_exact(ring.degree()).enumerate() {
        let prime = ring.primes()[i % 2].value();
        if let Some(residue) = part.iter().find(|&&residue| residue >= prime) {
            return Err(Error::malformed(
                name,
                residue,
                format!("residues below {prime}"),
            ));
        }
    }
    Ok(())
}
