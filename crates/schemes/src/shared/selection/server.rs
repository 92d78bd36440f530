//! Server of a packed selection.

use std::collections::BTreeMap;

use papir_core::scratch::InMemory;
use papir_core::sections::{SectionSink, SectionSource};
use papir_core::{AlignedBytes, Blob, Error, Progress, Result, parallel};
use papir_lattice::mod_switch::PowerSwitch;
use papir_lattice::packing::cdks::few::Leaf;
use papir_lattice::packing::{Bodies, Packing};
use papir_lattice::rlwe::Rlwe;
use papir_lattice::selection::SelectorMasks;
use papir_ring::prg::Seed;
use papir_ring::{Coefficients, CyclotomicRing, Poly};

use super::bits::Selection;
use super::client::{SelectionAnswer, SelectionQuery};
use super::params::SelectionParams;
use super::public::SelectionPublic;
use super::ring::DEGREE;
use super::variant::{Key, Masks, PackedVariant};
use crate::shared::matrices::RowMasks;
use crate::shared::packs::{Names, PreparedPacks};
use crate::shared::parameters::refused;

const MATRIX: &str = "selection/matrix";

/// A matrix of words and its packs. A clone shares them.
#[derive(Clone)]
pub struct PackedMatrix<V: PackedVariant> {
    params: SelectionParams<V>,
    tiles: Blob,
    packing: Packing<V::Packing>,
    packs: PreparedPacks<V::Packing>,
    /// Masks of the packs in the form in which clients get them.
    masks: Vec<u64>,
    /// Selector masks for single rows, or `None` if there are no single rows.
    singles: Option<SelectorMasks>,
}

/// Selected rows: LWE encryptions of the rows to pack, and an RLWE encryption of each single row.
#[derive(Clone, Debug)]
pub struct Selected {
    /// Bodies in packs. Before packing they are bodies of the LWE encryptions, afterwards of the
    /// packed encryptions.
    pub bodies: Bodies,
    /// Masks of the single rows, with coefficient 0 of their bodies. They are empty if single rows
    /// are packed.
    pub singles: Vec<(Poly<Coefficients>, u64)>,
    /// Indices of packs with single rows, with the mask and body that packing these rows adds.
    pub added: Vec<(usize, Rlwe)>,
}

/// Single rows of one pack.
struct PackSingles {
    leaves: Vec<Leaf>,
    /// Bodies at their places in the pack, with zeros at the other places.
    bodies: Vec<u64>,
}

fn names(scheme: &'static str) -> Names {
    Names {
        scheme,
        words: "selection/words",
        packs: "selection/packs",
    }
}

impl<V: PackedVariant> PackedMatrix<V> {
    /// Prepares the packs of a matrix under a public seed.
    ///
    /// # Errors
    /// [`Error::Length`] for tiles of another matrix, and errors of the packing, which random masks
    /// do not cause.
    pub fn prepare(
        params: &SelectionParams<V>,
        seed: &Seed,
        tiles: AlignedBytes,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let tiles = checked_tiles(params, tiles)?;
        let packing = params.packing(seed)?;
        let count = params.counts.packs();

        progress.stage("pack", count as u64);
        let masks = row_masks(params, seed, &tiles, progress);

        let names = names(params.scheme);
        let packs = PreparedPacks::prepare(
            names,
            &packing,
            count,
            |pack| masks.of_pack(pack),
            &mut InMemory,
            progress,
        )?;

        Ok(Self::assemble(params, seed, tiles, packing, packs))
    }

    /// Replaces the matrix under the same seed: prepares the packs whose rows differ again, and
    /// copies the others. The result has the same bytes as the result of [`PackedMatrix::prepare`].
    ///
    /// # Errors
    /// The errors of [`PackedMatrix::prepare`].
    pub fn replace(
        &self,
        seed: &Seed,
        tiles: AlignedBytes,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let tiles = checked_tiles(&self.params, tiles)?;

        // A pack depends on its rows alone: the others stay as they are.
        let touched = touched_packs(&self.params.counts, &self.tiles, &tiles);
        let count = touched.iter().filter(|&&touched| touched).count();
        if count == 0 {
            return Ok(self.clone());
        }

        progress.stage("pack", count as u64);
        let masks = row_masks(&self.params, seed, &tiles, progress);
        let packs = self.packs.refresh(
            &self.packing,
            |pack| touched[pack],
            |pack| masks.of_pack(pack),
        )?;

        Ok(Self::assemble(
            &self.params,
            seed,
            tiles,
            self.packing.clone(),
            packs,
        ))
    }

