//! Format of snapshot files: header, sections, table of sections.
//!
//! ```text
//! offset  bytes  field
//!      0      8  magic "PIRSNAPS"
//!      8      4  format version, 1
//!     12      4  number of sections
//!     16      8  offset of the table of sections
//!     24      8  length t of the table
//!     32      8  length of the file: offset + t
//!     40     16  first 16 bytes of BLAKE3 over the table
//!     56      8  first 8 bytes of BLAKE3 over the header before
//! ```
//! Sections start at multiples of 4096; the bytes between them are zero. A table entry is the
//! length of the section's name (1 byte), the name, offset (8), length (8) and BLAKE3 (32) of the
//! section. All numbers are little-endian. The checksums detect accidental damage, not forgery.

use papir_core::codec::{Reader, Writer};
use papir_core::{Error, Result, shown_bytes};

use super::formats::SNAPSHOT;

/// Alignment of sections: a page of the mapped file, and therefore also a cache line.
pub(crate) const ALIGNMENT: u64 = 4096;
/// Bytes of the header.
pub(crate) const HEADER_BYTES: usize = 64;
const MAGIC: [u8; 8] = *b"PIRSNAPS";

/// The length of a file in bytes that its header states; `None` if it does not begin with an intact
/// header.
#[cfg(feature = "cloud")]
pub(crate) fn stated_length(begin: &[u8]) -> Option<u64> {
    let header = begin.get(..HEADER_BYTES)?;
    let is_intact = has_magic(header) && header[56..] == prefix::<8>(&header[..56]);
    let stated = header.get(32..40)?.try_into().ok()?;
    is_intact.then_some(u64::from_le_bytes(stated))
}

/// Returns whether a file begins like a snapshot.
pub(crate) fn has_magic(begin: &[u8]) -> bool {
    begin.starts_with(&MAGIC)
}

/// Maximum number of sections, more than any scheme has. Bounds the memory for a damaged file.
const MAX_SECTIONS: u32 = 4096;

/// The header: position and hash of the table of sections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) sections: u32,
    pub(crate) table_offset: u64,
    pub(crate) table_bytes: u64,
    pub(crate) table_hash: [u8; 16],
}

/// An entry of the table of sections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Section {
    pub(crate) name: String,
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
    pub(crate) hash: [u8; 32],
}

impl Header {
    /// The header for a file that ends with this table.
    pub(crate) fn of(sections: usize, table_offset: u64, table: &[u8]) -> Self {
        Self {
            sections: sections as u32,
            table_offset,
            table_bytes: table.len() as u64,
            table_hash: prefix(table),
        }
    }

    pub(crate) fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut writer = Writer::new();
        writer
            .raw(&MAGIC)
            .u32(SNAPSHOT.written)
            .u32(self.sections)
            .u64(self.table_offset)
            .u64(self.table_bytes);
        writer
            .u64(self.table_offset + self.table_bytes)
            .raw(&self.table_hash);
        let body = writer.finish();

