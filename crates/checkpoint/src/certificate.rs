//! Certificates of publishers' keys and of new owners' keys.
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
//! Times are decimal, in seconds since 1970, UTC.
//!
//! The owner signs a delegation. It allows the subject to sign checkpoints of one or all databases
//! from the time `from` to the time `until`. Both keys sign a rotation, which is for all databases:
//! the subject is the owner's key from the time `from` on, and the issuer's key stays valid until
//! the time `until`. A certificate cannot be mistaken for a checkpoint: the first line of a
//! checkpoint, its origin, contains a slash.

use std::fmt;

use papir_core::{Formats, decimal};

use crate::error::{Error, Result};
use crate::key::{SigningKey, VerifyingKey};
use crate::name::KeyName;
use crate::note::Note;

/// Format numbers of certificates.
pub const CERTIFICATE_FORMATS: Formats = Formats {
    what: "a certificate",
    oldest: 1,
    written: 1,
    renew: "issue it again: `papir checkpoint …`",
};
/// First line of a certificate, without the format number.
const HEADER: &str = "papir-certificate-";
/// Longest certificate in bytes.
pub const MAX_CERTIFICATE_BYTES: usize = 4096;
/// Maximum number of certificates in a log, and in a proof of its checkpoint.
pub const MAX_CERTIFICATES: usize = 16;

/// The right that a certificate grants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Grant {
    /// The subject may sign checkpoints of this database; `None` allows all databases.
    Delegate(Option<String>),
    /// The subject is the owner's new key.
    Rotate,
}

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
        if from >= until {
            let found = format!("a certificate from {from} until {until}");
            return Err(Error::options(found, "times in order"));
        }
        if issuer.same_key(&subject) {
            let found = "a certificate of a key for itself";
            return Err(Error::options(found, "another key"));
        }

        let scope = match &grant {
            Grant::Delegate(Some(database)) => format!("database {}", escaped(database)?),
            Grant::Delegate(None) | Grant::Rotate => "databases *".to_owned(),
        };
        let word = if grant == Grant::Rotate {
            "rotate"
        } else {
            "delegate"
        };
        let number = CERTIFICATE_FORMATS.written;
        let text = format!(
            "{HEADER}{number}\n{word}\n{issuer}\n{subject}\n{scope}\nfrom {from}\nuntil {until}\n"
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
        let lines: Vec<&str> = note.text().trim_end_matches('\n').split('\n').collect();
        let Some(format) = format_of(&lines) else {
            return Err(bad("another text"));
        };

        // Before the lines are counted: another format may have more of them.
        CERTIFICATE_FORMATS.check(format)?;
        let [_, word, issuer, subject, scope, from, until] = lines[..] else {
            return Err(bad(&format!("{} lines", lines.len())));
        };

        let grant = grant_of(word, scope)?;
        let from = time(from, "from ")?;
        let until = time(until, "until ")?;
        let issuer = issuer.parse::<VerifyingKey>()?.of_notes()?;
        let subject = subject.parse::<VerifyingKey>()?.of_notes()?;

        // The new key of a rotation signs too: it vouches for the old one in the time of overlap.
        let mut signers = vec![&issuer];
        signers.extend((grant == Grant::Rotate).then_some(&subject));
        for signer in signers {
            if !note.is_signed_by(signer)? {
                return Err(bad(&format!("no signature of {signer}")));
            }
        }
        // The name is a part of every log's origin, so it stays.
        if grant == Grant::Rotate && issuer.name() != subject.name() {
            return Err(bad("a rotation to another name"));
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

    /// The publisher's key of a delegation, or the new key of a rotation.
    pub fn subject(&self) -> &VerifyingKey {
        &self.subject
    }

    /// Start of the certificate's validity, in seconds since 1970, UTC.
    pub fn from(&self) -> u64 {
        self.from
    }

    /// End of a delegation, or of the time in which both keys of a rotation are valid, in seconds
    /// since 1970, UTC.
    pub fn until(&self) -> u64 {
        self.until
    }
}

impl fmt::Display for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.note.fmt(f)
    }
}

fn bad(found: &str) -> Error {
    Error::malformed(
        "a certificate",
        found,
        "the text of a delegation or rotation, signed",
    )
}

/// The format number in the first of a certificate's lines; `None` for any other text.
fn format_of(lines: &[&str]) -> Option<u32> {
    let number = decimal(lines.first()?.strip_prefix(HEADER)?)?;
    number.try_into().ok()
}

/// The grant in a certificate's second line (`word`) and fifth line (`scope`).
fn grant_of(word: &str, scope: &str) -> Result<Grant> {
    match (word, scope.strip_prefix("database ")) {
        ("delegate", Some(name)) => Ok(Grant::Delegate(Some(unescaped(name)?))),
        ("delegate", None) if scope == "databases *" => Ok(Grant::Delegate(None)),
        ("rotate", None) if scope == "databases *" => Ok(Grant::Rotate),
        _ => Err(bad("another grant")),
    }
}

fn bad_name() -> Error {
    bad("another name of a database")
}

/// The decimal time in a line that starts with `word`.
fn time(line: &str, word: &str) -> Result<u64> {
    line.strip_prefix(word)
        .and_then(decimal)
        .ok_or_else(|| bad("another time"))
}

/// A database's name as one word, percent-encoded as in an origin.
fn escaped(database: &str) -> Result<String> {
    // An origin encodes the name already. The one of the shortest key name differs by two bytes.
    let origin = "x".parse::<KeyName>()?.origin(database)?;
    match origin.as_str().strip_prefix("x/") {
        Some(word) if !word.is_empty() => Ok(word.to_owned()),
        _ => {
            let found = "a delegation for a database without a name";
            Err(Error::options(found, "its name"))
        }
    }
}

/// Decodes a database's name that [`escaped`] encoded.
fn unescaped(word: &str) -> Result<String> {
    let mut bytes = Vec::new();
    let mut parts = word.split('%');
    bytes.extend_from_slice(parts.next().unwrap_or_default().as_bytes());
    for part in parts {
        let digits = part.get(..2).ok_or_else(bad_name)?;
        bytes.push(u8::from_str_radix(digits, 16).map_err(|_| bad_name())?);
        bytes.extend_from_slice(&part.as_bytes()[2..]);
    }
    let name = String::from_utf8(bytes).map_err(|_| bad_name())?;

    // One encoding for each name: another one of the same name is refused.
    if escaped(&name)? == word {
        Ok(name)
    } else {
        Err(bad_name())
    }
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
