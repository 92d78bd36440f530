//! The page for lookups in a browser, under `/page/`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path as PathParameter, Request, State};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use tower_http::services::ServeFile;
use tower_http::set_header::SetResponseHeaderLayer;

use super::forwarded;
use super::unread::{BodyMemory, ResponseReader};
use crate::access::Grant;
use crate::admission::ClientKey;
use crate::listen::Peer;
use crate::service::App;

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

/// The file of a folder's address.
const INDEX: &str = "index.html";
/// End of the name of a compressed file.
const GZIP: &str = "gz";

/// Serves the files of the page's folder, compressed where it has `FILE.gz`, and redirects `/` to
/// them. Serves no hidden files, and no files that links name outside of the folder.
pub(super) fn routes() -> Router<Arc<App>> {
    let mut pages = Router::new()
        .route(ROUTE, get(file))
        .route(&format!("{ROUTE}{{*path}}"), get(file));

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

/// Target of a path below the page's folder.
#[derive(Debug, PartialEq, Eq)]
enum PagePath {
    File(PageFile),
    /// A folder without the slash at its end. Its address, relative to that of the path.
    Folder(String),
    Nothing,
}

/// A file of the page.
#[derive(Debug, PartialEq, Eq)]
struct PageFile {
    path: PathBuf,
    /// Set if a compressed file is beside it.
    is_compressed: bool,
}

/// Sends a file of the page.
async fn file(
    State(app): State<Arc<App>>,
    path: Result<PathParameter<String>, PathRejection>,
    request: Request,
) -> Response {
    let Some(folder) = app.page.clone() else {
        return StatusCode::NOT_FOUND.into_response();
    };
    // The folder's own address has no parameter. A path that is not UTF-8 names no file.
    let is_root = request.uri().path() == ROUTE;
    let path = match path {
        Ok(PathParameter(path)) => path,
        Err(_) if is_root => String::new(),
        Err(_) => return StatusCode::NOT_FOUND.into_response(),
    };

    let reader = ResponseReader::of(&client(&app, &request), &request);
    let finding = tokio::task::spawn_blocking(move || find(&folder, &path));
    let response = match finding.await {
        Ok(PagePath::File(file)) => send(file, request).await,
        Ok(PagePath::Folder(address)) => Redirect::temporary(&address).into_response(),
        Ok(PagePath::Nothing) => StatusCode::NOT_FOUND.into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    };

    match reader {
        Some(reader) => reader.count(&app, response),
        None => response,
    }
}

/// The client that a request counts for. The page asks for tokens itself, so none counts here.
fn client(app: &App, request: &Request) -> ClientKey {
    let peer = request.extensions().get().copied().unwrap_or(Peer::Local);
    let client = forwarded::client(&app.guard.proxies, peer, request.headers());
    let guard = &app.guard;
    guard.client(&Grant::everything(), client.unwrap_or(peer))
}

/// Finds the file of a decoded path below `folder`. Does not open it: a pipe would block.
fn find(folder: &Path, path: &str) -> PagePath {
    let Some(names) = names(path) else {
        return PagePath::Nothing;
    };
    let mut found = folder.to_owned();
    found.extend(&names);

    let is_folder = path.is_empty() || path.ends_with('/');
    if is_folder {
        found.push(INDEX);
    } else if let Some(name) = names.last()
        && found.is_dir()
        && is_within(folder, &found)
    {
        return PagePath::Folder(format!("{}/", encoded(name)));
    }

    // Links are followed first: none may lead out of the folder.
    if !is_file_within(folder, &found) {
        return PagePath::Nothing;
    }
    let mut compressed = found.clone().into_os_string();
    compressed.push(format!(".{GZIP}"));
    PagePath::File(PageFile {
        is_compressed: is_file_within(folder, Path::new(&compressed)),
        path: found,
    })
}

/// The names in a path; `None` if one of them is hidden or no name of a file.
fn names(path: &str) -> Option<Vec<&str>> {
    let path = path.strip_suffix('/').unwrap_or(path);
    if path.is_empty() {
        return Some(Vec::new());
    }

    let names: Vec<&str> = path.split('/').collect();
    names.iter().all(|name| is_shown(name)).then_some(names)
}

/// Returns whether a name is that of a file or folder that is not hidden. A name with a colon or a
/// backslash has several parts on some systems.
fn is_shown(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('.') && !name.contains(['\\', '\0', ':'])
}

/// A name as a part of an address. Only letters, digits and some signs stay as they are, so that it
/// is no address of another host.
fn encoded(name: &str) -> String {
    let mut text = String::new();
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            text.push(char::from(byte));
        } else {
            text.push_str(&format!("%{byte:02X}"));
        }
    }
    text
}

