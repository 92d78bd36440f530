//! From a snapshot and a file of changes to the next snapshot, without the source.
//!
//! | where | what an update does |
//! |---|---|
//! | [`keyed`] | the table of keys is patched, or all keys are arranged again where they do not fit |
//! | [`indexed`] | records are replaced; new ones at the end need another preparation |
//! | [`renewal`] | changed records are prepared by the scheme's update, or all by its setup, whichever is cheaper |
//!
//! The new file takes the old one's name when it is complete and durable.

mod indexed;
mod keyed;
mod overlay;
mod renewal;
mod report;

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use papir_core::erased::ErasedServer;
use papir_core::{OwnerKey, Progress, Version};
use papir_lookup::update::ChangeCounts;
use papir_lookup::{Commitment, KeyIds, KeywordLayout};
use rand_core::CryptoRng;

use crate::metadata::{KeywordSummary, Metadata, timestamp};
use crate::save::{Keyword, Prepared, save};
use crate::snapshot::{OpenOptions, Snapshot};
use crate::source::{ChangeColumns, Format, read_changes};
use crate::{Error, Result, psi};

pub use report::{Prediction, UpdateReport, Way};

/// The room, in per cent, that a table of keys gets when an update arranges all keys again.
pub const REBUILD_ROOM: u32 = 5;
/// The same where a bucket holds fewer than 48 keys: their number varies more.
pub const REBUILD_ROOM_OF_FEW: u32 = 10;
/// From so many keys a bucket on, [`REBUILD_ROOM`] is enough.
const FEW_KEYS: u64 = 48;

/// What to change, by what.
#[derive(Clone, Debug)]
pub struct UpdateOptions {
    /// The snapshot.
    pub file: PathBuf,
    /// The file of changes; see [`read_changes`].
    pub changes: PathBuf,
    /// Its format; told by its extension where `None`.
    pub format: Option<Format>,
    /// The column of keys, or of the numbers of records that are looked up by index. Where `None`,
    /// that of the source; `index` for records without keys.
    pub key: Option<String>,
    /// The columns of values. Where empty, those of the source; `value` where it was raw.
    pub values: Vec<String>,
    /// The column that marks deletions.
    pub delete: Option<String>,
    /// Where the new snapshot goes; over the old one where `None`.
    pub out: Option<PathBuf>,
    /// Whether everything is arranged and prepared again, whatever is cheaper.
    pub rebuild: bool,
    /// The owner's key of an encrypted database.
    pub encrypt: Option<OwnerKey>,
}

impl UpdateOptions {
    /// Options with every default.
    pub fn new(file: impl Into<PathBuf>, changes: impl Into<PathBuf>) -> Self {
        Self {
            file: file.into(),
            changes: changes.into(),
            format: None,
            key: None,
            values: Vec::new(),
            delete: None,
            out: None,
            rebuild: false,
            encrypt: None,
        }
    }

    /// The columns to read.
    fn columns(&self, metadata: &Metadata, longest_value: u64) -> Result<ChangeColumns> {
        let by_index = metadata.keyword.is_none();
        let index = || by_index.then(|| "index".to_owned());
        let key = self.key.clone().or_else(|| metadata.source.key.clone()).or_else(index);
        let key = key.ok_or_else(|| Error::options("changes without a key column", "its name"))?;
        let mut values = if self.values.is_empty() { &metadata.source.values } else { &self.values }.clone();
        if values.is_empty() && by_index {
            values.push("value".to_owned());
        }
        Ok(ChangeColumns { key, values, delete: self.delete.clone(), longest_value })
    }
}

/// A database after its changes.
struct Next {
    server: Box<dyn ErasedServer>,
    commitment: Option<Commitment>,
    keyword: Option<(KeywordLayout, KeyIds, KeywordSummary)>,
    way: Way,
}

