//! The routes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Json;
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::rejection::PathRejection;
use axum::extract::{Extension, Path, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use papir_core::Version;

use crate::access::grant::Grant;
use crate::answering::Request;
use crate::catalog::Catalog;
use crate::config::QueryObserver;
use crate::gate::{Admission, Gate};
use crate::identify::{RequestIds, identify};
use crate::info::{Detail, List};
use crate::metrics::{Metrics, Stage, Tally, render};
use crate::problem::{Problem, Refusal};
use crate::protection::{self, Account, Guard};
use crate::psi::{self, Psi};
use crate::registry::{self, Credentials, Registry};
use crate::routes::Routes;
use crate::upload;
use crate::versions::Answerable;

/// Names the version that a response comes from, and, in a request, the one it is made for.
pub(crate) const VERSION_HEADER: &str = "papir-version";
const BINARY: HeaderValue = HeaderValue::from_static("application/octet-stream");
/// The text form of Prometheus.
const METRICS: HeaderValue = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");

/// What every request shares.
pub(crate) struct App {
    pub(crate) catalog: Catalog,
    pub(crate) gate: Gate<Request>,
    pub(crate) guard: Guard,
    pub(crate) registry: Option<Arc<Registry>>,
    pub(crate) psi: Option<Psi>,
    pub(crate) body_timeout: Duration,
    pub(crate) on_query: Option<QueryObserver>,
    pub(crate) metrics: Metrics,
    /// Whether the metrics have a route.
    pub(crate) show_metrics: bool,
    pub(crate) request_ids: RequestIds,
}

type DatabaseName = Result<Path<String>, PathRejection>;

/// All routes of a service.
pub(crate) fn router(app: Arc<App>) -> Router {
    let mut routes = Routes::new()
        .add(__path_list, list)
        .add(__path_info, info)
        .add(__path_public, public)
        .add(__path_query, query)
        .add(__path_alive, alive)
        .add(__path_ready, ready)
        .shape::<List>()
        .shape::<Detail>();
    if app.show_metrics {
        routes = routes.add(__path_metrics, metrics);
    }
    if app.psi.is_some() {
        routes = psi::routes(routes);
    }
    protection::documented(registry::routes(routes))
        .finish()
        .fallback(|| async { Problem::UnknownRoute })
        .method_not_allowed_fallback(|| async { Problem::WrongMethod })
        .layer(from_fn_with_state(Arc::clone(&app), protection::check))
        .layer(from_fn_with_state(Arc::clone(&app), identify))
        .with_state(app)
}

/// Alive.
///
/// Answers from the moment that the service listens.
#[utoipa::path(
    get, path = "/healthz",
    responses((status = 200, description = "`ok`", body = String, content_type = "text/plain"))
)]
async fn alive() -> &'static str {
    "ok\n"
}

/// Ready: all databases are loaded.
#[utoipa::path(
    get, path = "/readyz",
    responses(
        (status = 200, description = "`ready`", body = String, content_type = "text/plain"),
        (status = 503, description = "`not_ready`: databases are being loaded", body = Refusal,
         headers(("retry-after" = u64, description = "seconds"))),
    )
)]
async fn ready(State(app): State<Arc<App>>) -> Result<&'static str, Problem> {
    app.catalog.all().map(|_| "ready\n")
}

/// What an operator watches, in the text form of Prometheus.
#[utoipa::path(
    get, path = "/metrics",
    responses(
        (status = 200, description = "the metrics", body = String, content_type = "text/plain"),
        (status = 500, description = "`internal`", body = Refusal),
    )
)]
async fn metrics(State(app): State<Arc<App>>) -> Result<Response, Problem> {
    // The registry's figures are read from its file: not on the async threads.
    let rendered = tokio::task::spawn_blocking(move || render(&app)).await;
    let text = rendered.map_err(|_| Problem::Internal)?.map_err(|_| Problem::Internal)?;
    Ok(([(header::CONTENT_TYPE, METRICS)], text).into_response())
}

