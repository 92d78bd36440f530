//! Options of a connection, from JSON.

use std::sync::Arc;
use std::time::Duration;

use papir_checkpoint::VerifyingKey;
use papir_client::core::{
    Address, CheckpointSettings, DownloadLimit, Freshness, KnownVersion, Patches, Pin,
    PrefilterUse, Rotation, Service, Settings, Token, Watcher, check_servers,
};
#[cfg(feature = "relay")]
use papir_client::core::{GivenKeys, Oblivious, RelayChoice};
#[cfg(feature = "tokens")]
use papir_client::core::{ServiceTokens, check_issuer};
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
/// The reason for refusing an issuer with a relay but without the gateway's keys.
const UNVOUCHED_ISSUER: &str = "tokens of an issuer need the keys of the service's gateway \
    (`ohttpKeys`), since the relay could serve its own and read the tokens";
/// The reason for refusing a relay in a module without the feature `relay`.
#[cfg(not(feature = "relay"))]
const NO_RELAY: &str = "this WebAssembly module sends nothing through relays: expected papir-relay.wasm \
    or papir-relay-simd.wasm in the option `module`";
/// The reason for refusing an issuer in a module without the feature `tokens`.
#[cfg(not(feature = "tokens"))]
const NO_TOKENS: &str = "this WebAssembly module spends no tokens: expected papir-tokens.wasm or \
    papir-tokens-simd.wasm in the option `module`";

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
    /// The address of the issuer of tokens.
    issuer: Option<String>,
    /// The bearer token for the issuer.
    issuer_token: Option<Zeroizing<String>>,
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
    /// Begins with the version that an earlier connection has kept.
    #[serde(default)]
    known: bool,
    /// `auto`, `always` or `never`; by default `auto`.
    patches: Option<String>,
    pin: bool,
    /// Sends nothing for keys that the database's filter excludes.
    #[serde(default = "used")]
    prefilter: bool,
    /// Refuses lookups outside a schedule.
    #[serde(default)]
    hide_times: bool,
}

/// True, the default of an option that is on.
fn used() -> bool {
    true
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
    /// key that does not parse, for a relay or an issuer that cannot be used, and for servers that
    /// cannot be used together.
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
        // Sealed for the gateway, the token is in the clear nowhere.
        let is_allowed = self.insecure_http || self.relay.is_some();
        let token = bearer(self.token.as_ref())?;
        let service = Service::new(url, token, is_allowed, Arc::new(Page))?;
        Ok(self.patient(service))
    }

    /// The same service with the patience of the options.
    fn patient(&self, service: Service) -> Service {
        match self.patience {
            Some(patience) => service.with_patience(seconds(patience)),
            None => service,
        }
    }

    /// The service with the way of all requests.
    fn routed(&self, service: Service) -> Result<RoutedService> {
        let routed = match &self.relay {
            Some(url) => {
                self.check_vouched(url)?;
                self.relayed(service, url)?
            }
            None => RoutedService {
                route: Route::of_service(service.address()),
                service,
            },
        };

        match &self.issuer {
            Some(url) => {
                let token = bearer(self.issuer_token.as_ref())?;
                self.paid(routed, url, token)
            }
            None => Ok(routed),
        }
    }

    /// Refuses tokens that would be sealed for keys that the relay at `url` carries. A relay that
    /// lies carries keys of its own, and reads the tokens.
    fn check_vouched(&self, url: &str) -> Result<()> {
        if self.ohttp_keys.is_some() || self.insecure_http {
            return Ok(());
        }

        // Spent wherever a service demands one, they are not held back.
        if self.issuer.is_some() {
            return Err(bad_relay(url, UNVOUCHED_ISSUER));
        }
        // A session with the owner's key holds the token back until it has verified that the owner
        // names the gateway's key.
        if self.token.is_some() && self.owner.is_none() {
            return Err(bad_relay(url, UNVOUCHED_TOKEN));
        }
        Ok(())
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
        let service = service.with_relay(relay.service_relay());
        Ok(RoutedService {
            route: Route::of_service(service.address()).through(relay),
            service,
        })
    }

    #[cfg(not(feature = "relay"))]
    fn relayed(&self, _service: Service, url: &str) -> Result<RoutedService> {
        Err(bad_relay(url, NO_RELAY))
    }

    /// The service, whose requests have tokens of the issuer at `url`. `token` is the client's
    /// bearer token for the issuer.
    #[cfg(feature = "tokens")]
    fn paid(
        &self,
        routed: RoutedService,
        url: &str,
        token: Option<Token>,
    ) -> Result<RoutedService> {
        check_issuer(url, self.insecure_http)?;
        let issuer = Service::new(url, token, self.insecure_http, Arc::new(Page))?;

        let RoutedService { service, route } = routed;
        let tokens = ServiceTokens::new(self.patient(issuer), service.address());
        Ok(RoutedService {
            service,
            route: route.paid_with(tokens),
        })
    }

    #[cfg(not(feature = "tokens"))]
    fn paid(
        &self,
        _routed: RoutedService,
        url: &str,
        _token: Option<Token>,
    ) -> Result<RoutedService> {
        Err(Error::BadIssuer {
            url: url.to_owned(),
            reason: NO_TOKENS.to_owned(),
        })
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
            known: if self.known {
                KnownVersion::Use
            } else {
                KnownVersion::Ask
            },
            patches: match &self.patches {
                Some(text) => text.parse()?,
                None => Patches::default(),
            },
            prefilter: if self.prefilter {
                PrefilterUse::Use
            } else {
                PrefilterUse::Ignore
            },
            hide_times: self.hide_times,
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

/// A bearer token of the options; `None` without one.
fn bearer(text: Option<&Zeroizing<String>>) -> Result<Option<Token>> {
    text.map(|text| Token::new(text)).transpose()
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
