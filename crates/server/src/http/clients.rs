//! Handlers for registered clients, below `/v1/databases/{name}/clients`.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Extension, Path, State};
use axum::http::{HeaderMap, HeaderName, StatusCode};
use axum::response::{IntoResponse, Response};
use papir_protocol::limit::PART_BYTES;
use papir_protocol::{ClientList, ClientStatus, ErrorBody, header as names};

use super::body::{self, Whole};
use super::headers::{NamePath, announced_length, byte_count, database_name, named_version};
use super::problem::Problem;
use super::routes::Routes;
use crate::admission::{ClientKey, ClientSlot};
use crate::catalog::{Database, QueryError};
use crate::clients::{ClientError, ClientId, Owner, Registry, SpentToken, owner_of};
use crate::service::App;

type ClientPath = Result<Path<(String, String)>, PathRejection>;

/// Adds the routes.
pub(super) fn routes(before: Routes) -> Routes {
    before
        .add(__path_list, list)
        .add(__path_register, register)
        .add(__path_show, show)
        .add(__path_evict, evict)
        .add(__path_append, append)
        .add(__path_offset, offset)
        .shape::<ClientList>()
}

/// A database with client keys, and the registry that holds them.
struct RegisteredDatabase {
    database: Arc<Database>,
    registry: Arc<Registry>,
}

/// A client that a path names. It need not be registered.
struct NamedClient {
    database: Arc<Database>,
    registry: Arc<Registry>,
    id: ClientId,
}

/// Refusals of all these routes, for the OpenAPI document.
#[derive(utoipa::IntoResponses)]
#[expect(dead_code, reason = "describes responses")]
enum RegistryRefusal {
    /// `unknown_database`, `no_registry`: the scheme has no client keys
    #[response(status = 404)]
    NoRegistry(ErrorBody),
    /// `internal`
    #[response(status = 500)]
    Internal(ErrorBody),
    /// `not_ready`: the database is still loading; `registry_failed`; `no_issuer_key`: no key of
    /// the issuer of private tokens is known
    #[response(status = 503, headers(("retry-after" = u64, description = "seconds")))]
    Later(ErrorBody),
}

/// Finds a database with client keys.
fn registration(app: &App, name: &str) -> Result<RegisteredDatabase, Problem> {
    let database = app.catalog.get(name)?;
    if !database.description().limits.client_keys {
        return Err(ClientError::NoRegistry.into());
    }

    let registry = app.registry.as_ref().ok_or(ClientError::NoRegistry)?;
    Ok(RegisteredDatabase {
        database,
        registry: Arc::clone(registry),
    })
}

/// Finds the client that a path names.
fn client(app: &App, path: ClientPath) -> Result<NamedClient, Problem> {
    let Path((name, id)) = path.unwrap_or_else(|_| Path(Default::default()));
    let RegisteredDatabase { database, registry } = registration(app, &name)?;

    // No client has a malformed id.
    let id = id.parse().map_err(|()| ClientError::Gone)?;
    Ok(NamedClient {
        database,
        registry,
        id,
    })
}

/// Runs work of the registry on a blocking thread.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ClientError> + Send + 'static,
) -> Result<T, Problem> {
    let finished = tokio::task::spawn_blocking(work).await;
    let outcome = finished.map_err(|_| Problem::Internal)?;
    Ok(outcome?)
}

/// List the registered clients, for the operator.
#[utoipa::path(
    operation_id = "clients",
    get, path = "/v1/databases/{name}/clients",
    params(
        ("name" = String, Path, description = "the database's name"),
    ),
    responses(
        (status = 200, description = "all clients", body = ClientList),
        (status = 403, description = "`not_allowed`, `forbidden`: the list is reserved for the operator", body = ErrorBody),
        RegistryRefusal,
    )
)]
async fn list(State(app): State<Arc<App>>, name: NamePath) -> Result<Json<ClientList>, Problem> {
    let RegisteredDatabase { database, registry } = registration(&app, &database_name(name))?;
    // With tokens, the guard has already checked for the operator's scope.
    if !registry.allows_list() && app.guard.tokens.is_none() {
        return Err(ClientError::ListForbidden.into());
    }

    blocking(move || {
        let counts = registry.counts(database.name())?;
        Ok(Json(ClientList {
            clients: registry.list(&database)?,
            counts,
        }))
    })
    .await
}

