//! The addresses of clients, below `/v1/databases/{name}/clients`.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

use super::id::ClientId;
use super::row::Stage;
use super::session::header as read_header;
use super::{ClientStatus, LENGTH_HEADER, OFFSET_HEADER, PART_BYTES, Refusal, Registry, RegistryCounts};
use crate::api::{App, named_version};
use crate::database::Database;
use crate::problem::{Problem, Refusal as Problems};
use crate::routes::Routes;
use crate::upload;

/// The answer to `GET …/clients`.
#[derive(Serialize, ToSchema)]
struct Clients {
    clients: Vec<ClientStatus>,
    counts: RegistryCounts,
}

type Name = Result<Path<String>, PathRejection>;
type NameIdAndNumber = Result<Path<(String, String, String)>, PathRejection>;
type NameAndId = Result<Path<(String, String)>, PathRejection>;

/// The routes, with those before.
pub(crate) fn routes(before: Routes) -> Routes {
    before
        .add(__path_list, list)
        .add(__path_register, register)
        .add(__path_show, show)
        .add(__path_evict, evict)
        .add(__path_append, append)
        .add(__path_offset, offset)
        .add(__path_ticket, ticket)
        .shape::<Clients>()
}

impl App {
    /// A database whose clients register, and the registry.
    fn registering(&self, name: &str) -> Result<(Arc<Database>, Arc<Registry>), Problem> {
        let database = self.catalog.get(name)?;
        let registry = self.registry.as_ref().filter(|_| database.description().limits.client_keys);
        Ok((database, Arc::clone(registry.ok_or(Refusal::NoRegistry)?)))
    }

    fn client(&self, path: NameAndId) -> Result<(Arc<Database>, Arc<Registry>, ClientId), Problem> {
        let Path((name, id)) = path.unwrap_or_else(|_| Path(Default::default()));
        let (database, registry) = self.registering(&name)?;
        // Whatever is no client's name is the name of no client.
        let id = id.parse().map_err(|()| Refusal::ClientGone)?;
        Ok((database, registry, id))
    }
}

/// A name that is no UTF-8 names nothing.
fn text(name: Name) -> String {
    name.map(|Path(name)| name).unwrap_or_default()
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    tokio::task::spawn_blocking(work).await.map_err(|_| Problem::Internal)?
}

/// The registered clients, for the operator.
#[utoipa::path(
    operation_id = "clients",
    get, path = "/v1/databases/{name}/clients",
    params(
        ("name" = String, Path, description = "the database's name"),
    ),
    responses(
        (status = 200, description = "all clients", body = Clients),
        (status = 404, description = "`unknown_database`, `no_registry`: its clients register nothing", body = Problems),
        (status = 403, description = "`not_allowed`, `forbidden`: the list is the operator's alone", body = Problems),
        (status = 500, description = "`internal`: the registry failed", body = Problems),
        (status = 503, description = "`not_ready`: it is being loaded", body = Problems,
         headers(("retry-after" = u64, description = "seconds"))),
    )
)]
async fn list(State(app): State<Arc<App>>, name: Name) -> Result<Json<Clients>, Problem> {
    let (database, registry) = app.registering(&text(name))?;
    // Where there are tokens, only an operator's leads here.
    if !registry.config.allow_list && app.guard.tokens.is_none() {
        return Err(Refusal::NotAllowed.into());
    }
    blocking(move || {
        let counts = registry.counts(database.name())?;
        Ok(Json(Clients { clients: registry.list(&database)?, counts }))
    })
    .await
}

