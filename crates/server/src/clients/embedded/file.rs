//! File of the tables.
//!
//! Changes are on disk on return. After a failure, the file is opened again.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};

use redb::{
    Database, DatabaseError, Durability, ReadTransaction, ReadableDatabase, StorageError,
    WriteTransaction,
};

use crate::admission::catch_panic;
use crate::clients::error::StoreError;
use crate::clients::key_files::make_private;
use crate::clients::tables::Result;

/// Pause between attempts to open the file again.
const OPEN_EVERY: Duration = Duration::from_secs(1);
/// Length of redb's own header, in bytes.
const HEADER_BYTES: usize = 64;

/// The file. Only one process can have it open.
///
/// After a failed write, redb refuses everything until the file is opened again. So a failure
/// closes the file, and the next access opens it.
pub(super) struct TableFile {
    path: PathBuf,
    opened: RwLock<Opened>,
    failing: AtomicBool,
    /// Number of committed changes.
    commits: AtomicU64,
    /// Number of them that are known to be on disk. Held while a thread writes to disk.
    durable: Mutex<u64>,
    /// Number of writes to disk.
    syncs: AtomicU64,
}

/// The open file, or none after a failure.
struct Opened {
    tables: Option<Database>,
    /// Number of times that the file was opened.
    times: u64,
    last_attempt: Instant,
}

impl TableFile {
    /// Opens or creates the file.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let opened = Opened {
            tables: Some(open(path)?),
            times: 1,
            last_attempt: Instant::now(),
        };
        Ok(Self {
            path: path.to_owned(),
            opened: RwLock::new(opened),
            failing: AtomicBool::new(false),
            commits: AtomicU64::new(0),
            durable: Mutex::new(0),
            syncs: AtomicU64::new(0),
        })
    }

    /// Returns true from a failure on until [`Self::recovered`].
    pub(super) fn is_failing(&self) -> bool {
        self.failing.load(Ordering::Relaxed)
    }

    /// Notes that a probe has succeeded.
    pub(super) fn recovered(&self) {
        self.failing.store(false, Ordering::Relaxed);
    }

    /// Number of writes to disk since the start. A write contains all changes that waited for it.
    pub(super) fn syncs(&self) -> u64 {
        self.syncs.load(Ordering::Relaxed)
    }

    /// Reads a consistent state of the tables.
    pub(super) fn read<T>(&self, work: impl FnOnce(&ReadTransaction) -> Result<T>) -> Result<T> {
        self.with(|tables| work(&tables.begin_read()?))
    }

    /// Changes the tables in one transaction, unless `change` returns false or fails. The change is
    /// on disk on return.
    pub(super) fn write(
        &self,
        change: impl FnOnce(&WriteTransaction) -> Result<bool>,
    ) -> Result<()> {
        self.with(|tables| {
            let mut transaction = tables.begin_write()?;
            transaction.set_durability(Durability::None)?;
            if !change(&transaction)? {
                return Ok(transaction.abort()?);
            }

            // Not durable yet: threads that commit at the same time share one write to disk.
            transaction.commit()?;
            let number = self.commits.fetch_add(1, Ordering::SeqCst) + 1;
            self.flush(tables, number)
        })
    }

    /// Returns once the first `number` changes are on disk. Threads that wait for each other's
    /// write share the next one.
    fn flush(&self, tables: &Database, number: u64) -> Result<()> {
        let mut durable = self.durable.lock().unwrap_or_else(PoisonError::into_inner);
        if *durable >= number {
            return Ok(());
        }

        // Loaded before the write, which need not contain changes that are committed meanwhile.
        let committed = self.commits.load(Ordering::SeqCst);

        // A durable commit makes all earlier ones durable, too.
        tables.begin_write()?.commit()?;
        *durable = committed;
        self.syncs.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Uses the open file. A failure of the file closes it.
    fn with<T>(&self, work: impl FnOnce(&Database) -> Result<T>) -> Result<T> {
        let opened = self.opened()?;
        let Some(tables) = &opened.tables else {
            return Err(StoreError::closed());
        };

        let outcome = work(tables);
        let times = opened.times;

        // Dropped first: closing needs the lock that this holds.
        drop(opened);
        if outcome.as_ref().is_err_and(StoreError::is_of_tables) {
            self.close(times);
        }
        outcome
    }

    /// Opens the file if it is closed and the last attempt is long ago.
    fn opened(&self) -> Result<RwLockReadGuard<'_, Opened>> {
        let opened = self.opened.read().unwrap_or_else(PoisonError::into_inner);
        if opened.tables.is_some() || opened.last_attempt.elapsed() < OPEN_EVERY {
            return Ok(opened);
        }
        drop(opened);

        // Looked at again: another thread may have opened it between the two locks.
        let mut closed = self.exclusive();
        if closed.tables.is_none() {
            closed.last_attempt = Instant::now();
            closed.tables = Some(open(&self.path)?);
            closed.times += 1;
            tracing::info!("the client registry is open again");
        }

        drop(closed);
        Ok(self.opened.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Closes the file, unless it was opened again since the failure: a late failure says nothing
    /// about the file that is open now.
    fn close(&self, times: u64) {
        let mut opened = self.exclusive();
        if opened.times == times {
            self.failing.store(true, Ordering::Relaxed);
            opened.tables = None;
        }
    }

    fn exclusive(&self) -> RwLockWriteGuard<'_, Opened> {
        self.opened.write().unwrap_or_else(PoisonError::into_inner)
    }
}