/// Describe a client.
#[utoipa::path(
    get, path = "/v1/databases/{name}/clients/{id}",
    params(
        ("name" = String, Path, description = "the database's name"),
        ("id" = String, Path, description = "the client's id"),
        ("papir-version" = Option<String>, Header, description = "the version that the client asks about"),
    ),
    responses(
        (status = 200, description = "the client", body = ClientStatus),
        (status = 409, description = "`wrong_version`: the version is not the newest", body = ErrorBody,
         headers(("papir-version" = String, description = "the newest version"))),
        (status = 410, description = "`client_gone`: unknown, expired or evicted; register again", body = ErrorBody),
        (status = 429, description = "`busy`: the server is at capacity, and the request names a version", body = ErrorBody,
         headers(("retry-after" = u64, description = "seconds"))),
        RegistryRefusal,
    )
)]
async fn show(
    State(app): State<Arc<App>>,
    Extension(key): Extension<ClientKey>,
    path: ClientPath,
    headers: HeaderMap,
) -> Result<Json<ClientStatus>, Problem> {
    let NamedClient {
        database,
        registry,
        id,
    } = client(&app, path)?;
    check_version(&database, &headers)?;

    if named_version(&headers)?.is_some() {
        app.queries
            .check_keys(&registry, &database, &key, id)
            .await?;
    }

    blocking(move || registry.show(&database, id).map(Json)).await
}

/// Remove a client with its keys and tickets.
#[utoipa::path(
    delete, path = "/v1/databases/{name}/clients/{id}",
    params(
        ("name" = String, Path, description = "the database's name"),
        ("id" = String, Path, description = "the client's id"),
    ),
    responses(
        (status = 204, description = "removed"),
        (status = 410, description = "`client_gone`: unknown, expired or evicted; register again", body = ErrorBody),
        RegistryRefusal,
    )
)]
async fn evict(State(app): State<Arc<App>>, path: ClientPath) -> Result<StatusCode, Problem> {
    let NamedClient {
        database,
        registry,
        id,
    } = client(&app, path)?;

    blocking(move || registry.evict(database.name(), id)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Register a client.
///
/// The keys are in the body. With a length in the header instead, they are uploaded in parts
/// afterwards.
#[utoipa::path(
    post, path = "/v1/databases/{name}/clients",
    params(
        ("name" = String, Path, description = "the database's name"),
        ("papir-version" = Option<String>, Header, description = "the version that the keys are for"),
        ("papir-upload-length" = Option<u64>, Header, description = "total bytes of keys to upload in parts"),
    ),
    request_body(content_type = "application/octet-stream", description = "keys (docs/formats.md)"),
    responses(
        (status = 201, description = "the client", body = ClientStatus, headers(("papir-upload-offset" = u64, description = "number of bytes received"))),
        (status = 400, description = "invalid keys or header; the client is not registered", body = ErrorBody),
        (status = 408, description = "`too_slow`: the body did not arrive in time", body = ErrorBody),
        (status = 409, description = "`wrong_version`: the keys are not for the newest version; `keys_repeated`: another client has registered the same keys", body = ErrorBody,
         headers(("papir-version" = String, description = "the newest version"))),
        (status = 413, description = "`too_long`, `over_quota`", body = ErrorBody),
        (status = 429, description = "`busy`: the server is at capacity; `registry_full`: too many registered clients", body = ErrorBody,
         headers(("retry-after" = u64, description = "seconds"))),
        RegistryRefusal,
    )
)]
async fn register(
    State(app): State<Arc<App>>,
    Extension(client): Extension<ClientKey>,
    Extension(slot): Extension<ClientSlot>,
    paid: Option<Extension<SpentToken>>,
    name: NamePath,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let paid = paid.map(|Extension(token)| token);
    let owner = owner_of(&client, paid.as_ref());
    let begun = match begin(&app, name, &headers, owner).await {
        Ok(begun) => begun,
        Err(problem) => return Err(body::refused(body, app.body_timeout, problem).await),
    };
    let RegisteredDatabase { database, registry } = match begun {
        Begun::Upload(status) => return Ok(created(&status)),
        Begun::InOneRequest(registration) => registration,
    };

    let held = app.uploads.begin(client);
    let Whole { bytes, held } = body::read(body, PART_BYTES, app.body_timeout, held).await?;

    let status = registry
        .register(&database, owner, bytes, (slot, held))
        .await?;
    Ok(created(&status))
}

/// A registration that has been checked.
enum Begun {
    /// The keys will be uploaded in parts.
    Upload(ClientStatus),
    /// The keys are in the body.
    InOneRequest(RegisteredDatabase),
}

/// Checks a registration before its body is read, and begins an upload in parts.
async fn begin(
    app: &App,
    name: NamePath,
    headers: &HeaderMap,
    owner: Owner,
) -> Result<Begun, Problem> {
    let registration = registration(app, &database_name(name))?;
    let RegisteredDatabase { database, registry } = &registration;
    // Before the length, since keys for another version may have another length.
    check_version(database, headers)?;

    if let Some(length) = byte_count(headers, names::UPLOAD_LENGTH)? {
        let status = registry.begin(database, owner, length).await?;
        return Ok(Begun::Upload(status));
    }

    let expected = database.description().sizes.keys;
    if expected > PART_BYTES as u64 {
        return Err(ClientError::TooLongForOneRequest { limit: PART_BYTES }.into());
    }
    let announced = announced_length(headers);
    registry.check_keys_length(database, announced.unwrap_or(expected))?;

    Ok(Begun::InOneRequest(registration))
}

