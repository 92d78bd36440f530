//! Logs of signed databases.

use papir_checkpoint::{Log, Proof};
use papir_protocol::{code, limit, path};

use super::fetch::choose;
use super::request::Accepted;
use super::service::Service;
use super::settings::Settings;
use super::task::{Io, Task};
use crate::error::{Error, Result, refused_checkpoint};

/// The log of a signed database, as a service shows it. Its signatures are not verified.
#[derive(Clone, Debug)]
pub struct ShownLog {
    /// The proof of the newest version, which clients verify.
    pub proof: Proof,
    /// The log. It was fetched after the proof, and contains the proof's version.
    pub log: Log,
}

/// Fetches the checkpoint proof and the log of a signed database.
///
/// # Errors
/// [`Error::NoSuchDatabase`], [`Error::ChooseDatabase`], errors of the network;
/// [`Error::NoCheckpoint`] for a database that is not signed; [`Error::Checkpoint`] for a malformed
/// proof or log.
pub fn fetch_log(service: Service, settings: Settings) -> Task<'static, Result<ShownLog>> {
    Task::new(|io| async move {
        let name = choose(&io, &service, &settings).await?;
        let proof = path::checkpoint_proof(&name);
        let log = path::checkpoint_log(&name);

        let bytes = fetch(&io, &service, &name, &proof, limit::CHECKPOINT_BYTES).await?;
        let parsed = Proof::parse(&bytes)
            .map_err(|error| refused_checkpoint(&service.url(&proof), error))?;

        // Fetched after the proof: the log then contains the version that the proof shows.
        let bytes = fetch(&io, &service, &name, &log, limit::LOG_BYTES).await?;
        let log =
            Log::decode(&bytes).map_err(|error| refused_checkpoint(&service.url(&log), error))?;
        Ok(ShownLog { proof: parsed, log })
    })
}

async fn fetch(io: &Io, service: &Service, name: &str, path: &str, limit: u64) -> Result<Vec<u8>> {
    match service.get(io, path, Accepted::UpTo(limit)).await {
        Ok(response) => service.binary(path, response, limit),
        Err(error) if error.code() == code::NO_CHECKPOINT => Err(Error::NoCheckpoint {
            url: service.url(&path::database(name)),
        }),
        Err(error) => Err(error),
    }
}
