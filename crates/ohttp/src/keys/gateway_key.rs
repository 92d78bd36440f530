//! Private keys of a gateway.

use std::fmt;

use ohttp::hpke::{Aead, Kdf};
use ohttp::{KeyConfig, Server, SymmetricSuite};

use crate::error::Result;

/// The symmetric algorithms: HKDF-SHA256 with AES-128-GCM, which every implementation has.
const SUITE: SymmetricSuite = SymmetricSuite::new(Kdf::HkdfSha256, Aead::Aes128Gcm);

/// The key encapsulation mechanism (KEM) of a gateway's key (RFC 9180).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kem {
    /// DHKEM(X25519, HKDF-SHA256), which every implementation has.
    X25519,
    /// X-Wing: X25519 together with ML-KEM-768. It also holds against quantum computers.
    XWing,
}

impl Kem {
    /// The length in bytes of the encapsulated key at the beginning of a request.
    #[must_use]
    pub fn encapsulated_bytes(self) -> usize {
        self.of_ohttp().n_enc()
    }

    /// The number of the mechanism in the registry of HPKE.
    pub(crate) fn identifier(self) -> u16 {
        self.of_ohttp().into()
    }

    /// The length in bytes of a public key.
    pub(super) fn public_bytes(self) -> usize {
        self.of_ohttp().n_pk()
    }

    fn of_ohttp(self) -> ohttp::hpke::Kem {
        match self {
            Self::X25519 => ohttp::hpke::Kem::X25519Sha256,
            Self::XWing => ohttp::hpke::Kem::XWing,
        }
    }
}

/// A private key of a gateway, with its configuration (RFC 9458, section 3.1).
#[derive(Clone)]
pub struct GatewayKey {
    id: u8,
    kem: Kem,
    config: KeyConfig,
}

impl GatewayKey {
    /// The key that a seed of 32 random bytes determines (RFC 9180, `DeriveKeyPair`). The
    /// identifier tells the keys of one gateway apart.
    ///
    /// # Errors
    /// [`Error::Sealed`](crate::Error::Sealed) if the library refuses the seed.
    pub fn derive(id: u8, kem: Kem, seed: &[u8; 32]) -> Result<Self> {
        let config = KeyConfig::derive(id, kem.of_ohttp(), vec![SUITE], seed)?;
        Ok(Self { id, kem, config })
    }

    /// The identifier, which sealed requests begin with.
    #[must_use]
    pub fn id(&self) -> u8 {
        self.id
    }

    /// The key encapsulation mechanism of the key.
    #[must_use]
    pub fn kem(&self) -> Kem {
        self.kem
    }

    /// The public configuration, without a length.
    ///
    /// # Errors
    /// [`Error::Sealed`](crate::Error::Sealed) if the library cannot write the key.
    pub fn configuration(&self) -> Result<Vec<u8>> {
        Ok(self.config.encode()?)
    }

    /// The library's server for requests under this key.
    pub(crate) fn server(&self) -> Result<Server> {
        Ok(Server::new(self.config.clone())?)
    }
}

impl fmt::Debug for GatewayKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GatewayKey")
            .field("id", &self.id)
            .field("kem", &self.kem)
            .finish_non_exhaustive()
    }
}
