//! Parameters of batches over a scheme.

use std::fmt;
use std::marker::PhantomData;

use papir_core::certificate::{FailureCertificate, TermKind};
use papir_core::codec::{Reader, Writer};
use papir_core::cost::{Counts, Rates, Work};
use papir_core::scheme::{Choice, Goal, Parameters, Target, not_encrypted, of_goals};
use papir_core::{Description, Error, FailureBound, Limits, Result, Shape, Sizes, Terms, envelope};

use super::bound::{least_width, most_width, placement_log2};
use super::bucket::Bucket;
use super::code::{Buckets, CopyPlace};
use crate::shared::messages::SEED_BYTES;
use crate::shared::parameters::{best, check_failure, refused, score, sealed};

/// Largest capacity of a batch.
pub const MAX_CAPACITY: usize = 1024;
/// Default capacity of a batch. It is less in a small database.
const DEFAULT_CAPACITY: usize = 64;
/// Least ratio of a database's records to the default capacity of a batch, if the capacity exceeds
/// 1.
const RECORDS_PER_CAPACITY: u64 = 1024;
/// Largest number of copies of a record.
const MOST_FUNCTIONS: usize = 6;
/// Largest number of bytes of a query. It bounds a client's allocations for the parameters of a
/// server.
const MAX_QUERY_BYTES: usize = 1 << 29;
/// Source of the union bound over groups, in certificates.
const UNION: &str = "schemes/src/batched/params.rs, failure_log2";

/// Batches over a scheme.
pub struct Batched<S>(PhantomData<fn() -> S>);

/// Checked parameters of batches over a scheme.
pub struct BatchedParams<S: Bucket> {
    shape: Shape,
    /// Largest number of records in a batch.
    pub(super) capacity: usize,
    pub(super) buckets: Buckets,
    placement_log2: f64,
    /// Parameters of the scheme below for one group.
    pub(super) inner: S::Params,
}

impl<S: Bucket> Clone for BatchedParams<S> {
    fn clone(&self) -> Self {
        Self {
            inner: self.inner.clone(),
            ..*self
        }
    }
}

impl<S: Bucket> fmt::Debug for BatchedParams<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BatchedParams")
            .field("shape", &self.shape)
            .field("capacity", &self.capacity)
            .field("buckets", &self.buckets)
            .field("inner", &self.inner)
            .finish_non_exhaustive()
    }
}

impl<S: Bucket> BatchedParams<S> {
    /// Chooses the parameters of least cost for batches of up to `capacity` records.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] for a capacity that is not 1 to [`MAX_CAPACITY`], and the errors of
    /// the scheme below.
    pub fn for_capacity(shape: Shape, target: impl Into<Target>, capacity: usize) -> Result<Self> {
        let capacity = checked(capacity)?;
        let Target { goal, failure } = target.into();

        Self::best_of(shape, capacity, Target { goal, failure }, |bucket| {
            S::groups_of(bucket, failure)
        })
    }

    /// Chooses the parameters of least cost. `groups_of` returns the groups' parameters to compare
    /// for a bucket's shape.
    fn best_of(
        shape: Shape,
        capacity: usize,
        Target { goal, failure }: Target,
        groups_of: impl Fn(Shape) -> Result<Vec<S::Params>>,
    ) -> Result<Self> {
        let mut fit = Vec::new();
        let mut first_error = None;
        for params in Self::of_capacity(shape, capacity, failure, groups_of) {
            match params {
                Ok(params) => fit.push(params),
                Err(error) => first_error = first_error.or(Some(error)),
            }
        }

        if let Some(params) = best(fit, |params| params.score(goal)) {
            return Ok(params);
        }
        let none = format!("no buckets for batches of {capacity}");
        Err(first_error.unwrap_or_else(|| Self::unfit(none)))
    }

