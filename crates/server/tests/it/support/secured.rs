//! Generated certificates, token files and handwritten requests.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use papir_server::{NewToken, Scope, TlsFiles, TokenFile, TokenSource};
use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, CertifiedIssuer, DnType,
    IsCa, KeyIdMethod, KeyPair, KeyUsagePurpose, RevokedCertParams, date_time_ymd,
};

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
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        params.distinguished_name.push(DnType::CommonName, name);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        Self {
            issuer,
            folder: folder.to_owned(),
            name: name.to_owned(),
        }
    }

    /// Writes a list of its certificates that are revoked.
    pub fn revoke(&self, serials: &[u64]) -> PathBuf {
        let revoked = serials.iter().map(|serial| RevokedCertParams {
            serial_number: (*serial).into(),
            revocation_time: date_time_ymd(2024, 1, 1),
            reason_code: None,
            invalidity_date: None,
        });
        let params = CertificateRevocationListParams {
            this_update: date_time_ymd(2024, 1, 1),
            next_update: date_time_ymd(2100, 1, 1),
            crl_number: 1.into(),
            issuing_distribution_point: None,
            revoked_certs: revoked.collect(),
            key_identifier_method: KeyIdMethod::Sha256,
        };
        let path = self.folder.join(format!("{}.crl.pem", self.name));
        std::fs::write(
            &path,
            params.signed_by(&self.issuer).unwrap().pem().unwrap(),
        )
        .unwrap();
        path
    }

    /// Its own certificate, for clients.
    pub fn root(&self) -> PathBuf {
        let path = self.folder.join(format!("{}.root.pem", self.name));
        std::fs::write(&path, self.issuer.pem()).unwrap();
        path
    }

    /// Writes a certificate for loopback and its key into `files`.
    pub fn issue(&self, files: &TlsFiles) {
        self.issue_with(files, |_| {});
    }

    /// Like [`Authority::issue`], with other properties.
    pub fn issue_with(&self, files: &TlsFiles, change: impl FnOnce(&mut CertificateParams)) {
        let key = KeyPair::generate().unwrap();
        let mut params =
            CertificateParams::new(vec!["127.0.0.1".to_owned(), "localhost".to_owned()]).unwrap();
        change(&mut params);
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        std::fs::write(&files.certificate, certificate.pem()).unwrap();
        std::fs::write(&files.key, key.serialize_pem()).unwrap();
    }
}

/// Paths of a service's certificate and key.
pub fn pair(folder: &Path) -> TlsFiles {
    TlsFiles::new(folder.join("cert.pem"), folder.join("key.pem"))
}

/// Adds a token to the file and returns its text.
pub fn token(file: &Path, name: &str, scopes: &[Scope], databases: Option<&[&str]>) -> String {
    let databases = databases.map(|all| all.iter().map(|one| (*one).to_owned()).collect());
    let new = NewToken {
        databases,
        ..NewToken::new(name, scopes.iter().copied())
    };
    TokenFile::add(file, new).unwrap().to_string()
}

/// A token file for all databases.
pub fn source(path: &Path) -> Vec<TokenSource> {
    vec![TokenSource::new(path)]
}

/// A connection with a read timeout of a minute.
pub fn dial(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(60)))
        .unwrap();
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