    fn assemble(
        params: &SelectionParams<V>,
        seed: &Seed,
        tiles: Blob,
        packing: Packing<V::Packing>,
        packs: PreparedPacks<V::Packing>,
    ) -> Self {
        let masks = packs.answer_masks(params.rlwe.ring(), params.bits.answer);

        // Single rows that are packed online take masks as packs do, others as they are.
        let capacity = if params.counts.online_nodes::<V>() > 0 {
            params.counts.capacity
        } else {
            1
        };
        let singles = (params.counts.singles > 0).then(|| params.selector().masks(seed, capacity));

        Self {
            params: params.clone(),
            tiles,
            packing,
            packs,
            masks,
            singles,
        }
    }

    /// Returns the matrix in row groups.
    pub fn tiles(&self) -> &Blob {
        &self.tiles
    }

    /// Returns the public part: the seed, and the masks of packs if answers do not carry them.
    pub fn public(&self, seed: Seed) -> SelectionPublic {
        let masks = match self.params.counts.masks {
            Masks::Answers => Vec::new(),
            Masks::Public => self.masks.clone(),
        };
        SelectionPublic { seed, masks }
    }

    /// Answers queries: expands their keys, selects, packs and rounds. `singles` returns the words
    /// of the single rows, as for [`Self::select`]. It is called in the stage named `select`.
    ///
    /// # Errors
    /// The errors of [`Self::read_key`].
    pub fn answers(
        &self,
        queries: &[&SelectionQuery],
        select: &'static str,
        singles: impl FnOnce() -> Vec<Vec<i16>>,
        progress: &dyn Progress,
    ) -> Result<Vec<SelectionAnswer>> {
        let count = queries.len() as u64;

        // Keys come first: a key that does not fit is refused before the pass over the matrix.
        progress.stage("read_keys", count);
        let keys = parallel::try_map(queries, |query| self.read_key(query))?;

        progress.stage(select, count);
        let selected = self.select(queries, &singles());

        progress.stage("pack", count);
        let packed = self.pack(selected, &keys.iter().collect::<Vec<_>>())?;

        progress.stage("round", count);
        Ok(packed.iter().map(|packed| self.round(packed)).collect())
    }

    /// Expands the packing key of a query.
    ///
    /// # Errors
    /// [`Error::Parameters`] for a key of another packing; none for a query of these parameters.
    pub fn read_key(&self, query: &SelectionQuery) -> Result<Key<V>> {
        // Packings with one matrix have parameters whose last key has as many bits.
        let mut bits = vec![self.params.bits.key; self.packing.shape().matrices];
        if let Some(last) = bits.last_mut() {
            *last = self.params.bits.last_key;
        }
        names(self.params.scheme).online_key(&self.packing, &bits, &query.keys)
    }

    /// Selects rows for each query, in one pass over the matrix. `singles` holds the words of the
    /// single rows for each query, row by row.
    ///
    /// # Panics
    /// If the number of `singles` is not the number of queries, or they are not whole rows.
    pub fn select(&self, queries: &[&SelectionQuery], singles: &[Vec<i16>]) -> Vec<Selected> {
        assert_eq!(queries.len(), singles.len(), "single rows for each query");
        if queries.is_empty() {
            return Vec::new();
        }

        let SelectionParams {
            counts, bits, rlwe, ..
        } = &self.params;
        let ring = rlwe.ring();
        let bits = bits.query;

        let selectors: Vec<&[u64]> = queries
            .iter()
            .map(|query| query.selector.as_slice())
            .collect();
        let sums = self.params.matrix(&self.tiles).select(&selectors, bits);

        let selected = sums.into_iter().zip(&selectors).zip(singles);
        parallel::map(selected, |((sums, selector), words)| {
            let masks = self
                .singles
                .iter()
                .map(|masks| masks.of_single_words(ring, words, counts.columns));
            let bodies = self.single_bodies(words, selector);
            Selected {
                bodies: Bodies::from_sums(ring, counts.capacity, counts.packs(), &sums, bits),
                singles: masks.flatten().zip(bodies).collect(),
                added: Vec::new(),
            }
        })
    }