    /// Returns parameters for each number of copies that can keep the bound, with each of the
    /// scheme's parameters for the buckets. Parameters that do not fit are returned as an error.
    fn of_capacity(
        shape: Shape,
        capacity: usize,
        failure: FailureBound,
        groups_of: impl Fn(Shape) -> Result<Vec<S::Params>>,
    ) -> Vec<Result<Self>> {
        let mut all = Vec::new();

        // One record needs one copy. With one copy each, two records soon share a bucket.
        for functions in capacity.min(2)..=MOST_FUNCTIONS.min(capacity) {
            let Some(width) = least_width(capacity, functions, shape.records(), failure) else {
                continue;
            };
            let buckets = Buckets { functions, width };
            let of_bucket = Shape::new(buckets.records(shape.records()), shape.record_bits());

            match of_bucket.and_then(&groups_of) {
                Ok(groups) => {
                    all.extend(
                        groups
                            .into_iter()
                            .map(|inner| Self::new(shape, capacity, buckets, inner)),
                    );
                }
                Err(error) => all.push(Err(error)),
            }
        }

        all
    }

    fn new(shape: Shape, capacity: usize, buckets: Buckets, inner: S::Params) -> Result<Self> {
        let placement_log2 = placement_log2(capacity, buckets, shape.records());
        let failure = inner.describe().failure_bound;
        let params = Self {
            shape,
            capacity,
            buckets,
            placement_log2,
            inner,
        };

        params.check_placement(failure)?;
        params.check_groups()?;
        params.check_query()?;
        check_failure(S::BATCHED_NAME, params.failure_log2(), failure)?;

        Ok(params)
    }

    /// Checks that the probability that a batch finds no places is within a failure bound.
    fn check_placement(&self, failure: FailureBound) -> Result<()> {
        let capacity = self.capacity;
        let placement_log2 = self.placement_log2;

        // NaN is not below any bound, and is refused.
        if placement_log2 <= failure.log2() {
            return Ok(());
        }

        let reason = format!(
            "{capacity} records find no places with probability 2^{placement_log2:.1}, above {failure}"
        );
        Err(Self::unfit(reason))
    }

    /// Checks that the groups have the records of their buckets, and that most parts of a group are
    /// used.
    fn check_groups(&self) -> Result<()> {
        let parts = self.parts();
        let buckets = self.bucket_count();

        // Decoded parameters may pair any groups with any buckets. Indices in a group are computed
        // for this shape.
        let records = self.part_records().saturating_mul(parts as u64);
        let found = self.inner.shape();
        let expected = Shape::new(records, self.shape.record_bits())?;
        if found != expected {
            return Err(Self::unfit(format!(
                "groups of buckets of {found:?} for {expected:?}"
            )));
        }

        if parts > buckets.next_power_of_two() {
            return Err(Self::unfit(format!(
                "groups of {parts} for {buckets} buckets, mostly empty"
            )));
        }
        Ok(())
    }

    /// Checks that a query has at most [`MAX_QUERY_BYTES`] bytes.
    fn check_query(&self) -> Result<()> {
        let bytes = self.query_bytes();
        if bytes > MAX_QUERY_BYTES {
            return Err(Self::unfit(format!(
                "a query of {bytes} bytes, above {MAX_QUERY_BYTES}"
            )));
        }
        Ok(())
    }

    /// Creates parameters for tests, with these buckets in groups of at most `parts`. They need not
    /// keep the failure bound.
    #[cfg(test)]
    pub(super) fn unbounded(
        shape: Shape,
        capacity: usize,
        buckets: Buckets,
        parts: usize,
    ) -> Result<Self> {
        let of_bucket = Shape::new(buckets.records(shape.records()), shape.record_bits())?;
        let inner = S::groups_of(of_bucket, FailureBound::DEFAULT)?
            .into_iter()
            .rfind(|inner| S::parts(inner) <= parts);
        let inner = inner.ok_or_else(|| Self::unfit("no parameters for buckets"))?;

        Ok(Self {
            shape,
            capacity,
            buckets,
            placement_log2: 0.0,
            inner,
        })
    }

    /// Returns the number of buckets. A batch queries each bucket for one record.
    pub fn bucket_count(&self) -> usize {
        self.buckets.count()
    }

    /// Returns the number of buckets in one group of the scheme below.
    pub(super) fn parts(&self) -> usize {
        S::parts(&self.inner)
    }

