//! Options of a connection.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use papir_core::OwnerKey;
use papir_lookup::Root;

use super::identity::Identity;
use super::issuer::Issuer;
use super::platform::Native;
use super::proxy::ProxySetting;
use super::relay::Relay;
use super::retry_observer::RetryObserver;
use crate::core::{
    Address, CheckpointSettings, DownloadLimit, Freshness, KnownVersion, PATIENCE, Patches, Pin,
    PrefilterUse, Rotation, Schemes, Service, ServiceRelay, Settings, Token, Watcher,
    relay_address,
};
use crate::error::{Error, Result};
use crate::state::{ClientState, Passphrase, StateStorage};

/// The reason for refusing a token with a relay but without keys of the service's gateway.
const UNVOUCHED_TOKEN: &str = "a token needs the keys of the service's gateway (--ohttp-keys), \
    since the relay could serve its own and read the token";
/// The same reason for a session, which can also read the keys from the owner's proof.
const UNVOUCHED_SESSION: &str = "a token needs the keys of the service's gateway (--ohttp-keys), \
    or the key of an owner who names them (--owner-pub), since the relay could serve its own and \
    read the token";

/// Options of a connection. Every field has a default value.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The database's name; `None` for the name in the address, else that of the service's only
    /// database.
    pub database: Option<String>,
    /// Allows schemes that reveal to the server which record is read.
    pub allow_not_private: bool,
    /// The trusted root. The database must have it, and every record is verified against it.
    pub root: Option<Root>,
    /// The trust in a database that the client keeps from its first use; by default the owner's key
    /// of a signed database. It is stored in the directory of client state. From then on the
    /// database must be signed under this key, or under a later key to which its owner's rotations
    /// lead. A given key of another owner is refused until [`remove_pins`](crate::remove_pins)
    /// removes the pinned one. A given `root` replaces the pinned one.
    pub pin: Pin,
    /// Requirements on the owner's signed checkpoints, among them the owner's public key.
    pub checkpoint: CheckpointSettings,
    /// The bearer token, if the service requires one.
    pub token: Option<Token>,
    /// Allows sending the token over plain HTTP to another machine or through a proxy, and sealing
    /// it for keys that only the relay vouches for. Others on the network, or the relay, can then
    /// read it. A relay at another machine may be reached over plain HTTP, too.
    pub insecure_http: bool,
    /// PEM file of the certificates to trust: of issuers, or the server's own. `None` trusts the
    /// certificates that the user's environment trusts: in the files that `SSL_CERT_FILE` and
    /// `SSL_CERT_DIR` name, else of the system, else bundled ones.
    pub ca: Option<PathBuf>,
    /// The client's certificate and key, for a service that asks for them.
    pub identity: Option<Identity>,
    /// The proxy for the connections; by default the one that the environment's variables name.
    pub proxy: ProxySetting,
    /// The relay of Oblivious HTTP through which everything goes that the client sends to the
    /// service and fetches from it: the public part, checkpoints, registrations and the gateway's
    /// keys, too. Nothing is sent to the service's own address, and its name is not looked up.
    ///
    /// `ca`, `proxy` and `insecure_http` then apply to the connections to the relay. The token is
    /// sealed for the service's gateway. Without [`Relay::keys`] it is refused, unless
    /// `insecure_http` is set, or an owner's key is given: a connection then sends the token once
    /// it has verified that the owner names the gateway's key. A service at a Unix socket or below
    /// a path, and a client certificate, are refused. `None` connects to the service itself.
    pub relay: Option<Relay>,
    /// The issuer of private tokens, for a service that demands them. Tokens are kept with the
    /// client state, and encrypted with the passphrase. Connections to the issuer have the `ca`,
    /// the `proxy` and `insecure_http` of these options. They do not go through the `relay`, which
    /// forwards to the service only: the issuer sees the client's address. With a relay they need
    /// [`Relay::keys`], as `token` does. `None` spends no tokens.
    pub issuer: Option<Issuer>,
    /// The directory of client state: the state of registered clients, pins, and copies of public
    /// parts. `None` for [`crate::default_state_directory`].
    pub state: Option<PathBuf>,
    /// The application's own storage of client state, in place of the directory.
    pub storage: Option<Arc<dyn StateStorage>>,
    /// Disables stored copies of the public part. By default a public part of 16 KiB or more is
    /// stored in the directory of client state, and fetched again only when the database changes.
    pub no_cache: bool,
    /// The use of a version that the client keeps in the directory of client state.
    pub known: KnownVersion,
    /// Chooses when a stored copy of an earlier public part is updated by blocks. A patch tells the
    /// service the version of the copy.
    pub patches: Patches,
    /// The use of the filter of a database's keys, if its owner has added one: by default, nothing
    /// is sent for keys that the filter excludes. The service then learns of each lookup that it
    /// sees that its key is probably present.
    pub prefilter: PrefilterUse,
    /// Refuses lookups outside a schedule with [`Error::Unscheduled`](crate::Error::Unscheduled),
    /// since the service sees their times. Use it for a connection that is to be scheduled
    /// ([`Schedule`](crate::Schedule)): no lookup then goes out at another time by mistake.
    pub hide_times: bool,
    /// The passphrase that encrypts registrations in the storage; `None` relies on the files'
    /// permissions.
    pub passphrase: Option<Passphrase>,
    /// The key of the database's owner. Registering with an encrypted database needs it, but not
    /// the use of stored state. With a key, a database that is not encrypted, or encrypted under
    /// another key, is refused.
    pub owner_key: Option<OwnerKey>,
    /// Time after a request's first attempt at which it is not retried any more while the service
    /// is busy, starts, stops or cannot be reached; `None` for one minute.
    pub patience: Option<Duration>,
    /// Time after which a call ends with [`Error::TimedOut`](crate::Error::TimedOut): opening a
    /// connection, a lookup or a registration, with all waits and retries. `None` for no limit. A
    /// computation that is running finishes first.
    pub timeout: Option<Duration>,
    /// The moment at which all calls end, in addition to `timeout`; `None` for no limit.
    pub deadline: Option<Instant>,
    /// Receives the pauses of calls before retries. Tokens that are fetched ahead of need report
    /// none.
    pub retries: RetryObserver,
    /// Limits after which a registered client replaces its keys.
    pub rotation: Rotation,
    /// Maximum age of a version, for databases with frequent changes.
    pub freshness: Freshness,
    /// Longest accepted public part, delta or filter of a set.
    pub download_limit: DownloadLimit,
    /// The schemes whose databases the connection may use.
    pub schemes: Schemes,
    /// Receives the progress of long computations of the client, for example the decryption of
    /// ZipPIR's masks, which takes seconds for each query.
    pub watcher: Watcher,
}

