//! The owner's key as a ring key, and its identifier.

use std::fmt;
use std::sync::Arc;

use papir_core::{Error, OwnerKey, Result};
use papir_lattice::params::RlweParams;
use papir_lattice::secret::SecretKey;
use papir_ring::prg::SecretRng;
use zeroize::{Zeroize, Zeroizing};

/// Label for deriving the ring key.
const LABEL: &str = "pirouette/owner";
/// BLAKE3's context string of [`KeyId`].
const CONTEXT: &str = "papir 2026 owner key id v1";

/// Identifier of an owner's key: a hash of the ring key, which reveals nothing else about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyId(pub [u8; 16]);

impl KeyId {
    /// The identifier of a ring key.
    pub(crate) fn of(key: &SecretKey) -> Self {
        let bytes = Zeroizing::new(key.coefficients().iter().map(|&c| c as i8 as u8).collect::<Vec<_>>());
        let mut hasher = blake3::Hasher::new_derive_key(CONTEXT);
        hasher.update(&bytes);
        let mut id = [0; 16];
        let mut output = hasher.finalize_xof();
        output.fill(&mut id);
        output.zeroize();
        hasher.zeroize();
        Self(id)
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// The key that a database is encrypted under, or its identifier.
#[derive(Clone, Default)]
pub(crate) struct Owner {
    id: Option<KeyId>,
    key: Option<Arc<SecretKey>>,
}

impl Owner {
    /// A key known by its identifier only.
    pub(crate) fn known_as(id: Option<KeyId>) -> Self {
        Self { id, key: None }
    }

    /// The same owner with a key.
    ///
    /// # Errors
    /// [`Error::OwnerKey`] if the identifier is another key's.
    pub(crate) fn with(&self, key: &OwnerKey, ring: &RlweParams) -> Result<Self> {
        let key = SecretKey::generate(ring, &mut SecretRng::derived(key.bytes(), LABEL));
        let found = KeyId::of(&key);
        match self.id {
            Some(id) if id != found => {
                let (found, expected) = (format!("key {found}"), format!("its owner's key, {id}"));
                Err(Error::OwnerKey { found, expected })
            }
            _ => Ok(Self { id: Some(found), key: Some(Arc::new(key)) }),
        }
    }

    /// The identifier, if there is one.
    pub(crate) fn id(&self) -> Option<KeyId> {
        self.id
    }

    /// The key.
    ///
    /// # Errors
    /// [`Error::OwnerKey`] if it is missing.
    pub(crate) fn key(&self) -> Result<&SecretKey> {
        self.key.as_deref().ok_or_else(|| {
            let expected =
                self.id.map_or("a key of its owner".to_owned(), |id| format!("its owner's key, {id}"));
            Error::OwnerKey { found: "none".to_owned(), expected }
        })
    }
}

impl fmt::Debug for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Owner({:?})", self.id)
    }
}