/// The databases.
#[utoipa::path(
    get, path = "/v1/databases",
    responses(
        (status = 200, description = "all databases", body = List),
        (status = 503, description = "`not_ready`: databases are being loaded", body = Refusal,
         headers(("retry-after" = u64, description = "seconds"))),
    )
)]
async fn list(State(app): State<Arc<App>>, grant: Grant) -> Result<Json<List>, Problem> {
    let all = app.catalog.all()?;
    let allowed = all.iter().filter(|database| grant.allows(database.name()));
    let databases = allowed.map(|database| database.info().summary.clone()).collect();
    Ok(Json(List { databases }))
}

/// One database.
///
/// Its newest version, and the older ones that are still answered.
#[utoipa::path(
    get, path = "/v1/databases/{name}",
    params(("name" = String, Path, description = "the database's name")),
    responses(
        (status = 200, description = "what the server knows of it", body = Detail),
        (status = 404, description = "`unknown_database`", body = Refusal),
        (status = 503, description = "`not_ready`: it is being loaded", body = Refusal,
         headers(("retry-after" = u64, description = "seconds"))),
    )
)]
async fn info(State(app): State<Arc<App>>, name: DatabaseName) -> Result<Json<Detail>, Problem> {
    let standing = app.catalog.standing(&text(name))?;
    Detail::of(&standing).map(Json).ok_or(Problem::NotReady)
}

/// What a client starts from.
///
/// The public part of the newest version: the scheme's parameters, hint, and the layout of keys.
#[utoipa::path(
    get, path = "/v1/databases/{name}/public",
    params(
        ("name" = String, Path, description = "the database's name"),
        ("if-none-match" = Option<String>, Header, description = "the `ETag` of the one at hand"),
    ),
    responses(
        (status = 200, description = "the public part (docs/formats.md)",
         content_type = "application/octet-stream", headers(
            ("etag" = String, description = "the version, quoted"),
            ("papir-version" = String, description = "the version"))),
        (status = 304, description = "the one at hand is the newest", headers(
            ("etag" = String, description = "the version, quoted"),
            ("papir-version" = String, description = "the version"))),
        (status = 404, description = "`unknown_database`", body = Refusal),
        (status = 500, description = "`internal`", body = Refusal),
        (status = 503, description = "`not_ready`: it is being loaded", body = Refusal,
         headers(("retry-after" = u64, description = "seconds"))),
    )
)]
async fn public(
    State(app): State<Arc<App>>,
    name: DatabaseName,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let name = text(name);
    let database = app.catalog.get(&name)?;
    let tag = format!("\"{}\"", database.version());
    let identity = [(header::ETAG, tag.clone()), version_header(database.version())];
    if headers.get_all(header::IF_NONE_MATCH).iter().any(|value| names_tag(value, &tag)) {
        return Ok((StatusCode::NOT_MODIFIED, identity).into_response());
    }
    // Encoding a large hint for the first time takes a while: not on the async threads.
    let bundle = tokio::task::spawn_blocking(move || database.bundle());
    let bundle: Bytes = bundle.await.map_err(|_| Problem::Internal)?;
    app.metrics.published(&name, bundle.len());
    Ok((identity, [(header::CONTENT_TYPE, BINARY)], bundle).into_response())
}

/// Whether an `If-None-Match` value holds this tag.
fn names_tag(value: &HeaderValue, tag: &str) -> bool {
    let Ok(text) = value.to_str() else {
        return false;
    };
    text.split(',').map(str::trim).any(|one| one == "*" || one.strip_prefix("W/").unwrap_or(one) == tag)
}

