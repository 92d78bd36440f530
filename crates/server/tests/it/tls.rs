//! TLS: trust, certificate reload and stalled handshakes; Unix sockets.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::support::process::has_files_for;
use crate::support::secured::{Authority, dial, exchange, pair};
use crate::support::transports::{AnyConnection, over_both_transports};
use crate::support::{Running, config, indexed, record, stateless};
use papir_client::{Connection, Options, Token};
use papir_server::{Protection, ReloadHandle, Server, ServerConfig, TlsFiles};
use tempfile::TempDir;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

over_both_transports! {
    only_clients_that_trust_the_authority_connect,
    a_token_is_not_sent_in_clear_to_a_remote_machine,
    a_unix_socket_serves_and_is_removed_afterwards,
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

fn start(files: &TlsFiles) -> Running {
    Running::start(protected(files), vec![indexed("table", "plain", 50)])
}

fn trusting(root: &Path) -> Options {
    Options {
        allow_not_private: true,
        ca: Some(root.to_owned()),
        ..stateless()
    }
}

fn open(server: &Running, options: &Options) -> papir_client::Result<Connection> {
    open_over(server, options)
}

fn open_over<C: AnyConnection>(server: &Running, options: &Options) -> papir_client::Result<C> {
    C::open_with(&format!("https://{}", server.address), options)
}

fn reload(handle: &ReloadHandle) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(handle.reload()).unwrap();
}

fn only_clients_that_trust_the_authority_connect<C: AnyConnection>() {
    let folder = TempDir::new().unwrap();
    let own = Authority::new(folder.path(), "own");
    let other = Authority::new(folder.path(), "other");
    let files = pair(folder.path());
    own.issue(&files);
    let server = start(&files);
    assert_eq!(
        open_over::<C>(&server, &trusting(&own.root()))
            .unwrap()
            .get_index(7)
            .unwrap(),
        record(7)
    );
    let refused = |options: &Options| {
        open_over::<C>(&server, options)
            .map(drop)
            .unwrap_err()
            .to_string()
    };
    assert!(refused(&trusting(&other.root())).contains("certificate"));
    assert!(
        refused(&stateless()).contains("certificate"),
        "no public authority signed it"
    );
    let missing = Options {
        ca: Some(folder.path().join("missing.pem")),
        ..stateless()
    };
    assert!(refused(&missing).contains("missing.pem"));
    let no_pem = Options {
        ca: Some(files.key.clone()),
        ..stateless()
    };
    assert!(refused(&no_pem).contains("no PEM certificate"));
    let plain = exchange(server.address, "GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n");
    assert!(!plain.contains("200"), "{plain}");
}

#[test]
fn certificates_are_replaced_on_reload_unless_invalid() {
    let folder = TempDir::new().unwrap();
    let old = Authority::new(folder.path(), "old");
    let new = Authority::new(folder.path(), "new");
    let files = pair(folder.path());
    old.issue(&files);
    let server = start(&files);
    let works = |authority: &Authority| open(&server, &trusting(&authority.root())).is_ok();
    let key = fs::read(&files.key).unwrap();
    new.issue(&files);
    assert!(
        works(&old) && !works(&new),
        "nothing changes before the reload"
    );
    reload(&server.handle);
    assert!(works(&new) && !works(&old));
    for (path, bytes) in [
        (&files.key, key.as_slice()),
        (&files.certificate, b"damaged"),
        (&files.key, b""),
    ] {
        fs::write(path, bytes).unwrap();
        reload(&server.handle);
        assert!(works(&new) && !works(&old), "{}", path.display());
    }
    old.issue(&files);
    reload(&server.handle);
    assert!(works(&old) && !works(&new));
}

#[tokio::test]
async fn an_invalid_pair_is_named_at_startup() {
    let folder = TempDir::new().unwrap();
    let authority = Authority::new(folder.path(), "own");
    let files = pair(folder.path());
    let other = TlsFiles::new(folder.path().join("c2.pem"), folder.path().join("k2.pem"));
    authority.issue(&files);
    authority.issue(&other);
    fs::write(folder.path().join("text"), "no pem").unwrap();
    let at = |name: &str| folder.path().join(name);
    for (certificate, key, parts) in [
        (
            at("missing"),
            files.key.clone(),
            ["missing", "No such file"],
        ),
        (
            files.certificate.clone(),
            at("missing"),
            ["missing", "No such file"],
        ),
        (
            at("text"),
            files.key.clone(),
            ["text", "no PEM certificate"],
        ),
        (
            files.certificate.clone(),
            at("text"),
            ["text", "no PEM private key"],
        ),
        (
            files.certificate.clone(),
            other.key.clone(),
            ["k2.pem", "cert.pem"],
        ),
        (
            files.key.clone(),
            files.key.clone(),
            ["key.pem", "no PEM certificate"],
        ),
    ] {
        let config = protected(&TlsFiles::new(certificate, key));
        let refused = Server::bind_loaded(config, vec![indexed("table", "plain", 9)])
            .await
            .map(drop);
        let message = refused.unwrap_err().to_string();
        assert!(
            parts.iter().all(|part| message.contains(part)),
            "no {parts:?} in {message}"
        );
        assert_eq!(message.lines().count(), 1, "{message}");
    }
}

/// A TLS connection that offers these ALPN protocols.
fn handshake(
    server: &Running,
    root: &Path,
    protocols: &[&[u8]],
) -> StreamOwned<ClientConnection, TcpStream> {
    let mut roots = RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_file(root).unwrap())
        .unwrap();
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap();
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
    let name = ServerName::try_from("localhost").unwrap();
    let mut stream = StreamOwned::new(
        ClientConnection::new(Arc::new(config), name).unwrap(),
        dial(server.address),
    );
    stream.flush().unwrap();
    stream
}

