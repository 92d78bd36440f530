//! Handlers for blocks of public parts, which bring the copies of clients up to date.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::rejection::PathRejection;
use axum::extract::{Extension, Path, State};
use axum::http::HeaderMap;
use axum::response::Response;
use papir_core::Version;
use papir_lookup::BlockRanges;
use papir_protocol::ErrorBody;
use tokio::task::spawn_blocking;

use super::databases::malformed_version;
use super::kept_part::KeptPart;
use super::problem::Problem;
use super::routes::Routes;
use super::sliced_body::SlicedBody;
use super::unread::BodyMemory;
use crate::catalog::{Database, DatabaseError, QueryError};
use crate::service::App;

/// `Cache-Control` of responses that everybody may read: a version in a path never changes.
const SHARED: &str = "public, max-age=31536000, immutable";
/// `Cache-Control` of responses that cost a token or a certificate: no cache may show them to
/// others.
const PRIVATE: &str = "private, max-age=31536000, immutable";

/// The database and the version in a path.
type VersionPath = Result<Path<(String, String)>, PathRejection>;
/// The database, the version and the blocks in a path.
type BlocksPath = Result<Path<(String, String, String)>, PathRejection>;

/// Adds the routes.
pub(super) fn routes(before: Routes) -> Routes {
    before.add(__path_hashes, hashes).add(__path_blocks, blocks)
}

/// Fetch the hashes of the public part's blocks.
///
/// The list of the blocks of a snapshot's public part. A client that has another version fetches
/// the blocks that differ. A delta has no list.
#[utoipa::path(
    get, path = "/v1/databases/{name}/public/{version}/hashes",
    params(
        ("name" = String, Path, description = "the database's name"),
        ("version" = String, Path, description = "the version of the snapshot"),
        ("if-none-match" = Option<String>, Header, description = "the `ETag` of the client's copy"),
    ),
    responses(
        (status = 200, description = "the list of blocks (docs/formats.md)",
         content_type = "application/octet-stream", headers(
            ("etag" = String, description = "the version, quoted"),
            ("cache-control" = String, description = "`immutable`; `private` if not everybody may read it"),
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
async fn hashes(
    State(app): State<Arc<App>>,
    path: VersionPath,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let Path((name, version)) = path.unwrap_or_else(|_| Path(Default::default()));
    let database = with_base(&app, &name, &version)?;
    let part = part_of(&app, &database);
    if let Some(unchanged) = part.unchanged(&headers) {
        return Ok(unchanged);
    }

    // On a blocking thread: encoding and hashing a large hint for the first time is slow.
    let hashing = spawn_blocking(move || database.block_list().encode());
    let list = hashing.await.map_err(|_| Problem::Internal)?;

    app.metrics.published(&name, list.len());
    Ok(part.response(list))
}

/// Fetch blocks of the public part.
///
/// Some blocks of a snapshot's public part, one after another.
#[utoipa::path(
    get, path = "/v1/databases/{name}/public/{version}/blocks/{ranges}",
    params(
        ("name" = String, Path, description = "the database's name"),
        ("version" = String, Path, description = "the version of the snapshot"),
        ("ranges" = String, Path,
         description = "at most 256 ascending ranges of blocks with gaps between them, as in `0,17-65`"),
        ("if-none-match" = Option<String>, Header, description = "the `ETag` of the client's copy"),
    ),
    responses(
        (status = 200, description = "the blocks", content_type = "application/octet-stream", headers(
            ("etag" = String, description = "the version, quoted"),
            ("cache-control" = String, description = "`immutable`; `private` if not everybody may read it"),
            ("papir-version" = String, description = "the version"))),
        (status = 304, description = "the client's copy is up to date", headers(
            ("etag" = String, description = "the version, quoted"),
            ("papir-version" = String, description = "the version"))),
        (status = 400, description = "`malformed`: an invalid version, or blocks that are not there",
         body = ErrorBody),
        (status = 404, description = "`unknown_database`", body = ErrorBody),
        (status = 409, description = "`wrong_version`: the version is not answered, or no longer",
         body = ErrorBody, headers(("papir-version" = String, description = "the newest version"))),
        (status = 500, description = "`internal`", body = ErrorBody),
        (status = 503, description = "`not_ready`: the database is still loading", body = ErrorBody,
         headers(("retry-after" = u64, description = "seconds"))),
    )
)]
async fn blocks(
    State(app): State<Arc<App>>,
    path: BlocksPath,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let Path((name, version, ranges)) = path.unwrap_or_else(|_| Path(Default::default()));
    let database = with_base(&app, &name, &version)?;
    let part = part_of(&app, &database);

    // On a blocking thread: encoding and hashing a large hint for the first time is slow.
    let slicing = spawn_blocking(move || slices(&database, &ranges));
    let slices = slicing.await.map_err(|_| Problem::Internal)?;
    let slices = slices.ok_or(Problem::BadHeader {
        name: "the set of blocks in the path",
        expected: "at most 256 ascending ranges with gaps between them, as in `0,17-65`",
    })?;
    if let Some(unchanged) = part.unchanged(&headers) {
        return Ok(unchanged);
    }

    let body = SlicedBody::new(slices);
    app.metrics.published(&name, body.left() as usize);
    // All responses share the public part, of which these are slices.
    let shared = Extension(BodyMemory::Shared);
    Ok(part.response((shared, Body::new(body))))
}

/// The database whose snapshot has the version that a path names.
fn with_base(app: &App, name: &str, version: &str) -> Result<Arc<Database>, Problem> {
    let versions = app.catalog.versions(name)?;
    let newest = versions.first().ok_or(DatabaseError::NotLoaded)?;
    let current = newest.database.version();
    let version: Version = version.parse().map_err(|_| malformed_version())?;

    let found = versions
        .into_iter()
        .map(|view| view.database)
        .find(|database| database.base_version() == version);
    found.ok_or_else(|| QueryError::WrongVersion { current }.into())
}

/// Some blocks of the public part; `None` if the text names none of it.
fn slices(database: &Database, ranges: &str) -> Option<Vec<Bytes>> {
    let list = database.block_list();
    let ranges = BlockRanges::parse(ranges, list.blocks()).ok()?;
    let part = database.public_part();
    let places = list.places(&ranges).into_iter();
    Some(places.map(|place| part.slice(place)).collect())
}

/// The part that responses are about.
fn part_of(app: &App, database: &Database) -> KeptPart {
    let age = if is_open_to_all(app) { SHARED } else { PRIVATE };
    KeptPart::of(database.base_version()).cached(age)
}

/// Returns true if everybody may read public parts, so that caches may share them.
fn is_open_to_all(app: &App) -> bool {
    // A service that demands private tokens demands none for reading.
    let asks_token = app.guard.tokens.is_some() && app.passes.is_none();
    !asks_token && !app.guard.asks_certificates
}
