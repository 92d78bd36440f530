//! Phases 1 to 3 for a batch of selections over a database of polynomials.

use papir_core::sections::{SectionSink, SectionSource};
use papir_core::{AlignedBytes, Blob, BlobSlice, Change, Error, Progress, Records, Result};
use papir_lattice::gadget::Gadget;
use papir_lattice::rlwe::Rlwe;
use papir_lattice::rows::Rows;
use papir_ring::Ring;
use rayon::prelude::*;

use super::chain::DEGREE;
use super::common::Form;
use super::first::{self, Plane};
use super::fold::Gates;
use super::layout::Layout;
use crate::shared::stored_records::read_each;

/// log₂ of the columns folded together. They stay in the last-level cache.
const LOG2_GROUP: u32 = 8;
/// Columns of one task. Their sums stay in the second-level cache.
const SHARE: usize = 16;

/// Bytes of a transform for each byte of a polynomial: two residues of 32 bits.
pub(crate) const FAST: u64 = 8;

/// A selection of one item.
pub struct Selection {
    /// RGSW encryptions of the lowest bits: ν₃ of the slot, ν₂ of the column.
    pub gates: Vec<Rows>,
    /// RLWE encryptions of q/p where the row is the item's, else of zero: one a row.
    pub selectors: Rows,
}

/// Records as polynomials: planes of bytes, one byte for each coefficient. A clone shares them.
#[derive(Clone)]
pub struct Polynomials {
    layout: Layout,
    form: Form,
    bytes: Blob,
    /// Transforms in the fast form, column by column in each plane.
    values: Option<BlobSlice<u32>>,
}

/// Names of the sections of a snapshot: bytes, and transforms in the fast form.
#[derive(Clone, Copy)]
pub struct Sections {
    /// Section of the bytes.
    pub bytes: &'static str,
    /// Section of the transforms.
    pub values: &'static str,
}

impl Polynomials {
    /// Encodes records.
    ///
    /// # Errors
    /// Those of the source.
    pub(crate) fn encode(
        (layout, form, ring): (&Layout, Form, &Ring),
        records: &dyn Records,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let mut bytes = AlignedBytes::zeroed(layout.bytes() as usize);
        let plane = layout.polys() * DEGREE;
        progress.stage("encode", layout.polys() as u64);
        for index in 0..layout.polys() {
            let polys = layout.encode(records, index)?;
            for (p, poly) in polys.chunks_exact(DEGREE).enumerate() {
                bytes.bytes_mut()[p * plane + index * DEGREE..][..DEGREE].copy_from_slice(poly);
            }
            progress.advance(1);
        }
        Self::of((layout, form, ring), Blob::from(bytes))
    }

    /// Reads what [`Polynomials::save`] wrote.
    ///
    /// # Errors
    /// Those of the source, and [`Error::Length`] unless the lengths are the layout's.
    pub(crate) fn load(
        (layout, form): (&Layout, Form),
        source: &dyn SectionSource,
        names: Sections,
    ) -> Result<Self> {
        let get = |name, length: u64| {
            let blob = source.get(name)?;
            Error::check_length("the polynomials of a database", blob.len(), length as usize)?;
            Ok::<_, Error>(blob)
        };
        let bytes = get(names.bytes, layout.bytes())?;
        let values = match form {
            Form::Compact => None,
            Form::Fast => Some(BlobSlice::new(get(names.values, FAST * layout.bytes())?, names.values)?),
        };
        Ok(Self { layout: layout.clone(), form, bytes, values })
    }

    /// Writes the bytes, and the transforms if there are any.
    ///
    /// # Errors
    /// Those of the sink.
    pub(crate) fn save(&self, sink: &mut dyn SectionSink, names: Sections) -> Result<()> {
        sink.put(names.bytes, &[&self.bytes])?;
        self.values.as_ref().map_or(Ok(()), |values| sink.put(names.values, &[values.bytes()]))
    }

    fn of((layout, form, ring): (&Layout, Form, &Ring), bytes: Blob) -> Result<Self> {
        let values = match form {
            Form::Compact => None,
            Form::Fast => Some(BlobSlice::new(transforms(layout, ring, &bytes).into(), "transforms")?),
        };
        Ok(Self { layout: layout.clone(), form, bytes, values })
    }

    /// Applies changes in order; equal to encoding the changed records, byte for byte.
    ///
    /// # Errors
    /// None for changes that fit the shape.
    pub(crate) fn update(&self, ring: &Ring, changes: &[Change], progress: &dyn Progress) -> Result<Self> {
        let mut bytes = AlignedBytes::copy_of(&self.bytes);
        progress.stage("change records", changes.len() as u64);
        for change in changes {
            self.layout.set(bytes.bytes_mut(), change)?;
            progress.advance(1);
        }
        Self::of((&self.layout, self.form, ring), Blob::from(bytes))
    }

    /// Reads records, as [`papir_core::scheme::Server::read_packed`].
    ///
    /// # Errors
    /// As there.
    pub(crate) fn read_packed(&self, (first, count): (u64, u64), out: &mut [u8]) -> Result<()> {
        let bundle = &self.layout.bundle;
        read_each(&bundle.shape, (first, count), out, |index| {
            let (item, slot) = bundle.locate(index);
            Ok(Some(bundle.select(&self.layout.item(&self.bytes, item), slot)))
        })
    }

    /// Plane `plane`.
    fn plane(&self, plane: usize) -> Plane<'_> {
        let words = self.layout.polys() * DEGREE;
        match &self.values {
            Some(values) => Plane::Values(&values[plane * 2 * words..][..2 * words]),
            None => Plane::Bytes(&self.bytes[plane * words..][..words]),
        }
    }
}

