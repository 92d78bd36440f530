//! Certificates of gateways' keys that clients accept.

use crate::certificate::Certificate;
use crate::error::{Error, Result};
use crate::gateways::GatewayKeys;
use crate::key::VerifyingKey;
use crate::merkle::Hash;
use crate::trust::{Times, has_begun, signers};

/// The owner of a log, and the certificates in it, for a verification at two times.
pub(crate) struct GatewayTrust<'a> {
    pub(crate) owner: &'a VerifyingKey,
    pub(crate) database: &'a str,
    pub(crate) certificates: &'a [Certificate],
    pub(crate) times: Times,
}

impl<'a> GatewayTrust<'a> {
    /// The certificate that a leaf commits to.
    ///
    /// # Errors
    /// [`Error::GatewayKeys`] if it is missing, or [`GatewayTrust::check`] refuses it.
    pub(crate) fn find(&self, commitment: &Hash) -> Result<&'a GatewayKeys> {
        let Some(certificate) = committed(self.certificates, commitment) else {
            return Err(refused(
                "the leaf commits to a certificate that is not shown",
            ));
        };
        self.check(certificate)
    }

    /// The keys that a certificate names. It must be for the database, begun and not ended, and
    /// signed by a key that may sign checkpoints of the database.
    ///
    /// # Errors
    /// [`Error::GatewayKeys`] otherwise.
    pub(crate) fn check(&self, certificate: &'a Certificate) -> Result<&'a GatewayKeys> {
        let Some(keys) = certificate.gateway_keys() else {
            return Err(refused("a certificate that names no keys of gateways"));
        };
        if let Some(scope) = keys.database()
            && scope != self.database
        {
            let expected = self.database;
            return Err(refused(format!(
                "they are for the database `{scope}`: expected `{expected}`"
            )));
        }
        self.check_time(certificate)?;

        // As for the checkpoint: a publisher whose delegation has ended names no keys any more.
        let issuer = certificate.issuer();
        let trusted = signers(self.owner, self.certificates, self.database, self.times);
        if trusted.iter().any(|key| key.same_key(issuer)) {
            return Ok(keys);
        }
        let owner = self.owner;
        Err(refused(format!(
            "they are signed by {issuer}: expected a signature under the owner's key {owner}"
        )))
    }

    fn check_time(&self, certificate: &Certificate) -> Result<()> {
        let now = self.times.now;
        if has_begun(certificate, now) && now <= certificate.until() {
            return Ok(());
        }

        let from = certificate.from();
        let until = certificate.until();
        Err(refused(format!(
            "they are valid from {from} until {until}: expected a certificate for {now}"
        )))
    }
}

/// The certificate with this commitment.
pub(crate) fn committed<'a>(
    certificates: &'a [Certificate],
    commitment: &Hash,
) -> Option<&'a Certificate> {
    certificates
        .iter()
        .find(|one| one.commitment().as_ref() == Some(commitment))
}

fn refused(reason: impl Into<String>) -> Error {
    Error::GatewayKeys {
        reason: reason.into(),
    }
}
