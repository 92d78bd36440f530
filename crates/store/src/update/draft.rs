//! Draft: the next delta, while its changes are collected.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use papir_checkpoint::Log;
use papir_core::{Description, Run, Shape};
use papir_lookup::delta::{DeltaChanges, MAX_DELTA_BYTES, MAX_DELTA_VALUE_BYTES};

use super::indexed::{BadLine, resolve};
use super::report::DeltaReport;
use crate::delta::{Delta, DeltaBase, check_base, write};
use crate::error::{Error, Result};
use crate::file::name_of;
use crate::snapshot::{Followed, Metadata, OpenOptions, Sign, Signing, Snapshot, unsigned_base};
use crate::source::ChangeRow;
use crate::versions::continued;

/// The changes since a base, with the changes of the delta before.
pub(crate) struct Draft {
    file: PathBuf,
    base: Snapshot,
    /// The shape of the base's records, without proofs.
    shape: Shape,
    sign: Option<Sign>,
    /// The log to continue.
    log: Option<Log>,
    changes: DeltaChanges,
    /// Number of records with the changes; `None` for a base with keys.
    records: Option<u64>,
    /// The place in a followed source up to which the changes are in.
    pub(crate) followed: Option<Followed>,
    rows: u64,
    superseded: u64,
    /// The time of the first change that is not yet published.
    arrived: SystemTime,
}

impl Draft {
    /// Opens a snapshot and its delta, to be signed if the snapshot is. The caller has locked the
    /// deltas. Refuses a base that cannot have a delta, a signed base without a key, and a key for
    /// an unsigned base.
    pub(crate) fn open(file: &Path, sign: Option<&Sign>) -> Result<Self> {
        let arrived = SystemTime::now();
        // A service verifies the snapshot. Here it would take as long as reading it.
        let base = Snapshot::open_with(file, OpenOptions::lazy())?;
        check_base(&base, file)?;
        let before = Delta::of(file, base.server.version(), &OpenOptions::default())?;

        // The delta's log is the newer one: its leaf comes after that of the base.
        let log = before
            .as_ref()
            .and_then(|delta| delta.log.clone())
            .or_else(|| base.checkpoint.clone());
        let log = continued(log, file, sign)?;
        if log.is_none() && sign.is_some() {
            return Err(unsigned_base(&file.display().to_string()));
        }

        // All changes since the base, not only the new ones: the next delta replaces the one
        // before.
        let changes = match &before {
            Some(delta) => delta.changes()?,
            None => DeltaChanges::default(),
        };
        let shape = base.shape()?;
        let in_base = base.keyword.is_none().then(|| shape.records());
        // As of the delta, which may have more records than the base, and a later place in the
        // source.
        let (records, followed) = match before {
            Some(delta) => (delta.metadata.records.or(in_base), delta.metadata.followed),
            None => (in_base, base.metadata.followed.clone()),
        };

        Ok(Self {
            file: file.to_owned(),
            base,
            shape,
            sign: sign.cloned(),
            log,
            changes,
            records,
            followed,
            rows: 0,
            superseded: 0,
            arrived,
        })
    }

    /// Returns true without any change since the base.
    pub(crate) fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// The metadata of the base.
    pub(crate) fn metadata(&self) -> &Metadata {
        &self.base.metadata
    }

    /// The index of the next record; `None` for a base with keys.
    pub(crate) fn next_index(&self) -> Option<u64> {
        self.records
    }

    /// Length of the longest possible value in bytes.
    pub(crate) fn longest(&self) -> u64 {
        let longest = MAX_DELTA_VALUE_BYTES as u64;
        match self.records {
            Some(_) => longest.min(self.shape.record_bytes() as u64),
            None => longest,
        }
    }

    /// Adds rows of changes; `source` is named in errors. Refuses a row that does not fit the base.
    pub(crate) fn add(&mut self, rows: Vec<ChangeRow>, source: &Path) -> Result<()> {
        self.add_all(rows, source, |bad| Err(bad.named(name_of(source))))
    }

