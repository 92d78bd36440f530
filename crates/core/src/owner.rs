//! The owner's key for an encrypted database.

use std::fmt;
use std::str::FromStr;

use rand_core::CryptoRng;
use zeroize::Zeroizing;

use crate::{Error, Result};

/// Prefix of a key's text form.
const PREFIX: &str = "papir-owner-key-1-";
/// Length of a key in bytes.
const BYTES: usize = 32;

/// The key under which an owner encrypts databases before giving them to a server. Clients that
/// read the records need it too. Anyone who has the key can decrypt all records, and the queries of
/// all clients with this key.
///
/// It is erased on drop, and only [`OwnerKey::to_text`] reveals it.
#[derive(Clone)]
pub struct OwnerKey(Zeroizing<[u8; BYTES]>);

impl OwnerKey {
    /// Generates a fresh key.
    pub fn generate(rng: &mut dyn CryptoRng) -> Self {
        let mut bytes = Zeroizing::new([0; BYTES]);
        rng.fill_bytes(bytes.as_mut_slice());
        Self(bytes)
    }

    /// The key's bytes, from which schemes derive their secrets.
    pub fn bytes(&self) -> &[u8; BYTES] {
        &self.0
    }

    /// The key as one line of text without a newline, as [`OwnerKey::from_str`] reads it.
    pub fn to_text(&self) -> Zeroizing<String> {
        // The final length: growing would leave copies of the key behind.
        let mut text = Zeroizing::new(String::with_capacity(PREFIX.len() + 2 * BYTES));
        text.push_str(PREFIX);
        for nibble in self.0.iter().flat_map(|byte| [byte >> 4, byte & 15]) {
            text.push(char::from_digit(nibble.into(), 16).unwrap_or_default());
        }
        text
    }
}

impl FromStr for OwnerKey {
    type Err = Error;

    /// Parses the text of a key. Ignores white space around it. Errors do not contain the text.
    fn from_str(text: &str) -> Result<Self> {
        let digits = text
            .trim()
            .strip_prefix(PREFIX)
            .ok_or_else(|| malformed_key("a different format"))?;
        let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
        // Only their number is reported: the text may be a key with a slip.
        if pairs.len() != BYTES || !rest.is_empty() {
            return Err(malformed_key(&format!("{} digits", digits.len())));
        }

        let mut bytes = Zeroizing::new([0; BYTES]);
        for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
            let value = nibble(*high)
                .zip(nibble(*low))
                .map(|(high, low)| high << 4 | low);
            *byte = value
                .ok_or_else(|| malformed_key("a character that is not a hexadecimal digit"))?;
        }

        Ok(Self(bytes))
    }
}

/// The error for a text that is not a key. `found` describes the text and must not contain it.
fn malformed_key(found: &str) -> Error {
    Error::malformed(
        "an owner's key",
        found,
        format!("{PREFIX} and {} digits", 2 * BYTES),
    )
}

/// The value of a hexadecimal digit; `None` for another character.
fn nibble(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).map(|value| value as u8)
}

impl fmt::Debug for OwnerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OwnerKey(…)")
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use chacha20::ChaCha20Rng;
    use chacha20::rand_core::SeedableRng;

    use super::*;

    #[test]
    fn keys_round_trip_through_text_and_are_not_printed() {
        let key = OwnerKey::generate(&mut ChaCha20Rng::from_seed([1; 32]));
        let text = key.to_text();
        let again: OwnerKey = format!(" {}\n", *text).parse().unwrap();

        assert_eq!(again.bytes(), key.bytes());
        assert_eq!(text.len(), PREFIX.len() + 64);
        assert_eq!(format!("{key:?}"), "OwnerKey(…)");

        let digits = text.strip_prefix(PREFIX).unwrap();
        for bad in [
            "",
            "papir",
            digits,
            &text[..text.len() - 1],
            &format!("{}00", *text),
            &text.replace('-', "_"),
        ] {
            let error = bad.parse::<OwnerKey>().unwrap_err().to_string();
            assert!(
                error.starts_with("an owner's key is malformed") && !error.contains(&digits[..8]),
                "{error}"
            );
        }

        let letter = format!("{PREFIX}{}", "g".repeat(64));
        assert!(
            letter
                .parse::<OwnerKey>()
                .unwrap_err()
                .to_string()
                .contains("not a hexadecimal digit")
        );
    }
}
