//! Certificates of publishers' keys, of new owners' keys, and of gateways' keys.
//!
//! A certificate is a signed note with this text:
//!
//! ```text
//! papir-certificate-1
//! delegate | rotate
//! public key of the issuer
//! public key of the subject
//! database NAME, percent-encoded | databases *
//! from T
//! until T
//! ```
//! or, for keys of gateways, with this one:
//!
//! ```text
//! papir-certificate-2
//! gateways
//! public key of the issuer
//! database NAME, percent-encoded | databases *
//! from T
//! until T
//! key HASH, for each of 1 to 8 keys, in ascending order
//! ```
//! Times are decimal, in seconds since 1970, UTC. Hashes have 64 hexadecimal digits.
//!
//! The owner signs a delegation. It allows the subject to sign checkpoints of one or all databases
//! from the time `from` to the time `until`. Both keys sign a rotation, which is for all databases:
//! the subject is the owner's key from the time `from` on, and the issuer's key stays valid until
//! the time `until`. The owner or a publisher signs the keys of gateways, which clients behind a
//! relay accept between both times. A certificate cannot be mistaken for a checkpoint: the first
//! line of a checkpoint, its origin, contains a slash.

use std::fmt;

use crate::certificate_text::{
    CertificateText, Grant, HEADER, KEY_FORMAT, bad, gateways_text, scope_of,
};
use crate::error::{Error, Result};
use crate::gateways::{self, GatewayKeys};
use crate::key::{SigningKey, VerifyingKey};
use crate::merkle::Hash;
use crate::note::Note;

/// Longest certificate in bytes.
pub const MAX_CERTIFICATE_BYTES: usize = 4096;
/// Maximum number of certificates in a log, and in a proof of its checkpoint.
pub const MAX_CERTIFICATES: usize = 16;

/// A certificate with verified signatures. Its issuer need not be a key that the client trusts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    grant: Grant,
    issuer: VerifyingKey,
    subject: VerifyingKey,
    from: u64,
    until: u64,
    note: Note,
}

impl Certificate {
    /// Issues a certificate that lets `publisher` sign checkpoints of `database`, or of all
    /// databases for `None`, from `times.0` to `times.1` (seconds since 1970, UTC).
    ///
    /// # Errors
    /// [`Error::Options`] if `times.0` is not before `times.1`, both keys are equal, or the name of
    /// the database is empty; [`papir_core::Error::Malformed`] for the key of a witness, or a name
    /// whose percent-encoded form is too long for an origin.
    pub fn delegate(
        owner: &SigningKey,
        publisher: &VerifyingKey,
        database: Option<&str>,
        times: (u64, u64),
    ) -> Result<Self> {
        let (from, until) = times;
        let grant = Grant::Delegate(database.map(str::to_owned));
        Self::issue(grant, owner, publisher, from, until, &[owner])
    }

    /// Issues a certificate that makes `new` the owner's key from `times.0` on; `old` stays valid
    /// until `times.1` (seconds since 1970, UTC). Both keys must have the same name, because it is
    /// part of the origin of every log.
    ///
    /// # Errors
    /// [`Error::Options`] if `times.0` is not before `times.1`, the keys are equal or their names
    /// differ; [`papir_core::Error::Malformed`] for the key of a witness.
    pub fn rotate(old: &SigningKey, new: &SigningKey, times: (u64, u64)) -> Result<Self> {
        let (from, until) = times;
        let before = old.public();
        let after = new.public();
        if before.name() != after.name() {
            let found = format!("a new key with the name {}", after.name());
            let expected = format!("{}, as the old one", before.name());
            return Err(Error::options(found, expected));
        }
        Self::issue(Grant::Rotate, old, &after, from, until, &[old, new])
    }

