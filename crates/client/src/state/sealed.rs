//! Format of state files.
//!
//! ```text
//! offset  bytes  field
//!      0      8  magic "PIRSTATE"
//!      8      1  format version, 2
//!      9      1  protection: 0 none, 1 passphrase
//! protection 0
//!     10      n  record
//!   10+n      8  first 8 bytes of BLAKE3 over everything before
//! protection 1
//!     10     12  Argon2id: KiB of memory, passes, lanes (4 each)
//!     22     16  salt
//!     38     24  nonce, fresh for each write
//!     62      n  record, encrypted with XChaCha20-Poly1305; the associated data are all bytes
//!                before, and the slot's name
//!   62+n     16  tag
//! ```
//!
//! In format 1 the associated data do not contain the slot's name.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use argon2::{Algorithm, Argon2, Params};
use chacha20poly1305::aead::{AeadInOut, KeyInit};
use chacha20poly1305::{Key, XChaCha20Poly1305, XNonce};
use papir_core::codec::Reader;
use papir_core::hedge::{Circumstances, Hedge};
use papir_core::{Error as CoreError, Formats, Result as CoreResult};
use rand_core::{CryptoRng, Rng};
use zeroize::Zeroizing;

use crate::core::SavedRegistration;
use crate::rng::system_rng;

const MAGIC: [u8; 8] = *b"PIRSTATE";
/// Format numbers of state files.
const FORMATS: Formats = Formats {
    what: "a client state file",
    oldest: 1,
    written: 2,
    renew: "remove it to register again",
};
/// The first format whose associated data contain the slot's name.
const BOUND: u8 = 2;
const CLEAR: u8 = 0;
const PASSPHRASE: u8 = 1;
const CHECKSUM: usize = 8;
/// The costs of a new file: the second recommendation of RFC 9106 for Argon2id, 64 MiB and 3
/// passes, but with one lane instead of four, since it runs on one thread.
const COST: Cost = Cost {
    memory: 64 * 1024,
    passes: 3,
    lanes: 1,
};
/// The highest accepted costs in a file: 1 GiB, 64 passes, 16 lanes.
const MAX_COST: Cost = Cost {
    memory: 1 << 20,
    passes: 64,
    lanes: 16,
};
/// Longest accepted state file in bytes: 64 MiB.
pub(super) const MAX_BYTES: u64 = 64 << 20;

/// A passphrase for state files, never printed, and wiped when the last clone is dropped.
#[derive(Clone)]
pub struct Passphrase {
    text: Arc<Zeroizing<Vec<u8>>>,
    /// The last derived key. Deriving a key takes a large part of a second.
    derived: Arc<Mutex<Option<Derived>>>,
}

/// Costs of Argon2id: KiB of memory, passes, lanes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Cost {
    memory: u32,
    passes: u32,
    lanes: u32,
}

struct Derived {
    cost: Cost,
    salt: [u8; 16],
    key: Zeroizing<[u8; 32]>,
}

impl Passphrase {
    /// A passphrase of these bytes.
    pub fn new(text: impl Into<Vec<u8>>) -> Self {
        Self {
            text: Arc::new(Zeroizing::new(text.into())),
            derived: Arc::default(),
        }
    }

    fn key(&self, cost: Cost, salt: [u8; 16]) -> CoreResult<Zeroizing<[u8; 32]>> {
        let mut derived = self.derived.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(one) = derived
            .as_ref()
            .filter(|one| one.cost == cost && one.salt == salt)
        {
            return Ok(one.key.clone());
        }

        // Derived under the lock: other threads wait, and then find the key.
        let params =
            Params::new(cost.memory, cost.passes, cost.lanes, Some(32)).map_err(bad_parameters)?;
        let mut key = Zeroizing::new([0; 32]);
        let argon = Argon2::new(Algorithm::Argon2id, argon2::Version::V0x13, params);
        argon
            .hash_password_into(&self.text, &salt, &mut *key)
            .map_err(bad_parameters)?;

        *derived = Some(Derived {
            cost,
            salt,
            key: key.clone(),
        });
        Ok(key)
    }

