//! Writes snapshots section by section, without buffering them.

use std::io::{Seek, SeekFrom, Write};

use papir_core::codec::Writer;
use papir_core::hash_tree::TreeHasher;
use papir_core::sections::SectionSink;
use papir_core::{Error, Result};

use super::chunks::CHUNK;
use super::format::{ALIGNMENT, Header, Section};
use super::section_names::CHUNKS;

/// Maximum length of a section's name in bytes.
const MAX_NAME_BYTES: usize = 255;
/// Bytes hashed and written at a time, while they are in the CPU's cache.
const STEP: usize = 1 << 22;

/// A snapshot being written. The header is written last, so that an unfinished file is not a
/// snapshot.
pub(crate) struct SnapshotWriter<W> {
    output: W,
    /// The file's name, for errors.
    name: String,
    position: u64,
    sections: Vec<Section>,
    /// The values of the chunks of all sections so far.
    chunks: Vec<u8>,
}

impl<W: Write + Seek> SnapshotWriter<W> {
    /// Starts a snapshot; `name` names it in errors.
    pub(crate) fn new(output: W, name: String) -> Result<Self> {
        let mut writer = Self {
            output,
            name,
            position: 0,
            sections: Vec::new(),
            chunks: Vec::new(),
        };
        // The header's place: its content is known at the end.
        writer.write(&[0; ALIGNMENT as usize])?;
        Ok(writer)
    }

    /// The sections written so far.
    pub(crate) fn sections(&self) -> &[Section] {
        &self.sections
    }

    /// Writes the values of chunks, table and header. Returns the output and its length.
    pub(crate) fn finish(mut self) -> Result<(W, u64)> {
        let chunks = std::mem::take(&mut self.chunks);
        // After all others, whose values it has. Its own chunks are not among them.
        if !chunks.is_empty() {
            self.put(CHUNKS, &[&chunks])?;
        }
        self.pad()?;

        // At the end of the file: lengths and hashes are known only now, and nothing was read
        // twice.
        let mut table = Writer::new();
        for section in &self.sections {
            section.write(&mut table);
        }
        let table = table.finish();
        let header = Header::of(self.sections.len(), self.position, &table);
        self.write(&table)?;
        let length = self.position;

        // Written last: without a header, an unfinished file is not a snapshot.
        self.output
            .seek(SeekFrom::Start(0))
            .map_err(|source| self.failed(source))?;
        self.write(&header.encode())?;
        self.output.flush().map_err(|source| self.failed(source))?;
        Ok((self.output, length))
    }

    /// Writes zeros up to the next section's place.
    fn pad(&mut self) -> Result<()> {
        let gap = self.position.next_multiple_of(ALIGNMENT) - self.position;
        self.write(&[0; ALIGNMENT as usize][..gap as usize])
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.output
            .write_all(bytes)
            .map_err(|source| self.failed(source))?;
        self.position += bytes.len() as u64;
        Ok(())
    }

    fn failed(&self, source: std::io::Error) -> Error {
        Error::Io {
            what: format!("writing {}", self.name),
            source,
        }
    }
}

impl<W: Write + Seek> SectionSink for SnapshotWriter<W> {
    fn put(&mut self, name: &str, parts: &[&[u8]]) -> Result<()> {
        if name.len() > MAX_NAME_BYTES || self.sections.iter().any(|section| section.name == name) {
            let expected = format!("each name once, at most {MAX_NAME_BYTES} bytes long");
            return Err(Error::malformed("a section's name", name, expected));
        }
        self.pad()?;

        // Hashed as it is written, step by step: a section is not in memory as a whole.
        let offset = self.position;
        let mut hasher = TreeHasher::new(CHUNK);
        for step in parts.iter().flat_map(|part| part.chunks(STEP)) {
            hasher.update(step);
            self.write(step)?;
        }
        let tree = hasher.finish();

        self.chunks.extend(tree.values.iter().flatten());
        self.sections.push(Section {
            name: name.to_owned(),
            offset,
            bytes: self.position - offset,
            hash: tree.root,
        });
        Ok(())
    }
}