    /// Returns the number of groups. Each group gets one query; the last group may have unused
    /// parts.
    pub(super) fn groups(&self) -> usize {
        self.bucket_count().div_ceil(self.parts())
    }

    /// Returns the number of records in each part of a group. Records beyond the bucket's own are
    /// zero.
    pub(super) fn part_records(&self) -> u64 {
        S::part_records(&self.inner, self.buckets.records(self.shape.records()))
    }

    /// Returns the number of records in a bucket.
    pub fn bucket_records(&self) -> u64 {
        self.buckets.records(self.shape.records())
    }

    /// Returns the number of a place's group, and the place's index in that group.
    pub(super) fn in_group(&self, place: CopyPlace) -> (usize, u64) {
        let group = place.bucket / self.parts();
        let part = place.bucket % self.parts();
        (group, part as u64 * self.part_records() + place.position)
    }

    pub(super) fn unfit(reason: impl ToString) -> Error {
        refused(S::BATCHED_NAME)(reason)
    }

    /// Returns log₂ of a bound on the probability that some answer of a batch does not decode.
    fn failure_log2(&self) -> f64 {
        // A union bound: a batch fails if the answer of any group does.
        self.inner.describe().failure_log2 + (self.groups() as f64).log2()
    }

    /// Returns the number of bytes of a query's payload.
    pub(super) fn query_bytes(&self) -> usize {
        let shared = S::shared_bytes(&self.inner).len();
        let one = payload(self.inner.describe().sizes.query);
        shared + self.groups() * (one - shared)
    }

    /// Returns the number of bytes of an answer's payload.
    pub(super) fn answer_bytes(&self) -> usize {
        self.groups() * payload(self.inner.describe().sizes.answer)
    }

    fn sizes(&self) -> Sizes {
        let one = self.inner.describe().sizes;
        let count = self.groups() as u64;

        // A message has its parameters and the shared part of a query once, not for each group.
        let parameters = 8 + self.inner.encode().len();
        let public = payload(one.public) - parameters;
        let shared = S::shared_bytes(&self.inner).len() as u64;

        Sizes {
            public: sealed(8 + self.encode().len() + SEED_BYTES + public * self.groups()),
            hint: one.hint * count,
            query_keys: shared + (one.query_keys - shared) * count,
            query: sealed(self.query_bytes()),
            answer: sealed(self.answer_bytes()),
            database: one.database * count,
            material: one.material * count,
            ..Sizes::default()
        }
    }

    fn work(&self) -> Work {
        let one = self.inner.describe().work;
        let count = self.groups();

        Work {
            setup: repeated(&one.setup, count),
            query: repeated(&one.query, count),
            answer: repeated(&one.answer, count),
            extract: repeated(&one.extract, count),
        }
    }

    /// Returns the cost of one batch under a goal: the bytes of query and answer, the seconds of
    /// the answer on one core, or a sum of both.
    fn score(&self, goal: Goal) -> f64 {
        let bytes = (self.query_bytes() + self.answer_bytes()) as f64;
        let seconds = self.work().answer.seconds(&Rates::BUILT_IN, 1);
        score(goal, bytes, seconds)
    }
}

impl<S: Bucket> Parameters for BatchedParams<S> {
    fn choose(shape: Shape, target: impl Into<Target>) -> Result<Self> {
        Self::for_capacity(shape, target, default_capacity(shape))
    }

    /// Chooses parameters for batches of default capacity. The scheme below applies `choice` to its
    /// buckets.
    fn with_fixed(shape: Shape, choice: Choice) -> Result<Self> {
        Self::best_of(
            shape,
            default_capacity(shape),
            Target::default(),
            |bucket| Ok(vec![S::Params::with_choice(bucket, choice)?]),
        )
    }

    /// Returns the choices for all goals, and the choice of records with digests if the scheme
    /// below has it.
    fn candidates(shape: Shape, failure: FailureBound) -> Result<Vec<Self>> {
        let chosen = of_goals(shape, failure)?;
        Ok(chosen
            .into_iter()
            // A refused choice is an iterator of nothing, and is left out.
            .chain(Self::with_choice(shape, Choice::Digests))
            .collect())
    }

