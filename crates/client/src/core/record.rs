//! A saved registration and its bytes.
//!
//! ```text
//! format (1) = 1, 1 while keys are being uploaded (1), length of the keys (8),
//! length (8) and bytes of the database's address, of the client's id, of the state (an envelope)
//! ```

use std::fmt;

use papir_core::codec::Reader;
use papir_core::{Error, Result};
use zeroize::Zeroizing;

const FORMAT: u8 = 1;

/// A registration and its state, as kept between processes. Secret.
#[derive(Clone)]
pub struct SavedRegistration {
    /// The identity of the database, for people who inspect the file.
    pub address: String,
    /// The client's id at the service: a capability.
    pub client: String,
    /// Whether keys are still being uploaded.
    pub uploading: bool,
    /// Length of the keys.
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
    /// The registration as bytes.
    pub fn encode(&self) -> Zeroizing<Vec<u8>> {
        let parts = [self.address.as_bytes(), self.client.as_bytes(), &self.state];
        let length: usize = parts.iter().map(|part| 8 + part.len()).sum();
        let mut bytes = Zeroizing::new(Vec::with_capacity(10 + length));
        bytes.extend_from_slice(&[FORMAT, u8::from(self.uploading)]);
        bytes.extend_from_slice(&self.keys_bytes.to_le_bytes());
        for part in parts {
            bytes.extend_from_slice(&(part.len() as u64).to_le_bytes());
            bytes.extend_from_slice(part);
        }
        bytes
    }

    /// A registration from its bytes.
    ///
    /// # Errors
    /// [`Error::Malformed`] and [`Error::Length`].
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new("a state record", bytes);
        let format = reader.u8()?;
        if format != FORMAT {
            return Err(Error::malformed("a state record", format, "format 1"));
        }
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
    }
}
