//! The sections of a file, and their verification.

use std::ops::Range;
use std::sync::Arc;

use memmap2::Mmap;
use papir_core::hash_tree::{self, BlockValue, HashTree};
use papir_core::sections::SectionSource;
use papir_core::{Blob, Error, Result};
use rayon::prelude::*;

use super::chunks::{self, CHUNK};
use super::format::{HEADER_BYTES, Header, Section, part};
use super::section_names::{CHUNKS, SCHEME};

/// Sections up to this length are verified at every opening: 4 MiB.
const SMALL: u64 = 4 << 20;

/// The time at which the checksums of a file are verified.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verify {
    /// All at opening.
    #[default]
    Load,
    /// At opening only the header, the table and sections of at most 4 MiB, which takes almost no
    /// time. A [`Verifier`](crate::Verifier) can verify the others while the snapshot is used.
    Lazy,
}

/// The sections of a file.
pub(crate) struct Sections {
    map: Arc<Mmap>,
    header: Header,
    table: Vec<Section>,
    /// The values of each section's chunks, verified against its hash. Empty in files without them.
    chunks: Vec<Vec<BlockValue>>,
}

/// A part of a file that is verified at once.
pub(crate) enum FilePiece<'a> {
    /// Zeros from one place to another.
    Gap { start: u64, end: u64, next: &'a str },
    /// A section without chunks.
    Whole(&'a Section),
    /// A chunk of a section, by its index, with the value that it must have.
    Chunk(&'a Section, usize, &'a BlockValue),
}

impl Sections {
    /// Reads the table of sections and the values of their chunks, and verifies both.
    pub(crate) fn read(map: Arc<Mmap>) -> Result<Self> {
        let header = Header::decode(&map)?;
        let table = header.table(&map)?;
        let mut sections = Self {
            map,
            header,
            table,
            chunks: Vec::new(),
        };

        // Verified before it is decoded: all later chunks are compared with these values.
        if let Some(section) = sections.find(CHUNKS) {
            sections.verify_piece(&FilePiece::Whole(section))?;
            sections.chunks = chunks::decode(&sections.blob(CHUNKS)?, &sections.table)?;
        }
        Ok(sections)
    }

    /// Verifies the checksums that are due at opening.
    pub(crate) fn verify_at(&self, when: Verify) -> Result<()> {
        match when {
            Verify::Load => self.verify(),
            Verify::Lazy => self
                .small_pieces()
                .iter()
                .try_for_each(|piece| self.verify_piece(piece)),
        }
    }

    /// Verifies every byte of the file on all cores: the checksums of all sections, and the zeros
    /// between them.
    pub(crate) fn verify(&self) -> Result<()> {
        let small = self.small_pieces();
        let large = self.large_pieces();
        small
            .into_par_iter()
            .chain(large)
            .try_for_each(|piece| self.verify_piece(&piece))
    }

    /// Verifies the checksums of the sections with these names; missing ones are skipped.
    pub(crate) fn verify_named(&self, names: &[&str]) -> Result<()> {
        for (index, section) in self.table.iter().enumerate() {
            if names.contains(&section.name.as_str()) {
                for piece in self.pieces_of(index) {
                    self.verify_piece(&piece)?;
                }
            }
        }
        Ok(())
    }

    /// The short sections, and the zeros between sections.
    fn small_pieces(&self) -> Vec<FilePiece<'_>> {
        let mut end = HEADER_BYTES as u64;
        let mut pieces = Vec::new();
        for (index, section) in self.table.iter().enumerate() {
            pieces.push(FilePiece::Gap {
                start: end,
                end: section.offset,
                next: &section.name,
            });
            if section.bytes <= SMALL {
                pieces.extend(self.pieces_of(index));
            }
            end = section.offset + section.bytes;
        }

        let next = "the table of sections";
        pieces.push(FilePiece::Gap {
            start: end,
            end: self.header.table_offset,
            next,
        });
        pieces
    }

    /// The chunks of the long sections, in the order of the file.
    pub(crate) fn large_pieces(&self) -> Vec<FilePiece<'_>> {
        let large = self
            .table
            .iter()
            .enumerate()
            .filter(|(_, section)| section.bytes > SMALL);
        large.flat_map(|(index, _)| self.pieces_of(index)).collect()
    }

    fn pieces_of(&self, index: usize) -> Vec<FilePiece<'_>> {
        let section = &self.table[index];
        match self.chunks.get(index).map_or(&[][..], Vec::as_slice) {
            // A section of at most one chunk has no values, and neither has any in a file without
            // their section.
            [] => vec![FilePiece::Whole(section)],
            values => {
                let chunks = values.iter().enumerate();
                let pieces = chunks.map(|(index, value)| FilePiece::Chunk(section, index, value));
                pieces.collect()
            }
        }
    }

    /// Verifies a piece of this file. The error names the place.
    pub(crate) fn verify_piece(&self, piece: &FilePiece<'_>) -> Result<()> {
        // Zeros between sections are verified, too: the file has no byte that could change
        // unnoticed.
        let bytes = part(&self.map, piece.offset(), piece.bytes())?;
        let (valid, what) = match piece {
            FilePiece::Gap { next, .. } => (
                bytes.iter().all(|&byte| byte == 0),
                format!("the padding before `{next}`"),
            ),
            FilePiece::Whole(section) => (
                HashTree::of(CHUNK, bytes).root == section.hash,
                format!("section `{}`", section.name),
            ),
            FilePiece::Chunk(section, index, expected) => {
                let start = index * CHUNK;
                let what = format!(
                    "section `{}` at bytes {start} to {}",
                    section.name,
                    start + bytes.len()
                );
                (hash_tree::value(CHUNK, *index, bytes) == **expected, what)
            }
        };

        if valid {
            Ok(())
        } else {
            Err(Error::Checksum { what })
        }
    }

    /// The entries of the table of sections.
    pub(crate) fn table(&self) -> &[Section] {
        &self.table
    }

    /// The file's length in bytes.
    pub(crate) fn file_bytes(&self) -> u64 {
        self.map.len() as u64
    }

    pub(crate) fn find(&self, name: &str) -> Option<&Section> {
        self.table.iter().find(|section| section.name == name)
    }

    pub(crate) fn blob(&self, name: &str) -> Result<Blob> {
        let section = self.find(name).ok_or_else(|| Error::MissingSection {
            name: name.to_owned(),
        })?;
        // Refuses a range that extends beyond the file.
        part(&self.map, section.offset, section.bytes)?;

        let start = section.offset as usize;
        let end = (section.offset + section.bytes) as usize;
        Blob::part_of(self.map.clone(), start..end)
    }
}