impl Options {
    /// The default options for the database with this name; `None` for the one in the address, else
    /// the service's only one.
    pub fn of_database(database: Option<&str>) -> Self {
        Self {
            database: database.map(str::to_owned),
            ..Self::default()
        }
    }

    /// Returns the same options with this choice of a proxy.
    #[must_use]
    pub fn proxy(self, proxy: ProxySetting) -> Self {
        Self { proxy, ..self }
    }

    /// Returns the same options with this relay.
    #[must_use]
    pub fn relay(self, relay: Relay) -> Self {
        Self {
            relay: Some(relay),
            ..self
        }
    }

    /// The same options without the token, for requests that need none.
    pub(crate) fn without_token(&self) -> Self {
        Self {
            token: None,
            ..self.clone()
        }
    }

    /// The service at the address `url`, with these options, for requests outside of sessions.
    pub(crate) fn service(&self, url: &str) -> Result<Service> {
        let service = self.service_at(url)?;
        self.check_vouched_token(UNVOUCHED_TOKEN)?;
        Ok(service)
    }

    /// The service at the address `url`, with these options, for a session. With the owner's key it
    /// holds the token back until it has verified that the owner names the gateway's key.
    pub(crate) fn session_service(&self, url: &str) -> Result<Service> {
        let service = self.service_at(url)?;
        if self.checkpoint.owner.is_none() {
            self.check_vouched_token(UNVOUCHED_SESSION)?;
        }
        Ok(service)
    }

