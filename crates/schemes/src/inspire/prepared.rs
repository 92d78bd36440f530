//! Prepared matrices of databases, and their common packs.
//!
//! InsPIRe prepares one database. For batches, m databases of one shape are *parts* that share
//! packs: a pack takes d/m rows of each part ([`super::parts`]).

use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

use papir_core::codec::Reader;
use papir_core::device::{Device, HeldPacks, TileShape, Words};
use papir_core::scratch::{Scratch, find_usable};
use papir_core::sections::{SectionSink, SectionSource};
use papir_core::{
    AlignedBytes, Blob, BlobSlice, Error, NoProgress, Progress, Records, Result, Shape, check_read,
    parallel,
};
use papir_lattice::packing::inspiring::{Inspiring, OnlineKey as Expanded};
use papir_lattice::packing::{Bodies, LweMasks, OnlineKey, Packing};
use papir_lattice::selection::WordMatrix;
use papir_ring::prg::Seed;

use super::encode::{Columns, encode};
use super::layout::Layout;
use super::params::Params;
use crate::shared::device_copy::DeviceCopy;
use crate::shared::matrices::RowMasks;
use crate::shared::packs::{Names, PreparedPacks, ranged, sized};
use crate::shared::stored_records::read_columns;

/// Expanded packing key of a query.
pub(super) type PackingKey = OnlineKey<Expanded>;

/// Names of the sections of a snapshot.
#[derive(Clone, Copy, Debug)]
pub struct Sections {
    pub(crate) header: &'static str,
    pub(crate) database: &'static str,
    pub(crate) exceptions: &'static str,
    pub(crate) packs: Names,
}

/// Parameters of all parts, which set ring and messages, and the layout of one part.
#[derive(Clone, Copy)]
pub(crate) struct PartsLayout<'a> {
    pub(crate) params: &'a Params,
    pub(crate) layout: &'a Layout,
}

/// Row and column of each word that represents +32768, sorted, part after part.
#[derive(Clone)]
pub(super) struct Exceptions {
    all: BlobSlice<[u32; 2]>,
    /// Number of exceptions of each part.
    counts: Vec<usize>,
}

impl Exceptions {
    pub(super) fn new(parts: &[Vec<[u32; 2]>], section: &'static str) -> Result<Self> {
        let all = Blob::copy_of(bytemuck::cast_slice(&parts.concat()));
        Ok(Self {
            all: BlobSlice::new(all, section)?,
            counts: parts.iter().map(Vec::len).collect(),
        })
    }

    pub(super) fn of_part(&self, part: usize) -> &[[u32; 2]] {
        let first: usize = self.counts[..part].iter().sum();
        &self.all[first..first + self.counts[part]]
    }
}

/// Prepared parts with all packs, or one part with some of its packs. A clone shares the matrices.
#[derive(Clone)]
pub(crate) struct PreparedParts {
    pub(super) sections: Sections,
    /// Layout of each part.
    pub(super) layout: Layout,
    /// Seed of each part's masks and whitening.
    pub(super) seeds: Vec<Seed>,
    /// Matrices of 16-bit words in row groups, part after part.
    pub(super) tiles: BlobSlice<i16>,
    pub(super) exceptions: Exceptions,
    pub(super) packing: Packing<Inspiring>,
    /// 32-bit packing matrices in row groups, pack after pack, with masks and last digits.
    pub(super) packs: PreparedPacks<Inspiring>,
    pub(super) copies: Copies,
}

/// Copies of the parts in the memory of a device. They are empty without a device.
#[derive(Clone, Default)]
pub(super) struct Copies {
    /// Words of each part.
    pub(super) words: Vec<DeviceCopy>,
    /// Words and packs together, or `None` if the device does not evaluate polynomials.
    pub(super) packs: Option<Arc<dyn HeldPacks>>,
}

impl PreparedParts {
    /// Prepares parts under their seeds. `shared` is the packing of another database; with `None`,
    /// the packing is expanded from the first seed.
    pub(crate) fn prepare(
        sections: Sections,
        of_parts: PartsLayout<'_>,
        seeds: Vec<Seed>,
        shared: Option<Packing<Inspiring>>,
        records: &dyn Records,
        scratch: &mut dyn Scratch,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let PartsLayout { params, layout } = of_parts;

        // An interrupted setup continues from the encodings that it kept.
        let found = Self::find_encoded(&sections, layout, seeds.len(), scratch, progress)?;
        let (tiles, exceptions) = match found {
            Some(encoded) => encoded,
            None => Self::encode_parts(&sections, layout, &seeds, records, scratch, progress)?,
        };

        let packing = match shared {
            Some(packing) => packing,
            None => params.packing(&seeds[0])?,
        };

        progress.stage("pack", layout.packs() as u64);
        let masks = pack_masks(of_parts, &seeds, &tiles, &exceptions, progress);
        let packs = PreparedPacks::prepare(
            sections.packs,
            &packing,
            layout.packs(),
            masks,
            scratch,
            progress,
        )?;

        let copies = Copies::default();
        Ok(Self {
            sections,
            layout: *layout,
            seeds,
            tiles,
            exceptions,
            packing,
            packs,
            copies,
        })
    }

