//! Catalog of databases, each replaceable while it is queried.

mod base;
mod checkpoint;
mod config;
mod database;
mod delta;
mod device_slot;
mod error;
mod identity;
mod memory;
mod message_sizes;
mod parallel;
mod pending_load;
mod reading;
mod slot;
mod sources;
mod unverified;
mod versions;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use papir_core::Version;
use papir_core::device::Device;
use papir_store::{OpenOptions, Verify, free_memory};

use crate::error::Error;

pub(crate) use checkpoint::Checkpoint;
pub(crate) use config::CatalogOptions;
pub use config::DatabaseConfig;
pub use database::Database;
use database::Paths;
pub(crate) use database::RequestQueries;
pub(crate) use delta::ServedDelta;
use device_slot::DeviceSlot;
pub(crate) use error::{DatabaseError, QueryError};
pub(crate) use identity::{Files, Identity};
pub(crate) use memory::{MemoryUse, resident};
pub use message_sizes::{MessageSizes, SealedSizes};
pub(crate) use parallel::LOADS_AT_ONCE;
use parallel::in_parallel;
use pending_load::PendingLoad;
use reading::{ReadingMemory, ReadingTurn};
use slot::DatabaseSlot;
pub use sources::Sources;
pub(crate) use unverified::Unverified;
use versions::Versions;
pub(crate) use versions::{BoundQueries, Candidates, ChosenVersion, MAX_PREVIOUS, VersionView};

/// Names in a message. An error must not be as long as the list of all databases.
const MAX_LISTED: usize = 10;

/// Result of reloading one database.
#[derive(Debug)]
pub struct Reloaded {
    /// The database's name.
    pub name: String,
    /// The version that is now served, or the error if the old version stays.
    pub outcome: Result<Version, Error>,
    /// Set if the store could not be reached, and the copy of an earlier version is served.
    pub unreachable: Option<papir_store::Error>,
    /// Time from the arrival of the first change in a new delta until this load; `None` without a
    /// new delta.
    pub waited: Option<Duration>,
}

/// All databases of a service.
pub(crate) struct Catalog {
    slots: BTreeMap<String, DatabaseSlot>,
    options: CatalogOptions,
    /// The memory of the snapshots that are being read.
    reading: ReadingMemory,
    has_loaded: AtomicBool,
}

/// A slot with a file, and its name.
#[derive(Clone, Copy)]
struct FileSlot<'a> {
    name: &'a str,
    slot: &'a DatabaseSlot,
    path: &'a Path,
}

/// A file to load. Its database counts as being loaded.
struct ChosenFile<'a> {
    file: FileSlot<'a>,
    pending: PendingLoad<'a>,
}

impl<'a> ChosenFile<'a> {
    /// Chooses a file, also if it is being loaded.
    fn new(file: FileSlot<'a>) -> Self {
        Self {
            file,
            pending: file.slot.loads.begin(),
        }
    }

    /// Chooses a file unless it is being loaded: that load then loads it again at its end.
    fn if_idle(file: FileSlot<'a>) -> Option<Self> {
        let pending = file.slot.loads.begin_if_idle()?;
        Some(Self { file, pending })
    }
}

impl Catalog {
    /// A catalog whose snapshots are not loaded yet.
    pub(crate) fn unloaded(databases: &[DatabaseConfig], options: CatalogOptions) -> Self {
        let mut slots = BTreeMap::new();
        for DatabaseConfig { name, path } in databases {
            let versions = Versions::new(None, options.keep_old);
            slots.insert(
                name.clone(),
                DatabaseSlot::new(Some(path.clone()), versions),
            );
        }

        Self {
            slots,
            options,
            reading: ReadingMemory::default(),
            has_loaded: AtomicBool::new(false),
        }
    }

