//! The key that a client seals its requests for.

use std::fmt;

use ohttp::KeyConfig;

use super::key_digest::KeyDigest;

/// The public key of a gateway that a client has chosen.
#[derive(Clone)]
pub struct ChosenKey {
    config: KeyConfig,
    digest: KeyDigest,
}

impl ChosenKey {
    pub(super) fn new(config: KeyConfig, digest: KeyDigest) -> Self {
        Self { config, digest }
    }

    /// The digest of the key's configuration.
    #[must_use]
    pub fn digest(&self) -> KeyDigest {
        self.digest
    }

    /// The configuration, with one suite.
    pub(crate) fn config(&self) -> &KeyConfig {
        &self.config
    }
}

impl fmt::Debug for ChosenKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ChosenKey({})", self.digest)
    }
}
