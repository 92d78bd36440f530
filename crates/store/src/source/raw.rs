//! Reads raw records: equal lengths, no gaps, also compressed.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use papir_core::{
    Blob, Error as CoreError, Progress, RecordBuffer, Records, Result as CoreResult, Shape,
    check_read, copy_packed,
};

use super::format::has_packed_name;
use super::input::Input;
use crate::error::{Error, Result, io};
use crate::file::{is_standard_input, name_of, open_regular};

/// Maximum length of standard input, and of a decompressed file, in bytes. They are held in memory;
/// other files are read in parts.
const MAX_STREAM_BYTES: u64 = 16 << 30;

/// Opens the records of a file or of standard input. A file whose name ends in `.gz` or `.zst` is
/// decompressed if it is gzip or zstd. The name decides, since records may begin with the same
/// bytes. A source without records and a stream that is too long are errors.
pub(crate) fn records(
    path: &Path,
    record_bytes: u64,
    progress: &dyn Progress,
) -> Result<Box<dyn Records>> {
    if !is_stream(path) {
        return Ok(Box::new(FileRecords::open(path, record_bytes)?));
    }

    // A stream cannot be read again: it is held in memory, up to a limit.
    let instead = if is_standard_input(path) {
        "a file"
    } else {
        "an uncompressed file"
    };
    let packed = all(
        Input::open_records(path, progress)?,
        MAX_STREAM_BYTES,
        instead,
    )?;

    let shape = shape(path, packed.len() as u64, record_bytes)?;
    Ok(Box::new(RecordBuffer::from_packed(shape, packed)?))
}

/// Returns whether records are read as a stream, and not part by part.
pub(crate) fn is_stream(path: &Path) -> bool {
    is_standard_input(path) || has_packed_name(path)
}

impl<'a> Input<'a> {
    /// Opens a stream of records.
    pub(crate) fn open_records(path: &Path, progress: &'a dyn Progress) -> Result<Self> {
        if is_standard_input(path) {
            Self::open(path, progress)
        } else {
            Self::open_unpacked(path, progress)
        }
    }
}

/// Reads a stream to its end. `instead` is the source to use for more than `most` bytes.
fn all(input: Input<'_>, most: u64, instead: &str) -> Result<Vec<u8>> {
    let name = input.name().to_owned();
    let mut bytes = Vec::new();

    // One byte more than the limit tells a stream that is too long.
    let read = input.take(most + 1).read_to_end(&mut bytes);
    read.map_err(|source| CoreError::Io {
        what: format!("reading {name}"),
        source,
    })?;
    if bytes.len() as u64 <= most {
        return Ok(bytes);
    }

    let reason = format!("more than {most} bytes: expected {instead} instead");
    Err(Error::Unreadable { file: name, reason })
}

/// The shape of `found` bytes of records. A length that is not a multiple of the record length is
/// an error.
pub(crate) fn shape(path: &Path, found: u64, record_bytes: u64) -> Result<Shape> {
    // `Shape::of_bytes` refuses a record length of 0.
    let length = record_bytes.max(1);
    if !found.is_multiple_of(length) {
        return Err(Error::PartialRecord {
            file: name_of(path),
            found,
            record_bytes,
        });
    }

    Shape::of_bytes(found / length, record_bytes)
        .map_err(|error| Error::of_source(path)(error.into()))
}

/// The records of a file, read in parts. The file is not mapped: one that is truncated meanwhile
/// gives an error, and not a signal that ends the process.
pub(crate) struct FileRecords {
    path: PathBuf,
    file: File,
    shape: Shape,
}

impl FileRecords {
    /// Opens records of this length. A file without records is refused.
    fn open(path: &Path, record_bytes: u64) -> Result<Self> {
        let file = open_regular(path).map_err(Error::io("opening", path))?;
        let length = file.metadata().map_err(Error::io("reading", path))?.len();
        if length == 0 {
            return Err(Error::of_source(path)(CoreError::EmptyDatabase.into()));
        }

        Ok(Self {
            path: path.to_owned(),
            file,
            shape: shape(path, length, record_bytes)?,
        })
    }

