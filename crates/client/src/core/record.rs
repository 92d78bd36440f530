//! Format of a saved registration.
//!
//! ```text
//! format version, 3 (1 byte); 1 while keys are being uploaded (1); length of the keys (8);
//! time of the registration in seconds since 1970 (8); number of queries since then (8);
//! 1 if bound to a place (1), and then the hashes of the slot (32) and of the boot (32);
//! then length (8) and bytes of the database's address, of the client's id, and of the state, which
//! is an envelope
//! ```

use std::fmt;

use papir_core::codec::Reader;
use papir_core::{Formats, Result};
use zeroize::Zeroizing;

use super::identity::Place;

/// Format numbers of saved registrations.
const FORMATS: Formats = Formats {
    what: "a saved registration",
    oldest: 3,
    written: 3,
    renew: "remove it to register again",
};

/// A registration and its state, as stored between processes. It is secret.
#[derive(Clone)]
pub struct SavedRegistration {
    /// The identity of the database, which must be the slot's. It is readable for people.
    pub address: String,
    /// The client's id at the service. Anyone who knows it can act as this client.
    pub client: String,
    /// Set while keys are being uploaded.
    pub uploading: bool,
    /// Length of the keys in bytes.
    pub keys_bytes: u64,
    /// Time of the registration in seconds since 1970; 0 if it is not known.
    pub registered: u64,
    /// Number of queries since the registration.
    pub queries: u64,
    /// The place to which the state is bound; `None` in schemes without tickets, or if the platform
    /// does not know the place.
    pub place: Option<Place>,
    /// The scheme's client state, in an envelope.
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
        let place = self
            .place
            .map(|place| [place.slot, place.boot].concat())
            .unwrap_or_default();

        // Allocated in full: growing would leave a copy of the secret in freed memory.
        let mut bytes = Zeroizing::new(Vec::with_capacity(27 + place.len() + length));
        bytes.extend_from_slice(&[FORMATS.written as u8, u8::from(self.uploading)]);
        for number in [self.keys_bytes, self.registered, self.queries] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes.push(u8::from(self.place.is_some()));
        bytes.extend_from_slice(&place);

        for part in parts {
            bytes.extend_from_slice(&(part.len() as u64).to_le_bytes());
            bytes.extend_from_slice(part);
        }
        bytes
    }

    /// Decodes a registration.
    ///
    /// # Errors
    /// [`Format`](papir_core::Error::Format) or [`Length`](papir_core::Error::Length).
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new("a state record", bytes);
        FORMATS.check(reader.u8()?.into())?;

        let uploading = reader.u8()? != 0;
        let keys_bytes = reader.u64()?;
        let registered = reader.u64()?;
        let queries = reader.u64()?;
        let place = if reader.u8()? != 0 {
            Some(Place {
                slot: reader.array()?,
                boot: reader.array()?,
            })
        } else {
            None
        };

        let address = lossy_text(reader.bytes()?);
        let client = lossy_text(reader.bytes()?);
        let state = Zeroizing::new(reader.bytes()?.to_vec());
        reader.finish()?;
        Ok(Self {
            address,
            client,
            uploading,
            keys_bytes,
            registered,
            queries,
            place,
            state,
        })
    }
}

/// The text of bytes, in which the replacement character stands for parts that are not UTF-8.
fn lossy_text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn record(place: Option<Place>) -> SavedRegistration {
        SavedRegistration {
            address: "http".into(),
            client: "ab".into(),
            uploading: true,
            keys_bytes: 5,
            registered: 6,
            queries: 7,
            place,
            state: Zeroizing::new(vec![9]),
        }
    }

    #[test]
    fn golden_bytes() {
        let bytes = record(None).encode();
        let golden =
            b"\x03\x01\x05\0\0\0\0\0\0\0\x06\0\0\0\0\0\0\0\x07\0\0\0\0\0\0\0\0\x04\0\0\0\0\0\0\0http\x02\0\0\0\0\0\0\0ab\x01\0\0\0\0\0\0\0\x09";
        assert_eq!(*bytes, golden);

        let place = Place {
            slot: [3; 32],
            boot: [4; 32],
        };
        let bound = record(Some(place)).encode();
        assert_eq!(
            *bound,
            [&bytes[..26], &[1], &[3; 32], &[4; 32], &bytes[27..]].concat()
        );

        for (bytes, place) in [(bytes, None), (bound, Some(place))] {
            let again = SavedRegistration::decode(&bytes).unwrap();
            assert!(
                again.uploading
                    && again.client == "ab"
                    && again.keys_bytes == 5
                    && *again.state == [9]
            );
            assert_eq!(
                (again.registered, again.queries, again.place),
                (6, 7, place)
            );
            for length in 0..bytes.len() {
                assert!(
                    SavedRegistration::decode(&bytes[..length]).is_err(),
                    "{length}"
                );
            }
            for other in [2, 4] {
                let error =
                    SavedRegistration::decode(&[&[other][..], &bytes[1..]].concat()).unwrap_err();
                assert!(matches!(error, papir_core::Error::Format { .. }), "{error}");
            }
        }
    }
}
