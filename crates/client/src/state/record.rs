//! What stands in a state file.
//!
//! ```text
//! format (1) = 1, whether keys are being uploaded (1), length of the keys (8),
//! length (8) and bytes of the database's address, of the client's name, of the state (an envelope)
//! ```

use papir_core::codec::Reader;
use papir_core::{Error, Result};
use zeroize::Zeroizing;

const FORMAT: u8 = 1;

/// A registration and its state.
pub(crate) struct Record {
    /// The database's address, for whoever looks.
    pub(crate) address: String,
    /// The client's name at the service: a capability.
    pub(crate) client: String,
    /// Whether the keys have not all arrived.
    pub(crate) uploading: bool,
    /// Length of the keys.
    pub(crate) keys_bytes: u64,
    /// The scheme's state, enveloped.
    pub(crate) state: Zeroizing<Vec<u8>>,
}

impl Record {
    pub(super) fn encode(&self) -> Zeroizing<Vec<u8>> {
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

    pub(super) fn decode(bytes: &[u8]) -> Result<Self> {
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
        let record = Record {
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
        let again = Record::decode(&bytes).unwrap();
        assert!(again.uploading && again.client == "ab" && again.keys_bytes == 5 && *again.state == [9]);
        for length in 0..bytes.len() {
            assert!(Record::decode(&bytes[..length]).is_err(), "{length}");
        }
    }
}
