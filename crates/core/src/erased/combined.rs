//! A database on several machines behind the interface of one server.

use rand_core::CryptoRng;

use super::messages::answer_each;
use super::{
    ErasedCombiner, ErasedDatabase, ErasedRegisteredServer, ErasedServer, ErasedSession,
    ErasedVersion,
};
use crate::scheme::UpdateEstimate;
use crate::sections::SectionSink;
use crate::{Change, Description, Error, Progress, Result, Version};

/// The connections to the machines that have the slices of one version of a database.
pub trait Shards: Send + Sync {
    /// Sends all queries to every machine. Returns for each machine, for each query, an enveloped
    /// partial answer.
    ///
    /// # Errors
    /// Any error of a machine, which clients receive as [`Error::Unavailable`].
    fn ask(&self, queries: &[&[u8]]) -> Result<Vec<Vec<Vec<u8>>>>;
}

/// A database whose answers are combined from the answers of several machines. It only answers:
/// changes are refused, and it has no registered clients.
pub struct Combined {
    combiner: Box<dyn ErasedCombiner>,
    shards: Box<dyn Shards>,
}

impl Combined {
    /// The database with this combiner and these machines, which have all slices.
    pub fn new(combiner: Box<dyn ErasedCombiner>, shards: Box<dyn Shards>) -> Self {
        Self { combiner, shards }
    }

    fn refused(&self, what: &str) -> Error {
        let reason = format!("a database on several machines {what}");
        Error::Parameters {
            scheme: self.describe().scheme,
            reason,
        }
    }

    /// Answers queries that were checked. Every error is [`Error::Unavailable`], since only the
    /// machines can have caused it.
    fn answer_checked(&self, queries: &[&[u8]], progress: &dyn Progress) -> Vec<Result<Vec<u8>>> {
        if queries.is_empty() {
            return Vec::new();
        }

        // All queries together: each machine then reads its slices once for the batch.
        progress.stage("ask", queries.len() as u64);
        let of_shards = match self.shards.ask(queries) {
            Ok(of_shards) => of_shards,
            Err(error) => return queries.iter().map(|_| Err(unavailable(&error))).collect(),
        };

        let partials: Vec<Vec<&[u8]>> = (0..queries.len())
            .map(|i| partials_of(&of_shards, i))
            .collect();
        let batch: Vec<(&[u8], &[&[u8]])> = queries
            .iter()
            .zip(&partials)
            .map(|(query, partials)| (*query, partials.as_slice()))
            .collect();

        let answers = self.combiner.combine_many(&batch, progress).into_iter();
        answers
            .map(|answer| answer.map_err(|error| unavailable(&error)))
            .collect()
    }
}

/// The partial answers of all shards to query `i`.
fn partials_of(of_shards: &[Vec<Vec<u8>>], i: usize) -> Vec<&[u8]> {
    of_shards
        .iter()
        .filter_map(|of| Some(of.get(i)?.as_slice()))
        .collect()
}

/// The [`Error::Unavailable`] that clients receive for an error of the machines.
fn unavailable(error: &Error) -> Error {
    Error::Unavailable {
        reason: error.to_string(),
    }
}

impl ErasedVersion for Combined {
    fn describe(&self) -> Description {
        self.combiner.describe()
    }

    fn version(&self) -> Version {
        self.combiner.version()
    }
}

impl ErasedDatabase for Combined {
    fn public(&self) -> Vec<u8> {
        self.combiner.public()
    }

    fn check_query(&self, query: &[u8]) -> Result<()> {
        self.combiner.check_query(query)
    }
}

impl ErasedServer for Combined {
    fn answer_many(
        &self,
        batch: &[(ErasedSession<'_>, &[u8])],
        progress: &dyn Progress,
    ) -> Vec<Result<Vec<u8>>> {
        // Checked here: machines are asked for all queries together, and a malformed one would fail
        // the others.
        let checked = batch
            .iter()
            .map(|(_, query)| self.check_query(query).map(|()| *query))
            .collect();

        let answers = answer_each(checked, |good: &[&&[u8]]| {
            let good: Vec<&[u8]> = good.iter().map(|query| **query).collect();
            Ok(self.answer_checked(&good, progress))
        });

        answers.into_iter().map(|answer| answer?).collect()
    }

    fn registered(&self) -> Option<&dyn ErasedRegisteredServer> {
        None
    }

    fn update_cost(&self, _changes: &[Change]) -> Result<UpdateEstimate> {
        Err(self.refused("is changed by preparing it again"))
    }

    fn update(
        &self,
        _changes: &[Change],
        _rng: &mut dyn CryptoRng,
        _progress: &dyn Progress,
    ) -> Result<Box<dyn ErasedServer>> {
        Err(self.refused("is changed by preparing it again"))
    }

    fn read_packed(&self, _first: u64, _count: u64, _out: &mut [u8]) -> Result<()> {
        Err(self.refused("cannot be read back"))
    }

    fn save(&self, _sink: &mut dyn SectionSink) -> Result<()> {
        Err(self.refused("is not saved as one"))
    }
}
