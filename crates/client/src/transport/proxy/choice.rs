//! Choice of the proxy for a connection.

use std::fmt;
use std::str::FromStr;

use papir_tls::Exclusions;

use super::address::{ChosenProxy, OPTION, ProxyAddress};
use super::variables::{ProxiedProtocol, Variable, Variables};
use crate::core::{Address, is_loopback};
use crate::error::{Error, Result};

/// The choice of a proxy for connections to other machines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ProxySetting {
    /// Uses the proxy that the environment's variables name: `HTTPS_PROXY` for `https`,
    /// `HTTP_PROXY` for `http`, else `ALL_PROXY`, in lower or upper case. Connects directly to this
    /// machine, and to the hosts in `NO_PROXY`.
    #[default]
    Environment,
    /// Connects directly, and ignores the variables.
    Direct,
    /// Uses this proxy for every host.
    Through(ProxyAddress),
}

/// The proxy for connections to several hosts that are not known in advance, for example of an
/// object store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedProxy {
    /// The proxy; `None` for direct connections.
    pub chosen: Option<ChosenProxy>,
    /// The hosts to connect to directly, in the syntax of `NO_PROXY`.
    pub exclusions: String,
}

impl FromStr for ProxySetting {
    type Err = Error;

    /// Parses `none`, `environment`, or the address of a proxy.
    fn from_str(text: &str) -> Result<Self> {
        match text {
            "none" => Ok(Self::Direct),
            "environment" => Ok(Self::Environment),
            _ => Ok(Self::Through(text.parse()?)),
        }
    }
}

impl fmt::Display for ProxySetting {
    /// Prints the setting as it is parsed, but without a login.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Environment => f.write_str("environment"),
            Self::Direct => f.write_str("none"),
            Self::Through(proxy) => proxy.fmt(f),
        }
    }
}

impl ProxySetting {
    /// The proxy for connections to the service at `url`; `None` for direct connections.
    ///
    /// # Errors
    /// [`Error::BadUrl`] for an invalid address, and [`Error::BadProxy`] if the proxy for it cannot
    /// be used.
    pub fn for_url(&self, url: &str) -> Result<Option<ChosenProxy>> {
        self.for_address(&Address::parse(url)?)
    }

    /// Like [`ProxySetting::for_url`], for a parsed address.
    pub(crate) fn for_address(&self, address: &Address) -> Result<Option<ChosenProxy>> {
        choose(self, &Variables::of_process(), address)
    }

    /// The proxy for HTTP connections to hosts that are not known in advance. `https` selects the
    /// variables for `https` in place of those for `http`.
    ///
    /// # Errors
    /// [`Error::BadProxy`] if the proxy cannot be used.
    pub fn for_many_hosts(&self, https: bool) -> Result<SharedProxy> {
        shared(self, &Variables::of_process(), https)
    }

    /// The variable or option that requires a proxy for connections to `host` that are not HTTP;
    /// `None` if they may be direct. Among the variables, only `ALL_PROXY` and `NO_PROXY` count.
    ///
    /// # Errors
    /// [`Error::BadProxy`] for a variable that is not text.
    pub fn beside_http(&self, host: &str, port: u16) -> Result<Option<&'static str>> {
        named(
            self,
            &Variables::of_process(),
            ProxiedTarget::other(host, port),
        )
    }
}

/// The target of connections: host, port and protocol.
#[derive(Clone, Copy)]
pub(super) struct ProxiedTarget<'a> {
    protocol: ProxiedProtocol,
    host: &'a str,
    port: u16,
}

impl<'a> ProxiedTarget<'a> {
    pub(super) fn other(host: &'a str, port: u16) -> Self {
        Self {
            protocol: ProxiedProtocol::Other,
            host,
            port,
        }
    }

    fn of(address: &'a Address) -> Self {
        Self {
            protocol: ProxiedProtocol::of_http(address.is_https()),
            host: address.host(),
            port: address.port(),
        }
    }
}

/// The proxy for connections to a service; `None` for direct connections.
///
/// # Errors
/// [`Error::BadProxy`] if the proxy cannot be used.
pub(super) fn choose(
    setting: &ProxySetting,
    variables: &Variables,
    address: &Address,
) -> Result<Option<ChosenProxy>> {
    match setting {
        ProxySetting::Direct => Ok(None),
        ProxySetting::Through(_) if address.socket().is_some() => Err(Error::BadProxy {
            name: OPTION.to_owned(),
            reason: "a Unix socket is not reached through a proxy".to_owned(),
        }),
        ProxySetting::Through(proxy) => Ok(Some(given(proxy))),

        // Before the variables are read: a bad one is no error of a connection that needs none.
        ProxySetting::Environment if address.socket().is_some() => Ok(None),
        ProxySetting::Environment => match variables.applying(ProxiedTarget::of(address))? {
            Some(variable) => variable.proxy().map(Some),
            None => Ok(None),
        },
    }
}

/// The proxy for HTTP connections to hosts that are not known in advance.
pub(super) fn shared(
    setting: &ProxySetting,
    variables: &Variables,
    https: bool,
) -> Result<SharedProxy> {
    let direct = SharedProxy {
        chosen: None,
        exclusions: String::new(),
    };

    match setting {
        ProxySetting::Direct => Ok(direct),
        ProxySetting::Through(proxy) => Ok(SharedProxy {
            chosen: Some(given(proxy)),
            ..direct
        }),
        ProxySetting::Environment => match variables.first(ProxiedProtocol::of_http(https))? {
            Some(variable) => Ok(SharedProxy {
                chosen: Some(variable.proxy()?),
                exclusions: variables.exclusions_with_this_machine(),
            }),
            None => Ok(direct),
        },
    }
}

/// The name of the variable, or the option, that sets a proxy for these connections; `None` for
/// direct connections.
pub(super) fn named(
    setting: &ProxySetting,
    variables: &Variables,
    target: ProxiedTarget<'_>,
) -> Result<Option<&'static str>> {
    match setting {
        ProxySetting::Direct => Ok(None),
        // Also to this machine: who names a proxy means every connection.
        ProxySetting::Through(_) => Ok(Some(OPTION)),
        ProxySetting::Environment => {
            let variable = variables.applying(target)?;
            Ok(variable.map(|variable| variable.name))
        }
    }
}

fn given(proxy: &ProxyAddress) -> ChosenProxy {
    ChosenProxy {
        address: proxy.clone(),
        source: OPTION,
    }
}

impl Variables {
    /// The variable that names the proxy for these connections; `None` for direct connections. Its
    /// value is not parsed yet.
    fn applying(&self, target: ProxiedTarget<'_>) -> Result<Option<Variable<'_>>> {
        // Traffic of this machine must not be carried to another one.
        if is_loopback(target.host) {
            return Ok(None);
        }
        if Exclusions::parse(self.exclusions()).contain(target.host, target.port) {
            return Ok(None);
        }
        self.first(target.protocol)
    }
}
