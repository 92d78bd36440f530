//! Opened snapshots.

use std::path::Path;
use std::sync::Arc;

use memmap2::Mmap;
use papir_checkpoint::{Base, Log};
use papir_core::certificate::FailureCertificate;
use papir_core::erased::{Combined, ErasedScheme, ErasedServer, Shards, parameters_of, scheme_of};
use papir_core::{
    Blob, Error as CoreError, NotPrivate, OwnerKey, PreparedRecords, Records, Result as CoreResult,
    Shape, Version,
};
use papir_lookup::prefilter::PrefilterSummary;
use papir_lookup::{Bundle, Commitment, KeyIds, KeywordLayout, PlainRecords};
use papir_schemes::registry;

use super::content_hash::content_hash;
use super::metadata::Metadata;
use super::sealed_ids;
use super::verifier::Verifier;
use crate::error::{Error, Result};
use crate::file::{
    CHECKPOINT, COMMITMENT, DELTA, KEYWORD, METADATA, OWNER_KEYS, PREFILTER, SEALED_OWNER_KEYS,
    SET, Section, Sections, VerifiedParts, Verify, map, read,
};

/// Options of opening a snapshot.
#[derive(Clone, Debug)]
pub struct OpenOptions {
    /// The time at which checksums are verified.
    pub verify: Verify,
    /// The owner's key, to read or update an encrypted database. Serving does not need it.
    pub owner: Option<OwnerKey>,
    /// Reads the whole file into memory. Otherwise (the default) it is mapped: a program that
    /// writes to it or truncates it later changes the database, or ends this process.
    pub in_memory: bool,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self {
            verify: Verify::Load,
            owner: None,
            in_memory: false,
        }
    }
}

impl OpenOptions {
    /// Options that leave the long sections unverified.
    pub(crate) fn lazy() -> Self {
        Self {
            verify: Verify::Lazy,
            ..Self::default()
        }
    }
}

/// Name and length of a section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SectionInfo {
    /// Its name.
    pub name: String,
    /// Its length in bytes.
    pub bytes: u64,
}

impl SectionInfo {
    fn of(section: &Section) -> Self {
        Self {
            name: section.name.clone(),
            bytes: section.bytes,
        }
    }
}

/// The filter of a snapshot's keys, which clients fetch.
#[derive(Clone)]
pub struct StoredPrefilter {
    /// Its bits, length and hash.
    pub summary: PrefilterSummary,
    /// The encoded filter, in the file or in memory.
    pub bytes: Blob,
}

/// A prepared database in a snapshot file.
pub struct Snapshot {
    /// The database's metadata.
    pub metadata: Metadata,
    /// The scheme's prepared database; its large sections stay in the file or in memory.
    pub server: Box<dyn ErasedServer>,
    /// The layout of the keys; `None` if records are looked up by index.
    pub keyword: Option<KeywordLayout>,
    /// The filter of the keys; `None` without one.
    pub prefilter: Option<StoredPrefilter>,
    /// The top of the hash tree over all records; `None` if the database is not verifiable.
    pub commitment_top: Option<[u8; 32]>,
    /// The log with the owner's signed checkpoint; `None` if the database is not signed.
    pub checkpoint: Option<Log>,
    /// The sections of the file.
    pub sections: Vec<SectionInfo>,
    /// The file's length in bytes.
    pub file_bytes: u64,
    /// The owner's key given at opening.
    pub(crate) owner: Option<OwnerKey>,
    /// The file, for sections that are read on demand.
    file: Arc<Sections>,
    verifier: Option<Verifier>,
}

impl Snapshot {
    /// Opens the snapshot of a database whose slices are on other machines: its public part and its
    /// combiner. Only these are read, and verified first.
    ///
    /// # Errors
    /// The errors of [`Snapshot::open`]; [`CoreError::Parameters`] for a scheme whose databases
    /// have no slices.
    pub fn open_divided(path: &Path, shards: Box<dyn Shards>) -> Result<Self> {
        let opened = Self::of_sections(map(path)?, path, OpenOptions::lazy(), |scheme, file| {
            let combiner = scheme
                .require_divided()?
                .load_combiner(&VerifiedParts(file))?;
            Ok(Box::new(Combined::new(combiner, shards)))
        })?;

        // The slices are verified where they are.
        Ok(Self {
            verifier: None,
            ..opened
        })
    }

    /// Opens a snapshot and verifies all checksums. The file stays mapped; replace it by renaming
    /// another file over it, as a build does, and never write to it.
    ///
    /// # Errors
    /// [`Error::Snapshot`] naming the file and, if one is damaged, the section; [`CoreError::Io`]
    /// for an unreadable file.
    pub fn open(path: &Path) -> Result<Self> {
        Self::open_with(path, OpenOptions::default())
    }

