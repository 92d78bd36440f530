//! The file with the private keys of an issuer.

use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use papir_core::Formats;
use papir_core::hedge::system_rng;
use papir_privacy_pass::{IssuerKey, MAX_PEM_BYTES, PassError};
use papir_store::{parse_timestamp, timestamp};
use serde::Deserialize;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::rotation::{corrected, is_of_wrong_clock, kept, successor};
use crate::error::Error;
use crate::private_file::{self, parse_document, push};

/// Format numbers of key files.
const FORMATS: Formats = Formats {
    what: "a file of issuer keys",
    oldest: 1,
    written: 1,
    renew: "remove it, and `papir issuer` makes a new key",
};
/// Longest accepted file in bytes. A key has less than 1800.
const MAX_BYTES: u64 = 64 << 10;
const HEAD: &str =
    "# Private keys of an issuer of tokens. Changed by `papir issuer`. Keep it secret.\n";

/// A private key, and the time from which on clients use it.
#[derive(Clone)]
pub(super) struct DatedKey {
    pub(super) key: Arc<IssuerKey>,
    pub(super) begins: SystemTime,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct IssuerFileDocument {
    #[serde(rename = "format")]
    _format: u32,
    #[serde(default, rename = "key")]
    keys: Vec<WrittenIssuerKey>,
}

/// A `[[key]]` table.
#[derive(Deserialize, Zeroize, ZeroizeOnDrop)]
#[serde(deny_unknown_fields)]
struct WrittenIssuerKey {
    begins: String,
    pem: String,
}

/// The times at which keys begin.
pub(super) fn begins(keys: &[DatedKey]) -> Vec<SystemTime> {
    keys.iter().map(|key| key.begins).collect()
}

/// The keys of a file as they are due at this time, the newest first. The first start makes the
/// file; a key that is too old gets a successor, which is written first.
///
/// # Errors
/// [`Error::IssuerKeys`] if the file cannot be read or made. Keys that cannot be replaced are an
/// entry of the log only: the older keys are good for a while.
pub(super) fn open(path: &Path, now: SystemTime) -> Result<Vec<DatedKey>, Error> {
    match read(path)? {
        Some(keys) => maintained(path, keys, now),
        None => change(path, now),
    }
}

/// Like [`open`], for an issuer that runs. A file that is missing is an error then: services do not
/// accept tokens under new keys before they have fetched the directory again.
///
/// Keys that were made under a clock that was far ahead begin now. Not at the start: a machine may
/// start with a clock that is behind, by which every key lies ahead.
pub(super) fn reopen(path: &Path, now: SystemTime) -> Result<Vec<DatedKey>, Error> {
    let mut keys = read(path)?.ok_or_else(|| bad(path, "it is missing"))?;
    if is_of_wrong_clock(&begins(&keys), now) {
        tracing::warn!("issuer keys of a clock that was ahead begin now");
        keys = rewrite(path, |keys| correct(keys, now))?;
    }
    maintained(path, keys, now)
}

/// The keys that were read, or their successors.
fn maintained(path: &Path, keys: Vec<DatedKey>, now: SystemTime) -> Result<Vec<DatedKey>, Error> {
    // Nothing is locked in the common case.
    if !is_due(&keys, now) {
        return Ok(keys);
    }

    match change(path, now) {
        Err(error) if !keys.is_empty() => {
            tracing::error!(%error, "issuer keys not rotated");
            Ok(keys)
        }
        changed => changed,
    }
}

/// Returns whether a key must be made or left out.
fn is_due(keys: &[DatedKey], now: SystemTime) -> bool {
    let begins = begins(keys);
    successor(&begins, now).is_some() || kept(&begins, now) < keys.len()
}

/// Rotates the keys of a file, so that issuers that share it make one successor.
fn change(path: &Path, now: SystemTime) -> Result<Vec<DatedKey>, Error> {
    rewrite(path, |keys| {
        if !is_due(keys, now) {
            return Ok(false);
        }
        rotate(keys, now)?;
        Ok(true)
    })
}

/// Adds a successor that is due, and leaves out keys that have ended.
fn rotate(keys: &mut Vec<DatedKey>, now: SystemTime) -> Result<(), PassError> {
    if let Some(begins) = successor(&begins(keys), now) {
        let key = Arc::new(fresh_key(keys)?);
        keys.insert(0, DatedKey { key, begins });
    }
    keys.truncate(kept(&begins(keys), now));
    Ok(())
}

/// Corrects the begins of keys under a clock that was ahead. Returns false if there are none.
fn correct(keys: &mut [DatedKey], now: SystemTime) -> Result<bool, PassError> {
    let found = begins(keys);
    if !is_of_wrong_clock(&found, now) {
        return Ok(false);
    }
    for (key, begins) in keys.iter_mut().zip(corrected(&found, now)) {
        key.begins = begins;
    }
    Ok(true)
}

/// Changes the keys of a file under its lock, unless `work` returns false. Returns the keys.
fn rewrite(
    path: &Path,
    work: impl FnOnce(&mut Vec<DatedKey>) -> Result<bool, PassError>,
) -> Result<Vec<DatedKey>, Error> {
    // The file that a link names is changed, and the link stays.
    let path = &private_file::resolved(path).map_err(|error| bad(path, error))?;
    let _lock = private_file::lock(path).map_err(|error| bad(path, error))?;

    // Read again: another issuer may have been first.
    let mut keys = read(path)?.unwrap_or_default();
    if !work(&mut keys).map_err(|error| bad(path, error))? {
        return Ok(keys);
    }

    let text = written(&keys).map_err(|error| bad(path, error))?;
    private_file::replace(path, &text).map_err(|error| bad(path, error))?;
    tracing::info!(keys = keys.len(), "issuer keys rotated");
    Ok(keys)
}

/// A new key. Requests name a key by one byte of its id, so that no two keys may share it.
fn fresh_key(others: &[DatedKey]) -> Result<IssuerKey, PassError> {
    loop {
        let key = IssuerKey::generate(&mut system_rng())?;
        let id = key.public().truncated_id();
        if others.iter().all(|other| other.truncated_id() != id) {
            return Ok(key);
        }
    }
}

impl DatedKey {
    /// The byte by which requests name the key.
    pub(super) fn truncated_id(&self) -> u8 {
        self.key.public().truncated_id()
    }
}

/// Reads the keys of a file; `None` if it does not exist.
fn read(path: &Path) -> Result<Option<Vec<DatedKey>>, Error> {
    let text = private_file::read_secret(path, MAX_BYTES).map_err(|reason| bad(path, reason))?;
    let Some(text) = text else {
        return Ok(None);
    };
    parse(&text).map(Some).map_err(|reason| bad(path, reason))
}

fn parse(text: &str) -> Result<Vec<DatedKey>, String> {
    let document: IssuerFileDocument = parse_document(text, &FORMATS)?;
    let mut keys: Vec<DatedKey> = Vec::new();
    for (place, found) in document.keys.iter().enumerate() {
        let number = place + 1;
        let key = dated(found).map_err(|reason| format!("key {number}: {reason}"))?;
        check_order(&keys, &key).map_err(|reason| format!("key {number}: {reason}"))?;
        keys.push(key);
    }
    Ok(keys)
}

fn dated(found: &WrittenIssuerKey) -> Result<DatedKey, String> {
    let begins =
        parse_timestamp(&found.begins).ok_or("its time is not of the form 2026-01-31T12:00:00Z")?;
    let key = IssuerKey::from_pem(&found.pem).map_err(|error| error.to_string())?;
    Ok(DatedKey {
        key: Arc::new(key),
        begins,
    })
}

/// Checks that a key is older than those before it, and can be told from them.
fn check_order(newer: &[DatedKey], key: &DatedKey) -> Result<(), &'static str> {
    if newer.last().is_some_and(|newer| newer.begins < key.begins) {
        return Err("it begins after the one before it: expected the newest first");
    }
    let id = key.truncated_id();
    if newer.iter().any(|other| other.truncated_id() == id) {
        return Err("its id ends with the same byte as that of another key");
    }
    Ok(())
}

