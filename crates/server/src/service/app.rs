//! State shared by all requests.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use tokio::sync::Mutex;

use super::answering::QueryService;
use super::config::ServerConfig;
use super::protection::Guard;
use crate::admission::{Answers, Capacity, ClientKey, Memory, Relief, WorkTurns};
use crate::catalog::{Catalog, MAX_PREVIOUS};
use crate::clients::Registry;
use crate::error::Error;
use crate::gateway::ObliviousGateway;
use crate::metrics::Metrics;
use crate::privacy_pass::PassVerifier;
use crate::psi::Psi;
use crate::traces::TraceObserver;

/// Memory of answers for each byte of bodies.
const ANSWERS: usize = 4;
/// Least memory of descriptions: a service with little memory for bodies still describes itself.
const LEAST_DESCRIPTIONS: usize = 16 << 20;
/// Number of refused requests whose numbers are claimed at once. Each claim is a transaction of its
/// own.
const CLAIMING: usize = 4;

/// State shared by all requests.
pub(crate) struct App {
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) queries: QueryService,
    pub(crate) guard: Guard,
    pub(crate) registry: Option<Arc<Registry>>,
    pub(crate) psi: Option<Psi>,
    /// Opens sealed requests.
    pub(crate) gateway: Option<Arc<ObliviousGateway>>,
    /// Verifies private tokens.
    pub(crate) passes: Option<Arc<PassVerifier>>,
    pub(crate) metrics: Arc<Metrics>,
    /// Memory for request bodies.
    pub(crate) uploads: Arc<Memory>,
    /// Memory for answers until they are sent.
    pub(crate) answers: Arc<Answers>,
    /// Memory for descriptions, metrics and other responses until they are sent.
    pub(crate) descriptions: Arc<Answers>,
    /// Turns of refused requests whose numbers are claimed.
    pub(crate) claims: Arc<WorkTurns>,
    /// Held while metrics are rendered, which reads the whole registry.
    pub(crate) rendering: Arc<Mutex<()>>,
    pub(crate) body_timeout: Duration,
    /// Set once the service is to stop.
    pub(crate) stopping: AtomicBool,
    /// Called with the spans that requests name.
    pub(crate) on_trace: Option<TraceObserver>,
    /// Set if `GET /metrics` is served.
    pub(crate) show_metrics: bool,
    /// Folder of the page.
    pub(crate) page: Option<PathBuf>,
}

impl App {
    /// Opens the registry, the certificate and the tokens, and starts the answering threads.
    pub(crate) fn open(
        config: &ServerConfig,
        catalog: Catalog,
        psi: Option<Psi>,
    ) -> Result<Self, Error> {
        let passes = config.open_passes()?.map(Arc::new);
        // Before the answering threads: another service may use the place, and this one then ends.
        let registry = match &config.registry {
            Some(settings) => Some(Arc::new(Registry::open(settings)?)),
            None => None,
        };

        let gateway = match &config.ohttp {
            Some(file) => Some(Arc::new(ObliviousGateway::open(file, config.max_queued)?)),
            None => None,
        };

        let metrics = Arc::new(Metrics::new(catalog.names())?);
        if let Some(psi) = &psi {
            // The set was loaded when it was opened. Its metric exists before the first reload.
            metrics.load_failing(psi.name(), false);
        }
        if passes.is_some() {
            metrics.tokens_spent(0);
        }

        let queries = QueryService::new(
            capacity(config, &catalog),
            &metrics,
            registry.as_ref(),
            config.on_query.clone(),
        )?;

        // Waiting requests hold both kinds of memory, so the executor frees it for clients that
        // hold less. Sealed requests wait before, with their bodies.
        let uploads = Memory::new(config.max_upload_bytes);
        let answers = Answers::new(config.max_upload_bytes.saturating_mul(ANSWERS));
        uploads.relieved_by(relief_of_bodies(&queries, gateway.as_deref()));
        answers.relieved_by(queries.executor.relief_of_answers());

        Ok(Self {
            queries,
            catalog: Arc::new(catalog),
            guard: Guard::new(&config.protection)?,
            registry,
            psi,
            gateway,
            passes,
            metrics,
            uploads,
            answers,
            descriptions: Answers::new(config.max_upload_bytes.max(LEAST_DESCRIPTIONS)),
            claims: WorkTurns::new(CLAIMING, config.max_queued),
            rendering: Arc::default(),
            body_timeout: config.body_timeout,
            stopping: AtomicBool::new(false),
            on_trace: config.on_trace.clone(),
            show_metrics: config.metrics,
            page: config.page.clone(),
        })
    }
}

/// Refuses waiting requests, first those that are still sealed: no work was done for them.
fn relief_of_bodies(queries: &QueryService, gateway: Option<&ObliviousGateway>) -> Relief {
    let of_queries = queries.executor.relief_of_bodies();
    match gateway.map(ObliviousGateway::relief_of_bodies) {
        Some(of_sealed) => {
            Box::new(move |client: &ClientKey| of_sealed(client) || of_queries(client))
        }
        None => of_queries,
    }
}

/// Size of the executor for these databases and their earlier versions.
fn capacity(config: &ServerConfig, catalog: &Catalog) -> Capacity {
    Capacity {
        threads: config.threads,
        concurrent: config.max_concurrent,
        batches: catalog.names().count().saturating_mul(1 + MAX_PREVIOUS),
        queued: config.max_queued,
    }
}