    /// Like [`Snapshot::open`], with options.
    ///
    /// # Errors
    /// The errors of [`Snapshot::open`].
    pub fn open_with(path: &Path, options: OpenOptions) -> Result<Self> {
        let bytes = if options.in_memory {
            read(path)
        } else {
            map(path)
        };
        let bytes = bytes.map_err(|error| match error {
            Error::Source { .. } => Error::of_snapshot(path)(CoreError::malformed(
                "a snapshot",
                "an empty file",
                "a header",
            )),
            other => other,
        })?;

        Self::of_bytes(bytes, path, options)
    }

    /// Like [`Snapshot::open_with`], for a file that is already mapped or read.
    pub(crate) fn of_bytes(bytes: Arc<Mmap>, path: &Path, options: OpenOptions) -> Result<Self> {
        // Given to the scheme before it loads: without it, an encrypted database cannot give its
        // records back.
        let owner = options.owner.clone();
        Self::of_sections(bytes, path, options, move |scheme, file| {
            scheme.with_owner_key(owner.as_ref()).load(file)
        })
    }

    /// Like [`Snapshot::of_bytes`], with the server that `load_server` reads from the sections.
    pub(crate) fn of_sections(
        bytes: Arc<Mmap>,
        path: &Path,
        options: OpenOptions,
        load_server: impl FnOnce(&dyn ErasedScheme, &Sections) -> CoreResult<Box<dyn ErasedServer>>,
    ) -> Result<Self> {
        let file = Sections::read(bytes).map_err(Error::of_snapshot(path))?;
        // Verified before a scheme decodes a byte: checksums find damage, and the scheme's parsers
        // then need to find hostile bytes only.
        file.verify_at(options.verify)
            .map_err(Error::of_snapshot(path))?;

        let loaded = load(Arc::new(file), options.owner, load_server);
        let snapshot = loaded.map_err(Error::of_loading(path))?;
        // After loading, since the leaf is compared with the root or the hash of the content.
        let checkpoint = snapshot
            .log(options.verify)
            .map_err(Error::of_checkpoint(path))?;

        // `Verify::Load` leaves nothing to verify later.
        let verifier = (options.verify == Verify::Lazy).then(|| {
            let leaf = checkpoint.as_ref().and_then(|log| log.newest().ok());
            Verifier::new(Arc::clone(&snapshot.file), leaf.cloned(), path)
        });

        Ok(Self {
            checkpoint,
            verifier,
            ..snapshot
        })
    }

    /// The version in a file. Reads the metadata only.
    pub(crate) fn version_in(path: &Path) -> Result<Version> {
        let file = Sections::read(map(path)?).map_err(Error::of_snapshot(path))?;
        // The rest may be gigabytes, and this is asked before each publication.
        file.verify_named(&[METADATA])
            .map_err(Error::of_snapshot(path))?;
        metadata(&file)
            .and_then(|metadata| metadata.version.parse())
            .map_err(Error::of_snapshot(path))
    }

    /// Takes the verification of what the opening did not verify; `None` if there is nothing left.
    pub fn take_verifier(&mut self) -> Option<Verifier> {
        self.verifier.take()
    }

    /// Reads the log, and checks that its newest leaf states this version. The public part is
    /// compared for [`Verify::Load`] only, because it takes long to encode a large hint.
    fn log(&self, verify: Verify) -> papir_checkpoint::Result<Option<Log>> {
        if self.file.find(CHECKPOINT).is_none() {
            return Ok(None);
        }

        let log = Log::decode(&self.file.blob(CHECKPOINT)?)?;
        let leaf = log.newest()?;
        // The root of a verifiable database covers all records. Otherwise the hash of the content
        // binds the leaf to this file.
        let base = match self.commitment()? {
            Some(commitment) => Base::Root(commitment.root(self.keyword.as_ref()).0),
            None => Base::Content(content_hash(self.file.table())),
        };

        // A checkpoint of another file under this name would be served with records that nobody
        // signed.
        if (leaf.database.as_str(), leaf.base) != (self.metadata.name.as_str(), base) {
            let found = format!("`{}` with {}", leaf.database, leaf.base);
            let expected = format!("`{}` with {base}, as in the file", self.metadata.name);
            return Err(CoreError::malformed("section `checkpoint`", found, expected).into());
        }

        if verify == Verify::Load {
            leaf.check_public_part(&self.bundle().encode())?;
        }

        Ok(Some(log))
    }

