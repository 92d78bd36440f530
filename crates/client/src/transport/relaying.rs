//! The relay of the options: its checks, its file of keys, and interrupted responses.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use super::options::Options;
use super::proxy::ProxySetting;
use crate::core::{Address, GivenKeys, Oblivious, RelayChoice};
use crate::error::{Error, Result};

/// The relay of the options, for the service at `address`; `None` for direct requests.
///
/// # Errors
/// [`Error::BadRelay`] and [`Error::BadOhttpKeys`].
pub(crate) fn relay_of(address: &Address, options: &Options) -> Result<Option<Arc<Oblivious>>> {
    let Some(given) = &options.relay else {
        return Ok(None);
    };
    if options.identity.is_some() {
        let reason = "the client certificate would be shown to the relay: expected none";
        return Err(given.unusable(reason));
    }

    let keys = match &given.keys {
        Some(file) => Some(keys_in(file)?),
        None => None,
    };
    let choice = RelayChoice {
        url: given.url.clone(),
        keys,
        is_proxied: matches!(options.proxy, ProxySetting::Through(_)),
        insecure_http: options.insecure_http,
    };
    Ok(Some(Arc::new(Oblivious::new(address, &choice)?)))
}

/// The keys in a file.
fn keys_in(file: &Path) -> Result<GivenKeys> {
    let mut bytes = Vec::new();
    File::open(file)
        .and_then(|opened| opened.take(Oblivious::PLAIN_BYTES).read_to_end(&mut bytes))
        .map_err(|error| bad_keys(file, error))?;
    GivenKeys::parse(&bytes, file.display().to_string()).map_err(|error| bad_keys(file, error))
}

fn bad_keys(file: &Path, reason: impl ToString) -> Error {
    Error::BadOhttpKeys {
        path: file.to_owned(),
        reason: reason.to_string(),
    }
}

/// The failure of the connection that interrupted a sealed response. The cipher reports it only as
/// an error of reading. Clones share it.
pub(crate) struct Interruption<E>(Arc<Mutex<Option<E>>>);

impl<E> Interruption<E> {
    /// Stores the failure. Returns an error for the cipher.
    pub(crate) fn note(&self, failure: E) -> io::Error {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(failure);
        io::Error::other("the connection broke")
    }

    /// Takes the failure; `None` if the connection did not break.
    pub(crate) fn take(&self) -> Option<E> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl<E> Default for Interruption<E> {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(None)))
    }
}

impl<E> Clone for Interruption<E> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use papir_ohttp::{Gateway, GatewayKey, Kem};

    use super::*;
    use crate::transport::identity::Identity;
    use crate::transport::relay::Relay;

    #[test]
    fn the_keys_of_a_file_are_used_and_no_others() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("keys");
        let key = GatewayKey::derive(1, Kem::X25519, &[7; 32]).unwrap();
        let list = Gateway::new(vec![key]).key_list().unwrap();
        std::fs::write(&file, list.encode()).unwrap();

        let service = Address::parse("http://h.example:7470").unwrap();
        let options = Options::default().relay(Relay::new("https://r").with_keys(&file));
        let relay = relay_of(&service, &options).unwrap().unwrap();
        assert!(!relay.fetches_keys());
        assert!(!relay.service_relay().carries_keys());
        let refused = relay.unknown_key().to_string();
        assert!(refused.contains(&*file.to_string_lossy()), "{refused}");

        std::fs::write(&file, "-----BEGIN").unwrap();
        let damaged = relay_of(&service, &options).err().unwrap();
        assert_eq!(damaged.code(), "bad_ohttp_keys");
        std::fs::remove_file(&file).unwrap();
        let missing = relay_of(&service, &options).err().unwrap();
        assert_eq!(missing.code(), "bad_ohttp_keys");
    }

    /// The code of the error for a relay with these options; `None` if it is used.
    fn refusal(relay: &str, options: Options) -> Option<String> {
        let service = Address::parse("https://h").unwrap();
        let options = options.relay(Relay::new(relay));
        let refused = relay_of(&service, &options).err();
        refused.map(|error| error.code().to_owned())
    }

    #[test]
    fn relays_that_do_not_fit_the_other_options_are_refused() {
        let bad = Some("bad_relay".to_owned());
        assert_eq!(refusal("https://r", Options::default()), None);
        assert_eq!(refusal("http://r.example", Options::default()), bad);

        let identity = Options {
            identity: Some(Identity::new("client.pem", "client.key")),
            ..Options::default()
        };
        assert_eq!(refusal("https://r", identity), bad);

        let proxied = Options::default().proxy("socks5://p".parse().unwrap());
        assert_eq!(refusal("http://127.0.0.1:1", proxied), bad);
        let plain = Options {
            insecure_http: true,
            ..Options::default()
        };
        assert_eq!(refusal("http://r.example", plain), None);
    }

    #[test]
    fn a_relay_is_printed_without_its_password() {
        let options = Options::default().relay(Relay::new("https://name:word@r.example"));
        let shown = format!("{options:?}");
        assert!(shown.contains("r.example"), "{shown}");
        assert!(!shown.contains("word@"), "{shown}");
    }

    #[test]
    fn the_failure_of_a_broken_connection_is_kept() {
        let interruption = Interruption::default();
        assert!(interruption.take().is_none());
        let error = interruption.clone().note("it broke");
        assert_eq!(error.kind(), io::ErrorKind::Other);
        assert_eq!(interruption.take(), Some("it broke"));
    }
}
