//! Reads raw records: equal lengths, no gaps, also compressed.

use std::io::Read;
use std::path::Path;

use papir_core::{
    Blob, Error as CoreError, Progress, RecordBuffer, Records, Result as CoreResult, Shape,
    copy_packed,
};

use super::input::Input;
use crate::error::{Error, Result};
use crate::file::{is_standard_input, map, name_of};

/// Maximum length of standard input, and of a decompressed file, in bytes. They are held in memory;
/// other files are mapped.
const MAX_STREAM_BYTES: u64 = 16 << 30;

/// Opens the records of a file or of standard input. A file whose name ends in `.gz` is
/// decompressed if it is gzip. The name decides, since records may begin with the same bytes as
/// gzip. A source without records and a stream that is too long are errors.
pub(crate) fn records(
    path: &Path,
    record_bytes: u64,
    progress: &dyn Progress,
) -> Result<Box<dyn Records>> {
    if !is_stream(path) {
        let map = map(path)?;
        let shape = shape(path, map.len() as u64, record_bytes)?;
        let bytes = 0..map.len();
        return Ok(Box::new(PackedRecords::new(
            shape,
            Blob::part_of(map, bytes)?,
        )));
    }

    // A stream cannot be mapped: it is held in memory, up to a limit.
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

/// Returns whether records are read as a stream, and not mapped.
pub(crate) fn is_stream(path: &Path) -> bool {
    is_standard_input(path) || is_named_gzip(path)
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

fn is_named_gzip(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("gz"))
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

/// Packed records, mostly of a mapped file.
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
    fn streams_are_read_up_to_the_limit() {
        let input = |bytes: &'static [u8]| Input::of("stream", Box::new(bytes), &NoProgress);
        assert_eq!(all(input(b"abcd"), 4, "a file").unwrap(), b"abcd");
        let error = all(input(b"abcde"), 4, "a file").unwrap_err().to_string();
        assert_eq!(error, "stream: more than 4 bytes: expected a file instead");
    }
}