    /// The ids of the keys, for updates; `None` if the file does not contain them. Sealed ids need
    /// the owner's key, given at opening.
    pub(crate) fn owner_keys(&self) -> CoreResult<Option<KeyIds>> {
        // An encrypted database has sealed ids only, so they are looked for first.
        let sealed = self.file.find(SEALED_OWNER_KEYS);
        if let (Some(_), Some(layout)) = (sealed, &self.keyword) {
            let key = self.owner.as_ref().ok_or_else(|| CoreError::OwnerKey {
                found: "none".into(),
                expected: "its owner's key".into(),
            })?;
            return sealed_ids::open(key, layout, &self.file.blob(SEALED_OWNER_KEYS)?).map(Some);
        }

        match self.file.find(OWNER_KEYS) {
            Some(_) => KeyIds::decode(&self.file.blob(OWNER_KEYS)?).map(Some),
            None => Ok(None),
        }
    }

    /// The scheme's parameters, encoded.
    pub(crate) fn parameters(&self) -> CoreResult<Vec<u8>> {
        parameters_of(&*self.file)
    }

    /// Every term of the failure bound of an answer, exactly, from the parameters in the file.
    ///
    /// # Errors
    /// [`CoreError::NoSuchParameter`] for a scheme without certificates.
    pub fn certificate(&self) -> CoreResult<FailureCertificate> {
        scheme_in(&self.file)?.certificate(&self.parameters()?)
    }

    /// The commitment of a verifiable database.
    pub(crate) fn commitment(&self) -> CoreResult<Option<Commitment>> {
        let shape = self.server.describe().shape;
        match self.commitment_top {
            Some(top) => Commitment::of_prepared(&shape, top).map(Some),
            None => Ok(None),
        }
    }

    /// The shape of the owner's records, without proofs.
    pub(crate) fn shape(&self) -> CoreResult<Shape> {
        match self.commitment()? {
            Some(commitment) => Ok(*commitment.shape()),
            None => Ok(self.server.describe().shape),
        }
    }

    /// The owner's records without proofs, read back from the prepared database.
    pub(crate) fn records<'a>(
        &self,
        prepared: &'a PreparedRecords<'a>,
    ) -> CoreResult<Box<dyn Records + 'a>> {
        Ok(match self.commitment()? {
            Some(commitment) => Box::new(PlainRecords::new(prepared, &commitment)?),
            None => Box::new(prepared),
        })
    }

    /// The bundle that clients fetch once per version.
    pub fn bundle(&self) -> Bundle {
        Bundle {
            scheme_public: self.server.public(),
            keyword: self.keyword.clone(),
            commitment_top: self.commitment_top,
            prefilter: self.prefilter.as_ref().map(|filter| filter.summary),
        }
    }
}

/// Loads a snapshot from its sections.
fn load(
    file: Arc<Sections>,
    owner: Option<OwnerKey>,
    load_server: impl FnOnce(&dyn ErasedScheme, &Sections) -> CoreResult<Box<dyn ErasedServer>>,
) -> papir_lookup::Result<Snapshot> {
    let metadata = metadata(&file)?;
    let server = load_server(&*scheme_in(&file)?, &file)?;
    let keyword = match file.find(KEYWORD) {
        Some(_) => Some(KeywordLayout::decode(&file.blob(KEYWORD)?)?),
        None => None,
    };
    let prefilter = stored_prefilter(&file, &metadata)?;
    let commitment_top = commitment_top(&file)?;
    check_agreement(&metadata, server.as_ref(), keyword.as_ref(), commitment_top)?;

    Ok(Snapshot {
        metadata,
        server,
        keyword,
        prefilter,
        commitment_top,
        checkpoint: None,
        sections: file.table().iter().map(SectionInfo::of).collect(),
        file_bytes: file.file_bytes(),
        owner,
        file,
        verifier: None,
    })
}

/// The scheme of a file. Opening a snapshot allows insecure schemes: its builder had to allow them,
/// and the server asks its operator before serving.
pub(crate) fn scheme_in(file: &Sections) -> CoreResult<Box<dyn ErasedScheme>> {
    Ok(registry::by_id(scheme_of(file)?)?.allow_insecure(NotPrivate::acknowledged()))
}

/// The filter of the keys; `None` without one. Reads its header only.
fn stored_prefilter(file: &Sections, metadata: &Metadata) -> CoreResult<Option<StoredPrefilter>> {
    let found = match file.find(PREFILTER) {
        Some(section) => {
            let bytes = file.blob(PREFILTER)?;
            // The table has the hash already, which is verified as those of other sections are.
            let summary = PrefilterSummary::of(&bytes, section.hash)?;
            Some(StoredPrefilter { summary, bytes })
        }
        None => None,
    };

    // Each section has a checksum of its own: sections of two files could be put together.
    let bits = found.as_ref().map(|filter| filter.summary.bits);
    if bits == metadata.prefilter {
        return Ok(found);
    }
    let words = |bits: Option<u8>| bits.map_or_else(|| "none".to_owned(), |bits| bits.to_string());
    Err(CoreError::malformed(
        "the bits of section `prefilter`",
        words(bits),
        format!("{}, as in the metadata", words(metadata.prefilter)),
    ))
}

