//! Options of connections: the proxy, and the trusted certificates.

use std::path::PathBuf;

use clap::Args;
use papir_client::{ProxySetting, SharedProxy};
use papir_server::Login;
use papir_store::remote::{Settings, StoreProxy};

use crate::arguments::proxy::ProxyParser;
use crate::failure::Failure;

/// Beginnings of the names of the clouds' variables.
const CLOUDS: [&str; 3] = ["AWS_", "GOOGLE_", "AZURE_"];

/// Hosts that give a virtual machine its credentials. The machine's host answers for them, and no
/// proxy reaches them.
const METADATA: &str = "169.254.0.0/16,fd00:ec2::254,metadata.google.internal";

/// The proxy of connections to other machines, and the certificates that they trust.
#[derive(Args)]
pub(crate) struct NetworkArguments {
    /// Trusted certificates in PEM, and no others: of issuers, or the server's own if it is
    /// self-signed [default: those in SSL_CERT_FILE and SSL_CERT_DIR, else those of the system].
    #[arg(long, value_name = "FILE", global = true)]
    ca: Option<PathBuf>,
    /// Proxy for connections: http://, https:// or socks5://HOST:PORT, also with NAME:PASSWORD@
    /// before the host; none connects directly [default: the one in HTTPS_PROXY, HTTP_PROXY or
    /// ALL_PROXY, except to this machine and the hosts in NO_PROXY]. Other users can see arguments:
    /// give a password in a variable.
    #[arg(long, value_name = "URL|none", value_parser = ProxyParser, global = true)]
    proxy: Option<ProxySetting>,
}

impl NetworkArguments {
    /// The choices, by default the environment's.
    pub(crate) fn setting(&self) -> Network {
        Network {
            proxy: self.proxy.clone().unwrap_or_default(),
            ca: self.ca.clone(),
        }
    }
}

/// The proxy and the trusted certificates of all connections of a command.
#[derive(Clone, Debug, Default)]
pub(crate) struct Network {
    /// The proxy, by default the environment's.
    pub(crate) proxy: ProxySetting,
    /// A PEM file of trusted certificates; `None` for those that the user's environment trusts.
    pub(crate) ca: Option<PathBuf>,
}

impl Network {
    /// Settings of object stores, from the environment, with the proxy and the certificates. Fails
    /// if the proxy cannot be used.
    pub(crate) fn of_stores(&self) -> Result<Settings, Failure> {
        let settings = Settings::from_environment().with_proxy(self.store_proxy()?);
        Ok(match &self.ca {
            Some(file) => settings.with_roots(file.clone()),
            None => settings,
        })
    }

    /// The proxy of connections to object stores. Fails if it cannot be used.
    pub(crate) fn store_proxy(&self) -> Result<StoreProxy, Failure> {
        let https = !has_plain_endpoint();
        let SharedProxy { chosen, exclusions } = self.proxy.for_many_hosts(https)?;
        Ok(match chosen {
            Some(chosen) => StoreProxy::Through {
                url: chosen.address.url(),
                exclusions: format!("{METADATA},{exclusions}"),
            },
            None => StoreProxy::Direct,
        })
    }

    /// The login at an address of PostgreSQL. Fails if a proxy applies, which would be passed by.
    pub(crate) fn login(&self, address: &str) -> Result<Login, Failure> {
        let mut login = Login::from_environment(address);
        for host in login.hosts() {
            if let Some(name) = self.proxy.beside_http(&host.name, host.port)? {
                return Err(Failure::new(format!(
                    "PostgreSQL at {}: connections to it go through no proxy, and {name} names one: \
                     --proxy none connects directly",
                    host.name
                )));
            }
        }

        // An option overrides a variable, PGSSLROOTCERT like the others.
        if let Some(file) = &self.ca {
            login.root_certificates = Some(file.clone());
        }
        Ok(login)
    }
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Proxied {
        #[command(flatten)]
        network: NetworkArguments,
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
        assert_eq!(given.network.setting().proxy, ProxySetting::Direct);
    }
}
