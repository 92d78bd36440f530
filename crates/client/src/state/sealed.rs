//! Format of state files.
//!
//! ```text
//! offset  bytes  field
//!      0      8  magic "PIRSTATE"
//!      8      1  format version, 1
//!      9      1  protection: 0 none, 1 passphrase
//! protection 0
//!     10      n  record
//!   10+n      8  first 8 bytes of BLAKE3 over everything before
//! protection 1
//!     10     12  Argon2id: KiB of memory, passes, lanes (4 each)
//!     22     16  salt
//!     38     24  nonce, fresh for each write
//!     62      n  record, encrypted with XChaCha20-Poly1305; all bytes before are associated data
//!   62+n     16  tag
//! ```

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use argon2::{Algorithm, Argon2, Params};
use chacha20poly1305::aead::{AeadInOut, KeyInit};
use chacha20poly1305::{Key, XChaCha20Poly1305, XNonce};
use papir_core::codec::Reader;
use papir_core::{Error as CoreError, Formats, Result as CoreResult};
use rand_core::Rng;
use zeroize::Zeroizing;

use crate::core::SavedRegistration;
use crate::rng::system_rng;

const MAGIC: [u8; 8] = *b"PIRSTATE";
/// Format numbers of state files.
const FORMATS: Formats = Formats {
    what: "a client state file",
    oldest: 1,
    written: 1,
    renew: "remove it to register again",
};
const CLEAR: u8 = 0;
const PASSPHRASE: u8 = 1;
const CHECKSUM: usize = 8;
/// The second recommendation of RFC 9106 for Argon2id: 64 MiB and 3 passes. One lane instead of
/// four, since it runs on one thread.
const COST: Cost = Cost {
    memory: 64 * 1024,
    passes: 3,
    lanes: 1,
};
/// Highest accepted costs in a file: 1 GiB, 64 passes, 16 lanes.
const MAX_COST: Cost = Cost {
    memory: 1 << 20,
    passes: 64,
    lanes: 16,
};
/// Longest accepted state file: 64 MiB.
pub(super) const MAX_BYTES: u64 = 64 << 20;

/// A passphrase for state files. It is never printed, and wiped when the last clone is dropped.
#[derive(Clone)]
pub struct Passphrase {
    text: Arc<Zeroizing<Vec<u8>>>,
    /// The last derived key, kept because deriving a key takes a large part of a second.
    derived: Arc<Mutex<Option<Derived>>>,
}

/// Costs of Argon2id.
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

    /// The salt of the derived key, so that writing a file again needs no other key; otherwise a
    /// random salt.
    fn salt(&self) -> [u8; 16] {
        let derived = self.derived.lock().unwrap_or_else(PoisonError::into_inner);
        derived
            .as_ref()
            .filter(|one| one.cost == COST)
            .map_or_else(random, |one| one.salt)
    }
}

impl fmt::Debug for Passphrase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Passphrase(..)")
    }
}

/// Reason for a state file that cannot be opened.
#[derive(Debug)]
pub(crate) enum OpenError {
    /// The file needs a passphrase, and none was given.
    NoPassphrase,
    /// The passphrase is wrong, or the file was modified.
    WrongPassphrase,
    /// A passphrase was given, and the file is not encrypted: anyone could have written it.
    NotEncrypted,
    /// The file is not a state file, is damaged, or has another format.
    Core(CoreError),
}

impl From<CoreError> for OpenError {
    fn from(error: CoreError) -> Self {
        Self::Core(error)
    }
}

/// The error for parameters of Argon2id that are not valid.
fn bad_parameters(error: impl ToString) -> CoreError {
    CoreError::malformed("a state file's Argon2id parameters", error, "valid ones")
}

fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    system_rng().fill_bytes(&mut bytes);
    bytes
}

/// Encodes a registration as a file.
pub(crate) fn write(
    saved: &SavedRegistration,
    passphrase: Option<&Passphrase>,
) -> CoreResult<Zeroizing<Vec<u8>>> {
    seal(&saved.encode(), passphrase)
}

/// Decodes the registration in a file.
pub(crate) fn parse(
    file: &[u8],
    passphrase: Option<&Passphrase>,
) -> Result<SavedRegistration, OpenError> {
    Ok(SavedRegistration::decode(&open(file, passphrase)?)?)
}

/// Encodes a record as a file.
fn seal(record: &[u8], passphrase: Option<&Passphrase>) -> CoreResult<Zeroizing<Vec<u8>>> {
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
    let nonce = random::<24>();
    for number in [COST.memory, COST.passes, COST.lanes] {
        file.extend_from_slice(&number.to_le_bytes());
    }
    file.extend_from_slice(&salt);
    file.extend_from_slice(&nonce);

    // The file so far is the associated data: a modified header is refused.
    let key = passphrase.key(COST, salt)?;
    let mut sealed = Vec::with_capacity(record.len() + 16);
    sealed.extend_from_slice(record);
    let cipher = XChaCha20Poly1305::new(&Key::from(*key));
    cipher
        .encrypt_in_place(&XNonce::from(nonce), &file, &mut sealed)
        .map_err(|_| CoreError::malformed("a state record", record.len(), "fewer bytes"))?;
    file.extend_from_slice(&sealed);
    Ok(file)
}