    /// Computes Σ word·entry of the selector for each single row, lifted to q.
    fn single_bodies(&self, words: &[i16], selector: &[u64]) -> Vec<u64> {
        let bits = self.params.bits.query;
        let switch = PowerSwitch::new(self.params.rlwe.ring().modulus(), bits);

        let rows = words.chunks_exact(self.params.counts.columns);
        rows.map(|row| {
            // Sums wrap modulo 2^64, which is exact modulo 2^bits: an entry has fewer than 64 bits.
            let terms = row
                .iter()
                .zip(selector)
                .map(|(&word, entry)| entry.wrapping_mul(i64::from(word) as u64));
            switch.up(terms.fold(0, u64::wrapping_add) & ((1 << bits) - 1))
        })
        .collect()
    }

    /// Packs the selected rows, in one pass over the packs' words, and single rows if the packing
    /// can pack them.
    ///
    /// # Errors
    /// The errors of [`PackedMatrix::read_key`].
    pub fn pack(&self, selected: Vec<Selected>, keys: &[&Key<V>]) -> Result<Vec<Selected>> {
        if selected.is_empty() {
            return Ok(selected);
        }

        let bodies = selected.iter().map(|one| one.bodies.clone()).collect();
        let packed = self.packs.pack(&self.packing, bodies, keys)?;

        let packed = packed.into_iter().zip(selected).zip(keys);
        parallel::try_map(packed, |((bodies, one), key)| {
            self.pack_singles(Selected { bodies, ..one }, key)
        })
    }

    /// Packs the single rows at the places after the others.
    fn pack_singles(&self, mut selected: Selected, key: &Key<V>) -> Result<Selected> {
        let SelectionParams {
            counts: Selection { rows, capacity, .. },
            rlwe,
            scheme,
            ..
        } = &self.params;
        if self.params.counts.online_nodes::<V>() == 0 {
            return Ok(selected);
        }

        // In the order of packs, on which `round` relies.
        let mut packs: BTreeMap<usize, PackSingles> = BTreeMap::new();
        for (i, (mask, body)) in selected.singles.drain(..).enumerate() {
            let pack = (rows + i) / capacity;
            let place = (rows + i) % capacity;
            let singles = packs.entry(pack).or_insert_with(|| PackSingles {
                leaves: Vec::new(),
                bodies: vec![0; *capacity],
            });
            singles.leaves.push((place, mask));
            singles.bodies[place] = body;
        }

        for (pack, singles) in packs {
            let packed =
                V::pack_few(&self.packing, &singles.leaves, key).map_err(refused(scheme))?;
            let Some(mut packed) = packed else {
                continue;
            };
            // `pack_few` leaves the bodies out: they are added where the trees put their messages.
            let bodies = rlwe.ring().from_words(&singles.bodies);
            rlwe.ring().add_assign(&mut packed.b, &bodies);
            selected.added.push((pack, packed));
        }

        Ok(selected)
    }

    /// Returns the packed encryption of a pack: of rows, of single rows, or of both.
    pub fn encryption(&self, packed: &Selected, pack: usize) -> Rlwe {
        let ring = self.params.rlwe.ring();

        let prepared = self.packs.packs.get(pack);
        let rows = prepared.map(|rows| Rlwe {
            a: rows.a.clone(),
            b: packed.bodies.poly(ring, pack),
        });
        let added = packed
            .added
            .iter()
            .find(|(of, _)| *of == pack)
            .map(|(_, added)| added.clone());

        let mut sum = Rlwe {
            a: ring.zero(),
            b: ring.zero(),
        };
        for part in rows.into_iter().chain(added) {
            ring.add_assign(&mut sum.a, &part.a);
            ring.add_assign(&mut sum.b, &part.b);
        }

        sum
    }

