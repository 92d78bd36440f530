//! Certificates of a log's next version.

use crate::certificate::{Certificate, MAX_CERTIFICATES};
use crate::certificate_text::Grant;
use crate::error::{Error, Result};
use crate::gateway_trust::GatewayTrust;
use crate::key::VerifyingKey;
use crate::merkle::Hash;
use crate::trust::Times;

/// The certificates of a log before its next version; of a new log, none.
pub(crate) struct FormerCertificates<'a> {
    pub(crate) list: &'a [Certificate],
    /// The owner's key in the log; `None` for a new log.
    pub(crate) owner: Option<&'a VerifyingKey>,
    /// The commitment of the newest leaf to keys of gateways.
    pub(crate) gateways: Option<Hash>,
}

/// The certificates of a log with its next version.
pub(crate) struct NextCertificates {
    pub(crate) list: Vec<Certificate>,
    /// The owner's key that clients of the log pin.
    pub(crate) pinned: VerifyingKey,
    /// The commitment of the new leaf to keys of gateways.
    pub(crate) gateways: Option<Hash>,
}

impl FormerCertificates<'_> {
    /// Adds `new` certificates, and drops those that have ended at `time`, the time of the new
    /// leaf, which `signer` signs.
    pub(crate) fn next(
        &self,
        new: &[Certificate],
        signer: &VerifyingKey,
        database: &str,
        time: u64,
    ) -> Result<NextCertificates> {
        let mut list = merge(self.list, new, time);
        let pinned = match self.owner {
            Some(owner) => owner.clone(),
            None => issuer_of(signer, &list),
        };

        let trust = GatewayTrust {
            owner: &pinned,
            database,
            certificates: &list,
            times: Times {
                now: time,
                leaf: time,
            },
        };
        let gateways = match given_gateways(new)? {
            Some(given) => {
                trust.check(given)?;
                given.commitment()
            }
            // Not an error: new data must not wait for new keys. Clients behind a relay say that
            // the leaf commits to none.
            None => self.gateways.filter(|former| trust.find(former).is_ok()),
        };

        // One of them at most: a client could be shown any other.
        list.retain(|one| one.commitment().is_none() || one.commitment() == gateways);
        check_count(&list)?;
        Ok(NextCertificates {
            list,
            pinned,
            gateways,
        })
    }

    /// Adds `new` certificates to those of the newest version, and drops none.
    pub(crate) fn with(&self, new: &[Certificate]) -> Result<Vec<Certificate>> {
        for one in new {
            if one.commitment().is_some() && one.commitment() != self.gateways {
                let found = "keys of gateways, to which the newest version does not commit";
                let expected = "the certificate when a version is signed: `papir checkpoint sign`";
                return Err(Error::options(found, expected));
            }
        }

        // Time 0 is before every end.
        let list = merge(self.list, new, 0);
        check_count(&list)?;
        Ok(list)
    }
}

/// The new certificate of gateways' keys.
fn given_gateways(new: &[Certificate]) -> Result<Option<&Certificate>> {
    let mut given = new.iter().filter(|one| one.gateway_keys().is_some());
    let first = given.next();
    if given.next().is_some() {
        let found = "two certificates of gateways' keys";
        return Err(Error::options(found, "one that names all keys"));
    }
    Ok(first)
}

/// The owner of a log that `signer` starts: the issuer of its delegation, or `signer` itself.
fn issuer_of(signer: &VerifyingKey, certificates: &[Certificate]) -> VerifyingKey {
    let delegation = certificates
        .iter()
        .find(|one| matches!(one.grant(), Grant::Delegate(_)) && one.subject().same_key(signer));
    match delegation {
        Some(one) => one.issuer().clone(),
        None => signer.clone(),
    }
}

/// Old and new certificates without repetitions, and without those that ended before `time`.
fn merge(old: &[Certificate], new: &[Certificate], time: u64) -> Vec<Certificate> {
    let mut merged: Vec<Certificate> = Vec::new();
    for certificate in old.iter().chain(new) {
        // Rotations stay: a client that pins an old key follows them at any later time.
        let ended = *certificate.grant() != Grant::Rotate && certificate.until() < time;
        if !ended && !merged.contains(certificate) {
            merged.push(certificate.clone());
        }
    }
    merged
}

fn check_count(certificates: &[Certificate]) -> Result<()> {
    if certificates.len() <= MAX_CERTIFICATES {
        return Ok(());
    }
    let what = "the number of certificates";
    let found = certificates.len() as u64;
    let expected = format!("at most {MAX_CERTIFICATES}");
    Err(papir_core::Error::out_of_bounds(what, found, expected).into())
}