    /// Encodes all parts in memory of `scratch`, and keeps matrices and exceptions there.
    fn encode_parts(
        sections: &Sections,
        layout: &Layout,
        seeds: &[Seed],
        records: &dyn Records,
        scratch: &mut dyn Scratch,
        progress: &dyn Progress,
    ) -> Result<(BlobSlice<i16>, Exceptions)> {
        let bytes = seeds.len() * layout.matrix_bytes() as usize;
        let mut tiles = scratch.zeroed(sections.database, bytes)?;
        let mut exceptions = Vec::with_capacity(seeds.len());

        for (i, (seed, tiles)) in seeds
            .iter()
            .zip(tiles.slice_mut().chunks_exact_mut(part_words(layout)))
            .enumerate()
        {
            let part = PartRecords {
                records,
                first: i as u64 * layout.shape.records(),
                shape: layout.shape,
            };
            let of_part = encode(layout, seed, &part, tiles, progress)?;

            let kept = AlignedBytes::copy_of(bytemuck::cast_slice(&of_part));
            scratch.keep(&part_name(sections, i), kept)?;
            exceptions.push(of_part);
        }

        // Kept last: where the matrices are found, so are the exceptions of every part.
        let tiles = scratch.keep(sections.database, tiles)?;
        let exceptions = Exceptions::new(&exceptions, sections.exceptions)?;
        Ok((BlobSlice::new(tiles, sections.database)?, exceptions))
    }

    /// Finds the matrices and exceptions that [`Self::encode_parts`] kept. Returns `None` if one of
    /// them is missing or unusable.
    fn find_encoded(
        sections: &Sections,
        layout: &Layout,
        parts: usize,
        scratch: &mut dyn Scratch,
        progress: &dyn Progress,
    ) -> Result<Option<(BlobSlice<i16>, Exceptions)>> {
        let bytes = parts * layout.matrix_bytes() as usize;
        let tiles = find_usable(scratch, sections.database, progress, |tiles| {
            // Matrices of another length are of other parameters.
            Error::check_length(sections.database, tiles.len(), bytes)?;
            BlobSlice::new(tiles, sections.database)
        })?;
        let Some(tiles) = tiles else {
            return Ok(None);
        };

        let mut exceptions = Vec::with_capacity(parts);
        for part in 0..parts {
            let name = part_name(sections, part);
            let of_part = find_usable(scratch, &name, progress, |kept| {
                let of_part = kept.slice_of(sections.exceptions)?;
                // Other machines may have made this part, and the storage may have damaged it.
                check_exceptions(layout, &(0..layout.columns), of_part)?;
                Ok(of_part.to_vec())
            })?;
            let Some(of_part) = of_part else {
                return Ok(None);
            };
            exceptions.push(of_part);
        }

        let exceptions = Exceptions::new(&exceptions, sections.exceptions)?;
        Ok(Some((tiles, exceptions)))
    }

    /// Writes all sections.
    pub(crate) fn save(&self, sink: &mut dyn SectionSink) -> Result<()> {
        let seeds: Vec<u8> = self.seeds.iter().flat_map(|seed| seed.0).collect();
        let counts = self
            .exceptions
            .counts
            .iter()
            .flat_map(|&count| (count as u64).to_le_bytes())
            .collect::<Vec<u8>>();

        sink.put(self.sections.header, &[&seeds, &counts])?;
        sink.put(self.sections.database, &[self.tiles.bytes()])?;
        sink.put(self.sections.exceptions, &[self.exceptions.all.bytes()])?;
        self.packs.save(sink)
    }

