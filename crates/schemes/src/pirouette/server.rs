//! The server: records as polynomials, and Answer.

use papir_core::scheme::{Parameters, Scheme, Server, Session, UpdateEstimate};
use papir_core::sections::{SectionSink, SectionSource};
use papir_core::{AlignedBytes, Blob, Change, Error, Progress, Records, Result};
use papir_lattice::rlwe::Rlwe;
use papir_lattice::rows::Rows;
use rand_core::CryptoRng;
use rayon::prelude::*;

use super::Pirouette;
use super::chain::DEGREE;
use super::first::{self, Plane};
use super::fold::{Gates, respond};
use super::keys::Keys;
use super::params::{Form, PirouetteParams};
use super::phase0::{self, Selection};
use super::update;
use super::wire::{PirouetteAnswer, PirouetteQuery, Public};
use crate::readback::read_each;
use crate::shape_io::check_source;

const DATABASE: &str = "pirouette/database";
/// log₂ of the columns that are folded before others are begun.
const LOG2_GROUP: u32 = 4;

/// A prepared database. A clone shares it.
#[derive(Clone)]
pub struct PirouetteServer {
    pub(super) params: PirouetteParams,
    /// Planes of polynomials of bytes.
    pub(super) database: Blob,
    /// Their transforms, in the fast form.
    values: Option<std::sync::Arc<Vec<u32>>>,
}

impl PirouetteServer {
    /// Over the database's bytes.
    pub(super) fn with_database(params: PirouetteParams, database: Blob) -> Self {
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

    /// Phases 1 and 2 for queries together: an encryption of each query's polynomial of a plane.
    fn fold(&self, plane: usize, selections: &[Selection]) -> Vec<Rlwe> {
        let (layout, ring) = (&self.params.layout, self.params.chain.ring());
        let selectors: Vec<&Rows> = selections.iter().map(|selection| &selection.selectors).collect();
        let group = LOG2_GROUP.min(layout.log2_columns);
        let part = |first: usize| {
            let range = (layout.columns(), first << group..(first + 1) << group);
            let columns = first::columns(ring, self.plane(plane), range, &selectors);
            let mut gates = Gates::new(ring, &self.params.gate);
            let folded = selections.iter().zip(columns);
            folded
                .flat_map(|(selection, columns)| gates.fold(self.column_gates(selection), columns))
                .collect::<Vec<_>>()
        };
        let parts: Vec<Vec<Rlwe>> = (0..layout.columns() >> group).into_par_iter().map(part).collect();
        let rest = |(i, selection): (usize, &Selection)| {
            let list = parts.iter().map(|part| part[i].clone()).collect();
            let gates = &self.column_gates(selection)[group as usize..];
            Gates::new(ring, &self.params.gate).fold(gates, list).swap_remove(0)
        };
        selections.par_iter().enumerate().map(rest).collect()
    }

    /// The gates of the column's bits.
    fn column_gates<'a>(&self, selection: &'a Selection) -> &'a [Rows] {
        &selection.gates[self.params.layout.log2_slots as usize..]
    }

    /// Phase 3: the encryption of the item in the ring that all was computed in, its bytes (signed) times q/p
    /// at multiples of d/span; for computing on.
    fn rotate(&self, selection: &Selection, mut rlwe: Rlwe) -> Rlwe {
        let gates = &selection.gates[..self.params.layout.log2_slots as usize];
        Gates::new(self.params.chain.ring(), &self.params.gate).rotate(gates, &mut rlwe);
        rlwe
    }

    /// The answers' encryptions before they are switched: for each query one for each plane.
    ///
    /// # Errors
    /// As [`Server::answer`].
    pub fn encrypted_items(&self, batch: &[(&Keys, &PirouetteQuery)]) -> Result<Vec<Vec<Rlwe>>> {
        let select = |(keys, query): &(&Keys, &PirouetteQuery)| phase0::select(&self.params, keys, query);
        let selections = batch.par_iter().map(select).collect::<Result<Vec<_>>>()?;
        let mut items: Vec<Vec<Rlwe>> = selections.iter().map(|_| Vec::new()).collect();
        for plane in 0..self.params.layout.planes {
            let folded = self.fold(plane, &selections);
            for ((items, selection), rlwe) in items.iter_mut().zip(&selections).zip(folded) {
                items.push(self.rotate(selection, rlwe));
            }
        }
        Ok(items)
    }

    fn respond(&self, keys: &Keys, planes: &[Rlwe]) -> Result<PirouetteAnswer> {
        let keys = keys.evaluation(&self.params.chain)?;
        let parts = planes.iter().map(|rlwe| respond(&self.params, keys, rlwe));
        let (masks, bodies): (Vec<_>, Vec<_>) = parts.unzip();
        Ok(PirouetteAnswer { masks: masks.concat(), bodies: bodies.concat() })
    }
}

/// All polynomials in values: modulo q₁, then modulo q₂.
fn transforms(params: &PirouetteParams, database: &[u8]) -> Vec<u32> {
    let ring = params.chain.ring();
    let mut values = vec![0; 2 * database.len()];
    values.par_chunks_exact_mut(2 * DEGREE).zip(database.par_chunks_exact(DEGREE)).for_each(|(out, bytes)| {
        let signed: Vec<i32> = bytes.iter().map(|&byte| i32::from(byte as i8)).collect();
        out.copy_from_slice(ring.forward(ring.from_signed(&signed)).residues());
    });
    values
}

impl Server<Pirouette> for PirouetteServer {
    fn setup(
        params: PirouetteParams,
        records: &dyn Records,
        _rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Self> {
        check_source(Pirouette::NAME, params.shape(), records)?;
        let layout = &params.layout;
        let mut database = AlignedBytes::zeroed(layout.bytes() as usize);
        let plane = layout.polys() * DEGREE;
        progress.stage("placing records", layout.polys() as u64);
        for index in 0..layout.polys() {
            let polys = layout.encode(records, index)?;
            for (p, poly) in polys.chunks_exact(DEGREE).enumerate() {
                database.bytes_mut()[p * plane + index * DEGREE..][..DEGREE].copy_from_slice(poly);
            }
            progress.advance(1);
        }
        Ok(Self::with_database(params, Blob::from(database)))
    }

    fn params(&self) -> &PirouetteParams {
        &self.params
    }

    fn public(&self) -> &Public {
        &Public
    }

    fn answer(&self, session: Session<'_, Pirouette>, query: &PirouetteQuery) -> Result<PirouetteAnswer> {
        self.answer_many(vec![(session, query)])?.pop().ok_or(Error::NotDecodable)
    }

    fn answer_many(
        &self,
        batch: Vec<(Session<'_, Pirouette>, &PirouetteQuery)>,
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

    fn load(params: PirouetteParams, source: &dyn SectionSource) -> Result<Self> {
        let database = source.get(DATABASE)?;
        Error::check_length("pirouette's database", database.len(), params.layout.bytes() as usize)?;
        Ok(Self::with_database(params, database))
    }
}
