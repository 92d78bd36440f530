//! A relay as the caller gives it.

use papir_ohttp::{ChosenKey, KeyList};

use crate::core::address::Address;
use crate::error::{Error, Result};

/// A relay of Oblivious HTTP for the requests to one service, and the rules for reaching it.
#[derive(Clone)]
pub struct RelayChoice {
    /// The relay's address: `http://` or `https://`, a host, optionally a port and a path.
    pub url: String,
    /// The key of the service's gateway; `None` fetches keys through the relay.
    pub keys: Option<GivenKeys>,
    /// Set if a proxy carries the connections to the relay. A loopback address is then one of the
    /// proxy's machine.
    pub is_proxied: bool,
    /// Allows plain HTTP to a relay at another machine.
    pub insecure_http: bool,
}

/// The key of a gateway that the caller has from elsewhere than the relay.
#[derive(Clone, Debug)]
pub struct GivenKeys {
    pub(super) key: ChosenKey,
    /// The name of the keys' file or option, for messages.
    pub(super) source: String,
}

impl GivenKeys {
    /// Chooses among the keys of a list, `application/ohttp-keys` (RFC 9458, section 3.2). `source`
    /// is the name of the list's file or option, for messages.
    ///
    /// # Errors
    /// [`papir_ohttp::Error::BadKeys`] and [`papir_ohttp::Error::NoKey`].
    pub fn parse(list: &[u8], source: impl Into<String>) -> papir_ohttp::Result<Self> {
        Ok(Self {
            key: KeyList::parse(list)?.choose()?,
            source: source.into(),
        })
    }
}

impl RelayChoice {
    /// The relay's parsed address.
    ///
    /// # Errors
    /// [`Error::BadRelay`] if the relay cannot be used for the service.
    pub(super) fn address_for(&self, service: &Address) -> Result<Address> {
        let address = relay_address(&self.url)?;
        self.check(service, &address)
            .map_err(|reason| unusable(&self.url, reason))?;
        Ok(address)
    }

    /// Checks that the relay at an address may carry requests to a service. The error is a reason.
    fn check(&self, service: &Address, relay: &Address) -> Result<(), &'static str> {
        if service.socket().is_some() {
            return Err("no relay reaches a service at a Unix socket");
        }
        // A relay's resources have the names of hosts.
        if service.has_path() {
            return Err("no relay reaches a service below a path: expected only a host and a port");
        }

        let is_exposed = !relay.is_https() && (self.is_proxied || !relay.is_local());
        if is_exposed && !self.insecure_http {
            return Err("it would be reached in the clear: use https, or allow plain HTTP");
        }
        Ok(())
    }
}

/// The parsed address of a relay.
///
/// # Errors
/// [`Error::BadRelay`] if it is the address of no relay.
pub(crate) fn relay_address(url: &str) -> Result<Address> {
    let address = Address::parse(url).map_err(|error| match error {
        Error::BadUrl { reason, .. } => unusable(url, reason),
        other => other,
    })?;

    // The address of a Unix socket, or of a database of a service, has another base.
    if address.base() != url.trim_end_matches('/') {
        let reason = "expected http:// or https://, and no path of a service";
        return Err(unusable(url, reason));
    }
    Ok(address)
}

fn unusable(url: &str, reason: &str) -> Error {
    Error::BadRelay {
        url: url.to_owned(),
        reason: reason.to_owned(),
    }
}
