//! Databases on several machines, behind trait objects.

use std::ops::Range;

use rand_core::CryptoRng;

use super::version::ErasedDatabase;
use crate::division::DividedDescription;
use crate::scratch::Piece;
use crate::sections::SectionSource;
use crate::{AlignedBytes, Blob, Description, Division, Progress, Records, Result, Version};

/// A scheme whose databases have slices: see
/// [`ErasedScheme::divided`](super::ErasedScheme::divided).
pub trait ErasedDivided {
    /// The slices of a database with these parameters, and the work of its answers.
    ///
    /// # Errors
    /// The errors of [`Parameters::decode`](crate::scheme::Parameters::decode).
    fn describe(&self, parameters: &[u8]) -> Result<DividedDescription>;

    /// Loads a range of slices of a prepared database from its sections.
    ///
    /// # Errors
    /// The errors of [`ErasedScheme::load`](super::ErasedScheme::load) and
    /// [`DividedScheme::load_shard`](crate::scheme::DividedScheme::load_shard).
    fn load_shard(&self, slices: Range<usize>, source: &dyn SectionSource) -> Result<ErasedShard>;

    /// Loads the combiner of a prepared database from its sections.
    ///
    /// # Errors
    /// The errors of [`ErasedScheme::load`](super::ErasedScheme::load) and
    /// [`DividedScheme::load_combiner`](crate::scheme::DividedScheme::load_combiner).
    fn load_combiner(&self, source: &dyn SectionSource) -> Result<Box<dyn ErasedCombiner>>;

    /// Preparation by tasks: processes that each prepare a part of the database.
    ///
    /// # Errors
    /// [`Error::Parameters`](crate::Error::Parameters) for a scheme that prepares all slices
    /// together.
    fn tasks(&self) -> Result<&dyn ErasedTasks>;
}

/// Preparation of a database by tasks, behind a trait object. First some tasks encode ranges of
/// columns, then some tasks prepare ranges of slices.
pub trait ErasedTasks {
    /// Divides the columns of a database among `tasks` tasks that encode them.
    ///
    /// # Errors
    /// The errors of [`ErasedDivided::describe`].
    fn column_ranges(&self, parameters: &[u8], tasks: usize) -> Result<Vec<Range<usize>>>;

    /// Encodes a range of columns, as
    /// [`ErasedScheme::setup_resumable`](super::ErasedScheme::setup_resumable) does with the same
    /// randomness.
    ///
    /// # Errors
    /// The errors of [`ErasedScheme::setup_resumable`](super::ErasedScheme::setup_resumable) and
    /// [`SliceTasks::encode`](crate::scheme::SliceTasks::encode).
    fn encode(
        &self,
        parameters: &[u8],
        columns: Range<usize>,
        records: &dyn Records,
        rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<AlignedBytes>;

    /// Prepares a range of slices from the encodings of all ranges of columns, in order. Returns
    /// one piece for each part of a preparation. The pieces of all slices joined are the parts that
    /// [`ErasedScheme::setup_resumable`](super::ErasedScheme::setup_resumable) finds in its
    /// scratch.
    ///
    /// # Errors
    /// The errors of [`ErasedScheme::setup_resumable`](super::ErasedScheme::setup_resumable) and
    /// [`SliceTasks::prepare`](crate::scheme::SliceTasks::prepare).
    fn prepare(
        &self,
        parameters: &[u8],
        slices: Range<usize>,
        encoded: &[Blob],
        rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Vec<Piece>>;
}

/// Answers enveloped queries with enveloped partial answers.
pub(super) type AnswersInPart =
    dyn Fn(&[&[u8]], &dyn Progress) -> Vec<Result<Vec<u8>>> + Send + Sync;

/// A range of the slices of a prepared database.
pub struct ErasedShard {
    pub(super) description: Description,
    pub(super) version: Version,
    pub(super) slices: Range<usize>,
    pub(super) answers: Box<AnswersInPart>,
}

impl ErasedShard {
    /// Sizes, security, limits, parameters of the whole database.
    pub fn describe(&self) -> Description {
        self.description.clone()
    }

    /// The database's version.
    pub fn version(&self) -> Version {
        self.version
    }

    /// The slices.
    pub fn slices(&self) -> Range<usize> {
        self.slices.clone()
    }

    /// Answers enveloped queries with enveloped partial answers, in one pass; one result per query.
    pub fn partial_many(&self, queries: &[&[u8]], progress: &dyn Progress) -> Vec<Result<Vec<u8>>> {
        (self.answers)(queries, progress)
    }
}

/// A combiner of partial answers behind a trait object.
pub trait ErasedCombiner: ErasedDatabase {
    /// The slices that the partial answers to a query must cover.
    fn division(&self) -> Division;

    /// Answers enveloped queries from the enveloped partial answers of all shards, in any order;
    /// one result per query. An answer is bit for bit that of
    /// [`ErasedServer::answer_many`](super::ErasedServer::answer_many).
    fn combine_many(
        &self,
        batch: &[(&[u8], &[&[u8]])],
        progress: &dyn Progress,
    ) -> Vec<Result<Vec<u8>>>;
}
