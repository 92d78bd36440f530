//! Format of a saved registration.
//!
//! ```text
//! format version, 2 (1 byte); 1 while keys are being uploaded (1); length of the keys (8);
//! time of the registration in seconds since 1970 (8); number of queries since then (8);
//! then length (8) and bytes of the database's address, of the client's id, and of the state, which
//! is an envelope
//! ```
//! Version 1 has neither time nor number.

use std::fmt;

use papir_core::codec::Reader;
use papir_core::{Formats, Result};
use zeroize::Zeroizing;

/// Format numbers of saved registrations.
const FORMATS: Formats =
    Formats { what: "a saved registration", oldest: 1, written: 2, renew: "remove it to register again" };

/// A registration and its state, as stored between processes. Secret.
#[derive(Clone)]
pub struct SavedRegistration {
    /// The identity of the database, for people who read the file.
    pub address: String,
    /// The client's id at the service: a capability.
    pub client: String,
    /// Set while keys are being uploaded.
    pub uploading: bool,
    /// Length of the keys in bytes.
    pub keys_bytes: u64,
    /// Time of the registration in seconds since 1970; 0 if it is not known.
    pub registered: u64,
    /// Number of queries since then.
    pub queries: u64,
    /// The scheme's state, enveloped.
    pub state: Zeroizing<Vec<u8>>,
}

impl fmt::Debug for SavedRegistration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SavedRegistration(…)")
    }
}

impl SavedRegistration {
    /// Encodes the registration.
    pub fn encode(&self) -> Zeroizing<Vec<u8>> {
        let parts = [self.address.as_bytes(), self.client.as_bytes(), &self.state];
        let length: usize = parts.iter().map(|part| 8 + part.len()).sum();
        let mut bytes = Zeroizing::new(Vec::with_capacity(26 + length));
        bytes.extend_from_slice(&[FORMATS.written as u8, u8::from(self.uploading)]);
        for number in [self.keys_bytes, self.registered, self.queries] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        for part in parts {
            bytes.extend_from_slice(&(part.len() as u64).to_le_bytes());
            bytes.extend_from_slice(part);
        }
        bytes
    }

    /// Decodes a registration.
    ///
    /// # Errors
    /// [`Format`](papir_core::Error::Format), [`Malformed`](papir_core::Error::Malformed) or
    /// [`Length`](papir_core::Error::Length).
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new("a state record", bytes);
        let format = reader.u8()?;
        FORMATS.check(format.into())?;
        let (uploading, keys_bytes) = (reader.u8()? != 0, reader.u64()?);
        let (registered, queries) = if format == 1 { (0, 0) } else { (reader.u64()?, reader.u64()?) };
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (address, client) = (text(reader.bytes()?), text(reader.bytes()?));
        let state = Zeroizing::new(reader.bytes()?.to_vec());
        reader.finish()?;
        Ok(Self { address, client, uploading, keys_bytes, registered, queries, state })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn golden_bytes() {
        let record = SavedRegistration {
            address: "http".into(),
            client: "ab".into(),
            uploading: true,
            keys_bytes: 5,
            registered: 6,
            queries: 7,
            state: Zeroizing::new(vec![9]),
        };
        let bytes = record.encode();
        let golden =
            b"\x02\x01\x05\0\0\0\0\0\0\0\x06\0\0\0\0\0\0\0\x07\0\0\0\0\0\0\0\x04\0\0\0\0\0\0\0http\x02\0\0\0\0\0\0\0ab\x01\0\0\0\0\0\0\0\x09";
        assert_eq!(*bytes, golden);
        let again = SavedRegistration::decode(&bytes).unwrap();
        assert!(again.uploading && again.client == "ab" && again.keys_bytes == 5 && *again.state == [9]);
        assert_eq!((again.registered, again.queries), (6, 7));
        // Records of version 1 have neither time nor number of queries.
        let old = [&[1], &bytes[1..10], &bytes[26..]].concat();
        let old = SavedRegistration::decode(&old).unwrap();
        assert_eq!((old.keys_bytes, old.registered, old.queries, &*old.client), (5, 0, 0, "ab"));
        for length in 0..bytes.len() {
            assert!(SavedRegistration::decode(&bytes[..length]).is_err(), "{length}");
        }
        let newer = [&[3][..], &bytes[1..]].concat();
        let error = SavedRegistration::decode(&newer).unwrap_err();
        assert!(matches!(error, papir_core::Error::Format { found: 3, .. }), "{error}");
    }
}
