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
    /// Number and length of the records. For a keyed database, these are its buckets of the default
    /// length.
    pub shape: Shape,
    /// Lengths of the values of a keyed database; `None` to keep the buckets of `shape`. With
    /// lengths, each scheme gets buckets of its own best length.
    pub lengths: Option<Lengths>,
    /// Length of a bucket in bytes, if it is not the default; `None` for the default.
    pub bucket_bytes: Option<u64>,
    /// The largest allowed probability that an answer does not decode.
    pub failure: FailureBound,
    /// Bytes that a client fetches once in addition to the scheme's public part: the layout of the
    /// keys.
    pub extra_bytes: u64,
    /// Speed of the client's connection in bits per second: first up, then down.
    pub connection: (f64, f64),
    /// Bytes of the server's memory; `None` for no limit.
    pub memory: Option<u64>,
    /// Number of threads that answer one query.
    pub threads: usize,
    /// Number of lookups of a client, over which its one-time download is spread.
    pub lookups: u64,
    /// Number of lookups in one query; `None` for single lookups.
    pub batch: Option<usize>,
    /// Bytes of all records, compressed as the scheme `download` sends them; `None` if they are
    /// unknown, in which case records count as incompressible.
    pub compressed_bytes: Option<u64>,
    /// Lookups per second of all clients together, whose queries the server answers in groups;
    /// `None` for a single client.
    pub load: Option<f64>,
}

impl Demand {
    /// A demand for records of this shape, with defaults for all other requirements.
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

    /// A demand for a database, with defaults for all other requirements.
    pub fn of(database: &Database, rates: &Rates) -> Self {
        Self {
            extra_bytes: database.layout_bytes,
            lengths: database.lengths,
            compressed_bytes: database.compressed_bytes,
            ..Self::new(database.shape, rates)
        }
    }

    /// Returns true if the server's memory has room for `bytes` bytes.
    pub(crate) fn fits(&self, bytes: u64) -> bool {
        self.memory.is_none_or(|most| bytes <= most)
    }

    /// The demand with the length of buckets whose lookups take the least time. `lookup_s` returns
    /// the seconds of a lookup under a demand. If it fails for all lengths, returns its error for
    /// the shortest buckets.
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

    /// The demand with the buckets of an estimated table.
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

    /// Returns the sizes of a candidate. For the scheme `download`, they are the sizes of the
    /// compressed records.
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

    /// The smallest number of queries that the server must answer together to keep up with the
    /// load, at most [`MAX_GROUP`], and the core seconds of each. `core_s` returns these seconds
    /// for a number of queries.
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
