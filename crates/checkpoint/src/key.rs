//! Ed25519 keys with names (C2SP signed-note).
//!
//! Keys are written as text:
//!
//! ```text
//! public   NAME+ID+base64(type (1) ‖ public key (32))
//! secret   PRIVATE+KEY+NAME+ID+base64(type (1) ‖ seed (32))
//! ID       the first 4 bytes of SHA-256(NAME ‖ 0x0A ‖ type ‖ public key), 8 hexadecimal digits
//! ```

use std::fmt;
use std::str::FromStr;

use ed25519_dalek::{Signature, Signer};
use rand_core::CryptoRng;
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use crate::base64;
use crate::error::{Error, Result};
use crate::name::KeyName;

/// Prefix of the text of a secret key.
const PREFIX: &str = "PRIVATE+KEY+";
/// Bytes of a seed, and of a public key.
const KEY_BYTES: usize = 32;
/// Bytes of an Ed25519 signature.
pub const SIGNATURE_BYTES: usize = 64;
/// Longest text of a key in bytes: more than any valid one.
const MAX_TEXT: usize = 512;

/// The type of a key, which decides the format of its signatures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Signatures of a note's text.
    Note = 1,
    /// Timestamped cosignatures of witnesses (C2SP tlog-cosignature).
    Cosignature = 4,
}

impl Kind {
    fn of(byte: u8) -> Result<Self> {
        match byte {
            1 => Ok(Self::Note),
            4 => Ok(Self::Cosignature),
            other => {
                let found = format!("0x{other:02x}");
                let expected = "0x01 (Ed25519) or 0x04 (Ed25519 cosignatures)";
                Err(Error::malformed("the type of a key", found, expected))
            }
        }
    }
}

/// A public key with its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifyingKey {
    name: KeyName,
    kind: Kind,
    /// The compressed point of the curve. It is decompressed for each verification.
    key: [u8; KEY_BYTES],
}

impl VerifyingKey {
    /// The key's name.
    pub fn name(&self) -> &KeyName {
        &self.name
    }

    /// The key's type.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The key's id, which signature lines carry beside the name: the first 4 bytes of a SHA-256
    /// hash of name, type and key.
    pub fn id(&self) -> [u8; 4] {
        let mut id = [0; 4];
        let hash = Sha256::new()
            .chain_update(self.name.as_str())
            .chain_update([b'\n', self.kind as u8])
            .chain_update(self.key)
            .finalize();
        id.copy_from_slice(&hash[..4]);
        id
    }

    /// Returns the same key under another name, for example a log's origin.
    pub fn renamed(&self, name: &KeyName) -> Self {
        Self {
            name: name.clone(),
            ..self.clone()
        }
    }

    /// Returns true if both have the same Ed25519 key. Names and types may differ.
    pub fn same_key(&self, other: &Self) -> bool {
        self.key == other.key
    }

    /// Returns the key if its type is [`Kind::Note`].
    ///
    /// # Errors
    /// [`papir_core::Error::Malformed`] for the key of a witness.
    pub fn of_notes(self) -> Result<Self> {
        match self.kind {
            Kind::Note => Ok(self),
            Kind::Cosignature => Err(Error::malformed(
                "an owner's key",
                "the key of a witness",
                "type 0x01",
            )),
        }
    }

    /// Returns the key if its type is [`Kind::Cosignature`].
    ///
    /// # Errors
    /// [`papir_core::Error::Malformed`] for a key that signs notes.
    pub fn of_cosignatures(self) -> Result<Self> {
        match self.kind {
            Kind::Cosignature => Ok(self),
            Kind::Note => Err(Error::malformed(
                "the key of a witness",
                "a key of notes",
                "type 0x04",
            )),
        }
    }

    /// Returns true if `signature` is a valid Ed25519 signature of `message`. Refuses keys and
    /// points of small order, so that one signature fits one message and one key.
    pub(crate) fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        let Ok(key) = ed25519_dalek::VerifyingKey::from_bytes(&self.key) else {
            return false;
        };
        let Ok(signature) = Signature::from_slice(signature) else {
            return false;
        };
        key.verify_strict(message, &signature).is_ok()
    }
}