/// Answers queries.
///
/// The body is one to `max_batch` queries back to back, of `sizes.query` bytes each; the answers come
/// back to back, of `sizes.answer` bytes each, or fewer where the client holds a query's ticket. Which database version they are for stands in each
/// query; the header says it before the body is read.
#[utoipa::path(
    post, path = "/v1/databases/{name}/query",
    params(
        ("name" = String, Path, description = "the database's name"),
        ("papir-version" = Option<String>, Header, description = "the version that the queries are for"),
    ),
    request_body(content_type = "application/octet-stream", description = "queries (docs/formats.md)"),
    responses(
        (status = 200, description = "as many answers", content_type = "application/octet-stream",
         headers(("papir-version" = String, description = "the version that they come from"))),
        (status = 400, description = "`malformed`, `wrong_length`, `checksum`, `wrong_scheme`, \
            `index_out_of_range`, `out_of_bounds`, `batch_size`, `interrupted`: the request is at fault",
         body = Refusal),
        (status = 404, description = "`unknown_database`", body = Refusal),
        (status = 408, description = "`too_slow`: the body did not arrive in time", body = Refusal),
        (status = 409, description = "`wrong_version`: the version is not answered (any more)",
         body = Refusal, headers(("papir-version" = String, description = "the newest version"))),
        (status = 413, description = "`too_long`: more than `max_batch` queries", body = Refusal),
        (status = 429, description = "`busy`: no place left; `too_many`: more than one client may ask", body = Refusal,
         headers(("retry-after" = u64, description = "seconds"))),
        (status = 500, description = "`internal`: the answer failed", body = Refusal),
        (status = 503, description = "`not_ready`: it is being loaded", body = Refusal,
         headers(("retry-after" = u64, description = "seconds"))),
    )
)]
async fn query(
    State(app): State<Arc<App>>,
    Extension(account): Extension<Account>,
    name: DatabaseName,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let name = text(name);
    let mut tally = Tally::begin(&app, &name);
    let outcome = match app.admit(&name, &headers) {
        Ok((versions, admission, client)) => {
            answer(&app, versions, admission.on(account), client, body).await
        }
        Err(problem) => {
            upload::drain(body, app.body_timeout).await;
            Err(problem)
        }
    };
    let milliseconds = tally.end(&outcome).as_secs_f64() * 1e3;
    match &outcome {
        Ok(_) => tracing::info!(milliseconds, status = 200, "query"),
        Err(problem) => {
            tracing::info!(milliseconds, status = problem.status().as_u16(), code = problem.code(), "query");
        }
    }
    outcome
}

async fn answer(
    app: &Arc<App>,
    versions: Answerable,
    admission: Admission,
    client: Credentials,
    body: Body,
) -> Result<Response, Problem> {
    let begin = Instant::now();
    let bytes = upload::read(body, versions.body_limit(), app.body_timeout).await?;
    app.metrics.stage(versions.name(), Stage::Read, begin.elapsed());
    app.metrics.received(versions.name(), bytes.len());
    let (database, newest) = versions.choose(&bytes)?;
    let version = database.version();
    let request = Request::new(app, (database, newest), client, bytes);
    let (request, admission) = request.with_tickets(admission).await?;
    let answers = app.gate.run(admission, request).await??;
    Ok(([version_header(version)], [(header::CONTENT_TYPE, BINARY)], answers).into_response())
}

/// The version that a request is made for, where it names one.
pub(crate) fn named_version(headers: &HeaderMap) -> Result<Option<Version>, Problem> {
    let parse = |value: &HeaderValue| value.to_str().ok().and_then(|text| text.parse().ok());
    let bad = || Problem::BadHeader { name: VERSION_HEADER, expected: "16 hexadecimal digits" };
    headers.get(VERSION_HEADER).map(|value| parse(value).ok_or_else(bad)).transpose()
}

fn version_header(version: Version) -> (HeaderName, String) {
    (HeaderName::from_static(VERSION_HEADER), version.to_string())
}

/// The name in an address. One that is no UTF-8 names nothing.
fn text(name: DatabaseName) -> String {
    name.map(|Path(name)| name).unwrap_or_default()
}

impl App {
    /// What can be refused before the body is read.
    fn admit(
        &self,
        name: &str,
        headers: &HeaderMap,
    ) -> Result<(Answerable, Admission, Credentials), Problem> {
        let mut versions = self.catalog.answerable(name)?;
        if let Some(version) = named_version(headers)? {
            versions = versions.only(version)?;
        }
        let client = Credentials::read(headers)?;
        let admission = self.gate.admit().map_err(|after| Problem::Busy { after })?;
        Ok((versions, admission, client))
    }
}
