//! The databases by name; each can be replaced while it is being asked.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Instant;

use papir_core::Version;

use crate::config::{DatabaseConfig, ServerConfig};
use crate::database::Database;
use crate::identity::Identity;
use crate::memory;
use crate::problem::Problem;
use crate::versions::{Answerable, Standing, Versions};
use crate::{Error, Reloaded, Sources};

/// All databases of a service.
pub(crate) struct Catalog {
    slots: BTreeMap<String, Slot>,
    allow_not_private: bool,
    /// Whether there is a registry for clients' keys.
    takes_clients: bool,
    sources: Sources,
    /// Held while loading, so that an older reload never overtakes a newer one.
    loading: Mutex<()>,
}

/// A name: where its snapshot lies, if in a file, and what is served now, if loaded.
struct Slot {
    path: Option<PathBuf>,
    versions: RwLock<Versions>,
    /// The file that was last looked into, whether it could be loaded or not.
    seen: Mutex<Option<Identity>>,
}

impl Catalog {
    /// Names whose snapshots are not loaded yet.
    pub(crate) fn unloaded(config: &ServerConfig) -> Self {
        let slot = |one: &DatabaseConfig| {
            let versions = Versions::new(None, config.keep_old);
            (one.name.clone(), Slot::new(Some(one.path.clone()), versions))
        };
        let slots = config.databases.iter().map(slot).collect();
        Self::of(slots, config.allow_not_private, config.sources.clone())
    }

    fn of(slots: BTreeMap<String, Slot>, allow_not_private: bool, sources: Sources) -> Self {
        Self { slots, allow_not_private, sources, takes_clients: false, loading: Mutex::new(()) }
    }

    /// Databases that are in memory already.
    pub(crate) fn of_loaded(databases: Vec<Database>, config: &ServerConfig) -> Result<Self, Error> {
        let (mut slots, allow_not_private) = (BTreeMap::new(), config.allow_not_private);
        for database in databases {
            let name = database.name().to_owned();
            database.check_private(allow_not_private).map_err(|source| in_memory(&name, source))?;
            let slot = Slot::new(None, Versions::new(Some(database), config.keep_old));
            if slots.insert(name.clone(), slot).is_some() {
                let memory = || PathBuf::from("(memory)");
                return Err(Error::DuplicateName { name, first: memory(), second: memory() });
            }
        }
        Ok(Self::of(slots, allow_not_private, Sources::default()))
    }

    /// Says whether there is a registry for clients' keys; what is loaded and needs one is refused
    /// without.
    pub(crate) fn taking_clients(self, takes_clients: bool) -> Result<Self, Error> {
        let catalog = Self { takes_clients, ..self };
        catalog.loaded().iter().try_for_each(|database| catalog.check_clients(database))?;
        Ok(catalog)
    }

    fn check_clients(&self, database: &Database) -> Result<(), Error> {
        let description = database.description();
        if self.takes_clients || !description.limits.client_keys {
            return Ok(());
        }
        Err(Error::NeedsRegistry { name: database.name().to_owned(), scheme: description.scheme })
    }

    /// The databases that are loaded.
    pub(crate) fn loaded(&self) -> Vec<Arc<Database>> {
        self.slots.values().filter_map(Slot::newest).collect()
    }

    /// The newest version of the database of this name. Whoever holds it may finish with it after
    /// a swap.
    pub(crate) fn get(&self, name: &str) -> Result<Arc<Database>, Problem> {
        self.slot(name)?.newest().ok_or(Problem::NotReady)
    }

    /// All versions of the database of this name that are answered now, the newest first.
    pub(crate) fn standing(&self, name: &str) -> Result<Vec<Standing>, Problem> {
        Ok(self.slot(name)?.standing())
    }

    /// What a query to the database of this name may be answered from.
    pub(crate) fn answerable(&self, name: &str) -> Result<Answerable, Problem> {
        Answerable::of(self.standing(name)?).ok_or(Problem::NotReady)
    }

    /// All databases, when all are loaded.
    pub(crate) fn all(&self) -> Result<Vec<Arc<Database>>, Problem> {
        self.slots.values().map(|slot| slot.newest().ok_or(Problem::NotReady)).collect()
    }