/// Transforms all polynomials, column by column in each plane.
fn transforms(layout: &Layout, ring: &Ring, bytes: &[u8]) -> AlignedBytes {
    let (rows, columns) = (layout.rows, layout.columns());
    let mut values = AlignedBytes::zeroed(FAST as usize * bytes.len());
    values.slice_mut::<u32>().par_chunks_exact_mut(2 * rows * DEGREE).enumerate().for_each(|(place, out)| {
        let (plane, column) = (place / columns, place % columns);
        let (first, second) = out.split_at_mut(rows * DEGREE);
        let outs = first.chunks_exact_mut(DEGREE).zip(second.chunks_exact_mut(DEGREE));
        for (row, (first, second)) in outs.enumerate() {
            let poly = plane * rows * columns + row * columns + column;
            let bytes = &bytes[poly * DEGREE..][..DEGREE];
            let signed: Vec<i32> = bytes.iter().map(|&byte| i32::from(byte as i8)).collect();
            let poly = ring.forward(ring.from_signed(&signed));
            let [residues1, residues2] = poly.parts();
            first.copy_from_slice(residues1);
            second.copy_from_slice(residues2);
        }
    });
    values
}

/// Phases 1 to 3 in one ring under one gadget for gates.
pub struct Retrieval<'a> {
    pub(crate) polynomials: &'a Polynomials,
    pub(crate) ring: &'a Ring,
    pub(crate) gate: &'a Gadget,
}

impl Retrieval<'_> {
    fn layout(&self) -> &Layout {
        &self.polynomials.layout
    }

    /// Groups of columns in all planes. Phases 1 and 2 process one after another.
    pub fn groups(&self) -> usize {
        self.layout().planes << self.log2_groups()
    }

    fn log2_groups(&self) -> u32 {
        self.layout().log2_columns.saturating_sub(LOG2_GROUP)
    }

    /// log₂ of the columns of a group.
    fn log2_group(&self) -> u32 {
        self.layout().log2_columns.min(LOG2_GROUP)
    }

    /// Phase 1: returns, for each query, the encryptions of a group's columns.
    pub fn first(&self, group: usize, selections: &[Selection]) -> Vec<Vec<Rlwe>> {
        let (layout, ring) = (self.layout(), self.ring);
        let selectors: Vec<&Rows> = selections.iter().map(|selection| &selection.selectors).collect();
        let (plane, group) = (group >> self.log2_groups(), group & ((1 << self.log2_groups()) - 1));
        let (start, count) = (group << self.log2_group(), 1 << self.log2_group());
        let part = |offset: usize| {
            let first = start + offset * SHARE;
            let range = first..(first + SHARE).min(start + count);
            first::columns(ring, self.polynomials.plane(plane), (layout.columns(), range), &selectors)
        };
        let parts: Vec<Vec<Vec<Rlwe>>> =
            (0..usize::div_ceil(count, SHARE)).into_par_iter().map(part).collect();
        let mut columns: Vec<Vec<Rlwe>> = selections.iter().map(|_| Vec::with_capacity(count)).collect();
        for part in parts {
            columns.iter_mut().zip(part).for_each(|(columns, mut part)| columns.append(&mut part));
        }
        columns
    }

    /// Phase 2: returns, for each query, the selected column of a group.
    pub fn fold(&self, selections: &[Selection], columns: Vec<Vec<Rlwe>>) -> Vec<Rlwe> {
        let fold = |(selection, columns): (&Selection, Vec<Rlwe>)| {
            let gates = self.column_gates(selection);
            self.gates().fold_in_parallel(gates, columns, SHARE)
        };
        selections.iter().zip(columns).map(fold).collect()
    }

    /// The rest of phase 2 over the groups of each plane, and phase 3. Returns the encryptions of
    /// the item's planes in the same ring: signed bytes times q/p at multiples of d/span.
    pub fn rotate_planes(&self, selection: &Selection, groups: Vec<Rlwe>) -> Vec<Rlwe> {
        let planes = groups.chunks(1 << self.log2_groups());
        planes.map(|groups| self.rotate(selection, groups.to_vec())).collect()
    }

    fn rotate(&self, selection: &Selection, groups: Vec<Rlwe>) -> Rlwe {
        let gates = &self.column_gates(selection)[self.log2_group() as usize..];
        let mut rlwe = self.gates().fold_in_parallel(gates, groups, SHARE);
        let slots = self.layout().log2_slots as usize;
        self.gates().rotate(&selection.gates[..slots], &mut rlwe);
        rlwe
    }

    /// Gates of the column's bits.
    fn column_gates<'a>(&self, selection: &'a Selection) -> &'a [Rows] {
        &selection.gates[self.layout().log2_slots as usize..]
    }

    fn gates(&self) -> Gates<'_> {
        Gates::new(self.ring, self.gate)
    }

    /// Runs all phases: returns, for each selection, the encryptions of its item's planes.
    pub fn run(&self, selections: &[Selection], progress: &dyn Progress) -> Vec<Vec<Rlwe>> {
        // For each query, the groups of all planes.
        let mut groups: Vec<Vec<Rlwe>> = selections.iter().map(|_| Vec::new()).collect();
        for group in 0..self.groups() {
            progress.stage("first", 1);
            let columns = self.first(group, selections);
            progress.stage("fold", 1);
            let folded = self.fold(selections, columns);
            groups.iter_mut().zip(folded).for_each(|(groups, rlwe)| groups.push(rlwe));
        }
        progress.stage("rotate", selections.len() as u64);
        let planes = selections.iter().zip(groups);
        planes.map(|(selection, groups)| self.rotate_planes(selection, groups)).collect()
    }
}