    fn label(&self) -> String {
        let Buckets { functions, width } = self.buckets;
        let inner = self.inner.label();
        format!(
            "batches of {}, {functions} x {width} buckets; {inner}",
            self.capacity
        )
    }

    fn shape(&self) -> Shape {
        self.shape
    }

    fn describe(&self) -> Description {
        let one = self.inner.describe();
        let mut parameters = vec![
            ("k (records a batch)", self.capacity.to_string()),
            ("w (copies of a record)", self.buckets.functions.to_string()),
            ("buckets", self.bucket_count().to_string()),
            (
                "records a bucket",
                self.buckets.records(self.shape.records()).to_string(),
            ),
            (
                "no places for a batch",
                format!("2^{:.1}", self.placement_log2),
            ),
        ];

        parameters.extend(one.parameters);

        Description {
            scheme: S::BATCHED_NAME,
            privacy: S::PRIVACY,
            shape: self.shape,
            sizes: self.sizes(),
            security: one.security,
            failure_log2: self.failure_log2(),
            failure_bound: one.failure_bound,
            limits: Limits {
                batch: self.capacity,
                client_keys: false,
                tickets: false,
                ..one.limits
            },
            parameters,
            work: self.work(),
        }
    }

    fn with_terms(self, terms: &Terms) -> Result<Self> {
        if terms.owner.is_some() {
            return Err(not_encrypted(S::BATCHED_NAME));
        }

        Ok(Self {
            inner: self.inner.with_terms(terms)?,
            ..self
        })
    }

    /// Returns the certificate of a union bound over the groups, each with the certificate of the
    /// scheme below.
    fn certificate(&self) -> Result<FailureCertificate> {
        let mut certificate = FailureCertificate::new(&self.describe())?;

        certificate.parameter("buckets", self.bucket_count());
        certificate.parameter("parts", self.parts());
        certificate.term("groups", TermKind::Count, UNION, self.groups());
        certificate.below = Some(Box::new(self.inner.certificate()?));

        Ok(certificate)
    }

    fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::new();

        writer.u64(self.shape.records()).u32(self.capacity as u32);
        writer
            .u8(self.buckets.functions as u8)
            .u32(self.buckets.width as u32);
        writer.raw(&self.inner.encode());

        writer.finish()
    }

    fn decode(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new("parameters of batches", bytes);
        let records = reader.u64()?;
        let capacity = checked(reader.u32()? as usize)?;
        let functions = usize::from(reader.u8()?);
        let width = reader.u32()? as usize;

        // Checked before `new`, whose time grows with the width.
        let widest = most_width(capacity, records);
        if !(1..=MOST_FUNCTIONS).contains(&functions) || !(1..=widest).contains(&width) {
            let found = format!("{functions} times {width} buckets for {records} records");
            let expected = format!("1 to {MOST_FUNCTIONS} times 1 to {widest}");
            return Err(Error::malformed("parameters of batches", found, expected));
        }

        let inner = S::Params::decode(reader.rest())?;
        let shape = Shape::new(records, inner.shape().record_bits())?;
        Self::new(shape, capacity, Buckets { functions, width }, inner)
    }
}

fn default_capacity(shape: Shape) -> usize {
    (shape.records() / RECORDS_PER_CAPACITY).clamp(1, DEFAULT_CAPACITY as u64) as usize
}

fn checked(capacity: usize) -> Result<usize> {
    if (1..=MAX_CAPACITY).contains(&capacity) {
        return Ok(capacity);
    }

    let expected = format!("1 to {MAX_CAPACITY}");
    Err(Error::out_of_bounds(
        "the number of records of a batch",
        capacity as u64,
        expected,
    ))
}

/// Returns the number of bytes of a message without its envelope.
fn payload(sealed: u64) -> usize {
    sealed as usize - envelope::OVERHEAD
}

/// Returns the work for `times` groups, which threads may share.
fn repeated(counts: &Counts, times: usize) -> Counts {
    counts.iter().fold(Counts::new(), |all, one| {
        all.with(
            one.operation,
            one.times * times as f64,
            one.parts.saturating_mul(times),
        )
    })
}
