//! Token challenges (RFC 9577, section 2.1.1).

use sha2::{Digest, Sha256};

use crate::bytes::MessageReader;
use crate::error::PassError;
use crate::server_name;

/// The token type that this crate implements: Blind RSA with 2048 bits (RFC 9578, section 8.2.2).
pub const TOKEN_TYPE: u16 = 2;
/// Length of a redemption context in bytes.
pub const CONTEXT_BYTES: usize = 32;
/// Length of a challenge's digest in bytes.
pub const DIGEST_BYTES: usize = 32;
/// Longest list of origins that is accepted, in bytes. The format allows 65535.
pub const MAX_ORIGIN_INFO_BYTES: usize = 4096;
/// Longest challenge that is accepted, in bytes.
pub const MAX_CHALLENGE_BYTES: usize =
    2 + 2 + server_name::MAX_NAME_BYTES + 1 + CONTEXT_BYTES + 2 + MAX_ORIGIN_INFO_BYTES;

/// The name of the format, for errors.
const WHAT: &str = "token challenge";

/// The digest of a challenge that was sent as `bytes`: their SHA-256 hash.
pub fn challenge_digest(bytes: &[u8]) -> [u8; DIGEST_BYTES] {
    Sha256::digest(bytes).into()
}

/// A challenge for tokens of type 2. Tokens are bound to all of its fields.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TokenChallenge {
    issuer: String,
    context: Option<[u8; CONTEXT_BYTES]>,
    origins: Vec<String>,
}

impl TokenChallenge {
    /// A challenge for tokens of the issuer with this name. Its tokens are valid at the origins, or
    /// everywhere if there are none, and in the context, or always without one.
    ///
    /// # Errors
    /// [`PassError::Malformed`] for a name that is not a host with or without a port,
    /// [`PassError::TooLarge`] for origins of more than [`MAX_ORIGIN_INFO_BYTES`] with commas.
    pub fn new(
        issuer: impl Into<String>,
        context: Option<[u8; CONTEXT_BYTES]>,
        origins: Vec<String>,
    ) -> Result<Self, PassError> {
        let issuer = issuer.into();
        server_name::check("issuer name", &issuer)?;
        for origin in &origins {
            server_name::check("origin", origin)?;
        }
        let length = origin_info_length(&origins);
        PassError::check_bound("bytes of origins", length, MAX_ORIGIN_INFO_BYTES)?;

        Ok(Self {
            issuer,
            context,
            origins,
        })
    }

    /// The name of the issuer: its host, perhaps with a port.
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// The redemption context.
    pub fn context(&self) -> Option<&[u8; CONTEXT_BYTES]> {
        self.context.as_ref()
    }

    /// The origins that accept the tokens; empty if every origin does.
    pub fn origins(&self) -> &[String] {
        &self.origins
    }

    /// Returns true if the origin may send this challenge (RFC 9577, section 2.1.2). Names are
    /// compared without regard to case; a port of 443 is not implied.
    pub fn is_for(&self, origin: &str) -> bool {
        let mut origins = self.origins.iter();
        self.origins.is_empty() || origins.any(|name| name.eq_ignore_ascii_case(origin))
    }

    /// Encodes the challenge, in at most [`MAX_CHALLENGE_BYTES`].
    pub fn encode(&self) -> Vec<u8> {
        let context = self
            .context
            .as_ref()
            .map_or(&[][..], |context| &context[..]);
        let origins = self.origins.join(",");

        let mut bytes = Vec::with_capacity(7 + self.issuer.len() + context.len() + origins.len());
        bytes.extend_from_slice(&TOKEN_TYPE.to_be_bytes());
        push_u16_length(&mut bytes, self.issuer.len());
        bytes.extend_from_slice(self.issuer.as_bytes());
        bytes.push(if self.context.is_some() { 32 } else { 0 });
        bytes.extend_from_slice(context);
        push_u16_length(&mut bytes, origins.len());
        bytes.extend_from_slice(origins.as_bytes());
        bytes
    }

    /// Parses a whole challenge. What parses is encoded to the same bytes.
    ///
    /// # Errors
    /// [`PassError::TokenType`] for a challenge of another token type, which clients ignore;
    /// [`PassError::Malformed`] for other bytes, [`PassError::TooLarge`] for more than
    /// [`MAX_CHALLENGE_BYTES`].
    pub fn parse(bytes: &[u8]) -> Result<Self, PassError> {
        let mut reader = MessageReader::new(WHAT, bytes);
        let token_type = reader.u16()?;
        if token_type != TOKEN_TYPE {
            return Err(PassError::TokenType { found: token_type });
        }
        PassError::check_bound(
            "bytes of the token challenge",
            bytes.len(),
            MAX_CHALLENGE_BYTES,
        )?;

        let issuer = text(&mut reader)?;
        let context = match reader.byte()? {
            0 => None,
            32 => Some(reader.array()?),
            other => {
                let found = format!("a redemption context of {other} bytes");
                return Err(PassError::malformed(WHAT, found, "none or 32 bytes"));
            }
        };
        let origin_info = text(&mut reader)?;
        reader.finish()?;

        let origins = if origin_info.is_empty() {
            Vec::new()
        } else {
            origin_info.split(',').map(str::to_owned).collect()
        };
        Self::new(issuer, context, origins)
    }