    /// Reads the sections of `parts` parts that [`Self::save`] wrote.
    pub(crate) fn load(
        sections: Sections,
        of_parts: PartsLayout<'_>,
        parts: usize,
        shared: Option<Packing<Inspiring>>,
        source: &dyn SectionSource,
    ) -> Result<Self> {
        let PartsLayout { params, layout } = of_parts;

        let (seeds, counts) = read_header(&sections, parts, source)?;
        let tiles = sized(
            source,
            sections.database,
            parts * layout.matrix_bytes() as usize,
        )?;
        let exceptions = load_exceptions(&sections, layout, counts, source)?;

        let packing = match shared {
            Some(packing) => packing,
            None => params.packing(&seeds[0])?,
        };
        let all = layout.packs();
        let packs = PreparedPacks::load(sections.packs, &packing, (0..all, all), source)?;

        let copies = Copies::default();
        Ok(Self {
            sections,
            layout: *layout,
            seeds,
            tiles,
            exceptions,
            packing,
            packs,
            copies,
        })
    }

    /// Reads a range of packs of the only part from the sections that [`Self::save`] wrote.
    pub(super) fn load_packs(
        sections: Sections,
        params: &Params,
        range: Range<usize>,
        source: &dyn SectionSource,
    ) -> Result<Self> {
        let layout = params.layout();
        let (seeds, counts) = read_header(&sections, 1, source)?;

        let matrix_bytes = layout.matrix_bytes() as usize;
        let packs = layout.packs();
        let bytes = range.start * (matrix_bytes / packs)..range.end * (matrix_bytes / packs);
        let tiles = ranged(source, sections.database, bytes, matrix_bytes)?;

        // The matrix here starts at the first row of these packs, and so do its exceptions.
        let [first, end] = [range.start, range.end].map(|pack| (pack * layout.degree) as u32);
        let all = load_exceptions(&sections, layout, counts, source)?;
        let here = all
            .of_part(0)
            .iter()
            .filter(|[row, _]| (first..end).contains(row))
            .map(|[row, column]| [row - first, *column])
            .collect();
        let exceptions = Exceptions::new(&[here], sections.exceptions)?;

        let packing = params.packing(&seeds[0])?;
        let packs = PreparedPacks::load(sections.packs, &packing, (range, packs), source)?;

        let copies = Copies::default();
        Ok(Self {
            sections,
            layout: *layout,
            seeds,
            tiles,
            exceptions,
            packing,
            packs,
            copies,
        })
    }

    /// Returns the same parts, with copies of the matrices on a device.
    pub(super) fn on_device(&self, params: &Params, device: &dyn Device) -> Result<Self> {
        if let Some(evaluated) = self.with_packs_on(params, device)? {
            return Ok(evaluated);
        }

        let words = (0..self.seeds.len())
            .map(|part| self.hold_words(part, device))
            .collect::<Result<_>>()?;
        let packs = self.packs.on_device(&self.packing, device)?;
        Ok(Self {
            copies: Copies { words, packs: None },
            packs,
            ..self.clone()
        })
    }

    /// Copies the words of a part to a device.
    fn hold_words(&self, part: usize, device: &dyn Device) -> Result<DeviceCopy> {
        let tiles = bytemuck::cast_slice(self.tiles_of(part));
        DeviceCopy::on(device, Words::Signed16, self.layout.columns, tiles)
    }

    /// Returns the shapes of the matrices of `parts` parts that a device holds.
    pub(super) fn device_matrices(of_parts: PartsLayout<'_>, parts: usize) -> Vec<TileShape> {
        let PartsLayout { params, layout } = of_parts;
        let degree = params.layout().degree;

        let selected = TileShape {
            words: Words::Signed16,
            rows: layout.rows(),
            columns: layout.columns,
        };
        let packing = TileShape {
            words: Words::Signed32,
            rows: layout.packs() * degree,
            columns: params.literal().key_switch.levels * degree,
        };

        let mut all = vec![selected; parts];
        all.push(packing);
        all
    }

    /// Returns the part of a record, and the record's index in the part.
    pub(crate) fn place(&self, index: u64) -> (usize, u64) {
        let records = self.layout.shape.records();
        ((index / records) as usize, index % records)
    }

    /// Returns the words of one part.
    fn tiles_of(&self, part: usize) -> &[i16] {
        let words = self.tiles.len() / self.seeds.len();
        &self.tiles[part * words..][..words]
    }

    /// Returns the exceptions of a part in a range of columns.
    fn exceptions_in(&self, part: usize, columns: RangeInclusive<u32>) -> Vec<[u32; 2]> {
        self.exceptions
            .of_part(part)
            .iter()
            .filter(|[_, column]| columns.contains(column))
            .copied()
            .collect()
    }

