//! The list of trusted certificates.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use webpki_root_certs::TLS_SERVER_ROOT_CERTS;

use crate::certificate::is_authority;
use crate::variables::CertificateVariables;
use crate::{RootSource, RootsError, system};

/// Longest accepted file of certificates in bytes: 4 MiB.
const MAX_BYTES: u64 = 4 << 20;

/// The certificates that a client trusts, and their origin.
#[derive(Clone, Debug)]
pub struct RootList {
    source: RootSource,
    certificates: Vec<CertificateDer<'static>>,
}

impl RootList {
    /// The certificates in `file` or, without a file, those that the user's environment trusts: in
    /// the files that `SSL_CERT_FILE` and `SSL_CERT_DIR` name, else of the system, else the bundled
    /// ones.
    ///
    /// # Errors
    /// [`RootsError`] if the file, or the files that a variable names, cannot be read or have no
    /// certificate.
    pub fn choose(file: Option<&Path>) -> Result<Self, RootsError> {
        match file {
            Some(path) => Self::of_file(path),
            None => Self::of_environment(&CertificateVariables::of_environment()),
        }
    }

    /// All certificates of a PEM file.
    ///
    /// # Errors
    /// [`RootsError::File`] if the file cannot be read, is malformed, has more than 4 MiB, or has
    /// no certificate.
    pub fn of_file(path: &Path) -> Result<Self, RootsError> {
        let pem = read(path).map_err(|error| bad_file(path, error))?;
        // The certificates beyond would be left out without a word.
        if pem.len() as u64 > MAX_BYTES {
            let reason = format!("too long: expected at most {MAX_BYTES} bytes");
            return Err(bad_file(path, reason));
        }

        let certificates = CertificateDer::pem_slice_iter(&pem)
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| bad_file(path, error))?;
        if certificates.is_empty() {
            return Err(bad_file(path, "contains no PEM certificate"));
        }
        Ok(Self {
            source: RootSource::File(path.to_owned()),
            certificates,
        })
    }

    fn of_environment(variables: &CertificateVariables) -> Result<Self, RootsError> {
        if let Some(source) = variables.source() {
            return Ok(Self {
                source,
                certificates: variables.certificates()?,
            });
        }
        Ok(Self::of_store(system::certificates()))
    }

    /// The authorities among the system's certificates or, if there are none, the bundled ones.
    fn of_store(mut certificates: Vec<CertificateDer<'static>>) -> Self {
        // Nobody chose the others for papir.
        certificates.retain(|certificate| is_authority(certificate));
        if certificates.is_empty() {
            return Self::bundled();
        }
        Self {
            source: RootSource::System,
            certificates,
        }
    }

    /// Mozilla's list of authorities, as bundled in this program.
    pub fn bundled() -> Self {
        Self {
            source: RootSource::Bundled,
            certificates: TLS_SERVER_ROOT_CERTS.to_vec(),
        }
    }

    /// The origin of the certificates.
    pub fn source(&self) -> &RootSource {
        &self.source
    }

    /// Returns all trusted certificates: of authorities, and of servers themselves.
    pub fn certificates(&self) -> &[CertificateDer<'static>] {
        &self.certificates
    }

    /// The certificates that a server may present as its own: those that the user named. The
    /// system's certificates and the bundled ones are trusted only as authorities.
    pub fn own(&self) -> &[CertificateDer<'static>] {
        match self.source {
            RootSource::File(_) | RootSource::Variables { .. } => &self.certificates,
            RootSource::System | RootSource::Bundled => &[],
        }
    }

    /// The anchors of certificate chains: the authorities among the certificates.
    pub fn anchors(&self) -> RootCertStore {
        let authorities = self
            .certificates
            .iter()
            .filter(|certificate| is_authority(certificate));

        let mut anchors = RootCertStore::empty();
        anchors.add_parsable_certificates(authorities.cloned());
        anchors
    }
}

/// Reads the first bytes of a file: at most one byte more than a list of certificates may have.
fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut pem = Vec::new();
    File::open(path)?
        .take(MAX_BYTES + 1)
        .read_to_end(&mut pem)?;
    Ok(pem)
}