    /// All names, loaded or not.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.slots.keys().map(String::as_str)
    }

    /// The name as the catalog has it: what may stand in metrics and logs.
    pub(crate) fn known(&self, name: &str) -> Option<&str> {
        self.slots.get_key_value(name).map(|(name, _)| name.as_str())
    }

    fn slot(&self, name: &str) -> Result<&Slot, Problem> {
        self.slots.get(name).ok_or_else(|| Problem::UnknownDatabase { known: self.listed() })
    }

    /// Loads every snapshot that lies in a file; where that fails, what was served stays.
    pub(crate) fn load(&self) -> Vec<Reloaded> {
        let _turn = self.loading.lock().unwrap_or_else(PoisonError::into_inner);
        self.files().map(|(name, slot, path)| self.load_one(name, slot, path)).collect()
    }

    /// The names whose files are others than those last looked into, with what they are now. Looks
    /// first at what lies elsewhere.
    pub(crate) fn changed(&self) -> Vec<(String, Option<Identity>)> {
        self.sources.look();
        let now = self.files().map(|(name, slot, path)| (name.to_owned(), slot.seen(), Identity::of(path)));
        now.filter(|(_, seen, found)| seen != found).map(|(name, _, found)| (name, found)).collect()
    }

    /// Loads the snapshots of these names.
    pub(crate) fn load_named(&self, names: &[String]) -> Vec<Reloaded> {
        let _turn = self.loading.lock().unwrap_or_else(PoisonError::into_inner);
        let wanted = self.files().filter(|(name, ..)| names.iter().any(|wanted| wanted == name));
        wanted.map(|(name, slot, path)| self.load_one(name, slot, path)).collect()
    }

    fn files(&self) -> impl Iterator<Item = (&str, &Slot, &Path)> {
        self.slots.iter().filter_map(|(name, slot)| Some((name.as_str(), slot, slot.path.as_deref()?)))
    }

    fn load_one(&self, name: &str, slot: &Slot, path: &Path) -> Reloaded {
        let refreshed = self.sources.refresh(path);
        // Before the file is opened: one that takes its place meanwhile is seen as another.
        slot.see(Identity::of(path));
        let opened = refreshed.and_then(|()| self.open(name, path)).map_err(|source| {
            let (name, path) = (name.to_owned(), path.to_owned());
            Error::Load { name, path, source: Box::new(source) }
        });
        let served = opened.and_then(|database| self.check_clients(&database).map(|()| database));
        let outcome = served.map(|database| slot.swap(database));
        match &outcome {
            Ok(version) => {
                tracing::info!(database = name, %version, "loaded");
                memory::report(self, name);
            }
            Err(error) => tracing::error!(database = name, %error, "not loaded"),
        }
        Reloaded { name: name.to_owned(), outcome }
    }

    /// Drops the old versions whose time is over.
    pub(crate) fn expire(&self) {
        self.slots.iter().for_each(|(name, slot)| slot.expire(name));
    }

    fn open(&self, name: &str, path: &Path) -> papir_store::Result<Database> {
        let database = Database::open(name, path)?;
        database.check_private(self.allow_not_private)?;
        Ok(database)
    }

    /// Serves another database under the name it brings.
    pub(crate) fn replace(&self, database: Database) -> Result<Version, Error> {
        let name = database.name().to_owned();
        database.check_private(self.allow_not_private).map_err(|source| in_memory(&name, source))?;
        self.check_clients(&database)?;
        let Some(slot) = self.slots.get(&name) else {
            return Err(Error::UnknownDatabase { name, known: self.listed() });
        };
        Ok(slot.swap(database))
    }

    fn listed(&self) -> String {
        self.names().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
    }
}

impl Slot {
    fn new(path: Option<PathBuf>, versions: Versions) -> Self {
        Self { path, versions: RwLock::new(versions), seen: Mutex::new(None) }
    }

    fn newest(&self) -> Option<Arc<Database>> {
        self.versions.read().unwrap_or_else(PoisonError::into_inner).newest()
    }

    fn standing(&self) -> Vec<Standing> {
        self.versions.read().unwrap_or_else(PoisonError::into_inner).standing(Instant::now())
    }

    fn swap(&self, database: Database) -> Version {
        let version = database.version();
        let gone =
            self.versions.write().unwrap_or_else(PoisonError::into_inner).put(database, Instant::now());
        // Outside of the lock: unmapping a large file takes time.
        drop(gone);
        version
    }

    fn expire(&self, name: &str) {
        let gone = self.versions.write().unwrap_or_else(PoisonError::into_inner).expire(Instant::now());
        for database in gone {
            tracing::info!(database = name, version = %database.version(), "an old version is dropped");
        }
    }

    fn seen(&self) -> Option<Identity> {
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn see(&self, identity: Option<Identity>) {
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = identity;
    }
}

fn in_memory(name: &str, source: papir_core::Error) -> Error {
    let source = Box::new(source.into());
    Error::Load { name: name.to_owned(), path: PathBuf::from("(memory)"), source }
}