impl fmt::Display for VerifyingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}+", self.name)?;
        for byte in self.id() {
            write!(f, "{byte:02x}")?;
        }
        let bytes = [&[self.kind as u8][..], &self.key].concat();
        write!(f, "+{}", base64::encode(&bytes))
    }
}

impl FromStr for VerifyingKey {
    type Err = Error;

    /// Parses the text of a public key. Ignores white space around it.
    fn from_str(text: &str) -> Result<Self> {
        let what = "a public key";
        let KeyFields {
            name,
            id,
            kind,
            bytes,
        } = KeyFields::of(what, text.trim())?;
        // Refused here: under such a key, every signature would look forged.
        if ed25519_dalek::VerifyingKey::from_bytes(&bytes).is_err() {
            let found = "no point of the curve";
            return Err(Error::malformed(what, found, "an Ed25519 key"));
        }

        let key = Self {
            name,
            kind,
            key: *bytes,
        };
        check_id(what, &key, id)?;
        Ok(key)
    }
}

/// A secret key with its name. It is erased on drop, and only [`SigningKey::to_text`] reveals it.
pub struct SigningKey {
    name: KeyName,
    kind: Kind,
    secret: ed25519_dalek::SigningKey,
}

impl SigningKey {
    /// Generates a fresh key.
    pub fn generate(name: KeyName, kind: Kind, rng: &mut dyn CryptoRng) -> Self {
        let mut seed = Zeroizing::new([0; KEY_BYTES]);
        rng.fill_bytes(seed.as_mut_slice());
        Self {
            name,
            kind,
            secret: ed25519_dalek::SigningKey::from_bytes(&seed),
        }
    }

    /// The public key of this secret key.
    pub fn public(&self) -> VerifyingKey {
        VerifyingKey {
            name: self.name.clone(),
            kind: self.kind,
            key: self.secret.verifying_key().to_bytes(),
        }
    }

    /// Signs a message with Ed25519.
    pub(crate) fn sign(&self, message: &[u8]) -> [u8; SIGNATURE_BYTES] {
        self.secret.sign(message).to_bytes()
    }

    /// The secret key as one line of text without a newline, as [`SigningKey::from_str`] reads it.
    pub fn to_text(&self) -> Zeroizing<String> {
        let mut bytes = Zeroizing::new([0; 1 + KEY_BYTES]);
        bytes[0] = self.kind as u8;
        bytes[1..].copy_from_slice(self.secret.as_bytes());

        // Allocated at full size: growing would leave a copy of the key in memory.
        let mut text = Zeroizing::new(String::with_capacity(MAX_TEXT));
        text.push_str(PREFIX);
        text.push_str(self.name.as_str());
        text.push('+');
        text.extend(hex_digits(self.public().id()));
        text.push('+');
        text.push_str(&Zeroizing::new(base64::encode(bytes.as_slice())));
        text
    }
}

/// The hexadecimal digits of a key's id.
fn hex_digits(id: [u8; 4]) -> impl Iterator<Item = char> {
    id.into_iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .map(digit)
}

fn digit(nibble: u8) -> char {
    char::from_digit(nibble.into(), 16).unwrap_or_default()
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey({}, …)", self.name)
    }
}

impl FromStr for SigningKey {
    type Err = Error;

    /// Parses the text of a secret key. Ignores white space around it. Errors do not contain the
    /// key, but at most 16 characters where its id should be.
    fn from_str(text: &str) -> Result<Self> {
        let what = "a secret key";
        let Some(rest) = text.trim().strip_prefix(PREFIX) else {
            return Err(Error::malformed(what, "another beginning", PREFIX));
        };
        let KeyFields {
            name,
            id,
            kind,
            bytes,
        } = KeyFields::of(what, rest)?;

        let key = Self {
            name,
            kind,
            secret: ed25519_dalek::SigningKey::from_bytes(&bytes),
        };
        check_id(what, &key.public(), id)?;
        Ok(key)
    }
}

/// The parts of the text of a public key, or of a secret key without its prefix.
struct KeyFields<'a> {
    name: KeyName,
    id: &'a str,
    kind: Kind,
    bytes: Zeroizing<[u8; KEY_BYTES]>,
}

