//! Digests of client keys, and their first registrations.

use papir_core::envelope;

use super::id::ClientId;

/// BLAKE3 hash of client keys without their envelope, which names the version of the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct KeysDigest(pub(super) [u8; 32]);

impl KeysDigest {
    /// The digest of keys in their envelope; `None` if the envelope has a wrong length.
    pub(super) fn of(keys: &[u8]) -> Option<Self> {
        let payload = envelope::payload(keys)?;
        Some(Self(blake3::hash(payload).into()))
    }
}

/// The first registration of some keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FirstUse {
    pub(crate) client: ClientId,
    /// Time of the registration, in microseconds since 1970.
    pub(crate) time: u64,
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use papir_core::Version;
    use papir_core::envelope::{Header, Kind, seal};

    use super::*;

    #[test]
    fn digests_do_not_depend_on_the_version() {
        let sealed = |version, payload: &[u8]| {
            let header = Header {
                kind: Kind::Keys,
                scheme: 3,
                version: Version([version; 8]),
            };
            KeysDigest::of(&seal(&header, payload)).unwrap()
        };
        assert_eq!(sealed(1, b"keys"), sealed(2, b"keys"));
        assert_ne!(sealed(1, b"keys"), sealed(1, b"keyt"));
        assert_eq!(KeysDigest::of(b"short"), None);
    }
}