    /// A catalog of databases that are already in memory. Refuses two of the same name, schemes
    /// without privacy unless they are allowed, and schemes that need a registry if there is none.
    pub(crate) fn of_loaded(
        databases: Vec<Database>,
        options: CatalogOptions,
    ) -> Result<Self, Error> {
        let mut slots = BTreeMap::new();
        for database in databases {
            let name = database.name().to_owned();
            check_private(&database, &options)?;
            let slot = DatabaseSlot::new(None, Versions::new(Some(database), options.keep_old));
            if slots.insert(name.clone(), slot).is_some() {
                return Err(Error::DuplicateName {
                    name,
                    first: in_memory(),
                    second: in_memory(),
                });
            }
        }

        let catalog = Self {
            slots,
            options,
            reading: ReadingMemory::default(),
            has_loaded: AtomicBool::new(true),
        };
        for database in catalog.loaded() {
            catalog.check_registry(&database)?;
        }
        Ok(catalog)
    }

    /// Rejects a scheme with client keys if there is no registry for them.
    fn check_registry(&self, database: &Database) -> Result<(), Error> {
        let description = database.description();
        if self.options.has_registry || !description.limits.client_keys {
            return Ok(());
        }
        Err(Error::NeedsRegistry {
            name: database.name().to_owned(),
            scheme: description.scheme,
        })
    }

    /// The device that holds matrices; `None` if the CPU answers alone.
    pub(crate) fn device(&self) -> Option<&Arc<dyn Device>> {
        self.options.device.as_ref()
    }

    /// The databases that are loaded.
    pub(crate) fn loaded(&self) -> Vec<Arc<Database>> {
        self.slots
            .values()
            .filter_map(DatabaseSlot::newest)
            .collect()
    }

    /// The newest version of a database. It stays usable after a swap.
    pub(crate) fn get(&self, name: &str) -> Result<Arc<Database>, DatabaseError> {
        self.slot(name)?.newest().ok_or(DatabaseError::NotLoaded)
    }

    /// All answered versions of a database, newest first; empty if it is not loaded.
    pub(crate) fn versions(&self, name: &str) -> Result<Vec<VersionView>, DatabaseError> {
        Ok(self.slot(name)?.views())
    }

    /// The versions that may answer a query.
    pub(crate) fn candidates(&self, name: &str) -> Result<Candidates, DatabaseError> {
        Candidates::new(self.versions(name)?).ok_or(DatabaseError::NotLoaded)
    }

    /// Maximum length in bytes of the queries of a request, to any database.
    pub(crate) fn body_limit(&self) -> usize {
        let limits = self.slots.values().map(DatabaseSlot::body_limit);
        limits.max().unwrap_or(0)
    }

    /// All databases, if all are loaded. At the start, their earlier versions must be, too: until
    /// then, this service refuses queries that others answer.
    pub(crate) fn all(&self) -> Result<Vec<Arc<Database>>, DatabaseError> {
        if !self.has_loaded.load(Ordering::Relaxed) {
            return Err(DatabaseError::NotLoaded);
        }
        self.slots
            .values()
            .map(|slot| slot.newest().ok_or(DatabaseError::NotLoaded))
            .collect()
    }

    /// The databases of a list, of those that `allows` names: all or, while some are not loaded,
    /// the others. One alone of several is not listed: a client that names no database would take
    /// it for the only one.
    pub(crate) fn list(
        &self,
        allows: impl Fn(&str) -> bool,
    ) -> Result<Vec<Arc<Database>>, DatabaseError> {
        let mut wanted = 0;
        let mut loaded = Vec::new();
        for (_, slot) in self.slots.iter().filter(|(name, _)| allows(name)) {
            wanted += 1;
            loaded.extend(slot.newest());
        }

        if loaded.len() == wanted || loaded.len() > 1 {
            Ok(loaded)
        } else {
            Err(DatabaseError::NotLoaded)
        }
    }

