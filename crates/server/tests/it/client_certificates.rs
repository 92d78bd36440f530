//! Services that ask clients for a certificate.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::support::secured::{Authority, dial, exchange, pair};
use crate::support::transports::{AnyConnection, AsyncConnection};
use crate::support::{Running, agent, config, indexed, record, stateless};
use papir_client::{Connection, Error, Identity, Options};
use papir_server::{ClientFiles, Protection, ReloadHandle, Server, ServerConfig, TlsFiles};
use rcgen::date_time_ymd;
use tempfile::TempDir;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::version::{TLS12, TLS13};
use tokio_rustls::rustls::{
    ClientConfig, ClientConnection, HandshakeKind, RootCertStore, StreamOwned,
    SupportedProtocolVersion,
};

/// A service's authority and the one of its clients, which sign certificates in one folder.
struct World {
    folder: TempDir,
    service: Authority,
    clients: Authority,
}

impl World {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let [service, clients] =
            ["service", "clients"].map(|name| Authority::new(folder.path(), name));
        Self {
            folder,
            service,
            clients,
        }
    }

    fn files(&self, revoked: bool) -> TlsFiles {
        let files = pair(self.folder.path());
        self.service.issue(&files);
        let revoked = revoked.then(|| self.clients.revoke(&[]));
        let clients = ClientFiles {
            revoked,
            ..ClientFiles::new(self.clients.root())
        };
        TlsFiles {
            clients: Some(clients),
            ..files
        }
    }

    /// A client's certificate with this serial number, which ends with a year.
    fn client(&self, by: &Authority, serial: u64, year: i32) -> Identity {
        let path = |kind: &str| {
            self.folder
                .path()
                .join(format!("client-{serial}-{year}.{kind}.pem"))
        };
        let files = TlsFiles::new(path("cert"), path("key"));
        by.issue_with(&files, |params| {
            params.serial_number = Some(serial.into());
            params.not_before = date_time_ymd(2020, 1, 1);
            params.not_after = date_time_ymd(year, 1, 1);
        });
        Identity::new(files.certificate, files.key)
    }

    fn get(&self, server: &Running, identity: Option<&Identity>) -> papir_client::Result<Vec<u8>> {
        self.get_over::<Connection>(server, identity)
    }

    fn get_over<C: AnyConnection>(
        &self,
        server: &Running,
        identity: Option<&Identity>,
    ) -> papir_client::Result<Vec<u8>> {
        let ca = Some(self.service.root());
        let identity = identity.cloned();
        let patience = Some(Duration::from_secs(1));
        let options = Options {
            allow_not_private: true,
            ca,
            identity,
            patience,
            ..stateless()
        };
        C::open_with(&format!("https://{}", server.address), &options)?.get_index(7)
    }
}

fn start(files: &TlsFiles) -> Running {
    Running::start(protected(files), vec![indexed("table", "plain", 50)])
}

fn protected(files: &TlsFiles) -> ServerConfig {
    ServerConfig {
        protection: Protection {
            tls: Some(files.clone()),
            ..Protection::default()
        },
        ..config()
    }
}

fn reload(handle: &ReloadHandle) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(handle.reload()).unwrap();
}

/// Checks that the service refuses a client for good, with words that contain `part`.
fn refuses(got: papir_client::Result<Vec<u8>>, part: &str) {
    let error = got.unwrap_err();
    assert!(
        matches!(error, Error::Transport { .. }) && !error.is_retryable(),
        "{error}"
    );
    assert!(error.to_string().contains(part), "{error}");
}

#[test]
fn only_clients_with_a_valid_certificate_connect() {
    let world = World::new();
    let server = start(&world.files(false));
    let own = world.client(&world.clients, 1, 2100);
    let late = world.client(&world.clients, 2, 2021);
    let strange = world.client(&world.service, 3, 2100);
    // Several times, since a refusal must not be lost when the client sends at the same moment.
    for _ in 0..10 {
        assert_eq!(world.get(&server, Some(&own)).unwrap(), record(7));
        refuses(world.get(&server, None), "asks for a client certificate");
        refuses(world.get(&server, Some(&late)), "expired");
        refuses(
            world.get(&server, Some(&strange)),
            "does not trust its issuer",
        );
    }
    let plain = exchange(server.address, "GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n");
    assert!(!plain.contains("200"), "{plain}");
}

