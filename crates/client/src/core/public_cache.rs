//! Stored copies of public parts and of filters of keys.
//!
//! A copy is offered to the server (`If-None-Match`) only if it has the version that the server
//! describes, and passes every check of a fetched public part. A server therefore learns only if
//! this client has fetched this version before, directly or through the same relay. A copy of
//! another version may be patched, which [`Patches`](super::settings::Patches) decides.

use super::service::Service;
use super::settings::{KnownVersion, Settings};
use super::storage::SlotStorage;
use super::task::Io;

/// Shortest public part that is stored, in bytes. Fetching a shorter one costs little more than the
/// request that offers its copy.
const MIN_BYTES: u64 = 16 << 10;

/// Length of a version, in hexadecimal digits.
const VERSION_DIGITS: usize = 16;

/// A stored public part.
pub(crate) struct CopiedPart {
    /// The version under which it was stored.
    pub(crate) version: String,
    pub(crate) bytes: Vec<u8>,
}

/// The stored copy of one database's public part.
pub(crate) struct PublicCache<'a> {
    io: &'a Io,
    /// The storage slot; `None` if copies are disabled.
    slot: Option<String>,
    /// Shortest public part that is stored, in bytes.
    least: u64,
}

impl<'a> PublicCache<'a> {
    /// The stored copy for the database `name`. If copies are disabled, it reads and stores
    /// nothing. A version is kept with its public part, which is then stored whatever its length.
    pub(crate) fn new(io: &'a Io, service: &Service, name: &str, settings: &Settings) -> Self {
        Self::of_slot(io, service, service.address.identity(name), settings)
    }

    /// The stored copy of the filter of keys of the database `name`, like [`PublicCache::new`].
    pub(crate) fn of_prefilter(
        io: &'a Io,
        service: &Service,
        name: &str,
        settings: &Settings,
    ) -> Self {
        // Another slot, since both are kept at the same time.
        let slot = format!("{} prefilter", service.address.identity(name));
        Self::of_slot(io, service, slot, settings)
    }

    fn of_slot(io: &'a Io, service: &Service, slot: String, settings: &Settings) -> Self {
        let keeps = settings.known != KnownVersion::Ask;
        let stores = keeps || !settings.no_cache;
        Self {
            io,
            slot: stores.then(|| service.unlinked_slot(slot)),
            least: if keeps { 0 } else { MIN_BYTES },
        }
    }

    /// Reads the stored public part, of any version and of at most `limit` bytes; `None` if there
    /// is none. `length` is that of the wanted one, which may be too short for copies.
    pub(crate) async fn read_any(&self, length: u64, limit: u64) -> Option<CopiedPart> {
        let slot = self.slot.as_ref().filter(|_| length >= self.least)?;
        let limit = limit.saturating_add(VERSION_DIGITS as u64);
        let mut bytes = SlotStorage::new(self.io, slot)
            .public_part(limit)
            .await
            .ok()??;

        let digits = bytes.get(..VERSION_DIGITS)?.to_vec();
        let version = String::from_utf8(digits).ok()?;
        bytes.drain(..VERSION_DIGITS);
        Some(CopiedPart { version, bytes })
    }

    /// Stores the public part of this version in place of an earlier one. Ignores errors of the
    /// storage.
    pub(crate) async fn keep(&self, version: &str, bytes: &[u8]) {
        let Some(slot) = &self.slot else {
            return;
        };
        if bytes.len() as u64 >= self.least {
            let _ = SlotStorage::new(self.io, slot)
                .keep_public_part([version.as_bytes(), bytes].concat())
                .await;
        }
    }
}
