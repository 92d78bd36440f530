//! Query requests, answered in batches.
//!
//! Waiting requests for one version are answered together.

use std::sync::Arc;
use std::time::{Duration, Instant};

use papir_core::erased::ErasedKeys;
use tracing::Span;

use super::config::QueryObserver;
use crate::admission::{
    Batchable, Capacity, ClientKey, Executor, HeldAnswer, JobError, Permit, Work, catch_panic,
};
use crate::catalog::{ChosenVersion, Database, QueryError, RequestQueries};
use crate::clients::{self, ClientError, ClientId, Credentials, Registry};
use crate::error::Error;
use crate::metrics::{Metrics, Stage};
use crate::traces;

/// Reason why a request is not answered.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AnswerError {
    /// The queries are invalid or could not be answered.
    #[error(transparent)]
    Query(#[from] QueryError),
    /// The client's keys or tickets are missing or invalid.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The computation panicked or was stopped.
    #[error(transparent)]
    Job(#[from] JobError),
    /// The request gave up its place.
    #[error("shed")]
    Shed { retry_after: Duration },
    /// A task was aborted.
    #[error("aborted")]
    Aborted,
}

/// The answers of a request, and their memory until they are sent.
pub(crate) struct Answered {
    pub(crate) bytes: Vec<u8>,
    pub(crate) memory: HeldAnswer,
}

type Answer = Result<Vec<u8>, AnswerError>;

/// Answers query requests on its own threads.
pub(crate) struct QueryService {
    pub(crate) executor: Executor<SubmittedQuery>,
    context: Arc<Context>,
}

/// State shared by all requests of a [`QueryService`].
struct Context {
    metrics: Arc<Metrics>,
    registry: Option<Arc<Registry>>,
    observer: Option<QueryObserver>,
}

/// A request whose body has arrived.
pub(crate) struct Submission {
    pub(crate) target: ChosenVersion,
    pub(crate) client: ClientKey,
    pub(crate) credentials: Credentials,
    /// Concatenated queries.
    pub(crate) queries: Vec<u8>,
    /// The memory of the answers. A request that gives up its place frees it at once.
    pub(crate) memory: HeldAnswer,
}

/// A submitted request, until it is answered.
pub(crate) struct SubmittedQuery {
    submission: Submission,
    context: Arc<Context>,
    /// One per query, in schemes with tickets; `None` for a query whose key was sent ahead.
    tickets: Vec<Option<Vec<u8>>>,
    span: Span,
    /// Start of the wait.
    since: Instant,
    /// The span of the current stage.
    stage: Span,
}

impl QueryService {
    /// Starts the threads.
    pub(crate) fn new(
        size: Capacity,
        metrics: &Arc<Metrics>,
        registry: Option<&Arc<Registry>>,
        observer: Option<QueryObserver>,
    ) -> Result<Self, Error> {
        let context = Context {
            metrics: Arc::clone(metrics),
            registry: registry.cloned(),
            observer,
        };
        Ok(Self {
            executor: Executor::new(size)?,
            context: Arc::new(context),
        })
    }

    /// Answers a request. Returns the concatenated answers.
    ///
    /// Once the client's tickets are being taken, the request keeps its permit until it is
    /// answered, even if the caller is cancelled.
    pub(crate) async fn submit(
        &self,
        permit: Permit,
        submission: Submission,
    ) -> Result<Answered, AnswerError> {
        let span = Span::current();
        let name = submission.target.database.name();
        let request = SubmittedQuery {
            stage: traces::stage(&span, name, Stage::Wait),
            submission,
            context: Arc::clone(&self.context),
            tickets: Vec::new(),
            span,
            since: Instant::now(),
        };

        let (request, permit) = self.with_session(request, permit).await?;
        self.executor
            .run(permit, request)
            .await
            .map_err(|error| self.refused(error))?
    }

    fn refused(&self, error: JobError) -> AnswerError {
        match error {
            JobError::Shed => AnswerError::Shed {
                retry_after: self.executor.retry_after(),
            },
            other => other.into(),
        }
    }

    /// Checks that a version accepts the keys of a client. Unless they are in memory, they are
    /// loaded in the client's turn.
    pub(crate) async fn check_keys(
        &self,
        registry: &Arc<Registry>,
        database: &Arc<Database>,
        client: &ClientKey,
        id: ClientId,
    ) -> Result<(), AnswerError> {
        if registry.has_loaded(database, id) {
            return Ok(());
        }

        let permit = self.executor.admit(client);
        let permit = permit.map_err(|retry_after| AnswerError::Shed { retry_after })?;
        let held = self
            .executor
            .loading(client, permit)
            .await
            .map_err(|error| self.refused(error))?;

        let registry = Arc::clone(registry);
        let database = Arc::clone(database);
        let checking = tokio::task::spawn_blocking(move || {
            // Held until the check is done, even if the client disconnects.
            let _held = held;
            registry.check_keys(&database, id)
        });
        Ok(checking.await.map_err(|_| AnswerError::Aborted)??)
    }

    /// Loads the keys of the request's client into the cache, and takes the request's tickets. This
    /// waits for the disk and for the parsing of large keys, so it happens before the request is
    /// queued: in a batch, other requests would have to wait for it. The request does not hold the
    /// keys, so that the keys of many waiting requests never exceed the cache.
    async fn with_session(
        &self,
        request: SubmittedQuery,
        permit: Permit,
    ) -> Result<(SubmittedQuery, Permit), AnswerError> {
        let limits = &request.database().description().limits;
        if !limits.client_keys && !limits.tickets {
            return Ok((request, permit));
        }

        // Before the keys are loaded: the worker that prepares tickets gives way from now on.
        let permit = self.executor.mark_pending(permit);

        // Clients whose keys are in memory need not wait for clients whose keys must be loaded.
        let client = request.client();
        let entered = match request.is_cold() {
            true => self.executor.loading(client, permit).await,
            false => self.executor.taking(client, permit).await,
        };
        let (turn, permit) = entered.map_err(|error| self.refused(error))?;

        let loading = tokio::task::spawn_blocking(move || {
            // Held until the keys are loaded, even if the client disconnects.
            let _turn = turn;
            let tickets = request
                .span
                .in_scope(|| catch_panic(|| request.session()))??;
            Ok((SubmittedQuery { tickets, ..request }, permit))
        });
        loading.await.map_err(|_| AnswerError::Aborted)?
    }
}

impl SubmittedQuery {
    fn database(&self) -> &Database {
        &self.submission.target.database
    }

    /// Returns whether the client's keys are not in memory.
    fn is_cold(&self) -> bool {
        match (&self.context.registry, self.submission.credentials.client) {
            (Some(registry), Some(id)) => !registry.has_loaded(self.database(), id),
            _ => false,
        }
    }

    /// Loads the client's keys into the cache. Returns the tickets, in schemes with tickets.
    fn session(&self) -> Result<Vec<Option<Vec<u8>>>, ClientError> {
        let registry = self.context.registry.as_deref();
        let Submission {
            target,
            credentials,
            queries,
            ..
        } = &self.submission;

        if target.database.description().limits.tickets {
            return clients::tickets(registry, target, credentials, queries);
        }
        clients::keys(registry, &target.database, credentials).map(|_| Vec::new())
    }

    /// Ends the span of the wait, and begins that of the answer.
    fn end_wait(&mut self) {
        // Ended first, so that the stages do not overlap.
        self.stage = Span::none();
        self.stage = traces::stage(&self.span, self.database().name(), Stage::Answer);
    }

    /// Ends the wait and takes the client's keys from the cache, where they usually still are. A
    /// panic fails this request only.
    fn begin(&self) -> Result<Option<Arc<ErasedKeys>>, AnswerError> {
        let name = self.database().name();
        self.context
            .metrics
            .stage(name, Stage::Wait, self.since.elapsed());

        let keys = self.span.in_scope(|| catch_panic(|| self.observed_keys()));
        Ok(keys??)
    }

    /// Shows the queries to the observer, and takes the client's keys.
    fn observed_keys(&self) -> Result<Option<Arc<ErasedKeys>>, ClientError> {
        let database = self.database();
        if let Some(observer) = &self.context.observer {
            observer(database.name(), &self.submission.queries);
        }

        let registry = self.context.registry.as_deref();
        clients::keys_for_answer(registry, database, &self.submission.credentials)
    }

    fn with_keys<'a>(&'a self, keys: Option<&'a ErasedKeys>) -> RequestQueries<'a> {
        RequestQueries {
            bytes: &self.submission.queries,
            keys,
            tickets: &self.tickets,
            newest: self.submission.target.newest,
        }
    }

    /// Records an answer that took `time`.
    fn record(&self, answer: &Answer, time: Duration) {
        let Ok(answers) = answer else {
            return;
        };

        let name = self.database().name();
        let metrics = &self.context.metrics;
        let queries = &self.submission.queries;
        metrics.stage(name, Stage::Answer, time);
        metrics.answered(name, self.database().count(queries), answers.len());

        let received = queries.len();
        let sent = answers.len();
        let milliseconds = time.as_secs_f64() * 1e3;
        self.span.in_scope(|| {
            tracing::debug!(database = name, received, sent, milliseconds, "answered");
        });
    }

    /// The memory of the answers. Frees the rest of the request.
    fn into_memory(self) -> HeldAnswer {
        self.submission.memory
    }
}

impl Batchable for SubmittedQuery {
    /// The address of the loaded version. It is unique and stable while any request refers to it.
    fn batch_key(&self) -> usize {
        Arc::as_ptr(&self.submission.target.database).addr()
    }

    fn batches_at_once(&self) -> usize {
        self.database().batches_at_once()
    }

    fn fits<'a>(&'a self, batch: impl Iterator<Item = &'a Self>) -> bool {
        let others = batch.map(|one| &one.submission.queries[..]);
        self.database()
            .fit_together(&self.submission.queries, others)
    }

    fn client(&self) -> &ClientKey {
        &self.submission.client
    }
}

