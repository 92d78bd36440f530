//! Message envelope: scheme, database version and checksum.
//!
//! ```text
//! offset  bytes  field
//!      0      4  magic "PIR1"
//!      4      1  kind: 1 public, 2 query, 3 answer, 4 keys, 5 state, 6 partial answer
//!      5      1  reserved, 0
//!      6      2  scheme number
//!      8      8  database version
//!     16      8  payload length
//!     24      n  payload
//!   24+n      8  first 8 bytes of BLAKE3 over everything before
//! ```
//! All numbers are little-endian. The checksum detects accidental damage, not forgery.

use std::str::FromStr;

use crate::codec::Reader;
use crate::{Error, Result, Version, shown_bytes};

/// Bytes that an envelope adds to its payload.
pub const OVERHEAD: usize = HEADER + CHECKSUM;
const HEADER: usize = 24;
const CHECKSUM: usize = 8;
const MAGIC: [u8; 4] = *b"PIR1";

/// The kind of message in an envelope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Public part of a prepared database.
    Public = 1,
    /// A query.
    Query = 2,
    /// An answer.
    Answer = 3,
    /// Registered client keys.
    Keys = 4,
    /// State of a registered client; never sent.
    State = 5,
    /// A shard's part of an answer; never sent to clients.
    Partial = 6,
}

// Not in module `version`: errors contain versions, so that module cannot return errors.
impl FromStr for Version {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if text.len() != 16 || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(not_a_version(text));
        }
        // Only digits by now: `from_str_radix` would also accept a sign.
        let value = u64::from_str_radix(text, 16).map_err(|_| not_a_version(text))?;
        Ok(Self(value.to_be_bytes()))
    }
}

/// The error of a text that is not a version.
fn not_a_version(text: &str) -> Error {
    Error::malformed("a database version", text, "16 hexadecimal digits")
}

/// The header fields that a receiver checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The kind of payload.
    pub kind: Kind,
    /// The scheme's number in the registry.
    pub scheme: u16,
    /// The database version that the message belongs to.
    pub version: Version,
}

/// Splits concatenated envelopes by their payload lengths; `None` if the lengths do not add up.
/// Checks nothing else.
pub fn split(mut bytes: &[u8]) -> Option<Vec<&[u8]>> {
    let mut envelopes = Vec::new();
    while !bytes.is_empty() {
        let (envelope, rest) = bytes.split_at_checked(first_length(bytes)?)?;
        envelopes.push(envelope);
        bytes = rest;
    }
    Some(envelopes)
}

/// Length in bytes of the first of several concatenated envelopes, computed from the payload length
/// in its header; `None` for bytes shorter than a header. Checks nothing else.
pub fn first_length(bytes: &[u8]) -> Option<usize> {
    let length = bytes
        .get(HEADER - 8..HEADER)?
        .try_into()
        .ok()
        .map(u64::from_le_bytes)?;
    // The length is a stranger's: near 2⁶⁴ the sum would wrap to a short one.
    usize::try_from(length).ok()?.checked_add(OVERHEAD)
}

/// The payload of a single envelope; `None` if the length of the bytes differs from the length in
/// the header. Checks nothing else.
pub fn payload(bytes: &[u8]) -> Option<&[u8]> {
    let length = first_length(bytes)?;
    if length != bytes.len() {
        return None;
    }
    bytes.get(HEADER..length - CHECKSUM)
}

/// Wraps a payload in an envelope.
pub fn seal(header: &Header, payload: &[u8]) -> Vec<u8> {
    // The final length: state is sealed too, and growing would leave copies of it behind.
    let mut bytes = Vec::with_capacity(payload.len() + OVERHEAD);

    bytes.extend_from_slice(&MAGIC);
    bytes.extend_from_slice(&[header.kind as u8, 0]);
    bytes.extend_from_slice(&header.scheme.to_le_bytes());
    bytes.extend_from_slice(&header.version.0);
    bytes.extend_from_slice(&(payload.len() as u64).to_le_bytes());
    bytes.extend_from_slice(payload);

    let sum = checksum(&bytes);
    bytes.extend_from_slice(&sum);
    bytes
}

/// Opens an envelope: checks header, length and checksum, and returns the version and the payload.
///
/// # Errors
/// [`Error::Length`], [`Error::Malformed`] (magic, kind, reserved byte), [`Error::Checksum`] or
/// [`Error::WrongScheme`].
pub fn open(bytes: &[u8], kind: Kind, scheme: u16) -> Result<(Version, &[u8])> {
    let mut reader = Reader::new("an envelope", bytes);
    let magic: [u8; 4] = reader.array()?;
    if magic != MAGIC {
        return Err(Error::malformed(
            "an envelope",
            shown_bytes(&magic),
            "`PIR1`",
        ));
    }

    let found = reader.u8()?;
    let reserved = reader.u8()?;
    let number = reader.u16()?;
    let version = Version(reader.array()?);
    // The reader has compared the length with the bytes: the slice below cannot exceed them.
    let payload = reader.bytes()?;
    let body = &bytes[..HEADER + payload.len()];
    let sum: [u8; CHECKSUM] = reader.array()?;
    reader.finish()?;

    // Checked before the fields: damage is reported as damage, not as a foreign message.
    if sum != checksum(body) {
        return Err(Error::Checksum {
            what: format!("a message of kind {kind:?}"),
        });
    }

    if found != kind as u8 || reserved != 0 {
        return Err(Error::malformed(
            "an envelope's kind",
            found,
            format!("{} ({kind:?})", kind as u8),
        ));
    }
    if number != scheme {
        return Err(Error::WrongScheme {
            found: number,
            expected: scheme,
        });
    }

    Ok((version, payload))
}

