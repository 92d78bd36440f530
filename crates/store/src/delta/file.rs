//! Opened deltas, and their files.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use papir_core::erased::{ErasedServer, scheme_of};
use papir_core::{Error as CoreError, Result as CoreResult, Version};
use papir_lookup::delta::{DeltaChanges, DeltaPart};
use papir_lookup::{Bundle, KeywordLayout};
use papir_schemes::registry;

use super::metadata::DeltaMetadata;
use crate::error::{Error, Result};
use crate::kept::{delta_of, kept_path};
use crate::map::{map, read};
use crate::publish::split;
use crate::snapshot::{OpenOptions, Sections};
use crate::snapshot_names::{DELTA, DELTA_CHANGES, KEYWORD};

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

/// Removes the delta of a version of `file`, if there is one.
///
/// # Errors
/// [`CoreError::Io`].
pub(crate) fn remove(file: &Path, base: Version) -> Result<()> {
    let path = delta_file(file, base)?;
    match fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::io("removing", &path)(error))
        }
        _ => Ok(()),
    }
}

/// Waits until no other program writes a delta of `file`, and keeps others from it until the result is
/// dropped. The lock is on a file of its own, since both the snapshot and its delta are replaced.
///
/// # Errors
/// [`CoreError::Io`].
pub(crate) fn lock_deltas(file: &Path) -> Result<File> {
    let (directory, name) = split(file)?;
    let mut hidden = std::ffi::OsString::from(".");
    hidden.push(name);
    hidden.push(".delta-lock");
    let path = directory.join(hidden);
    let opened = File::options().create(true).truncate(false).write(true).open(&path);
    let opened = opened.map_err(Error::io("opening", &path))?;
    // On a file system without locks, the owner has to see to it that one program writes at a time.
    let _ = opened.lock();
    Ok(opened)
}

impl Delta {
    /// Opens the delta of a version of `file`; `None` if there is none.
    ///
    /// # Errors
    /// The errors of [`Delta::open`].
    pub fn of(file: &Path, base: Version, options: &OpenOptions) -> Result<Option<Self>> {
        let path = delta_file(file, base)?;
        if !path.exists() {
            return Ok(None);
        }
        let delta = Self::open(&path, options)?;
        if delta.base == base {
            return Ok(Some(delta));
        }
        let error = CoreError::WrongVersion { found: delta.base, expected: base };
        Err(Error::Snapshot { file: path.display().to_string(), error })
    }

    /// Opens the file of a delta.
    ///
    /// # Errors
    /// [`Error::Snapshot`] naming the file; [`CoreError::Io`].
    pub fn open(path: &Path, options: &OpenOptions) -> Result<Self> {
        let bytes = if options.in_memory { read(path) } else { map(path) }?;
        let file_bytes = bytes.len() as u64;
        let file = Sections::read(bytes).map_err(|error| named(path, error.into()))?;
        if options.verify {
            file.verify().map_err(|error| named(path, error.into()))?;
        }
        let loaded = Self::load(&file).map_err(|error| named(path, error))?;
        let (metadata, base, server, layout) = loaded;
        Ok(Self { metadata, base, server, layout, file_bytes, file })
    }

    fn load(
        file: &Sections,
    ) -> papir_lookup::Result<(DeltaMetadata, Version, Box<dyn ErasedServer>, KeywordLayout)> {
        let metadata: DeltaMetadata = serde_json::from_slice(&file.blob(DELTA)?)
            .map_err(|error| CoreError::malformed("section `delta`", error, "the metadata of a delta"))?;
        let base: Version = metadata.base.parse()?;
        let server = registry::by_id(scheme_of(file)?)?.load(file)?;
        let layout = KeywordLayout::decode(&file.blob(KEYWORD)?)?;
        let (shape, found) = (server.describe().shape, server.version().to_string());
        if found != metadata.version {
            let expected = format!("version {}", metadata.version);
            return Err(CoreError::malformed("section `delta`", format!("version {found}"), expected).into());
        }
        let (found, expected) = (layout.records(), shape.records());
        if (found, layout.record_bytes()) != (expected, shape.record_bytes()) {
            let words = |records: u64| format!("{records} records");
            return Err(CoreError::malformed("section `keyword`", words(found), words(expected)).into());
        }
        Ok((metadata, base, server, layout))
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
        let (scheme_public, keyword) = (self.server.public(), Some(self.layout.clone()));
        let bundle = Bundle { scheme_public, keyword, commitment_top: None };
        DeltaPart { base: self.base, records: self.metadata.records, bundle }
    }
}

fn named(path: &Path, error: papir_lookup::Error) -> Error {
    match error {
        papir_lookup::Error::Core(error) => Error::Snapshot { file: path.display().to_string(), error },
        other => Error::of_source(path)(other),
    }
}
