//! Several requests for tokens in one message, and their responses.
//!
//! The messages are those of draft-ietf-privacypass-batched-tokens (generic batches, version of
//! February 2026) for requests of token type 2 only:
//!
//! | message | bytes |
//! |---|---|
//! | request | length of the rest, then each [`TokenRequest`] |
//! | response | length of the rest, then for each request: 1, the token type, a [`TokenResponse`] |
//!
//! The length is a variable-length integer of RFC 9000, section 16, in its shortest form. A batch
//! of n tokens has one length: [`request_bytes`], [`response_bytes`]. The draft lets an issuer
//! leave responses out; here it signs a batch as a whole or refuses it, so that the number of
//! tokens tells nothing about the client.

use crate::bytes::MessageReader;
use crate::challenge::TOKEN_TYPE;
use crate::error::PassError;
use crate::issuance::{REQUEST_BYTES, RESPONSE_BYTES, TokenRequest, TokenResponse};

/// Most requests in one message.
pub const MAX_BATCH: usize = 128;
/// Requests in each message of a papir client. All clients fetch the same number at a time, so that
/// it does not tell an issuer how many lookups a client is about to make.
pub const TOKENS_PER_BATCH: usize = 32;
/// Length of a response in a batch in bytes: presence, token type, response.
const ELEMENT_BYTES: usize = 1 + 2 + RESPONSE_BYTES;
/// The presence of a response.
const PRESENT: u8 = 1;

/// Length of a message with `count` requests in bytes.
pub fn request_bytes(count: usize) -> usize {
    let content = count * REQUEST_BYTES;
    length_bytes(content) + content
}

/// Length of a message with `count` responses in bytes.
pub fn response_bytes(count: usize) -> usize {
    let content = count * ELEMENT_BYTES;
    length_bytes(content) + content
}

/// Encodes requests, in order.
///
/// # Errors
/// [`PassError::TooLarge`] for more than [`MAX_BATCH`], [`PassError::Malformed`] for none.
pub fn encode_requests(requests: &[TokenRequest]) -> Result<Vec<u8>, PassError> {
    check_count(requests.len())?;
    let mut bytes = Vec::with_capacity(request_bytes(requests.len()));
    push_length(&mut bytes, requests.len() * REQUEST_BYTES);
    for request in requests {
        bytes.extend_from_slice(&request.encode());
    }
    Ok(bytes)
}

/// Parses a whole message of requests.
///
/// # Errors
/// [`PassError::TokenType`] for a request for another type of tokens, [`PassError::TooLarge`] for
/// more than [`MAX_BATCH`], [`PassError::Malformed`] for none and for other bytes.
pub fn parse_requests(bytes: &[u8]) -> Result<Vec<TokenRequest>, PassError> {
    let max = request_bytes(MAX_BATCH);
    PassError::check_bound("bytes of token requests", bytes.len(), max)?;
    let mut reader = MessageReader::new("token requests", bytes);
    read_length(&mut reader)?;

    let mut requests = Vec::with_capacity(bytes.len() / REQUEST_BYTES);
    while reader.remaining() > 0 {
        requests.push(TokenRequest::read(&mut reader)?);
    }
    check_count(requests.len())?;
    Ok(requests)
}

/// Encodes the responses to all requests of a message, in order.
///
/// # Errors
/// [`PassError::TooLarge`] for more than [`MAX_BATCH`], [`PassError::Malformed`] for none.
pub fn encode_responses(responses: &[TokenResponse]) -> Result<Vec<u8>, PassError> {
    check_count(responses.len())?;
    let mut bytes = Vec::with_capacity(response_bytes(responses.len()));
    push_length(&mut bytes, responses.len() * ELEMENT_BYTES);
    for response in responses {
        bytes.push(PRESENT);
        bytes.extend_from_slice(&TOKEN_TYPE.to_be_bytes());
        bytes.extend_from_slice(&response.encode());
    }
    Ok(bytes)
}

/// Parses the responses to `count` requests.
///
/// # Errors
/// [`PassError::Length`] for another number of responses, [`PassError::TokenType`] for one of
/// another type, [`PassError::Malformed`] for one that is left out and for other bytes.
pub fn parse_responses(bytes: &[u8], count: usize) -> Result<Vec<TokenResponse>, PassError> {
    check_count(count)?;
    let expected = response_bytes(count);
    if bytes.len() != expected {
        return Err(PassError::Length {
            what: "token responses",
            found: bytes.len(),
            expected,
        });
    }

    let mut reader = MessageReader::new("token responses", bytes);
    read_length(&mut reader)?;
    let mut responses = Vec::with_capacity(count);
    for _ in 0..count {
        responses.push(read_response(&mut reader)?);
    }
    reader.finish()?;
    Ok(responses)
}

/// Reads one response of a batch.
fn read_response(reader: &mut MessageReader<'_>) -> Result<TokenResponse, PassError> {
    if reader.byte()? != PRESENT {
        let found = "a token that the issuer refused";
        return Err(PassError::malformed("token responses", found, "all tokens"));
    }
    let token_type = reader.u16()?;
    if token_type != TOKEN_TYPE {
        return Err(PassError::TokenType { found: token_type });
    }
    let blind_signature = reader.array()?;
    Ok(TokenResponse { blind_signature })
}

/// Checks the number of requests or responses.
fn check_count(count: usize) -> Result<(), PassError> {
    if count == 0 {
        return Err(PassError::malformed("batch", "no tokens", "one or more"));
    }
    PassError::check_bound("tokens of a batch", count, MAX_BATCH)
}

/// Length of the encoding of a length below 2³⁰.
fn length_bytes(length: usize) -> usize {
    match length {
        0..=0x3f => 1,
        0x40..=0x3fff => 2,
        _ => 4,
    }
}

