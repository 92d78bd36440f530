//! The server: records as polynomials, and Answer.

use papir_core::scheme::{Parameters, Server, Session, UpdateEstimate};
use papir_core::sections::{SectionSink, SectionSource};
use papir_core::{AlignedBytes, Blob, Change, Error, Progress, Records, Result};
use papir_lattice::rlwe::Rlwe;
use papir_lattice::rows::Rows;
use rand_core::CryptoRng;
use rayon::prelude::*;

use super::chain::DEGREE;
use super::first::{self, Plane};
use super::fold::{Gates, respond};
use super::keys::Keys;
use super::params::{Form, PirouetteParams};
use super::phase0::{Expansion, Selection};
use super::update;
use super::wire::{PirouetteAnswer, PirouetteQuery, Public};
use super::{Lengths, Pirouette};
use crate::readback::read_each;
use crate::shape_io::check_source;

const DATABASE: &str = "pirouette/database";
/// log₂ of the columns that are folded before others are begun: they stay in the last cache.
const LOG2_GROUP: u32 = 8;
/// Columns that a thread takes at a time: their sums stay in the second cache.
const SHARE: usize = 16;

/// A prepared database. A clone shares it.
#[derive(Clone)]
pub struct PirouetteServer<T> {
    pub(super) params: PirouetteParams<T>,
    /// Planes of polynomials of bytes.
    pub(super) database: Blob,
    /// Their transforms, in the fast form.
    values: Option<std::sync::Arc<Vec<u32>>>,
}

impl<T: Lengths> PirouetteServer<T> {
    /// Over the database's bytes.
    pub(super) fn with_database(params: PirouetteParams<T>, database: Blob) -> Self {
        let values = (params.literal().form == Form::Fast).then(|| transforms(&params, &database).into());
        Self { params, database, values }
    }

    /// Plane `plane`.
    fn plane(&self, plane: usize) -> Plane<'_> {
        let words = self.params.layout.polys() * DEGREE;
        match &self.values {
            Some(values) => Plane::Values(&values[plane * 2 * words..][..2 * words]),
            None => Plane::Bytes(&self.database[plane * words..][..words]),
        }
    }

    /// Phase 0 under a client's keys.
    ///
    /// # Errors
    /// [`Error::Malformed`] for keys that are none.
    pub fn expansion<'a>(&'a self, keys: &'a Keys) -> Result<Expansion<'a, T>> {
        Ok(Expansion::new(&self.params, keys.evaluation(&self.params.chain)?))
    }

    /// Groups of columns of all planes, plane by plane: what phases 1 and 2 go through one after the other.
    pub fn groups(&self) -> usize {
        self.params.layout.planes << self.log2_groups()
    }

    fn log2_groups(&self) -> u32 {
        self.params.layout.log2_columns.saturating_sub(LOG2_GROUP)
    }

    /// log₂ of the columns of a group.
    fn log2_group(&self) -> u32 {
        self.params.layout.log2_columns.min(LOG2_GROUP)
    }

    /// Phase 1: for each query the encryptions of a group's columns.
    pub fn first(&self, group: usize, selections: &[Selection]) -> Vec<Vec<Rlwe>> {
        let (layout, ring) = (&self.params.layout, self.params.chain.ring());
        let selectors: Vec<&Rows> = selections.iter().map(|selection| &selection.selectors).collect();
        let (plane, group) = (group >> self.log2_groups(), group & ((1 << self.log2_groups()) - 1));
        let (start, count) = (group << self.log2_group(), 1 << self.log2_group());
        let part = |offset: usize| {
            let first = start + offset * SHARE;
            let range = first..(first + SHARE).min(start + count);
            first::columns(ring, self.plane(plane), (layout.columns(), range), &selectors)
        };
        let parts: Vec<Vec<Vec<Rlwe>>> =
            (0..usize::div_ceil(count, SHARE)).into_par_iter().map(part).collect();
        let mut columns: Vec<Vec<Rlwe>> = selections.iter().map(|_| Vec::with_capacity(count)).collect();
        for part in parts {
            columns.iter_mut().zip(part).for_each(|(columns, mut part)| columns.append(&mut part));
        }
        columns
    }

    /// Phase 2: of a group's columns the one that each query names.
    pub fn fold(&self, selections: &[Selection], columns: Vec<Vec<Rlwe>>) -> Vec<Rlwe> {
        let fold = |(selection, columns): (&Selection, Vec<Rlwe>)| {
            let gates = self.column_gates(selection);
            self.gates().fold_in_parallel(gates, columns, SHARE)
        };
        selections.iter().zip(columns).map(fold).collect()
    }

    /// The rest of phase 2, over the groups of each plane, and phase 3: the encryptions of the item's planes in
    /// the ring that all was computed in, its bytes (signed) times q/p at multiples of d/span.
    pub fn rotate_planes(&self, selection: &Selection, groups: Vec<Rlwe>) -> Vec<Rlwe> {
        let planes = groups.chunks(1 << self.log2_groups());
        planes.map(|groups| self.rotate(selection, groups.to_vec())).collect()
    }

    fn rotate(&self, selection: &Selection, groups: Vec<Rlwe>) -> Rlwe {
        let gates = &self.column_gates(selection)[self.log2_group() as usize..];
        let mut rlwe = self.gates().fold_in_parallel(gates, groups, SHARE);
        let slots = self.params.layout.log2_slots as usize;
        self.gates().rotate(&selection.gates[..slots], &mut rlwe);
        rlwe
    }

    /// The gates of the column's bits.
    fn column_gates<'a>(&self, selection: &'a Selection) -> &'a [Rows] {
        &selection.gates[self.params.layout.log2_slots as usize..]
    }

    fn gates(&self) -> Gates<'_> {
        Gates::new(self.params.chain.ring(), &self.params.gate)
    }

    /// The answers' encryptions before they are switched: for each query one for each plane.
    ///
    /// # Errors
    /// As [`Server::answer`].
    pub fn encrypted_items(&self, batch: &[(&Keys, &PirouetteQuery)]) -> Result<Vec<Vec<Rlwe>>> {
        let select = |(keys, query): &(&Keys, &PirouetteQuery)| Ok(self.expansion(keys)?.run(query));
        let selections = batch.par_iter().map(select).collect::<Result<Vec<_>>>()?;
        // Of each query the groups of all planes.
        let mut groups: Vec<Vec<Rlwe>> = selections.iter().map(|_| Vec::new()).collect();
        for group in 0..self.groups() {
            let folded = self.fold(&selections, self.first(group, &selections));
            groups.iter_mut().zip(folded).for_each(|(groups, rlwe)| groups.push(rlwe));
        }
        let planes = selections.iter().zip(groups);
        Ok(planes.map(|(selection, groups)| self.rotate_planes(selection, groups)).collect())
    }

    /// ModSwitch and RingSwitch: the answer of a query's planes.
    ///
    /// # Errors
    /// [`Error::Malformed`] for keys that are none.
    pub fn respond(&self, keys: &Keys, planes: &[Rlwe]) -> Result<PirouetteAnswer> {
        let keys = keys.evaluation(&self.params.chain)?;
        let parts = planes.iter().map(|rlwe| respond(&self.params, keys, rlwe));
        let (masks, bodies): (Vec<_>, Vec<_>) = parts.unzip();
        Ok(PirouetteAnswer { masks: masks.concat(), bodies: bodies.concat() })
    }
}

