//! The texts of certificates.

use papir_core::{Formats, decimal};

use crate::error::{Error, Result};
use crate::gateways::GatewayKeys;
use crate::key::VerifyingKey;
use crate::name::KeyName;

/// Format numbers of certificates: 1 for one key, 2 for the keys of gateways.
pub const CERTIFICATE_FORMATS: Formats = Formats {
    what: "a certificate",
    oldest: 1,
    written: 2,
    renew: "issue it again: `papir checkpoint …`",
};
/// The format of a certificate of one key.
pub(crate) const KEY_FORMAT: u32 = 1;
/// The format of a certificate of gateways' keys, which earlier versions refuse with advice.
pub(crate) const GATEWAYS_FORMAT: u32 = 2;
/// Second line of a certificate of gateways' keys.
const GATEWAYS: &str = "gateways";
/// First line of a certificate, without the format number.
pub(crate) const HEADER: &str = "papir-certificate-";
/// The line of a certificate for all databases.
const ALL_DATABASES: &str = "databases *";

/// The right that a certificate grants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Grant {
    /// The subject may sign checkpoints of this database; `None` allows all databases.
    Delegate(Option<String>),
    /// The subject is the owner's new key.
    Rotate,
    /// Clients behind a relay may seal requests for these keys. There is no subject.
    Gateways(GatewayKeys),
}

/// The statement of a certificate.
pub(crate) struct CertificateText {
    pub(crate) grant: Grant,
    pub(crate) issuer: VerifyingKey,
    pub(crate) subject: VerifyingKey,
    pub(crate) from: u64,
    pub(crate) until: u64,
}

impl CertificateText {
    /// Reads the text of a note.
    ///
    /// # Errors
    /// [`papir_core::Error::Malformed`] and [`papir_core::Error::Format`]; [`Error::Options`] for
    /// an empty name of a database, or another number of keys than a certificate may name.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let lines: Vec<&str> = text.trim_end_matches('\n').split('\n').collect();
        let Some(format) = format_of(&lines) else {
            return Err(bad("another text"));
        };

        // Before the lines are counted: another format may have more of them.
        CERTIFICATE_FORMATS.check(format)?;
        match format {
            GATEWAYS_FORMAT => Self::of_gateways(text, &lines),
            _ => Self::of_key(&lines),
        }
    }

    /// Reads a delegation or a rotation.
    fn of_key(lines: &[&str]) -> Result<Self> {
        let &[_, word, issuer, subject, scope, from, until] = lines else {
            return Err(bad(&format!("{} lines", lines.len())));
        };

        let grant = grant_of(word, scope)?;
        let from = time(from, "from ")?;
        let until = time(until, "until ")?;
        let issuer = issuer.parse::<VerifyingKey>()?.of_notes()?;
        let subject = subject.parse::<VerifyingKey>()?.of_notes()?;

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
        })
    }

    /// Reads the keys of gateways.
    fn of_gateways(text: &str, lines: &[&str]) -> Result<Self> {
        let &[_, word, issuer, scope, from, until, ref keys @ ..] = lines else {
            return Err(bad(&format!("{} lines", lines.len())));
        };
        if word != GATEWAYS {
            return Err(bad("another grant"));
        }

        let issuer = issuer.parse::<VerifyingKey>()?.of_notes()?;
        let database = database_in(scope)?;
        let from = time(from, "from ")?;
        let until = time(until, "until ")?;
        let keys = GatewayKeys::of_lines(database.as_deref(), keys)?;

        // A leaf commits to the text, so one statement has one text.
        let is_canonical = gateways_text(&issuer, &keys, from, until)? == text;
        if !is_canonical || from >= until {
            return Err(bad("keys or times in another order or form"));
        }
        Ok(Self {
            grant: Grant::Gateways(keys),
            subject: issuer.clone(),
            issuer,
            from,
            until,
        })
    }
}

pub(crate) fn bad(found: &str) -> Error {
    Error::malformed(
        "a certificate",
        found,
        "the text of a delegation, a rotation or keys of gateways, signed",
    )
}

/// The format number in the first of a certificate's lines; `None` for any other text.
fn format_of(lines: &[&str]) -> Option<u32> {
    let number = decimal(lines.first()?.strip_prefix(HEADER)?)?;
    number.try_into().ok()
}

/// The grant in a certificate's second line (`word`) and fifth line (`scope`).
fn grant_of(word: &str, scope: &str) -> Result<Grant> {
    match (word, database_in(scope)?) {
        ("delegate", database) => Ok(Grant::Delegate(database)),
        ("rotate", None) => Ok(Grant::Rotate),
        _ => Err(bad("another grant")),
    }
}

/// The line that names a database, or all databases for `None`.
pub(crate) fn scope_of(database: Option<&str>) -> Result<String> {
    match database {
        Some(name) => Ok(format!("database {}", escaped(name)?)),
        None => Ok(ALL_DATABASES.to_owned()),
    }
}

/// The database that a line of [`scope_of`] names; `None` for all databases.
fn database_in(scope: &str) -> Result<Option<String>> {
    match scope.strip_prefix("database ") {
        Some(name) => unescaped(name).map(Some),
        None if scope == ALL_DATABASES => Ok(None),
        None => Err(bad("another scope")),
    }
}

/// The text of a certificate of gateways' keys.
pub(crate) fn gateways_text(
    issuer: &VerifyingKey,
    keys: &GatewayKeys,
    from: u64,
    until: u64,
) -> Result<String> {
    let scope = scope_of(keys.database())?;
    let head = format!("{HEADER}{GATEWAYS_FORMAT}\n{GATEWAYS}\n{issuer}\n{scope}\n");
    Ok(format!(
        "{head}from {from}\nuntil {until}\n{}",
        keys.lines()
    ))
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
