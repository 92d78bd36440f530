//! Opened deltas, and their files.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use papir_checkpoint::Log;
use papir_core::erased::{ErasedServer, scheme_of};
use papir_core::{Error as CoreError, FileLock, Result as CoreResult, Version};
use papir_lookup::delta::{DeltaChanges, DeltaPart};
use papir_lookup::prefilter::Prefilter;
use papir_lookup::{Bundle, Commitment, KeywordLayout};
use papir_schemes::registry;

use super::metadata::DeltaMetadata;
use crate::error::{Error, Result};
use crate::file::{
    CHECKPOINT, DELTA, DELTA_CHANGES, KEYWORD, PREFILTER, Sections, map, open_regular,
    open_regular_with, read,
};
use crate::publish::{delta_of, keep_access, kept_path, split};
use crate::snapshot::{OpenOptions, Snapshot, commitment_top, content_hash, log_in};

/// An opened delta.
pub struct Delta {
    /// Its metadata.
    pub metadata: DeltaMetadata,
    /// The version of its base.
    pub base: Version,
    /// The prepared table of changes.
    pub server: Box<dyn ErasedServer>,
    /// The layout of that table.
    pub layout: KeywordLayout,
    /// The filter of the changed keys; `None` beside a base without a filter.
    pub prefilter: Option<Prefilter>,
    /// The top of the hash tree over the table's records, if the base is verifiable.
    pub commitment_top: Option<[u8; 32]>,
    /// The log with the owner's signed checkpoint; `None` if the base is not signed.
    pub log: Option<Log>,
    /// The file's length in bytes.
    pub file_bytes: u64,
    file: Sections,
}

/// The file of the delta of a version of `file`.
///
/// # Errors
/// [`Error::Options`] for a path without a file name.
pub fn delta_file(file: &Path, base: Version) -> Result<PathBuf> {
    Ok(delta_of(kept_path(file, &base.to_string())?))
}

/// Bytes of the changes in the delta beside a snapshot; 0 without one.
///
/// # Errors
/// Errors of the snapshot and of the delta.
pub fn delta_bytes(file: &Path) -> Result<u64> {
    // Up to its version only: a service asks this often.
    let base = Snapshot::version_in(file)?;
    let Some(delta) = Delta::of(file, base, &OpenOptions::lazy())? else {
        return Ok(0);
    };
    Ok(delta.changes()?.bytes())
}

/// Removes the delta of a version of `file`. Does nothing without one.
pub(crate) fn remove(file: &Path, base: Version) -> Result<()> {
    let path = delta_file(file, base)?;
    match fs::remove_file(&path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(Error::io("removing", &path)(error))
        }
        _ => Ok(()),
    }
}

/// Waits until no other program writes a delta of `file`, and keeps others from it until the result
/// is dropped. The lock is on a file of its own, since both the snapshot and its delta are
/// replaced. Returns `None` on a file system without locks: the owner then has to see to it that
/// one program writes at a time.
pub(crate) fn lock_deltas(file: &Path) -> Result<Option<FileLock>> {
    let (directory, name) = split(file)?;
    let mut hidden = std::ffi::OsString::from(".");
    hidden.push(name);
    hidden.push(".delta-lock");
    let path = directory.join(hidden);

    let opened = match File::options().create_new(true).write(true).open(&path) {
        Ok(created) => {
            // Every user who may update the database later must be able to open it.
            keep_access(file, &path)?;
            Ok(created)
        }
        // Without writing, a file of another user can be locked, too.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            open_regular_with(File::options().write(true), &path).or_else(|_| open_regular(&path))
        }
        Err(error) => Err(error),
    };

    let opened = opened.map_err(Error::io("opening", &path))?;
    Ok(FileLock::wait(opened).ok())
}

impl Delta {
    /// Opens the delta of a version of `file`; `None` if there is none. The snapshot of a signed
    /// delta must be `file`, or be kept next to it: it has the leaves before those of the delta.
    ///
    /// # Errors
    /// [`Error::Snapshot`] and [`Error::Checkpoint`] naming the file; [`CoreError::Io`].
    pub fn of(file: &Path, base: Version, options: &OpenOptions) -> Result<Option<Self>> {
        let path = delta_file(file, base)?;
        if !path.exists() {
            return Ok(None);
        }

        // The name states the base, and so does the content: a renamed file is refused.
        let delta = Self::open(&path, options)?;
        if delta.base != base {
            return Err(Error::of_snapshot(&path)(CoreError::WrongVersion {
                found: delta.base,
                expected: base,
            }));
        }
        if delta.file.find(CHECKPOINT).is_none() {
            return Ok(Some(delta));
        }

        let of_base = log_of_base(file, base)?;
        // After the rest is loaded: the leaf is compared with the part that clients would fetch.
        let log = delta.signed_log(of_base.as_ref());
        let log = log.map_err(Error::of_checkpoint(&path))?;
        Ok(Some(Self {
            log: Some(log),
            ..delta
        }))
    }

