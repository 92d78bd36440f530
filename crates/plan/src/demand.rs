//! Requirements on a database.

use papir_core::cost::Rates;
use papir_core::scheme::Scheme;
use papir_core::{Description, FailureBound, Result as CoreResult, Shape, Sizes};
use papir_lookup::{BucketTarget, Estimate, Lengths, choose_bucket};
use papir_schemes::download::Download;

use crate::database::Database;
use crate::error::of_core;

/// Default speed of a network connection: 10 Mbit/s, in bits per second.
pub const DEFAULT_SPEED: f64 = 1e7;

/// Maximum number of queries that a server is planned to answer together.
pub const MAX_GROUP: usize = 64;

/// Requirements on a database.
#[derive(Clone, Copy, Debug)]
pub struct Demand {
    /// Number and length of the records; of a keyed database, of its buckets of the default length.
    pub shape: Shape,
    /// Lengths of the values of a keyed database. Each scheme then gets buckets of its own length.
    pub lengths: Option<Lengths>,
    /// Bytes of a bucket, if another length than the default was chosen.
    pub bucket_bytes: Option<u64>,
    /// The largest allowed probability that an answer does not decode.
    pub failure: FailureBound,
    /// Bytes that a client fetches once in addition to the scheme's public part.
    pub extra_bytes: u64,
    /// Speed of the client's connection up and down, in bits per second.
    pub connection: (f64, f64),
    /// Bytes of the server's memory; `None` for no limit.
    pub memory: Option<u64>,
    /// Threads that answer one query.
    pub threads: usize,
    /// Number of lookups over which a client's one-time download is spread.
    pub lookups: u64,
    /// Lookups in one query; `None` for single lookups.
    pub batch: Option<usize>,
    /// Bytes of all records, compressed, as the scheme `download` sends them; `None` if they are
    /// not known, and then planned as records that do not compress.
    pub compressed_bytes: Option<u64>,
    /// Lookups per second of all clients together, which the server answers in groups; `None` for a
    /// client alone.
    pub load: Option<f64>,
}

impl Demand {
    /// Creates a demand with defaults for all other requirements.
    pub fn new(shape: Shape, rates: &Rates) -> Self {
        Self {
            shape,
            lengths: None,
            bucket_bytes: None,
            failure: FailureBound::DEFAULT,
            extra_bytes: 0,
            connection: (DEFAULT_SPEED, DEFAULT_SPEED),
            memory: None,
            threads: rates.threads(),
            lookups: 1,
            batch: None,
            compressed_bytes: None,
            load: None,
        }
    }

    /// Creates a demand for a database, with defaults for all other requirements.
    pub fn of(database: &Database, rates: &Rates) -> Self {
        Self {
            extra_bytes: database.layout_bytes,
            lengths: database.lengths,
            compressed_bytes: database.compressed_bytes,
            ..Self::new(database.shape, rates)
        }
    }

    /// Returns true if the server has this much memory.
    pub(crate) fn fits(&self, bytes: u64) -> bool {
        self.memory.is_none_or(|most| bytes <= most)
    }

    /// The demand with the buckets whose lookups take the least time. `lookup_s` is the time of a
    /// lookup in a database of a demand's shape. If no length has a time, returns the error of
    /// `lookup_s` for the shortest buckets.
    pub(crate) fn with_best_buckets(
        &self,
        lookup_s: impl Fn(&Self) -> CoreResult<f64>,
    ) -> CoreResult<Self> {
        let Some(lengths) = self.lengths else {
            return Ok(*self);
        };

        let chosen = choose_bucket(&lengths, BucketTarget::Grow, |table| {
            Ok(lookup_s(&self.with_table(table)?)?)
        });
        let target = chosen.map_err(of_core)?;
        let table = Estimate::of(&lengths, target).map_err(of_core)?;
        self.with_table(&table)
    }

    /// The demand with the buckets of a table.
    fn with_table(&self, table: &Estimate) -> CoreResult<Self> {
        // The default length: its size is known from the database, and not an estimate.
        if table.record_bytes == self.shape.record_bytes() as u64 {
            return Ok(*self);
        }

        let shape = Shape::of_bytes(table.records, table.record_bytes)?;
        Ok(Self {
            shape,
            extra_bytes: table.layout_bytes,
            bucket_bytes: Some(table.record_bytes),
            compressed_bytes: None,
            ..*self
        })
    }

    /// The sizes of a candidate, for records that compress as these do.
    pub(crate) fn sizes(&self, description: &Description) -> Sizes {
        let mut sizes = description.sizes;
        if let Some(compressed) = self.compressed_bytes
            && description.scheme == Download::NAME
        {
            // The whole database is the hint, and what clients fetch.
            let saved = sizes.hint.saturating_sub(compressed);
            sizes.public -= saved;
            sizes.hint -= saved;
            sizes.database -= saved;
        }
        sizes
    }

    /// The fewest queries that are answered together to keep up with the load on these threads, at
    /// most [`MAX_GROUP`], and their core seconds each, which `core_s` gives for a group.
    pub(crate) fn group(&self, core_s: impl Fn(usize) -> f64) -> (usize, f64) {
        let queries = self.load.unwrap_or(0.0) / self.batch.unwrap_or(1) as f64;
        let group = (1..MAX_GROUP)
            // A larger group takes fewer core seconds for each query: the least that keeps up waits
            // the shortest.
            .find(|&clients| queries * core_s(clients) <= self.threads as f64)
            .unwrap_or(MAX_GROUP);
        (group, core_s(group))
    }
}