    /// Opens records of a shape. A file of another length is refused.
    pub(crate) fn of_shape(path: &Path, shape: Shape) -> CoreResult<Self> {
        let file = open_regular(path).map_err(|source| io("opening", path, source))?;
        let found = file
            .metadata()
            .map_err(|source| io("reading", path, source))?;
        CoreError::check_length(
            "the records of a build",
            found.len() as usize,
            shape.total_bytes() as usize,
        )?;

        Ok(Self {
            path: path.to_owned(),
            file,
            shape,
        })
    }
}

impl Records for FileRecords {
    fn shape(&self) -> Shape {
        self.shape
    }

    fn read_packed(&self, first: u64, count: u64, out: &mut [u8]) -> CoreResult<()> {
        check_read(&self.shape, first, count, out.len())?;
        let start = first * self.shape.record_bits() / 8;
        read_at(&self.file, out, start).map_err(|source| io("reading", &self.path, source))?;

        // The bits after the last record belong to the next one.
        let rest = count * self.shape.record_bits() % 8;
        if let (1.., Some(last)) = (rest, out.last_mut()) {
            *last &= (1 << rest) - 1;
        }
        Ok(())
    }
}

/// Fills `out` with the bytes of a file from `start` on. Several threads may read at once.
#[cfg(unix)]
fn read_at(file: &File, out: &mut [u8], start: u64) -> std::io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, out, start)
}

#[cfg(windows)]
fn read_at(file: &File, mut out: &mut [u8], mut start: u64) -> std::io::Result<()> {
    while !out.is_empty() {
        let read = std::os::windows::fs::FileExt::seek_read(file, out, start)?;
        if read == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        out = &mut out[read..];
        start += read as u64;
    }
    Ok(())
}

/// Packed records, mostly of a mapped file of the build.
pub(crate) struct PackedRecords {
    shape: Shape,
    packed: Blob,
}

impl PackedRecords {
    /// Records of a shape; `packed` has its bytes.
    pub(crate) fn new(shape: Shape, packed: Blob) -> Self {
        Self { shape, packed }
    }
}

impl Records for PackedRecords {
    fn shape(&self) -> Shape {
        self.shape
    }

    fn read_packed(&self, first: u64, count: u64, out: &mut [u8]) -> CoreResult<()> {
        copy_packed(&self.shape, &self.packed, first, count, out)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use papir_core::NoProgress;

    use super::*;

    #[test]
    fn a_file_that_is_truncated_meanwhile_gives_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("records.bin");
        let bytes: Vec<u8> = (0..=255).cycle().take(40_000).collect();
        std::fs::write(&path, &bytes).unwrap();

        let records = records(&path, 40, &NoProgress).unwrap();
        let mut part = [0; 80];
        records.read_packed(998, 2, &mut part).unwrap();
        assert_eq!(part, bytes[39_920..]);

        let file = File::options().write(true).open(&path).unwrap();
        file.set_len(20_000).unwrap();
        records.read_packed(0, 2, &mut part).unwrap();
        let error = records.read_packed(998, 2, &mut part).unwrap_err();
        assert_eq!(error.code(), "io");
        assert!(FileRecords::of_shape(&path, records.shape()).is_err());
    }

    #[test]
    fn streams_are_read_up_to_the_limit() {
        let input = |bytes: &'static [u8]| Input::of("stream", Box::new(bytes), &NoProgress);
        assert_eq!(all(input(b"abcd"), 4, "a file").unwrap(), b"abcd");
        let error = all(input(b"abcde"), 4, "a file").unwrap_err().to_string();
        assert_eq!(error, "stream: more than 4 bytes: expected a file instead");
    }
}