impl SectionSource for Sections {
    fn get(&self, name: &str) -> Result<Blob> {
        self.blob(&format!("{SCHEME}{name}"))
    }
}

/// The sections of a prepared database in a file that was not verified at opening. Each chunk is
/// verified when it is read, and no other is touched.
pub(crate) struct VerifiedParts<'a>(pub(crate) &'a Sections);

impl VerifiedParts<'_> {
    /// Index and entry of a section.
    fn entry(&self, name: &str) -> Result<(usize, &Section)> {
        // The scheme knows its sections without the prefix, which keeps them apart from those of
        // the store.
        let full = format!("{SCHEME}{name}");
        let mut entries = self.0.table.iter().enumerate();
        entries
            .find(|(_, section)| section.name == full)
            .ok_or_else(|| Error::MissingSection {
                name: name.to_owned(),
            })
    }
}

impl SectionSource for VerifiedParts<'_> {
    fn get(&self, name: &str) -> Result<Blob> {
        self.get_range(name, 0..self.length(name)?)
    }

    fn length(&self, name: &str) -> Result<usize> {
        Ok(self.entry(name)?.1.bytes as usize)
    }

    fn get_range(&self, name: &str, bytes: Range<usize>) -> Result<Blob> {
        let (index, section) = self.entry(name)?;
        // Only chunks that the range touches: a shard reads its slices, and never the whole
        // section.
        let mut pieces = self.0.pieces_of(index);
        pieces.retain(|piece| {
            let start = (piece.offset() - section.offset) as usize;
            start < bytes.end && bytes.start < start + piece.bytes() as usize
        });

        pieces
            .par_iter()
            .try_for_each(|piece| self.0.verify_piece(piece))?;
        self.0.get(name)?.slice(bytes)
    }
}