    /// Switches packed encryptions to the bits of an answer.
    pub fn round(&self, packed: &Selected) -> SelectionAnswer {
        let SelectionParams {
            counts, bits, rlwe, ..
        } = &self.params;
        let ring = rlwe.ring();
        let bits = bits.answer;
        let capacity = counts.capacity;

        let mut masks = match counts.masks {
            Masks::Answers => self.masks.clone(),
            Masks::Public => Vec::new(),
        };
        let mut bodies = packed.bodies.to_words(ring);

        // Packs with single rows are the last ones, in order.
        for &(pack, _) in &packed.added {
            let Rlwe { a, b } = self.encryption(packed, pack);
            masks.truncate(pack * DEGREE);
            masks.extend(bits.mask(ring, &a));
            bodies.truncate(pack * capacity);
            bodies.extend(&ring.to_words(&b)[..capacity]);
        }

        // Rows that fill up the last pack are not sent.
        bodies.truncate(counts.sent_rows::<V>());
        for (mask, body) in &packed.singles {
            masks.extend(bits.mask(ring, mask));
            bodies.push(*body);
        }

        SelectionAnswer {
            masks,
            bodies: bits.body(ring, &bodies),
        }
    }

    /// Writes all sections.
    ///
    /// # Errors
    /// The errors of the sink.
    pub fn save(&self, sink: &mut dyn SectionSink) -> Result<()> {
        sink.put(MATRIX, &[&self.tiles])?;
        self.packs.save(sink)
    }

    /// Reads a matrix that [`PackedMatrix::save`] wrote.
    ///
    /// # Errors
    /// [`Error::MissingSection`], [`Error::Length`] or [`Error::Malformed`], and the errors of the
    /// source.
    pub fn load(
        params: &SelectionParams<V>,
        seed: &Seed,
        source: &dyn SectionSource,
    ) -> Result<Self> {
        let tiles = source.get(MATRIX)?;
        Error::check_length(MATRIX, tiles.len(), params.matrix_bytes() as usize)?;

        let packing = params.packing(seed)?;
        let packs = params.counts.packs();
        let packs = PreparedPacks::load(names(params.scheme), &packing, (0..packs, packs), source)?;

        Ok(Self::assemble(params, seed, tiles, packing, packs))
    }
}

/// Checks the length of the tiles.
fn checked_tiles<V: PackedVariant>(
    params: &SelectionParams<V>,
    tiles: AlignedBytes,
) -> Result<Blob> {
    let tiles = Blob::from(tiles);
    Error::check_length(MATRIX, tiles.len(), params.matrix_bytes() as usize)?;
    Ok(tiles)
}

/// Masks of the rows of each pack.
fn row_masks<'a, V: PackedVariant>(
    params: &'a SelectionParams<V>,
    seed: &Seed,
    tiles: &'a [u8],
    progress: &'a dyn Progress,
) -> RowMasks<'a> {
    let ring = params.rlwe.ring();
    let rows = params.counts.capacity;
    let masks = params.selector().masks(seed, rows);

    RowMasks {
        ring,
        matrix: params.matrix(tiles),
        masks,
        rows,
        progress,
    }
}

/// Returns, for each pack, true if its row groups differ between the two matrices in any word.
fn touched_packs(counts: &Selection, old: &[u8], new: &[u8]) -> Vec<bool> {
    let capacity = counts.capacity;
    let group_rows = counts.storage.group_rows();

    let group = counts.storage.matrix_bytes(1, counts.columns) as usize;
    let groups = old.chunks_exact(group).zip(new.chunks_exact(group));
    let differs = parallel::map(groups, |(old, new)| old != new);
    let of_a_word = differs.len() / counts.stacking.words;

    // A pack may start and end within a row group.
    let packs = (0..counts.packs()).map(|pack| {
        let from = pack * capacity / group_rows;
        let to = ((pack + 1) * capacity).div_ceil(group_rows);
        let mut words = differs.chunks_exact(of_a_word);
        words.any(|differs| differs[from..to].contains(&true))
    });
    packs.collect()
}
