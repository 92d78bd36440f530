//! The databases by name; each can be replaced while it is being asked.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use papir_core::Version;

use crate::config::DatabaseConfig;
use crate::database::Database;
use crate::problem::Problem;
use crate::{Error, Reloaded};

/// All databases of a service.
pub(crate) struct Catalog {
    slots: BTreeMap<String, Slot>,
    allow_not_private: bool,
    /// Held while loading, so that an older reload never overtakes a newer one.
    loading: Mutex<()>,
}

/// A name: where its snapshot lies, if in a file, and what is served now, if loaded.
struct Slot {
    path: Option<PathBuf>,
    current: RwLock<Option<Arc<Database>>>,
}

impl Catalog {
    /// Names whose snapshots are not loaded yet.
    pub(crate) fn unloaded(configs: &[DatabaseConfig], allow_not_private: bool) -> Self {
        let slot = |config: &DatabaseConfig| {
            let slot = Slot { path: Some(config.path.clone()), current: RwLock::new(None) };
            (config.name.clone(), slot)
        };
        let slots = configs.iter().map(slot).collect();
        Self { slots, allow_not_private, loading: Mutex::new(()) }
    }

    /// Databases that are in memory already.
    pub(crate) fn of_loaded(databases: Vec<Database>, allow_not_private: bool) -> Result<Self, Error> {
        let mut slots = BTreeMap::new();
        for database in databases {
            let name = database.name().to_owned();
            database.check_private(allow_not_private).map_err(|source| in_memory(&name, source))?;
            let slot = Slot { path: None, current: RwLock::new(Some(Arc::new(database))) };
            if slots.insert(name.clone(), slot).is_some() {
                let memory = || PathBuf::from("(memory)");
                return Err(Error::DuplicateName { name, first: memory(), second: memory() });
            }
        }
        Ok(Self { slots, allow_not_private, loading: Mutex::new(()) })
    }

    /// The database of this name, as it is now. Whoever holds it may finish with it after a swap.
    pub(crate) fn get(&self, name: &str) -> Result<Arc<Database>, Problem> {
        let slot = self.slots.get(name).ok_or_else(|| Problem::UnknownDatabase { known: self.names() })?;
        slot.current().ok_or(Problem::NotReady)
    }

    /// All databases, when all are loaded.
    pub(crate) fn all(&self) -> Result<Vec<Arc<Database>>, Problem> {
        self.slots.values().map(|slot| slot.current().ok_or(Problem::NotReady)).collect()
    }

    /// Loads every snapshot that lies in a file; where that fails, what was served stays.
    pub(crate) fn load(&self) -> Vec<Reloaded> {
        let _turn = self.loading.lock().unwrap_or_else(PoisonError::into_inner);
        let files = self.slots.iter().filter_map(|(name, slot)| Some((name, slot, slot.path.as_ref()?)));
        files.map(|(name, slot, path)| self.load_one(name, slot, path)).collect()
    }

    fn load_one(&self, name: &str, slot: &Slot, path: &Path) -> Reloaded {
        let outcome = self.open(name, path).map(|database| slot.swap(database)).map_err(|source| {
            let (name, path) = (name.to_owned(), path.to_owned());
            Error::Load { name, path, source: Box::new(source) }
        });
        match &outcome {
            Ok(version) => tracing::info!(database = name, %version, "loaded"),
            Err(error) => tracing::error!(database = name, %error, "not loaded"),
        }
        Reloaded { name: name.to_owned(), outcome }
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
        let Some(slot) = self.slots.get(&name) else {
            return Err(Error::UnknownDatabase { name, known: self.names() });
        };
        Ok(slot.swap(database))
    }

    fn names(&self) -> String {
        self.slots.keys().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
    }
}

impl Slot {
    fn current(&self) -> Option<Arc<Database>> {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn swap(&self, database: Database) -> Version {
        let version = database.version();
        let old = self.current.write().unwrap_or_else(PoisonError::into_inner).replace(Arc::new(database));
        // Dropped outside of the lock: unmapping a large file takes time.
        drop(old);
        version
    }
}

fn in_memory(name: &str, source: papir_core::Error) -> Error {
    let source = Box::new(source.into());
    Error::Load { name: name.to_owned(), path: PathBuf::from("(memory)"), source }
}