fn open(path: &Path) -> Result<Database> {
    make_private(path)?;
    check_length(path)?;

    match unless_damaged(|| Database::create(path))? {
        Err(DatabaseError::Storage(StorageError::Io(error)))
            if [ErrorKind::InvalidData, ErrorKind::UnexpectedEof].contains(&error.kind()) =>
        {
            Err(StoreError::damaged(error))
        }
        Err(DatabaseError::Storage(error @ StorageError::Corrupted(_))) => {
            Err(StoreError::damaged(error))
        }
        opened => Ok(opened?),
    }
}

/// Works with a file that may be damaged. redb panics at some damage.
pub(super) fn unless_damaged<T>(work: impl FnOnce() -> T) -> Result<T> {
    catch_panic(work).map_err(|_| StoreError::damaged("its tables contradict each other"))
}

/// Checks that a file is as long as its header says. redb asserts that, and panics.
fn check_length(path: &Path) -> Result<()> {
    let mut header = Vec::new();
    let file = File::open(path)?;
    let found = file.metadata()?.len();
    file.take(HEADER_BYTES as u64).read_to_end(&mut header)?;

    let expected = match header.first_chunk() {
        Some(header) => expected_length(header),
        None => HEADER_BYTES as u64,
    };
    // An empty file is a new one.
    if found == 0 || found >= expected {
        return Ok(());
    }
    let reason = format!("it has {found} bytes: expected at least {expected}");
    Err(StoreError::damaged(reason))
}

/// The length of a file with this header, in bytes (redb's design.md): a page with the header, full
/// regions, and one that is partly used. 0 for another kind of file.
fn expected_length(header: &[u8; HEADER_BYTES]) -> u64 {
    const MAGIC: &[u8] = b"redb\x1a\x0a\xa9\x0d\x0a";
    const PAGE_BYTES: usize = 12;
    const REGION_HEADER_PAGES: usize = 16;
    const REGION_PAGES: usize = 20;
    const FULL_REGIONS: usize = 24;
    const LAST_REGION_PAGES: usize = 28;

    if !header.starts_with(MAGIC) {
        return 0;
    }

    let header_pages = number_at(header, REGION_HEADER_PAGES);
    let region = header_pages.saturating_add(number_at(header, REGION_PAGES));
    let last = match number_at(header, LAST_REGION_PAGES) {
        0 => 0,
        pages => header_pages.saturating_add(pages),
    };

    let pages = number_at(header, FULL_REGIONS)
        .saturating_mul(region)
        .saturating_add(last)
        .saturating_add(1);
    pages.saturating_mul(number_at(header, PAGE_BYTES))
}

