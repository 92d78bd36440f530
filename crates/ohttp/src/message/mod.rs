//! Requests and responses, and their form in binary HTTP (RFC 9292).

mod reading;
mod writing;

pub(crate) use reading::{PlainReader, ReadBody};
pub(crate) use writing::{Framing, PlainWriter};

/// Shortest unit of padding in bytes.
const LEAST_STEP: u64 = 64;
/// A message grows by at most one part in this number, if it has more than [`LEAST_STEP`] times as
/// many bytes.
const PARTS: u64 = 32;

/// Most bytes of a length in a message.
const MOST_LENGTH: usize = 8;
/// A bound of the bytes of a message besides its texts, its headers and its body, with the padding
/// of a short one.
const OTHER_BYTES: usize = 160;

/// A header: a name in lower case, and a value.
pub type InnerHeader = (String, String);

/// A request within a sealed message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InnerRequest {
    /// The method.
    pub method: String,
    /// `http` or `https`.
    pub scheme: String,
    /// The gateway's host, with its port if that is not the scheme's.
    pub authority: String,
    /// The path, starting with a slash.
    pub path: String,
    /// The headers.
    pub headers: Vec<InnerHeader>,
}

impl InnerRequest {
    /// A bound of the bytes of a message with this head, besides its body and its padding.
    pub(crate) fn most_bytes(&self) -> usize {
        let texts = [&self.method, &self.scheme, &self.authority, &self.path];
        let texts = texts.into_iter().map(|text| text.len() + MOST_LENGTH);
        texts.sum::<usize>() + headers_bytes(&self.headers) + OTHER_BYTES
    }
}

/// A bound of the bytes of headers in a message.
fn headers_bytes(headers: &[InnerHeader]) -> usize {
    let each = headers
        .iter()
        .map(|(name, value)| name.len() + value.len() + 2 * MOST_LENGTH);
    each.sum()
}

/// The head of a response within a sealed message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResponseHead {
    /// The HTTP status.
    pub status: u16,
    /// The headers. Values that are not text are left out.
    pub headers: Vec<InnerHeader>,
}

/// A response within a sealed message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InnerResponse {
    /// The status and the headers.
    pub head: ResponseHead,
    /// The body, up to the limit with which it was read.
    pub body: Vec<u8>,
}

/// The length to which a message of `bytes` is padded: the next multiple of a step, which is the
/// largest power of two of at most a 32nd of it, and at least 64. A relay then learns a length's
/// size, and not a few bytes more or less of a header.
#[must_use]
pub fn padded_length(bytes: u64) -> u64 {
    let step = (bytes / PARTS).max(LEAST_STEP);
    bytes.next_multiple_of(1 << step.ilog2())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn padding_is_bounded_and_forgets_the_last_bytes(bytes in 1_u64..1 << 40) {
            let padded = padded_length(bytes);
            prop_assert!(padded >= bytes);
            prop_assert!(padded - bytes < LEAST_STEP.max(bytes / PARTS + 1));
            prop_assert_eq!(padded_length(padded), padded);
        }
    }

    #[test]
    fn short_messages_have_few_lengths() {
        assert_eq!([0, 1, 64, 65].map(padded_length), [0, 64, 64, 128]);
        assert_eq!(padded_length(65_537), 65_536 + 2_048);
    }
}