    /// The digest in tokens for this challenge: SHA-256 of [`Self::encode`].
    pub fn digest(&self) -> [u8; DIGEST_BYTES] {
        challenge_digest(&self.encode())
    }
}

/// Length of the origins with a comma between each two, in bytes.
fn origin_info_length(origins: &[String]) -> usize {
    let names: usize = origins.iter().map(String::len).sum();
    names + origins.len().saturating_sub(1)
}

/// Appends a length, which the bounds of the fields keep below 2¹⁶.
fn push_u16_length(bytes: &mut Vec<u8>, length: usize) {
    let length = u16::try_from(length).unwrap_or(u16::MAX);
    bytes.extend_from_slice(&length.to_be_bytes());
}

/// Reads a text with a length of two bytes.
fn text<'a>(reader: &mut MessageReader<'a>) -> Result<&'a str, PassError> {
    let length = reader.u16()?;
    let bytes = reader.take(usize::from(length))?;
    let text = std::str::from_utf8(bytes);
    text.map_err(|_| PassError::malformed(WHAT, "a name with other bytes", "ASCII"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::challenges;

    #[test]
    fn malformed_challenges_are_refused() {
        let good = TokenChallenge::new("i.example", Some([7; 32]), vec!["o.example".into()]);
        let good = good.unwrap().encode();
        for length in 0..good.len() {
            assert!(TokenChallenge::parse(&good[..length]).is_err(), "{length}");
        }
        assert!(TokenChallenge::parse(&[&good[..], &[0]].concat()).is_err());

        let of_context = |length: u8| {
            let mut bytes = vec![0, 2, 0, 1, b'i', length];
            bytes.resize(6 + usize::from(length), 1);
            bytes.extend([0, 0]);
            TokenChallenge::parse(&bytes)
        };
        for length in 0..=u8::MAX {
            assert_eq!(of_context(length).is_ok(), [0, 32].contains(&length));
        }
    }

    #[test]
    fn names_are_checked() {
        for (issuer, origin) in [("", "o"), ("i", ""), ("i@j", "o"), ("i", "o p"), ("ä", "o")] {
            assert!(TokenChallenge::new(issuer, None, vec![origin.into()]).is_err());
        }
        for info in [",", "a,", ",a", "a,,b", "a, b"] {
            let mut bytes = vec![0, 2, 0, 1, b'i', 0, 0, u8::try_from(info.len()).unwrap()];
            bytes.extend_from_slice(info.as_bytes());
            assert!(TokenChallenge::parse(&bytes).is_err(), "{info}");
        }
    }

    #[test]
    fn other_token_types_are_named() {
        for token_type in [0, 1, 3, u16::MAX] {
            let bytes = [&token_type.to_be_bytes()[..], &[9; 70_000]].concat();
            let expected = PassError::TokenType { found: token_type };
            assert_eq!(TokenChallenge::parse(&bytes).unwrap_err(), expected);
        }
    }

    #[test]
    fn challenges_are_bounded() {
        let full = |count| {
            let names = vec!["o".repeat(63); count];
            TokenChallenge::new("i", None, names)
        };
        let challenge = full(64).unwrap();
        assert_eq!(
            TokenChallenge::parse(&challenge.encode()).unwrap(),
            challenge
        );
        assert_eq!(full(65).unwrap_err().code(), "too_large");
        let long = [&[0, 2][..], &[0; MAX_CHALLENGE_BYTES]].concat();
        assert_eq!(
            TokenChallenge::parse(&long).unwrap_err().code(),
            "too_large"
        );
    }

    #[test]
    fn origins_match_without_case() {
        let challenge = TokenChallenge::new("i", None, vec!["a.example".into(), "B:1".into()]);
        let challenge = challenge.unwrap();
        assert!(challenge.is_for("A.example") && challenge.is_for("b:1"));
        assert!(!challenge.is_for("b") && !challenge.is_for(""));
        assert!(
            TokenChallenge::new("i", None, vec![])
                .unwrap()
                .is_for("any")
        );
    }

    proptest! {
        #[test]
        fn challenges_return(challenge in challenges()) {
            let bytes = challenge.encode();
            prop_assert!(bytes.len() <= MAX_CHALLENGE_BYTES);
            prop_assert_eq!(TokenChallenge::parse(&bytes).unwrap(), challenge);
        }

        #[test]
        fn any_bytes_are_refused_or_reencode_equally(
            bytes in prop::collection::vec(any::<u8>(), 0..120),
        ) {
            let bytes = [&[0, 2, 0][..], &bytes].concat();
            if let Ok(challenge) = TokenChallenge::parse(&bytes) {
                prop_assert_eq!(challenge.encode(), bytes);
            }
        }

        #[test]
        fn each_byte_counts(challenge in challenges(), place: prop::sample::Index, flip in 1u8..) {
            let mut bytes = challenge.encode();
            let place = place.index(bytes.len());
            bytes[place] ^= flip;
            if let Ok(other) = TokenChallenge::parse(&bytes) {
                prop_assert_ne!(other.digest(), challenge.digest());
            }
        }
    }
}
