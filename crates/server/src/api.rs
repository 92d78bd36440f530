//! The routes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Json;
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use papir_core::Version;

use crate::catalog::Catalog;
use crate::config::QueryObserver;
use crate::database::Database;
use crate::gate::{Admission, Gate};
use crate::info::{Info, List};
use crate::problem::Problem;
use crate::upload;

/// Names the version that a response comes from, and, in a request, the one it is made for.
pub(crate) const VERSION_HEADER: &str = "papir-version";
const BINARY: HeaderValue = HeaderValue::from_static("application/octet-stream");

/// What every request shares.
pub(crate) struct App {
    pub(crate) catalog: Catalog,
    pub(crate) gate: Gate,
    pub(crate) body_timeout: Duration,
    pub(crate) on_query: Option<QueryObserver>,
}

type DatabaseName = Result<Path<String>, PathRejection>;

/// All routes of a service.
pub(crate) fn router(app: Arc<App>) -> Router {
    Router::new()
        .route("/v1/databases", get(list))
        .route("/v1/databases/{name}", get(info))
        .route("/v1/databases/{name}/public", get(public))
        .route("/v1/databases/{name}/query", post(query))
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .fallback(|| async { Problem::UnknownRoute })
        .method_not_allowed_fallback(|| async { Problem::WrongMethod })
        .with_state(app)
}

async fn ready(State(app): State<Arc<App>>) -> Result<&'static str, Problem> {
    app.catalog.all().map(|_| "ready\n")
}

async fn list(State(app): State<Arc<App>>) -> Result<Json<List>, Problem> {
    let databases = app.catalog.all()?.iter().map(|database| database.info().summary.clone()).collect();
    Ok(Json(List { databases }))
}

async fn info(State(app): State<Arc<App>>, name: DatabaseName) -> Result<Json<Info>, Problem> {
    Ok(Json(app.find(name)?.info().clone()))
}

async fn public(
    State(app): State<Arc<App>>,
    name: DatabaseName,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let database = app.find(name)?;
    let tag = format!("\"{}\"", database.version());
    let identity = [(header::ETAG, tag.clone()), version_header(database.version())];
    if headers.get_all(header::IF_NONE_MATCH).iter().any(|value| names_tag(value, &tag)) {
        return Ok((StatusCode::NOT_MODIFIED, identity).into_response());
    }
    // Encoding a large hint for the first time takes a while: not on the async threads.
    let bundle = tokio::task::spawn_blocking(move || database.bundle());
    let bundle: Bytes = bundle.await.map_err(|_| Problem::Internal)?;
    Ok((identity, [(header::CONTENT_TYPE, BINARY)], bundle).into_response())
}

/// Whether an `If-None-Match` value holds this tag.
fn names_tag(value: &HeaderValue, tag: &str) -> bool {
    let Ok(text) = value.to_str() else {
        return false;
    };
    text.split(',').map(str::trim).any(|one| one == "*" || one.strip_prefix("W/").unwrap_or(one) == tag)
}

async fn query(
    State(app): State<Arc<App>>,
    name: DatabaseName,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let start = Instant::now();
    let outcome = match app.admit(name, &headers) {
        Ok((database, admission)) => answer(&app, database, admission, body).await,
        Err(problem) => {
            upload::drain(body, app.body_timeout).await;
            Err(problem)
        }
    };
    let milliseconds = start.elapsed().as_secs_f64() * 1e3;
    match &outcome {
        Ok(_) => tracing::info!(milliseconds, status = 200, "query"),
        Err(problem) => {
            tracing::info!(milliseconds, status = problem.status().as_u16(), code = problem.code(), "query");
        }
    }
    outcome
}

async fn answer(
    app: &App,
    database: Arc<Database>,
    admission: Admission,
    body: Body,
) -> Result<Response, Problem> {
    let bytes = upload::read(body, database.body_limit(), app.body_timeout).await?;
    database.check_length(bytes.len())?;
    let (version, observer, received) = (database.version(), app.on_query.clone(), bytes.len());
    let job = move || {
        let start = Instant::now();
        if let Some(observer) = observer {
            observer(database.name(), &bytes);
        }
        let answers = database.answer(&bytes)?;
        let milliseconds = start.elapsed().as_secs_f64() * 1e3;
        tracing::debug!(database = database.name(), received, sent = answers.len(), milliseconds, "answered");
        Ok::<Vec<u8>, Problem>(answers)
    };
    let answers = app.gate.run(admission, job).await??;
    Ok(([version_header(version)], [(header::CONTENT_TYPE, BINARY)], answers).into_response())
}

fn version_header(version: Version) -> (HeaderName, String) {
    (HeaderName::from_static(VERSION_HEADER), version.to_string())
}

impl App {
    fn find(&self, name: DatabaseName) -> Result<Arc<Database>, Problem> {
        // A name that is no UTF-8 names nothing.
        let Path(name) = name.unwrap_or_else(|_| Path(String::new()));
        self.catalog.get(&name)
    }

    /// What can be refused before the body is read.
    fn admit(&self, name: DatabaseName, headers: &HeaderMap) -> Result<(Arc<Database>, Admission), Problem> {
        let database = self.find(name)?;
        if let Some(value) = headers.get(VERSION_HEADER) {
            let version = value.to_str().ok().and_then(|text| text.parse::<Version>().ok());
            if version.ok_or(Problem::BadVersionHeader)? != database.version() {
                return Err(Problem::WrongVersion { current: database.version() });
            }
        }
        let admission = self.gate.admit().map_err(|after| Problem::Busy { after })?;
        Ok((database, admission))
    }
}
