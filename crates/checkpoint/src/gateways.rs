//! Keys of gateways that a certificate names.
//!
//! Clients behind a relay of Oblivious HTTP seal requests for the key of a gateway. A service that
//! gave each client a key of its own could tell them apart. So a certificate names the keys of all
//! gateways, few of them, and each leaf of the log commits to it.

use crate::error::{Error, Result};
use crate::leaf::hex;
use crate::merkle::{HASH_BYTES, Hash};

/// Maximum number of keys that a certificate names: two kinds of two gateways, and their
/// successors. A service can divide its clients into as many groups.
pub const MAX_GATEWAY_KEYS: usize = 8;
/// The context of the hash by which a leaf commits to a certificate.
const CONTEXT: &str = "papir 2026 gateway keys v1";
/// Start of the line of a key.
const KEY: &str = "key ";

/// Keys of gateways of Oblivious HTTP, and the databases for which clients may use them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GatewayKeys {
    database: Option<String>,
    /// In ascending order.
    keys: Vec<Hash>,
}

impl GatewayKeys {
    /// Keys by their hashes, SHA-256 of each key configuration (RFC 9458, section 3) without its
    /// length, for one database, or for all databases of the owner for `None`. The order of the
    /// hashes has no meaning, and a repeated one counts once.
    ///
    /// # Errors
    /// [`Error::Options`] for no hash, or more than [`MAX_GATEWAY_KEYS`] different ones.
    pub fn new(database: Option<&str>, keys: &[Hash]) -> Result<Self> {
        let mut keys = keys.to_vec();
        keys.sort_unstable();
        keys.dedup();

        let count = keys.len();
        if !(1..=MAX_GATEWAY_KEYS).contains(&count) {
            let found = format!("{count} keys of gateways");
            return Err(Error::options(found, format!("1 to {MAX_GATEWAY_KEYS}")));
        }
        Ok(Self {
            database: database.map(str::to_owned),
            keys,
        })
    }

    /// The database for which the keys may be used; `None` for all databases of the owner.
    pub fn database(&self) -> Option<&str> {
        self.database.as_deref()
    }

    /// The hashes of the keys, in ascending order.
    pub fn keys(&self) -> &[Hash] {
        &self.keys
    }

    /// Returns true if this is the hash of one of the keys.
    pub fn contains(&self, key: &Hash) -> bool {
        self.keys.binary_search(key).is_ok()
    }

    /// The lines of the keys in a certificate's text.
    pub(crate) fn lines(&self) -> String {
        let lines = self.keys.iter().map(|key| format!("{KEY}{}\n", hex(key)));
        lines.collect()
    }

    /// Reads the lines of keys. Other spellings of the same keys are accepted: the caller compares
    /// the text.
    pub(crate) fn of_lines(database: Option<&str>, lines: &[&str]) -> Result<Self> {
        let keys: Vec<Hash> = lines
            .iter()
            .map(|line| key_in(line))
            .collect::<Result<_>>()?;
        Self::new(database, &keys)
    }
}

/// The hash in the line of a key.
fn key_in(line: &str) -> Result<Hash> {
    let digits = line.strip_prefix(KEY).unwrap_or_default().as_bytes();
    if digits.len() != 2 * HASH_BYTES {
        return Err(bad_key());
    }

    let mut hash = [0; HASH_BYTES];
    for (byte, pair) in hash.iter_mut().zip(digits.chunks(2)) {
        for digit in pair {
            let value = char::from(*digit).to_digit(16).ok_or_else(bad_key)?;
            *byte = (*byte << 4) | value as u8;
        }
    }
    Ok(hash)
}

fn bad_key() -> Error {
    Error::malformed(
        "a key of a gateway",
        "another line",
        "`key ` and 64 hexadecimal digits",
    )
}

/// The hash by which a leaf commits to the certificate with this text: BLAKE3 in key derivation
/// mode.
pub(crate) fn commitment(text: &str) -> Hash {
    blake3::derive_key(CONTEXT, text.as_bytes())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_sorted_and_counted_once() {
        let keys = GatewayKeys::new(Some("words"), &[[9; 32], [7; 32], [9; 32]]).unwrap();
        assert_eq!(keys.keys(), [[7; 32], [9; 32]]);
        assert_eq!(keys.database(), Some("words"));
        assert!(keys.contains(&[7; 32]) && !keys.contains(&[8; 32]));

        let text = format!("key {}\nkey {}\n", "07".repeat(32), "09".repeat(32));
        assert_eq!(keys.lines(), text);
        let lines: Vec<&str> = text.lines().collect();
        let again = GatewayKeys::of_lines(Some("words"), &lines).unwrap();
        assert_eq!(again, keys);
    }

    #[test]
    fn the_number_of_keys_is_limited() {
        let many: Vec<Hash> = (0..=MAX_GATEWAY_KEYS as u8).map(|key| [key; 32]).collect();
        assert!(GatewayKeys::new(None, &many[1..]).is_ok());
        for keys in [&many[..], &[]] {
            let error = GatewayKeys::new(None, keys).unwrap_err();
            assert_eq!(error.code(), "options", "{error}");
        }
    }

    #[test]
    fn malformed_lines_are_refused() {
        let digits = "0a".repeat(32);
        for line in [
            "",
            "key ",
            &digits,
            &format!("key {}", &digits[1..]),
            &format!("key {digits}0"),
            &format!("key  {}", &digits[1..]),
            &format!("key +{}", &digits[1..]),
            &format!("key {}", "ü".repeat(32)),
        ] {
            let error = GatewayKeys::of_lines(None, &[line]).unwrap_err();
            assert_eq!(error.code(), "malformed", "{line:?}");
        }
    }

    #[test]
    fn the_commitment_is_golden() {
        assert_eq!(
            hex(&commitment("a\n")),
            "c229e8d23286ae7e0b0d1ac5c26fad94156412f54040607b69e75324ed00d088"
        );
    }
}