/// One client.
#[utoipa::path(
    get, path = "/v1/databases/{name}/clients/{id}",
    params(
        ("name" = String, Path, description = "the database's name"),
        ("id" = String, Path, description = "the client's id"),
    ),
    responses(
        (status = 200, description = "the client", body = ClientStatus),
        (status = 404, description = "`unknown_database`, `no_registry`: its clients register nothing", body = Problems),
        (status = 410, description = "`client_gone`: unknown, expired or evicted: register again", body = Problems),
        (status = 500, description = "`internal`: the registry failed", body = Problems),
        (status = 503, description = "`not_ready`: it is being loaded", body = Problems,
         headers(("retry-after" = u64, description = "seconds"))),
    )
)]
async fn show(State(app): State<Arc<App>>, path: NameAndId) -> Result<Json<ClientStatus>, Problem> {
    let (database, registry, id) = app.client(path)?;
    blocking(move || {
        let row = registry.row(database.name(), id)?;
        Ok(Json(registry.status(&database, id, &row)?))
    })
    .await
}

/// Removes a client, with its keys and tickets.
#[utoipa::path(
    delete, path = "/v1/databases/{name}/clients/{id}",
    params(
        ("name" = String, Path, description = "the database's name"),
        ("id" = String, Path, description = "the client's id"),
    ),
    responses(
        (status = 204, description = "removed"),
        (status = 404, description = "`unknown_database`, `no_registry`: its clients register nothing", body = Problems),
        (status = 410, description = "`client_gone`: unknown, expired or evicted: register again", body = Problems),
        (status = 500, description = "`internal`: the registry failed", body = Problems),
        (status = 503, description = "`not_ready`: it is being loaded", body = Problems,
         headers(("retry-after" = u64, description = "seconds"))),
    )
)]
async fn evict(State(app): State<Arc<App>>, path: NameAndId) -> Result<StatusCode, Problem> {
    let (database, registry, id) = app.client(path)?;
    blocking(move || match registry.remove(database.name(), id)? {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(Refusal::ClientGone.into()),
    })
    .await
}

/// Registers a client.
///
/// With keys in the body, or, with their length alone, to be uploaded in parts.
#[utoipa::path(
    post, path = "/v1/databases/{name}/clients",
    params(
        ("name" = String, Path, description = "the database's name"),
        ("papir-version" = Option<String>, Header, description = "the version that the keys are for"),
        ("papir-upload-length" = Option<u64>, Header, description = "bytes of keys that will be uploaded in parts"),
    ),
    request_body(content_type = "application/octet-stream", description = "keys (docs/formats.md)"),
    responses(
        (status = 201, description = "the client", body = ClientStatus, headers(("papir-upload-offset" = u64, description = "bytes that are there"))),
        (status = 400, description = "keys or a header that are not right: nothing of the client stays", body = Problems),
        (status = 404, description = "`unknown_database`, `no_registry`: its clients register nothing", body = Problems),
        (status = 408, description = "`too_slow`: the body did not arrive in time", body = Problems),
        (status = 409, description = "`wrong_version`: keys for another version than the newest", body = Problems,
         headers(("papir-version" = String, description = "the newest version"))),
        (status = 413, description = "`too_long`, `over_quota`", body = Problems),
        (status = 429, description = "`busy`: no place left", body = Problems,
         headers(("retry-after" = u64, description = "seconds"))),
        (status = 500, description = "`internal`: the registry failed", body = Problems),
        (status = 503, description = "`not_ready`: it is being loaded", body = Problems,
         headers(("retry-after" = u64, description = "seconds"))),
    )
)]
async fn register(
    State(app): State<Arc<App>>,
    name: Name,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    match begin(&app, name, &headers) {
        Ok(Begun::Upload(status)) => Ok(created(&status)),
        Ok(Begun::Whole(database, registry)) => {
            let Ok(_place) = app.gate.admit() else {
                return Err(busy(&app, body).await);
            };
            let keys = upload::read(body, PART_BYTES, app.body_timeout).await?;
            Ok(created(&registry.register(&database, keys).await?))
        }
        Err(problem) => {
            upload::drain(body, app.body_timeout).await;
            Err(problem)
        }
    }
}