    /// Returns the salt of the last derived key, so that writing a file again needs no other key.
    /// Without a derived key, the salt is random.
    fn salt(&self) -> [u8; 16] {
        let derived = self.derived.lock().unwrap_or_else(PoisonError::into_inner);
        derived
            .as_ref()
            .filter(|one| one.cost == COST)
            // Another salt would cost another derivation for each write. The nonce is fresh in any
            // case.
            .map_or_else(random_salt, |one| one.salt)
    }
}

impl fmt::Debug for Passphrase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Passphrase(..)")
    }
}

/// The reason why a state file cannot be opened.
#[derive(Debug)]
pub(crate) enum OpenError {
    /// The file needs a passphrase, and none was given.
    NoPassphrase,
    /// The passphrase is wrong, or the file was modified.
    WrongPassphrase,
    /// A passphrase was given, but the file is not encrypted, so that anyone could have written it.
    NotEncrypted,
    /// The file is no state file, is damaged, or has another format.
    Core(CoreError),
}

impl From<CoreError> for OpenError {
    fn from(error: CoreError) -> Self {
        Self::Core(error)
    }
}

/// The error for invalid parameters of Argon2id.
fn bad_parameters(error: impl ToString) -> CoreError {
    CoreError::malformed("a state file's Argon2id parameters", error, "valid ones")
}

fn random_salt() -> [u8; 16] {
    let mut salt = [0; 16];
    system_rng().fill_bytes(&mut salt);
    salt
}

/// A fresh nonce. It depends on the record too, because two records with one nonce would reveal
/// their difference.
fn fresh_nonce(slot: &str, record: &[u8], rng: &mut dyn CryptoRng) -> [u8; 24] {
    let mut nonce = [0; 24];
    Hedge::new("nonce of a state file")
        .with(slot.as_bytes())
        .with(record)
        .at(&Circumstances::now())
        .rng(rng)
        .fill_bytes(&mut nonce);
    nonce
}

/// A registration that was parsed from a file.
pub(crate) struct ParsedFile {
    pub(crate) saved: SavedRegistration,
    /// Set if the file has an earlier format than [`write`] makes.
    pub(crate) is_old: bool,
}

/// Encodes a registration as the file of a slot.
pub(crate) fn write(
    saved: &SavedRegistration,
    slot: &str,
    passphrase: Option<&Passphrase>,
) -> CoreResult<Zeroizing<Vec<u8>>> {
    seal(&saved.encode(), slot, passphrase)
}

/// Decodes the registration in the file of a slot.
pub(crate) fn parse(
    file: &[u8],
    slot: &str,
    passphrase: Option<&Passphrase>,
) -> Result<ParsedFile, OpenError> {
    let OpenedFile { record, format } = open(file, slot, passphrase)?;
    Ok(ParsedFile {
        saved: SavedRegistration::decode(&record)?,
        is_old: u32::from(format) < FORMATS.written,
    })
}

