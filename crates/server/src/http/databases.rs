//! Handlers for databases: list, description, public part and filter of keys.

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Extension, Query, State};
use axum::http::HeaderMap;
use axum::response::Response;
use papir_core::{Blob, Version};
use papir_protocol::{DatabaseDetail, DatabaseList, ErrorBody};
use serde::Deserialize;

use super::headers::{NamePath, database_name};
use super::info;
use super::kept_part::KeptPart;
use super::problem::Problem;
use super::routes::Routes;
use super::unread::BodyMemory;
use crate::access::Grant;
use crate::catalog::{Database, DatabaseError, QueryError, VersionView};
use crate::service::App;

/// The version that a request names.
type WantedVersion = Result<Query<VersionParameter>, QueryRejection>;

/// The parameter `version` of a request.
#[derive(Deserialize)]
struct VersionParameter {
    version: Option<String>,
}

/// Adds the routes.
pub(super) fn routes(before: Routes) -> Routes {
    before
        .add(__path_list, list)
        .add(__path_info, info)
        .add(__path_public, public)
        .add(__path_prefilter, prefilter)
        .shape::<DatabaseList>()
        .shape::<DatabaseDetail>()
}

/// List databases.
///
/// One that is not loaded is left out.
#[utoipa::path(
    get, path = "/v1/databases",
    responses(
        (status = 200, description = "all databases that are loaded", body = DatabaseList),
        (status = 503, description = "`not_ready`: databases are still loading", body = ErrorBody,
         headers(("retry-after" = u64, description = "seconds"))),
    )
)]
async fn list(State(app): State<Arc<App>>, grant: Grant) -> Result<Json<DatabaseList>, Problem> {
    let listed = app.catalog.list(|name| grant.allows(name))?;
    let summaries = listed.iter().map(|one| info::info(one).summary());
    Ok(Json(DatabaseList {
        databases: summaries.collect(),
    }))
}

/// Describe a database.
///
/// Describes one version, the newest unless another is named, and lists the older versions that are
/// still answered.
#[utoipa::path(
    get, path = "/v1/databases/{name}",
    params(
        ("name" = String, Path, description = "the database's name"),
        ("version" = Option<String>, Query, description = "the version; the newest by default"),
    ),
    responses(
        (status = 200, description = "description of the database", body = DatabaseDetail),
        (status = 400, description = "`malformed`: an invalid version", body = ErrorBody),
        (status = 404, description = "`unknown_database`", body = ErrorBody),
        (status = 409, description = "`wrong_version`: the version is not answered, or no longer",
         body = ErrorBody, headers(("papir-version" = String, description = "the newest version"))),
        (status = 503, description = "`not_ready`: the database is still loading", body = ErrorBody,
         headers(("retry-after" = u64, description = "seconds"))),
    )
)]
async fn info(
    State(app): State<Arc<App>>,
    name: NamePath,
    wanted: WantedVersion,
) -> Result<Json<DatabaseDetail>, Problem> {
    let versions = app.catalog.versions(&database_name(name))?;
    let one = position(&versions, wanted)?;
    Ok(Json(
        info::detail(&versions, one).ok_or(DatabaseError::NotLoaded)?,
    ))
}

/// Download the public part.
///
/// The public part of one version, the newest unless another is named: the scheme's parameters, its
/// hint and the layout of keys. A delta has a public part of its own, under the delta's version.
#[utoipa::path(
    get, path = "/v1/databases/{name}/public",
    params(
        ("name" = String, Path, description = "the database's name"),
        ("version" = Option<String>, Query, description = "the version; the newest by default"),
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
        (status = 400, description = "`malformed`: an invalid version", body = ErrorBody),
        (status = 404, description = "`unknown_database`", body = ErrorBody),
        (status = 409, description = "`wrong_version`: the version is not answered, or no longer",
         body = ErrorBody, headers(("papir-version" = String, description = "the newest version"))),
        (status = 500, description = "`internal`", body = ErrorBody),
        (status = 503, description = "`not_ready`: the database is still loading", body = ErrorBody,
         headers(("retry-after" = u64, description = "seconds"))),
    )
)]
async fn public(
    State(app): State<Arc<App>>,
    name: NamePath,
    wanted: WantedVersion,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let name = database_name(name);
    let versions = app.catalog.versions(&name)?;
    let (database, version) = public_of(versions, wanted)?;

    let part = KeptPart::of(version);
    if let Some(unchanged) = part.unchanged(&headers) {
        return Ok(unchanged);
    }

    // On a blocking thread: encoding a large hint for the first time is slow.
    let encoding = tokio::task::spawn_blocking(move || match database.delta() {
        Some(delta) if delta.version == version => delta.public_part.clone(),
        _ => database.public_part(),
    });
    let public_part = encoding.await.map_err(|_| Problem::Internal)?;

    app.metrics.published(&name, public_part.len());
    Ok(part.response((Extension(BodyMemory::Shared), public_part)))
}

