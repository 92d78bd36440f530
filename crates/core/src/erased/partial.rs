//! Adapters from typed shards and combiners to the erased traits.
//!
//! The payload of a partial answer, with all numbers little-endian:
//!
//! ```text
//! 4                 first slice
//! 4                 slice after the last
//! words × w bytes   w = Division::word_bytes
//! ```

use std::ops::Range;

use rand_core::CryptoRng;

use super::messages::{answer_each, header, open_query, public_part, seal_answer};
use super::{
    ErasedCombiner, ErasedDatabase, ErasedDivided, ErasedShard, ErasedTasks, ErasedVersion,
};
use crate::codec::{Reader, Writer};
use crate::envelope::{self, Kind};
use crate::scheme::{Combiner, DividedScheme, Parameters, Scheme, Shard, SliceTasks};
use crate::scratch::Piece;
use crate::sections::SectionSource;
use crate::{
    AlignedBytes, Blob, Description, DividedDescription, Division, Error, Progress, Records,
    Result, Terms, Version,
};

/// [`ErasedDivided`] of a typed scheme, under a program's terms.
pub(super) struct DividedOf<'a, S: Scheme> {
    divided: &'static dyn DividedScheme<S>,
    terms: &'a Terms,
    tasks: Option<TasksOf<'a, S>>,
}

impl<'a, S: Scheme> DividedOf<'a, S> {
    pub(super) fn new(divided: &'static dyn DividedScheme<S>, terms: &'a Terms) -> Self {
        let tasks = S::TASKS.map(|tasks| TasksOf { tasks, terms });
        Self {
            divided,
            terms,
            tasks,
        }
    }
}

impl<S: Scheme> ErasedDivided for DividedOf<'_, S> {
    fn describe(&self, parameters: &[u8]) -> Result<DividedDescription> {
        Ok(self.divided.describe(&S::Params::decode(parameters)?))
    }

    fn load_shard(&self, slices: Range<usize>, source: &dyn SectionSource) -> Result<ErasedShard> {
        let (version, params) = self.terms.identity::<S>(source)?;
        let shard = self
            .divided
            .load_shard(params.clone(), slices.clone(), source)?;

        let description = params.describe();
        let shard = ShardOf::<S> {
            division: self.divided.describe(&params).division,
            shard,
            params,
            version,
            slices: slices.clone(),
        };
        Ok(ErasedShard {
            description,
            version,
            slices,
            answers: Box::new(move |queries: &[&[u8]], progress: &dyn Progress| {
                shard.partial_many(queries, progress)
            }),
        })
    }

    fn load_combiner(&self, source: &dyn SectionSource) -> Result<Box<dyn ErasedCombiner>> {
        let (version, params) = self.terms.identity::<S>(source)?;
        Ok(Box::new(CombinerOf {
            combiner: self.divided.load_combiner(params.clone(), source)?,
            division: self.divided.describe(&params).division,
            params,
            version,
        }))
    }

    fn tasks(&self) -> Result<&dyn ErasedTasks> {
        match &self.tasks {
            Some(tasks) => Ok(tasks),
            None => Err(Division::prepared_together(S::NAME)),
        }
    }
}

/// [`ErasedTasks`] of a typed scheme, under a program's terms.
struct TasksOf<'a, S: Scheme> {
    tasks: &'static dyn SliceTasks<S>,
    terms: &'a Terms,
}

impl<S: Scheme> TasksOf<'_, S> {
    fn params(&self, parameters: &[u8]) -> Result<S::Params> {
        self.terms.permit::<S>(S::Params::decode(parameters)?)
    }
}

