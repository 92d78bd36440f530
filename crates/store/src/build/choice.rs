//! Bucket length and scheme parameters of a build.

use papir_core::erased::{ErasedScheme, ErasedServer};
use papir_core::scratch::Scratch;
use papir_core::{
    Candidate, Description, NotPrivate, Records, Result as CoreResult, Run, Shape, Target,
};
use papir_lookup::{
    BucketTarget, DEFAULT_BUCKET_BYTES, Estimate, LABEL_SLACK, Lengths, choose_bucket, proof_bytes,
};
use papir_schemes::registry::{self, OfBatches};

use super::options::BuildOptions;
use super::scratch::check_memory;
use crate::error::Result;

/// Takes the sizes of a database that will be prepared, and may refuse them.
pub type Announce<'a> = dyn Fn(&Description) -> CoreResult<()> + 'a;

/// The scheme of a build, alone or in batches, and the rule that chooses its parameters.
pub(super) struct ByOptions<'a> {
    options: &'a BuildOptions,
    scheme: Box<dyn ErasedScheme>,
    batches: Option<Batches>,
}

/// Batches over the scheme of a build.
struct Batches {
    /// The scheme of batches.
    scheme: Box<dyn ErasedScheme>,
    rules: OfBatches,
    /// Maximum number of records per batch.
    capacity: usize,
}

impl Batches {
    /// Batches over the scheme of this name.
    fn over(name: &str, capacity: usize) -> Result<Self> {
        let rules = registry::batches_over(name)?;
        // `BuildOptions::scheme` has checked the permission for a scheme without privacy.
        let scheme = rules.scheme.allow_insecure(NotPrivate::acknowledged());
        Ok(Self {
            scheme,
            rules,
            capacity,
        })
    }
}

impl<'a> ByOptions<'a> {
    /// Finds the scheme that the options name. Refuses one without privacy that they do not allow.
    pub(super) fn new(options: &'a BuildOptions) -> Result<Self> {
        let scheme = options.scheme()?;
        let batches = match options.batch {
            Some(capacity) => Some(Batches::over(scheme.name(), capacity)?),
            None => None,
        };
        Ok(Self {
            options,
            scheme,
            batches,
        })
    }

    /// The scheme that is prepared.
    fn prepared(&self) -> &dyn ErasedScheme {
        match &self.batches {
            Some(batches) => &*batches.scheme,
            None => &*self.scheme,
        }
    }

    /// The parameters for this shape: by label, or by goal.
    pub(super) fn candidate(&self, shape: Shape) -> CoreResult<Candidate> {
        let options = self.options;
        if let Some(tables) = options.tables {
            return registry::with_tables(self.scheme.name(), shape, tables, options.failure);
        }
        let Some(label) = &options.params else {
            return self.for_goal(shape);
        };

        let all = match &self.batches {
            None => self.scheme.candidates(shape, options.failure)?,
            Some(Batches {
                rules, capacity, ..
            }) => rules.candidates(shape, options.failure, *capacity)?,
        };
        let slack = if options.keyed() { LABEL_SLACK } else { 0.0 };
        Candidate::named(all, self.prepared().name(), label, slack)
    }

    /// The parameters for this shape by goal.
    fn for_goal(&self, shape: Shape) -> CoreResult<Candidate> {
        let target = Target {
            goal: self.options.goal,
            failure: self.options.failure,
        };
        match &self.batches {
            None => self.scheme.candidate_for(shape, target),
            Some(Batches {
                rules, capacity, ..
            }) => rules.candidate(shape, target, *capacity),
        }
    }

    /// Prepares records, and passes the sizes of the database to `announce` before, which may
    /// refuse them.
    pub(super) fn prepare(
        &self,
        records: &dyn Records,
        announce: &Announce<'_>,
        scratch: &mut dyn Scratch,
        run: &mut Run<'_>,
    ) -> CoreResult<Box<dyn ErasedServer>> {
        let scheme = self.prepared();
        let candidate = self.candidate(records.shape())?;
        // After the choice, which may refuse the shape, and before anything that takes long.
        announce(&candidate.description)?;

        if let Some((_, lengths)) = registry::tables_of(scheme.name(), &candidate.parameters)? {
            check_memory(&lengths, self.options.scratch.is_some())?;
        }

        scheme.setup_resumable(
            &candidate.parameters,
            records,
            scratch,
            run.rng,
            run.progress,
        )
    }

    /// The target for buckets that hold values of these lengths. A label names the parameters of
    /// one shape, so that the default belongs to it.
    pub(super) fn bucket(&self, lengths: &Lengths) -> papir_lookup::Result<BucketTarget> {
        if self.options.params.is_some() {
            return Ok(proven(self.options, lengths, DEFAULT_BUCKET_BYTES));
        }

        // Tried for several lengths: longer buckets make the layout shorter, and each lookup more
        // expensive.
        choose_bucket(
            lengths,
            |bytes| proven(self.options, lengths, bytes),
            |table| self.seconds(table),
        )
    }

    /// The cost of a lookup in a table of this size.
    fn seconds(&self, table: &Estimate) -> papir_lookup::Result<f64> {
        // A proof is fetched with its bucket, and makes the record longer.
        let proof = if self.options.verifiable {
            proof_bytes(table.records) as u64
        } else {
            0
        };
        let shape = Shape::of_bytes(table.records, table.record_bytes + proof)?;
        let candidate = self.candidate(shape)?;
        Ok(candidate.seconds(self.options.goal, table.layout_bytes))
    }
}

/// The target for a record of about this length. For a verifiable database it is reduced, so that
/// one query retrieves a bucket together with its proof.
pub(super) fn proven(options: &BuildOptions, lengths: &Lengths, bytes: u32) -> BucketTarget {
    if !options.verifiable {
        return BucketTarget::Grow(bytes);
    }

    let entries = lengths.total + 8 * lengths.count;
    // The proof's length depends on the number of buckets, which depends on their length. 5/4 is an
    // estimate for the free room of tables and for the reduction.
    let buckets = entries / u64::from(bytes.max(1)) * 5 / 4 + 1;
    let room = bytes.saturating_sub(proof_bytes(buckets) as u32);
    BucketTarget::Grow(room.max(bytes / 2).max(8))
}
