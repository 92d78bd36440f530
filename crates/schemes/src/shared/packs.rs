//! The packs of one selection: preparation, packing and storage.

use std::ops::Range;

use papir_core::device::{Device, Words};
use papir_core::scratch::{Piece, Scratch};
use papir_core::sections::{SectionSink, SectionSource};
use papir_core::{AlignedBytes, Blob, BlobSlice, Error, Result, parallel};
use papir_lattice::packing::inspiring::{MatrixPacking, multiply};
use papir_lattice::packing::{
    Bodies, LweMasks, OnlineKey, PackingError, Preprocessed, RingPacking, RoundedKey,
};
use papir_lattice::response::ResponseBits;
use papir_lattice::rlwe::Rlwe;
use papir_ring::{Poly, Ring, Values};

use super::held::Held;
use super::parameters::refused;

/// Scheme of the packs, and the names of their sections.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Names {
    pub(crate) scheme: &'static str,
    /// The words of all packs.
    pub(crate) words: &'static str,
    /// Their masks and last digits.
    pub(crate) packs: &'static str,
}

impl Names {
    /// Maps errors of a packing to those of the scheme.
    pub(crate) fn refused(self, error: PackingError) -> Error {
        refused(self.scheme)(error)
    }

    /// Expands a client's packing key from the words of a query; `bits` has the bits of each matrix.
    ///
    /// # Errors
    /// [`Error::Parameters`] for a key of another packing.
    pub(crate) fn online_key<P: RingPacking>(
        self,
        packing: &P,
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
    /// The words in the memory of a device.
    held: Held,
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
    /// Finds packs in `scratch`, or prepares them from their masks in memory of `scratch`.
    ///
    /// # Errors
    /// Errors of `scratch`, and of the packing, which random masks do not cause;
    /// [`Error::Malformed`] for found residues that are not reduced.
    pub(crate) fn prepare(
        names: Names,
        packing: &P,
        packs: usize,
        masks: impl Fn(usize) -> LweMasks + Sync,
        scratch: &mut dyn Scratch,
    ) -> Result<Self> {
        if let Some(found) = Self::find(names, packing, packs, scratch)? {
            return Ok(found);
        }
        let mut words = scratch.zeroed(names.words, packing.words(packs) * size_of::<P::Word>())?;
        let packs = packing
            .prepare_all(packs, masks, words.slice_mut())
            .map_err(|e| names.refused(e))?;
        let words = BlobSlice::new(words.into(), names.words)?;
        let held = Held::default();
        Ok(Self {
            names,
            words,
            packs,
            held,
        })
    }

    /// Finds packs that tasks prepared.
    fn find(
        names: Names,
        packing: &P,
        packs: usize,
        scratch: &dyn Scratch,
    ) -> Result<Option<Self>> {
        let part = |name, bytes| Ok(scratch.find(name)?.filter(|part| part.len() == bytes));
        let words = part(names.words, packing.words(packs) * size_of::<P::Word>())?;
        let residues = part(names.packs, packs * 4 * pack_residues(packing))?;
        let (Some(words), Some(residues)) = (words, residues) else {
            return Ok(None);
        };
        let packs = read_packs(packing, residues.slice_of(names.packs)?, names.packs)?;
        Ok(Some(Self {
            names,
            words: BlobSlice::new(words, names.words)?,
            packs,
            held: Held::default(),
        }))
    }

    /// Both sections, as pieces of the parts that [`Self::prepare`] finds.
    pub(crate) fn into_pieces(self) -> [Piece; 2] {
        let residues: Vec<&[u32]> = self.packs.iter().flat_map(residues).collect();
        let residues = Blob::copy_of(bytemuck::cast_slice(&residues.concat()));
        [
            (self.names.words, self.words.into_blob()),
            (self.names.packs, residues),
        ]
        .map(|(part, bytes)| Piece {
            part: part.to_owned(),
            bytes,
        })
    }

    /// Prepares the wanted packs again and copies the others.
    ///
    /// # Errors
    /// The errors of [`Self::prepare`].
    pub(crate) fn refresh(
        &self,
        packing: &P,
        wanted: impl Fn(usize) -> bool + Sync,
        masks: impl Fn(usize) -> LweMasks + Sync,
    ) -> Result<Self> {
        let names = self.names;
        let mut words = AlignedBytes::zeroed(self.words.bytes().len());
        let slots = packing.slots();
        let unit_words = packing.unit_words();
        let units = words.slice_mut::<P::Word>().chunks_exact_mut(unit_words);
        let units = units.zip(self.words.chunks_exact(unit_words)).enumerate();
        parallel::for_each(units, |(unit, (new, old))| {
            let mut packs = unit * slots..self.packs.len().min((unit + 1) * slots);
            if !packs.all(&wanted) {
                new.copy_from_slice(old);
            }
        });
        let fresh = packing.prepare_where(self.packs.len(), wanted, masks, words.slice_mut());
        let fresh = fresh.map_err(|error| names.refused(error))?;
        let packs = fresh
            .into_iter()
            .zip(&self.packs)
            .map(|(new, old)| new.unwrap_or_else(|| old.clone()));
        let words = BlobSlice::new(words.into(), names.words)?;
        let held = Held::default();
        Ok(Self {
            names,
            words,
            packs: packs.collect(),
            held,
        })
    }

    /// Packs the bodies for each key, in one pass over the words.
    ///
    /// # Errors
    /// [`PackingError::Key`] for a key of another packing.
    pub(crate) fn pack(
        &self,
        packing: &P,
        bodies: Vec<Bodies>,
        keys: &[&OnlineKey<P::Expanded>],
    ) -> Result<Vec<Bodies>> {
        packing
            .pack_bodies(&self.words, &self.last(), bodies, keys)
            .map_err(|error| self.names.refused(error))
    }

    /// Masks of all packs, switched to the bits of an answer.
    pub(crate) fn answer_masks(&self, ring: &Ring, bits: ResponseBits) -> Vec<u64> {
        self.packs
            .iter()
            .flat_map(|pack| bits.mask(ring, &pack.a))
            .collect()
    }

    /// Writes both sections.
    ///
    /// # Errors
    /// The sink's.
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

    /// Reads these of all packs, whole units of them, from what [`Self::save`] wrote.
    ///
    /// # Errors
    /// [`Error::Length`], or [`Error::Malformed`] for residues that are not reduced.
    pub(crate) fn load(
        names: Names,
        packing: &P,
        (packs, all): (Range<usize>, usize),
        source: &dyn SectionSource,
    ) -> Result<Self> {
        let words = load_words(packing, names.words, (packs.clone(), all), source)?;
        let packs = load_packs(names, packing, (packs, all), source)?;
        Ok(Self {
            names,
            words,
            packs,
            held: Held::default(),
        })
    }

    fn last(&self) -> Vec<&[Poly<Values>]> {
        self.packs.iter().map(|pack| &pack.last[..]).collect()
    }
}

impl<P: MatrixPacking> PreparedPacks<P> {
    /// The same packs, whose words a device holds too.
    ///
    /// # Errors
    /// The device's.
    pub(crate) fn on_device(&self, packing: &P, device: &dyn Device) -> Result<Self> {
        let columns = matrix_columns(packing);
        Ok(Self {
            held: Held::on(device, Words::Signed32, columns, self.words.bytes())?,
            ..self.clone()
        })
    }

