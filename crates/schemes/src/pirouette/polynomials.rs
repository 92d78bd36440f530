//! Records as polynomials, and phase 1 over them.
//!
//! For each column and query, phase 1 is the sum over rows of polynomial times selector. A
//! polynomial of the database is transformed once for all queries of a batch.

use std::ops::Range;

use papir_core::sections::{SectionSink, SectionSource};
use papir_core::{AlignedBytes, Blob, Change, Error, Progress, Records, Result, parallel};
use papir_kernels::wide;
use papir_kernels::wide::packed::{pack, unpack};
use papir_lattice::wide::{Rlwe, Rows};
use papir_ring::prg::Seed;
use papir_ring::wide::{Poly, Ring};
use papir_ring::{Aligned, CyclotomicRing, Values};

use super::chain::DEGREE;
use super::common::{Common, Form};
use super::layout::{Layout, TRANSFORMED};
use super::whitening::whiten;
use crate::shared::messages::{PublicSeed, load_seed};
use crate::shared::stored_records::read_each;

/// Number of rows that are transformed together. They and their selectors stay in the second-level
/// cache.
const BLOCK: usize = 16;

/// Whitened records as polynomials: planes of bytes, one byte for each coefficient. A clone shares
/// them.
#[derive(Clone)]
pub struct Polynomials {
    /// Seed of the whitening stream.
    public: PublicSeed,
    bytes: Blob,
    /// Transforms, column by column in each plane, or `None` in the compact form.
    values: Option<Blob>,
}

/// Names of the sections of a snapshot: seed, bytes, and transforms in the fast form.
#[derive(Clone, Copy)]
pub struct Sections {
    /// Section of the stream's seed.
    pub seed: &'static str,
    /// Section of the bytes.
    pub bytes: &'static str,
    /// Section of the transforms.
    pub values: &'static str,
}

impl Polynomials {
    /// Encodes records, whitened by a seed's stream.
    pub(crate) fn encode(
        common: &Common,
        seed: Seed,
        records: &dyn Records,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let layout = &common.layout;
        let mut bytes = AlignedBytes::zeroed(layout.bytes() as usize);
        let plane = layout.polys() * DEGREE;

        progress.stage("encode", layout.polys() as u64);
        for index in 0..layout.polys() {
            let mut items = layout.items(records, index)?;
            whiten(&seed, index as u64, &mut items);
            let polys = layout.spread(&items);

            // Plane by plane, since phase 1 reads all polynomials of one plane.
            for (p, poly) in polys.chunks_exact(DEGREE).enumerate() {
                bytes.bytes_mut()[p * plane + index * DEGREE..][..DEGREE].copy_from_slice(poly);
            }
            progress.advance(1);
        }

        Self::of(common, PublicSeed { seed }, bytes.into())
    }

    /// Returns the seed of the whitening stream.
    pub(crate) fn public(&self) -> &PublicSeed {
        &self.public
    }

    /// Reads the sections that [`Polynomials::save`] wrote. Fails if their lengths do not fit the
    /// layout.
    pub(crate) fn load(
        common: &Common,
        source: &dyn SectionSource,
        names: Sections,
    ) -> Result<Self> {
        let layout = &common.layout;
        let bytes = read_section(source, names.bytes, layout.bytes())?;
        let values = match common.form {
            Form::Compact => None,
            Form::Fast => {
                let length = layout.transformed_bytes();
                Some(read_section(source, names.values, length)?)
            }
        };

        Ok(Self {
            public: PublicSeed {
                seed: load_seed(source, names.seed)?,
            },
            bytes,
            values,
        })
    }

    /// Writes the seed and the bytes, and in the fast form the transforms.
    pub(crate) fn save(&self, sink: &mut dyn SectionSink, names: Sections) -> Result<()> {
        sink.put(names.seed, &[&self.public.seed.0])?;
        sink.put(names.bytes, &[&self.bytes])?;
        if let Some(values) = &self.values {
            sink.put(names.values, &[values])?;
        }

        Ok(())
    }

    fn of(common: &Common, public: PublicSeed, bytes: Blob) -> Result<Self> {
        let values = match common.form {
            Form::Compact => None,
            Form::Fast => Some(transforms(common, &bytes).into()),
        };

        Ok(Self {
            public,
            bytes,
            values,
        })
    }

    /// Applies changes in order under the same stream. The result has the same bytes as an encoding
    /// of the changed records.
    pub(crate) fn update(
        &self,
        common: &Common,
        changes: &[Change],
        progress: &dyn Progress,
    ) -> Result<Self> {
        let layout = &common.layout;
        let mut bytes = AlignedBytes::copy_of(&self.bytes);

        progress.stage("change records", changes.len() as u64);
        for change in changes {
            let (number, _) = layout.unit_layout.locate(change.index);
            let mut item = self.item(layout, bytes.bytes_mut(), number);
            layout.unit_layout.set(&mut item, change)?;
            // Items have consecutive parts of the stream, so one is whitened without its
            // neighbours.
            whiten(&self.public.seed, number, &mut item);
            layout.set_item(bytes.bytes_mut(), number, &item);
            progress.advance(1);
        }

        Self::of(common, self.public, bytes.into())
    }

    /// Reads records, as [`papir_core::scheme::Server::read_packed`] does. `range` is the first
    /// index and the number of records.
    pub(crate) fn read_packed(
        &self,
        layout: &Layout,
        range: (u64, u64),
        out: &mut [u8],
    ) -> Result<()> {
        read_each(&layout.unit_layout.shape, range, out, |index| {
            let (number, slot) = layout.unit_layout.locate(index);
            let item = self.item(layout, &self.bytes, number);
            Ok(Some(layout.unit_layout.select(&item, slot)))
        })
    }