/// The text of a file with these keys.
fn written(keys: &[DatedKey]) -> Result<Zeroizing<String>, PassError> {
    // Allocated in full: growing would leave copies of the keys in memory.
    let each = MAX_PEM_BYTES + 128;
    let mut text = Zeroizing::new(String::with_capacity(HEAD.len() + 32 + each * keys.len()));
    text.push_str(HEAD);
    push(&mut text, format_args!("format = {}\n", FORMATS.written));

    for key in keys {
        let begins = timestamp(key.begins);
        let pem = key.key.to_pem()?;
        push(
            &mut text,
            format_args!("\n[[key]]\nbegins = \"{begins}\"\n"),
        );
        push(&mut text, format_args!("pem = '''\n{}\n'''\n", pem.trim()));
    }
    Ok(text)
}

/// Makes an error that names the file.
fn bad(path: &Path, reason: impl ToString) -> Error {
    Error::IssuerKeys {
        path: path.to_owned(),
        reason: reason.to_string(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;
    use std::time::Duration;

    use super::*;

    const DAY: Duration = Duration::from_secs(24 * 60 * 60);

    /// The ids of keys.
    fn ids(keys: &[DatedKey]) -> Vec<[u8; 32]> {
        keys.iter().map(|key| *key.key.public().id()).collect()
    }

    fn refusal(path: &Path) -> String {
        let opened = open(path, SystemTime::now());
        opened.map(drop).unwrap_err().to_string()
    }

    #[test]
    fn the_first_start_makes_a_private_file_and_a_later_one_a_successor() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("issuer.toml");
        let now = SystemTime::now();

        assert!(reopen(&path, now).is_err(), "a running issuer makes none");
        let made = open(&path, now).unwrap();
        assert_eq!(made.len(), 1);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::metadata(&path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        for found in [open(&path, now).unwrap(), reopen(&path, now).unwrap()] {
            assert_eq!(ids(&found), ids(&made));
        }

        let both = reopen(&path, now + DAY * 31).unwrap();
        assert_eq!(ids(&both)[1..], ids(&made));
        assert!(both[0].begins > now + DAY * 31);
        let later = reopen(&path, now + DAY * 40).unwrap();
        assert_eq!(ids(&later), ids(&both)[..1]);
    }

    #[test]
    fn keys_of_a_clock_that_was_far_ahead_begin_once_it_is_set_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("issuer.toml");
        let now = SystemTime::now();
        let made = open(&path, now + DAY * 900).unwrap();

        // A start may have another clock that is wrong.
        assert_eq!(open(&path, now).unwrap()[0].begins, read_begin(&path));
        assert!(read_begin(&path) > now + DAY * 899);

        let found = reopen(&path, now).unwrap();
        assert_eq!(ids(&found), ids(&made));
        assert!(found[0].begins <= now && read_begin(&path) <= now);
        assert_eq!(ids(&reopen(&path, now).unwrap()), ids(&made));
    }

    /// The begin of the newest key in a file.
    fn read_begin(path: &Path) -> SystemTime {
        read(path).unwrap().unwrap()[0].begins
    }

    #[test]
    fn damaged_files_are_refused_by_their_fault() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("issuer.toml");
        open(&path, SystemTime::now()).unwrap();
        let good = fs::read_to_string(&path).unwrap();
        let key = good.split_once("[[key]]").unwrap().1;
        let twice = format!("{good}\n[[key]]{key}");

        for (text, part) in [
            (good.replacen("format = 1", "format = 2", 1), "update papir"),
            (good.replacen("begins = \"", "begins = \"1", 1), "its time"),
            (good.replacen("MII", "MIJ", 1), "key 1:"),
            (good.replacen("pem =", "name = \"a\"\npem =", 1), "name"),
            (twice, "key 2: its id ends"),
        ] {
            fs::write(&path, text).unwrap();
            let found = refusal(&path);
            assert!(found.contains(part), "{part}: {found}");
            assert!(found.contains("issuer.toml"), "{found}");
        }
    }

    #[test]
    #[cfg(unix)]
    fn files_of_all_users_are_refused() {
        use std::os::unix::fs::PermissionsExt;

        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("issuer.toml");
        open(&path, SystemTime::now()).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(refusal(&path).contains("chmod 600"));
    }
}