#[test]
fn http_2_is_negotiated() {
    let folder = TempDir::new().unwrap();
    let authority = Authority::new(folder.path(), "own");
    let files = pair(folder.path());
    authority.issue(&files);
    let server = start(&files);
    let root = authority.root();
    assert_eq!(
        handshake(&server, &root, &[b"http/1.1"])
            .conn
            .alpn_protocol(),
        Some(&b"http/1.1"[..])
    );
    let mut stream = handshake(&server, &root, &[b"http/1.1", b"h2"]);
    assert_eq!(
        stream.conn.alpn_protocol(),
        Some(&b"h2"[..]),
        "the service prefers HTTP/2"
    );
    // Preface, empty SETTINGS, then HEADERS of stream 1: GET, https, :path /healthz, :authority x.
    let fields = [&[0x82, 0x87, 0x04, 8][..], b"/healthz", &[0x01, 1], b"x"].concat();
    let head = [0, 0, fields.len() as u8, 1, 0x05, 0, 0, 0, 1];
    let request = [
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        &[0, 0, 0, 4, 0, 0, 0, 0, 0][..],
        &head,
        &fields,
    ];
    stream.write_all(&request.concat()).unwrap();
    loop {
        let mut frame = [0; 9];
        stream.read_exact(&mut frame).unwrap();
        let mut payload = vec![0; u32::from_be_bytes([0, frame[0], frame[1], frame[2]]) as usize];
        stream.read_exact(&mut payload).unwrap();
        if frame[3] == 1 {
            assert_eq!(payload[0], 0x88, "status 200 is entry 8 of HPACK's table");
            break;
        }
    }
}

#[test]
fn a_stalled_handshake_is_cut_off_and_blocks_nobody() {
    if !has_files_for("tls::a_stalled_handshake_is_cut_off_and_blocks_nobody") {
        return;
    }
    let folder = TempDir::new().unwrap();
    let authority = Authority::new(folder.path(), "own");
    let files = pair(folder.path());
    authority.issue(&files);
    let mut config = protected(&files);
    config.protection.header_timeout = Duration::from_millis(500);
    let server = Running::start(config, vec![indexed("table", "plain", 50)]);
    let begin = Instant::now();
    let mut stalled: Vec<TcpStream> = (0..20).map(|_| dial(server.address)).collect();
    for stream in &mut stalled {
        // The start of a record that announces a hello of 512 bytes.
        stream.write_all(&[0x16, 3, 1, 2, 0, 1]).unwrap();
    }
    // On a loaded machine the time may be too short even for a prompt client; then retry.
    let get = || open(&server, &trusting(&authority.root()))?.get_index(3);
    assert_eq!((0..20).find_map(|_| get().ok()), Some(record(3)));
    for stream in &mut stalled {
        // A read that times out means that the service did not close. A reset counts as closed.
        let ended = stream.read(&mut [0]);
        assert!(
            !matches!(&ended, Err(error) if error.kind() == std::io::ErrorKind::WouldBlock),
            "{ended:?}"
        );
    }
    assert!(
        begin.elapsed() >= Duration::from_millis(450),
        "cut off too early"
    );
}

fn a_token_is_not_sent_in_clear_to_a_remote_machine<C: AnyConnection>() {
    let token = Some(Token::new("papir_secret").unwrap());
    let options = Options {
        token,
        ..stateless()
    };
    // Nothing listens there: a different error would show that something was sent.
    let refused = |url: &str, options: &Options| match C::open_with(url, options) {
        Ok(_) => panic!("{url}"),
        Err(error) => error.code().to_owned(),
    };
    assert_eq!(refused("http://192.0.2.1:9", &options), "token_in_clear");
    assert_eq!(refused("http://127.0.0.1:1", &options), "transport");
    let server = Running::start(config(), vec![indexed("table", "plain", 9)]);
    let allowed = Options {
        insecure_http: true,
        allow_not_private: true,
        ..options
    };
    let url = format!("http://{}", server.address);
    assert_eq!(
        C::open_with(&url, &allowed).unwrap().get_index(1).unwrap(),
        record(1)
    );
}

#[cfg(unix)]
fn a_unix_socket_serves_and_is_removed_afterwards<C: AnyConnection>() {
    let folder = papir_testkit::sockets::folder();
    let path = folder.path().join("papir.sock");
    let listen = format!("unix:{}", path.display());
    let config = ServerConfig {
        listen: listen.parse().unwrap(),
        ..config()
    };
    let server = Running::start(
        config.clone(),
        vec![indexed("table", "plain", 50), indexed("b", "plain", 9)],
    );
    let options = Options {
        database: Some("table".into()),
        allow_not_private: true,
        ..stateless()
    };
    let mut connection = C::open_with(&listen, &options).unwrap();
    for index in [3, 49, 0] {
        assert_eq!(connection.get_index(index).unwrap(), record(index));
    }
    let folder_config = ServerConfig {
        protection: protected(&pair(folder.path())).protection,
        ..config
    };
    Authority::new(folder.path(), "own").issue(&pair(folder.path()));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let refused = runtime.block_on(Server::bind_loaded(
        folder_config,
        vec![indexed("table", "plain", 9)],
    ));
    assert!(
        refused
            .map(drop)
            .unwrap_err()
            .to_string()
            .contains("TLS is not supported on Unix sockets")
    );
    drop(connection);
    server.finish();
    assert!(!path.exists());
}