/// Encodes a record, such as an encoded registration, as the file of a slot.
pub(super) fn seal(
    record: &[u8],
    slot: &str,
    passphrase: Option<&Passphrase>,
) -> CoreResult<Zeroizing<Vec<u8>>> {
    // Allocated in full: growing would leave a copy of the secret in freed memory.
    let mut file = Zeroizing::new(Vec::with_capacity(record.len() + 128));
    let protection = if passphrase.is_some() {
        PASSPHRASE
    } else {
        CLEAR
    };
    file.extend_from_slice(&MAGIC);
    file.extend_from_slice(&[FORMATS.written as u8, protection]);

    let Some(passphrase) = passphrase else {
        file.extend_from_slice(record);
        let sum = checksum(&file);
        file.extend_from_slice(&sum);
        return Ok(file);
    };

    let salt = passphrase.salt();
    let nonce = fresh_nonce(slot, record, &mut system_rng());
    for number in [COST.memory, COST.passes, COST.lanes] {
        file.extend_from_slice(&number.to_le_bytes());
    }
    file.extend_from_slice(&salt);
    file.extend_from_slice(&nonce);

    // A modified header is refused, and so is the file of another slot.
    let associated = associated_data(&file, slot, FORMATS.written as u8);
    let key = passphrase.key(COST, salt)?;
    let mut sealed = Vec::with_capacity(record.len() + 16);
    sealed.extend_from_slice(record);
    let cipher = XChaCha20Poly1305::new(&Key::from(*key));
    cipher
        .encrypt_in_place(&XNonce::from(nonce), &associated, &mut sealed)
        .map_err(|_| CoreError::malformed("a state record", record.len(), "fewer bytes"))?;
    file.extend_from_slice(&sealed);
    Ok(file)
}

/// The associated data of an encrypted record: the header, which has a fixed length, and in later
/// formats the slot's name.
fn associated_data(header: &[u8], slot: &str, format: u8) -> Vec<u8> {
    let bound = if format >= BOUND { slot } else { "" };
    [header, bound.as_bytes()].concat()
}

/// The record and the format of an opened file.
pub(super) struct OpenedFile {
    pub(super) record: Zeroizing<Vec<u8>>,
    format: u8,
}

/// Decodes the record in the file of a slot.
pub(super) fn open(
    file: &[u8],
    slot: &str,
    passphrase: Option<&Passphrase>,
) -> Result<OpenedFile, OpenError> {
    let mut reader = Reader::new("a state file", file);
    let magic: [u8; 8] = reader.array()?;
    if magic != MAGIC {
        let found = papir_core::shown_bytes(&magic);
        return Err(CoreError::malformed("a state file", found, "the magic PIRSTATE").into());
    }

    // Checked before everything that another format may change.
    let format = reader.u8()?;
    FORMATS.check(format.into())?;

    let record = match reader.u8()? {
        // Somebody who can write to the folder could otherwise replace the file by one of their
        // own.
        CLEAR if passphrase.is_some() => return Err(OpenError::NotEncrypted),
        CLEAR => open_clear(file, reader.rest())?,
        PASSPHRASE => {
            let passphrase = passphrase.ok_or(OpenError::NoPassphrase)?;
            let sealed = SealedFile { file, slot, format };
            open_sealed(sealed, &mut reader, passphrase)?
        }
        other => {
            let error = CoreError::malformed("a state file's protection", other, "0 or 1");
            return Err(error.into());
        }
    };
    Ok(OpenedFile { record, format })
}

fn open_clear(file: &[u8], rest: &[u8]) -> Result<Zeroizing<Vec<u8>>, OpenError> {
    let Some((record, sum)) = rest.split_last_chunk::<CHECKSUM>() else {
        let found = rest.len() as u64;
        let expected = CHECKSUM as u64;
        return Err(CoreError::Length {
            what: "a state file's end",
            found,
            expected,
        }
        .into());
    };

    // Against damage only. Without a passphrase, nothing protects from somebody who writes the
    // file.
    if *sum != checksum(&file[..file.len() - CHECKSUM]) {
        return Err(CoreError::Checksum {
            what: "a state file".into(),
        }
        .into());
    }
    Ok(Zeroizing::new(record.to_vec()))
}

/// A file with an encrypted record, and the name of its slot.
struct SealedFile<'a> {
    file: &'a [u8],
    slot: &'a str,
    format: u8,
}

