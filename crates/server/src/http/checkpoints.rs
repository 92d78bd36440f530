//! Handlers for signed checkpoints.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Extension, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use papir_protocol::{ErrorBody, media};

use super::headers::{BINARY, NamePath, database_name, has_tag, version_header};
use super::problem::Problem;
use super::routes::Routes;
use super::unread::BodyMemory;
use crate::catalog::{Checkpoint, DatabaseError};
use crate::service::App;

/// Content type of notes and proofs.
const TEXT: HeaderValue = HeaderValue::from_static(media::TEXT);

/// Adds the routes.
pub(super) fn routes(before: Routes) -> Routes {
    before
        .add(__path_note, note)
        .add(__path_proof, proof)
        .add(__path_log, log)
}

/// Responses of all routes besides the checkpoint itself, for the OpenAPI document.
#[derive(utoipa::IntoResponses)]
#[expect(dead_code, reason = "describes responses")]
enum Other {
    /// the client's copy is up to date
    #[response(status = 304, headers(
        ("etag" = String, description = "changes with every signature"),
        ("papir-version" = String, description = "the version"),
    ))]
    Unchanged,
    /// `unknown_database`; `no_checkpoint`: the database is not signed
    #[response(status = 404)]
    Unsigned(ErrorBody),
    /// `not_ready`: the database is still loading
    #[response(status = 503, headers(("retry-after" = u64, description = "seconds")))]
    Loading(ErrorBody),
}

/// Fetch the signed checkpoint.
///
/// The head of the database's log, signed by its owner and cosigned by witnesses: a C2SP
/// tlog-checkpoint.
#[utoipa::path(
    get, path = "/v1/databases/{name}/checkpoint",
    operation_id = "checkpoint",
    params(
        ("name" = String, Path, description = "the database's name"),
        ("if-none-match" = Option<String>, Header, description = "the `ETag` of the client's copy"),
    ),
    responses(
        (status = 200, description = "the signed note", content_type = "text/plain", headers(
            ("etag" = String, description = "changes with every signature"),
            ("papir-version" = String, description = "the version"))),
        Other,
    )
)]
async fn note(
    State(app): State<Arc<App>>,
    name: NamePath,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    respond(&app, name, &headers, TEXT, |checkpoint| {
        Some(checkpoint.note.clone())
    })
}

/// Fetch the proof of the newest version.
///
/// The newest leaf of the log, its inclusion proof, the signed checkpoint and certificates: a C2SP
/// tlog-proof. Clients fetch it with the public part.
#[utoipa::path(
    get, path = "/v1/databases/{name}/checkpoint/proof",
    operation_id = "checkpoint_proof",
    params(
        ("name" = String, Path, description = "the database's name"),
        ("if-none-match" = Option<String>, Header, description = "the `ETag` of the client's copy"),
    ),
    responses(
        (status = 200, description = "the proof (docs/formats.md)", content_type = "text/plain", headers(
            ("etag" = String, description = "changes with every signature"),
            ("papir-version" = String, description = "the version"))),
        Other,
    )
)]
async fn proof(
    State(app): State<Arc<App>>,
    name: NamePath,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    respond(&app, name, &headers, TEXT, |checkpoint| {
        Some(checkpoint.proof.clone())
    })
}

/// Fetch the whole log.
///
/// All versions that the owner has signed, for comparisons with other services.
#[utoipa::path(
    get, path = "/v1/databases/{name}/checkpoint/log",
    operation_id = "checkpoint_log",
    params(
        ("name" = String, Path, description = "the database's name"),
        ("if-none-match" = Option<String>, Header, description = "the `ETag` of the client's copy"),
    ),
    responses(
        (status = 200, description = "the log (docs/formats.md)", content_type = "application/octet-stream",
         headers(
            ("etag" = String, description = "changes with every signature"),
            ("papir-version" = String, description = "the version"))),
        Other,
    )
)]
async fn log(
    State(app): State<Arc<App>>,
    name: NamePath,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    respond(&app, name, &headers, BINARY, Checkpoint::log)
}

/// Sends one form of the newest version's checkpoint. It changes together with the version.
fn respond(
    app: &App,
    name: NamePath,
    headers: &HeaderMap,
    media: HeaderValue,
    form: fn(&Checkpoint) -> Option<Bytes>,
) -> Result<Response, Problem> {
    let database = app.catalog.get(&database_name(name))?;
    let checkpoint = database.checkpoint().ok_or(DatabaseError::Unsigned)?;

    let identity = [
        (header::ETAG, checkpoint.tag.clone()),
        version_header(database.version()),
    ];
    if has_tag(headers, &checkpoint.tag) {
        return Ok((StatusCode::NOT_MODIFIED, identity).into_response());
    }

    // A swap since then has dropped the log of this version. The next request finds a newer one.
    let body = form(checkpoint).ok_or(DatabaseError::NotLoaded)?;

    let content_type = [(header::CONTENT_TYPE, media)];
    let shared = Extension(BodyMemory::Shared);
    Ok((shared, identity, content_type, body).into_response())
}
