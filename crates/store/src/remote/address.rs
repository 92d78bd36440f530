//! Address schemes of object stores, and their settings from environment variables.

use std::fmt;
use std::path::PathBuf;

use papir_core::without_passwords;

/// A kind of object store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ObjectStoreKind {
    S3,
    Google,
    Azure,
    Folder,
}

/// The scheme that addresses of each kind start with.
pub(super) const SCHEMES: [(&str, ObjectStoreKind); 4] = [
    ("s3://", ObjectStoreKind::S3),
    ("gs://", ObjectStoreKind::Google),
    ("az://", ObjectStoreKind::Azure),
    ("file://", ObjectStoreKind::Folder),
];

/// Returns whether `text` starts with the scheme of an object store.
pub(super) fn is_address(text: &str) -> bool {
    SCHEMES.iter().any(|(scheme, _)| text.starts_with(scheme))
}

/// The error for an address with any other scheme.
pub(super) const UNKNOWN_SCHEME: &str = "it must start with s3://, gs://, az:// or file:///";

/// Variables that name proxies. HTTP libraries read them by themselves, and ignore those that they
/// cannot use.
const PROXY_VARIABLES: [&str; 6] = [
    "https_proxy",
    "HTTPS_PROXY",
    "http_proxy",
    "HTTP_PROXY",
    "all_proxy",
    "ALL_PROXY",
];
/// End of the names of the clouds' own variables for a proxy.
#[cfg_attr(not(feature = "cloud"), allow(dead_code))]
pub(super) const PROXY_URL: &str = "_PROXY_URL";

/// Settings of the object store clients: the variables that each cloud's own tools read, and the
/// proxy.
#[derive(Clone, Default)]
#[cfg_attr(not(feature = "cloud"), allow(dead_code))]
pub struct Settings {
    pub(super) variables: Vec<(String, String)>,
    /// The proxy; `None` for the one of the variables, if any.
    pub(super) proxy: Option<StoreProxy>,
    /// A file of trusted certificates; `None` for those that the user's environment trusts.
    pub(super) roots: Option<PathBuf>,
    /// The name of a variable for a proxy, of which nothing was chosen.
    pub(super) unchosen: Option<String>,
}

/// The proxy of connections to object stores. A cloud's own variable, such as `AWS_PROXY_URL`,
/// overrides it.
#[derive(Clone, Default, PartialEq, Eq)]
pub enum StoreProxy {
    /// Direct connections.
    #[default]
    Direct,
    /// Through a proxy.
    Through {
        /// Its address. `socks5h` resolves the names of hosts at the proxy.
        url: String,
        /// Hosts that are reached directly, in the form of `NO_PROXY`: also with a port.
        exclusions: String,
    },
}

impl fmt::Debug for StoreProxy {
    /// Without the password of the address.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Direct => f.write_str("Direct"),
            Self::Through { url, exclusions } => f
                .debug_struct("Through")
                .field("url", &without_passwords(url))
                .field("exclusions", exclusions)
                .finish(),
        }
    }
}

impl Settings {
    /// Reads the variables `AWS_…`, `GOOGLE_…` and `AZURE_…` of this process. If another variable
    /// names a proxy, choose one by [`Settings::with_proxy`]: until then stores are refused, since
    /// the proxy would be passed by.
    pub fn from_environment() -> Self {
        let text = std::env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        });
        Self::of(text)
    }

    /// Settings from variables. Variables of other programs and empty ones are ignored.
    pub fn of(variables: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut settings = Self::default();
        for (name, value) in variables {
            if is_of_cloud(&name) && !value.is_empty() {
                settings.variables.push((name, value));
            } else if PROXY_VARIABLES.contains(&name.as_str()) && !value.is_empty() {
                settings.unchosen = Some(name);
            }
        }
        settings
    }

    /// The same settings with this proxy.
    #[must_use]
    pub fn with_proxy(self, proxy: StoreProxy) -> Self {
        Self {
            proxy: Some(proxy),
            ..self
        }
    }

    /// The same settings with the certificates of a PEM file, which are trusted in place of those
    /// that the user's environment trusts.
    #[must_use]
    pub fn with_roots(self, file: PathBuf) -> Self {
        Self {
            roots: Some(file),
            ..self
        }
    }
}

fn is_of_cloud(name: &str) -> bool {
    ["AWS_", "GOOGLE_", "AZURE_"]
        .iter()
        .any(|prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_of_proxies_are_not_shown() {
        let proxy = StoreProxy::Through {
            url: "http://name:secret@proxy:3128".to_owned(),
            exclusions: "example.org".to_owned(),
        };
        let shown = format!("{:?}", Some(proxy));
        assert!(shown.contains("name:***@proxy:3128") && shown.contains("example.org"));
        assert!(!shown.contains("secret"), "{shown}");
    }
}