/// Appends a length; the bound of a batch keeps it below 2³⁰.
fn push_length(bytes: &mut Vec<u8>, length: usize) {
    let width = length_bytes(length);
    // The two highest bits are the logarithm of the width.
    let form: u32 = match width {
        1 => 0,
        2 => 0x4000,
        _ => 0x8000_0000,
    };
    let value = u32::try_from(length).unwrap_or(u32::MAX) | form;
    let encoded = value.to_be_bytes();
    bytes.extend_from_slice(&encoded[encoded.len() - width..]);
}

/// Reads the length of the rest, and checks it.
fn read_length(reader: &mut MessageReader<'_>) -> Result<(), PassError> {
    let before = reader.remaining();
    let first = reader.byte()?;
    let mut length = usize::from(first & 0x3f);
    for _ in 1..1 << (first >> 6) {
        length = (length << 8) | usize::from(reader.byte()?);
    }

    let width = before - reader.remaining();
    if length != reader.remaining() || width != length_bytes(length) {
        let found = format!("another length than {}", reader.remaining());
        return Err(PassError::malformed(
            "batch",
            found,
            "the length of the rest",
        ));
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn requests(count: usize) -> Vec<TokenRequest> {
        let request = |number| TokenRequest {
            truncated_key_id: 9,
            blinded: [u8::try_from(number).unwrap(); 256],
        };
        (0..count).map(request).collect()
    }

    fn responses(count: usize) -> Vec<TokenResponse> {
        let response = |number| TokenResponse {
            blind_signature: [u8::try_from(number).unwrap(); 256],
        };
        (0..count).map(response).collect()
    }

    #[test]
    fn batches_return_and_have_one_length() {
        for count in [1, 2, 63, 64, MAX_BATCH] {
            let bytes = encode_requests(&requests(count)).unwrap();
            assert_eq!(bytes.len(), request_bytes(count));
            assert_eq!(parse_requests(&bytes).unwrap(), requests(count));

            let bytes = encode_responses(&responses(count)).unwrap();
            assert_eq!(bytes.len(), response_bytes(count));
            assert_eq!(parse_responses(&bytes, count).unwrap(), responses(count));
        }
    }

    #[test]
    fn the_bytes_are_those_of_the_draft() {
        // The heads of test vectors of the draft, whose messages have a request of type 1 as well.
        let bytes = encode_requests(&requests(1)).unwrap();
        assert_eq!(bytes[..6], [0x41, 0x03, 0, 2, 9, 0]);
        let bytes = encode_responses(&responses(1)).unwrap();
        assert_eq!(bytes[..6], [0x41, 0x03, 1, 0, 2, 0]);
        let bytes = encode_requests(&requests(64)).unwrap();
        assert_eq!(bytes[..6], [0x80, 0, 0x40, 0xc0, 0, 2]);
    }

    #[test]
    fn empty_and_long_batches_are_refused() {
        assert_eq!(encode_requests(&[]).unwrap_err().code(), "malformed");
        assert_eq!(encode_responses(&[]).unwrap_err().code(), "malformed");
        assert_eq!(parse_requests(&[0]).unwrap_err().code(), "malformed");
        assert_eq!(parse_responses(&[0], 0).unwrap_err().code(), "malformed");

        let many = requests(MAX_BATCH + 1);
        assert_eq!(encode_requests(&many).unwrap_err().code(), "too_large");
        let mut bytes = Vec::new();
        push_length(&mut bytes, many.len() * REQUEST_BYTES);
        bytes.extend(many.iter().flat_map(TokenRequest::encode));
        assert_eq!(parse_requests(&bytes).unwrap_err().code(), "too_large");
        let refused = parse_responses(&bytes, MAX_BATCH + 1);
        assert_eq!(refused.unwrap_err().code(), "too_large");
    }

    #[test]
    fn other_lengths_types_and_forms_are_refused() {
        let good = encode_requests(&requests(2)).unwrap();
        for length in 0..good.len() {
            assert!(parse_requests(&good[..length]).is_err(), "{length}");
        }
        assert!(parse_requests(&[&good[..], &[0]].concat()).is_err());
        let long_form = [&[0x80, 0, 2, 6][..], &good[2..]].concat();
        assert_eq!(parse_requests(&long_form).unwrap_err().code(), "malformed");
        let longest_form = [&[0xc0, 0, 0, 0, 0, 0, 2, 6][..], &good[2..]].concat();
        assert_eq!(
            parse_requests(&longest_form).unwrap_err().code(),
            "malformed"
        );
        let mut other = good;
        other[3] = 1;
        assert_eq!(parse_requests(&other).unwrap_err().code(), "token_type");

        let good = encode_responses(&responses(2)).unwrap();
        for count in [1, 3] {
            assert_eq!(
                parse_responses(&good, count).unwrap_err().code(),
                "malformed"
            );
        }
        let mut other = good.clone();
        other[2] = 0;
        assert_eq!(parse_responses(&other, 2).unwrap_err().code(), "malformed");
        let mut other = good;
        other[4] = 1;
        assert_eq!(parse_responses(&other, 2).unwrap_err().code(), "token_type");
    }

    proptest! {
        #[test]
        fn any_bytes_are_refused_or_reencode_equally(
            mut bytes in prop::collection::vec(any::<u8>(), 1..600),
            whole: bool,
        ) {
            if whole {
                bytes.resize(request_bytes(2), 0);
                bytes[..4].copy_from_slice(&[0x42, 0x06, 0, 2]);
            }
            if let Ok(requests) = parse_requests(&bytes) {
                prop_assert_eq!(encode_requests(&requests).unwrap(), bytes);
            }
        }
    }
}
