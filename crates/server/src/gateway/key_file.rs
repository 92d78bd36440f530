//! The file with the private keys of a gateway.

use std::path::Path;
use std::time::SystemTime;

use papir_core::Formats;
use papir_ohttp::Kem;
use papir_store::{parse_timestamp, timestamp};
use serde::Deserialize;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::keys::{KeySeed, SeededKey, ids, rotated, without_ended};
use crate::error::Error;
use crate::private_file::{self, parse_document, push};

/// Format numbers of key files.
const FORMATS: Formats = Formats {
    what: "a file of gateway keys",
    oldest: 1,
    written: 1,
    renew: "remove it, and `papir serve --ohttp FILE` makes new keys",
};
/// Longest accepted file in bytes. A key has less than 200.
const MAX_BYTES: u64 = 64 << 10;
const HEAD: &str =
    "# Private keys of a gateway of Oblivious HTTP. Changed by `papir serve`. Keep it secret.\n";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KeyFileDocument {
    #[serde(rename = "format")]
    _format: u32,
    #[serde(default, rename = "key")]
    keys: Vec<WrittenKey>,
}

/// A `[[key]]` table.
#[derive(Deserialize, Zeroize, ZeroizeOnDrop)]
#[serde(deny_unknown_fields)]
struct WrittenKey {
    id: u8,
    kem: String,
    seed: String,
    created: String,
}

/// The keys of a file as they are due at this time. The first start makes the file; a key that is
/// too old gets a successor, which is written first.
///
/// # Errors
/// [`Error::GatewayKeys`] if the file cannot be read or made. A file with keys that cannot be
/// replaced is an entry of the log only: the older keys are good for requests that are under way,
/// until their own end.
pub(super) fn open(path: &Path, now: SystemTime) -> Result<Vec<SeededKey>, Error> {
    match read(path)? {
        Some(keys) => maintained(path, keys, now),
        None => change(path, now),
    }
}

/// Like [`open`], for a service that runs. A file that is missing is an error then: new keys would
/// be unknown to all clients.
pub(super) fn reopen(path: &Path, now: SystemTime) -> Result<Vec<SeededKey>, Error> {
    let keys = read(path)?.ok_or_else(|| bad(path, "it is missing"))?;
    maintained(path, keys, now)
}

/// The keys that were read, or their successors.
fn maintained(path: &Path, keys: Vec<SeededKey>, now: SystemTime) -> Result<Vec<SeededKey>, Error> {
    // Nothing is locked in the common case. The seeds of this attempt are not used.
    let due = next(&keys, path, now)?;
    if ids(&due) == ids(&keys) {
        return Ok(keys);
    }

    match change(path, now) {
        Err(error) if !keys.is_empty() => {
            tracing::error!(%error, "gateway keys not rotated");
            Ok(without_ended(keys, now))
        }
        changed => changed,
    }
}

/// Rotates the keys of a file under its lock, so that services that share it make one successor.
fn change(path: &Path, now: SystemTime) -> Result<Vec<SeededKey>, Error> {
    // The file that a link names is changed, and the link stays.
    let path = &private_file::resolved(path).map_err(|error| bad(path, error))?;
    let _lock = private_file::lock(path).map_err(|error| bad(path, error))?;

    // Read again: another service may have been first.
    let before = read(path)?.unwrap_or_default();
    let keys = next(&before, path, now)?;
    if ids(&keys) != ids(&before) {
        private_file::replace(path, &written(&keys)).map_err(|error| bad(path, error))?;
        tracing::info!(ids = ?ids(&keys), "gateway keys rotated");
    }
    Ok(keys)
}

/// The keys after these, with seeds of the operating system.
fn next(before: &[SeededKey], path: &Path, now: SystemTime) -> Result<Vec<SeededKey>, Error> {
    rotated(before, now, fresh_seed)
        .map_err(|_| bad(path, "the operating system provides no randomness"))
}

fn fresh_seed() -> Result<KeySeed, getrandom::Error> {
    let mut seed = Zeroizing::new([0; 32]);
    getrandom::fill(seed.as_mut_slice())?;
    Ok(seed)
}

/// Reads the keys of a file; `None` if it does not exist.
pub(super) fn read(path: &Path) -> Result<Option<Vec<SeededKey>>, Error> {
    let text = private_file::read_secret(path, MAX_BYTES).map_err(|reason| bad(path, reason))?;
    let Some(text) = text else {
        return Ok(None);
    };
    parse(&text).map(Some).map_err(|reason| bad(path, reason))
}

fn parse(text: &str) -> Result<Vec<SeededKey>, String> {
    let document: KeyFileDocument = parse_document(text, &FORMATS)?;
    let mut keys: Vec<SeededKey> = Vec::new();
    for found in &document.keys {
        let id = found.id;
        if keys.iter().any(|key| key.id == id) {
            return Err(format!("two keys have the id {id}"));
        }
        let key = seeded(found).map_err(|reason| format!("key {id}: {reason}"))?;
        keys.push(key);
    }
    Ok(keys)
}

fn seeded(found: &WrittenKey) -> Result<SeededKey, &'static str> {
    let kem = match found.kem.as_str() {
        "x-wing" => Kem::XWing,
        "x25519" => Kem::X25519,
        _ => return Err("its kem is unknown: expected x-wing or x25519"),
    };
    let seed = seed_of_digits(&found.seed).ok_or("its seed is not 64 hexadecimal digits")?;
    let created = parse_timestamp(&found.created)
        .ok_or("its time is not of the form 2026-01-31T12:00:00Z")?;

    Ok(SeededKey {
        id: found.id,
        kem,
        seed,
        created,
    })
}

