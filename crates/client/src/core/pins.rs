//! Pins of a root and of a database's name at first use.
//!
//! The root is the root of a verifiable database. The name is the name of a service's only
//! database.

use papir_lookup::Root;
use papir_protocol::path;

use super::service::Service;
use super::settings::{Pin, Settings};
use super::storage::SlotStorage;
use super::task::Io;
use crate::error::{Error, Result};

/// Checks a database's root `found` against the pinned one, or pins it on first use. A `given` root
/// replaces the pinned one. Returns the root that the database must have from now on; `None` if the
/// database is not verifiable and no root is pinned.
///
/// Fails with [`Error::Root`] if another root is given or pinned, or if the database has no root
/// although one is pinned.
pub(crate) async fn check_or_pin(
    storage: SlotStorage<'_>,
    url: &str,
    given: Option<Root>,
    found: Option<Root>,
) -> Result<Option<Root>> {
    // Asked before the lock, which would create the slot.
    if found.is_none() && !storage.has_root().await? {
        return Ok(None);
    }

    let lock = storage.lock().await?;
    let pinned = match given {
        Some(root) => Some(root),
        None => lock.root().await?,
    };
    match pinned.or(found) {
        Some(expected) if found != Some(expected) => Err(wrong_root(url, found, expected)),
        Some(root) if lock.root().await? != Some(root) => lock.pin(root).await.map(|()| Some(root)),
        trusted => Ok(trusted),
    }
}

/// The pinned name of a database that the caller does not name.
///
/// Roots and owner's keys are pinned under the database's name. If the service could choose another
/// name, it could evade these pins.
pub(crate) struct NamePin<'a> {
    io: &'a Io,
    /// `None` if the caller names the database, or pins nothing.
    slot: Option<String>,
    /// The slots of the database's other servers, whose pinned names hold here, too.
    others: Vec<String>,
    /// The address of the list of databases, for messages.
    url: String,
}

impl<'a> NamePin<'a> {
    /// The pin of the name of the service's only database.
    pub(crate) fn of_service(io: &'a Io, service: &Service, settings: &Settings) -> Self {
        let named = service.named(settings).is_some() || settings.pin == Pin::Nothing;
        let slot = (!named).then(|| service.address.identity(""));
        let others = service.others().iter().filter(|_| !named);
        Self {
            io,
            slot,
            others: others.map(|address| address.identity("")).collect(),
            url: service.url(path::DATABASES),
        }
    }

    /// The pin of the name of the database of the service's set.
    pub(crate) fn of_set(io: &'a Io, service: &Service, settings: &Settings) -> Self {
        let pin = Self::of_service(io, service, settings);
        let others = pin.others.into_iter().map(|slot| slot + " set");
        Self {
            slot: pin.slot.map(|slot| slot + " set"),
            others: others.collect(),
            ..pin
        }
    }

    /// Checks a name against the pinned one, if any. Fails with [`Error::OtherName`] if they
    /// differ.
    pub(crate) async fn check(&self, name: &str) -> Result<()> {
        for slot in self.slot.iter().chain(&self.others) {
            let pinned = SlotStorage::new(self.io, slot).name().await?;
            self.is_pinned(name, pinned)?;
        }
        Ok(())
    }

    /// Returns true if a name is pinned at any of the servers: the name of a database that was
    /// signed, or whose root is pinned.
    pub(crate) async fn is_set(&self) -> Result<bool> {
        for slot in self.slot.iter().chain(&self.others) {
            if SlotStorage::new(self.io, slot).name().await?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Pins a name, unless a name is pinned. Fails with [`Error::OtherName`] if another name is
    /// pinned.
    pub(crate) async fn keep(&self, name: &str) -> Result<()> {
        let Some(slot) = &self.slot else {
            return Ok(());
        };
        let storage = SlotStorage::new(self.io, slot);
        if self.is_pinned(name, storage.name().await?)? {
            return Ok(());
        }

        // Read again under the lock: another session may have pinned a name meanwhile.
        let lock = storage.lock().await?;
        if self.is_pinned(name, lock.name().await?)? {
            Ok(())
        } else {
            lock.keep_name(name).await
        }
    }

    /// Returns true if `name` is the pinned name, and false if no name is pinned. Fails with
    /// [`Error::OtherName`] if another name is pinned.
    fn is_pinned(&self, name: &str, pinned: Option<String>) -> Result<bool> {
        match pinned {
            Some(expected) if expected != name => Err(Error::OtherName {
                url: self.url.clone(),
                found: name.to_owned(),
                expected,
            }),
            pinned => Ok(pinned.is_some()),
        }
    }
}

/// The error for a database with another root than the trusted one.
pub(crate) fn wrong_root(url: &str, found: Option<Root>, expected: Root) -> Error {
    let found = found.map_or("none: it is not verifiable".to_owned(), |root| {
        root.to_string()
    });
    Error::Root {
        url: url.to_owned(),
        found,
        expected,
    }
}
