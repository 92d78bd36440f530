//! Format of a pinned owner's key.
//!
//! ```text
//! papir-owner-pin-1
//! newest public key of the owner
//! public key that was trusted first
//! highest sequence seen
//! hash of its leaf, 64 hexadecimal digits
//! ```

use papir_checkpoint::{Seen, VerifyingKey, hex};
use papir_core::{Error, Formats, Result, decimal};

/// Format numbers of pinned owner's keys.
pub(crate) const OWNER_PIN_FORMATS: Formats = Formats {
    what: "a pinned owner's key",
    oldest: 1,
    written: 1,
    renew: "remove it, and give the owner's key again",
};
const HEADER: &str = "papir-owner-pin-";

/// The pinned key of a database's owner, and the newest version that the client has seen under it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PinnedOwner {
    /// The owner's newest public key.
    pub key: VerifyingKey,
    /// The public key that was trusted first. It differs from `key` after a rotation.
    pub first: VerifyingKey,
    /// The highest sequence that the client has seen, and the hash of its leaf.
    pub highest: Seen,
}

impl PinnedOwner {
    /// Encodes the pin as text.
    pub fn encode(&self) -> String {
        let Seen { sequence, leaf } = &self.highest;
        let format = OWNER_PIN_FORMATS.written;
        let key = &self.key;
        let first = &self.first;
        format!(
            "{HEADER}{format}\n{key}\n{first}\n{sequence}\n{}\n",
            hex(leaf)
        )
    }

    /// Decodes a pin from the bytes of its text.
    ///
    /// # Errors
    /// [`Error::Malformed`] or [`Error::Format`].
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let text = std::str::from_utf8(bytes).map_err(|_| bad_pin("bytes that are not UTF-8"))?;
        let lines: Vec<&str> = text.lines().collect();

        // Checked before the other lines, whose number another format may change.
        let format = lines
            .first()
            .and_then(|line| decimal(line.strip_prefix(HEADER)?)?.try_into().ok());
        OWNER_PIN_FORMATS.check(format.ok_or_else(|| bad_pin("another text"))?)?;

        let [_, key, first, sequence, leaf] = lines[..] else {
            return Err(bad_pin("another number of lines"));
        };
        let key = parse_key(key)?;
        let first = parse_key(first)?;
        let sequence = decimal(sequence).ok_or_else(|| bad_pin("another sequence"))?;
        let leaf = of_hex(leaf).ok_or_else(|| bad_pin("another hash"))?;
        Ok(Self {
            key,
            first,
            highest: Seen { sequence, leaf },
        })
    }
}

/// The error for bytes that are not a pin in this format.
fn bad_pin(found: &str) -> Error {
    Error::malformed(
        "a pinned owner's key",
        found,
        "a key, a sequence and a hash",
    )
}

fn parse_key(line: &str) -> Result<VerifyingKey> {
    line.parse::<VerifyingKey>()
        .map_err(|error| bad_pin(&error.to_string()))
}

fn of_hex(text: &str) -> Option<[u8; 32]> {
    let mut hash = [0; 32];
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if pairs.len() != hash.len() || !rest.is_empty() {
        return None;
    }

    for (byte, [high, low]) in hash.iter_mut().zip(pairs) {
        *byte = (hex_digit(*high)? << 4 | hex_digit(*low)?) as u8;
    }
    Some(hash)
}

/// The value of a hexadecimal digit.
fn hex_digit(digit: u8) -> Option<u32> {
    char::from(digit).to_digit(16)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn golden_text() {
        let key = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
        let first = "EnochRoot+af0cfe78+ATtqJ7zOtqQtYqOo0CpvDXNlMhV3HeJDpjrASKGLWdop";
        let highest = Seen {
            sequence: 7,
            leaf: [0x1f; 32],
        };
        let pin = PinnedOwner {
            key: key.parse().unwrap(),
            first: first.parse().unwrap(),
            highest,
        };

        let golden = format!(
            "papir-owner-pin-1\n{key}\n{first}\n7\n{}\n",
            "1f".repeat(32)
        );
        assert_eq!(pin.encode(), golden);
        assert_eq!(PinnedOwner::decode(golden.as_bytes()).unwrap(), pin);

        for (from, to) in [
            ("pin-1", "pin-x"),
            ("pin-1", "pone-1"),
            ("c74f", "c74e"),
            ("af0c", "af0d"),
            ("pin-1", "pin-01"),
            ("pin-1", "pin-+1"),
            ("\n7\n", "\n-7\n"),
            ("\n7\n", "\n+7\n"),
            ("\n7\n", "\n07\n"),
            ("1f1f", "1f1"),
            ("1f", "1g"),
        ] {
            let bad = golden.replacen(from, to, 1);
            assert!(PinnedOwner::decode(bad.as_bytes()).is_err(), "{bad}");
        }

        let newer = golden.replacen("pin-1", "pin-2", 1);
        assert!(matches!(
            PinnedOwner::decode(newer.as_bytes()),
            Err(Error::Format { found: 2, .. })
        ));
        for length in 0..golden.len() - 1 {
            assert!(
                PinnedOwner::decode(&golden.as_bytes()[..length]).is_err(),
                "{length}"
            );
        }
    }
}
