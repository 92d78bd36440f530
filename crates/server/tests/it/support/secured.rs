//! Generated certificates, token files and handwritten requests.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use papir_server::{NewToken, Scope, TlsFiles, TokenFile, TokenSource};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

/// A certificate authority and its files.
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    folder: PathBuf,
    name: String,
}

impl Authority {
    pub fn new(folder: &Path, name: &str) -> Self {
        let mut params = CertificateParams::new(vec![]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        Self { issuer, folder: folder.to_owned(), name: name.to_owned() }
    }

    /// Its own certificate, for clients.
    pub fn root(&self) -> PathBuf {
        let path = self.folder.join(format!("{}.root.pem", self.name));
        std::fs::write(&path, self.issuer.pem()).unwrap();
        path
    }

    /// Writes a certificate for loopback and its key into `files`.
    pub fn issue(&self, files: &TlsFiles) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec!["127.0.0.1".to_owned(), "localhost".to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        std::fs::write(&files.certificate, certificate.pem()).unwrap();
        std::fs::write(&files.key, key.serialize_pem()).unwrap();
    }
}

/// Paths of a service's certificate and key.
pub fn pair(folder: &Path) -> TlsFiles {
    TlsFiles { certificate: folder.join("cert.pem"), key: folder.join("key.pem") }
}

/// Adds a token to the file and returns its text.
pub fn token(file: &Path, name: &str, scopes: &[Scope], databases: Option<&[&str]>) -> String {
    let databases = databases.map(|all| all.iter().map(|one| (*one).to_owned()).collect());
    let new = NewToken {
        name: name.to_owned(),
        scopes: scopes.iter().copied().collect(),
        databases,
        lifetime: None,
    };
    TokenFile::add(file, new).unwrap().to_string()
}

/// A token file for all databases.
pub fn source(path: &Path) -> Vec<TokenSource> {
    vec![TokenSource { path: path.to_owned(), only: None }]
}

/// A connection with a read timeout of ten seconds.
pub fn dial(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    stream
}

/// Sends bytes and reads until the service closes the connection. Panics on a read timeout.
pub fn exchange(address: SocketAddr, request: &str) -> String {
    let mut stream = dial(address);
    stream.write_all(request.as_bytes()).unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    reply
}
