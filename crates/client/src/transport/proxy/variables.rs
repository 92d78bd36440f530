//! Environment variables that name proxies.

use std::ffi::OsString;

use super::address::ChosenProxy;
use crate::error::{Error, Result};

/// Variables for `https`. If both are set, the first one counts, here and below.
const FOR_HTTPS: [&str; 2] = ["https_proxy", "HTTPS_PROXY"];
/// Variables for `http`.
const FOR_HTTP: [&str; 2] = ["http_proxy", "HTTP_PROXY"];
/// Variables for every protocol without a variable of its own.
const FOR_ALL: [&str; 2] = ["all_proxy", "ALL_PROXY"];
/// Variables with the hosts that need no proxy.
const EXCLUSIONS: [&str; 2] = ["no_proxy", "NO_PROXY"];
/// Names of this machine, in the syntax of `NO_PROXY`.
const THIS_MACHINE: [&str; 3] = ["localhost", "127.0.0.0/8", "::1"];
/// A variable that is set in programs that a web server runs by CGI.
const CGI: &str = "REQUEST_METHOD";

/// The protocol of connections, which selects the variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProxiedProtocol {
    Http,
    Https,
    Other,
}

impl ProxiedProtocol {
    pub(super) fn of_http(https: bool) -> Self {
        if https { Self::Https } else { Self::Http }
    }
}

/// The variables of an environment that choose a proxy.
#[derive(Clone, Debug, Default)]
pub(super) struct Variables(Vec<SetVariable>);

#[derive(Clone, Debug)]
struct SetVariable {
    name: &'static str,
    value: OsString,
}

/// A variable that names a proxy.
pub(super) struct Variable<'a> {
    pub(super) name: &'static str,
    value: &'a str,
}

impl Variable<'_> {
    /// Parses the proxy that the variable names.
    pub(super) fn proxy(&self) -> Result<ChosenProxy> {
        let address = self.value.parse().map_err(|error| match error {
            Error::BadProxy { reason, .. } => bad(self.name, reason),
            other => other,
        })?;
        Ok(ChosenProxy {
            address,
            source: self.name,
        })
    }
}

impl Variables {
    /// The variables of this process.
    pub(super) fn of_process() -> Self {
        Self::read(|name| std::env::var_os(name))
    }

    /// Reads the variables by `value`, which returns the value for a name. Empty values count as
    /// not set.
    pub(super) fn read(value: impl Fn(&str) -> Option<OsString>) -> Self {
        let names = [FOR_HTTPS, FOR_HTTP, FOR_ALL, EXCLUSIONS];
        let set = names.into_iter().flatten().chain([CGI]).filter_map(|name| {
            let value = value(name).filter(|value| !value.is_empty())?;
            Some(SetVariable { name, value })
        });
        Self(set.collect())
    }

    /// The first variable that names a proxy for this protocol, before exclusions of hosts.
    pub(super) fn first(&self, protocol: ProxiedProtocol) -> Result<Option<Variable<'_>>> {
        let own: &[&str] = match protocol {
            ProxiedProtocol::Https => &FOR_HTTPS,
            // A request to a CGI program sets HTTP_PROXY by its header `Proxy`.
            ProxiedProtocol::Http if self.find(CGI).is_some() => &FOR_HTTP[..1],
            ProxiedProtocol::Http => &FOR_HTTP,
            ProxiedProtocol::Other => &[],
        };

        let mut names = own.iter().chain(&FOR_ALL);
        let Some(setting) = names.find_map(|name| self.find(name)) else {
            return Ok(None);
        };
        match setting.value.to_str() {
            Some(value) => Ok(Some(Variable {
                name: setting.name,
                value,
            })),
            None => Err(bad(setting.name, "it is not UTF-8".to_owned())),
        }
    }

    /// The value of `NO_PROXY`; empty if it is not set or not UTF-8.
    pub(super) fn exclusions(&self) -> &str {
        EXCLUSIONS
            .iter()
            .find_map(|name| self.find(name))
            .and_then(|setting| setting.value.to_str())
            .unwrap_or_default()
    }

    /// This machine and the hosts in `NO_PROXY`, in the syntax that HTTP libraries read: separated
    /// by commas, without a star before a domain, and with all networks beside the star that stands
    /// for all names.
    pub(super) fn exclusions_with_this_machine(&self) -> String {
        let given = self
            .exclusions()
            .split(|c: char| c == ',' || c.is_whitespace())
            .filter(|entry| !entry.is_empty())
            .map(|entry| match entry {
                "*" => "*,0.0.0.0/0,::/0",
                // All hosts at this port: without its star it would name no host.
                _ if entry.starts_with("*:") => entry,
                _ => entry.strip_prefix('*').unwrap_or(entry),
            });
        let all: Vec<&str> = THIS_MACHINE.into_iter().chain(given).collect();
        all.join(",")
    }

    fn find(&self, name: &str) -> Option<&SetVariable> {
        self.0.iter().find(|setting| setting.name == name)
    }
}

fn bad(name: &str, reason: String) -> Error {
    Error::BadProxy {
        name: name.to_owned(),
        reason,
    }
}
