//! Requests for answers: those of one version that wait are answered together.

use std::sync::Arc;
use std::time::{Duration, Instant};

use papir_core::Version;
use papir_core::erased::ErasedKeys;
use tracing::Span;

use crate::api::App;
use crate::database::{Database, Queries};
use crate::gate::{Admission, JobError, Kin, Work, caught};
use crate::metrics::Stage;
use crate::problem::Problem;
use crate::registry::{self, Credentials};

type Answer = Result<Vec<u8>, Problem>;

/// A request whose body is there.
pub(crate) struct Request {
    app: Arc<App>,
    database: Arc<Database>,
    /// What a query of another version is told.
    newest: Version,
    client: Credentials,
    queries: Vec<u8>,
    /// One a query, in schemes that have them.
    tickets: Vec<Vec<u8>>,
    span: Span,
    /// Since when it waits.
    since: Instant,
}

impl Request {
    /// A request that begins to wait.
    pub(crate) fn new(
        app: &Arc<App>,
        (database, newest): (Arc<Database>, Version),
        client: Credentials,
        queries: Vec<u8>,
    ) -> Self {
        let (app, span, since) = (Arc::clone(app), Span::current(), Instant::now());
        Self { app, database, newest, client, queries, tickets: Vec::new(), span, since }
    }

    /// Takes its tickets, which waits for the disk: not in its turn, when others would wait for it. It
    /// keeps its place meanwhile, even when its caller goes away.
    pub(crate) async fn with_tickets(self, admission: Admission) -> Result<(Self, Admission), Problem> {
        if !self.database.description().limits.tickets {
            return Ok((self, admission));
        }
        let admission = self.app.gate.begin(admission);
        let take = move || {
            let version = (&*self.database, self.newest);
            let take =
                || registry::tickets(self.app.registry.as_deref(), version, &self.client, &self.queries);
            let tickets = self.span.in_scope(take)?;
            Ok((Self { tickets, ..self }, admission))
        };
        tokio::task::spawn_blocking(take).await.map_err(|_| Problem::Internal)?
    }

    /// Its turn has come: the keys of its client. A panic fails this request alone.
    fn begin(&self) -> Result<Option<Arc<ErasedKeys>>, Problem> {
        self.app.metrics.stage(self.database.name(), Stage::Wait, self.since.elapsed());
        let keys = || {
            if let Some(observer) = &self.app.on_query {
                observer(self.database.name(), &self.queries);
            }
            registry::keys(self.app.registry.as_deref(), &self.database, &self.client)
        };
        self.span.in_scope(|| caught(keys))?
    }

    fn with<'a>(&'a self, keys: Option<&'a ErasedKeys>) -> Queries<'a> {
        Queries { bytes: &self.queries, keys, tickets: &self.tickets, newest: self.newest }
    }

    /// Counts an answer, which took this long.
    fn end(&self, answer: &Answer, time: Duration) {
        let (Ok(answers), name) = (answer, self.database.name()) else {
            return;
        };
        self.app.metrics.stage(name, Stage::Answer, time);
        self.app.metrics.answered(name, self.database.count(self.queries.len()), answers.len());
        let (received, sent, milliseconds) = (self.queries.len(), answers.len(), time.as_secs_f64() * 1e3);
        self.span.in_scope(|| {
            tracing::debug!(database = name, received, sent, milliseconds, "answered");
        });
    }
}

impl Kin for Request {
    /// One version as it was loaded once: it stays in its place as long as anybody waits for it.
    fn family(&self) -> usize {
        Arc::as_ptr(&self.database).addr()
    }

    fn fits<'a>(&'a self, group: impl Iterator<Item = &'a Self>) -> bool {
        self.database.fit_together(self.queries.len(), group.map(|one| one.queries.len()))
    }
}

impl Work for Request {
    type Answer = Answer;

    fn answer(group: Vec<Self>) -> Vec<Answer> {
        let start = Instant::now();
        let keys: Vec<_> = group.iter().map(Self::begin).collect();
        let ready: Vec<Queries<'_>> = group
            .iter()
            .zip(&keys)
            .filter_map(|(request, keys)| Some(request.with(keys.as_ref().ok()?.as_deref())))
            .collect();
        if let Some(first) = group.first() {
            first.app.metrics.grouped(first.database.name());
        }
        let mut answers =
            group.first().map_or_else(Vec::new, |one| one.database.together(&ready)).into_iter();
        drop(ready);
        let time = start.elapsed();
        let mut own = |keys: Result<_, Problem>| {
            keys.and_then(|_: Option<Arc<ErasedKeys>>| answers.next().unwrap_or(Err(Problem::Internal)))
        };
        let answers: Vec<Answer> = keys.into_iter().map(&mut own).collect();
        group.iter().zip(&answers).for_each(|(request, answer)| request.end(answer, time));
        answers
    }
}

impl Database {
    /// Answers requests together; where that panics, each by itself, so that one does not spoil the others.
    fn together(&self, requests: &[Queries<'_>]) -> Vec<Answer> {
        let answer = |requests| caught(|| self.answer(requests));
        match requests {
            [] => Vec::new(),
            [_] => only(answer(requests)),
            _ => answer(requests)
                .unwrap_or_else(|_| requests.chunks(1).flat_map(|one| only(answer(one))).collect()),
        }
    }
}

/// The answer to one request.
fn only(answers: Result<Vec<Answer>, JobError>) -> Vec<Answer> {
    answers.unwrap_or_else(|error| vec![Err(error.into())])
}