/// No place is left: told once the client can hear it.
async fn busy(app: &App, body: Body) -> Problem {
    upload::drain(body, app.body_timeout).await;
    Problem::Busy { after: app.gate.advice() }
}

enum Begun {
    Upload(ClientStatus),
    Whole(Arc<Database>, Arc<Registry>),
}

fn begin(app: &App, name: Name, headers: &HeaderMap) -> Result<Begun, Problem> {
    let (database, registry) = app.registering(&text(name))?;
    // Before the length, which need not be that of keys for another version.
    if named_version(headers)?.is_some_and(|version| version != database.version()) {
        return Err(Problem::WrongVersion { current: database.version() });
    }
    let parse = |text: &str| text.parse().ok();
    if let Some(length) = read_header(headers, LENGTH_HEADER, "a number of bytes", parse)? {
        let (id, row) = registry.begin(&database, length)?;
        return Ok(Begun::Upload(registry.status(&database, id, &row)?));
    }
    let expected = database.description().sizes.keys;
    if expected > PART_BYTES as u64 {
        return Err(Refusal::NotInOneRequest { limit: PART_BYTES }.into());
    }
    let announced = read_header(headers, header::CONTENT_LENGTH.as_str(), "a number of bytes", parse)?;
    registry.check_keys_length(&database, announced.unwrap_or(expected))?;
    Ok(Begun::Whole(database, registry))
}

/// 201 with what is there of the client.
fn created(status: &ClientStatus) -> Response {
    (StatusCode::CREATED, offset_header(status.uploaded_bytes), Json(status)).into_response()
}

fn offset_header(offset: u64) -> [(HeaderName, String); 1] {
    [(HeaderName::from_static(OFFSET_HEADER), offset.to_string())]
}

/// Appends a part of the keys.
///
/// What is answered is on disk. The last part has the scheme check the keys.
#[utoipa::path(
    patch, path = "/v1/databases/{name}/clients/{id}/keys",
    params(
        ("name" = String, Path, description = "the database's name"),
        ("id" = String, Path, description = "the client's id"),
        ("papir-upload-offset" = Option<u64>, Header, description = "the place of the part's first byte; needed"),
    ),
    request_body(content_type = "application/octet-stream", description = "the part"),
    responses(
        (status = 200, description = "the client", body = ClientStatus, headers(("papir-upload-offset" = u64, description = "bytes that are there"))),
        (status = 400, description = "a header, or keys, that are not right", body = Problems),
        (status = 404, description = "`unknown_database`, `no_registry`: its clients register nothing", body = Problems),
        (status = 408, description = "`too_slow`: the body did not arrive in time", body = Problems),
        (status = 409, description = "`wrong_offset`, `upload_incomplete`, `already_registered`, `wrong_version`", body = Problems),
        (status = 410, description = "`client_gone`: unknown, expired or evicted: register again", body = Problems),
        (status = 413, description = "`too_long`: a part beyond the limit", body = Problems),
        (status = 429, description = "`busy`: no place left", body = Problems,
         headers(("retry-after" = u64, description = "seconds"))),
        (status = 500, description = "`internal`: the registry failed", body = Problems),
        (status = 503, description = "`not_ready`: it is being loaded", body = Problems,
         headers(("retry-after" = u64, description = "seconds"))),
    )
)]
async fn append(
    State(app): State<Arc<App>>,
    path: NameAndId,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let found = app.client(path).and_then(|client| {
        let offset = read_header(&headers, OFFSET_HEADER, "a number of bytes", |text| text.parse().ok())?;
        let missing = Refusal::BadHeader { name: OFFSET_HEADER, expected: "a number of bytes" };
        Ok((client, offset.ok_or(missing)?))
    });
    let ((database, registry, id), offset) = match found {
        Ok(found) => found,
        Err(problem) => {
            upload::drain(body, app.body_timeout).await;
            return Err(problem);
        }
    };
    let Ok(_place) = app.gate.admit() else {
        return Err(busy(&app, body).await);
    };
    let part = upload::read(body, PART_BYTES, app.body_timeout).await?;
    let status = registry.append(&database, id, offset, part).await?;
    Ok((offset_header(status.uploaded_bytes), Json(status)).into_response())
}

