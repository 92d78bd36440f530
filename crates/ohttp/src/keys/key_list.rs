//! Lists of key configurations, `application/ohttp-keys` (RFC 9458, section 3.2).

use ohttp::KeyConfig;

use super::chosen_key::ChosenKey;
use super::gateway_key::{GatewayKey, Kem};
use super::key_digest::KeyDigest;
use crate::error::{Error, Result};

/// Longest accepted list in bytes. A configuration of the largest known kind has 1.2 KiB.
const MAX_LIST_BYTES: usize = 64 << 10;
/// Bytes of a configuration before its public key: the identifier, and that of the mechanism.
const HEAD_BYTES: usize = 3;
/// HKDF-SHA256 with AES-128-GCM, as a configuration lists it.
const SUITE: [u8; 4] = [0, 1, 0, 1];

/// The key configurations of a gateway, as its clients see them.
#[derive(Clone, Debug)]
pub struct KeyList {
    configurations: Vec<Vec<u8>>,
}

impl KeyList {
    /// Reads a list: configurations, each after its length in two bytes.
    ///
    /// # Errors
    /// [`Error::BadKeys`] if it is empty, longer than 64 KiB, or cut off.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        if bytes.len() > MAX_LIST_BYTES {
            return Err(Error::BadKeys("it has more than 64 KiB"));
        }

        let mut configurations = Vec::new();
        let mut rest = bytes;
        while !rest.is_empty() {
            let cut_off = Error::BadKeys("it is cut off");
            let Some((length, after)) = rest.split_first_chunk::<2>() else {
                return Err(cut_off);
            };
            let length = usize::from(u16::from_be_bytes(*length));
            let Some((configuration, after)) = after.split_at_checked(length) else {
                return Err(cut_off);
            };
            configurations.push(configuration.to_vec());
            rest = after;
        }

        if configurations.is_empty() {
            return Err(Error::BadKeys("it is empty"));
        }
        Ok(Self { configurations })
    }

    /// The list of a gateway's keys, in their order.
    ///
    /// # Errors
    /// [`Error::Sealed`] if the library cannot write a key.
    pub fn of_keys(keys: &[GatewayKey]) -> Result<Self> {
        let configurations = keys.iter().map(GatewayKey::configuration);
        Ok(Self {
            configurations: configurations.collect::<Result<_>>()?,
        })
    }

    /// The bytes that [`KeyList::parse`] reads.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for configuration in &self.configurations {
            // Lengths are at most those that were read, or of keys that the library wrote.
            let length = u16::try_from(configuration.len()).unwrap_or(u16::MAX);
            bytes.extend_from_slice(&length.to_be_bytes());
            bytes.extend_from_slice(configuration);
        }
        bytes
    }

    /// The digest of each configuration.
    pub fn digests(&self) -> impl Iterator<Item = KeyDigest> {
        self.configurations
            .iter()
            .map(|configuration| KeyDigest::of(configuration))
    }

    /// The first usable key: of X-Wing, which also holds against quantum computers, else of X25519.
    /// Configurations of unknown kinds are passed over.
    ///
    /// # Errors
    /// [`Error::NoKey`] if none is usable.
    pub fn choose(&self) -> Result<ChosenKey> {
        self.choose_among(|_| true)
    }

    /// Like [`KeyList::choose`], among the configurations whose digest is accepted.
    ///
    /// # Errors
    /// [`Error::NoKey`] if none is usable.
    pub fn choose_among(&self, is_accepted: impl Fn(KeyDigest) -> bool) -> Result<ChosenKey> {
        for kem in [Kem::XWing, Kem::X25519] {
            for configuration in &self.configurations {
                let digest = KeyDigest::of(configuration);
                if !is_accepted(digest) {
                    continue;
                }
                if let Some(config) = usable(configuration, kem) {
                    return Ok(ChosenKey::new(config, digest));
                }
            }
        }
        Err(Error::NoKey)
    }
}

/// The configuration for this mechanism with the one suite that clients use; `None` if it is of
/// another mechanism, or without the suite. The library takes the first suite of those it knows,
/// and fails for some of them.
fn usable(configuration: &[u8], kem: Kem) -> Option<KeyConfig> {
    let identifier = configuration.get(1..HEAD_BYTES)?;
    if identifier != kem.identifier().to_be_bytes() {
        return None;
    }

    let (key, suites) = configuration.split_at_checked(HEAD_BYTES + kem.public_bytes())?;
    let (length, suites) = suites.split_first_chunk::<2>()?;
    let is_whole = usize::from(u16::from_be_bytes(*length)) == suites.len();
    let has_suite = suites.chunks(SUITE.len()).any(|suite| suite == SUITE);
    if !is_whole || !has_suite {
        return None;
    }

    let narrowed = [key, &[0, 4], &SUITE].concat();
    KeyConfig::decode(&narrowed).ok()
}
