//! Logs of signed databases.

use papir_checkpoint::{Log, Proof};
use papir_protocol::{limit, path};

use super::fetch::choose;
use super::proofs::{fetch_proof, fetch_shown};
use super::service::Service;
use super::settings::Settings;
use super::task::Task;
use crate::error::{Result, refused_checkpoint};

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
///
/// [`Error::NoSuchDatabase`]: crate::Error::NoSuchDatabase
/// [`Error::ChooseDatabase`]: crate::Error::ChooseDatabase
/// [`Error::NoCheckpoint`]: crate::Error::NoCheckpoint
/// [`Error::Checkpoint`]: crate::Error::Checkpoint
pub fn fetch_log(service: Service, settings: Settings) -> Task<'static, Result<ShownLog>> {
    Task::new(|io| async move {
        let name = choose(&io, &service, &settings).await?;
        let log = path::checkpoint_log(&name);
        let parsed = fetch_proof(&io, &service, &name).await?;

        // Fetched after the proof: the log then contains the version that the proof shows.
        let bytes = fetch_shown(&io, &service, &name, &log, limit::LOG_BYTES).await?;
        let log =
            Log::decode(&bytes).map_err(|error| refused_checkpoint(&service.url(&log), error))?;
        Ok(ShownLog { proof: parsed, log })
    })
}