fn open_sealed(
    sealed: SealedFile<'_>,
    reader: &mut Reader<'_>,
    passphrase: &Passphrase,
) -> Result<Zeroizing<Vec<u8>>, OpenError> {
    let cost = Cost {
        memory: reader.u32()?,
        passes: reader.u32()?,
        lanes: reader.u32()?,
    };
    // Checked before memory is allocated for them.
    if cost.memory > MAX_COST.memory || cost.passes > MAX_COST.passes || cost.lanes > MAX_COST.lanes
    {
        let found = format!("{cost:?}");
        let expected = format!("at most {MAX_COST:?}");
        return Err(
            CoreError::malformed("a state file's Argon2id parameters", found, expected).into(),
        );
    }

    let salt: [u8; 16] = reader.array()?;
    let nonce: [u8; 24] = reader.array()?;
    let ciphertext = reader.rest();
    let SealedFile { file, slot, format } = sealed;
    let header = &file[..file.len() - ciphertext.len()];
    let associated = associated_data(header, slot, format);

    let key = passphrase.key(cost, salt)?;
    let mut record = Zeroizing::new(ciphertext.to_vec());
    let cipher = XChaCha20Poly1305::new(&Key::from(*key));
    let opened = cipher.decrypt_in_place(&XNonce::from(nonce), &associated, &mut *record);
    // A damaged file looks the same: the tag does not tell which of both it was.
    opened.map_err(|_| OpenError::WrongPassphrase)?;
    Ok(record)
}