impl FilePiece<'_> {
    /// Its place in the file.
    fn offset(&self) -> u64 {
        match self {
            FilePiece::Gap { start, .. } => *start,
            FilePiece::Whole(section) => section.offset,
            FilePiece::Chunk(section, index, _) => section.offset + (index * CHUNK) as u64,
        }
    }

    /// Its length.
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            FilePiece::Gap { start, end, .. } => end - start,
            FilePiece::Whole(section) => section.bytes,
            FilePiece::Chunk(section, index, _) => {
                (section.bytes - (index * CHUNK) as u64).min(CHUNK as u64)
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;

    use papir_core::codec::Writer;
    use papir_core::sections::SectionSink;

    use super::*;
    use crate::file::map;
    use crate::publish::{Readers, publish};

    /// A file with a long section of 5 MiB and 7 bytes, and a short one.
    fn file(folder: &std::path::Path) -> std::path::PathBuf {
        let path = folder.join("file");
        publish(&path, 1, Readers::Kept, |sink| {
            sink.put("long", &[&[1; 5 << 20], &[2; 7]])?;
            Ok(sink.put("short", &[b"short"])?)
        })
        .unwrap();
        path
    }

    fn read(path: &std::path::Path) -> Result<Sections> {
        Sections::read(map(path).unwrap())
    }

    #[test]
    fn damage_is_found_at_opening_or_later_and_its_chunk_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = file(folder.path());
        let good = fs::read(&path).unwrap();
        let sections = read(&path).unwrap();
        sections.verify().unwrap();
        assert_eq!(
            sections
                .large_pieces()
                .iter()
                .map(FilePiece::bytes)
                .sum::<u64>(),
            (5 << 20) + 7
        );

        for (offset, what) in [
            (4096, "0 to 1048576"),
            (4096 + (5 << 20), "5242880 to 5242887"),
        ] {
            let mut damaged = good.clone();
            damaged[offset] ^= 1;
            fs::write(&path, &damaged).unwrap();
            let sections = read(&path).unwrap();
            sections.verify_at(Verify::Lazy).unwrap();

            let large = sections.large_pieces();
            let later = large
                .iter()
                .find_map(|piece| sections.verify_piece(piece).err())
                .unwrap()
                .to_string();

            assert!(
                later.starts_with(&format!("section `long` at bytes {what} is damaged")),
                "{later}"
            );
            assert_eq!(
                sections.verify_at(Verify::Load).unwrap_err().to_string(),
                later
            );
            assert_eq!(
                sections.verify_named(&["long"]).unwrap_err().to_string(),
                later
            );
            sections.verify_named(&["short"]).unwrap();
        }

        // Short sections, zeros and the values of chunks are verified at every opening.
        let of_chunks = sections.find(CHUNKS).unwrap().offset as usize;
        let of_short = sections.find("short").unwrap().offset as usize;
        for offset in [of_chunks, of_short, of_short - 1, of_short + 5] {
            let mut damaged = good.clone();
            damaged[offset] ^= 1;
            fs::write(&path, &damaged).unwrap();
            assert!(
                read(&path)
                    .and_then(|sections| sections.verify_at(Verify::Lazy))
                    .is_err(),
                "{offset}"
            );
        }
    }

    #[test]
    fn a_file_without_the_values_of_chunks_is_verified_by_section() {
        let folder = tempfile::tempdir().unwrap();
        let path = file(folder.path());
        let sections = read(&path).unwrap();
        let (kept, left) = sections.table().split_at(2);

        let mut table = Writer::new();
        kept.iter().for_each(|section| section.write(&mut table));
        let table = table.finish();
        let end = left[0].offset;

        let mut bytes = fs::read(&path).unwrap()[..end as usize].to_vec();
        bytes[..HEADER_BYTES].copy_from_slice(&Header::of(2, end, &table).encode());
        bytes.extend(&table);
        fs::write(&path, &bytes).unwrap();

        let older = read(&path).unwrap();
        older.verify().unwrap();
        assert_eq!(older.large_pieces().len(), 1);

        bytes[5000] ^= 1;
        fs::write(&path, &bytes).unwrap();
        let damaged = read(&path).unwrap();
        damaged.verify_at(Verify::Lazy).unwrap();
        let error = damaged.verify().unwrap_err().to_string();
        assert!(error.starts_with("section `long` is damaged"), "{error}");
    }
}