/// The alert with the reason may get lost: then the failure says that a certificate was asked for.
#[test]
fn the_asynchronous_client_presents_its_certificate() {
    let world = World::new();
    let server = start(&world.files(false));
    let [own, late] =
        [(1, 2100), (2, 2021)].map(|(serial, year)| world.client(&world.clients, serial, year));
    for _ in 0..10 {
        assert_eq!(
            world
                .get_over::<AsyncConnection>(&server, Some(&own))
                .unwrap(),
            record(7)
        );
        for (identity, parts) in [
            (None, ["asks for a client certificate"; 2]),
            (Some(&late), ["may refuse the client's", "expired"]),
        ] {
            let error = world
                .get_over::<AsyncConnection>(&server, identity)
                .unwrap_err()
                .to_string();
            assert!(parts.iter().any(|part| error.contains(part)), "{error}");
        }
    }
}

#[test]
fn every_route_needs_the_certificate() {
    let world = World::new();
    let server = start(&world.files(false));
    let tls = ureq::tls::TlsConfig::builder()
        .disable_verification(true)
        .build();
    let agent = agent().tls_config(tls).build().new_agent();
    for path in [
        "/healthz",
        "/readyz",
        "/metrics",
        "/openapi.json",
        "/v1/databases",
    ] {
        let got = agent
            .get(format!("https://{}{path}", server.address))
            .call();
        assert!(
            matches!(got, Err(ureq::Error::Io(_) | ureq::Error::Rustls(_))),
            "{path}: {got:?}"
        );
    }
}

#[test]
fn revoked_certificates_are_refused_after_a_reload() {
    let world = World::new();
    let server = start(&world.files(true));
    let [one, two] = [1, 2].map(|serial| world.client(&world.clients, serial, 2100));
    let both = [&one, &two].map(|client| world.get(&server, Some(client)).is_ok());
    assert_eq!(both, [true, true]);
    world.clients.revoke(&[2]);
    assert!(
        world.get(&server, Some(&two)).is_ok(),
        "nothing changes before the reload"
    );
    reload(&server.handle);
    refuses(world.get(&server, Some(&two)), "revoked");
    assert_eq!(world.get(&server, Some(&one)).unwrap(), record(7));
    // A list that is damaged or empty would revoke nothing: the previous one stays.
    for bytes in [
        "",
        "damaged",
        "-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\n",
    ] {
        fs::write(world.folder.path().join("clients.crl.pem"), bytes).unwrap();
        reload(&server.handle);
        refuses(world.get(&server, Some(&two)), "revoked");
    }
}

#[test]
fn authorities_are_replaced_on_reload() {
    let world = World::new();
    let files = world.files(false);
    let server = start(&files);
    let old = world.client(&world.clients, 1, 2100);
    let new = world.client(&world.service, 2, 2100);
    let authorities = &files.clients.as_ref().unwrap().authorities;
    fs::copy(world.service.root(), authorities).unwrap();
    reload(&server.handle);
    refuses(world.get(&server, Some(&old)), "does not trust its issuer");
    assert!(world.get(&server, Some(&new)).is_ok());
    fs::write(authorities, "damaged").unwrap();
    reload(&server.handle);
    assert!(
        world.get(&server, Some(&new)).is_ok(),
        "the previous authorities stay"
    );
}

/// TLS of this version for a client with a certificate.
fn tls_of(
    world: &World,
    own: &Identity,
    version: &'static SupportedProtocolVersion,
) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_file(world.service.root()).unwrap())
        .unwrap();
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_protocol_versions(&[version]).unwrap();

    let chain = vec![CertificateDer::from_pem_file(&own.certificate).unwrap()];
    let key = PrivateKeyDer::from_pem_file(&own.key).unwrap();
    let config = builder
        .with_root_certificates(roots)
        .with_client_auth_cert(chain, key)
        .unwrap();
    Arc::new(config)
}