    /// [`Self::pack`], with the products of the device that holds the words.
    ///
    /// # Errors
    /// The errors of [`Self::pack`].
    pub(crate) fn pack_on_device(
        &self,
        packing: &P,
        bodies: Vec<Bodies>,
        keys: &[&OnlineKey<P::Expanded>],
    ) -> Result<Vec<Bodies>> {
        let multiply = |vectors: &[&[u64]], bits| {
            self.held
                .products(vectors, bits)
                .unwrap_or_else(|| multiply(&self.words, vectors, bits))
        };
        let packed = packing.pack_bodies_by(multiply, &self.last(), bodies, keys);
        packed.map_err(|error| self.names.refused(error))
    }
}

/// Columns of the matrices of packs: ℓ·d.
pub(crate) fn matrix_columns(packing: &impl RingPacking) -> usize {
    packing.setup().gadget().levels() * packing.setup().ring().degree()
}

/// Reads the words of these of all packs, whole units of them.
///
/// # Errors
/// [`Error::MissingSection`] or [`Error::Length`].
pub(crate) fn load_words<P: RingPacking>(
    packing: &P,
    section: &'static str,
    (packs, all): (Range<usize>, usize),
    source: &dyn SectionSource,
) -> Result<BlobSlice<P::Word>> {
    let bytes = |packs| packing.words(packs) * size_of::<P::Word>();
    ranged(
        source,
        section,
        bytes(packs.start)..bytes(packs.end),
        bytes(all),
    )
}

/// Reads masks and last digits of these of all packs.
///
/// # Errors
/// The errors of [`PreparedPacks::load`].
pub(crate) fn load_packs<P: RingPacking>(
    names: Names,
    packing: &P,
    (packs, all): (Range<usize>, usize),
    source: &dyn SectionSource,
) -> Result<Vec<Preprocessed>> {
    let bytes = 4 * pack_residues(packing);
    let range = packs.start * bytes..packs.end * bytes;
    let residues = ranged::<u32>(source, names.packs, range, all * bytes)?;
    read_packs(packing, &residues, names.packs)
}

/// Packed encryptions: masks known in advance and the bodies of one query.
pub(crate) fn encryptions(ring: &Ring, packs: &[Preprocessed], bodies: &Bodies) -> Vec<Rlwe> {
    let encryption = |(i, pack): (usize, &Preprocessed)| Rlwe {
        a: pack.a.clone(),
        b: bodies.poly(ring, i),
    };
    packs.iter().enumerate().map(encryption).collect()
}

/// Reads a section of numbers, `expected` bytes long.
///
/// # Errors
/// [`Error::MissingSection`] or [`Error::Length`].
pub(crate) fn sized<T: bytemuck::AnyBitPattern>(
    source: &dyn SectionSource,
    name: &'static str,
    expected: usize,
) -> Result<BlobSlice<T>> {
    ranged(source, name, 0..expected, expected)
}

/// Reads a part of a section of numbers, `expected` bytes long.
///
/// # Errors
/// [`Error::MissingSection`] or [`Error::Length`].
pub(crate) fn ranged<T: bytemuck::AnyBitPattern>(
    source: &dyn SectionSource,
    name: &'static str,
    bytes: Range<usize>,
    expected: usize,
) -> Result<BlobSlice<T>> {
    Error::check_length(name, source.length(name)?, expected)?;
    BlobSlice::new(source.get_range(name, bytes)?, name)
}

/// Residues of a pack's mask and last digits.
fn pack_residues<P: RingPacking>(packing: &P) -> usize {
    (1 + packing.last_elements()) * 2 * packing.setup().ring().degree()
}

fn residues(pack: &Preprocessed) -> impl Iterator<Item = &[u32]> {
    std::iter::once(pack.a.residues()).chain(pack.last.iter().map(Poly::residues))
}

fn read_packs<P: RingPacking>(
    packing: &P,
    residues: &[u32],
    name: &'static str,
) -> Result<Vec<Preprocessed>> {
    let ring = packing.setup().ring();
    check_residues(residues, ring, name)?;
    let pack = |words: &[u32]| {
        let mut polys = words.chunks_exact(2 * ring.degree());
        let a = Poly::from_residues(polys.next().unwrap_or_default());
        Preprocessed {
            a,
            last: polys.map(Poly::from_residues).collect(),
        }
    };
    Ok(residues
        .chunks_exact(pack_residues(packing))
        .map(pack)
        .collect())
}

/// All residues must be reduced: the kernels rely on it.
fn check_residues(residues: &[u32], ring: &Ring, name: &'static str) -> Result<()> {
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