        let mut bytes = [0; HEADER_BYTES];
        bytes[..56].copy_from_slice(&body);
        bytes[56..].copy_from_slice(&prefix::<8>(&body));
        bytes
    }

    /// Decodes the header of a file. `file` is the whole file: a truncated or extended one is
    /// refused.
    pub(crate) fn decode(file: &[u8]) -> Result<Self> {
        let mut reader = Reader::new("the snapshot file", file);
        // The first bytes tell a foreign file from a damaged one, whose error would mislead.
        let magic: [u8; 8] = reader.array()?;
        if magic != MAGIC {
            let expected = "a file written by papir, which begins with `PIRSNAPS`";
            return Err(Error::malformed(
                "a snapshot",
                shown_bytes(&magic),
                expected,
            ));
        }

        // Checked before the checksum, which another format may place elsewhere.
        SNAPSHOT.check(reader.u32()?)?;

        let sections = reader.u32()?;
        let table_offset = reader.u64()?;
        let table_bytes = reader.u64()?;
        let file_bytes = reader.u64()?;
        let table_hash = reader.array()?;
        let sum = reader.array::<8>()?;

        // Before the lengths are used: they place everything else.
        if sum != prefix::<8>(&file[..56]) {
            return Err(Error::Checksum {
                what: "the header".to_owned(),
            });
        }
        // The header states the length of the file, so that a truncated copy is found without
        // reading it.
        if file_bytes != file.len() as u64
            || table_offset.checked_add(table_bytes) != Some(file_bytes)
        {
            let found = file.len() as u64;
            let expected = file_bytes;
            return Err(Error::Length {
                what: "the snapshot file",
                found,
                expected,
            });
        }

        Ok(Self {
            sections,
            table_offset,
            table_bytes,
            table_hash,
        })
    }

    /// Decodes the table of sections of the file with this header.
    pub(crate) fn table(&self, file: &[u8]) -> Result<Vec<Section>> {
        // Bounds the memory of the table, before it is allocated.
        if self.sections > MAX_SECTIONS {
            let expected = format!("at most {MAX_SECTIONS}");
            return Err(Error::out_of_bounds(
                "the number of sections",
                self.sections.into(),
                expected,
            ));
        }

        let table = part(file, self.table_offset, self.table_bytes)?;
        // Before it is decoded: offsets and hashes of all sections are in it.
        if prefix::<16>(table) != self.table_hash {
            return Err(Error::Checksum {
                what: "the table of sections".to_owned(),
            });
        }

        let mut reader = Reader::new("the table of sections", table);
        let sections = (0..self.sections)
            .map(|_| Section::read(&mut reader))
            .collect::<Result<Vec<_>>>()?;
        reader.finish()?;
        self.check_order(&sections)?;
        Ok(sections)
    }

    /// Checks that sections are in order, aligned, and between header and table.
    fn check_order(&self, sections: &[Section]) -> Result<()> {
        // In order and apart, so that each byte of the file belongs to one section or to the zeros
        // between.
        let mut end = HEADER_BYTES as u64;
        for section in sections {
            let placed = section.offset >= end && section.offset % ALIGNMENT == 0;
            match section.offset.checked_add(section.bytes) {
                Some(next) if placed => end = next,
                _ => return Err(misplaced(section)),
            }
        }
        match sections.last() {
            Some(last) if end > self.table_offset => Err(misplaced(last)),
            _ => Ok(()),
        }
    }
}

impl Section {
    pub(crate) fn write(&self, writer: &mut Writer) {
        // The writer has refused longer names.
        writer.u8(self.name.len() as u8).raw(self.name.as_bytes());
        writer.u64(self.offset).u64(self.bytes).raw(&self.hash);
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let length = reader.u8()?;
        let name = reader.raw(length.into())?;
        let name = std::str::from_utf8(name)
            .map_err(|_| Error::malformed("a section's name", shown_bytes(name), "UTF-8"))?;
        let offset = reader.u64()?;
        let bytes = reader.u64()?;
        let hash = reader.array()?;
        Ok(Self {
            name: name.to_owned(),
            offset,
            bytes,
            hash,
        })
    }
}

fn misplaced(section: &Section) -> Error {
    let Section {
        name,
        offset,
        bytes,
        ..
    } = section;

    let found = format!("`{name}` at {offset}, {bytes} bytes long");
    Error::malformed(
        "the table of sections",
        found,
        "sections in order, aligned, inside the file",
    )
}

/// Returns a range of the file. Refuses one that extends beyond the file.
pub(crate) fn part(file: &[u8], offset: u64, bytes: u64) -> Result<&[u8]> {
    // Saturating: both come from a file, and a wrapped end would be inside it.
    let end = offset.saturating_add(bytes);
    let range = match (usize::try_from(offset), usize::try_from(end)) {
        (Ok(start), Ok(end)) => file.get(start..end),
        _ => None,
    };
    range.ok_or(Error::Length {
        what: "the snapshot file",
        found: file.len() as u64,
        expected: end,
    })
}

/// The first bytes of BLAKE3.
fn prefix<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut sum = [0; N];
    sum.copy_from_slice(&blake3::hash(bytes).as_bytes()[..N]);
    sum
}
