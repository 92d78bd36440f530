//! Options of a connection, from JSON.

use std::sync::Arc;
use std::time::Duration;

use papir_checkpoint::VerifyingKey;
use papir_client::core::{
    Address, CheckpointSettings, DownloadLimit, Freshness, Pin, Rotation, Service, Settings, Token,
    Watcher, check_servers,
};
#[cfg(feature = "relay")]
use papir_client::core::{GivenKeys, Oblivious, RelayChoice};
use papir_client::{Error, Result};
use serde::Deserialize;
use zeroize::Zeroizing;

use crate::host::Page;
use crate::route::Route;
use crate::schemes::schemes;

/// The name of the option with the gateway's keys, for messages.
#[cfg(feature = "relay")]
const KEYS: &str = "the option `ohttpKeys`";
/// The reason for refusing a token with a relay but without the gateway's keys.
const UNVOUCHED_TOKEN: &str = "a token needs the keys of the service's gateway (`ohttpKeys`), or \
    the key of an owner who names them (`owner`), since the relay could serve its own and read the \
    token";
/// The reason for refusing a relay in a module without the feature `relay`.
#[cfg(not(feature = "relay"))]
const NO_RELAY: &str = "this WebAssembly module sends nothing through relays: expected papir-relay.wasm \
    or papir-relay-simd.wasm in the option `module`";

/// The options of `connect`, as JavaScript has checked them. Times are in seconds.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Options {
    url: String,
    /// The addresses of the database's other servers.
    #[serde(default)]
    others: Vec<String>,
    database: Option<String>,
    token: Option<Zeroizing<String>>,
    insecure_http: bool,
    relay: Option<String>,
    /// Key configurations of the service's gateway (RFC 9458, section 3.2).
    ohttp_keys: Option<Vec<u8>>,
    owner: Option<String>,
    root: Option<String>,
    max_age: Option<f64>,
    sequence: Option<u64>,
    witnesses: Vec<String>,
    cosignatures: usize,
    freshness: Option<f64>,
    patience: Option<f64>,
    max_download: Option<u64>,
    cache: bool,
    pin: bool,
}

/// A service, and the way of its requests.
struct RoutedService {
    service: Service,
    route: Route,
}

/// All that a session is opened with.
pub(crate) struct SessionOptions {
    pub(crate) service: Service,
    pub(crate) settings: Settings,
    pub(crate) route: Route,
}

impl Options {
    /// Parses the options.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self> {
        let options = serde_json::from_slice(bytes).map_err(|error| {
            papir_core::Error::malformed("the options", error, "those of the documentation")
        })?;
        Ok(options)
    }

    /// The service, the settings of a session, and the way of its requests. Fails for a root or a
    /// key that does not parse, for a relay that cannot be used, and for servers that cannot be
    /// used together.
    pub(crate) fn session(&self) -> Result<SessionOptions> {
        let RoutedService { service, route } = self.routed(self.service(&self.url)?)?;
        let settings = self.settings()?;
        if self.others.is_empty() {
            return Ok(SessionOptions {
                service,
                settings,
                route,
            });
        }

        let others = self.other_addresses()?;
        let mut all = vec![service.address().clone()];
        all.extend_from_slice(&others);
        Ok(SessionOptions {
            service: service.beside(others),
            settings: check_servers(&all, settings)?,
            route,
        })
    }

    /// The addresses of the other servers, each of which is checked as the service is.
    fn other_addresses(&self) -> Result<Vec<Address>> {
        let mut addresses = Vec::new();
        for url in &self.others {
            let RoutedService { service, .. } = self.routed(self.service(url)?)?;
            addresses.push(service.address().clone());
        }
        Ok(addresses)
    }

    /// The service at one of the addresses.
    fn service(&self, url: &str) -> Result<Service> {
        let token = self
            .token
            .as_ref()
            .map(|text| Token::new(text))
            .transpose()?;

        // Sealed for the gateway, the token is in the clear nowhere.
        let is_allowed = self.insecure_http || self.relay.is_some();
        let service = Service::new(url, token, is_allowed, Arc::new(Page))?;
        Ok(match self.patience {
            Some(patience) => service.with_patience(seconds(patience)),
            None => service,
        })
    }

    /// The service with the way of all requests.
    fn routed(&self, service: Service) -> Result<RoutedService> {
        let Some(url) = &self.relay else {
            let route = Route::default();
            return Ok(RoutedService { service, route });
        };

        // A relay that lies carries keys of its own, and reads the token. A session with the
        // owner's key holds the token back until it has verified that the owner names the key.
        let is_vouched = self.ohttp_keys.is_some() || self.owner.is_some();
        if self.token.is_some() && !is_vouched && !self.insecure_http {
            return Err(bad_relay(url, UNVOUCHED_TOKEN));
        }
        self.relayed(service, url)
    }

    /// The service through the relay at `url`.
    #[cfg(feature = "relay")]
    fn relayed(&self, service: Service, url: &str) -> Result<RoutedService> {
        let keys = match &self.ohttp_keys {
            Some(list) => Some(GivenKeys::parse(list, KEYS).map_err(bad_keys)?),
            None => None,
        };
        let choice = RelayChoice {
            url: url.to_owned(),
            keys,
            is_proxied: false,
            insecure_http: self.insecure_http,
        };

        let relay = Oblivious::new(service.address(), &choice)?;
        Ok(RoutedService {
            service: service.with_relay(relay.service_relay()),
            route: Route::through(relay),
        })
    }

    #[cfg(not(feature = "relay"))]
    fn relayed(&self, _service: Service, url: &str) -> Result<RoutedService> {
        Err(bad_relay(url, NO_RELAY))
    }

    fn settings(&self) -> Result<Settings> {
        let checkpoint = CheckpointSettings {
            owner: self.owner.as_ref().map(|text| key(text)).transpose()?,
            max_age: self.max_age.map(seconds),
            sequence: self.sequence,
            witnesses: self
                .witnesses
                .iter()
                .map(|text| key(text))
                .collect::<Result<_>>()?,
            cosignatures: self.cosignatures,
            catch_up: None,
        };

        // Every field is named: the defaults would link all schemes of the registry.
        Ok(Settings {
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
        })
    }
}

/// The error for a relay that is not used.
fn bad_relay(url: &str, reason: &str) -> Error {
    Error::BadRelay {
        url: url.to_owned(),
        reason: reason.to_owned(),
    }
}

/// The error for keys that are not used.
#[cfg(feature = "relay")]
fn bad_keys(error: papir_ohttp::Error) -> Error {
    Error::BadOhttpKeys {
        path: KEYS.into(),
        reason: error.to_string(),
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
