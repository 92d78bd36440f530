//! The page for lookups in a browser, under `/page/`.

use std::path::Path;

use axum::Router;
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::Redirect;
use axum::routing::get;
use tower_http::services::ServeDir;
use tower_http::set_header::SetResponseHeaderLayer;

/// The page's folder in addresses.
const ROUTE: &str = "/page/";

/// The page runs only its own scripts and WebAssembly, and sends requests only to its own service.
const POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; \
    style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; \
    frame-ancestors 'none'";

const HEADERS: [(HeaderName, &str); 5] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    // A page must not run beside a module of another version: dates of files say nothing after a
    // rollback.
    (header::CACHE_CONTROL, "no-store"),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
];

/// Serves the files of the folder, compressed where it has `FILE.gz`, and redirects `/` to them.
pub(super) fn routes<S: Clone + Send + Sync + 'static>(folder: &Path) -> Router<S> {
    let files = ServeDir::new(folder).precompressed_gzip();
    let mut pages = Router::new().nest_service(ROUTE, files);

    for (name, value) in HEADERS {
        pages = pages.layer(SetResponseHeaderLayer::overriding(
            name,
            HeaderValue::from_static(value),
        ));
    }

    // A relative address is right behind a proxy that adds a path, too.
    let page = get(|| async { Redirect::temporary("page/") });
    pages
        .route("/", page.clone())
        .route(ROUTE.trim_end_matches('/'), page)
}
