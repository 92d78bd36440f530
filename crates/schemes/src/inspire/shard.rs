//! InsPIRe on several machines.
//!
//! Each machine selects and packs a range of packs. One machine evaluates the polynomials of all
//! packs.
//!
//! A slice is a pack, and its words are the packed body modulo q. The masks of packs are known in
//! advance, and they are the same for all queries.

use std::ops::Range;

use papir_core::scheme::{Combiner, DividedScheme, Parameters, Shard, SliceTasks};
use papir_core::scratch::Piece;
use papir_core::sections::SectionSource;
use papir_core::{
    AlignedBytes, Blob, DividedDescription, Division, Error, Progress, Records, Result, parallel,
};
use papir_lattice::packing::{Bodies, Preprocessed};
use rand_core::CryptoRng;

use super::divided;
use super::evaluation::{Evaluation, switch};
use super::literal::{Inspire, NAME};
use super::params::Params;
use super::prepared::{PreparedParts, read_header};
use super::server::{Parted, random_seeds};
use super::wire::{Answer, Query};
use crate::shared::messages::PublicSeed;
use crate::shared::packs::{encryptions, load_packs};
use crate::shared::stored_records::check_source;

/// Division of a database's packs among several machines.
pub(super) struct InspireSlices;

impl DividedScheme<Inspire> for InspireSlices {
    fn describe(&self, params: &Params) -> DividedDescription {
        let layout = params.layout();
        let division = Division {
            words: layout.rows(),
            slice_words: layout.degree,
            word_bits: params.rlwe().ring().modulus_bits(),
        };
        DividedDescription {
            division,
            work: params.answering(),
        }
    }

    fn load_shard(
        &self,
        params: Params,
        slices: Range<usize>,
        source: &dyn SectionSource,
    ) -> Result<Box<dyn Shard<Inspire>>> {
        // Slices outside the database are refused before anything is read.
        self.describe(&params).division.words_of(&slices)?;
        let prepared = PreparedParts::load_packs(Inspire::SECTIONS, &params, slices, source)?;
        Ok(Box::new(InspireShard { params, prepared }))
    }

    fn load_combiner(
        &self,
        params: Params,
        source: &dyn SectionSource,
    ) -> Result<Box<dyn Combiner<Inspire>>> {
        Ok(Box::new(InspireCombiner::load(params, source)?))
    }
}

impl SliceTasks<Inspire> for InspireSlices {
    fn column_ranges(&self, params: &Params, tasks: usize) -> Vec<Range<usize>> {
        divided::column_ranges(params.layout(), tasks)
    }

    fn encode(
        &self,
        params: &Params,
        columns: Range<usize>,
        records: &dyn Records,
        rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<AlignedBytes> {
        check_source(NAME, params.shape(), records)?;
        divided::encode(
            params.layout(),
            &random_seeds::<Inspire>(params, rng)[0],
            columns,
            records,
            progress,
        )
    }

    fn prepare(
        &self,
        params: &Params,
        slices: Range<usize>,
        encoded: &[Blob],
        rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Vec<Piece>> {
        self.describe(params).division.words_of(&slices)?;

        // Drawn as a setup draws it: the pieces of all tasks make one database.
        let seed = &random_seeds::<Inspire>(params, rng)[0];
        divided::prepare(&Inspire::SECTIONS, params, seed, slices, encoded, progress)
    }
}

/// A machine's range of packs.
struct InspireShard {
    params: Params,
    prepared: PreparedParts,
}

impl Shard<Inspire> for InspireShard {
    /// Computes lines 7 to 12 of Algorithm 9 for these packs.
    fn partial_many(&self, queries: &[&Query], progress: &dyn Progress) -> Result<Vec<Vec<u64>>> {
        let params = &self.params;
        let count = queries.len() as u64;

        progress.stage("read_keys", count);
        // Keys come first: one that does not fit is refused before the pass over the rows.
        let keys = parallel::try_map(queries, |query| {
            let (packing, _) = params.split_keys(&query.keys);
            self.prepared.packing_key(params, packing)
        })?;
        let keys: Vec<_> = keys.iter().collect();

        progress.stage("select", count);
        let selectors: Vec<&[u64]> = queries
            .iter()
            .map(|query| query.selector.as_slice())
            .collect();
        let bodies = self.prepared.select(params, &selectors);

        progress.stage("pack", count);
        let packed = self.prepared.pack(bodies, &keys)?;
        Ok(parallel::map(&packed, |bodies| {
            bodies.to_words(params.rlwe().ring())
        }))
    }
}

/// The machine that combines answers. It has the masks of all packs and of the RGSW encryptions.
struct InspireCombiner {
    params: Params,
    public: PublicSeed,
    packs: Vec<Preprocessed>,
    evaluation: Evaluation,
}

impl Combiner<Inspire> for InspireCombiner {
    fn public(&self) -> &PublicSeed {
        &self.public
    }

    /// Computes EVALPOLY of Algorithm 9.
    fn combine_many(
        &self,
        batch: &[(&Query, &[u64])],
        progress: &dyn Progress,
    ) -> Result<Vec<Answer>> {
        progress.stage("evaluate", batch.len() as u64);
        parallel::try_map(batch, |(query, words)| self.answer(query, words))
    }
}

impl InspireCombiner {
    fn load(params: Params, source: &dyn SectionSource) -> Result<Self> {
        let (seeds, _) = read_header(&Inspire::SECTIONS, 1, source)?;
        let packing = params.packing(&seeds[0])?;

        let all = params.layout().packs();
        let mut packs = load_packs(Inspire::SECTIONS.packs, &packing, (0..all, all), source)?;
        // Only shards multiply last digits.
        for pack in &mut packs {
            pack.last = Vec::new();
        }

        let evaluation = Evaluation::new(&params, &seeds[0]);
        Ok(Self {
            public: Inspire::public(&seeds),
            params,
            packs,
            evaluation,
        })
    }

    /// Computes the answer to one query from the words of all packs.
    fn answer(&self, query: &Query, words: &[u64]) -> Result<Answer> {
        let params = &self.params;
        let ring = params.rlwe().ring();
        let layout = params.layout();
        Error::check_length("the words of all packs", words.len(), layout.rows())?;

        // Shards send bodies alone: the masks of all packs were prepared.
        let bodies = Bodies::from_words(ring, layout.degree, words);
        let packed = encryptions(ring, &self.packs, &bodies);

        let (_, rgsw) = params.split_keys(&query.keys);
        let rgsw = Evaluation::lift(params, rgsw);
        let results = self.evaluation.evaluate(params, packed, &rgsw);
        Ok(switch(params, &results))
    }
}