    /// Issues a certificate that lets clients behind a relay seal requests for these keys from
    /// `times.0` to `times.1` (seconds since 1970, UTC). `signer` is the owner's key or a
    /// publisher's. It counts once a leaf commits to it: see [`crate::Log::append`].
    ///
    /// # Errors
    /// [`Error::Options`] if `times.0` is not before `times.1`, or the name of the database is
    /// empty; [`papir_core::Error::Malformed`] for the key of a witness, or a name whose
    /// percent-encoded form is too long for an origin.
    pub fn gateways(signer: &SigningKey, keys: &GatewayKeys, times: (u64, u64)) -> Result<Self> {
        let (from, until) = times;
        let issuer = signer.public().of_notes()?;
        check_order(from, until)?;

        let text = gateways_text(&issuer, keys, from, until)?;
        let mut note = Note::new(text)?;
        note.sign(signer, issuer.name())?;
        Self::of_note(note)
    }

    /// Writes a certificate and signs it with the keys of `signers`.
    fn issue(
        grant: Grant,
        issuer: &SigningKey,
        subject: &VerifyingKey,
        from: u64,
        until: u64,
        signers: &[&SigningKey],
    ) -> Result<Self> {
        let issuer = issuer.public().of_notes()?;
        let subject = subject.clone().of_notes()?;
        check_order(from, until)?;
        if issuer.same_key(&subject) {
            let found = "a certificate of a key for itself";
            return Err(Error::options(found, "another key"));
        }

        let scope = match &grant {
            Grant::Delegate(database) => scope_of(database.as_deref())?,
            _ => scope_of(None)?,
        };
        let word = if grant == Grant::Rotate {
            "rotate"
        } else {
            "delegate"
        };
        let text = format!(
            "{HEADER}{KEY_FORMAT}\n{word}\n{issuer}\n{subject}\n{scope}\nfrom {from}\nuntil {until}\n"
        );

        // Read back like a received one, so that nothing is issued that others refuse.
        let mut note = Note::new(text)?;
        for signer in signers {
            note.sign(signer, signer.public().name())?;
        }
        Self::of_note(note)
    }

    /// Parses a certificate and verifies its signatures.
    ///
    /// # Errors
    /// [`papir_core::Error::Malformed`] for bytes that are no certificate, or that lack a required
    /// signature; [`papir_core::Error::Format`]; [`papir_core::Error::OutOfBounds`] for too many
    /// signatures; [`Error::BadSignature`]; [`Error::Options`] for an empty name of a database.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        if bytes.len() > MAX_CERTIFICATE_BYTES {
            return Err(bad(&format!("{} bytes", bytes.len())));
        }
        Self::of_note(Note::parse(bytes)?)
    }

    /// Reads the certificate in a note and verifies its signatures.
    fn of_note(note: Note) -> Result<Self> {
        let CertificateText {
            grant,
            issuer,
            subject,
            from,
            until,
        } = CertificateText::parse(note.text())?;

        // The new key of a rotation signs too: it vouches for the old one in the time of overlap.
        let mut signers = vec![&issuer];
        signers.extend((grant == Grant::Rotate).then_some(&subject));
        for signer in signers {
            if !note.is_signed_by(signer)? {
                return Err(bad(&format!("no signature of {signer}")));
            }
        }

        Ok(Self {
            grant,
            issuer,
            subject,
            from,
            until,
            note,
        })
    }

    /// The right that the certificate grants.
    pub fn grant(&self) -> &Grant {
        &self.grant
    }

    /// The key that signed the certificate.
    pub fn issuer(&self) -> &VerifyingKey {
        &self.issuer
    }

    /// The publisher's key of a delegation, or the new key of a rotation; for the keys of gateways,
    /// the issuer.
    pub fn subject(&self) -> &VerifyingKey {
        &self.subject
    }

    /// Start of the certificate's validity, in seconds since 1970, UTC.
    pub fn from(&self) -> u64 {
        self.from
    }

    /// End of a delegation or of gateways' keys, or of the time in which both keys of a rotation
    /// are valid, in seconds since 1970, UTC.
    pub fn until(&self) -> u64 {
        self.until
    }

    /// The keys of gateways that the certificate names; `None` for another grant.
    pub fn gateway_keys(&self) -> Option<&GatewayKeys> {
        match &self.grant {
            Grant::Gateways(keys) => Some(keys),
            Grant::Delegate(_) | Grant::Rotate => None,
        }
    }

    /// The hash by which a leaf commits to the keys of gateways; `None` for another grant. It
    /// covers the text, and not the signatures.
    pub fn commitment(&self) -> Option<Hash> {
        self.gateway_keys()?;
        Some(gateways::commitment(self.note.text()))
    }
}