/// Download the filter of the keys.
///
/// The filter of one version, the newest unless another is named, with which a client looks up only
/// keys that may exist. The public part of a delta has the delta's filter.
#[utoipa::path(
    get, path = "/v1/databases/{name}/prefilter",
    params(
        ("name" = String, Path, description = "the database's name"),
        ("version" = Option<String>, Query, description = "the version; the newest by default"),
        ("if-none-match" = Option<String>, Header, description = "the `ETag` of the client's copy"),
    ),
    responses(
        (status = 200, description = "the filter (docs/formats.md)",
         content_type = "application/octet-stream", headers(
            ("etag" = String, description = "the version, quoted"),
            ("papir-version" = String, description = "the version"))),
        (status = 304, description = "the client's copy is up to date", headers(
            ("etag" = String, description = "the version, quoted"),
            ("papir-version" = String, description = "the version"))),
        (status = 400, description = "`malformed`: an invalid version", body = ErrorBody),
        (status = 404, description = "`unknown_database`; `no_prefilter`: the database has none",
         body = ErrorBody),
        (status = 409, description = "`wrong_version`: the version is not answered, or no longer",
         body = ErrorBody, headers(("papir-version" = String, description = "the newest version"))),
        (status = 503, description = "`not_ready`: the database is still loading", body = ErrorBody,
         headers(("retry-after" = u64, description = "seconds"))),
    )
)]
async fn prefilter(
    State(app): State<Arc<App>>,
    name: NamePath,
    wanted: WantedVersion,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let name = database_name(name);
    let versions = app.catalog.versions(&name)?;
    let (database, _) = public_of(versions, wanted)?;
    let filter = database.prefilter().ok_or(DatabaseError::NoPrefilter)?;

    // A delta does not change the filter of its base.
    let part = KeptPart::of(database.base_version());
    if let Some(unchanged) = part.unchanged(&headers) {
        return Ok(unchanged);
    }

    let bytes = Bytes::from_owner(FilterBytes(filter.bytes.clone()));
    app.metrics.published(&name, bytes.len());
    Ok(part.response((Extension(BodyMemory::Shared), bytes)))
}

/// The bytes of a filter, which stay in the file of the snapshot.
struct FilterBytes(Blob);

impl AsRef<[u8]> for FilterBytes {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// The database that has the wanted public part, and the part's version: the version of a snapshot
/// or of a delta. By default, the part of the newest snapshot.
fn public_of(
    versions: Vec<VersionView>,
    wanted: WantedVersion,
) -> Result<(Arc<Database>, Version), Problem> {
    let newest = Arc::clone(&versions.first().ok_or(DatabaseError::NotLoaded)?.database);
    let Some(version) = named(wanted)? else {
        let version = newest.base_version();
        return Ok((newest, version));
    };

    // A snapshot and its delta have public parts of their own, and a client may ask for either.
    for VersionView { database, .. } in versions {
        if database.version() == version || database.base_version() == version {
            return Ok((database, version));
        }
    }
    Err(QueryError::WrongVersion {
        current: newest.version(),
    }
    .into())
}

/// The position of the version that a request names, or of the newest.
fn position(versions: &[VersionView], wanted: WantedVersion) -> Result<usize, Problem> {
    let Some(version) = named(wanted)? else {
        return Ok(0);
    };
    let newest = versions.first().ok_or(DatabaseError::NotLoaded)?;

    let found = versions
        .iter()
        .position(|one| one.database.version() == version);
    found.ok_or_else(|| {
        QueryError::WrongVersion {
            current: newest.database.version(),
        }
        .into()
    })
}

/// The version that a request names.
fn named(wanted: WantedVersion) -> Result<Option<Version>, Problem> {
    let Query(VersionParameter { version }) = wanted.map_err(|_| malformed_version())?;
    let Some(text) = version else {
        return Ok(None);
    };
    let version: Version = text.parse().map_err(|_| malformed_version())?;
    Ok(Some(version))
}

/// The refusal of a malformed version.
pub(super) fn malformed_version() -> Problem {
    Problem::BadHeader {
        name: "the version",
        expected: "16 hexadecimal digits",
    }
}
