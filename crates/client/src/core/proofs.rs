//! Requests for what a service shows of a database's log.

use papir_checkpoint::Proof;
use papir_protocol::{code, limit, path};

use super::request::Accepted;
use super::service::Service;
use super::task::Io;
use crate::error::{Error, Result, refused_checkpoint};

/// Fetches the proof of the newest version. Does not verify its signatures.
pub(crate) async fn fetch_proof(io: &Io, service: &Service, name: &str) -> Result<Proof> {
    let path = path::checkpoint_proof(name);
    let bytes = fetch_shown(io, service, name, &path, limit::CHECKPOINT_BYTES).await?;
    Proof::parse(&bytes).map_err(|error| refused_checkpoint(&service.url(&path), error))
}

/// Fetches at most `limit` bytes at a path of a database's checkpoint. Fails with
/// [`Error::NoCheckpoint`] if the database is not signed.
pub(crate) async fn fetch_shown(
    io: &Io,
    service: &Service,
    name: &str,
    path: &str,
    limit: u64,
) -> Result<Vec<u8>> {
    match service.get(io, path, Accepted::UpTo(limit)).await {
        Ok(response) => service.binary(path, response, limit),
        Err(error) if error.code() == code::NO_CHECKPOINT => Err(Error::NoCheckpoint {
            url: service.url(&path::database(name)),
        }),
        Err(error) => Err(error),
    }
}
