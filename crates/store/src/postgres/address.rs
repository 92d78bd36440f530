//! Addresses of PostgreSQL servers, with password and TLS.

use std::net::IpAddr;
use std::time::Duration;

use papir_core::without_passwords;
use papir_tls::{RootList, client_config};
use postgres::Config;
use postgres::config::{Host, SslMode, TargetSessionAttrs};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::error::{Error, Result};
use super::login::{Login, TcpHost};
use super::pass_file;

/// The port of an address that names none.
const DEFAULT_PORT: u16 = 5432;
/// Timeout of a connection attempt to one address.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Time after which a connection whose server does not acknowledge is closed.
const SILENCE: Duration = Duration::from_secs(10);

/// Parses the address, and adds password, timeouts and TLS where it has none.
pub(crate) fn parse(login: &Login) -> Result<Config> {
    let mut config: Config = login
        .address
        .parse()
        .map_err(|error| Error::new(without_passwords(&format!("its address: {error}"))))?;
    check(&config)?;

    if let Some(password) = password(login, &config)? {
        config.password(password);
    }

    // A standby accepts connections, but no writes.
    config
        .application_name("papir")
        .target_session_attrs(TargetSessionAttrs::ReadWrite)
        .keepalives_idle(SILENCE)
        .keepalives_interval(SILENCE / 2);
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(CONNECT_TIMEOUT);
    }
    if config.get_tcp_user_timeout().is_none() {
        config.tcp_user_timeout(SILENCE);
    }

    // `Prefer` falls back to plain text, so that an attacker in between could turn TLS off.
    if config.get_ssl_mode() == SslMode::Prefer {
        let mode = if is_local(&config) {
            SslMode::Disable
        } else {
            SslMode::Require
        };
        config.ssl_mode(mode);
    }
    Ok(config)
}

impl Login {
    /// The hosts of the address that are reached over TCP. None if it does not parse: the login is
    /// then refused before a connection is made.
    pub fn hosts(&self) -> Vec<TcpHost> {
        let Ok(config) = self.address.parse::<Config>() else {
            return Vec::new();
        };

        // One port may stand for all hosts.
        let ports = config.get_ports();
        let mut hosts = Vec::new();
        for (index, host) in config.get_hosts().iter().enumerate() {
            let port = ports.get(index).or(ports.first()).copied();
            let port = port.unwrap_or(DEFAULT_PORT);
            if let Host::Tcp(name) = host {
                hosts.push(TcpHost {
                    name: name.clone(),
                    port,
                });
            }
            // Such an address takes the place of the host's name.
            if let Some(address) = config.get_hostaddrs().get(index) {
                hosts.push(TcpHost {
                    name: address.to_string(),
                    port,
                });
            }
        }
        hosts
    }
}

/// Refuses an address with a password or without a host.
fn check(config: &Config) -> Result<()> {
    if config.get_password().is_some() {
        return Err(Error::new(
            "its address contains a password, which others on this machine can read: \
             give it in PGPASSWORD, or in the file that PGPASSFILE names",
        ));
    }
    if config.get_hosts().is_empty() {
        return Err(Error::new(
            "its address names no host: expected postgres://HOST/DATABASE",
        ));
    }
    Ok(())
}

/// The password of a login, or else of the line of its password file for the first host.
fn password(login: &Login, config: &Config) -> Result<Option<String>> {
    if login.password.is_some() {
        return Ok(login.password.clone());
    }
    let Some(file) = &login.pass_file else {
        return Ok(None);
    };

    let user = config.get_user().unwrap_or_default();
    let host = match &config.get_hosts()[0] {
        Host::Tcp(name) => name.clone(),
        #[cfg(unix)]
        Host::Unix(_) => "localhost".to_owned(),
    };
    let port = config
        .get_ports()
        .first()
        .copied()
        .unwrap_or(DEFAULT_PORT)
        .to_string();
    let database = config.get_dbname().unwrap_or(user);
    pass_file::find(file, [&host, &port, database, user])
}