    /// Opens the file of a delta, without its log.
    fn open(path: &Path, options: &OpenOptions) -> Result<Self> {
        let bytes = if options.in_memory {
            read(path)?
        } else {
            map(path)?
        };
        let file_bytes = bytes.len() as u64;
        let file = Sections::read(bytes).map_err(Error::of_snapshot(path))?;
        file.verify_at(options.verify)
            .map_err(Error::of_snapshot(path))?;

        Self::load(file, file_bytes).map_err(Error::of_loading(path))
    }

    /// Loads a delta from its sections, without its log.
    fn load(file: Sections, file_bytes: u64) -> papir_lookup::Result<Self> {
        let metadata: DeltaMetadata =
            serde_json::from_slice(&file.blob(DELTA)?).map_err(|error| {
                CoreError::malformed("section `delta`", error, "the metadata of a delta")
            })?;
        let base: Version = metadata.base.parse()?;
        let server = registry::by_id(scheme_of(&file)?)?.load(&file)?;
        let layout = KeywordLayout::decode(&file.blob(KEYWORD)?)?;
        let prefilter = match file.find(PREFILTER) {
            Some(_) => Some(Prefilter::decode(file.blob(PREFILTER)?.to_vec())?),
            None => None,
        };
        let commitment_top = commitment_top(&file)?;
        check_agreement(&metadata, server.as_ref(), &layout, commitment_top)?;

        Ok(Self {
            metadata,
            base,
            server,
            layout,
            prefilter,
            commitment_top,
            log: None,
            file_bytes,
            file,
        })
    }

    /// Reads the log, which continues that of the base, and checks that its newest leaf states this
    /// delta.
    fn signed_log(&self, base: Option<&Log>) -> papir_checkpoint::Result<Log> {
        let bytes = self.file.blob(CHECKPOINT)?;
        let log = match base {
            Some(base) => Log::decode_delta(&bytes, base)?,
            None => Log::decode(&bytes)?,
        };
        // The log has the leaves of all versions, and the last one is of this delta.
        let leaf = log.newest()?;

        let expected = &self.metadata.name;
        if leaf.database != *expected {
            let found = leaf.database.clone();
            let expected = expected.clone();
            return Err(papir_checkpoint::Error::Database { found, expected });
        }

        let content = self
            .commitment_top
            .is_none()
            .then(|| content_hash(self.file.table()));
        leaf.check_delta(Some(&self.part_with(content).encode()))?;
        Ok(log)
    }

    /// All changes since the base.
    ///
    /// # Errors
    /// The errors of [`DeltaChanges::decode`].
    pub fn changes(&self) -> CoreResult<DeltaChanges> {
        DeltaChanges::decode(&self.file.blob(DELTA_CHANGES)?)
    }

    /// The public part that clients fetch once per version of the delta.
    pub fn part(&self) -> DeltaPart {
        let stated = self.log.is_some() && self.commitment_top.is_none();
        self.part_with(stated.then(|| content_hash(self.file.table())))
    }

    /// The public part with this hash of the content.
    fn part_with(&self, content: Option<[u8; 32]>) -> DeltaPart {
        DeltaPart {
            base: self.base,
            records: self.metadata.records,
            content,
            bundle: Bundle {
                scheme_public: self.server.public(),
                keyword: Some(self.layout.clone()),
                commitment_top: self.commitment_top,
                prefilter: None,
            },
            prefilter: self.prefilter.clone(),
        }
    }
}

/// The log of a version of `file`, which is there or kept next to it; `None` if it is not signed.
fn log_of_base(file: &Path, base: Version) -> Result<Option<Log>> {
    let is_newest = Snapshot::version_in(file).is_ok_and(|newest| newest == base);
    match is_newest {
        true => log_in(file),
        false => log_in(&kept_path(file, &base.to_string())?),
    }
}

/// Checks that metadata, scheme and layout belong to the same delta.
fn check_agreement(
    metadata: &DeltaMetadata,
    server: &dyn ErasedServer,
    layout: &KeywordLayout,
    commitment_top: Option<[u8; 32]>,
) -> papir_lookup::Result<()> {
    // Each section has a checksum of its own: sections of two files could be put together.
    let found = server.version().to_string();
    if found != metadata.version {
        return Err(CoreError::malformed(
            "section `delta`",
            format!("version {found}"),
            format!("version {}", metadata.version),
        )
        .into());
    }

    let prepared = server.describe().shape;
    // A proof is part of a prepared record, and not of the table's.
    let shape = match commitment_top {
        Some(top) => *Commitment::of_prepared(&prepared, top)?.shape(),
        None => prepared,
    };
    let found = layout.records();
    let expected = shape.records();
    if (found, layout.record_bytes()) != (expected, shape.record_bytes()) {
        return Err(CoreError::malformed(
            "section `keyword`",
            format!("{found} records"),
            format!("{expected} records"),
        )
        .into());
    }
    Ok(())
}
