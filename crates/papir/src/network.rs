//! Connections to a server.

use papir_client::{Connection, Error};

/// Connects to the database at a URL, or to the only one of a server: `http://host:port` or
/// `http://host:port/v1/databases/name`.
///
/// # Errors
/// As [`Connection::open`].
pub fn connect(url: &str) -> Result<Connection, Error> {
    Connection::open(url, None)
}
