//! Handlers for private set intersection.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::{Extension, State};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use papir_lookup::oprf::ELEMENT_BYTES;
use papir_protocol::{ErrorBody, PsiInfo, limit, path};

use super::body::{self, FULL_ADVICE, Whole};
use super::headers::{BINARY, named_version, version_header};
use super::problem::Problem;
use super::routes::Routes;
use super::tracked_body::ResponseMemory;
use super::unread::{BodyMemory, response_on};
use crate::access::Grant;
use crate::admission::ClientKey;
use crate::catalog::QueryError;
use crate::listen::Activity;
use crate::psi::Psi;
use crate::service::App;

/// Number of elements that count as one request against a client's limits: about as much work as a
/// small query.
const ELEMENTS_PER_REQUEST: u64 = 64;
/// Largest body of an evaluation, in bytes.
pub(super) const BODY_BYTES: usize = limit::PSI_ELEMENTS * ELEMENT_BYTES;

/// Number of requests that an evaluation with this body length counts as; `None` for other paths.
pub(super) fn cost(path: &str, announced: Option<u64>) -> Option<u64> {
    let most = BODY_BYTES as u64;
    let elements = announced.unwrap_or(most).min(most) / ELEMENT_BYTES as u64;

    (path == path::PSI_EVALUATE).then(|| elements.div_ceil(ELEMENTS_PER_REQUEST).max(1))
}

/// Refuses an evaluation for which there is no room now. Succeeds for other paths.
pub(super) fn expect_room(app: &App, path: &str, client: &ClientKey) -> Result<(), Problem> {
    if path != path::PSI_EVALUATE {
        return Ok(());
    }

    let psi = app.psi.as_ref().ok_or(Problem::UnknownRoute)?;
    psi.expect_room(client)?;
    Ok(())
}

/// Adds the routes, for a service with a set.
pub(super) fn routes(before: Routes) -> Routes {
    before
        .add(__path_info, info)
        .add(__path_filter, filter)
        .add(__path_evaluate, evaluate)
        .shape::<PsiInfo>()
}

/// The set, if the token allows it.
fn psi<'a>(app: &'a App, grant: &Grant) -> Result<&'a Psi, Problem> {
    let psi = app.psi.as_ref().ok_or(Problem::UnknownRoute)?;
    if !grant.allows(psi.name()) {
        return Err(Problem::Forbidden {
            what: "this set".to_owned(),
        });
    }
    Ok(psi)
}

/// Describe the set for private intersection.
#[utoipa::path(
    get, path = "/v1/psi",
    responses((status = 200, description = "public description of the set", body = PsiInfo))
)]
async fn info(State(app): State<Arc<App>>, grant: Grant) -> Result<Json<PsiInfo>, Problem> {
    let psi = psi(&app, &grant)?;
    let set = psi.set();
    let summary = set.summary();

    Ok(Json(PsiInfo {
        kind: summary.kind.name().to_owned(),
        version: summary.version.to_string(),
        elements: summary.elements,
        longest_label: summary.longest,
        max_elements: limit::PSI_ELEMENTS,
        filter_bytes: set.filter().map(|filter| filter.len() as u64),
        database: psi.database().map(|config| config.name),
    }))
}

/// Download the filter of the set.
#[utoipa::path(
    get, path = "/v1/psi/filter",
    responses(
        (status = 200, description = "the filter (docs/formats.md)", content_type = "application/octet-stream",
         headers(("papir-version" = String, description = "its version"))),
        (status = 404, description = "`unknown_route`: the set has no filter; look elements up in its database",
         body = ErrorBody),
    )
)]
async fn filter(State(app): State<Arc<App>>, grant: Grant) -> Result<Response, Problem> {
    let set = psi(&app, &grant)?.set();
    let bytes = set.filter().ok_or(Problem::UnknownRoute)?;

    let version = [version_header(set.version())];
    let content_type = [(header::CONTENT_TYPE, BINARY)];
    let shared = Extension(BodyMemory::Shared);
    Ok((shared, version, content_type, bytes).into_response())
}

/// Evaluate blinded elements.
///
/// The body holds 1 to `max_elements` concatenated blinded elements of 32 bytes each. The response
/// holds as many evaluated elements.
#[utoipa::path(
    post, path = "/v1/psi/evaluate",
    params(("papir-version" = Option<String>, Header, description = "the version of the set to compare with")),
    request_body(content_type = "application/octet-stream", description = "blinded elements (docs/formats.md)"),
    responses(
        (status = 200, description = "one evaluated element per blinded one", content_type = "application/octet-stream",
         headers(("papir-version" = String, description = "the version of the set"))),
        (status = 400, description = "`malformed`, `wrong_length`, `interrupted`: the request is invalid", body = ErrorBody),
        (status = 408, description = "`too_slow`: the body did not arrive in time", body = ErrorBody),
        (status = 409, description = "`wrong_version`: the set has changed", body = ErrorBody,
         headers(("papir-version" = String, description = "the newest version"))),
        (status = 413, description = "`too_long`: more than `max_elements`", body = ErrorBody),
        (status = 429, description = "`busy`: the server is at capacity", body = ErrorBody,
         headers(("retry-after" = u64, description = "seconds"))),
        (status = 500, description = "`internal`", body = ErrorBody),
        (status = 503, description = "`no_issuer_key`: no key of the issuer of private tokens is known; \
            `registry_failed`: spent tokens cannot be noted", body = ErrorBody,
         headers(("retry-after" = u64, description = "seconds"))),
    )
)]
async fn evaluate(
    State(app): State<Arc<App>>,
    Extension(client): Extension<ClientKey>,
    activity: Option<Extension<Arc<Activity>>>,
    grant: Grant,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let psi = psi(&app, &grant)?;
    let set = psi.set();
    let current = set.version();
    if named_version(&headers)?.is_some_and(|named| named != current) {
        let problem = QueryError::WrongVersion { current }.into();
        return Err(body::refused(body, app.body_timeout, problem).await);
    }

    let held = app.uploads.begin(client.clone());
    let Whole {
        bytes: blinded,
        held: _held,
    } = body::read(body, BODY_BYTES, app.body_timeout, held).await?;

    let activity = activity.map(|Extension(activity)| activity);
    let pending = response_on(activity, app.body_timeout);
    let memory = app.answers.hold(&client, blinded.len(), pending);
    let memory = memory.ok_or(Problem::Busy { after: FULL_ADVICE })?;

    let elements = blinded.len() / ELEMENT_BYTES;
    let evaluated = psi.evaluate(&client, set, blinded).await?;
    tracing::info!(elements, "evaluated");

    let version = [version_header(current)];
    let content_type = [(header::CONTENT_TYPE, BINARY)];
    let held = Extension(ResponseMemory::from(memory));
    Ok((held, version, content_type, evaluated).into_response())
}
