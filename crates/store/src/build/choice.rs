//! Scheme, bucket length and scheme parameters of a build.

use std::cell::OnceCell;

use papir_core::erased::{ErasedScheme, ErasedServer};
use papir_core::scratch::Scratch;
use papir_core::{
    Candidate, Choice, Description, NotPrivate, Records, Result as CoreResult, Run, Shape, Target,
};
use papir_lookup::{
    BucketTarget, DEFAULT_BUCKET_BYTES, Estimate, LABEL_SLACK, Lengths, choose_bucket, least_table,
    proof_bytes,
};
use papir_schemes::default_scheme::{
    self, ArrangedRecords, CostOf, DefaultScheme, SchemeWish, parameters_for, shown_by_reference,
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
    /// The scheme that the options name, or the reference if they leave the choice to the records.
    scheme: Box<dyn ErasedScheme>,
    batches: Option<Batches>,
    /// The choice by the records, once they are counted; empty if the options name a scheme.
    chosen: OnceCell<ChosenScheme>,
}

/// A scheme that was chosen by the records.
struct ChosenScheme {
    scheme: DefaultScheme,
    wish: SchemeWish,
    /// Bytes of records that the reference would show a client.
    most: u64,
}

impl ChosenScheme {
    /// The parameters for this shape, which show a client no more than allowed.
    fn candidate(&self, shape: Shape) -> CoreResult<Candidate> {
        parameters_for(self.scheme.scheme, shape, &self.wish, self.most)
    }
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
            chosen: OnceCell::new(),
        })
    }

    /// The reason why the build took this scheme, in a line; `None` if the options name it.
    pub(super) fn reason(&self, scheme: &str) -> Option<String> {
        let DefaultScheme {
            scheme: chosen,
            reason,
        } = &self.chosen.get()?.scheme;
        if chosen.name() == scheme {
            return Some(reason.clone());
        }

        // The records as they were arranged are not those that were estimated.
        let chosen = chosen.name();
        Some(format!(
            "{scheme}: the parameters of {chosen} for these records would not do"
        ))
    }

    /// The records that the owner lets clients see, if the build chose the scheme.
    fn wish(&self) -> SchemeWish {
        SchemeWish {
            may_see: self.options.clients_may_see,
            target: self.target(),
            bounded_memory: self.options.memory.is_some(),
        }
    }

    /// The goal of the parameters and the bound on failures.
    fn target(&self) -> Target {
        Target {
            goal: self.options.goal,
            failure: self.options.failure,
        }
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
        self.check_order()?;
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

    /// Refuses an order of records beside a choice that has none: a label, tables or batches.
    fn check_order(&self) -> CoreResult<()> {
        let options = self.options;
        let has_no_order =
            options.params.is_some() || options.tables.is_some() || self.batches.is_some();
        if options.rows_first && has_no_order {
            let choice = Choice::RowsFirst(Target::default());
            return Err(choice.refused_by(self.prepared().name()));
        }
        Ok(())
    }

    /// The parameters for this shape by goal.
    fn for_goal(&self, shape: Shape) -> CoreResult<Candidate> {
        let target = self.target();
        match &self.batches {
            None if self.options.rows_first => {
                self.scheme.candidate(shape, Choice::RowsFirst(target))
            }
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
        if self.options.chooses_scheme() {
            return self.prepare_chosen(records, announce, scratch, run);
        }

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

    /// Prepares records under the scheme that is chosen by them.
    fn prepare_chosen(
        &self,
        records: &dyn Records,
        announce: &Announce<'_>,
        scratch: &mut dyn Scratch,
        run: &mut Run<'_>,
    ) -> CoreResult<Box<dyn ErasedServer>> {
        let shape = records.shape();
        let chosen = match self.chosen.get() {
            Some(chosen) => chosen,
            // Records without keys, or with buckets of a given length.
            None => {
                let chosen = self.choose_for_records(&shape)?;
                self.chosen.get_or_init(|| chosen)
            }
        };

        // The reference takes every shape that it took before there was a choice.
        let candidate = chosen.candidate(shape).or_else(|_| self.for_goal(shape))?;
        announce(&candidate.description)?;
        let scheme = registry::by_name(candidate.description.scheme)?;
        scheme.setup_resumable(
            &candidate.parameters,
            records,
            scratch,
            run.rng,
            run.progress,
        )
    }

    /// Chooses the scheme for records of this shape.
    fn choose_for_records(&self, shape: &Shape) -> CoreResult<ChosenScheme> {
        let wish = self.wish();
        let scheme = default_scheme::choose_for_records(&wish, shape)?;
        Ok(ChosenScheme {
            scheme,
            wish,
            most: shown_by_reference(shape.record_bytes() as u64),
        })
    }

    /// Chooses the scheme for a table of values of these lengths.
    fn choose_for(&self, lengths: &Lengths) -> papir_lookup::Result<ChosenScheme> {
        let wish = self.wish();
        // The buckets of the reference, mostly: what they show a client is the bound.
        let default = Estimate::of(lengths, proven(self.options, lengths, DEFAULT_BUCKET_BYTES))?;
        let most = shown_by_reference(self.arranged(&default)?.shape.record_bytes() as u64);

        let class = lengths.class();
        let scheme = default_scheme::choose(&wish, most, &|cost| self.least(&class, cost))?;
        Ok(ChosenScheme { scheme, wish, most })
    }

    /// The table of these lengths with the least cost; `None` if no table has one.
    fn least(&self, lengths: &Lengths, cost: &CostOf<'_>) -> Option<ArrangedRecords> {
        let table = least_table(
            lengths,
            |bytes| proven(self.options, lengths, bytes),
            |table| Ok(cost(self.arranged(table)?)?),
        );
        self.arranged(&table.ok()?).ok()
    }

    /// The bucket target of a table whose scheme is chosen by its lengths.
    fn chosen_bucket(&self, lengths: &Lengths) -> papir_lookup::Result<BucketTarget> {
        let chosen = self.choose_for(lengths)?;
        let goal = self.options.goal;

        let target = choose_bucket(
            lengths,
            |bytes| proven(self.options, lengths, bytes),
            |table| {
                let ArrangedRecords { shape, once } = self.arranged(table)?;
                Ok(chosen.candidate(shape)?.seconds(goal, once))
            },
        );
        // The class was supported: only numbers at a bound of a scheme lead to the reference.
        let target = match target {
            Ok(target) => target,
            Err(_) => self.best_bucket(lengths)?,
        };

        // Set once: a table is arranged once in a build.
        let _ = self.chosen.set(chosen);
        Ok(target)
    }

    /// The target for buckets that hold values of these lengths. A label names the parameters of
    /// one shape, so that the default belongs to it.
    pub(super) fn bucket(&self, lengths: &Lengths) -> papir_lookup::Result<BucketTarget> {
        if self.options.params.is_some() {
            return Ok(proven(self.options, lengths, DEFAULT_BUCKET_BYTES));
        }
        if self.options.chooses_scheme() {
            return self.chosen_bucket(lengths);
        }
        self.best_bucket(lengths)
    }

    /// The bucket target with the least cost under the scheme of the options.
    fn best_bucket(&self, lengths: &Lengths) -> papir_lookup::Result<BucketTarget> {
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
        let ArrangedRecords { shape, once } = self.arranged(table)?;
        let candidate = self.candidate(shape)?;
        Ok(candidate.seconds(self.options.goal, once))
    }

    /// The records of a table of this size, and the bytes of its layout.
    fn arranged(&self, table: &Estimate) -> CoreResult<ArrangedRecords> {
        // A proof is fetched with its bucket, and makes the record longer.
        let proof = if self.options.verifiable {
            proof_bytes(table.records) as u64
        } else {
            0
        };
        Ok(ArrangedRecords {
            shape: Shape::of_bytes(table.records, table.record_bytes + proof)?,
            once: table.layout_bytes,
        })
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