    fn service_at(&self, url: &str) -> Result<Service> {
        // Sealed for the gateway, the token is in the clear nowhere.
        let is_allowed = self.insecure_http || self.relay.is_some();
        let service = Service::new(
            url,
            self.token.clone(),
            is_allowed,
            Arc::new(Native::default()),
        )?;
        self.check_carried_token(service.address())?;

        let service = service.with_patience(self.usable_patience());
        match &self.relay {
            Some(relay) => {
                let address = relay_address(&relay.url)?;
                let carries_keys = relay.keys.is_none();
                Ok(service.with_relay(ServiceRelay::at(&address, carries_keys)))
            }
            None => Ok(service),
        }
    }

    /// The patience, limited by the time limits of calls, so that a failure that no retry resolves
    /// in time becomes the call's error in place of the timeout.
    fn usable_patience(&self) -> Duration {
        let left = self
            .deadline
            .map(|deadline| deadline.saturating_duration_since(Instant::now()));
        [self.timeout, left]
            .into_iter()
            .flatten()
            .fold(self.patience.unwrap_or(PATIENCE), Duration::min)
    }

    /// Refuses a token that would go through a proxy over plain HTTP, even to a loopback address,
    /// which is then an address of the proxy's machine.
    fn check_carried_token(&self, address: &Address) -> Result<()> {
        let is_carried = matches!(self.proxy, ProxySetting::Through(_))
            && address.socket().is_none()
            && self.relay.is_none();
        let is_exposed = is_carried && !address.is_https() && !self.insecure_http;
        if self.token.is_some() && is_exposed {
            return Err(Error::TokenInClear {
                url: address.list(),
            });
        }
        Ok(())
    }

    /// Refuses a token that would be sealed for keys that the relay carries. A relay that lies
    /// carries keys of its own, and reads the token.
    fn check_vouched_token(&self, reason: &str) -> Result<()> {
        let unvouched = self.relay.as_ref().filter(|relay| relay.keys.is_none());
        // Those of an issuer are sealed for the same keys. Whoever reads one can spend it.
        let has_token = self.token.is_some() || self.issuer.is_some();
        match unvouched {
            Some(relay) if has_token && !self.insecure_http => Err(relay.unusable(reason)),
            _ => Ok(()),
        }
    }

    /// The settings of the protocol core.
    pub(crate) fn settings(&self) -> Settings {
        let checkpoint = self.checkpoint.clone();

        Settings {
            database: self.database.clone(),
            allow_not_private: self.allow_not_private,
            root: self.root,
            pin: self.pin,
            owner_key: self.owner_key.clone(),
            checkpoint,
            no_cache: self.no_cache,
            known: self.known,
            patches: self.patches,
            prefilter: self.prefilter,
            hide_times: self.hide_times,
            rotation: self.rotation,
            freshness: self.freshness,
            download_limit: self.download_limit,
            schemes: self.schemes.clone(),
            watcher: self.watcher.clone(),
        }
    }