/// Sends a request over a connection of its own. Returns the connection and the response.
fn ask(
    server: &Running,
    config: &Arc<ClientConfig>,
    path: &str,
) -> (StreamOwned<ClientConnection, TcpStream>, String) {
    let name = ServerName::try_from("localhost").unwrap();
    let connection = ClientConnection::new(Arc::clone(config), name).unwrap();
    let mut stream = StreamOwned::new(connection, dial(server.address));
    let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();

    let mut reply = Vec::new();
    stream.read_to_end(&mut reply).unwrap();
    (stream, String::from_utf8_lossy(&reply).into_owned())
}

/// A resumed session would skip the check of the certificate, which may have ended meanwhile.
#[test]
fn every_connection_presents_its_certificate_again() {
    let world = World::new();
    let server = start(&world.files(false));
    let own = world.client(&world.clients, 1, 2100);
    for version in [&TLS13, &TLS12] {
        let config = tls_of(&world, &own, version);
        for _ in 0..3 {
            let (stream, reply) = ask(&server, &config, "/healthz");
            assert!(reply.starts_with("HTTP/1.1 200 "), "{reply}");
            assert_eq!(
                stream.conn.handshake_kind(),
                Some(HandshakeKind::Full),
                "{version:?}"
            );
        }
    }
}

/// Caches that are shared must not show them to clients without a certificate.
#[test]
fn blocks_are_for_the_caches_of_their_clients_only() {
    let world = World::new();
    let database = indexed("table", "plain", 50);
    let version = database.version();
    let server = Running::start(protected(&world.files(false)), vec![database]);
    let own = world.client(&world.clients, 1, 2100);

    let path = format!("/v1/databases/table/public/{version}/hashes");
    let (_, reply) = ask(&server, &tls_of(&world, &own, &TLS13), &path);
    assert!(reply.starts_with("HTTP/1.1 200 "), "{reply}");
    let control = "cache-control: private, max-age=31536000, immutable\r\n";
    assert!(reply.contains(control), "{reply}");
}

#[tokio::test]
async fn unusable_files_are_named_at_startup() {
    let world = World::new();
    let good = world.files(true);
    let text = world.folder.path().join("text.pem");
    fs::write(&text, "no pem").unwrap();
    let clients = good.clients.clone().unwrap();
    for (clients, parts) in [
        (
            ClientFiles {
                authorities: text.clone(),
                ..clients.clone()
            },
            ["text.pem", "no PEM certificate"],
        ),
        (
            ClientFiles {
                revoked: Some(text.clone()),
                ..clients.clone()
            },
            ["text.pem", "no PEM revocation list"],
        ),
        (
            ClientFiles::new("/nowhere.pem"),
            ["nowhere.pem", "No such file"],
        ),
    ] {
        let config = protected(&TlsFiles {
            clients: Some(clients),
            ..good.clone()
        });
        let refused = Server::bind_loaded(config, vec![indexed("table", "plain", 9)])
            .await
            .map(drop);
        let message = refused.unwrap_err().to_string();
        assert!(
            parts.iter().all(|part| message.contains(part)),
            "no {parts:?} in {message}"
        );
    }
}

#[test]
fn unusable_identities_are_named() {
    let world = World::new();
    let server = start(&world.files(false));
    let [one, two] = [1, 2].map(|serial| world.client(&world.clients, serial, 2100));
    let text = world.folder.path().join("text.pem");
    fs::write(&text, "no pem").unwrap();
    let missing = Path::new("/nowhere.pem");
    for (certificate, key, parts) in [
        (missing, one.key.as_path(), ["nowhere.pem", "No such file"]),
        (&one.certificate, missing, ["nowhere.pem", "No such file"]),
        (&text, &one.key, ["text.pem", "no PEM certificate"]),
        (&one.certificate, &text, ["text.pem", "no PEM private key"]),
        (
            &one.certificate,
            &two.key,
            ["client-2-2100.key.pem", "client-1-2100.cert.pem"],
        ),
    ] {
        let error = world
            .get(&server, Some(&Identity::new(certificate, key)))
            .unwrap_err();
        assert_eq!(error.code(), "bad_identity", "{error}");
        assert!(
            parts.iter().all(|part| error.to_string().contains(part)),
            "no {parts:?} in {error}"
        );
    }
}