    /// Like [`Draft::add`], without the rows that do not fit the base, which are passed to `skip`.
    pub(crate) fn add_fitting(
        &mut self,
        rows: Vec<ChangeRow>,
        source: &Path,
        mut skip: impl FnMut(u64, String),
    ) -> Result<()> {
        self.add_all(rows, source, |BadLine { line, reason }| {
            skip(line, reason);
            Ok(())
        })
    }

    /// Adds rows. Those that do not fit the base are passed to `refused`, and left out unless it
    /// fails.
    fn add_all(
        &mut self,
        rows: Vec<ChangeRow>,
        source: &Path,
        refused: impl FnMut(BadLine) -> Result<()>,
    ) -> Result<()> {
        match self.records {
            Some(records) => self.add_records(records, rows, source, refused),
            None => self.add_keys(rows, source),
        }
    }

    /// Adds changes of a base without keys, which has `records` records with the changes before.
    fn add_records(
        &mut self,
        records: u64,
        rows: Vec<ChangeRow>,
        source: &Path,
        refused: impl FnMut(BadLine) -> Result<()>,
    ) -> Result<()> {
        // Judged against the records with all changes so far: a record that the delta added may be
        // replaced.
        let shape = Shape::of_bytes(records, self.shape.record_bytes() as u64)?;
        let (changes, counts) = resolve(&shape, rows, refused)?;
        self.records = Some(records + counts.inserted);
        self.superseded += counts.superseded;
        self.rows += changes.len() as u64 + counts.superseded;

        let named = Error::of_source(source);
        for change in changes {
            let changed = self
                .changes
                .change_record(change.index, change.record, 0)
                .map_err(&named)?;
            self.superseded += u64::from(changed);
        }
        Ok(())
    }

    /// Adds changes of a base with keys.
    fn add_keys(&mut self, rows: Vec<ChangeRow>, source: &Path) -> Result<()> {
        let Some(layout) = &self.base.keyword else {
            return Ok(());
        };

        let named = Error::of_source(source);
        for ChangeRow { key, value, line } in rows {
            let changed = self
                .changes
                .change_key(layout, &key, value, line)
                .map_err(&named)?;
            self.superseded += u64::from(changed);
            self.rows += 1;
        }
        Ok(())
    }

    /// Publishes the changes as the delta of the base. Returns `None` if there are none at all.
    /// Refuses changes of more than `most` bytes.
    pub(crate) fn publish(
        &self,
        most: Option<u64>,
        run: &mut Run<'_>,
    ) -> Result<Option<DeltaReport>> {
        if self.changes.is_empty() {
            return Ok(None);
        }
        // Refused before it is prepared. The caller may merge, and add the same changes again.
        let bytes = self.changes.bytes();
        let most = most.unwrap_or(MAX_DELTA_BYTES);
        if bytes > most {
            return Err(Error::DeltaFull {
                entries: self.changes.len() as u64,
                bytes,
                most,
            });
        }

        let name = &self.base.metadata.name;
        let signing = Signing::of(self.sign.as_ref(), self.log.clone(), name, &self.file)?;
        let description = self.base.server.describe();
        let base = DeltaBase {
            followed: self.followed.clone(),
            arrived: Some(self.arrived),
            signing: signing.as_ref(),
            ..base_of(&self.base, &description, self.records)
        };

        // One file with all changes replaces the delta before: a crash leaves the one or the other.
        let (metadata, checkpoint) = write(&self.file, &base, &self.changes, run)?;
        Ok(Some(DeltaReport {
            metadata,
            rows: self.rows,
            superseded: self.superseded,
            bytes,
            most,
            checkpoint,
        }))
    }
}

/// The properties of a snapshot that its delta contains.
pub(super) fn base_of<'a>(
    base: &'a Snapshot,
    description: &Description,
    records: Option<u64>,
) -> DeltaBase<'a> {
    DeltaBase {
        name: &base.metadata.name,
        version: base.server.version(),
        layout: base.keyword.as_ref(),
        prefilter: base.metadata.prefilter,
        records,
        failure: description.failure_bound,
        followed: None,
        arrived: None,
        verifiable: base.commitment_top.is_some(),
        signing: None,
    }
}