impl fmt::Display for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.note.fmt(f)
    }
}

fn check_order(from: u64, until: u64) -> Result<()> {
    if from < until {
        return Ok(());
    }
    let found = format!("a certificate from {from} until {until}");
    Err(Error::options(found, "times in order"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::testing::key;

    #[test]
    fn golden_text() {
        let owner = key("o/n", 1);
        let publisher = key("p", 2);
        let certificate =
            Certificate::delegate(&owner, &publisher.public(), Some("a b"), (5, 9)).unwrap();
        let issuer = owner.public();
        let subject = publisher.public();
        let text = format!(
            "papir-certificate-1\ndelegate\n{issuer}\n{subject}\ndatabase a%20b\nfrom 5\nuntil 9\n\n— o/n "
        );
        assert!(certificate.to_string().starts_with(&text), "{certificate}");

        let again = Certificate::parse(certificate.to_string().as_bytes()).unwrap();
        assert_eq!(again, certificate);
        assert_eq!(again.grant(), &Grant::Delegate(Some("a b".into())));
        assert_eq!((again.from(), again.until()), (5, 9));
        assert_eq!((again.issuer(), again.subject()), (&issuer, &subject));

        let all = Certificate::delegate(&owner, &subject, None, (5, 9)).unwrap();
        assert_eq!(all.grant(), &Grant::Delegate(None));
        assert!(all.to_string().contains("\ndatabases *\n"));
    }

    #[test]
    fn rotations_are_signed_by_both_keys() {
        let old = key("o", 1);
        let new = key("o", 2);
        let certificate = Certificate::rotate(&old, &new, (5, 9)).unwrap();
        let text = certificate.to_string();
        assert_eq!(Certificate::parse(text.as_bytes()).unwrap(), certificate);

        // Without the last line, the new key's signature is missing.
        let lines = text.trim_end().rsplit_once('\n').unwrap().0;
        let error = Certificate::parse(format!("{lines}\n").as_bytes())
            .unwrap_err()
            .to_string();
        assert!(error.contains("no signature of o+"), "{error}");
    }

    fn gateways() -> Certificate {
        let keys = GatewayKeys::new(Some("a b"), &[[9; 32], [7; 32]]).unwrap();
        Certificate::gateways(&key("o/n", 1), &keys, (5, 9)).unwrap()
    }

    #[test]
    fn golden_text_of_gateways() {
        let certificate = gateways();
        let issuer = key("o/n", 1).public();
        let seven = "07".repeat(32);
        let nine = "09".repeat(32);
        let text = format!(
            "papir-certificate-2\ngateways\n{issuer}\ndatabase a%20b\nfrom 5\nuntil 9\nkey {seven}\nkey {nine}\n"
        );
        let whole = certificate.to_string();
        assert!(whole.starts_with(&format!("{text}\n— o/n ")), "{whole}");
        let commitment = crate::gateways::commitment(&text);
        assert_eq!(certificate.commitment(), Some(commitment));

        let again = Certificate::parse(whole.as_bytes()).unwrap();
        assert_eq!(again, certificate);
        assert_eq!((again.from(), again.until()), (5, 9));
        assert_eq!((again.issuer(), again.subject()), (&issuer, &issuer));
        let keys = again.gateway_keys().unwrap();
        assert_eq!(keys.keys(), [[7; 32], [9; 32]]);
        assert_eq!(keys.database(), Some("a b"));

        // Certificates of one key keep their format, and no leaf commits to them.
        let delegation = Certificate::delegate(&key("o", 1), &key("p", 2).public(), None, (5, 9));
        assert_eq!(delegation.unwrap().commitment(), None);
    }

    #[test]
    fn changed_certificates_of_gateways_are_refused() {
        let text = gateways().to_string();
        let seven = format!("key {}\n", "07".repeat(32));
        let nine = format!("key {}\n", "09".repeat(32));
        let many: String = (10..17)
            .map(|key| format!("key {}\n", format!("{key:02x}").repeat(32)))
            .collect();
        let more = format!("{nine}{many}");
        let reversed = format!("{nine}{seven}");
        let ordered = format!("{seven}{nine}");
        for (from, to) in [
            ("papir-certificate-2", "papir-certificate-1"),
            ("papir-certificate-2", "papir-certificate-3"),
            ("gateways", "delegate"),
            ("a%20b", "a%20c"),
            ("a%20b", "a%62"),
            ("from 5", "from 10"),
            ("until 9", "until 99"),
            (&*seven, ""),
            (&*ordered, ""),
            (&*ordered, &*reversed),
            (&*nine, &*more),
            (&*nine, &*nine.replace("09", "0A")),
            ("— o/n ", "— q "),
        ] {
            let changed = text.replacen(from, to, 1);
            assert_ne!(changed, text);
            assert!(Certificate::parse(changed.as_bytes()).is_err(), "{changed}");
        }
    }

    /// The text is refused before its signature is looked at, so the owner cannot sign it either.
    #[test]
    fn another_order_of_keys_is_refused_even_if_it_is_signed() {
        let signer = key("o/n", 1);
        let text = gateways().note.text().to_owned();
        let seven = format!("key {}\n", "07".repeat(32));
        let nine = format!("key {}\n", "09".repeat(32));
        for changed in [
            text.replacen(&format!("{seven}{nine}"), &format!("{nine}{seven}"), 1),
            text.replacen(&nine, &format!("{nine}{nine}"), 1),
            text.replacen("until 9", "until 5", 1),
        ] {
            assert_ne!(changed, text);
            let mut note = Note::new(changed).unwrap();
            note.sign(&signer, signer.public().name()).unwrap();
            let error = Certificate::parse(note.to_string().as_bytes()).unwrap_err();
            assert_eq!(error.code(), "malformed", "{error}");
        }
    }

    #[test]
    fn contradictory_certificates_are_not_issued() {
        let owner = key("o", 1);
        let other = key("p", 2);
        for bad in [
            Certificate::delegate(&owner, &other.public(), None, (9, 9)),
            Certificate::delegate(&owner, &owner.public(), None, (5, 9)),
            Certificate::delegate(&owner, &other.public(), Some(""), (5, 9)),
            Certificate::rotate(&owner, &other, (5, 9)),
            Certificate::rotate(&owner, &owner, (5, 9)),
            Certificate::gateways(&owner, gateways().gateway_keys().unwrap(), (9, 9)),
            Certificate::gateways(
                &owner,
                &GatewayKeys::new(Some(""), &[[7; 32]]).unwrap(),
                (5, 9),
            ),
        ] {
            assert_eq!(bad.unwrap_err().code(), "options");
        }
    }

    #[test]
    fn changed_certificates_are_refused() {
        let owner = key("o", 1);
        let publisher = key("p", 2);
        let text = Certificate::delegate(&owner, &publisher.public(), Some("a b"), (5, 9))
            .unwrap()
            .to_string();

        for (from, to) in [
            ("papir-certificate-1", "papir-certificate-2"),
            ("papir-certificate-1", "papir-certificate-01"),
            ("papir-certificate-1", "another/log"),
            ("delegate", "rotate"),
            ("delegate", "allow"),
            ("a%20b", "a%20c"),
            ("a%20b", "a%2"),
            ("a%20b", "a%41"),
            ("a%20b", "%ff"),
            ("from 5", "from 4"),
            ("until 9", "until 99"),
            ("until 9", "until 09"),
            ("until 9\n", "until 9\nmore\n"),
            ("— o ", "— q "),
        ] {
            let changed = text.replacen(from, to, 1);
            assert_ne!(changed, text);
            assert!(Certificate::parse(changed.as_bytes()).is_err(), "{changed}");
        }

        assert!(Certificate::parse(&[b'a'; MAX_CERTIFICATE_BYTES + 1]).is_err());
    }
}