    /// The storage of client state, with the passphrase.
    pub(crate) fn client_state(&self) -> ClientState {
        match &self.storage {
            Some(storage) => ClientState::new(Arc::clone(storage), self.passphrase.clone()),
            None => ClientState::in_files(self.state.clone(), self.passphrase.clone()),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use papir_checkpoint::{Kind, SigningKey};

    use super::*;
    use crate::rng::system_rng;

    /// A relay with the keys of the service's gateway. The file is not read.
    fn vouched_relay() -> Relay {
        Relay::new("https://r").with_keys("gateway.keys")
    }

    #[test]
    fn options_do_not_print_the_token() {
        let options = Options {
            token: Some(Token::new("secret").unwrap()),
            ..Options::default()
        };
        assert!(!format!("{options:?}").contains("secret"));
    }

    #[test]
    fn a_proxy_carries_no_token_in_the_clear_even_to_an_address_of_this_machine() {
        let options = Options {
            token: Some(Token::new("secret").unwrap()),
            ..Options::default()
        }
        .proxy("socks5://p".parse().unwrap());
        for url in ["http://127.0.0.1:7470", "http://localhost", "http://h"] {
            let refused = options.service(url).err().unwrap();
            assert!(matches!(refused, Error::TokenInClear { .. }), "{url}");
        }
        assert!(options.service("https://localhost").is_ok());

        let allowed = Options {
            insecure_http: true,
            ..options.clone()
        };
        let without_token = Options {
            token: None,
            ..options.clone()
        };
        let sealed = options.clone().relay(vouched_relay());
        let direct = options.proxy(ProxySetting::Environment);
        for options in [allowed, without_token, direct, sealed] {
            assert!(options.service("http://localhost").is_ok());
        }
    }

    #[test]
    fn a_relay_carries_a_token_for_an_http_service_of_another_machine() {
        let options = Options {
            token: Some(Token::new("secret").unwrap()),
            ..Options::default()
        };
        assert!(options.service("http://h").is_err());
        let sealed = options.relay(vouched_relay());
        assert!(sealed.service("http://h").is_ok());
    }

    #[test]
    fn a_token_needs_keys_that_not_only_the_relay_vouches_for() {
        let options = Options {
            token: Some(Token::new("secret").unwrap()),
            ..Options::default()
        }
        .relay(Relay::new("https://name:word@r"));
        for url in ["https://h", "http://h", "http://localhost"] {
            let refused = options.service(url).err().unwrap();
            assert_eq!(refused.code(), "bad_relay", "{url}");
            let text = refused.to_string();
            assert!(text.contains("--ohttp-keys"), "{text}");
            assert!(!text.contains("word") && !text.contains("secret"), "{text}");
        }

        let allowed = Options {
            insecure_http: true,
            ..options.clone()
        };
        let without_token = options.without_token();
        let of_issuer = Options {
            issuer: Some(Issuer::new("https://issuer.example", None)),
            ..without_token.clone()
        };
        assert!(of_issuer.service("https://h").is_err());
        assert!(of_issuer.session_service("https://h").is_err());
        let vouched = options.clone().relay(vouched_relay());
        let spending = of_issuer.relay(vouched_relay());
        for options in [allowed, without_token, vouched, spending] {
            assert!(options.service("https://h").is_ok());
            assert!(options.session_service("https://h").is_ok());
        }

        let refused = options.session_service("https://h").err().unwrap();
        assert!(refused.to_string().contains("--owner-pub"), "{refused}");
    }

    #[test]
    fn only_a_session_takes_a_token_with_the_owners_key() {
        let name = "example.org/owner".parse().unwrap();
        let owner = SigningKey::generate(name, Kind::Note, &mut system_rng());
        let options = Options {
            token: Some(Token::new("secret").unwrap()),
            checkpoint: CheckpointSettings {
                owner: Some(owner.public()),
                ..CheckpointSettings::default()
            },
            ..Options::default()
        }
        .relay(Relay::new("https://r"));
        assert!(options.session_service("https://h").is_ok());
        let refused = options.service("https://h").err().unwrap();
        assert_eq!(refused.code(), "bad_relay");
    }

    #[test]
    fn state_that_the_service_can_recognise_is_stored_for_each_relay() {
        let slot = |options: &Options| {
            let service = options.service("https://h").unwrap();
            service.unlinked_slot("slot".to_owned())
        };

        let direct = Options::default();
        assert_eq!(slot(&direct), "slot");
        let relayed = direct.relay(Relay::new("https://name:word@r.example/relay/"));
        let expected = "slot through https://name:***@r.example/relay";
        assert_eq!(slot(&relayed), expected);
    }

    #[test]
    fn the_patience_is_within_the_time_limits() {
        let seconds = Duration::from_secs;
        let patience = |patience: Option<u64>, timeout: Option<u64>| {
            let options = Options {
                patience: patience.map(seconds),
                timeout: timeout.map(seconds),
                ..Options::default()
            };
            options.usable_patience().as_secs()
        };
        assert_eq!(patience(None, None), 60);
        assert_eq!(patience(None, Some(5)), 5);
        assert_eq!(patience(Some(2), Some(5)), 2);
        assert_eq!(patience(Some(90), Some(75)), 75);

        let passed = Options {
            deadline: Some(Instant::now()),
            ..Options::default()
        };
        assert_eq!(passed.usable_patience(), Duration::ZERO);
    }
}