    /// All names, loaded or not.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.slots.keys().map(String::as_str)
    }

    /// The catalog's own copy of a name. Only such names may appear in metrics and logs.
    pub(crate) fn known(&self, name: &str) -> Option<&str> {
        self.slots
            .get_key_value(name)
            .map(|(name, _)| name.as_str())
    }

    fn slot(&self, name: &str) -> Result<&DatabaseSlot, DatabaseError> {
        self.slots.get(name).ok_or_else(|| DatabaseError::Unknown {
            known: self.listed(),
        })
    }

    /// Loads all snapshot files. On failure, the old version stays. Failures of the first load are
    /// not logged: they end the start, and the caller reports them.
    pub(crate) fn load(&self) -> Vec<Reloaded> {
        let chosen: Vec<_> = self.files().map(ChosenFile::new).collect();
        let loaded = self.load_files(&chosen);

        // Set after the load, which is strict about room on the device only at the start.
        if self.has_loaded.swap(true, Ordering::Relaxed) {
            log_failures(&loaded);
        }
        loaded
    }

    /// Loads all snapshot files, without waiting for those that are being loaded: they are loaded
    /// again at the end of these loads. On failure, the old version stays.
    pub(crate) fn load_idle(&self) -> Vec<Reloaded> {
        let chosen: Vec<_> = self.files().filter_map(ChosenFile::if_idle).collect();
        let loaded = self.load_files(&chosen);
        log_failures(&loaded);
        loaded
    }

    /// Names of the databases that are being loaded, or wait for that.
    pub(crate) fn loading(&self) -> impl Iterator<Item = &str> {
        let loading = self.files().filter(|file| file.slot.loads.are_any());
        loading.map(|file| file.name)
    }

    /// Updates the copies of remote snapshots, unless that was done recently. Returns the names of
    /// all that were asked for, and whether their stores could be reached.
    pub(crate) fn poll(&self) -> Vec<(&str, bool)> {
        let mut polled = Vec::new();
        for (file, reached) in self.options.sources.poll() {
            if let Some(name) = self.name_of(&file) {
                polled.push((name, reached));
            }
        }
        polled
    }

    /// The name of the database in a file.
    fn name_of(&self, file: &Path) -> Option<&str> {
        self.files()
            .find(|found| found.path == file)
            .map(|found| found.name)
    }

    /// Names whose files differ from those last loaded, with the new files' identities.
    pub(crate) fn changed(&self) -> Vec<(String, Files)> {
        let mut changed = Vec::new();
        for FileSlot { name, slot, path } in self.files() {
            let seen = slot.seen();
            let found = slot.files(path);
            if seen != found {
                changed.push((name.to_owned(), found));
            }
        }
        changed
    }

    /// Loads the snapshots with these names.
    pub(crate) fn load_named(&self, names: &[String]) -> Vec<Reloaded> {
        let wanted = self.files().filter(|file| {
            let mut names = names.iter();
            names.any(|name| name == file.name)
        });
        let chosen: Vec<_> = wanted.map(ChosenFile::new).collect();
        let loaded = self.load_files(&chosen);
        log_failures(&loaded);
        loaded
    }

    /// Holds up the loads of a database until the result is dropped, like storage that hangs.
    #[cfg(test)]
    pub(crate) fn hold(&self, name: &str) -> Option<std::sync::MutexGuard<'_, ()>> {
        self.slots.get(name).map(DatabaseSlot::lock)
    }

    /// Loads the chosen files, and then the earlier versions of those that were not loaded before.
    /// The newest versions come first: all of them must find room in memory.
    fn load_files(&self, chosen: &[ChosenFile<'_>]) -> Vec<Reloaded> {
        let first: Vec<bool> = chosen
            .iter()
            .map(|chosen| chosen.file.slot.newest().is_none())
            .collect();

        let most = self.loads_at_once();
        let loaded = in_parallel(chosen, most, |chosen| self.load_chosen(chosen));

        let mut started = Vec::new();
        for ((ChosenFile { file, .. }, first), loaded) in chosen.iter().zip(first).zip(&loaded) {
            // The earlier versions of a copy are in its store.
            let is_complete = file.slot.newest().is_some() && loaded.unreachable.is_none();
            if first && is_complete {
                started.push(*file);
            }
        }
        in_parallel(&started, most, |file| self.restore(*file));
        loaded
    }

    /// Databases that are loaded at the same time. Those on a device find room in their order.
    fn loads_at_once(&self) -> usize {
        match self.options.device {
            Some(_) => 1,
            None => LOADS_AT_ONCE,
        }
    }

    /// Loads the versions that were replaced shortly before this service started, so that it
    /// answers the same versions as services that were running then. Failures are logged only.
    fn restore(&self, file: FileSlot<'_>) {
        let FileSlot { name, slot, path } = file;
        let _loading = slot.lock();
        let found = match self.options.sources.replaced(path, self.options.keep_old) {
            Ok(found) => found,
            Err(error) => {
                tracing::warn!(database = name, %error, "earlier versions not loaded");
                return;
            }
        };

        for earlier in found.into_iter().take(MAX_PREVIOUS) {
            let paths = Paths {
                file: path,
                snapshot: &earlier.path,
            };
            match self.open_checked(name, paths, None) {
                Ok((database, _)) => {
                    if let Some(version) = slot.restore(database, earlier.since) {
                        tracing::info!(database = name, %version, "earlier version loaded");
                    }
                }
                Err(error) => tracing::warn!(database = name, %error, "earlier version not loaded"),
            }
        }
    }

    /// The slots with a file.
    fn files(&self) -> impl Iterator<Item = FileSlot<'_>> {
        self.slots.iter().filter_map(|(name, slot)| {
            let path = slot.path.as_deref()?;
            Some(FileSlot { name, slot, path })
        })
    }

    /// Loads a file, and again while other loads leave their work to this one.
    fn load_chosen(&self, chosen: &ChosenFile<'_>) -> Reloaded {
        loop {
            let loaded = self.load_one(chosen.file);
            if chosen.pending.is_over() {
                return loaded;
            }
        }
    }

    fn load_one(&self, file: FileSlot<'_>) -> Reloaded {
        let FileSlot { name, slot, path } = file;
        let _loading = slot.lock();
        let (refreshed, unreachable) = self.refresh(slot, path);

        // Recorded before the file is opened: a file that replaces it meanwhile counts as changed.
        slot.see(slot.files(path));

        let opened = match refreshed {
            Ok(()) => self.open_seen(file),
            Err(error) => Err(not_loaded(name, path, error)),
        };
        let (outcome, waited) = slot.put(name, opened);

        if let Some(error) = &unreachable {
            tracing::warn!(database = name, %error, "the store cannot be reached: its last copy is served");
        }
        Reloaded {
            name: name.to_owned(),
            outcome,
            unreachable,
            waited,
        }
    }

    /// Opens the newest version in a file, and records the files that it was opened from.
    fn open_seen(&self, file: FileSlot<'_>) -> Result<Database, Error> {
        let FileSlot { name, slot, path } = file;
        let (database, files) =
            self.open_checked(name, Paths::newest(path), slot.newest().as_deref())?;
        slot.see(files);
        Ok(database)
    }

    /// Serves the delta that is beside `file` now, of the snapshot that is served under this name.
    /// `None` if there is none, or if it was loaded before. A delta that is removed is still
    /// served: its changes are in a later snapshot, and not in this one.
    pub(crate) fn load_delta(&self, name: &str, file: &Path) -> Option<Reloaded> {
        let slot = self.slots.get(name)?;
        let _loading = slot.lock();
        let newest = slot.newest()?;

        let found = slot.files(file);
        if found.delta.is_none() || found.delta == slot.seen().delta {
            return None;
        }

        // Recorded before the delta is opened: a delta that cannot be loaded is tried once.
        slot.see(found);

        let opened = newest
            .with_delta_beside(file)
            .map_err(|error| not_loaded(name, file, error));
        let (outcome, waited) = slot.put(name, opened);

        let loaded = Reloaded {
            name: name.to_owned(),
            outcome,
            unreachable: None,
            waited,
        };
        log_failures(std::slice::from_ref(&loaded));
        Some(loaded)
    }

    /// Updates a file from its store. If that fails at the start, a copy from earlier will do:
    /// every copy was verified when it was fetched.
    fn refresh(
        &self,
        slot: &DatabaseSlot,
        path: &Path,
    ) -> (papir_store::Result<()>, Option<papir_store::Error>) {
        match self.options.sources.refresh(path) {
            Err(error) if slot.newest().is_none() && path.exists() => (Ok(()), Some(error)),
            refreshed => (refreshed, None),
        }
    }

    /// Takes the snapshots of which chunks remain to be verified.
    pub(crate) fn take_unverified(&self) -> Vec<Unverified> {
        let views = self.slots.values().flat_map(DatabaseSlot::views);
        views
            .filter_map(|view| Unverified::of(view.database.base()))
            .collect()
    }

    /// Takes out all versions of a damaged snapshot. The version before it is served again, if it
    /// is still there. Until it is replaced, the file is served only if all of it can be verified.
    pub(crate) fn retract(&self, damaged: &Unverified) {
        if let Some(slot) = self.slots.get(&damaged.name) {
            let _loading = slot.lock();
            slot.retract(damaged);
        }
    }

    /// Drops old versions that have expired.
    pub(crate) fn expire(&self) {
        self.slots.iter().for_each(|(name, slot)| slot.expire(name));
    }

    /// Opens a version that this service may serve: a snapshot, and its delta.
    fn open_checked(
        &self,
        name: &str,
        paths: Paths<'_>,
        served: Option<&Database>,
    ) -> Result<(Database, Files), Error> {
        let (database, files) = self
            .open(name, paths, served)
            .map_err(|error| not_loaded(name, paths.snapshot, error))?;
        self.check_registry(&database)?;
        Ok((database, files))
    }

    /// The time at which checksums of a file are verified: at once if it was damaged.
    fn verify(&self, name: &str, path: &Path) -> Verify {
        let damaged = self.slots.get(name).and_then(DatabaseSlot::damaged);
        if damaged.is_some() && damaged == Identity::of(path) {
            Verify::Load
        } else {
            self.options.verify
        }
    }

    fn open(
        &self,
        name: &str,
        paths: Paths<'_>,
        served: Option<&Database>,
    ) -> papir_store::Result<(Database, Files)> {
        let _turn = self.memory_turn(paths.snapshot, served);
        let options = OpenOptions {
            verify: self.verify(name, paths.snapshot),
            in_memory: !self.options.mapped,
            ..OpenOptions::default()
        };
        let device = DeviceSlot {
            device: self.options.device.as_ref(),
            strict: !self.has_loaded.load(Ordering::Relaxed),
        };

        let (database, files) = Database::open_again(name, paths, &options, device, served)?;
        database.check_private(self.options.allow_not_private)?;
        Ok((database, files))
    }

    /// The turn of a snapshot that is read into memory; `None` if it is mapped or `served`.
    fn memory_turn(&self, path: &Path, served: Option<&Database>) -> Option<ReadingTurn<'_>> {
        let is_served = served.is_some_and(|served| served.base().identity == Identity::of(path));
        if self.options.mapped || is_served {
            return None;
        }
        let bytes = fs::metadata(path).map_or(0, |file| file.len());
        Some(self.reading.enter(bytes, free_memory))
    }

    /// Replaces the database with the same name. Refuses an unknown name, a scheme without privacy
    /// unless it is allowed, and a scheme that needs a registry if there is none.
    pub(crate) fn replace(&self, database: Database) -> Result<Version, Error> {
        check_private(&database, &self.options)?;
        self.check_registry(&database)?;
        let Some(slot) = self.slots.get(database.name()) else {
            return Err(Error::UnknownDatabase {
                name: database.name().to_owned(),
                known: self.listed(),
            });
        };

        // A delta of the version before that is being loaded must not take the place of this one.
        let _loading = slot.lock();
        if slot.path.is_none() {
            // Its delta was seen beside another version, or not at all.
            slot.see(Files::default());
        }
        Ok(slot.swap(database))
    }

    /// The names for a message: all of a few, or the first of many.
    fn listed(&self) -> String {
        let first = self.names().take(MAX_LISTED);
        let mut listed: Vec<String> = first.map(|name| format!("`{name}`")).collect();
        let more = self.slots.len() - listed.len();
        if more > 0 {
            listed.push(format!("{more} more (GET /v1/databases)"));
        }
        listed.join(", ")
    }
}

