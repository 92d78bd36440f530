//! Handlers for operators: liveness, readiness and metrics.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use papir_protocol::{ErrorBody, media};

use super::problem::Problem;
use super::routes::Routes;
use crate::service::{App, render_metrics};

/// Adds the routes.
pub(super) fn routes(before: Routes, show_metrics: bool) -> Routes {
    let routes = before.add(__path_alive, alive).add(__path_ready, ready);
    if show_metrics {
        routes.add(__path_metrics, metrics)
    } else {
        routes
    }
}

/// Liveness.
///
/// Responds as soon as the service listens.
#[utoipa::path(
    get, path = "/healthz",
    responses((status = 200, description = "`ok`", body = String, content_type = "text/plain"))
)]
async fn alive() -> &'static str {
    "ok\n"
}

/// Readiness: all databases are loaded, the registry works, and the issuer's keys are known.
#[utoipa::path(
    get, path = "/readyz",
    responses(
        (status = 200, description = "`ready`", body = String, content_type = "text/plain"),
        (status = 503, description = "`not_ready`: databases are still loading; `stopping`: the service is about to stop; `registry_failed`: the client registry \
            cannot be read or changed; `no_issuer_key`: no key of the issuer of private tokens is known", body = ErrorBody,
         headers(("retry-after" = u64, description = "seconds"))),
    )
)]
async fn ready(State(app): State<Arc<App>>) -> Result<&'static str, Problem> {
    app.catalog.all()?;
    if app.stopping.load(Ordering::Relaxed) {
        return Err(Problem::Stopping);
    }

    if app
        .registry
        .as_ref()
        .is_some_and(|registry| registry.is_failing())
    {
        return Err(Problem::RegistryFailed);
    }
    if app
        .passes
        .as_ref()
        .is_some_and(|passes| passes.offer().is_none())
    {
        return Err(Problem::NoIssuerKey);
    }
    Ok("ready\n")
}

/// Metrics in the Prometheus text format.
#[utoipa::path(
    get, path = "/metrics",
    responses(
        (status = 200, description = "the metrics", body = String, content_type = "text/plain"),
        (status = 500, description = "`internal`", body = ErrorBody),
    )
)]
async fn metrics(State(app): State<Arc<App>>) -> Result<Response, Problem> {
    // One at a time, and on a blocking thread: the client totals are read from the registry's file.
    let turn = Arc::clone(&app.rendering).lock_owned().await;
    let rendering = tokio::task::spawn_blocking(move || {
        // Held here: a caller that goes away does not end this.
        let _turn = turn;
        render_metrics(&app)
    });
    let rendered = rendering.await.map_err(|_| Problem::Internal)?;
    let text = rendered.map_err(|_| Problem::Internal)?;

    let content_type = HeaderValue::from_static(media::METRICS);
    Ok(([(header::CONTENT_TYPE, content_type)], text).into_response())
}