/// Decodes the record in a file.
fn open(file: &[u8], passphrase: Option<&Passphrase>) -> Result<Zeroizing<Vec<u8>>, OpenError> {
    let mut reader = Reader::new("a state file", file);
    let magic: [u8; 8] = reader.array()?;
    if magic != MAGIC {
        let found = papir_core::shown_bytes(&magic);
        return Err(CoreError::malformed("a state file", found, "the magic PIRSTATE").into());
    }

    // Checked before everything that another format may change.
    FORMATS.check(reader.u8()?.into())?;
    match reader.u8()? {
        CLEAR if passphrase.is_some() => Err(OpenError::NotEncrypted),
        CLEAR => open_clear(file, reader.rest()),
        PASSPHRASE => open_sealed(
            file,
            &mut reader,
            passphrase.ok_or(OpenError::NoPassphrase)?,
        ),
        other => Err(CoreError::malformed("a state file's protection", other, "0 or 1").into()),
    }
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

    if *sum != checksum(&file[..file.len() - CHECKSUM]) {
        return Err(CoreError::Checksum {
            what: "a state file".into(),
        }
        .into());
    }
    Ok(Zeroizing::new(record.to_vec()))
}

fn open_sealed(
    file: &[u8],
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
    let sealed = reader.rest();
    let header = &file[..file.len() - sealed.len()];

    let key = passphrase.key(cost, salt)?;
    let mut record = Zeroizing::new(sealed.to_vec());
    let cipher = XChaCha20Poly1305::new(&Key::from(*key));
    let opened = cipher.decrypt_in_place(&XNonce::from(nonce), header, &mut *record);
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
    use super::*;

    #[test]
    fn golden_bytes_without_a_passphrase() {
        let file = seal(b"record", None).unwrap();
        assert_eq!(&file[..16], b"PIRSTATE\x01\x00record");
        assert_eq!(file.len(), 24);
        assert_eq!(*open(&file, None).unwrap(), b"record");

        for length in 0..file.len() {
            assert!(
                matches!(open(&file[..length], None), Err(OpenError::Core(_))),
                "{length}"
            );
        }

        for bit in 0..8 * file.len() {
            let mut damaged = file.to_vec();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(open(&damaged, None).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn another_format_is_refused_with_a_remedy() {
        for passphrase in [None, Some(Passphrase::new("right"))] {
            let mut file = seal(b"record", passphrase.as_ref()).unwrap().to_vec();
            for (number, remedy) in [(0, "remove it to register again"), (2, "update papir")] {
                file[8] = number;
                let Err(OpenError::Core(error)) = open(&file, passphrase.as_ref()) else {
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
                    (FORMATS.what, number.into(), 1, 1)
                );
                assert_eq!(advice, remedy);
            }
        }
    }

    #[test]
    fn a_passphrase_encrypts_and_authenticates() {
        let right = Passphrase::new("right");
        let wrong = Passphrase::new("wrong");
        let file = seal(b"record", Some(&right)).unwrap();
        assert_eq!(
            &file[..22],
            b"PIRSTATE\x01\x01\x00\x00\x01\x00\x03\x00\x00\x00\x01\x00\x00\x00"
        );
        assert_eq!(file.len(), 62 + 6 + 16);
        assert!(!file.windows(6).any(|part| part == b"record"));
        assert_eq!(
            *open(&file, Some(&Passphrase::new("right"))).unwrap(),
            b"record"
        );
        assert!(matches!(
            open(&file, Some(&wrong)),
            Err(OpenError::WrongPassphrase)
        ));
        assert!(matches!(open(&file, None), Err(OpenError::NoPassphrase)));

        let clear = seal(b"record", None).unwrap();
        assert!(matches!(
            open(&clear, Some(&right)),
            Err(OpenError::NotEncrypted)
        ));

        // The header is authenticated too, and its costs are checked before memory is allocated.
        for position in [22, 40, 62, file.len() - 1] {
            let mut damaged = file.to_vec();
            damaged[position] ^= 1;
            let opened = open(&damaged, Some(&right));
            assert!(
                matches!(opened, Err(OpenError::WrongPassphrase)),
                "byte {position}"
            );
        }
        let mut expensive = file.to_vec();
        expensive[13] = 0xff;
        assert!(matches!(
            open(&expensive, Some(&right)),
            Err(OpenError::Core(_))
        ));

        let again = seal(b"record", Some(&right)).unwrap();
        assert_eq!(again[22..38], file[22..38], "the salt stays");
        assert_ne!(again[38..62], file[38..62], "the nonce does not");
        assert_eq!(format!("{right:?}"), "Passphrase(..)");
    }
}
