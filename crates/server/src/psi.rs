//! Private set intersection: the routes under `/v1/psi`, of a service that was given a set.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use papir_lookup::psi::Kind;
use papir_oprf::Key;
use papir_store::psi::{PsiSet, PsiSummary};
use rayon::ThreadPool;
use serde::Serialize;
use tokio::sync::Semaphore;
use utoipa::ToSchema;

use crate::api::{App, VERSION_HEADER, named_version};
use crate::catalog::Catalog;
use crate::identity::Identity;
use crate::problem::{Problem, Refusal};
use crate::routes::Routes;
use crate::{DatabaseConfig, Error, ServerConfig, gate, upload};

/// The most elements of one request.
const MAX_ELEMENTS: usize = 4096;
/// Elements that count as one request against a client's limits: about as much work as a small query.
const ELEMENTS_PER_REQUEST: u64 = 64;
/// When to come again where all places are taken.
const BUSY: Duration = Duration::from_secs(1);
/// Where elements are evaluated.
const EVALUATE: &str = "/v1/psi/evaluate";

const BINARY: HeaderValue = HeaderValue::from_static("application/octet-stream");

/// A set that receivers may meet.
pub(crate) struct Psi {
    path: PathBuf,
    set: RwLock<Arc<Loaded>>,
    /// The file that was loaded last, or could not be.
    tried: Mutex<Option<Identity>>,
    pool: Arc<ThreadPool>,
    /// Requests that are evaluated at the same time.
    turns: Arc<Semaphore>,
    /// Those that wait, too.
    places: Arc<Semaphore>,
}

/// A set as it is served.
struct Loaded {
    summary: PsiSummary,
    key: Key,
    /// One copy for all who download it.
    filter: Option<Bytes>,
}

impl Loaded {
    fn of(set: PsiSet) -> Self {
        let filter = set.filter.as_ref().map(|filter| Bytes::copy_from_slice(filter));
        Self { summary: set.summary, key: set.key, filter }
    }
}

/// What everybody may know of the set.
#[derive(Serialize, ToSchema)]
pub(crate) struct PsiInfo {
    /// `filter`: receivers download a filter; `retrieval`: they look elements up in a database.
    kind: &'static str,
    /// The version of the filter or database, 16 hexadecimal digits.
    version: String,
    /// Elements of the set.
    elements: u64,
    /// Bytes of the longest label; null for a set without labels.
    longest_label: Option<u32>,
    /// The most elements of one request.
    max_elements: usize,
    /// Bytes of the filter; null where there is none.
    filter_bytes: Option<usize>,
    /// The database that elements are looked up in; null where there is none.
    database: Option<String>,
}

impl Psi {
    /// Opens the file that the configuration names, if it does.
    pub(crate) fn open(config: &ServerConfig) -> Result<Option<Self>, Error> {
        let Some(path) = &config.psi else {
            return Ok(None);
        };
        let tried = Mutex::new(Identity::of(path));
        let set = RwLock::new(Arc::new(Loaded::of(load(path)?)));
        let turns = config.max_concurrent.clamp(1, Semaphore::MAX_PERMITS / 2);
        let places = turns + config.max_queued.min(Semaphore::MAX_PERMITS / 2);
        let pool = Arc::new(gate::pool(config.threads)?);
        let [turns, places] = [turns, places].map(|permits| Arc::new(Semaphore::new(permits)));
        Ok(Some(Self { path: path.clone(), set, tried, pool, turns, places }))
    }

    /// The database that belongs to it.
    pub(crate) fn database(&self) -> Option<DatabaseConfig> {
        (self.set().summary.kind == Kind::Retrieval).then(|| DatabaseConfig::new(&self.path, None))
    }

    /// Reads the file again, after its database was: what is bad, or does not go with the database, leaves the
    /// old in place, and is told of once.
    pub(crate) fn reload(&self, catalog: &Catalog) {
        // Held to the end: of two reloads the later one counts.
        let mut tried = self.tried.lock().unwrap_or_else(PoisonError::into_inner);
        *tried = Identity::of(&self.path);
        match self.fitting(catalog) {
            Ok(set) => *self.set.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(Loaded::of(set)),
            Err(reason) => tracing::error!(%reason, "the set stays as it was"),
        }
    }

    /// The file in place of the one that was loaded, or tried, last; `None` where it is the same one.
    pub(crate) fn changed(&self) -> Option<Option<Identity>> {
        let found = Identity::of(&self.path);
        let tried = self.tried.lock().unwrap_or_else(PoisonError::into_inner);
        (found != *tried).then_some(found)
    }

    /// The set in the file, if it can take the place of the one at hand.
    fn fitting(&self, catalog: &Catalog) -> Result<PsiSet, String> {
        let set = load(&self.path).map_err(|error| error.to_string())?;
        let (old, new) = (self.set().summary, set.summary);
        if old.kind != new.kind {
            return Err(format!("a set of kind {}: expected {}", new.kind.name(), old.kind.name()));
        }
        let database = self.database().and_then(|config| catalog.get(&config.name).ok());
        match database.map(|database| database.version()) {
            Some(served) if served != new.version => {
                Err(format!("version {} beside database {served}: expected the same", new.version))
            }
            _ => Ok(set),
        }
    }

