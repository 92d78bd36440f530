//! The issuer of the private tokens that `papir serve` demands.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::SystemTime;

use papir_client::core::Address;
use papir_client::{Options, ProxySetting};
use papir_server::{DirectorySource, PrivacyPassConfig};
use papir_store::{parse_timestamp, timestamp};

use super::forwarding;
use crate::arguments::authority::authority;
use crate::arguments::network::Network;
use crate::failure::Failure;

/// The form of an issuer, for errors.
const FORM: &str = "expected https://HOST[:PORT], http:// of this machine, or NAME=FILE or FILE \
                    with the issuer's directory";

/// A time in UTC, such as 2026-01-31T12:00:00Z.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moment(pub(crate) SystemTime);

impl FromStr for Moment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let time = parse_timestamp(text);
        time.map(Self)
            .ok_or_else(|| format!("not a time: {text}: expected one like 2026-01-31T12:00:00Z"))
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&timestamp(self.0))
    }
}

/// The issuer, as given: its URL, or a file with its directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum IssuerArgument {
    /// The issuer itself.
    Url {
        url: String,
        /// Its host, and its port unless it is the default one.
        name: String,
    },
    /// A file, for services that connect to nothing.
    File {
        /// `None` for the host in the file.
        name: Option<String>,
        path: PathBuf,
    },
}

impl IssuerArgument {
    /// Joins a relative path to a folder.
    pub(crate) fn resolve(&mut self, folder: &Path) {
        if let Self::File { path, .. } = self {
            *path = folder.join(&*path);
        }
    }

    /// Returns true if the service connects to the issuer.
    pub(crate) fn connects(&self) -> bool {
        matches!(self, Self::Url { .. })
    }

    /// The settings of the server, for a service with these public host names. Keys that began
    /// before the time are refused.
    pub(crate) fn config(
        &self,
        origins: Vec<String>,
        not_before: Option<Moment>,
        network: &Network,
    ) -> Result<PrivacyPassConfig, Failure> {
        let not_before = not_before.map(|moment| moment.0);

        match self {
            Self::Url { url, name } => Ok(PrivacyPassConfig {
                issuer: Some(name.clone()),
                directory: connection(url, network)?,
                origins,
                not_before,
            }),
            Self::File { name, path } => Ok(PrivacyPassConfig {
                issuer: name.clone(),
                directory: DirectorySource::File(path.clone()),
                origins,
                not_before,
            }),
        }
    }
}

impl FromStr for IssuerArgument {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.contains("://") {
            return of_url(text);
        }

        let argument = match text.split_once('=') {
            Some((name, path)) => Self::File {
                name: Some(name.to_owned()),
                path: path.into(),
            },
            None => Self::File {
                name: None,
                path: text.into(),
            },
        };
        match &argument {
            Self::File { name, path }
                if name.as_deref() == Some("") || path.as_os_str().is_empty() =>
            {
                Err(FORM.to_owned())
            }
            _ => Ok(argument),
        }
    }
}

/// The issuer at a URL.
fn of_url(text: &str) -> Result<IssuerArgument, String> {
    let address = Address::parse(text).map_err(|error| error.to_string())?;
    // Over plain HTTP, somebody on the way could put keys of their own in place of the issuer's.
    let is_safe = address.is_https() || address.is_local();
    let after_scheme = address.base().split("://").nth(1).unwrap_or_default();

    // The directory is at a fixed path of the host, which clients know by its name only.
    let is_host = !after_scheme.contains(['/', '@', '?', '#']) && address.socket().is_none();
    if !is_safe || !is_host {
        return Err(FORM.to_owned());
    }
    Ok(IssuerArgument::Url {
        url: address.base().to_owned(),
        name: authority(&address),
    })
}

impl fmt::Display for IssuerArgument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url { url, .. } => f.write_str(url),
            Self::File { name, path } => {
                if let Some(name) = name {
                    write!(f, "{name}=")?;
                }
                write!(f, "{}", path.display())
            }
        }
    }
}

/// The issuer at a URL as the place of its directory.
fn connection(url: &str, network: &Network) -> Result<DirectorySource, Failure> {
    // The proxy's machine is another one, whatever the host is called.
    let is_carried = matches!(network.proxy, ProxySetting::Through(_));
    if is_carried && !url.starts_with("https://") {
        return Err(Failure::new(format!(
            "privacy-pass {url} through the proxy: expected https://, since the proxy could \
             replace the issuer's keys"
        )));
    }

    let options = Options {
        ca: network.ca.clone(),
        proxy: network.proxy.clone(),
        ..Options::default()
    };
    let transport = forwarding::to_issuer(url, &options)?;
    Ok(DirectorySource::Issuer(transport))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn issuers_return_as_text() {
        for (text, name) in [
            ("https://Issuer.example", Some("issuer.example")),
            ("https://issuer.example:8443", Some("issuer.example:8443")),
            ("http://127.0.0.1:7490", Some("127.0.0.1:7490")),
            ("issuer.example=keys.json", Some("issuer.example")),
            ("keys.json", None),
        ] {
            let argument: IssuerArgument = text.parse().unwrap();
            assert_eq!(argument.to_string(), text);
            assert_eq!(argument.connects(), text.contains("://"), "{text}");

            let found = match &argument {
                IssuerArgument::Url { name, .. } => Some(name.as_str()),
                IssuerArgument::File { name, .. } => name.as_deref(),
            };
            assert_eq!(found, name, "{text}");
        }
    }

    #[test]
    fn times_return_as_text() {
        let text = "2026-01-31T12:00:00Z";
        assert_eq!(text.parse::<Moment>().unwrap().to_string(), text);
        for other in ["", "now", "2026-01-31", "2026-01-31T12:00:00+01:00"] {
            let refused = other.parse::<Moment>().unwrap_err();
            assert!(refused.contains("2026-01-31T12:00:00Z"), "{refused}");
        }
    }

    #[test]
    fn other_issuers_are_refused() {
        for text in [
            "",
            "=keys.json",
            "issuer.example=",
            "http://issuer.example",
            "https://issuer.example/path",
            "https://user@issuer.example",
            "ftp://issuer.example",
        ] {
            assert!(text.parse::<IssuerArgument>().is_err(), "{text}");
        }
    }

    #[test]
    fn only_files_are_resolved() {
        let folder = Path::new("/etc/papir");
        for (text, expected) in [
            ("a=keys.json", "a=/etc/papir/keys.json"),
            ("/srv/keys.json", "/srv/keys.json"),
            ("https://issuer.example", "https://issuer.example"),
        ] {
            let mut argument: IssuerArgument = text.parse().unwrap();
            argument.resolve(folder);
            assert_eq!(argument.to_string(), expected);
        }
    }
}
