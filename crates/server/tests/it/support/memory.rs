//! Client state in memory.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};

use papir_client::core::StoreLock;
use papir_client::{Error, Result, StateEntry, StateStorage};
use zeroize::Zeroizing;

/// The entries of slots by the slots' names.
type Entries = HashMap<(String, StateEntry), Vec<u8>>;

/// A storage in memory, which fails to write while `broken` is set. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    entries: Arc<Mutex<Entries>>,
    locks: Arc<(Mutex<HashSet<String>>, Condvar)>,
    pub broken: Arc<AtomicBool>,
}

struct SlotLock(Memory, String);

impl Drop for SlotLock {
    fn drop(&mut self) {
        let (locked, released) = &*self.0.locks;
        locked.lock().unwrap().remove(&self.1);
        released.notify_all();
    }
}

impl Memory {
    /// The entries of all slots, in no order.
    pub fn entries(&self) -> Vec<StateEntry> {
        self.entries
            .lock()
            .unwrap()
            .keys()
            .map(|(_, entry)| *entry)
            .collect()
    }
}

impl StateStorage for Memory {
    fn lock(&self, slot: &str) -> Result<StoreLock> {
        let (locked, released) = &*self.locks;
        let locked = locked.lock().unwrap();
        released
            .wait_while(locked, |locked| locked.contains(slot))
            .unwrap()
            .insert(slot.to_owned());
        Ok(StoreLock::new(SlotLock(self.clone(), slot.to_owned())))
    }

    fn read(
        &self,
        slot: &str,
        entry: StateEntry,
        limit: u64,
    ) -> Result<Option<Zeroizing<Vec<u8>>>> {
        let entries = self.entries.lock().unwrap();
        let bytes = entries.get(&(slot.to_owned(), entry)).cloned();
        Ok(bytes.map(|bytes| Zeroizing::new(bytes.into_iter().take(limit as usize).collect())))
    }

    fn replace(&self, slot: &str, entry: StateEntry, bytes: &[u8]) -> Result<()> {
        if self.broken.load(Ordering::Relaxed) {
            return Err(Error::StateFile {
                path: PathBuf::new(),
                source: io::Error::other("full"),
            });
        }
        self.entries
            .lock()
            .unwrap()
            .insert((slot.to_owned(), entry), bytes.to_vec());
        Ok(())
    }

    fn remove(&self, slot: &str, entry: StateEntry) -> Result<()> {
        self.entries
            .lock()
            .unwrap()
            .remove(&(slot.to_owned(), entry));
        Ok(())
    }
}
