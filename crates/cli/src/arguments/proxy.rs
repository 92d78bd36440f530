//! The option for a proxy.

use std::ffi::OsStr;

use clap::builder::TypedValueParser;
use clap::error::ErrorKind;
use clap::{Arg, Args, Command};
use papir_client::{ProxySetting, SharedProxy};
use papir_server::Login;
use papir_store::remote::{Settings, StoreProxy};

use crate::failure::Failure;

/// Beginnings of the names of the clouds' variables.
const CLOUDS: [&str; 3] = ["AWS_", "GOOGLE_", "AZURE_"];

/// Hosts that give a virtual machine its credentials. The machine's host answers for them, and no
/// proxy reaches them.
const METADATA: &str = "169.254.0.0/16,fd00:ec2::254,metadata.google.internal";

/// The proxy of connections to other machines.
#[derive(Args)]
pub(crate) struct ProxyArguments {
    /// Proxy for connections: http://, https:// or socks5://HOST:PORT, also with NAME:PASSWORD@
    /// before the host; none connects directly [default: the one in HTTPS_PROXY, HTTP_PROXY or
    /// ALL_PROXY, except to this machine and the hosts in NO_PROXY]. Other users can see arguments:
    /// give a password in a variable.
    #[arg(long, value_name = "URL|none", value_parser = ProxyParser, global = true)]
    proxy: Option<ProxySetting>,
}

/// Parses a proxy. The errors of clap's own parsers show the value, which may have a password.
#[derive(Clone)]
pub(crate) struct ProxyParser;

impl TypedValueParser for ProxyParser {
    type Value = ProxySetting;

    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<ProxySetting, clap::Error> {
        let parsed = match value.to_str() {
            Some(text) => text
                .parse::<ProxySetting>()
                .map_err(|error| error.to_string()),
            None => Err("it is not UTF-8".to_owned()),
        };
        parsed.map_err(|reason| {
            let name = argument.map_or("--proxy".to_owned(), ToString::to_string);
            let message = format!("invalid value for '{name}': {reason}");
            clap::Error::raw(ErrorKind::ValueValidation, message).with_cmd(command)
        })
    }
}

impl ProxyArguments {
    /// The chosen proxy, by default the environment's.
    pub(crate) fn setting(&self) -> ProxySetting {
        self.proxy.clone().unwrap_or_default()
    }
}

/// Settings of object stores, from the environment, with the proxy. Fails if it cannot be used.
pub(crate) fn of_stores(proxy: &ProxySetting) -> Result<Settings, Failure> {
    let chosen = store_proxy(proxy)?;
    Ok(Settings::from_environment().with_proxy(chosen))
}

/// The proxy of connections to object stores. Fails if it cannot be used.
pub(crate) fn store_proxy(proxy: &ProxySetting) -> Result<StoreProxy, Failure> {
    let SharedProxy { chosen, exclusions } = proxy.for_many_hosts(!has_plain_endpoint())?;
    Ok(match chosen {
        Some(chosen) => StoreProxy::Through {
            url: chosen.address.url(),
            exclusions: format!("{METADATA},{exclusions}"),
        },
        None => StoreProxy::Direct,
    })
}

/// Returns whether a cloud's variable names a server over plain HTTP.
fn has_plain_endpoint() -> bool {
    std::env::vars_os().any(|(name, value)| {
        let name = name.to_string_lossy();
        CLOUDS.iter().any(|cloud| name.starts_with(cloud))
            && name.contains("ENDPOINT")
            && value.to_string_lossy().starts_with("http://")
    })
}

/// The login at an address of PostgreSQL. Fails if a proxy applies, which would be passed by.
pub(crate) fn login(address: &str, proxy: &ProxySetting) -> Result<Login, Failure> {
    let login = Login::from_environment(address);
    for host in login.hosts() {
        if let Some(name) = proxy.beside_http(&host.name, host.port)? {
            return Err(Failure::new(format!(
                "PostgreSQL at {}: connections to it go through no proxy, and {name} names one: \
                 --proxy none connects directly",
                host.name
            )));
        }
    }
    Ok(login)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Proxied {
        #[command(flatten)]
        proxy: ProxyArguments,
    }

    #[test]
    fn a_bad_proxy_is_refused_without_its_password() {
        for bad in [
            "u:secret@h:99999",
            "u:secret@h/path",
            "http://u:12#secret@h",
            "ftp://u:secret@h",
        ] {
            let refused = Proxied::try_parse_from(["papir", "--proxy", bad]);
            let text = refused.err().unwrap().to_string();
            assert!(text.contains("'--proxy <URL|none>': "), "{text}");
            assert!(text.contains("bad proxy"), "{text}");
            assert!(!text.contains("secret"), "{text}");
        }

        let given = Proxied::try_parse_from(["papir", "--proxy", "none"]).unwrap();
        assert_eq!(given.proxy.setting(), ProxySetting::Direct);
    }
}
