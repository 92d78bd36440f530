//! The way to a service.

use papir_client::{Connection, Error};
use papir_core::Privacy;

/// Connects to the database that an address names, or to the only one of a service:
/// `http://host:port` or `http://host:port/v1/databases/name`.
///
/// # Errors
/// As [`Connection::open`], and [`papir_core::Error::NotPrivate`] for a database whose scheme would
/// show the server what is asked; nothing was asked then.
pub fn connect(url: &str) -> Result<Connection, Error> {
    let connection = Connection::open(url, None)?;
    let description = connection.lookup().describe();
    match description.privacy {
        Privacy::Private => Ok(connection),
        Privacy::NotPrivate(reason) => {
            Err(papir_core::Error::NotPrivate { scheme: description.scheme, reason }.into())
        }
    }
}
