//! Publishes changes as a delta beside the snapshot.

use papir_core::{Description, Progress, Shape};
use papir_lookup::MAX_VALUE_BYTES;
use papir_lookup::delta::{DeltaChanges, MAX_DELTA_VALUE_BYTES};
use rand_core::CryptoRng;

use super::indexed::resolve;
use super::options::UpdateOptions;
use crate::delta::{Base, Delta, DeltaMetadata, MAX_DELTA_BYTES, check_base, lock_deltas, write};
use crate::error::{Error, Result};
use crate::names::name_of;
use crate::snapshot::{OpenOptions, Snapshot};
use crate::source::{ChangeRow, read_changes};

/// Result of an update of a delta.
#[derive(Clone, Debug)]
pub struct DeltaReport {
    /// The delta's metadata.
    pub metadata: DeltaMetadata,
    /// Rows of the file of changes.
    pub rows: u64,
    /// Rows that replace an earlier change of the same key since the base, in the file or the delta.
    pub superseded: u64,
    /// Bytes of all changes since the base: values, tags and lengths.
    pub bytes: u64,
    /// The most that they may have.
    pub most: u64,
}

/// Publishes changes as a delta beside the snapshot, with those of the delta before. The snapshot itself
/// stays as it is. Returns `None` if there are no changes at all.
///
/// # Errors
/// [`Error::Options`] for a base that cannot have a delta, and for more changes than `most` bytes; errors
/// of the file of changes, naming file and line; errors of the snapshot and of the file system.
pub fn update_delta(
    options: &UpdateOptions,
    most: Option<u64>,
    rng: &mut dyn CryptoRng,
    progress: &dyn Progress,
) -> Result<Option<DeltaReport>> {
    refuse_options(options)?;
    let _lock = lock_deltas(&options.file)?;
    let opened = OpenOptions { verify: false, ..OpenOptions::default() };
    let base = Snapshot::open_with(&options.file, opened)?;
    check_base(&base, &options.file)?;
    let before = Delta::of(&options.file, base.server.version(), &OpenOptions::default())?;
    let mut draft = Draft::new(&base, before.as_ref(), options)?;
    let superseded = draft.add(progress)?;
    let Draft { changes, records, rows, .. } = draft;
    if changes.is_empty() {
        return Ok(None);
    }
    let (bytes, most) = (stored_bytes(&changes), most.unwrap_or(MAX_DELTA_BYTES));
    if bytes > most {
        let found = format!("{} changes of {bytes} bytes since the base", changes.len());
        return Err(Error::options(found, format!("at most {most} bytes: merge them first (papir merge)")));
    }
    let described = base.server.describe();
    let base = base_of(&base, &described, records);
    let metadata = write(&options.file, &base, &changes, rng, progress)?;
    Ok(Some(DeltaReport { metadata, rows, superseded, bytes, most }))
}

/// What a delta states of a snapshot.
pub(super) fn base_of<'a>(base: &'a Snapshot, description: &Description, records: Option<u64>) -> Base<'a> {
    Base {
        name: &base.metadata.name,
        version: base.server.version(),
        layout: base.keyword.as_ref(),
        records,
        failure: description.failure_bound,
    }
}

/// Bytes of changes: of each, its value, and a tag and a length.
fn stored_bytes(changes: &DeltaChanges) -> u64 {
    const EACH: u64 = 12;
    changes.value_bytes() + EACH * changes.len() as u64
}

fn refuse_options(options: &UpdateOptions) -> Result<()> {
    let found = match options {
        UpdateOptions { out: Some(_), .. } => "another file for a delta",
        UpdateOptions { rebuild: true, .. } => "a rebuild of a delta",
        UpdateOptions { encrypt: Some(_), .. } => "an encrypted delta",
        UpdateOptions { sign: Some(_), .. } => "a signed delta",
        _ => return Ok(()),
    };
    Err(Error::options(found, "changes that are published beside the snapshot"))
}

/// Changes since the base, being collected.
struct Draft<'a> {
    options: &'a UpdateOptions,
    base: &'a Snapshot,
    changes: DeltaChanges,
    /// Number of records with the changes; `None` for a base with keys.
    records: Option<u64>,
    rows: u64,
}

impl<'a> Draft<'a> {
    fn new(base: &'a Snapshot, before: Option<&Delta>, options: &'a UpdateOptions) -> Result<Self> {
        let changes = before.map_or_else(|| Ok(DeltaChanges::default()), Delta::changes);
        let in_base = base.keyword.is_none().then(|| base.server.describe().shape.records());
        let records = before.and_then(|delta| delta.metadata.records).or(in_base);
        Ok(Self { options, base, changes: changes?, records, rows: 0 })
    }

    /// Adds the rows of the file of changes. Returns how many earlier changes they replace.
    fn add(&mut self, progress: &dyn Progress) -> Result<u64> {
        let most = match &self.base.keyword {
            Some(_) => MAX_VALUE_BYTES as u64,
            None => self.base.server.describe().shape.record_bytes() as u64,
        };
        let UpdateOptions { changes: path, format, .. } = self.options;
        let columns = self.options.columns(&self.base.metadata, most.min(MAX_DELTA_VALUE_BYTES as u64))?;
        let rows = read_changes(path, *format, &columns, progress)?;
        self.rows = rows.len() as u64;
        match self.records {
            Some(records) => self.add_records(records, rows),
            None => self.add_keys(rows),
        }
    }

    fn add_keys(&mut self, rows: Vec<ChangeRow>) -> Result<u64> {
        let Some(layout) = &self.base.keyword else { return Ok(0) };
        let mut superseded = 0;
        for ChangeRow { key, value, line } in rows {
            let changed = self.changes.change_key(layout, &key, value, line);
            superseded += u64::from(changed.map_err(Error::of_source(&self.options.changes))?);
        }
        Ok(superseded)
    }

    fn add_records(&mut self, records: u64, rows: Vec<ChangeRow>) -> Result<u64> {
        let bytes = self.base.server.describe().shape.record_bytes() as u64;
        let shape = Shape::of_bytes(records, bytes)?;
        let (changes, counts) =
            resolve(&shape, rows).map_err(|bad| bad.named(name_of(&self.options.changes)))?;
        self.records = Some(records + counts.inserted);
        let mut superseded = counts.superseded;
        for change in changes {
            let changed = self.changes.change_record(change.index, change.record, 0);
            superseded += u64::from(changed.map_err(Error::of_source(&self.options.changes))?);
        }
        Ok(superseded)
    }
}