    /// Returns a reader that decodes the columns of a part. `exceptions` must include all
    /// exceptions in the decoded columns.
    pub(super) fn columns(&self, part: usize, exceptions: &[[u32; 2]]) -> Columns<'_> {
        Columns::new(
            &self.layout,
            &self.seeds[part],
            self.tiles_of(part),
            exceptions,
        )
    }

    /// Reads records of all parts, as [`Records::read_packed`] does. `shape` is the shape of all
    /// parts together.
    pub(crate) fn read_packed(
        &self,
        shape: Shape,
        first: u64,
        count: u64,
        out: &mut [u8],
    ) -> Result<()> {
        check_read(&shape, first, count, out.len())?;

        let mut next = first;
        let mut out = out;
        while next < first + count {
            let (part, within) = self.place(next);
            let run = (self.layout.shape.records() - within).min(first + count - next);

            // Parts end at whole bytes.
            let (here, rest) = out.split_at_mut((run * shape.record_bits()).div_ceil(8) as usize);

            // A database is often read column by column: sort the exceptions of these columns only.
            let [from, to] = [within, within + run].map(|index| self.layout.locate(index).column);
            let exceptions = self.exceptions_in(part, from..=to);
            let columns = self.columns(part, &exceptions);

            let points = self.layout.points as u64;
            read_columns(&self.layout.unit_layout, points, (within, run), here, |i| {
                columns.decode(i)
            })?;

            next += run;
            out = rest;
        }
        Ok(())
    }

    /// Computes line 7 of Algorithm 9, b′ = D′·b: the bodies of all packs modulo q for each query,
    /// in one pass over the database. Selectors hold the entries of all parts, part after part.
    pub(crate) fn select(&self, params: &Params, selectors: &[&[u64]]) -> Vec<Bodies> {
        let bits = params.literal().query_bits;

        // For each part, for each query, a sum for each row.
        let mut sums: Vec<Vec<Vec<u64>>> = parallel::map(0..self.seeds.len(), |part| {
            self.select_in(part, selectors, bits)
        });
        // The rows of a single part are in the order of packs already.
        let joined = match &mut sums[..] {
            [one] => std::mem::take(one),
            _ => (0..selectors.len())
                .map(|query| self.interleave(&sums, query))
                .collect(),
        };

        let ring = params.rlwe().ring();
        let degree = params.layout().degree;
        let packs = self.packs.packs.len();
        joined
            .iter()
            .map(|sums| Bodies::from_sums(ring, degree, packs, sums, bits))
            .collect()
    }

    /// Computes the sums of one part's rows for each query. Selectors hold the entries of all
    /// parts.
    fn select_in(&self, part: usize, selectors: &[&[u64]], bits: u32) -> Vec<Vec<u64>> {
        let columns = self.layout.columns;
        let entries = part * columns..(part + 1) * columns;
        let selectors: Vec<&[u64]> = selectors.iter().map(|all| &all[entries.clone()]).collect();

        let matrix = WordMatrix::new(columns, self.tiles_of(part));
        let matrix = matrix.with_exceptions(self.exceptions.of_part(part));
        let held = self.copies.words.get(part);
        match held.and_then(|held| held.products(&selectors, bits)) {
            Some(products) => matrix.select_from(products, &selectors, bits),
            None => matrix.select(&selectors, bits),
        }
    }

    /// Returns the sums of one query in the order of packs. Each pack has the rows of all parts.
    fn interleave(&self, sums: &[Vec<Vec<u64>>], query: usize) -> Vec<u64> {
        let rows = self.layout.degree;
        let mut joined = Vec::with_capacity(self.layout.packs() * sums.len() * rows);
        for pack in 0..self.layout.packs() {
            for of_part in sums {
                joined.extend_from_slice(&of_part[query][pack * rows..][..rows]);
            }
        }
        joined
    }

    /// Expands the packing key in a query. A key of another packing is refused.
    pub(super) fn packing_key(&self, params: &Params, words: &[u64]) -> Result<PackingKey> {
        let bits = params.literal().key_bits;
        self.sections
            .packs
            .online_key(&self.packing, &[bits.y_g, bits.y_h], words)
    }

    /// Packs the selected bodies of each query, in one pass over the packing matrices.
    pub(super) fn pack(&self, bodies: Vec<Bodies>, keys: &[&PackingKey]) -> Result<Vec<Bodies>> {
        self.packs.pack_on_device(&self.packing, bodies, keys)
    }
}

