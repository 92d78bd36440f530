//! Logs of signed databases, for comparisons.

use papir_checkpoint::Log;
use papir_protocol::{code, limit, path};

use super::fetch::choose;
use super::request::Accepted;
use super::service::Service;
use super::settings::Settings;
use super::task::Task;
use crate::error::{Error, Result};

/// Fetches the log of a signed database, for comparisons. Its signatures are not verified.
///
/// # Errors
/// [`Error::NoSuchDatabase`], [`Error::ChooseDatabase`], errors of the network;
/// [`Error::NoCheckpoint`] for a database that is not signed; [`Error::Checkpoint`] for a malformed
/// log.
pub fn fetch_log(service: Service, settings: Settings) -> Task<'static, Result<Log>> {
    Task::new(|io| async move {
        let name = choose(&io, &service, &settings).await?;
        let path = path::checkpoint_log(&name);
        let response = service.get(&io, &path, Accepted::UpTo(limit::LOG_BYTES)).await;
        let response = response.map_err(|error| match error.code() {
            code::NO_CHECKPOINT => Error::NoCheckpoint { url: service.url(&path::database(&name)) },
            _ => error,
        })?;
        let bytes = service.body(&path, response, limit::LOG_BYTES)?;
        Log::decode(&bytes).map_err(|error| Error::Checkpoint { url: service.url(&path), error })
    })
}