/// Changes a snapshot. Where nothing changes, no file is written. The old file stays whole whenever
/// this is interrupted.
///
/// # Errors
/// Those of the snapshot and of the file of changes, each naming file and line; [`Error::Options`] for
/// a snapshot without the ids of its keys; those of the scheme, and [`papir_core::Error::Io`].
pub fn update(
    options: &UpdateOptions,
    rng: &mut dyn CryptoRng,
    progress: &dyn Progress,
) -> Result<UpdateReport> {
    let _alone = alone(&options.file)?;
    progress.stage("opening", 1);
    let opened = OpenOptions { owner: options.encrypt.clone(), ..OpenOptions::default() };
    let snapshot = Snapshot::open_with(&options.file, opened)?;
    progress.advance(1);
    psi::refuse(&snapshot, &options.file, "prepare it again with `papir psi prepare`")?;
    let (counts, next) = match &snapshot.keyword {
        Some(layout) => keyed::update(options, &snapshot, layout, rng, progress)?,
        None => indexed::update(options, &snapshot, rng, progress)?,
    };
    match next {
        Some(next) => publish(options, &snapshot, counts, next, rng, progress),
        None => Ok(unchanged(snapshot, counts)),
    }
}

/// Keeps other updates of the file away as long as it is held: the later one would undo the earlier.
/// Where the file system has no locks, [`still`] finds most of it.
fn alone(file: &Path) -> Result<File> {
    let opened = File::open(file).map_err(Error::io("opening", file))?;
    match opened.try_lock() {
        Err(TryLockError::WouldBlock) => {
            let found = format!("{} while another update changes it", file.display());
            Err(Error::options(found, "one update at a time: try again when it has ended"))
        }
        _ => Ok(opened),
    }
}

fn unchanged(snapshot: Snapshot, counts: ChangeCounts) -> UpdateReport {
    let description = snapshot.server.describe();
    let (metadata, snapshot_bytes) = (snapshot.metadata, snapshot.file_bytes);
    UpdateReport { metadata, description, counts, way: Way::Unchanged, snapshot_bytes }
}

fn publish(
    options: &UpdateOptions,
    snapshot: &Snapshot,
    counts: ChangeCounts,
    next: Next,
    rng: &mut dyn CryptoRng,
    progress: &dyn Progress,
) -> Result<UpdateReport> {
    let Next { server, commitment, keyword, way } = next;
    let summary = keyword.as_ref().map(|keys| keys.2.clone());
    let summary = if options.encrypt.is_some() { summary.map(KeywordSummary::concealed) } else { summary };
    let mut metadata = metadata(&snapshot.metadata, server.as_ref(), summary.as_ref());
    let layout = keyword.as_ref().map(|keys| &keys.0);
    metadata.root = commitment.as_ref().map(|commitment| commitment.root(layout).to_string());
    let (commitment, owner) = (commitment.as_ref(), options.encrypt.as_ref());
    let owned = keyword.as_ref().map(|(layout, ids, _)| Keyword::new(owner, layout, ids, rng)).transpose()?;
    let prepared = Prepared { metadata: &metadata, keyword: owned, commitment, server: server.as_ref() };
    let path = options.out.as_ref().unwrap_or(&options.file);
    let last = || if *path == options.file { still(snapshot.server.version(), options) } else { Ok(()) };
    let snapshot_bytes = save(path, rng.next_u64(), &prepared, last, progress)?;
    let description = server.describe();
    Ok(UpdateReport { metadata, description, counts, way, snapshot_bytes })
}

/// The old metadata, brought up to date.
fn metadata(old: &Metadata, server: &dyn ErasedServer, keyword: Option<&KeywordSummary>) -> Metadata {
    let shape = server.describe().shape;
    Metadata {
        papir: env!("CARGO_PKG_VERSION").to_owned(),
        version: server.version().to_string(),
        records: shape.records(),
        record_bits: shape.record_bits(),
        keyword: keyword.cloned(),
        updated: Some(timestamp(SystemTime::now())),
        updates: old.updates + 1,
        ..old.clone()
    }
}

/// Refuses to replace a file that another update or build has replaced meanwhile.
fn still(expected: Version, options: &UpdateOptions) -> Result<()> {
    let now = Snapshot::open_with(&options.file, OpenOptions { verify: false, owner: None })?;
    let found = now.server.version();
    if found == expected {
        return Ok(());
    }
    let found = format!("{} became version {found} during the update", options.file.display());
    Err(Error::options(found, format!("version {expected}, which was read")))
}