/// Returns whether a path is a regular file within the folder, after links are followed.
fn is_file_within(folder: &Path, path: &Path) -> bool {
    path.is_file() && is_within(folder, path)
}

/// Returns whether a path is within the folder after links are followed.
fn is_within(folder: &Path, path: &Path) -> bool {
    let Ok(folder) = folder.canonicalize() else {
        return false;
    };
    path.canonicalize()
        .is_ok_and(|found| found.starts_with(folder))
}

/// Sends a file, compressed if the client accepts it.
async fn send(file: PageFile, request: Request) -> Response {
    let mut service = ServeFile::new(&file.path);
    if file.is_compressed {
        service = service.precompressed_gzip();
    }

    match service.try_call(request).await {
        Ok(response) => {
            let mut response = response.map(Body::new);
            response.extensions_mut().insert(BodyMemory::Pieces);
            response
        }
        // Removed meanwhile, or not readable.
        Err(error) => {
            tracing::warn!(%error, "a file of the page cannot be sent");
            StatusCode::NOT_FOUND.into_response()
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;

    use super::*;

    fn file(path: PathBuf, is_compressed: bool) -> PagePath {
        PagePath::File(PageFile {
            path,
            is_compressed,
        })
    }

    #[test]
    fn files_and_folders_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir_all(root.join("sub dir/deep")).unwrap();
        for name in ["index.html", "a.js", "a.js.gz", "sub dir/index.html"] {
            fs::write(root.join(name), name).unwrap();
        }

        assert_eq!(find(root, ""), file(root.join("index.html"), false));
        assert_eq!(find(root, "a.js"), file(root.join("a.js"), true));
        assert_eq!(
            find(root, "sub dir/"),
            file(root.join("sub dir/index.html"), false)
        );

        // Relative addresses, right also where the service has a path of its own.
        assert_eq!(find(root, "sub dir"), PagePath::Folder("sub%20dir/".into()));
        assert_eq!(find(root, "sub dir/deep"), PagePath::Folder("deep/".into()));
        for path in ["sub dir/deep/", "a.js/", "b.js", "a.js/b"] {
            assert_eq!(find(root, path), PagePath::Nothing, "{path}");
        }
    }

    #[test]
    fn nothing_outside_the_folder_is_found_and_nothing_hidden() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("page");
        fs::create_dir_all(root.join(".git")).unwrap();
        for name in ["secret", "page/.env", "page/.git/config", "page/a"] {
            fs::write(folder.path().join(name), name).unwrap();
        }

        for path in [
            ".env",
            ".git/config",
            ".git",
            "..",
            "../secret",
            "a/../../secret",
            "/etc/passwd",
            "//etc/passwd",
            "a\\b",
            "a\0",
        ] {
            assert_eq!(find(&root, path), PagePath::Nothing, "{path}");
        }
        for length in [256, 100_000] {
            assert_eq!(find(&root, &"n".repeat(length)), PagePath::Nothing);
        }
    }

    #[test]
    #[cfg(unix)]
    fn links_are_followed_within_the_folder_only() {
        use std::os::unix::fs::symlink;

        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("page");
        fs::create_dir_all(root.join("sub")).unwrap();
        fs::create_dir_all(folder.path().join("outside")).unwrap();
        for name in [
            "secret",
            "outside/index.html",
            "page/a",
            "page/sub/index.html",
        ] {
            fs::write(folder.path().join(name), name).unwrap();
        }
        symlink("a", root.join("inside")).unwrap();
        symlink("../secret", root.join("link")).unwrap();
        symlink("../secret", root.join("a.gz")).unwrap();
        symlink("../outside", root.join("folder")).unwrap();

        assert_eq!(find(&root, "inside"), file(root.join("inside"), false));
        assert_eq!(find(&root, "a"), file(root.join("a"), false), "not a.gz");
        for path in ["link", "a.gz", "folder", "folder/", "folder/index.html"] {
            assert_eq!(find(&root, path), PagePath::Nothing, "{path}");
        }

        // The folder itself may be a link.
        let linked = folder.path().join("linked");
        symlink(&root, &linked).unwrap();
        assert_eq!(find(&linked, "a"), file(linked.join("a"), false));
    }

    #[test]
    fn addresses_of_folders_name_no_other_host() {
        assert_eq!(encoded("a-b_c.d~e1"), "a-b_c.d~e1");
        assert_eq!(encoded("//x:é"), "%2F%2Fx%3A%C3%A9");
    }
}