/// Refuses a request that names another version than the newest.
fn check_version(database: &Database, headers: &HeaderMap) -> Result<(), Problem> {
    if named_version(headers)?.is_some_and(|version| version != database.version()) {
        return Err(QueryError::WrongVersion {
            current: database.version(),
        }
        .into());
    }
    Ok(())
}

/// 201 with the client's status.
fn created(status: &ClientStatus) -> Response {
    (StatusCode::CREATED, offset_header(status), Json(status)).into_response()
}

fn offset_header(status: &ClientStatus) -> [(HeaderName, String); 1] {
    [(
        HeaderName::from_static(names::UPLOAD_OFFSET),
        status.uploaded_bytes.to_string(),
    )]
}

/// Upload a part of the keys.
///
/// The part is on disk when the response is sent. After the last part, the scheme checks the keys.
/// The part that arrived last may be sent again, after a lost response.
#[utoipa::path(
    patch, path = "/v1/databases/{name}/clients/{id}/keys",
    params(
        ("name" = String, Path, description = "the database's name"),
        ("id" = String, Path, description = "the client's id"),
        ("papir-upload-offset" = Option<u64>, Header, description = "the offset of the part's first byte; required"),
    ),
    request_body(content_type = "application/octet-stream", description = "the part"),
    responses(
        (status = 200, description = "the client", body = ClientStatus, headers(("papir-upload-offset" = u64, description = "number of bytes received"))),
        (status = 400, description = "invalid header or keys", body = ErrorBody),
        (status = 408, description = "`too_slow`: the body did not arrive in time", body = ErrorBody),
        (status = 409, description = "`wrong_offset`, `upload_incomplete`, `already_registered`, `wrong_version`; `keys_repeated`: another client has registered the same keys", body = ErrorBody),
        (status = 410, description = "`client_gone`: unknown, expired or evicted; register again", body = ErrorBody),
        (status = 413, description = "`too_long`: the part exceeds the limit", body = ErrorBody),
        (status = 429, description = "`busy`: the server is at capacity; `registry_full`: too many registered clients", body = ErrorBody,
         headers(("retry-after" = u64, description = "seconds"))),
        RegistryRefusal,
    )
)]
async fn append(
    State(app): State<Arc<App>>,
    Extension(uploader): Extension<ClientKey>,
    path: ClientPath,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let place = match part_place(&app, path, &headers) {
        Ok(place) => place,
        Err(problem) => return Err(body::refused(body, app.body_timeout, problem).await),
    };

    let held = app.uploads.begin(uploader);
    let part = body::read(body, PART_BYTES, app.body_timeout, held).await?;

    let NamedClient {
        database,
        registry,
        id,
    } = place.client;
    let status = registry
        .append(&database, id, place.offset, part.bytes)
        .await?;
    Ok((offset_header(&status), Json(status)).into_response())
}

/// Place of a part in an upload.
struct PartPlace {
    client: NamedClient,
    offset: u64,
}

/// The place that a request names for its part.
fn part_place(app: &App, path: ClientPath, headers: &HeaderMap) -> Result<PartPlace, Problem> {
    let client = client(app, path)?;
    let missing = Problem::BadHeader {
        name: names::UPLOAD_OFFSET,
        expected: "a number of bytes",
    };
    let offset = byte_count(headers, names::UPLOAD_OFFSET)?.ok_or(missing)?;
    Ok(PartPlace { client, offset })
}

/// Progress of an upload.
#[utoipa::path(
    head, path = "/v1/databases/{name}/clients/{id}/keys",
    params(
        ("name" = String, Path, description = "the database's name"),
        ("id" = String, Path, description = "the client's id"),
    ),
    responses(
        (status = 200, description = "the upload is in progress", headers(("papir-upload-offset" = u64, description = "number of bytes received"))),
        (status = 204, description = "the keys are complete", headers(("papir-upload-offset" = u64, description = "number of bytes received"))),
        (status = 410, description = "`client_gone`: unknown, expired or evicted; register again", body = ErrorBody),
        RegistryRefusal,
    )
)]
async fn offset(State(app): State<Arc<App>>, path: ClientPath) -> Result<Response, Problem> {
    let NamedClient {
        database,
        registry,
        id,
    } = client(&app, path)?;
    let status = blocking(move || registry.show(&database, id)).await?;

    let length = (
        HeaderName::from_static(names::UPLOAD_LENGTH),
        status.keys_bytes.to_string(),
    );
    let code = if status.is_uploading() {
        StatusCode::OK
    } else {
        StatusCode::NO_CONTENT
    };

    Ok((code, offset_header(&status), [length]).into_response())
}