/// All polynomials in values: modulo q₁, then modulo q₂.
fn transforms<T: Lengths>(params: &PirouetteParams<T>, database: &[u8]) -> Vec<u32> {
    let ring = params.chain.ring();
    let mut values = vec![0; 2 * database.len()];
    values.par_chunks_exact_mut(2 * DEGREE).zip(database.par_chunks_exact(DEGREE)).for_each(
        |(out, bytes)| {
            let signed: Vec<i32> = bytes.iter().map(|&byte| i32::from(byte as i8)).collect();
            out.copy_from_slice(ring.forward(ring.from_signed(&signed)).residues());
        },
    );
    values
}

impl<T: Lengths> Server<Pirouette<T>> for PirouetteServer<T> {
    fn setup(
        params: PirouetteParams<T>,
        records: &dyn Records,
        _rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Self> {
        check_source(T::NAME, params.shape(), records)?;
        let layout = &params.layout;
        let mut database = AlignedBytes::zeroed(layout.bytes() as usize);
        let plane = layout.polys() * DEGREE;
        progress.stage("encode", layout.polys() as u64);
        for index in 0..layout.polys() {
            let polys = layout.encode(records, index)?;
            for (p, poly) in polys.chunks_exact(DEGREE).enumerate() {
                database.bytes_mut()[p * plane + index * DEGREE..][..DEGREE].copy_from_slice(poly);
            }
            progress.advance(1);
        }
        Ok(Self::with_database(params, Blob::from(database)))
    }

    fn params(&self) -> &PirouetteParams<T> {
        &self.params
    }

    fn public(&self) -> &Public {
        &Public
    }

    fn answer(&self, session: Session<'_, Pirouette<T>>, query: &PirouetteQuery) -> Result<PirouetteAnswer> {
        self.answer_many(vec![(session, query)])?.pop().ok_or(Error::NotDecodable)
    }

    fn answer_many(
        &self,
        batch: Vec<(Session<'_, Pirouette<T>>, &PirouetteQuery)>,
    ) -> Result<Vec<PirouetteAnswer>> {
        let batch = batch.into_iter().map(|(session, query)| Ok((session.require_keys()?, query)));
        let batch = batch.collect::<Result<Vec<_>>>()?;
        let items = self.encrypted_items(&batch)?;
        batch.iter().zip(&items).map(|((keys, _), item)| self.respond(keys, item)).collect()
    }

    fn keys_fit(&self, _keys: &Keys) -> bool {
        true
    }

    fn update_cost(&self, changes: &[Change]) -> Result<UpdateEstimate> {
        update::cost(self, changes)
    }

    fn update(&self, changes: &[Change], _rng: &mut dyn CryptoRng, progress: &dyn Progress) -> Result<Self> {
        update::update(self, changes, progress)
    }

    fn read_packed(&self, first: u64, count: u64, out: &mut [u8]) -> Result<()> {
        let layout = &self.params.layout;
        read_each(&self.params.shape(), (first, count), out, |index| {
            let (item, slot) = layout.bundle.locate(index);
            Ok(Some(layout.bundle.select(&layout.item(&self.database, item), slot)))
        })
    }

    fn save(&self, sink: &mut dyn SectionSink) -> Result<()> {
        sink.put(DATABASE, &[&self.database])
    }

    fn load(params: PirouetteParams<T>, source: &dyn SectionSource) -> Result<Self> {
        let database = source.get(DATABASE)?;
        Error::check_length("pirouette's database", database.len(), params.layout.bytes() as usize)?;
        Ok(Self::with_database(params, database))
    }
}
