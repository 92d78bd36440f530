//! Addresses of services and of databases.

use crate::{Error, Result};

/// Where every route starts.
const ROOT: &str = "/v1/databases";

/// A service, and the database that the address named, if it did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    /// Scheme, host, port and the path before the routes, without a slash at the end.
    base: String,
    /// The database at the end of the address.
    pub(crate) database: Option<String>,
}

impl Address {
    /// Reads `http://host:port`, with or without a path of the service or of one of its databases.
    pub(crate) fn parse(url: &str) -> Result<Self> {
        let bad = |reason| Error::BadUrl { url: url.to_owned(), reason };
        let known = ["http://", "https://"].iter().find_map(|scheme| url.strip_prefix(scheme));
        let rest = known.ok_or_else(|| bad("it must start with http:// or https://"))?;
        if rest.is_empty() || rest.starts_with('/') {
            return Err(bad("it names no host"));
        }
        if url.contains(['?', '#']) || url.contains(|c: char| c.is_whitespace() || c.is_control()) {
            return Err(bad("it has a query, a fragment or white space"));
        }
        let Some((base, path)) = url.split_once(ROOT) else {
            return Ok(Self { base: url.trim_end_matches('/').to_owned(), database: None });
        };
        let name = path.trim_start_matches('/').split('/').next().filter(|name| !name.is_empty());
        Ok(Self { base: base.to_owned(), database: name.map(str::to_owned) })
    }

    /// The list of databases.
    pub(crate) fn list(&self) -> String {
        format!("{}{ROOT}", self.base)
    }

    /// A database, and below it `part`, which starts with a slash or is empty.
    pub(crate) fn of(&self, database: &str, part: &str) -> String {
        format!("{}{ROOT}/{}{part}", self.base, escape(database))
    }
}

/// Everything but letters, digits and `-._` as %XX.
fn escape(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    name.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn addresses_with_and_without_paths() {
        for (url, list, database) in [
            ("http://h:1", "http://h:1/v1/databases", None),
            ("http://h:1/", "http://h:1/v1/databases", None),
            ("https://h/pir/", "https://h/pir/v1/databases", None),
            ("http://h:1/v1/databases", "http://h:1/v1/databases", None),
            ("http://h:1/v1/databases/words/public", "http://h:1/v1/databases", Some("words")),
        ] {
            let address = Address::parse(url).unwrap();
            assert_eq!((address.list().as_str(), address.database.as_deref()), (list, database), "{url}");
        }
        let address = Address::parse("http://h:1").unwrap();
        assert_eq!(address.of("a b/ü", "/query"), "http://h:1/v1/databases/a%20b%2F%C3%BC/query");
    }

    #[test]
    fn bad_addresses_are_refused() {
        for url in ["", "h:1", "ftp://h", "http://", "http:///v1", "http://h?x", "http://h/ #"] {
            assert!(matches!(Address::parse(url), Err(Error::BadUrl { .. })), "{url:?}");
        }
    }
}
