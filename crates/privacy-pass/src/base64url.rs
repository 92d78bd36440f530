//! Base64url with padding, in canonical form (RFC 4648, section 5).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE;

use crate::error::PassError;

/// Encodes bytes.
pub(crate) fn encode(bytes: &[u8]) -> String {
    URL_SAFE.encode(bytes)
}

/// Decodes a text of at most `max` bytes. Padding is required (RFC 9577, section 2.1.3). Errors do
/// not contain the text, which may be a token.
pub(crate) fn decode(what: &'static str, text: &str, max: usize) -> Result<Vec<u8>, PassError> {
    // Checked first, so that a long text is not decoded.
    PassError::check_bound(what, text.len() / 4 * 3, max.next_multiple_of(3))?;

    let Ok(bytes) = URL_SAFE.decode(text) else {
        let found = format!("{} characters", text.len());
        return Err(PassError::malformed(what, found, "base64url with padding"));
    };
    PassError::check_bound(what, bytes.len(), max)?;
    Ok(bytes)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_the_canonical_form_is_accepted() {
        assert_eq!(decode("text", "_-8=", 2).unwrap(), [0xff, 0xef]);
        for text in ["_-8", "_-9=", "/+8=", "_-8==", "_- 8=", "_-8=\n", "ü"] {
            assert_eq!(decode("text", text, 9).unwrap_err().code(), "malformed");
        }
    }

    #[test]
    fn long_texts_are_refused() {
        assert_eq!(decode("text", "AAAA", 3).unwrap(), [0; 3]);
        assert_eq!(decode("text", "AAAA", 2).unwrap_err().code(), "too_large");
        assert_eq!(
            decode("text", "AAAAAAAA", 3).unwrap_err().code(),
            "too_large"
        );
    }

    proptest! {
        #[test]
        fn bytes_return(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            prop_assert_eq!(decode("text", &encode(&bytes), bytes.len()).unwrap(), bytes);
        }
    }
}