impl<'a> KeyFields<'a> {
    fn of(what: &'static str, text: &'a str) -> Result<Self> {
        // Before anything is decoded: the text may come from the network.
        if text.len() > MAX_TEXT {
            return Err(bad_text(what, text));
        }
        let Some((name, rest)) = text.split_once('+') else {
            return Err(bad_text(what, text));
        };
        let Some((id, key)) = rest.split_once('+') else {
            return Err(bad_text(what, text));
        };

        let decoded = Zeroizing::new(base64::decode_array::<{ 1 + KEY_BYTES }>(what, key)?);
        let mut bytes = Zeroizing::new([0; KEY_BYTES]);
        bytes.copy_from_slice(&decoded[1..]);

        Ok(Self {
            name: name.parse()?,
            id,
            kind: Kind::of(decoded[0])?,
            bytes,
        })
    }
}

/// The error for a text that is no key. It shows only the length, because the text may be a secret.
fn bad_text(what: &'static str, text: &str) -> Error {
    let found = format!("{} bytes", text.len());
    Error::malformed(what, found, "NAME+ID+KEY in base64")
}

/// Checks that the id in a key's text follows from its name, type and key.
fn check_id(what: &'static str, key: &VerifyingKey, found: &str) -> Result<()> {
    let expected: String = hex_digits(key.id()).collect();
    if found == expected {
        return Ok(());
    }

    // Shortened: a part of a secret may be in the place of the id.
    let found: String = found
        .chars()
        .take(16)
        .flat_map(char::escape_debug)
        .collect();
    let found = format!("the id `{found}`");
    let expected = format!("`{expected}`, that of its name and key");
    Err(Error::malformed(what, found, expected))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::testing::rng;

    /// The key in the documentation of golang.org/x/mod/sumdb/note.
    const SECRET: &str =
        "PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz";
    const PUBLIC: &str = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";

    #[test]
    fn known_keys_round_trip_through_text() {
        let secret: SigningKey = SECRET.parse().unwrap();
        assert_eq!(secret.public().to_string(), PUBLIC);
        assert_eq!(secret.to_text().as_str(), SECRET);
        assert_eq!(format!("{secret:?}"), "SigningKey(PeterNeumann, …)");

        let public: VerifyingKey = format!(" {PUBLIC}\n").parse().unwrap();
        assert_eq!(public, secret.public());
        assert_eq!(public.id(), [0xc7, 0x4f, 0x20, 0xa3]);
    }

    #[test]
    fn text_with_plus_in_base64_and_of_both_kinds_round_trips() {
        for seed in 0..64 {
            for kind in [Kind::Note, Kind::Cosignature] {
                let key = SigningKey::generate("a/b".parse().unwrap(), kind, &mut rng(seed));
                let secret = key.to_text();
                let public = key.public();

                assert_eq!(secret.parse::<SigningKey>().unwrap().public(), public);
                assert_eq!(public.to_string().parse::<VerifyingKey>().unwrap(), public);
                assert_eq!(public.clone().of_notes().is_ok(), kind == Kind::Note);
                assert_eq!(public.of_cosignatures().is_ok(), kind == Kind::Cosignature);
            }
        }
    }

    #[test]
    fn every_changed_character_is_refused() {
        for text in [SECRET, PUBLIC] {
            for place in 0..text.len() {
                let mut bytes = text.as_bytes().to_vec();
                bytes[place] += 1;
                let changed = String::from_utf8(bytes).unwrap();
                let refused = match text == SECRET {
                    true => changed.parse::<SigningKey>().map(drop),
                    false => changed.parse::<VerifyingKey>().map(drop),
                };
                assert_eq!(refused.unwrap_err().code(), "malformed", "{changed}");
            }
        }

        // A longer key and an unknown type, with matching ids.
        for bad in [
            "PeterNeumann+cc469956+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TWBADKEY==",
            "PeterNeumann+173116ae+ZRpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
        ] {
            assert!(bad.parse::<VerifyingKey>().is_err());
        }
    }

    #[test]
    fn errors_do_not_contain_the_secret() {
        let (start, secret) = SECRET.rsplit_once('+').unwrap();
        for bad in [
            secret.to_owned(),
            format!("{start}+{secret}A"),
            SECRET.replace("c74f", "0000"),
        ] {
            let error = bad.parse::<SigningKey>().unwrap_err().to_string();
            assert!(!error.contains(&secret[2..10]), "{error}");
        }
    }
}
