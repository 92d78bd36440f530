//! Logins to a server.

use std::fmt;
use std::path::PathBuf;

use papir_core::without_passwords;

/// The variable of PostgreSQL's own clients for a file of trusted certificates.
const ROOTS_VARIABLE: &str = "PGSSLROOTCERT";

/// Address of a PostgreSQL server, password and trust.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Login {
    /// Address of the server, `postgres://USER@HOST/DATABASE`, without a password. If it names
    /// several hosts, the one that accepts writes is used. Without `sslmode`, TLS is required
    /// except to this machine; the server's certificate is always verified.
    pub address: String,
    /// The password, if one is needed.
    pub password: Option<String>,
    /// File with the password, in the format of PostgreSQL's clients. Used without a `password`.
    pub pass_file: Option<PathBuf>,
    /// PEM file of certificates to trust instead of those that the user's environment trusts.
    pub root_certificates: Option<PathBuf>,
}

/// A host of an address that is reached over TCP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TcpHost {
    /// Its name or IP address.
    pub name: String,
    /// Its port.
    pub port: u16,
}

impl Login {
    /// A login at an address, with the password from the variables `PGPASSWORD` or `PGPASSFILE`,
    /// and root certificates from `PGSSLROOTCERT`, which PostgreSQL's own clients read.
    pub fn from_environment(address: impl Into<String>) -> Self {
        Self {
            address: address.into(),
            password: std::env::var("PGPASSWORD")
                .ok()
                .filter(|password| !password.is_empty()),
            pass_file: path_in("PGPASSFILE"),
            root_certificates: path_in(ROOTS_VARIABLE),
        }
    }

    /// None: this build connects to no server.
    #[cfg(not(feature = "postgres"))]
    pub fn hosts(&self) -> Vec<TcpHost> {
        Vec::new()
    }

    /// Words for the origin of the file of trusted certificates. The variable is named: a person
    /// may not know that it is set.
    #[cfg(feature = "postgres")]
    pub(crate) fn source_of_roots(&self) -> &'static str {
        if self.root_certificates == path_in(ROOTS_VARIABLE) {
            ROOTS_VARIABLE
        } else {
            "trusted certificates"
        }
    }

    /// The address for errors. It should have no password, and is refused with one.
    pub(crate) fn shown(&self) -> String {
        without_passwords(&self.address)
    }

    /// The database that the address names; `postgres` if it names none.
    pub(crate) fn database(&self) -> &str {
        let after_scheme = self.address.split("://").nth(1).unwrap_or_default();
        let path = after_scheme.split_once('/').map(|(_, path)| path);
        let database = path.and_then(|path| path.split('?').next());
        database
            .filter(|name| !name.is_empty())
            .unwrap_or("postgres")
    }

    /// Returns true if `text` is an address of a PostgreSQL server.
    pub fn is_address(text: &str) -> bool {
        text.starts_with("postgres://") || text.starts_with("postgresql://")
    }
}

/// The path in an environment variable; `None` if it is not set or empty.
fn path_in(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable)
        .filter(|path| !path.is_empty())
        .map(PathBuf::from)
}

impl fmt::Debug for Login {
    /// Omits the password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            pass_file,
            root_certificates,
            ..
        } = self;

        let mut debug = f.debug_struct("Login");
        debug
            .field("address", &self.shown())
            .field("pass_file", pass_file);
        debug
            .field("root_certificates", root_certificates)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_database_is_told_without_user_and_host() {
        for (address, expected) in [
            ("postgres://papir@db/shop", "shop"),
            ("postgresql://papir@db:5432/shop?sslmode=require", "shop"),
            ("postgres://papir@db", "postgres"),
            ("postgres://papir@db/?sslmode=require", "postgres"),
        ] {
            let login = Login {
                address: address.to_owned(),
                ..Login::default()
            };
            assert_eq!(login.database(), expected, "{address}");
        }
    }
}
