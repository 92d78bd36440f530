//! The next delta of a snapshot, while its changes are collected.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use papir_checkpoint::Log;
use papir_core::{Description, Progress, Shape};
use papir_lookup::delta::{DeltaChanges, MAX_DELTA_BYTES, MAX_DELTA_VALUE_BYTES};
use rand_core::CryptoRng;

use super::indexed::{BadLine, resolve};
use super::report::DeltaReport;
use crate::delta::{Base, Delta, check_base, write};
use crate::error::{Error, Result};
use crate::metadata::{Followed, Metadata};
use crate::names::name_of;
use crate::sections::Verify;
use crate::signing::{Sign, Signing, unsigned_base};
use crate::snapshot::{OpenOptions, Snapshot};
use crate::source::ChangeRow;
use crate::stored_log::continued;

/// The changes since a base, with those of the delta before.
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
    /// Opens a snapshot and its delta, to be signed if the snapshot is. The caller has locked the deltas.
    ///
    /// # Errors
    /// [`Error::Options`] for a base that cannot have a delta, and for a signature of an unsigned one;
    /// [`Error::Signed`] for a signed base without a key; errors of snapshot and delta.
    pub(crate) fn open(file: &Path, sign: Option<&Sign>) -> Result<Self> {
        let arrived = SystemTime::now();
        // A service verifies the snapshot. Here it would take as long as reading it.
        let opened = OpenOptions {
            verify: Verify::Lazy,
            ..OpenOptions::default()
        };
        let base = Snapshot::open_with(file, opened)?;
        check_base(&base, file)?;
        let before = Delta::of(file, base.server.version(), &OpenOptions::default())?;
        let log = before
            .as_ref()
            .and_then(|delta| delta.log.clone())
            .or_else(|| base.checkpoint.clone());
        let log = continued(log, file, sign)?;
        if log.is_none() && sign.is_some() {
            return Err(unsigned_base(&file.display().to_string()));
        }
        let changes = before
            .as_ref()
            .map_or_else(|| Ok(DeltaChanges::default()), Delta::changes)?;
        let shape = base.shape()?;
        let in_base = base.keyword.is_none().then(|| shape.records());
        let (records, followed) = match before {
            Some(delta) => (delta.metadata.records, delta.metadata.followed),
            None => (None, base.metadata.followed.clone()),
        };
        let records = records.or(in_base);
        let file = file.to_owned();
        let sign = sign.cloned();
        Ok(Self {
            file,
            base,
            shape,
            sign,
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

    /// Adds rows of changes; `source` is named in errors.
    ///
    /// # Errors
    /// [`Error::Line`] for a row that does not fit the base, and [`Error::Source`].
    pub(crate) fn add(&mut self, rows: Vec<ChangeRow>, source: &Path) -> Result<()> {
        self.add_all(rows, source, |bad| Err(bad.named(name_of(source))))
    }

    /// Like [`Draft::add`], without the rows that do not fit the base, which are passed to `skip`.
    ///
    /// # Errors
    /// [`Error::Source`].
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

    /// Adds rows. Those that do not fit the base are passed to `refused`, and left out unless it fails.
    fn add_all(
        &mut self,
        rows: Vec<ChangeRow>,
        source: &Path,
        refused: impl FnMut(BadLine) -> Result<()>,
    ) -> Result<()> {
        let named = Error::of_source(source);
        match (self.records, &self.base.keyword) {
            (Some(records), _) => {
                let bytes = self.shape.record_bytes() as u64;
                let (changes, counts) = resolve(&Shape::of_bytes(records, bytes)?, rows, refused)?;
                self.records = Some(records + counts.inserted);
                self.superseded += counts.superseded;
                self.rows += changes.len() as u64 + counts.superseded;
                for change in changes {
                    let changed = self
                        .changes
                        .change_record(change.index, change.record, 0)
                        .map_err(&named)?;
                    self.superseded += u64::from(changed);
                }
            }
            (None, Some(layout)) => {
                for ChangeRow { key, value, line } in rows {
                    let changed = self
                        .changes
                        .change_key(layout, &key, value, line)
                        .map_err(&named)?;
                    self.superseded += u64::from(changed);
                    self.rows += 1;
                }
            }
            (None, None) => {}
        }
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
        let Self {
            file,
            base,
            sign,
            log,
            changes,
            records,
            followed,
            rows,
            superseded,
            arrived,
            ..
        } = self;
        let rows = *rows;
        let superseded = *superseded;
        let records = *records;
        if changes.is_empty() {
            return Ok(None);
        }
        let bytes = changes.bytes();
        let most = most.unwrap_or(MAX_DELTA_BYTES);
        if bytes > most {
            return Err(Error::DeltaFull {
                entries: changes.len() as u64,
                bytes,
                most,
            });
        }
        let described = base.server.describe();
        let followed = followed.clone();
        let arrived = Some(*arrived);
        let name = &base.metadata.name;
        let log = log.clone();
        let signing = sign
            .as_ref()
            .map(|sign| Signing::new(sign, log, name, file))
            .transpose()?;
        let signing = signing.as_ref();
        let base = Base {
            followed,
            arrived,
            signing,
            ..base_of(base, &described, records)
        };
        let (metadata, checkpoint) = write(file, &base, changes, rng, progress)?;
        Ok(Some(DeltaReport {
            metadata,
            rows,
            superseded,
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
) -> Base<'a> {
    Base {
        name: &base.metadata.name,
        version: base.server.version(),
        layout: base.keyword.as_ref(),
        records,
        failure: description.failure_bound,
        followed: None,
        arrived: None,
        verifiable: base.commitment_top.is_some(),
        signing: None,
    }
}
