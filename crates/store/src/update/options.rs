//! Options of an update.

use std::path::PathBuf;

use papir_core::OwnerKey;
use papir_core::cost::Rates;

use crate::error::{Error, Result};
use crate::publish::{check_output, same_file};
use crate::snapshot::{Metadata, Sign};
use crate::source::{ChangeColumns, Format};

/// Free room of a keyword table that an update builds again, in per cent.
pub const REBUILD_ROOM: u32 = 5;
/// Like [`REBUILD_ROOM`], for buckets with fewer than 48 keys, whose load varies more.
pub const REBUILD_ROOM_OF_FEW: u32 = 10;
/// Number of keys per bucket from which [`REBUILD_ROOM`] is enough.
pub(super) const FEW_KEYS: u64 = 48;

/// Options of an update.
#[derive(Clone, Debug)]
pub struct UpdateOptions {
    /// The snapshot.
    pub file: PathBuf,
    /// The file of changes; see [`crate::read_changes`].
    pub changes: PathBuf,
    /// Its format; `None` detects it by extension.
    pub format: Option<Format>,
    /// The column of keys, or of indices for records without keys. `None` stands for the source's
    /// key column, or `index` for records without keys.
    pub key: Option<String>,
    /// The value columns. If empty, the source's value columns are used, or `value` for a raw
    /// source.
    pub values: Vec<String>,
    /// The column that marks deletions.
    pub delete: Option<String>,
    /// The path of the new snapshot; `None` replaces the old one.
    pub out: Option<PathBuf>,
    /// Replaces a file at `out` that papir did not write.
    pub force: bool,
    /// The most versions to keep next to the file ([`crate::versions()`]), the replaced one among
    /// them; older ones are removed. `None` keeps none and removes none. Without effect if `out` is
    /// set.
    pub keep: Option<usize>,
    /// Builds the keyword table and prepares all records again, even if an update is cheaper.
    pub rebuild: bool,
    /// The owner's key of an encrypted database.
    pub encrypt: Option<OwnerKey>,
    /// Signs the new version with this key and appends it to the log; `None` for an unsigned one.
    pub sign: Option<Sign>,
    /// Allows an unsigned version of a signed database. Clients that pin its owner's key refuse it.
    pub unsigned: bool,
    /// This machine's rates, which decide between the scheme's update and a setup.
    pub rates: Rates,
}

impl UpdateOptions {
    /// Options with every default.
    pub fn new(file: impl Into<PathBuf>, changes: impl Into<PathBuf>) -> Self {
        let file = file.into();
        let changes = changes.into();

        Self {
            file,
            changes,
            format: None,
            key: None,
            values: Vec::new(),
            delete: None,
            out: None,
            force: false,
            keep: None,
            rebuild: false,
            encrypt: None,
            sign: None,
            unsigned: false,
            rates: Rates::BUILT_IN,
        }
    }

    /// Returns whether the next version replaces the file.
    pub(super) fn is_in_place(&self) -> bool {
        let Some(out) = &self.out else { return true };
        *out == self.file || same_file(out, &self.file)
    }

    /// Refuses an output that is the file of changes, or that papir did not write.
    pub(super) fn check_output(&self) -> Result<()> {
        let out = self.out.as_ref().unwrap_or(&self.file);
        // In place, the error of a file that is no snapshot is the clearer one.
        let replace = self.force || self.is_in_place();
        check_output(out, &[&self.changes], replace)
    }

    /// The columns to read.
    pub(crate) fn columns(&self, metadata: &Metadata, longest_value: u64) -> Result<ChangeColumns> {
        let by_index = metadata.keyword.is_none();
        let key = self
            .key
            .clone()
            .or_else(|| metadata.source.key.clone())
            .or_else(|| by_index.then(|| "index".to_owned()))
            .ok_or_else(|| Error::options("changes without a key column", "its name"))?;

        // A changed value must be made as the others were: from the columns of the source, unless
        // others are given.
        let mut values = if self.values.is_empty() {
            metadata.source.values.clone()
        } else {
            self.values.clone()
        };
        if values.is_empty() && by_index {
            values.push("value".to_owned());
        }

        Ok(ChangeColumns {
            key,
            values,
            delete: self.delete.clone(),
            longest_value,
        })
    }
}