fn bad_file(path: &Path, reason: impl ToString) -> RootsError {
    RootsError::File {
        path: path.to_owned(),
        reason: reason.to_string(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::ffi::OsString;
    use std::fs;

    use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};
    use tempfile::TempDir;

    use super::*;

    /// A certificate in PEM, signed by itself.
    fn pem(is_ca: IsCa) -> String {
        let mut params = CertificateParams::new(vec!["papir.test".to_owned()]).unwrap();
        params.is_ca = is_ca;
        params
            .self_signed(&KeyPair::generate().unwrap())
            .unwrap()
            .pem()
    }

    fn authority() -> String {
        pem(IsCa::Ca(BasicConstraints::Unconstrained))
    }

    fn der(pem: &str) -> CertificateDer<'static> {
        CertificateDer::from_pem_slice(pem.as_bytes()).unwrap()
    }

    #[test]
    fn a_given_file_is_all_that_is_trusted() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("roots.pem");
        let (one, own) = (authority(), pem(IsCa::ExplicitNoCa));
        fs::write(&path, format!("{one}{own}")).unwrap();

        let list = RootList::choose(Some(&path)).unwrap();

        assert_eq!(list.source(), &RootSource::File(path));
        assert_eq!(list.certificates(), [der(&one), der(&own)]);
        assert_eq!(list.own(), list.certificates());
        assert_eq!(
            list.anchors().len(),
            1,
            "a server's own certificate signs nothing"
        );
    }

    #[test]
    fn a_file_without_certificates_is_an_error() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("roots.pem");
        assert!(RootList::choose(Some(&path)).is_err());

        for (text, expected) in [
            ("", "contains no PEM certificate"),
            ("-----BEGIN CERTIFICATE-----\nAAAA", "section end"),
        ] {
            fs::write(&path, text).unwrap();
            let error = RootList::choose(Some(&path)).unwrap_err().to_string();
            assert!(
                error.contains("roots.pem") && error.contains(expected),
                "{error}"
            );
        }
    }

    #[test]
    fn a_file_that_is_too_long_is_an_error() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("roots.pem");
        let mut text = authority();
        // Lines outside of a certificate are comments.
        text.push_str(&"\n".repeat(MAX_BYTES as usize - text.len()));
        fs::write(&path, &text).unwrap();
        assert_eq!(RootList::choose(Some(&path)).unwrap().anchors().len(), 1);

        text.push_str(&authority());
        fs::write(&path, &text).unwrap();
        let error = RootList::choose(Some(&path)).unwrap_err().to_string();
        assert!(error.contains("roots.pem: too long"), "{error}");
    }

    #[test]
    fn variables_come_before_the_system_and_never_fall_back() {
        let folder = TempDir::new().unwrap();
        let file = folder.path().join("roots.pem");
        let variables = CertificateVariables {
            file: Some(file.clone()),
            folders: None,
        };

        for content in [None, Some("no certificate")] {
            if let Some(content) = content {
                fs::write(&file, content).unwrap();
            }
            let error = RootList::of_environment(&variables)
                .unwrap_err()
                .to_string();
            assert!(error.starts_with("SSL_CERT_FILE is "), "{error}");
        }

        let one = authority();
        fs::write(&file, format!("text\n{one}")).unwrap();
        let list = RootList::of_environment(&variables).unwrap();
        assert_eq!(list.certificates(), [der(&one)]);
        assert_eq!(
            list.source().to_string(),
            format!("SSL_CERT_FILE={}", file.display())
        );
    }

    #[test]
    fn folders_of_a_variable_are_read_together() {
        let folder = TempDir::new().unwrap();
        let pems = [authority(), authority()];
        let mut places = Vec::new();
        for (i, pem) in pems.iter().enumerate() {
            let place = folder.path().join(i.to_string());
            fs::create_dir(&place).unwrap();
            fs::write(place.join("root.pem"), pem).unwrap();
            places.push(place);
        }
        let joined: OsString = std::env::join_paths(&places).unwrap();

        let variables = CertificateVariables {
            file: None,
            folders: Some(joined),
        };
        let list = RootList::of_environment(&variables).unwrap();

        assert_eq!(list.certificates(), pems.map(|pem| der(&pem)));
        assert_eq!(list.anchors().len(), 2);
    }

    #[test]
    fn a_store_counts_only_for_its_authorities() {
        let one = authority();
        let own = pem(IsCa::ExplicitNoCa);

        let list = RootList::of_store(vec![der(&own), der(&one)]);
        assert_eq!(list.source(), &RootSource::System);
        assert_eq!(list.certificates(), [der(&one)]);
        assert!(
            list.own().is_empty(),
            "no authority of a system is a server"
        );

        for empty in [Vec::new(), vec![der(&own)]] {
            let list = RootList::of_store(empty);
            assert_eq!(list.source(), &RootSource::Bundled);
            assert_eq!(list.anchors().len(), TLS_SERVER_ROOT_CERTS.len());
        }
    }

    #[test]
    fn certificates_without_constraints_are_authorities_only_before_version_3() {
        assert!(is_authority(&der(&authority())));
        assert!(
            !is_authority(&der(&pem(IsCa::NoCa))),
            "version 3 without constraints"
        );
        assert!(!is_authority(&der(&pem(IsCa::ExplicitNoCa))));
        assert!(!is_authority(b"no certificate"));
    }
}