fn not_loaded(name: &str, path: &Path, source: papir_store::Error) -> Error {
    Error::Load {
        name: name.to_owned(),
        path: path.to_owned(),
        source: Box::new(source),
    }
}

fn log_failures(loaded: &[Reloaded]) {
    for Reloaded { name, outcome, .. } in loaded {
        if let Err(error) = outcome {
            tracing::error!(database = name, %error, "not loaded");
        }
    }
}

fn check_private(database: &Database, options: &CatalogOptions) -> Result<(), Error> {
    database
        .check_private(options.allow_not_private)
        .map_err(|source| Error::Load {
            name: database.name().to_owned(),
            path: in_memory(),
            source: Box::new(source.into()),
        })
}

/// The path of a database without a file, in messages.
fn in_memory() -> PathBuf {
    PathBuf::from("(memory)")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use papir_core::scheme::Goal;
    use papir_core::{NoProgress, RecordBuffer};
    use papir_schemes::registry;

    use super::*;

    /// A catalog of databases `db-0000`… that are not loaded.
    fn unloaded(count: usize) -> Catalog {
        let named = (0..count).map(|i| DatabaseConfig::new(format!("/db-{i:04}.papir"), None));
        let named: Vec<DatabaseConfig> = named.collect();
        Catalog::unloaded(&named, CatalogOptions::default())
    }

    fn database(name: &str) -> Database {
        let records = RecordBuffer::from_records([[7u8; 8], [8; 8]]).unwrap();
        let simple = registry::by_name("simple").unwrap();
        let mut rng = papir_client::system_rng();
        let server = simple.setup(&records, Goal::default(), &mut rng, &NoProgress);
        Database::new(name, server.unwrap(), None)
    }

    #[test]
    fn a_message_lists_few_of_many_names() {
        assert_eq!(unloaded(2).listed(), "`db-0000`, `db-0001`");

        let listed = unloaded(1000).listed();
        assert!(listed.ends_with("`db-0009`, 990 more (GET /v1/databases)"));
        assert!(!unloaded(MAX_LISTED).listed().contains("more"));
    }

    #[test]
    fn databases_are_listed_while_another_is_not_loaded() {
        let catalog = unloaded(3);
        assert!(catalog.list(|_| true).is_err());
        assert_eq!(catalog.body_limit(), 0);

        catalog.replace(database("db-0001")).unwrap();
        assert!(catalog.list(|_| true).is_err(), "it is not the only one");
        assert_eq!(catalog.list(|name| name == "db-0001").unwrap().len(), 1);

        catalog.replace(database("db-0002")).unwrap();
        assert_eq!(catalog.list(|_| true).unwrap().len(), 2);
        assert!(catalog.list(|name| name != "db-0002").is_err());
        assert!(catalog.list(|_| false).unwrap().is_empty());
        assert!(catalog.all().is_err());
        let limit = catalog.get("db-0001").unwrap().body_limit();
        assert_eq!(catalog.body_limit(), limit);
    }
}