/// Opens an envelope like [`open`], checks that its version is `expected`, and returns the payload.
///
/// # Errors
/// The errors of [`open`], and [`Error::WrongVersion`].
pub fn open_version(bytes: &[u8], kind: Kind, scheme: u16, expected: Version) -> Result<&[u8]> {
    let (found, payload) = open(bytes, kind, scheme)?;
    if found != expected {
        return Err(Error::WrongVersion { found, expected });
    }
    Ok(payload)
}

/// Reads the database version from the header of a message of this kind, to select the database
/// that checks the whole message. Checks only the magic and the kind; `None` if they differ.
pub fn named_version(bytes: &[u8], kind: Kind) -> Option<Version> {
    let header = bytes.first_chunk::<HEADER>()?;
    // Enough to look a version up. Its database checks length, checksum and scheme.
    if header[..4] != MAGIC || header[4] != kind as u8 {
        return None;
    }
    header[8..].first_chunk().copied().map(Version)
}

fn checksum(bytes: &[u8]) -> [u8; CHECKSUM] {
    let mut sum = [0; CHECKSUM];
    sum.copy_from_slice(&blake3::hash(bytes).as_bytes()[..CHECKSUM]);
    sum
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use papir_reference::vectors::rows;

    use super::*;

    const VECTORS: &str = include_str!("../../../docs/vectors/arithmetic/core.json");

    #[test]
    fn stated_lengths_never_wrap() {
        for [stated, expected] in rows::<2>(VECTORS, "envelope.first_length") {
            let mut header = [0; HEADER];
            header[HEADER - 8..].copy_from_slice(&(stated as u64).to_le_bytes());
            // The vectors have 0 for a length that no envelope has.
            let found = first_length(&header).unwrap_or(0);
            assert_eq!(found as i128, expected, "{stated}");
        }
    }

    const HEAD: Header = Header {
        kind: Kind::Query,
        scheme: 7,
        version: Version([1, 2, 3, 4, 5, 6, 7, 8]),
    };

    #[test]
    fn golden_bytes() {
        let sealed = seal(&HEAD, b"abc");
        assert_eq!(sealed.len(), 3 + OVERHEAD);
        assert_eq!(
            &sealed[..27],
            b"PIR1\x02\x00\x07\x00\x01\x02\x03\x04\x05\x06\x07\x08\x03\0\0\0\0\0\0\0abc"
        );
        assert_eq!(
            open(&sealed, Kind::Query, 7).unwrap(),
            (HEAD.version, &b"abc"[..])
        );
    }

    #[test]
    fn concatenated_envelopes_are_split_by_their_lengths() {
        let parts = [
            seal(&HEAD, b"abc"),
            seal(&HEAD, b""),
            seal(&HEAD, &[7; 100]),
        ];
        let all = parts.concat();
        assert_eq!(split(&all).unwrap(), parts.each_ref().map(Vec::as_slice));
        assert_eq!(split(&[]), Some(Vec::new()));
        let mut long = all.clone();
        long[16..24].fill(0xff);
        for bad in [&all[..all.len() - 1], &all[1..], &all[..HEADER - 1], &long] {
            assert_eq!(split(bad), None);
        }
    }

    #[test]
    fn the_version_needs_only_the_header() {
        let sealed = seal(&HEAD, b"abc");
        assert_eq!(
            named_version(&sealed[..HEADER], Kind::Query),
            Some(HEAD.version)
        );
        assert_eq!(named_version(&sealed[..HEADER - 1], Kind::Query), None);
        assert_eq!(named_version(&sealed, Kind::Answer), None);
        assert_eq!(named_version(&[0; 64], Kind::Query), None);
    }

    #[test]
    fn every_truncation_and_every_flipped_bit_is_refused() {
        let sealed = seal(&HEAD, b"payload");

        for length in 0..sealed.len() {
            assert!(
                open(&sealed[..length], Kind::Query, 7).is_err(),
                "length {length}"
            );
        }
        for bit in 0..sealed.len() * 8 {
            let mut bytes = sealed.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(open(&bytes, Kind::Query, 7).is_err(), "bit {bit}");
        }

        assert!(matches!(
            open(&sealed, Kind::Answer, 7),
            Err(Error::Malformed { .. })
        ));
        assert!(matches!(
            open(&sealed, Kind::Query, 8),
            Err(Error::WrongScheme { .. })
        ));
        let other = Version([0; 8]);
        assert!(matches!(
            open_version(&sealed, Kind::Query, 7, other),
            Err(Error::WrongVersion { .. })
        ));
    }
}