fn seed_of_digits(digits: &str) -> Option<KeySeed> {
    let mut seed = Zeroizing::new([0; 32]);
    if digits.len() != 2 * seed.len() || !digits.is_ascii() {
        return None;
    }

    for (byte, pair) in seed.iter_mut().zip(digits.as_bytes().chunks(2)) {
        for digit in pair {
            let value = char::from(*digit).to_digit(16)?;
            *byte = *byte << 4 | u8::try_from(value).ok()?;
        }
    }
    Some(seed)
}

/// The text of a file with these keys.
fn written(keys: &[SeededKey]) -> Zeroizing<String> {
    // Allocated in full: growing would leave copies of the seeds in memory.
    let mut text = Zeroizing::new(String::with_capacity(HEAD.len() + 32 + 256 * keys.len()));
    text.push_str(HEAD);
    push(&mut text, format_args!("format = {}\n", FORMATS.written));

    for key in keys {
        let kem = match key.kem {
            Kem::XWing => "x-wing",
            Kem::X25519 => "x25519",
        };
        let created = timestamp(key.created);

        push(&mut text, format_args!("\n[[key]]\nid = {}\n", key.id));
        push(&mut text, format_args!("kem = \"{kem}\"\nseed = \""));
        for byte in key.seed.iter() {
            push(&mut text, format_args!("{byte:02x}"));
        }
        push(&mut text, format_args!("\"\ncreated = \"{created}\"\n"));
    }
    text
}

/// Makes an error that names the file.
fn bad(path: &Path, reason: impl ToString) -> Error {
    Error::GatewayKeys {
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

    fn refusal(path: &Path) -> String {
        open(path, SystemTime::now())
            .map(drop)
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn the_first_start_makes_a_private_file_and_later_ones_read_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ohttp.toml");
        let now = SystemTime::now();

        assert!(reopen(&path, now).is_err(), "a running service makes none");
        let made = open(&path, now).unwrap();
        assert_eq!(made.len(), 2);
        assert_ne!(*made[0].seed, *made[1].seed);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(
                fs::metadata(&path).unwrap().permissions().mode() & 0o777,
                0o600
            );
        }

        for found in [open(&path, now).unwrap(), reopen(&path, now).unwrap()] {
            assert_eq!(ids(&found), ids(&made));
            let seeds = found.iter().zip(&made);
            assert!(seeds.into_iter().all(|(one, other)| one.seed == other.seed));
        }

        let later = now + Duration::from_secs(31 * 24 * 60 * 60);
        let rotated = open(&path, later).unwrap();
        assert_eq!(ids(&rotated)[2..], ids(&made));
        assert_eq!(ids(&open(&path, later).unwrap()), ids(&rotated));
    }

    /// The folder cannot be written to, also by root: a folder has the name of the new file.
    #[test]
    fn ended_keys_are_left_out_of_a_file_that_cannot_be_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ohttp.toml");
        let day = Duration::from_secs(24 * 60 * 60);
        let begin = SystemTime::now();
        open(&path, begin).unwrap();
        let both = ids(&open(&path, begin + day * 31).unwrap());
        assert_eq!(both.len(), 4);
        let text = fs::read_to_string(&path).unwrap();
        fs::create_dir(folder.path().join(".ohttp.toml.partial")).unwrap();

        let late = begin + day * 39;
        for found in [open(&path, late).unwrap(), reopen(&path, late).unwrap()] {
            assert_eq!(ids(&found), both[..2]);
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), text);

        // Without a successor, a key has no end.
        let kept = reopen(&path, begin + day * 400).unwrap();
        assert_eq!(ids(&kept), both[..2]);
    }

    #[test]
    fn damaged_files_are_refused_by_their_fault() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ohttp.toml");
        open(&path, SystemTime::now()).unwrap();
        let good = fs::read_to_string(&path).unwrap();

        for (from, to, part) in [
            ("format = 1", "format = 2", "update papir"),
            ("x-wing", "rsa", "key 2: its kem is unknown"),
            ("seed = \"", "seed = \"0", "64 hexadecimal digits"),
            ("created = \"", "created = \"1", "its time is not"),
            ("id = 1", "id = 2", "two keys have the id 2"),
            ("id = 1", "id = 256", "line"),
            ("id = 1", "id = 1\nname = \"a\"", "name"),
        ] {
            fs::write(&path, good.replacen(from, to, 1)).unwrap();
            let found = refusal(&path);
            assert!(found.contains(part), "{to}: {found}");
            assert!(found.contains("ohttp.toml"), "{found}");
        }
    }

    #[test]
    #[cfg(unix)]
    fn files_of_all_users_and_special_files_are_refused() {
        use std::os::unix::fs::PermissionsExt;

        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ohttp.toml");
        open(&path, SystemTime::now()).unwrap();
        for mode in [0o604, 0o602, 0o644] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            assert!(refusal(&path).contains("chmod 600"), "{mode:o}");
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(open(&path, SystemTime::now()).is_ok());

        assert!(refusal(Path::new("/dev/null")).contains("a device"));
        assert!(open(folder.path(), SystemTime::now()).is_err());
    }
}
