//! The next delta of a snapshot, while its changes are collected.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use papir_core::{Description, Progress, Shape};
use papir_lookup::delta::{DeltaChanges, MAX_DELTA_VALUE_BYTES};
use rand_core::CryptoRng;

use super::indexed::{BadLine, resolve};
use super::report::DeltaReport;
use crate::delta::{Base, Delta, MAX_DELTA_BYTES, check_base, write};
use crate::error::{Error, Result};
use crate::metadata::{Followed, Metadata};
use crate::names::name_of;
use crate::snapshot::{OpenOptions, Snapshot};
use crate::source::ChangeRow;

/// The changes since a base, with those of the delta before.
pub(crate) struct Draft {
    file: PathBuf,
    base: Snapshot,
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
    /// Opens a snapshot and its delta. The caller has locked the deltas.
    ///
    /// # Errors
    /// [`Error::Options`] for a base that cannot have a delta; errors of snapshot and delta.
    pub(crate) fn open(file: &Path) -> Result<Self> {
        let arrived = SystemTime::now();
        // A service verifies the snapshot. Here it would take as long as reading it.
        let opened = OpenOptions { verify: false, ..OpenOptions::default() };
        let base = Snapshot::open_with(file, opened)?;
        check_base(&base, file)?;
        let before = Delta::of(file, base.server.version(), &OpenOptions::default())?;
        let changes = before.as_ref().map_or_else(|| Ok(DeltaChanges::default()), Delta::changes)?;
        let in_base = base.keyword.is_none().then(|| base.server.describe().shape.records());
        let (records, followed) = match before {
            Some(delta) => (delta.metadata.records, delta.metadata.followed),
            None => (None, base.metadata.followed.clone()),
        };
        let records = records.or(in_base);
        let file = file.to_owned();
        Ok(Self { file, base, changes, records, followed, rows: 0, superseded: 0, arrived })
    }

    /// Returns true without any change since the base.
    pub(crate) fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// The metadata of the base.
    pub(crate) fn metadata(&self) -> &Metadata {
        &self.base.metadata
    }

    /// Length of the longest possible value in bytes.
    pub(crate) fn longest(&self) -> u64 {
        let longest = MAX_DELTA_VALUE_BYTES as u64;
        match self.records {
            Some(_) => longest.min(self.base.server.describe().shape.record_bytes() as u64),
            None => longest,
        }
    }

    /// Adds rows of changes; `source` is named in errors.
    ///
    /// # Errors
    /// [`Error::Line`] for a row that does not fit the base, and [`Error::Source`].
    pub(crate) fn add(&mut self, rows: Vec<ChangeRow>, source: &Path) -> Result<()> {
        self.add_all(rows, source).map_err(|refused| match refused {
            Refused::Line(bad) => bad.named(name_of(source)),
            Refused::Other(error) => error,
        })
    }

    /// Like [`Draft::add`], without the rows that do not fit the base, which are passed to `skip`.
    ///
    /// # Errors
    /// [`Error::Source`].
    pub(crate) fn add_fitting(
        &mut self,
        mut rows: Vec<ChangeRow>,
        source: &Path,
        mut skip: impl FnMut(u64, String),
    ) -> Result<()> {
        loop {
            match self.add_all(rows.clone(), source) {
                Ok(()) => return Ok(()),
                Err(Refused::Line(BadLine { line, reason })) => {
                    rows.retain(|row| row.line != line);
                    skip(line, reason);
                }
                Err(Refused::Other(error)) => return Err(error),
            }
        }
    }

    fn add_all(&mut self, rows: Vec<ChangeRow>, source: &Path) -> Result<(), Refused> {
        let count = rows.len() as u64;
        let named = |error| Refused::Other(Error::of_source(source)(error));
        match (self.records, &self.base.keyword) {
            (Some(records), _) => {
                let bytes = self.base.server.describe().shape.record_bytes() as u64;
                let shape = Shape::of_bytes(records, bytes).map_err(|error| Refused::Other(error.into()))?;
                let (changes, counts) = resolve(&shape, rows).map_err(Refused::Line)?;
                self.records = Some(records + counts.inserted);
                self.superseded += counts.superseded;
                for change in changes {
                    let changed =
                        self.changes.change_record(change.index, change.record, 0).map_err(named)?;
                    self.superseded += u64::from(changed);
                }
            }
            (None, Some(layout)) => {
                for ChangeRow { key, value, line } in rows {
                    let changed = self.changes.change_key(layout, &key, value, line).map_err(named)?;
                    self.superseded += u64::from(changed);
                }
            }
            (None, None) => {}
        }
        self.rows += count;
        Ok(())
    }

    /// Publishes the changes as the delta of the base. Returns `None` if there are none at all.
    ///
    /// # Errors
    /// [`Error::DeltaFull`] for changes of more than `most` bytes; errors of the scheme and of the file
    /// system.
    pub(crate) fn publish(
        &self,
        most: Option<u64>,
        rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Option<DeltaReport>> {
        let Self { file, base, changes, records, followed, rows, superseded, arrived } = self;
        let (rows, superseded, records) = (*rows, *superseded, *records);
        if changes.is_empty() {
            return Ok(None);
        }
        let (bytes, most) = (stored_bytes(changes), most.unwrap_or(MAX_DELTA_BYTES));
        if bytes > most {
            return Err(Error::DeltaFull { entries: changes.len() as u64, bytes, most });
        }
        let described = base.server.describe();
        let (followed, arrived) = (followed.clone(), Some(*arrived));
        let base = Base { followed, arrived, ..base_of(base, &described, records) };
        let metadata = write(file, &base, changes, rng, progress)?;
        Ok(Some(DeltaReport { metadata, rows, superseded, bytes, most }))
    }
}

/// The reason for refusing rows.
enum Refused {
    Line(BadLine),
    Other(Error),
}

/// The properties of a snapshot that its delta contains.
pub(super) fn base_of<'a>(base: &'a Snapshot, description: &Description, records: Option<u64>) -> Base<'a> {
    Base {
        name: &base.metadata.name,
        version: base.server.version(),
        layout: base.keyword.as_ref(),
        records,
        failure: description.failure_bound,
        followed: None,
        arrived: None,
    }
}

/// Bytes of changes: of each, its value, and a tag and a length.
fn stored_bytes(changes: &DeltaChanges) -> u64 {
    const EACH: u64 = 12;
    changes.value_bytes() + EACH * changes.len() as u64
}
