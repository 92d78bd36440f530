//! Prepared set for private intersection.

use std::path::Path;
use std::sync::Arc;

use memmap2::Mmap;
use papir_core::codec::{Reader, Writer};
use papir_core::{Blob, Error as CoreError, Result as CoreResult, Version};
use papir_lookup::oprf::Key;
use papir_lookup::psi::Kind;

use crate::error::{Error, Result};
use crate::file::{SET, Sections, formats, map};
use crate::snapshot::Snapshot;

pub(super) const HEADER: &str = SET;
pub(super) const KEY: &str = "psi.key";
pub(super) const FILTER: &str = "psi.filter";

/// A prepared set.
pub struct PsiSet {
    /// Public facts about the set.
    pub summary: PsiSummary,
    /// The key that masks the elements.
    pub key: Key,
    /// The filter that receivers download; `None` if they look elements up.
    pub filter: Option<Blob>,
}

/// Public facts about a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PsiSummary {
    /// The way in which receivers find their elements.
    pub kind: Kind,
    /// Number of distinct elements.
    pub elements: u64,
    /// Bytes of the longest label; `None` for a set without labels.
    pub longest: Option<u32>,
    /// The version of the filter, or of the table.
    pub version: Version,
}

/// Refuses a set where a database is expected, with `advice`.
pub(crate) fn refuse(snapshot: &Snapshot, file: &Path, advice: &str) -> Result<()> {
    if snapshot
        .sections
        .iter()
        .all(|section| section.name != HEADER)
    {
        return Ok(());
    }

    let found = format!("{}, a set for private intersection", file.display());
    Err(Error::options(found, format!("a database: {advice}")))
}

impl PsiSet {
    /// Opens a file written by [`super::prepare()`]. Verifies the sections of the set, but not the
    /// sections of its database.
    ///
    /// # Errors
    /// [`Error::Snapshot`] naming the file and, if one is damaged or missing, the section.
    pub fn open(path: &Path) -> Result<Self> {
        Self::read(map(path)?).map_err(Error::of_snapshot(path))
    }

    fn read(file: Arc<Mmap>) -> CoreResult<Self> {
        // Verified before they are decoded: damage is reported as a wrong checksum.
        let sections = Sections::read(file)?;
        sections.verify_named(&[HEADER, KEY, FILTER])?;

        let summary = PsiSummary::decode(&sections.blob(HEADER)?)?;
        let key = Key::from_seed(&sections.blob(KEY)?)?;
        let filter = match summary.kind {
            Kind::Filter => Some(sections.blob(FILTER)?),
            Kind::Retrieval => None,
        };

        Ok(Self {
            summary,
            key,
            filter,
        })
    }
}

impl PsiSummary {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::new();
        writer
            .u16(formats::SET.written as u16)
            .u8((self.kind == Kind::Retrieval).into())
            .u8(self.longest.is_some().into());
        writer
            .u32(self.longest.unwrap_or_default())
            .u64(self.elements)
            .raw(&self.version.0);
        writer.finish()
    }

    fn decode(bytes: &[u8]) -> CoreResult<Self> {
        let mut reader = Reader::new("section `psi`", bytes);
        formats::SET.check(reader.u16()?.into())?;
        let retrieval = reader.u8()?;
        let labels = reader.u8()?;
        let longest = reader.u32()?;
        let elements = reader.u64()?;
        let version = Version(reader.array()?);
        reader.finish()?;

        // One encoding for each summary: other bytes are refused, and later formats may use them.
        if retrieval > 1 || labels > 1 {
            let found = format!("kind {retrieval}, labels {labels}");
            return Err(CoreError::malformed("section `psi`", found, "0 or 1 each"));
        }

        let kind = if retrieval == 1 {
            Kind::Retrieval
        } else {
            Kind::Filter
        };

        Ok(Self {
            kind,
            elements,
            longest: (labels == 1).then_some(longest),
            version,
        })
    }
}