/// Returns true if all hosts are this machine, and all addresses in their places, too.
fn is_local(config: &Config) -> bool {
    let mut hosts = config.get_hosts().iter();
    let are_local = hosts.all(|host| match host {
        Host::Tcp(name) => is_this_machine(name),
        #[cfg(unix)]
        Host::Unix(_) => true,
    });

    // The connection goes to the address, whatever the host's name says.
    are_local && config.get_hostaddrs().iter().all(IpAddr::is_loopback)
}

/// Returns true if the name of a host is that of this machine.
fn is_this_machine(name: &str) -> bool {
    let address = name.parse::<IpAddr>();
    name == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// TLS that verifies the server's certificate against those of the login's file, else against those
/// that the user's environment trusts.
pub(crate) fn tls(login: &Login) -> Result<MakeRustlsConnect> {
    let roots = match &login.root_certificates {
        Some(path) => RootList::of_file(path)
            .map_err(|error| Error::new(format!("{}, {error}", login.source_of_roots())))?,
        None => RootList::choose(None).map_err(|error| Error::new(error.to_string()))?,
    };

    let config = client_config(&roots).map_err(|error| Error::new(format!("TLS: {error}")))?;
    Ok(MakeRustlsConnect::new(config))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn login(address: &str) -> Login {
        Login {
            address: address.to_owned(),
            ..Login::default()
        }
    }

    #[test]
    fn passwords_come_from_the_environment_only() {
        let error = parse(&login("postgres://papir:secret@db/papir"))
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("PGPASSFILE") && !error.contains("secret"),
            "{error}"
        );
        assert!(
            parse(&login("postgres:///papir"))
                .unwrap_err()
                .to_string()
                .contains("no host")
        );
        assert!(parse(&login("postgres://db:port/papir")).is_err());

        let with = Login {
            password: Some("secret".into()),
            ..login("postgres://papir@db/papir")
        };
        assert_eq!(parse(&with).unwrap().get_password(), Some(&b"secret"[..]));
        assert!(!format!("{with:?}").contains("secret"));

        // An address that is refused shows no password, either.
        let refused = login("postgres://papir:secret@db/papir");
        assert_eq!(refused.shown(), "postgres://papir:***@db/papir");
        assert!(!format!("{refused:?}").contains("secret"));
    }

    #[test]
    fn hosts_over_tcp_are_listed() {
        let listed = |address: &str| {
            let hosts = login(address).hosts();
            let texts = hosts
                .iter()
                .map(|host| format!("{} {}", host.name, host.port));
            texts.collect::<Vec<_>>()
        };

        assert_eq!(listed("postgres://papir@db/shop"), ["db 5432"]);
        assert_eq!(listed("postgres://a:1,[::1]:2/shop"), ["a 1", "::1 2"]);
        assert_eq!(
            listed("postgres://localhost/shop?hostaddr=10.0.0.1"),
            ["localhost 5432", "10.0.0.1 5432"]
        );
        assert!(listed("postgres://%2Frun%2Fpg/shop").is_empty());
        assert!(listed("postgres://db:port/shop").is_empty());
    }

    #[test]
    fn tls_is_left_out_on_this_machine_only() {
        let mode = |address: &str| parse(&login(address)).unwrap().get_ssl_mode();
        for local in [
            "postgres://localhost/a",
            "postgres://127.0.0.1,[::1]/a",
            "postgres://%2Frun%2Fpg/a",
            "postgres://localhost/a?hostaddr=127.0.0.1",
        ] {
            assert_eq!(mode(local), SslMode::Disable, "{local}");
        }

        assert_eq!(mode("postgres://db/a"), SslMode::Require);
        assert_eq!(mode("postgres://localhost,db/a"), SslMode::Require);
        assert_eq!(
            mode("postgres://localhost/a?hostaddr=10.0.0.1"),
            SslMode::Require,
            "the address is not this machine"
        );
        assert_eq!(
            mode("postgres://localhost/a?sslmode=require"),
            SslMode::Require
        );
        assert_eq!(mode("postgres://db/a?sslmode=disable"), SslMode::Disable);
    }
}