impl Work for SubmittedQuery {
    type Answer = Result<Answered, AnswerError>;

    fn run_batch(mut batch: Vec<Self>) -> Vec<Self::Answer> {
        let start = Instant::now();
        batch.iter_mut().for_each(Self::end_wait);
        let keys: Vec<Result<_, AnswerError>> = batch.iter().map(Self::begin).collect();

        // Only requests whose keys could be loaded are answered; the others keep their error.
        let mut ready = Vec::with_capacity(batch.len());
        for (request, keys) in batch.iter().zip(&keys) {
            if let Ok(keys) = keys {
                ready.push(request.with_keys(keys.as_deref()));
            }
        }

        let mut computed = Vec::new().into_iter();
        if let Some(first) = batch.first() {
            first.context.metrics.batched(first.database().name());
            computed = answer_together(first.database(), &ready).into_iter();
        }
        drop(ready);
        let time = start.elapsed();

        let answers: Vec<Answer> = keys
            .into_iter()
            .map(|keys| keys.and_then(|_| computed.next().unwrap_or(Err(AnswerError::Aborted))))
            .collect();
        for (request, answer) in batch.iter().zip(&answers) {
            request.record(answer, time);
        }

        let mut answered = Vec::with_capacity(batch.len());
        for (answer, request) in answers.into_iter().zip(batch) {
            let memory = request.into_memory();
            answered.push(answer.map(|bytes| Answered { bytes, memory }));
        }
        answered
    }
}

/// Answers requests in one pass over the database. If that panics, answers each request separately,
/// so that one request cannot fail the others.
fn answer_together(database: &Database, requests: &[RequestQueries<'_>]) -> Vec<Answer> {
    match requests {
        [] => return Vec::new(),
        [_] => return answer_one(database, requests),
        _ => {}
    }

    match catch_panic(|| database.answer(requests)) {
        Ok(answers) => answers.into_iter().map(|answer| Ok(answer?)).collect(),
        Err(_) => requests
            .chunks(1)
            .flat_map(|one| answer_one(database, one))
            .collect(),
    }
}

/// Answers a slice of one request.
fn answer_one(database: &Database, request: &[RequestQueries<'_>]) -> Vec<Answer> {
    match catch_panic(|| database.answer(request)) {
        Ok(answers) => answers.into_iter().map(|answer| Ok(answer?)).collect(),
        Err(error) => vec![Err(error.into())],
    }
}
