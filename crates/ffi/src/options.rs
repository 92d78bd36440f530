//! Options of a connection.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use papir_checkpoint::VerifyingKey;
use papir_client::{
    CheckpointSettings, DownloadLimit, Freshness, Issuer, KnownVersion, Passphrase, Patches, Pin,
    PrefilterUse, ProxySetting, Relay, Result, Token,
};
use papir_core::Error;
use zeroize::Zeroizing;

use crate::storage::{ApplicationStorage, Storage};

/// Options of a connection. Every one has a default.
#[derive(Clone, Default, uniffi::Record)]
pub struct Options {
    /// The database's name; by default the one in the address, else the service's only one.
    #[uniffi(default = None)]
    pub database: Option<String>,
    /// Token for the service. It is sent over HTTPS only, or to this machine.
    #[uniffi(default = None)]
    pub token: Option<String>,
    /// Sends the token over plain HTTP, too. Anyone on the network path can then read it.
    #[uniffi(default = false)]
    pub insecure_http: bool,
    /// PEM file of root certificates to trust instead of the public ones.
    #[uniffi(default = None)]
    pub ca: Option<String>,
    /// The owner's public key. The database must be signed under it.
    #[uniffi(default = None)]
    pub owner: Option<String>,
    /// The root of a verifiable database, 64 hexadecimal digits. Every record is verified against
    /// it.
    #[uniffi(default = None)]
    pub root: Option<String>,
    /// Maximum age of a signed version. A database that is not signed is refused.
    #[uniffi(default = None)]
    pub max_age: Option<Duration>,
    /// Lowest sequence of a signed version that is accepted. A database that is not signed is
    /// refused.
    #[uniffi(default = None)]
    pub sequence: Option<u64>,
    /// Public keys of witnesses, whose signatures beside the owner's are verified and counted.
    #[uniffi(default = [])]
    pub witnesses: Vec<String>,
    /// Minimum number of these witnesses that must have signed.
    #[uniffi(default = 0)]
    pub cosignatures: u32,
    /// Maximum age of the version in use, for databases with frequent changes: 10 seconds by
    /// default.
    #[uniffi(default = None)]
    pub freshness: Option<Duration>,
    /// Time after which no request is tried again while the service, or all of several, is busy or
    /// away: a minute by default.
    #[uniffi(default = None)]
    pub patience: Option<Duration>,
    /// Time after which a call fails with the code `timed_out`, with all its waits and retries:
    /// connecting, a lookup, a registration. Unlimited by default.
    #[uniffi(default = None)]
    pub timeout: Option<Duration>,
    /// The proxy: `http://`, `https://` or `socks5://[name:password@]host:port`, or `none` for
    /// direct connections. By default the one in the variables of the process, of which a phone has
    /// none.
    #[uniffi(default = None)]
    pub proxy: Option<String>,
    /// The relay of Oblivious HTTP through which everything goes, as `https://HOST`. The service
    /// then does not see this device's address. `ca`, `proxy` and `insecure_http` apply to the
    /// relay.
    #[uniffi(default = None)]
    pub relay: Option<String>,
    /// A file with the keys of the service's gateway. By default they are fetched through the
    /// relay, which can then replace them by its own and read everything, unless `owner` is given:
    /// then only keys are used that the owner of the database names.
    #[uniffi(default = None)]
    pub ohttp_keys: Option<String>,
    /// The issuer of private tokens, as `https://HOST`, for a service that demands them. It sees
    /// this device's address, also with a relay.
    #[uniffi(default = None)]
    pub issuer: Option<String>,
    /// Bearer token for the issuer, which recognizes its client by it.
    #[uniffi(default = None)]
    pub issuer_token: Option<String>,
    /// Largest download of a public part, in bytes: 1 GiB by default.
    #[uniffi(default = None)]
    pub max_download: Option<u64>,
    /// Keeps no copy of the public part.
    #[uniffi(default = false)]
    pub no_cache: bool,
    /// The use of a version of the database that the client keeps: `ask`, `use` or `renew`. With
    /// `use` a connection begins with the version that an earlier one has kept, without a request,
    /// and a lookup is one request; without such a version it fetches the newest one, and keeps it.
    /// It learns of a newer one once the service refuses the kept one. With `renew` it fetches the
    /// newest one and keeps it in place of an earlier one, whose queries in messages are dropped.
    /// By default each connection asks for the newest version, and keeps none.
    #[uniffi(default = None)]
    pub known: Option<String>,
    /// When a kept public part of an earlier version is brought up to date by the blocks that have
    /// changed: `auto`, `always` or `never`. The service then learns the version of the copy. By
    /// default, without a relay, if the owner of a signed database was pinned before, or if this
    /// connection has fetched the copy's version.
    #[uniffi(default = None)]
    pub patches: Option<String>,
    /// Looks up every key, also one that the filter of the database's keys excludes. By default
    /// nothing is sent for excluded keys, if the owner has added a filter, and the service learns
    /// of each lookup that its key is probably present.
    #[uniffi(default = false)]
    pub no_prefilter: bool,
    /// Refuses lookups outside a schedule, with the code `unscheduled`.
    #[uniffi(default = false)]
    pub hide_times: bool,
    /// Does not remember the owner's key of a signed database from its first use.
    #[uniffi(default = false)]
    pub no_pin: bool,
    /// The directory of client state, private to the application and left out of backups. On a
    /// phone give it, or `storage`.
    #[uniffi(default = None)]
    pub state: Option<String>,
    /// A storage of the application for client state, in place of the directory.
    #[uniffi(default = None)]
    pub storage: Option<Arc<dyn Storage>>,
    /// The passphrase that encrypts stored registrations.
    #[uniffi(default = None)]
    pub passphrase: Option<String>,
    /// The key of an encrypted database: the line in its file.
    #[uniffi(default = None)]
    pub owner_key: Option<String>,
}

