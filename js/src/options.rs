//! Options of a connection, from JSON.

use std::sync::Arc;
use std::time::Duration;

use papir_checkpoint::VerifyingKey;
use papir_client::Result;
use papir_client::core::{
    CheckpointSettings, DownloadLimit, Freshness, Pin, Rotation, Service, Settings, Token, Watcher,
};
use serde::Deserialize;
use zeroize::Zeroizing;

use crate::host::Page;
use crate::schemes::schemes;

/// The options of `connect`, as JavaScript has checked them. Times are in seconds.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Options {
    url: String,
    database: Option<String>,
    token: Option<Zeroizing<String>>,
    insecure_http: bool,
    owner: Option<String>,
    root: Option<String>,
    max_age: Option<f64>,
    witnesses: Vec<String>,
    cosignatures: usize,
    freshness: Option<f64>,
    patience: Option<f64>,
    max_download: Option<u64>,
    cache: bool,
    pin: bool,
}

impl Options {
    /// Parses the options.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self> {
        let options = serde_json::from_slice(bytes).map_err(|error| {
            papir_core::Error::malformed("the options", error, "those of the documentation")
        })?;
        Ok(options)
    }

    /// The service, and the settings of a session. Fails for a root or a key that does not
    /// parse.
    pub(crate) fn service_and_settings(&self) -> Result<(Service, Settings)> {
        let token = self
            .token
            .as_ref()
            .map(|text| Token::new(text))
            .transpose()?;
        let service = Service::new(&self.url, token, self.insecure_http, Arc::new(Page))?;
        let service = match self.patience {
            Some(patience) => service.with_patience(seconds(patience)),
            None => service,
        };

        let checkpoint = CheckpointSettings {
            owner: self.owner.as_ref().map(|text| key(text)).transpose()?,
            max_age: self.max_age.map(seconds),
            witnesses: self
                .witnesses
                .iter()
                .map(|text| key(text))
                .collect::<Result<_>>()?,
            cosignatures: self.cosignatures,
            catch_up: None,
        };

        // Every field is named: the defaults would link all schemes of the registry.
        let settings = Settings {
            database: self.database.clone(),
            allow_not_private: false,
            root: self.root.as_ref().map(|text| text.parse()).transpose()?,
            pin: if self.pin { Pin::Owner } else { Pin::Nothing },
            owner_key: None,
            checkpoint,
            no_cache: !self.cache,
            rotation: Rotation::default(),
            freshness: self
                .freshness
                .map_or_else(Freshness::default, |age| Freshness(seconds(age))),
            download_limit: self
                .max_download
                .map_or_else(DownloadLimit::default, DownloadLimit),
            schemes: schemes(),
            watcher: Watcher::default(),
        };

        Ok((service, settings))
    }
}

/// A public key of the options.
fn key(text: &str) -> Result<VerifyingKey> {
    let key = text.parse().map_err(|error: papir_checkpoint::Error| {
        papir_core::Error::malformed(
            "a public key of the options",
            error,
            "NAME+ID+KEY in base64",
        )
    })?;
    Ok(key)
}

fn seconds(number: f64) -> Duration {
    Duration::try_from_secs_f64(number).unwrap_or(Duration::MAX)
}
