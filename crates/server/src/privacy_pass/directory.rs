//! Reads the directory of an issuer.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use axum::body::to_bytes;
use axum::http::{HeaderValue, Request, StatusCode, Uri, header};
use papir_privacy_pass::{
    DIRECTORY_MEDIA_TYPE, DIRECTORY_PATH, IssuerDirectory, MAX_DIRECTORY_BYTES, PassError,
};
use papir_store::open_regular;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::config::{DirectoryFailure, DirectorySource, DirectoryTransport};
use crate::clients::ClientError;

/// Time limit for a fetch.
const FETCH_TIME: Duration = Duration::from_secs(10);

/// Reason why the keys of an issuer are not known.
#[derive(Debug, thiserror::Error)]
pub(super) enum DirectoryError {
    /// The issuer cannot be reached, or its answer breaks off or is too long.
    #[error("{0}")]
    Exchange(DirectoryFailure),
    /// The issuer refuses.
    #[error("the issuer answers with status {0}: expected 200")]
    Status(StatusCode),
    /// The issuer does not answer in time.
    #[error("the issuer does not answer within {} s", FETCH_TIME.as_secs())]
    Late,
    /// The file cannot be read.
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    /// The directory is malformed.
    #[error(transparent)]
    Format(#[from] PassError),
    /// The directory has no key that may be used.
    #[error("the issuer's directory has no key of token type 2 that is in use: expected one")]
    NoKey,
    /// All keys of the directory are too old.
    #[error("all keys of the issuer began before {time}: expected one that began later")]
    OldKeys { time: String },
    /// The registry failed.
    #[error(transparent)]
    Registry(#[from] ClientError),
    /// A task was aborted.
    #[error("aborted")]
    Aborted,
}

impl DirectorySource {
    /// Reads the directory, of at most [`MAX_DIRECTORY_BYTES`].
    pub(super) async fn read(&self) -> Result<IssuerDirectory, DirectoryError> {
        match self {
            Self::File(path) => {
                let path = path.clone();
                let reading = spawn_blocking(move || read_file(&path));
                reading.await.map_err(|_| DirectoryError::Aborted)?
            }
            Self::Issuer(transport) => {
                let fetching = timeout(FETCH_TIME, fetch(&**transport));
                fetching.await.unwrap_or(Err(DirectoryError::Late))
            }
        }
    }
}

/// Reads a directory in a file.
pub(super) fn read_file(path: &Path) -> Result<IssuerDirectory, DirectoryError> {
    let bytes = bounded_bytes(path).map_err(|source| DirectoryError::File {
        path: path.to_owned(),
        source,
    })?;
    Ok(IssuerDirectory::parse(&bytes)?)
}

/// The bytes of a file. Of one that is too long, they are too many for a directory.
fn bounded_bytes(path: &Path) -> io::Result<Vec<u8>> {
    let file = open_regular(path)?;
    let mut bytes = Vec::new();
    file.take(MAX_DIRECTORY_BYTES as u64 + 1)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Fetches a directory from the issuer.
async fn fetch(transport: &dyn DirectoryTransport) -> Result<IssuerDirectory, DirectoryError> {
    let mut request = Request::new(String::new());
    *request.uri_mut() = Uri::from_static(DIRECTORY_PATH);
    request.headers_mut().insert(
        header::ACCEPT,
        HeaderValue::from_static(DIRECTORY_MEDIA_TYPE),
    );

    let response = transport
        .send(request)
        .await
        .map_err(DirectoryError::Exchange)?;
    if response.status() != StatusCode::OK {
        return Err(DirectoryError::Status(response.status()));
    }

    let bytes = to_bytes(response.into_body(), MAX_DIRECTORY_BYTES)
        .await
        .map_err(|error| DirectoryError::Exchange(error.into()))?;
    Ok(IssuerDirectory::parse(&bytes)?)
}