/// How many bytes of an upload are there.
#[utoipa::path(
    head, path = "/v1/databases/{name}/clients/{id}/keys",
    params(
        ("name" = String, Path, description = "the database's name"),
        ("id" = String, Path, description = "the client's id"),
    ),
    responses(
        (status = 200, description = "an upload under way", headers(("papir-upload-offset" = u64, description = "bytes that are there"))),
        (status = 204, description = "the keys are whole", headers(("papir-upload-offset" = u64, description = "bytes that are there"))),
        (status = 404, description = "`unknown_database`, `no_registry`: its clients register nothing", body = Problems),
        (status = 410, description = "`client_gone`: unknown, expired or evicted: register again", body = Problems),
        (status = 500, description = "`internal`: the registry failed", body = Problems),
        (status = 503, description = "`not_ready`: it is being loaded", body = Problems,
         headers(("retry-after" = u64, description = "seconds"))),
    )
)]
async fn offset(State(app): State<Arc<App>>, path: NameAndId) -> Result<Response, Problem> {
    let (database, registry, id) = app.client(path)?;
    blocking(move || {
        let row = registry.row(database.name(), id)?;
        let status = registry.status(&database, id, &row)?;
        let length = (HeaderName::from_static(LENGTH_HEADER), row.keys_bytes.to_string());
        let whole = row.stage == Stage::Registered;
        let code = if whole { StatusCode::NO_CONTENT } else { StatusCode::OK };
        Ok((code, offset_header(status.uploaded_bytes), [length]).into_response())
    })
    .await
}

/// A ticket that is prepared, for a client that holds it.
///
/// It stays, unused: the query that uses it up says that its client holds it, and the answer is shorter.
#[utoipa::path(
    get, path = "/v1/databases/{name}/clients/{id}/tickets/{number}",
    params(
        ("name" = String, Path, description = "the database's name"),
        ("id" = String, Path, description = "the client's id"),
        ("number" = u64, Path, description = "the ticket's number"),
        ("papir-version" = Option<String>, Header, description = "the version that the ticket is for"),
    ),
    responses(
        (status = 200, description = "the ticket", content_type = "application/octet-stream"),
        (status = 400, description = "`malformed`: a version that is none, or a number far from those used last", body = Problems),
        (status = 404, description = "`unknown_database`, `no_registry`: its clients register nothing", body = Problems),
        (status = 409, description = "`wrong_version`: tickets are for the newest version; `upload_incomplete`", body = Problems,
         headers(("papir-version" = String, description = "the newest version"))),
        (status = 410, description = "`client_gone`: unknown, expired or evicted; `ticket_used`", body = Problems),
        (status = 500, description = "`internal`: the registry failed", body = Problems),
        (status = 503, description = "`no_ticket`: it is being prepared; `not_ready`: the database is being loaded", body = Problems,
         headers(("retry-after" = u64, description = "seconds"))),
    )
)]
async fn ticket(
    State(app): State<Arc<App>>,
    path: NameIdAndNumber,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let Path((name, id, number)) = path.unwrap_or_else(|_| Path(Default::default()));
    let (database, registry, id) = app.client(Ok(Path((name, id))))?;
    if named_version(&headers)?.is_some_and(|version| version != database.version()) {
        return Err(Problem::WrongVersion { current: database.version() });
    }
    let number = number.parse().map_err(|_| Refusal::far())?;
    let bytes = blocking(move || registry.ticket(&database, id, number)).await?;
    let binary = HeaderValue::from_static("application/octet-stream");
    Ok(([(header::CONTENT_TYPE, binary)], bytes).into_response())
}