    /// Returns an item's records, without the stream.
    fn item(&self, layout: &Layout, bytes: &[u8], number: u64) -> Vec<u8> {
        let mut item = layout.item(bytes, number);
        whiten(&self.public.seed, number, &mut item);
        item
    }

    /// Returns a plane of `polys` polynomials.
    pub(super) fn plane(&self, plane: usize, polys: usize) -> Plane<'_> {
        match &self.values {
            Some(values) => {
                Plane::Values(&values[plane * polys * TRANSFORMED..][..polys * TRANSFORMED])
            }
            None => Plane::Bytes(&self.bytes[plane * polys * DEGREE..][..polys * DEGREE]),
        }
    }
}

/// Reads a section of `length` bytes.
fn read_section(source: &dyn SectionSource, name: &str, length: u64) -> Result<Blob> {
    let blob = source.get(name)?;
    Error::check_length("the polynomials of a database", blob.len(), length as usize)?;
    Ok(blob)
}

/// Transforms all polynomials, column by column in each plane.
fn transforms(common: &Common, bytes: &[u8]) -> AlignedBytes {
    let ring = common.chain.ring();
    let rows = common.layout.rows;
    let columns = common.layout.columns();
    let mut values = AlignedBytes::zeroed(common.layout.transformed_bytes() as usize);

    let places = values.bytes_mut().chunks_exact_mut(TRANSFORMED).enumerate();
    parallel::for_each(places, |(place, out)| {
        // The rows of a column are adjacent, as phase 1 adds them up.
        let column = place / rows;
        let row = place % rows;
        let plane = column / columns;
        let column = column % columns;
        let poly = plane * rows * columns + row * columns + column;

        let mut words = Aligned::zeroed(DEGREE);
        wide::from_bytes_lazy(
            ring.backend(),
            &mut words,
            &bytes[poly * DEGREE..][..DEGREE],
            ring.prime(),
        );
        ring.table().forward(ring.backend(), &mut words);
        pack(ring.backend(), out, &words);
    });

    values
}

/// The polynomials of one plane.
#[derive(Clone, Copy)]
pub(super) enum Plane<'a> {
    /// Bytes of the polynomials, row by row, d bytes each.
    Bytes(&'a [u8]),
    /// Transforms of the polynomials, column by column, in packed values.
    Values(&'a [u8]),
}

impl Plane<'_> {
    /// Writes the transform of the polynomial at a row and column. The plane has `rows` rows and
    /// `columns` columns.
    fn transform(
        &self,
        ring: &Ring,
        [row, column]: [usize; 2],
        [rows, columns]: [usize; 2],
        out: &mut [u64],
    ) {
        match self {
            Self::Bytes(bytes) => {
                let bytes = &bytes[(row * columns + column) * DEGREE..][..DEGREE];
                wide::from_bytes_lazy(ring.backend(), out, bytes, ring.prime());
                ring.table().forward_lazy(ring.backend(), out);
            }
            Self::Values(values) => unpack(
                ring.backend(),
                out,
                &values[(column * rows + row) * TRANSFORMED..][..TRANSFORMED],
            ),
        }
    }
}

/// Computes phase 1. Returns, for each query, the encryptions of the columns in `range`: the sums
/// of selectors times the plane's polynomials. The plane has `columns` columns.
pub(super) fn columns(
    ring: &Ring,
    plane: Plane<'_>,
    columns: usize,
    range: Range<usize>,
    selectors: &[&Rows],
) -> Vec<Vec<Rlwe>> {
    let rows = selectors.first().map_or(0, |selectors| selectors.count());
    let zero = [ring.zero::<Values>(), ring.zero::<Values>()];
    let mut sums = vec![vec![zero; range.len()]; selectors.len()];
    let mut block = Aligned::zeroed(BLOCK * DEGREE);
    let mut product = [ring.zero(), ring.zero()];

    // The columns of a block of rows follow each other, so that its selectors stay in the cache.
    for first in (0..rows).step_by(BLOCK) {
        let count = BLOCK.min(rows - first);
        for (place, column) in range.clone().enumerate() {
            let polys = &mut block[..count * DEGREE];
            for (row, out) in polys.chunks_exact_mut(DEGREE).enumerate() {
                plane.transform(ring, [first + row, column], [rows, columns], out);
            }

            for (sums, selectors) in sums.iter_mut().zip(selectors) {
                let sum = &mut sums[place];
                add_products(
                    ring,
                    polys,
                    first..first + count,
                    selectors,
                    sum,
                    &mut product,
                );
            }
        }
    }

    sums.into_iter()
        .map(|sums| sums.into_iter().map(|sum| encryption(ring, sum)).collect())
        .collect()
}

/// Returns an encryption from its mask and body in values.
fn encryption(ring: &Ring, parts: [Poly<Values>; 2]) -> Rlwe {
    let [a, b] = parts;
    Rlwe {
        a: ring.inverse(a),
        b: ring.inverse(b),
    }
}

/// Adds Σ polyᵢ·selector_{rows.start + i} to `sum`.
fn add_products(
    ring: &Ring,
    polys: &[u64],
    rows: Range<usize>,
    selectors: &Rows,
    sum: &mut [Poly<Values>; 2],
    product: &mut [Poly<Values>; 2],
) {
    let selectors = selectors
        .residues(ring, 0)
        .map(|part| &part[rows.start * DEGREE..rows.end * DEGREE]);

    let [a, b] = product;
    wide::dot_pair(
        ring.backend(),
        [a.residues_mut(), b.residues_mut()],
        polys,
        selectors,
        ring.prime(),
    );

    sum.iter_mut()
        .zip(product)
        .for_each(|(sum, product)| ring.add_assign(sum, product));
}