impl<S: Scheme> ErasedTasks for TasksOf<'_, S> {
    fn column_ranges(&self, parameters: &[u8], tasks: usize) -> Result<Vec<Range<usize>>> {
        // Without the terms: a plan of tasks prepares nothing yet.
        let params = S::Params::decode(parameters)?;
        Ok(self.tasks.column_ranges(&params, tasks))
    }

    fn encode(
        &self,
        parameters: &[u8],
        columns: Range<usize>,
        records: &dyn Records,
        rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<AlignedBytes> {
        let params = self.params(parameters)?;
        self.tasks.encode(&params, columns, records, rng, progress)
    }

    fn prepare(
        &self,
        parameters: &[u8],
        slices: Range<usize>,
        encoded: &[Blob],
        rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Vec<Piece>> {
        let params = self.params(parameters)?;
        self.tasks.prepare(&params, slices, encoded, rng, progress)
    }
}

/// [`ErasedShard`] of a typed scheme.
struct ShardOf<S: Scheme> {
    shard: Box<dyn Shard<S>>,
    params: S::Params,
    version: Version,
    slices: Range<usize>,
    division: Division,
}

impl<S: Scheme> ShardOf<S> {
    fn seal(&self, words: &[u64]) -> Vec<u8> {
        let mut writer = Writer::new();
        let bytes = self.division.word_bytes();
        writer
            .u32(self.slices.start as u32)
            .u32(self.slices.end as u32);

        words
            .iter()
            .for_each(|word| _ = writer.raw(&word.to_le_bytes()[..bytes]));

        envelope::seal(&header::<S>(Kind::Partial, self.version), &writer.finish())
    }

    /// Answers enveloped queries with enveloped partial answers; one result per query.
    fn partial_many(&self, queries: &[&[u8]], progress: &dyn Progress) -> Vec<Result<Vec<u8>>> {
        progress.stage("parse", queries.len() as u64);
        let parsed = queries
            .iter()
            .map(|query| open_query::<S>(self.version, &self.params, query))
            .collect();

        let partials = answer_each(parsed, |good| self.shard.partial_many(good, progress));

        progress.stage("seal", partials.len() as u64);
        partials
            .into_iter()
            .map(|words| words.map(|words| self.seal(&words)))
            .collect()
    }
}

/// [`ErasedCombiner`] of a typed scheme.
struct CombinerOf<S: Scheme> {
    combiner: Box<dyn Combiner<S>>,
    params: S::Params,
    version: Version,
    division: Division,
}

impl<S: Scheme> CombinerOf<S> {
    fn parse(&self, query: &[u8], partials: &[&[u8]]) -> Result<(S::Query, Vec<u64>)> {
        let query = open_query::<S>(self.version, &self.params, query)?;
        let parts = partials
            .iter()
            .map(|partial| self.open(partial))
            .collect::<Result<Vec<_>>>()?;
        Ok((query, join(&self.division, parts)?))
    }

    /// Decodes a partial answer: its slices and their words.
    fn open(&self, partial: &[u8]) -> Result<(Range<usize>, Vec<u64>)> {
        let what = "a partial answer";
        let payload = envelope::open_version(partial, Kind::Partial, S::ID, self.version)?;
        let mut reader = Reader::new(what, payload);
        let slices = reader.u32()? as usize..reader.u32()? as usize;

        // Bounds the slices of a message before a product with their number.
        let count = self.division.words_of(&slices)?.len();
        let Division { word_bits, .. } = self.division;

        let bytes = reader.rest();
        Error::check_length(what, bytes.len(), count * self.division.word_bytes())?;

        let words: Vec<u64> = bytes
            .chunks_exact(self.division.word_bytes())
            .map(word)
            .collect();

        // Whole bytes are sent: a word must not use the bits above its own.
        match words
            .iter()
            .find(|&&word| word.unbounded_shr(word_bits) != 0)
        {
            None => Ok((slices, words)),
            Some(word) => Err(Error::malformed(
                what,
                word,
                format!("words of {word_bits} bits"),
            )),
        }
    }
}

/// A word of a partial answer from its little-endian bytes.
fn word(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .rev()
        .fold(0, |word, &byte| word << 8 | u64::from(byte))
}

/// Joins the words of partial answers in the order of their slices. Fails unless they have each
/// slice exactly once.
fn join(division: &Division, mut parts: Vec<(Range<usize>, Vec<u64>)>) -> Result<Vec<u64>> {
    // Shards answer in any order.
    parts.sort_unstable_by_key(|(slices, _)| slices.start);
    let all = division.slices();
    let mut next = 0;
    let mut complete = true;
    for (slices, _) in &parts {
        complete &= slices.start == next;
        next = slices.end;
    }
    if complete && next == all {
        return Ok(parts.into_iter().flat_map(|(_, words)| words).collect());
    }

    let found: Vec<String> = parts
        .iter()
        .map(|(slices, _)| format!("{slices:?}"))
        .collect();
    let expected = format!("0..{all}, each slice once");
    Err(Error::malformed(
        "the slices of partial answers",
        found.join(", "),
        expected,
    ))
}

impl<S: Scheme> ErasedVersion for CombinerOf<S> {
    fn describe(&self) -> Description {
        self.params.describe()
    }

    fn version(&self) -> Version {
        self.version
    }
}

impl<S: Scheme> ErasedDatabase for CombinerOf<S> {
    fn public(&self) -> Vec<u8> {
        public_part::<S>(self.version, &self.params, self.combiner.public())
    }

    fn check_query(&self, query: &[u8]) -> Result<()> {
        open_query::<S>(self.version, &self.params, query).map(drop)
    }
}

impl<S: Scheme> ErasedCombiner for CombinerOf<S> {
    fn division(&self) -> Division {
        self.division
    }

    fn combine_many(
        &self,
        batch: &[(&[u8], &[&[u8]])],
        progress: &dyn Progress,
    ) -> Vec<Result<Vec<u8>>> {
        progress.stage("parse", batch.len() as u64);

        let parsed = batch
            .iter()
            .map(|(query, partials)| self.parse(query, partials))
            .collect();

        let answers = answer_each(parsed, |good: &[&(S::Query, Vec<u64>)]| {
            let good: Vec<_> = good
                .iter()
                .map(|(query, words)| (query, words.as_slice()))
                .collect();
            self.combiner.combine_many(&good, progress)
        });

        progress.stage("seal", answers.len() as u64);
        answers
            .into_iter()
            .map(|answer| Ok(seal_answer::<S>(self.version, &self.params, &answer?)))
            .collect()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const DIVISION: Division = Division {
        words: 5,
        slice_words: 2,
        word_bits: 16,
    };

    /// The words of all slices from each start to each end, joined.
    fn joined(parts: &[(usize, usize)]) -> Result<Vec<u64>> {
        let part = |&(start, end): &(usize, usize)| {
            let words = DIVISION.words_of(&(start..end)).unwrap();
            (start..end, words.map(|word| word as u64).collect())
        };
        join(&DIVISION, parts.iter().map(part).collect())
    }

    #[test]
    fn parts_are_joined_in_the_order_of_their_slices() {
        for parts in [&[(0, 3)][..], &[(0, 1), (1, 3)], &[(2, 3), (0, 1), (1, 2)]] {
            assert_eq!(joined(parts).unwrap(), [0, 1, 2, 3, 4]);
        }
    }

    #[test]
    fn missing_and_repeated_slices_are_named() {
        for (parts, found) in [
            (&[][..], "found , expected 0..3"),
            (&[(1, 3)], "found 1..3"),
            (&[(0, 1), (2, 3)], "found 0..1, 2..3"),
            (&[(0, 2)], "found 0..2"),
            (&[(0, 2), (1, 3)], "found 0..2, 1..3"),
            (&[(0, 3), (0, 3)], "found 0..3, 0..3"),
            (&[(0, 3), (1, 2)], "found 0..3, 1..2"),
        ] {
            let refused = joined(parts).unwrap_err().to_string();
            assert!(refused.contains(found), "{refused}");
        }
    }
}
