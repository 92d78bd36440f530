//! Connections to a server.

use postgres::config::SslMode;
use postgres::{Client, Config, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::address;
use super::error::Result;
use super::login::Login;

/// Connects to a server.
pub struct Connector {
    config: Config,
    /// `None` without TLS.
    tls: Option<MakeRustlsConnect>,
}

impl Connector {
    /// Reads the address, the password file and the certificates of a login.
    ///
    /// # Errors
    /// [`super::Error`] for an address that cannot be parsed, names no host or has a password, and
    /// for files that cannot be read.
    pub fn new(login: &Login) -> Result<Self> {
        let config = address::parse(login)?;
        let tls = match config.get_ssl_mode() {
            SslMode::Disable => None,
            _ => Some(address::tls(login)?),
        };
        Ok(Self { config, tls })
    }

    /// Makes a new connection to the primary. Must not be called on a thread that runs asynchronous
    /// tasks.
    ///
    /// # Errors
    /// Errors of the connection.
    pub fn connect(&self) -> std::result::Result<Client, postgres::Error> {
        match &self.tls {
            Some(tls) => self.config.connect(tls.clone()),
            None => self.config.connect(NoTls),
        }
    }
}