/// The top of the hash tree over all records; `None` if the database is not verifiable.
pub(crate) fn commitment_top(file: &Sections) -> CoreResult<Option<[u8; 32]>> {
    let Some(section) = file.find(COMMITMENT) else {
        return Ok(None);
    };

    let mut top = [0; 32];
    // Before the copy, which needs this length.
    CoreError::check_length("section `commitment`", section.bytes as usize, top.len())?;
    top.copy_from_slice(&file.blob(COMMITMENT)?);
    Ok(Some(top))
}

fn metadata(file: &Sections) -> CoreResult<Metadata> {
    // Files of the same form with another use: named, since their error would be a missing section.
    if file.find(METADATA).is_none() && file.find(SET).is_some() {
        let found = "a set for private intersection, which papir psi serve serves";
        return Err(CoreError::malformed("a snapshot", found, "a database"));
    }
    if file.find(METADATA).is_none() && file.find(DELTA).is_some() {
        let found = "a delta, which is served beside its base";
        return Err(CoreError::malformed("a snapshot", found, "a database"));
    }

    serde_json::from_slice(&file.blob(METADATA)?).map_err(|error| {
        CoreError::malformed("section `metadata`", error, "the metadata of a snapshot")
    })
}

/// Checks that metadata, scheme and layout belong to the same database.
fn check_agreement(
    metadata: &Metadata,
    server: &dyn ErasedServer,
    keyword: Option<&KeywordLayout>,
    commitment_top: Option<[u8; 32]>,
) -> CoreResult<()> {
    // The version in the metadata finds the delta and the kept versions of a snapshot.
    let found = server.version().to_string();
    if found != metadata.version {
        return Err(CoreError::malformed(
            "section `metadata`",
            format!("version {}", metadata.version),
            format!("version {found}"),
        ));
    }

    // Each section has a checksum of its own: sections of two files could be put together.
    let prepared = server.describe().shape;
    let plain = match commitment_top {
        Some(top) => *Commitment::of_prepared(&prepared, top)?.shape(),
        None => prepared,
    };

    check_shape(
        "section `metadata`",
        metadata.records,
        metadata.record_bits,
        &prepared,
    )?;
    // A proof is part of a prepared record, but not of the table's.
    match keyword {
        Some(layout) => {
            let bits = 8 * layout.record_bytes() as u64;
            check_shape("section `keyword`", layout.records(), bits, &plain)
        }
        None => Ok(()),
    }
}

fn check_shape(what: &'static str, records: u64, bits: u64, expected: &Shape) -> CoreResult<()> {
    if (records, bits) == (expected.records(), expected.record_bits()) {
        return Ok(());
    }

    let expected = format!(
        "{} records of {} bits",
        expected.records(),
        expected.record_bits()
    );
    Err(CoreError::malformed(
        what,
        format!("{records} records of {bits} bits"),
        expected,
    ))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use chacha20::ChaCha20Rng;
    use papir_core::scheme::Goal;
    use papir_core::{NoProgress, RecordBuffer};
    use rand_core::SeedableRng;
    use serde_json::json;

    use super::*;

    #[test]
    fn metadata_of_another_version_is_refused() {
        let scheme = registry::by_name("simple").unwrap();
        let records = RecordBuffer::from_records((0..50_u8).map(|byte| vec![byte; 8])).unwrap();
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let server = scheme
            .setup(&records, Goal::Balanced, &mut rng, &NoProgress)
            .unwrap();
        let shape = server.describe().shape;
        let of = |version: String| -> Metadata {
            serde_json::from_value(json!({
                "name": "table",
                "created": "2026-01-01T00:00:00Z",
                "papir": "0.1.0",
                "source": { "file": "table.csv", "format": "csv", "bytes": 400, "entries": 50 },
                "scheme": "simple",
                "version": version,
                "records": shape.records(),
                "record_bits": shape.record_bits(),
                "keyword": null,
            }))
            .unwrap()
        };

        let own = of(server.version().to_string());
        check_agreement(&own, server.as_ref(), None, None).unwrap();
        let other = of("0707070707070707".to_owned());
        let refused = check_agreement(&other, server.as_ref(), None, None).unwrap_err();
        assert!(
            refused.to_string().contains("0707070707070707"),
            "{refused}"
        );
    }
}
