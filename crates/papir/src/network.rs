//! The way to a service.

use papir_client::{Connection, Error};

/// Connects to the database that an address names, or to the only one of a service:
/// `http://host:port` or `http://host:port/v1/databases/name`.
///
/// # Errors
/// As [`Connection::open`].
pub fn connect(url: &str) -> Result<Connection, Error> {
    Connection::open(url, None)
}