/// Reads the seeds of all parts, and the number of exceptions of each part.
pub(super) fn read_header(
    sections: &Sections,
    parts: usize,
    source: &dyn SectionSource,
) -> Result<(Vec<Seed>, Vec<usize>)> {
    let header = source.get(sections.header)?;
    let mut reader = Reader::new(sections.header, &header);

    let seeds = (0..parts)
        .map(|_| reader.array().map(Seed))
        .collect::<Result<Vec<_>>>()?;
    let mut counts = Vec::with_capacity(parts);
    for _ in 0..parts {
        // A count beyond memory stays too large, and the check of the section's length refuses it.
        counts.push(usize::try_from(reader.u64()?).unwrap_or(usize::MAX));
    }

    reader.finish()?;
    Ok((seeds, counts))
}

/// Reads the exceptions of all parts and checks them.
fn load_exceptions(
    sections: &Sections,
    layout: &Layout,
    counts: Vec<usize>,
    source: &dyn SectionSource,
) -> Result<Exceptions> {
    // Counts come from the snapshot: a wrapped sum could equal the length of a shorter section.
    let count = counts
        .iter()
        .fold(0usize, |all, count| all.saturating_add(*count));
    let bytes = count.saturating_mul(size_of::<[u32; 2]>());
    let all = sized(source, sections.exceptions, bytes)?;

    let exceptions = Exceptions { all, counts };
    for part in 0..exceptions.counts.len() {
        check_exceptions(layout, &(0..layout.columns), exceptions.of_part(part))?;
    }
    Ok(exceptions)
}

/// Returns the name of the kept exceptions of one part.
pub(super) fn part_name(sections: &Sections, part: usize) -> String {
    format!("{}-{part}", sections.exceptions)
}

/// Returns the number of words in one part's matrix.
pub(super) fn part_words(layout: &Layout) -> usize {
    layout.matrix_bytes() as usize / size_of::<i16>()
}

/// Computes lines 7 and 8 of Algorithm 9 on public values. Returns a function that gives the masks
/// of a pack's LWE encryptions, which are the rows of all parts.
pub(super) fn pack_masks<'a>(
    of_parts: PartsLayout<'a>,
    seeds: &[Seed],
    tiles: &'a [i16],
    exceptions: &'a Exceptions,
    progress: &'a dyn Progress,
) -> impl Fn(usize) -> LweMasks + Sync + use<'a> {
    let PartsLayout { params, layout } = of_parts;
    let mut parts = Vec::with_capacity(seeds.len());
    for (i, (seed, tiles)) in seeds
        .iter()
        .zip(tiles.chunks_exact(part_words(layout)))
        .enumerate()
    {
        let matrix = WordMatrix::new(layout.columns, tiles).with_exceptions(exceptions.of_part(i));
        let masks = params.selector().masks(seed, params.layout().degree);

        // A pack counts once, not for each part.
        let progress = if i == 0 { progress } else { &NoProgress };
        parts.push(RowMasks {
            ring: params.rlwe().ring(),
            matrix: matrix.into(),
            masks,
            rows: layout.degree,
            progress,
        });
    }

    // In the order of `interleave`: masks and bodies of a pack are of the same rows.
    move |pack| match &parts[..] {
        [one] => one.of_pack(pack),
        parts => LweMasks::joined(parts[0].ring, parts.iter().map(|part| part.of_pack(pack))),
    }
}

/// The records of one part.
struct PartRecords<'a> {
    records: &'a dyn Records,
    first: u64,
    shape: Shape,
}

impl Records for PartRecords<'_> {
    fn shape(&self) -> Shape {
        self.shape
    }

    fn read_packed(&self, first: u64, count: u64, out: &mut [u8]) -> Result<()> {
        check_read(&self.shape, first, count, out.len())?;
        self.records.read_packed(self.first + first, count, out)
    }
}

/// Checks that exceptions are in these columns of the matrix, each once and sorted: [`WordMatrix`]
/// relies on it.
pub(super) fn check_exceptions(
    layout: &Layout,
    columns: &Range<usize>,
    exceptions: &[[u32; 2]],
) -> Result<()> {
    let what = "the list of exceptions";
    let rows = layout.rows();

    let outside = exceptions
        .iter()
        .find(|[row, column]| *row as usize >= rows || !columns.contains(&(*column as usize)));
    if let Some([row, column]) = outside {
        let expected = format!(
            "{rows} rows, columns from {} to below {}",
            columns.start, columns.end
        );
        return Err(Error::malformed(
            what,
            format!("row {row}, column {column}"),
            expected,
        ));
    }

    if !exceptions.is_sorted_by(|a, b| a < b) {
        return Err(Error::malformed(
            what,
            "places out of order",
            "each place once, in order",
        ));
    }
    Ok(())
}
