//! Addresses of PostgreSQL servers, with password and TLS.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use postgres::Config;
use postgres::config::{Host, SslMode, TargetSessionAttrs};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::error::{Error, Result};
use crate::login::Login;
use crate::pass_file;

/// Timeout of a connection attempt to one address.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Time after which a connection whose server does not acknowledge is closed.
const SILENCE: Duration = Duration::from_secs(10);

/// Parses the address, and adds what it leaves open: the password, timeouts, the primary only.
pub(crate) fn parse(login: &Login) -> Result<Config> {
    let mut config: Config = login
        .address
        .parse()
        .map_err(|error| Error::new(format!("its address: {error}")))?;
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
    if let Some(password) = password(login, &config)? {
        config.password(password);
    }
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
        .unwrap_or(5432)
        .to_string();
    pass_file::find(
        file,
        [&host, &port, config.get_dbname().unwrap_or(user), user],
    )
}

/// Returns true if all hosts are this machine.
fn is_local(config: &Config) -> bool {
    config.get_hosts().iter().all(|host| match host {
        Host::Tcp(name) => {
            name == "localhost"
                || name
                    .parse::<std::net::IpAddr>()
                    .is_ok_and(|address| address.is_loopback())
        }
        #[cfg(unix)]
        Host::Unix(_) => true,
    })
}

/// TLS that verifies the server's certificate against the public roots, or those of a file.
pub(crate) fn tls(login: &Login) -> Result<MakeRustlsConnect> {
    let roots = match &login.root_certificates {
        Some(path) => roots_of(path)?,
        None => RootCertStore {
            roots: webpki_roots::TLS_SERVER_ROOTS.to_vec(),
        },
    };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| Error::new(format!("TLS: {error}")))?;
    Ok(MakeRustlsConnect::new(
        builder.with_root_certificates(roots).with_no_client_auth(),
    ))
}

fn roots_of(path: &Path) -> Result<RootCertStore> {
    let failed =
        |reason: String| Error::new(format!("PGSSLROOTCERT, {}: {reason}", path.display()));
    let mut roots = RootCertStore::empty();
    for certificate in
        CertificateDer::pem_file_iter(path).map_err(|error| failed(error.to_string()))?
    {
        let certificate = certificate.map_err(|error| failed(error.to_string()))?;
        roots
            .add(certificate)
            .map_err(|error| failed(error.to_string()))?;
    }
    if roots.is_empty() {
        Err(failed("it contains no PEM certificate".into()))
    } else {
        Ok(roots)
    }
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
    }

    #[test]
    fn tls_is_left_out_on_this_machine_only() {
        let mode = |address: &str| parse(&login(address)).unwrap().get_ssl_mode();
        for local in [
            "postgres://localhost/a",
            "postgres://127.0.0.1,[::1]/a",
            "postgres://%2Frun%2Fpg/a",
        ] {
            assert_eq!(mode(local), SslMode::Disable, "{local}");
        }
        assert_eq!(mode("postgres://db/a"), SslMode::Require);
        assert_eq!(mode("postgres://localhost,db/a"), SslMode::Require);
        assert_eq!(
            mode("postgres://localhost/a?sslmode=require"),
            SslMode::Require
        );
        assert_eq!(mode("postgres://db/a?sslmode=disable"), SslMode::Disable);
    }
}