/// Secrets are not printed.
impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("database", &self.database)
            .finish_non_exhaustive()
    }
}

impl Options {
    /// The client's options. Fails for a root, a key or a token that does not parse, for a
    /// gateway's keys without a relay, and for an issuer's token without an issuer.
    pub(crate) fn into_client_options(self) -> Result<papir_client::Options> {
        // First, since secrets are erased by their types.
        let token = self.token.map(Zeroizing::new);
        let issuer_token = self.issuer_token.map(Zeroizing::new);
        let passphrase = self.passphrase.map(Passphrase::new);
        let owner_key = self.owner_key.map(Zeroizing::new);

        let checkpoint = CheckpointSettings {
            owner: self.owner.as_ref().map(|text| key(text)).transpose()?,
            max_age: self.max_age,
            sequence: self.sequence,
            witnesses: self
                .witnesses
                .iter()
                .map(|text| key(text))
                .collect::<Result<_>>()?,
            cosignatures: self.cosignatures as usize,
            catch_up: None,
        };

        Ok(papir_client::Options {
            database: self.database,
            token: token.map(|text| Token::new(&text)).transpose()?,
            insecure_http: self.insecure_http,
            ca: self.ca.map(PathBuf::from),
            checkpoint,
            root: self.root.map(|text| text.parse()).transpose()?,
            freshness: self.freshness.map_or_else(Freshness::default, Freshness),
            patience: self.patience,
            timeout: self.timeout,
            // Without one, the variables of the process decide, as for other programs.
            proxy: match self.proxy {
                Some(text) => text.parse()?,
                None => ProxySetting::default(),
            },
            relay: relay(self.relay, self.ohttp_keys)?,
            issuer: issuer(self.issuer, issuer_token)?,
            download_limit: self
                .max_download
                .map_or_else(DownloadLimit::default, DownloadLimit),
            no_cache: self.no_cache,
            known: match self.known {
                Some(text) => text.parse()?,
                None => KnownVersion::default(),
            },
            patches: match self.patches {
                Some(text) => text.parse()?,
                None => Patches::default(),
            },
            prefilter: if self.no_prefilter {
                PrefilterUse::Ignore
            } else {
                PrefilterUse::Use
            },
            hide_times: self.hide_times,
            pin: if self.no_pin {
                Pin::Nothing
            } else {
                Pin::default()
            },
            state: self.state.map(PathBuf::from),
            storage: self
                .storage
                .map(|storage| Arc::new(ApplicationStorage(storage)) as _),
            passphrase,
            owner_key: owner_key.map(|text| text.parse()).transpose()?,
            ..papir_client::Options::default()
        })
    }
}

/// The relay of the options, with the file of the gateway's keys.
fn relay(url: Option<String>, keys: Option<String>) -> Result<Option<Relay>> {
    match (url.map(Relay::new), keys) {
        (Some(relay), Some(file)) => Ok(Some(relay.with_keys(file))),
        (relay, None) => Ok(relay),
        // Without the relay, the service would see the address after all.
        (None, Some(file)) => Err(papir_client::Error::BadOhttpKeys {
            path: file.into(),
            reason: "keys of a gateway, and no relay: expected both or neither".to_owned(),
        }),
    }
}

/// The issuer of the options, with the bearer token for it.
fn issuer(url: Option<String>, token: Option<Zeroizing<String>>) -> Result<Option<Issuer>> {
    let token = token.map(|text| Token::new(&text)).transpose()?;
    match (url, token) {
        (Some(url), token) => Ok(Some(Issuer::new(url, token))),
        (None, None) => Ok(None),
        (None, Some(_)) => Err(papir_client::Error::BadIssuer {
            url: "no address".to_owned(),
            reason: "a token for an issuer, and no issuer: expected both or neither".to_owned(),
        }),
    }
}

/// A public key of the options.
fn key(text: &str) -> Result<VerifyingKey> {
    let key = text.parse().map_err(|error: papir_checkpoint::Error| {
        Error::malformed(
            "a public key of the options",
            error,
            "NAME+ID+KEY in base64",
        )
    })?;
    Ok(key)
}
