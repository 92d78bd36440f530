//! Opens snapshots.

use std::path::Path;
use std::sync::Arc;

use memmap2::Mmap;
use papir_core::erased::{ErasedServer, scheme_of};
use papir_core::sections::SectionSource;
use papir_core::{Blob, Error as CoreError, Result as CoreResult};
use papir_lookup::{Bundle, KeywordLayout};
use papir_schemes::registry;

use crate::format::{HEADER_BYTES, Header, Section, part};
use crate::map::map;
use crate::metadata::Metadata;
use crate::{Error, Result};

/// The section of [`Metadata`].
pub(crate) const METADATA: &str = "metadata";
/// The section of the keyword layout.
pub(crate) const KEYWORD: &str = "keyword";
/// What the names of the scheme's own sections start with.
pub(crate) const SCHEME: &str = "scheme.";

/// How a snapshot is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenOptions {
    /// Whether all sections are read and held against their checksums (the default). Without,
    /// only header, table and metadata are, and opening takes no time.
    pub verify: bool,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self { verify: true }
    }
}

/// A section of a snapshot, for display.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SectionInfo {
    /// Its name.
    pub name: String,
    /// Its length in bytes.
    pub bytes: u64,
}

/// A prepared database as it stands in a file.
pub struct Snapshot {
    /// What it says of itself.
    pub metadata: Metadata,
    /// The scheme's prepared database; its large sections stay in the mapped file.
    pub server: Box<dyn ErasedServer>,
    /// The layout of the keys; `None` where records are looked up by index.
    pub keyword: Option<KeywordLayout>,
    /// What the file holds.
    pub sections: Vec<SectionInfo>,
    /// The file's length in bytes.
    pub file_bytes: u64,
}

impl Snapshot {
    /// Opens a snapshot and checks all of it. The file stays mapped: replace it by renaming
    /// another over it, as a build does; never write into it.
    ///
    /// # Errors
    /// [`Error::Snapshot`] naming the file and, where one is damaged, the section;
    /// [`CoreError::Io`] for what is no readable file.
    pub fn open(path: &Path) -> Result<Self> {
        Self::open_with(path, OpenOptions::default())
    }

    /// As [`Snapshot::open`], with options.
    ///
    /// # Errors
    /// As [`Snapshot::open`].
    pub fn open_with(path: &Path, options: OpenOptions) -> Result<Self> {
        let named = |error| Error::Snapshot { file: path.display().to_string(), error };
        let map = map(path).map_err(|error| match error {
            Error::Source { .. } => named(CoreError::malformed("a snapshot", "an empty file", "a header")),
            other => other,
        })?;
        let file = Sections::read(map).map_err(named)?;
        if options.verify {
            file.verify().map_err(named)?;
        }
        file.load().map_err(|error| match error {
            papir_lookup::Error::Core(error) => named(error),
            other => Error::of_source(path)(other),
        })
    }

    /// What clients fetch once per version.
    pub fn bundle(&self) -> Bundle {
        Bundle { scheme_public: self.server.public(), keyword: self.keyword.clone() }
    }
}

/// The sections of a mapped file.
struct Sections {
    map: Arc<Mmap>,
    header: Header,
    table: Vec<Section>,
}

impl Sections {
    fn read(map: Arc<Mmap>) -> CoreResult<Self> {
        let header = Header::decode(&map)?;
        let table = header.table(&map)?;
        Ok(Self { map, header, table })
    }

    /// Holds every byte of the file against what it must be.
    fn verify(&self) -> CoreResult<()> {
        let mut end = HEADER_BYTES as u64;
        for section in &self.table {
            self.verify_gap(end, section.offset, &section.name)?;
            self.verify_section(section)?;
            end = section.offset + section.bytes;
        }
        self.verify_gap(end, self.header.table_offset, "the table of sections")
    }

    fn verify_section(&self, section: &Section) -> CoreResult<()> {
        let bytes = part(&self.map, section.offset, section.bytes)?;
        if *blake3::hash(bytes).as_bytes() == section.hash {
            return Ok(());
        }
        Err(CoreError::Checksum { what: format!("section `{}`", section.name) })
    }

    fn verify_gap(&self, start: u64, end: u64, next: &str) -> CoreResult<()> {
        if part(&self.map, start, end - start)?.iter().all(|&byte| byte == 0) {
            return Ok(());
        }
        Err(CoreError::Checksum { what: format!("the padding before `{next}`") })
    }

    fn find(&self, name: &str) -> Option<&Section> {
        self.table.iter().find(|section| section.name == name)
    }

    fn blob(&self, name: &str) -> CoreResult<Blob> {
        let missing = || CoreError::MissingSection { name: name.to_owned() };
        let section = self.find(name).ok_or_else(missing)?;
        part(&self.map, section.offset, section.bytes)?;
        let (start, end) = (section.offset as usize, (section.offset + section.bytes) as usize);
        Blob::part_of(self.map.clone(), start..end)
    }

    fn load(&self) -> papir_lookup::Result<Snapshot> {
        let metadata = self.metadata()?;
        let server = registry::by_id(scheme_of(self)?)?.load(self)?;
        let keyword = match self.find(KEYWORD) {
            Some(_) => Some(KeywordLayout::decode(&self.blob(KEYWORD)?)?),
            None => None,
        };
        check_agreement(&metadata, server.as_ref(), keyword.as_ref())?;
        let info = |section: &Section| SectionInfo { name: section.name.clone(), bytes: section.bytes };
        let sections = self.table.iter().map(info).collect();
        Ok(Snapshot { metadata, server, keyword, sections, file_bytes: self.map.len() as u64 })
    }

    /// Reads the metadata, always against its checksum.
    fn metadata(&self) -> CoreResult<Metadata> {
        self.find(METADATA).map_or(Ok(()), |section| self.verify_section(section))?;
        serde_json::from_slice(&self.blob(METADATA)?)
            .map_err(|error| CoreError::malformed("section `metadata`", error, "the metadata of a snapshot"))
    }
}

impl SectionSource for Sections {
    fn get(&self, name: &str) -> CoreResult<Blob> {
        self.blob(&format!("{SCHEME}{name}"))
    }
}

/// Metadata, scheme and layout speak of one database.
fn check_agreement(
    metadata: &Metadata,
    server: &dyn ErasedServer,
    keyword: Option<&KeywordLayout>,
) -> CoreResult<()> {
    let shape = server.describe().shape;
    let expected = (shape.records(), shape.record_bits());
    let of_metadata = (metadata.records, metadata.record_bits);
    let of_layout = keyword.map_or(expected, |layout| (layout.records(), 8 * layout.record_bytes() as u64));
    for (what, found) in [("section `metadata`", of_metadata), ("section `keyword`", of_layout)] {
        if found != expected {
            let words = |(records, bits)| format!("{records} records of {bits} bits");
            return Err(CoreError::malformed(what, words(found), words(expected)));
        }
    }
    Ok(())
}
