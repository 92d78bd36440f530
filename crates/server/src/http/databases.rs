//! Handlers for databases: list, description and public part.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use papir_protocol::{DatabaseDetail, DatabaseList, ErrorBody};

use super::headers::{BINARY, NamePath, database_name, has_tag, version_header};
use super::info;
use super::problem::Problem;
use super::routes::Routes;
use crate::access::Grant;
use crate::catalog::DatabaseError;
use crate::service::App;

/// Adds the routes.
pub(super) fn routes(before: Routes) -> Routes {
    before
        .add(__path_list, list)
        .add(__path_info, info)
        .add(__path_public, public)
        .shape::<DatabaseList>()
        .shape::<DatabaseDetail>()
}

/// List databases.
#[utoipa::path(
    get, path = "/v1/databases",
    responses(
        (status = 200, description = "all databases", body = DatabaseList),
        (status = 503, description = "`not_ready`: databases are still loading", body = ErrorBody,
         headers(("retry-after" = u64, description = "seconds"))),
    )
)]
async fn list(State(app): State<Arc<App>>, grant: Grant) -> Result<Json<DatabaseList>, Problem> {
    let all = app.catalog.all()?;
    let allowed = all.iter().filter(|database| grant.allows(database.name()));
    Ok(Json(DatabaseList { databases: allowed.map(|database| info::info(database).summary()).collect() }))
}

/// Describe a database.
///
/// Describes its newest version and lists the older versions that are still answered.
#[utoipa::path(
    get, path = "/v1/databases/{name}",
    params(("name" = String, Path, description = "the database's name")),
    responses(
        (status = 200, description = "description of the database", body = DatabaseDetail),
        (status = 404, description = "`unknown_database`", body = ErrorBody),
        (status = 503, description = "`not_ready`: the database is still loading", body = ErrorBody,
         headers(("retry-after" = u64, description = "seconds"))),
    )
)]
async fn info(State(app): State<Arc<App>>, name: NamePath) -> Result<Json<DatabaseDetail>, Problem> {
    let versions = app.catalog.versions(&database_name(name))?;
    Ok(Json(info::detail(&versions).ok_or(DatabaseError::NotLoaded)?))
}

/// Download the public part.
///
/// The public part of the newest version: the scheme's parameters, its hint and the layout of keys.
#[utoipa::path(
    get, path = "/v1/databases/{name}/public",
    params(
        ("name" = String, Path, description = "the database's name"),
        ("if-none-match" = Option<String>, Header, description = "the `ETag` of the client's copy"),
    ),
    responses(
        (status = 200, description = "the public part (docs/formats.md)",
         content_type = "application/octet-stream", headers(
            ("etag" = String, description = "the version, quoted"),
            ("papir-version" = String, description = "the version"))),
        (status = 304, description = "the client's copy is up to date", headers(
            ("etag" = String, description = "the version, quoted"),
            ("papir-version" = String, description = "the version"))),
        (status = 404, description = "`unknown_database`", body = ErrorBody),
        (status = 500, description = "`internal`", body = ErrorBody),
        (status = 503, description = "`not_ready`: the database is still loading", body = ErrorBody,
         headers(("retry-after" = u64, description = "seconds"))),
    )
)]
async fn public(
    State(app): State<Arc<App>>,
    name: NamePath,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let name = database_name(name);
    let database = app.catalog.get(&name)?;
    let tag = format!("\"{}\"", database.version());
    let identity = [(header::ETAG, tag.clone()), version_header(database.version())];
    if has_tag(&headers, &tag) {
        return Ok((StatusCode::NOT_MODIFIED, identity).into_response());
    }
    // On a blocking thread: encoding a large hint for the first time is slow.
    let encoding = tokio::task::spawn_blocking(move || database.public_part());
    let public_part = encoding.await.map_err(|_| Problem::Internal)?;
    app.metrics.published(&name, public_part.len());
    Ok((identity, [(header::CONTENT_TYPE, BINARY)], public_part).into_response())
}