/// The number of 4 bytes at an offset.
fn number_at(header: &[u8; HEADER_BYTES], offset: usize) -> u64 {
    let bytes = header[offset..].first_chunk().copied();
    u64::from(bytes.map_or(0, u32::from_le_bytes))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Barrier;
    use std::thread;

    use redb::{ReadableTableMetadata, TableDefinition};

    use super::*;

    const TABLE: TableDefinition<'_, u64, u64> = TableDefinition::new("numbers");

    fn insert(file: &TableFile, number: u64) -> Result<()> {
        file.write(|transaction| {
            transaction.open_table(TABLE)?.insert(number, number)?;
            Ok(true)
        })
    }

    fn count(file: &TableFile) -> u64 {
        file.read(|transaction| Ok(transaction.open_table(TABLE)?.len()?))
            .unwrap()
    }

    #[test]
    fn changes_of_many_threads_are_on_disk_on_return() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tables");
        let file = TableFile::open(&path).unwrap();
        let start = Barrier::new(8);

        thread::scope(|scope| {
            for thread in 0..8 {
                let file = &file;
                let start = &start;
                scope.spawn(move || {
                    start.wait();
                    (0..20).for_each(|number| {
                        insert(file, 100 * thread + number).unwrap();
                        let durable = *file.durable.lock().unwrap();
                        assert!(durable <= file.commits.load(Ordering::SeqCst));
                    });
                });
            }
        });

        assert_eq!(*file.durable.lock().unwrap(), 160);
        drop(file);
        assert_eq!(count(&TableFile::open(&path).unwrap()), 160);
    }

    #[test]
    fn changes_that_wait_for_a_write_share_the_next_one() {
        let folder = tempfile::tempdir().unwrap();
        let file = TableFile::open(&folder.path().join("tables")).unwrap();
        insert(&file, 0).unwrap();
        assert_eq!(file.syncs(), 1);

        let file = &file;
        thread::scope(|scope| {
            // Held as by a thread that writes.
            let writing = file.durable.lock().unwrap();
            for number in 1..=8 {
                scope.spawn(move || insert(file, number).unwrap());
            }
            while file.commits.load(Ordering::SeqCst) < 9 {
                thread::yield_now();
            }
            drop(writing);
        });

        assert_eq!(file.syncs(), 2);
        assert_eq!(*file.durable.lock().unwrap(), 9);
        assert_eq!(count(file), 9);
    }

    #[test]
    fn a_damaged_file_is_refused_with_a_remedy() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tables");
        let file = TableFile::open(&path).unwrap();
        (0..50).for_each(|number| insert(&file, number).unwrap());
        drop(file);
        let whole = std::fs::read(&path).unwrap();

        let mut other = whole.clone();
        other[..9].copy_from_slice(b"redb 1.00");
        let half = &whole[..whole.len() / 2];
        for damaged in [half, &whole[..100], &whole[..9], &other] {
            std::fs::write(&path, damaged).unwrap();
            let error = TableFile::open(&path).err().unwrap().to_string();
            assert!(
                error.contains("damaged") && error.contains("register anew"),
                "{} bytes: {error}",
                damaged.len()
            );
        }

        std::fs::write(&path, &whole).unwrap();
        assert_eq!(count(&TableFile::open(&path).unwrap()), 50);
    }

    #[test]
    fn a_refused_change_leaves_no_trace() {
        let folder = tempfile::tempdir().unwrap();
        let file = TableFile::open(&folder.path().join("tables")).unwrap();
        insert(&file, 1).unwrap();

        file.write(|transaction| {
            transaction.open_table(TABLE)?.insert(2, 2)?;
            Ok(false)
        })
        .unwrap();
        let failed = file.write(|transaction| {
            transaction.open_table(TABLE)?.insert(3, 3)?;
            Err(std::io::Error::other("on purpose").into())
        });

        assert!(
            failed.is_err() && !file.is_failing(),
            "the file did not fail"
        );
        assert_eq!(count(&file), 1);
    }

    /// The tables as after a failed write: redb refuses everything.
    #[test]
    fn after_a_failure_the_file_is_opened_again() {
        let folder = tempfile::tempdir().unwrap();
        let file = TableFile::open(&folder.path().join("tables")).unwrap();
        insert(&file, 1).unwrap();

        let failed = file.write(|_| Err(redb::StorageError::PreviousIo.into()));
        assert!(failed.is_err() && file.is_failing());
        // Later than now, so that it stays just now on a machine that stalls.
        file.exclusive().last_attempt = Instant::now() + 3600 * OPEN_EVERY;
        assert!(
            insert(&file, 2).is_err(),
            "the last attempt to open it was just now"
        );

        file.exclusive().last_attempt = Instant::now().checked_sub(OPEN_EVERY).unwrap();
        file.write(|_| Ok(true)).unwrap();
        assert!(file.is_failing(), "only a probe shows that there is room");

        file.close(1);
        assert_eq!(count(&file), 1, "a late failure closes nothing");
        file.recovered();
        assert!(!file.is_failing());
    }
}
