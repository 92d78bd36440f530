//! Format of a saved registration.
//!
//! ```text
//! format version, 1 (1 byte); 1 while keys are being uploaded (1); length of the keys (8);
//! then length (8) and bytes of the database's address, of the client's id, and of the state, which
//! is an envelope
//! ```

use std::fmt;

use papir_core::codec::Reader;
use papir_core::{Formats, Result};
use zeroize::Zeroizing;

/// Format numbers of saved registrations.
const FORMATS: Formats =
    Formats { what: "a saved registration", oldest: 1, written: 1, renew: "remove it to register again" };

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
        let mut bytes = Zeroizing::new(Vec::with_capacity(10 + length));
        bytes.extend_from_slice(&[FORMATS.written as u8, u8::from(self.uploading)]);
        bytes.extend_from_slice(&self.keys_bytes.to_le_bytes());
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
        FORMATS.check(reader.u8()?.into())?;
        let (uploading, keys_bytes) = (reader.u8()? != 0, reader.u64()?);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (address, client) = (text(reader.bytes()?), text(reader.bytes()?));
        let state = Zeroizing::new(reader.bytes()?.to_vec());
        reader.finish()?;
        Ok(Self { address, client, uploading, keys_bytes, state })
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
            state: Zeroizing::new(vec![9]),
        };
        let bytes = record.encode();
        let golden =
            b"\x01\x01\x05\0\0\0\0\0\0\0\x04\0\0\0\0\0\0\0http\x02\0\0\0\0\0\0\0ab\x01\0\0\0\0\0\0\0\x09";
        assert_eq!(*bytes, golden);
        let again = SavedRegistration::decode(&bytes).unwrap();
        assert!(again.uploading && again.client == "ab" && again.keys_bytes == 5 && *again.state == [9]);
        for length in 0..bytes.len() {
            assert!(SavedRegistration::decode(&bytes[..length]).is_err(), "{length}");
        }
        let newer = [&[2][..], &bytes[1..]].concat();
        let error = SavedRegistration::decode(&newer).unwrap_err();
        assert!(matches!(error, papir_core::Error::Format { found: 2, .. }), "{error}");
    }
}