    fn set(&self) -> Arc<Loaded> {
        Arc::clone(&self.set.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn info(&self) -> PsiInfo {
        let set = self.set();
        let summary = set.summary;
        PsiInfo {
            kind: summary.kind.name(),
            version: summary.version.to_string(),
            elements: summary.elements,
            longest_label: summary.longest,
            max_elements: MAX_ELEMENTS,
            filter_bytes: set.filter.as_ref().map(Bytes::len),
            database: self.database().map(|config| config.name),
        }
    }

    /// Evaluates blinded elements when their turn comes.
    async fn evaluate(&self, set: Arc<Loaded>, blinded: Vec<u8>) -> Result<Vec<u8>, Problem> {
        let busy = |_| Problem::Busy { after: BUSY };
        let place = Arc::clone(&self.places).try_acquire_owned().map_err(busy)?;
        let turn = Arc::clone(&self.turns).acquire_owned().await.map_err(|_| Problem::Internal)?;
        let (pool, current) = (Arc::clone(&self.pool), set.summary.version);
        let evaluating = tokio::task::spawn_blocking(move || {
            // Held until the work is done, also when nobody waits for it any more.
            let _held = (place, turn);
            pool.install(|| set.key.evaluate(&blinded))
        });
        let evaluated = evaluating.await.map_err(|_| Problem::Internal)?;
        evaluated.map_err(|error| Problem::of_query(error, (0, 1), current))
    }
}

fn load(path: &Path) -> Result<PsiSet, Error> {
    let name = DatabaseConfig::new(path, None).name;
    PsiSet::open(path).map_err(|source| Error::Load { name, path: path.to_owned(), source: Box::new(source) })
}

/// How many requests the evaluation of a body of this length counts as; `None` for other addresses.
pub(crate) fn cost(path: &str, announced: Option<u64>) -> Option<u64> {
    let most = (MAX_ELEMENTS * papir_oprf::ELEMENT_BYTES) as u64;
    let elements = announced.unwrap_or(most).min(most) / papir_oprf::ELEMENT_BYTES as u64;
    (path == EVALUATE).then(|| elements.div_ceil(ELEMENTS_PER_REQUEST).max(1))
}

/// Adds the routes of a service that was given a set.
pub(crate) fn routes(routes: Routes) -> Routes {
    routes.add(__path_info, info).add(__path_filter, filter).add(__path_evaluate, evaluate).shape::<PsiInfo>()
}

/// The set for private intersection.
#[utoipa::path(
    get, path = "/v1/psi",
    responses((status = 200, description = "what everybody may know of it", body = PsiInfo))
)]
async fn info(State(app): State<Arc<App>>) -> Result<Json<PsiInfo>, Problem> {
    Ok(Json(app.psi()?.info()))
}

/// The filter of the set, which a receiver keeps.
#[utoipa::path(
    get, path = "/v1/psi/filter",
    responses(
        (status = 200, description = "the filter (docs/formats.md)", content_type = "application/octet-stream",
         headers(("papir-version" = String, description = "its version"))),
        (status = 404, description = "`unknown_route`: elements of this set are looked up", body = Refusal),
    )
)]
async fn filter(State(app): State<Arc<App>>) -> Result<Response, Problem> {
    let set = app.psi()?.set();
    let bytes = set.filter.clone().ok_or(Problem::UnknownRoute)?;
    Ok((version(&set), [(header::CONTENT_TYPE, BINARY)], bytes).into_response())
}

/// Evaluates blinded elements.
///
/// The body is one to `max_elements` blinded elements of 32 bytes back to back; as many evaluated ones come back.
#[utoipa::path(
    post, path = "/v1/psi/evaluate",
    params(("papir-version" = Option<String>, Header, description = "the version that they will be looked for in")),
    request_body(content_type = "application/octet-stream", description = "blinded elements (docs/formats.md)"),
    responses(
        (status = 200, description = "as many evaluated elements", content_type = "application/octet-stream",
         headers(("papir-version" = String, description = "the version of the set"))),
        (status = 400, description = "`malformed`, `wrong_length`, `interrupted`: the request is at fault", body = Refusal),
        (status = 408, description = "`too_slow`: the body did not arrive in time", body = Refusal),
        (status = 409, description = "`wrong_version`: the set is another by now", body = Refusal,
         headers(("papir-version" = String, description = "the newest version"))),
        (status = 413, description = "`too_long`: more than `max_elements`", body = Refusal),
        (status = 429, description = "`busy`: no place left", body = Refusal,
         headers(("retry-after" = u64, description = "seconds"))),
        (status = 500, description = "`internal`", body = Refusal),
    )
)]
async fn evaluate(State(app): State<Arc<App>>, headers: HeaderMap, body: Body) -> Result<Response, Problem> {
    let psi = app.psi()?;
    let set = psi.set();
    let current = set.summary.version;
    if named_version(&headers)?.is_some_and(|named| named != current) {
        upload::drain(body, app.body_timeout).await;
        return Err(Problem::WrongVersion { current });
    }
    let limit = MAX_ELEMENTS * papir_oprf::ELEMENT_BYTES;
    let blinded = upload::read(body, limit, app.body_timeout).await?;
    let elements = blinded.len() / papir_oprf::ELEMENT_BYTES;
    let evaluated = psi.evaluate(Arc::clone(&set), blinded).await?;
    tracing::info!(elements, "evaluated");
    Ok((version(&set), [(header::CONTENT_TYPE, BINARY)], evaluated).into_response())
}

fn version(set: &Loaded) -> [(HeaderName, String); 1] {
    [(HeaderName::from_static(VERSION_HEADER), set.summary.version.to_string())]
}

impl App {
    fn psi(&self) -> Result<&Psi, Problem> {
        self.psi.as_ref().ok_or(Problem::UnknownRoute)
    }
}