fn checksum(bytes: &[u8]) -> [u8; CHECKSUM] {
    let mut sum = [0; CHECKSUM];
    sum.copy_from_slice(&blake3::hash(bytes).as_bytes()[..CHECKSUM]);
    sum
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use papir_testkit::Stuck;

    use super::*;

    const SLOT: &str = "c6ea1f714556fb50dc4b4d987addd207";
    const OTHER_SLOT: &str = "c6ea1f714556fb50dc4b4d987addd208";

    /// A file of format 1, which the slot's name does not enter.
    fn old_file(record: &[u8], passphrase: Option<&Passphrase>) -> Vec<u8> {
        let mut file = [&MAGIC[..], &[1, u8::from(passphrase.is_some())]].concat();
        let Some(passphrase) = passphrase else {
            file.extend_from_slice(record);
            let sum = checksum(&file);
            return [file, sum.to_vec()].concat();
        };

        for number in [COST.memory, COST.passes, COST.lanes] {
            file.extend_from_slice(&number.to_le_bytes());
        }
        file.extend_from_slice(&[3; 16]);
        file.extend_from_slice(&[4; 24]);
        let key = passphrase.key(COST, [3; 16]).unwrap();
        let mut sealed = record.to_vec();
        XChaCha20Poly1305::new(&Key::from(*key))
            .encrypt_in_place(&XNonce::from([4; 24]), &file, &mut sealed)
            .unwrap();
        [file, sealed].concat()
    }

    #[test]
    fn files_of_format_1_are_read() {
        for passphrase in [None, Some(Passphrase::new("right"))] {
            let old = old_file(b"record", passphrase.as_ref());
            for slot in [SLOT, OTHER_SLOT] {
                let opened = open(&old, slot, passphrase.as_ref()).unwrap();
                assert_eq!(
                    (opened.record.as_slice(), opened.format),
                    (&b"record"[..], 1)
                );
            }

            // The format is authenticated: a file of format 2 does not become one of format 1.
            let mut file = seal(b"record", SLOT, passphrase.as_ref()).unwrap().to_vec();
            file[8] = 1;
            assert!(open(&file, SLOT, passphrase.as_ref()).is_err());
        }
    }

    #[test]
    fn an_encrypted_file_is_refused_in_another_slot() {
        let right = Passphrase::new("right");
        let file = seal(b"record", SLOT, Some(&right)).unwrap();
        assert!(open(&file, SLOT, Some(&right)).is_ok());
        assert!(matches!(
            open(&file, OTHER_SLOT, Some(&right)),
            Err(OpenError::WrongPassphrase)
        ));
    }

    #[test]
    fn repeated_randomness_does_not_repeat_a_nonce() {
        let nonces = [
            fresh_nonce(SLOT, b"record", &mut Stuck),
            fresh_nonce(SLOT, b"record", &mut Stuck),
            fresh_nonce(SLOT, b"other", &mut Stuck),
            fresh_nonce(OTHER_SLOT, b"record", &mut Stuck),
        ];
        for (position, nonce) in nonces.iter().enumerate() {
            assert!(!nonces[..position].contains(nonce), "{position}");
        }
    }

    #[test]
    fn golden_bytes_without_a_passphrase() {
        let file = seal(b"record", SLOT, None).unwrap();
        assert_eq!(&file[..16], b"PIRSTATE\x02\x00record");
        assert_eq!(file.len(), 24);
        assert_eq!(*open(&file, SLOT, None).unwrap().record, b"record");

        for length in 0..file.len() {
            assert!(
                matches!(open(&file[..length], SLOT, None), Err(OpenError::Core(_))),
                "{length}"
            );
        }

        for bit in 0..8 * file.len() {
            let mut damaged = file.to_vec();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(open(&damaged, SLOT, None).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn another_format_is_refused_with_a_remedy() {
        for passphrase in [None, Some(Passphrase::new("right"))] {
            let mut file = seal(b"record", SLOT, passphrase.as_ref()).unwrap().to_vec();
            for (number, remedy) in [(0, "remove it to register again"), (3, "update papir")] {
                file[8] = number;
                let Err(OpenError::Core(error)) = open(&file, SLOT, passphrase.as_ref()) else {
                    panic!()
                };
                let CoreError::Format {
                    what,
                    found,
                    oldest,
                    newest,
                    remedy: advice,
                } = error
                else {
                    panic!("{error}")
                };
                assert_eq!(
                    (what, found, oldest, newest),
                    (FORMATS.what, number.into(), 1, 2)
                );
                assert_eq!(advice, remedy);
            }
        }
    }

    #[test]
    fn a_passphrase_encrypts_and_authenticates() {
        let right = Passphrase::new("right");
        let wrong = Passphrase::new("wrong");
        let file = seal(b"record", SLOT, Some(&right)).unwrap();
        assert_eq!(
            &file[..22],
            b"PIRSTATE\x02\x01\x00\x00\x01\x00\x03\x00\x00\x00\x01\x00\x00\x00"
        );
        assert_eq!(file.len(), 62 + 6 + 16);
        assert!(!file.windows(6).any(|part| part == b"record"));
        assert_eq!(
            *open(&file, SLOT, Some(&Passphrase::new("right")))
                .unwrap()
                .record,
            b"record"
        );
        assert!(matches!(
            open(&file, SLOT, Some(&wrong)),
            Err(OpenError::WrongPassphrase)
        ));
        assert!(matches!(
            open(&file, SLOT, None),
            Err(OpenError::NoPassphrase)
        ));

        let clear = seal(b"record", SLOT, None).unwrap();
        assert!(matches!(
            open(&clear, SLOT, Some(&right)),
            Err(OpenError::NotEncrypted)
        ));

        // The header is authenticated too, and its costs are checked before memory is allocated.
        for position in [22, 40, 62, file.len() - 1] {
            let mut damaged = file.to_vec();
            damaged[position] ^= 1;
            let opened = open(&damaged, SLOT, Some(&right));
            assert!(
                matches!(opened, Err(OpenError::WrongPassphrase)),
                "byte {position}"
            );
        }
        let mut expensive = file.to_vec();
        expensive[13] = 0xff;
        assert!(matches!(
            open(&expensive, SLOT, Some(&right)),
            Err(OpenError::Core(_))
        ));

        let again = seal(b"record", SLOT, Some(&right)).unwrap();
        assert_eq!(again[22..38], file[22..38], "the salt stays");
        assert_ne!(again[38..62], file[38..62], "the nonce does not");
        assert_eq!(format!("{right:?}"), "Passphrase(..)");
    }
}
