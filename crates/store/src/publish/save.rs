//! Writes a prepared database to a snapshot file.

use std::borrow::Cow;
use std::fs::File;
use std::path::Path;

use papir_checkpoint::Log;
use papir_core::erased::ErasedServer;
use papir_core::sections::SectionSink;
use papir_core::{Error as CoreError, OwnerKey, Progress, Result as CoreResult};
use papir_lookup::prefilter::PrefilterSummary;
use papir_lookup::{Commitment, KeyIds, KeywordLayout};
use rand_core::CryptoRng;

use super::{Readers, publish};
use crate::error::Result;
use crate::file::{
    COMMITMENT, KEYWORD, METADATA, OWNER_KEYS, PREFILTER, SCHEME, SEALED_OWNER_KEYS, SnapshotWriter,
};
use crate::snapshot::{Metadata, Signed, Signing, seal};

/// The contents of a snapshot.
pub(crate) struct SnapshotContents<'a> {
    pub(crate) metadata: &'a Metadata,
    pub(crate) keyword: Option<Keyword<'a>>,
    pub(crate) prefilter: Option<PrefilterContents<'a>>,
    pub(crate) commitment: Option<&'a Commitment>,
    pub(crate) server: &'a dyn ErasedServer,
}

impl SnapshotContents<'_> {
    /// The content of a leaf.
    fn stated(&self) -> Signed<'_> {
        Signed {
            database: &self.metadata.name,
            public: self.server.public(),
            keyword: self.keyword.as_ref().map(|keyword| keyword.layout),
            prefilter: self.prefilter.map(|prefilter| prefilter.summary),
            commitment: self.commitment,
        }
    }
}

/// The filter of the keys, as its section and as the public part states it.
#[derive(Clone, Copy)]
pub(crate) struct PrefilterContents<'a> {
    bytes: &'a [u8],
    pub(crate) summary: PrefilterSummary,
}

impl<'a> PrefilterContents<'a> {
    /// Takes an encoded filter, and hashes it.
    pub(crate) fn new(bytes: &'a [u8]) -> CoreResult<Self> {
        Ok(Self {
            bytes,
            summary: PrefilterSummary::hashed(bytes)?,
        })
    }
}

/// The layout of the keys, and their ids. Only the owner needs the ids, for updates. In an
/// encrypted database they are sealed.
pub(crate) struct Keyword<'a> {
    layout: &'a KeywordLayout,
    section: &'static str,
    ids: Cow<'a, [u8]>,
}

impl<'a> Keyword<'a> {
    /// Encodes the ids, sealed under the owner's key of an encrypted database.
    pub(crate) fn new(
        owner: Option<&OwnerKey>,
        layout: &'a KeywordLayout,
        ids: &KeyIds,
        rng: &mut dyn CryptoRng,
    ) -> CoreResult<Self> {
        let (section, ids) = match owner {
            Some(key) => (SEALED_OWNER_KEYS, seal(key, layout, ids, rng)?),
            None => (OWNER_KEYS, ids.encode()),
        };

        Ok(Self {
            layout,
            section,
            ids: ids.into(),
        })
    }

    /// Takes ids that are encoded already.
    pub(crate) fn encoded(layout: &'a KeywordLayout, ids: &'a [u8]) -> Self {
        Self {
            layout,
            section: OWNER_KEYS,
            ids: ids.into(),
        }
    }
}

/// A snapshot file that is being written.
pub(crate) type SnapshotFile = SnapshotWriter<File>;

/// Writes a snapshot. The file appears under its name once it is complete and durable. `nonce`
/// distinguishes temporary files. `seal` runs once everything else is written, and can refuse it:
/// it signs the version, and returns the log of a signed one. Returns the file's length in bytes,
/// and that log.
pub(crate) fn save(
    path: &Path,
    readers: Readers<'_>,
    nonce: u64,
    prepared: &SnapshotContents<'_>,
    seal: impl FnOnce(&Signed<'_>, &mut SnapshotFile) -> Result<Option<Log>>,
    progress: &dyn Progress,
) -> Result<(u64, Option<Log>)> {
    let mut log = None;
    let bytes = publish(path, nonce, readers, |sink| {
        put(sink, prepared, progress)?;
        log = seal(&prepared.stated(), sink)?;
        Ok(())
    })?;

    Ok((bytes, log))
}

/// Signs a version that is written; `None` if it stays unsigned.
pub(crate) fn sign(
    signing: Option<&Signing<'_>>,
    version: &Signed<'_>,
    sink: &mut SnapshotFile,
) -> Result<Option<Log>> {
    let Some(signing) = signing else {
        return Ok(None);
    };
    // A copy, since the sink cannot be read while the log is written to it.
    let sections = sink.sections().to_vec();
    signing.put(version, &sections, sink).map(Some)
}

/// Writes all sections of a snapshot.
pub(crate) fn put(
    sink: &mut dyn SectionSink,
    prepared: &SnapshotContents<'_>,
    progress: &dyn Progress,
) -> Result<()> {
    let sizes = prepared.server.describe().sizes;
    progress.stage("writing", sizes.database + sizes.material + sizes.hint);

    let json = serde_json::to_vec_pretty(prepared.metadata).map_err(|error| {
        CoreError::malformed("the metadata", error, "values that JSON can represent")
    })?;
    sink.put(METADATA, &[&json])?;

    if let Some(Keyword {
        layout,
        section,
        ids,
    }) = &prepared.keyword
    {
        sink.put(KEYWORD, &[&layout.encode()])?;
        sink.put(section, &[ids])?;
    }
    if let Some(prefilter) = &prepared.prefilter {
        sink.put(PREFILTER, &[prefilter.bytes])?;
    }
    if let Some(commitment) = prepared.commitment {
        sink.put(COMMITMENT, &[commitment.top()])?;
    }
    Ok(prepared
        .server
        .save(&mut SchemeSections { sink, progress })?)
}

/// Prefixes the names of the scheme's sections, and reports progress as they are written.
pub(crate) struct SchemeSections<'a> {
    pub(crate) sink: &'a mut dyn SectionSink,
    pub(crate) progress: &'a dyn Progress,
}

impl SectionSink for SchemeSections<'_> {
    fn put(&mut self, name: &str, parts: &[&[u8]]) -> CoreResult<()> {
        self.sink.put(&format!("{SCHEME}{name}"), parts)?;
        self.progress
            .advance(parts.iter().map(|part| part.len() as u64).sum());
        Ok(())
    }
}
