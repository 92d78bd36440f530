//! Reads the rows appended to a file.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use super::arrived::Arrived;
use super::rows::{MAX_ROW, first_row, lines, rows_within, too_long};
use crate::error::{Error, Result};
use crate::metadata::Followed;
use crate::source::Format;

/// Bytes before a place that identify the source.
const BEFORE: u64 = 4096;

/// Reads the whole rows after a place, one or at most `most` bytes of them; `None` if there are none yet.
///
/// # Errors
/// [`Error::Unreadable`] for a source that is not the one that the place is in, [`Error::Line`] for a row
/// longer than [`MAX_ROW`], and [`papir_core::Error::Io`].
pub(super) fn arrived(
    path: &Path,
    format: Format,
    from: Option<&Followed>,
    most: usize,
) -> Result<Option<Arrived>> {
    let mut file = File::open(path).map_err(Error::io("opening", path))?;
    let length = file.metadata().map_err(Error::io("reading", path))?.len();
    let mut part = |start: u64, most: u64| {
        let mut bytes = Vec::new();
        let read = file
            .seek(SeekFrom::Start(start))
            .and_then(|_| (&mut file).take(most).read_to_end(&mut bytes));
        read.map(|_| bytes).map_err(Error::io("reading", path))
    };
    let header = match format {
        Format::Csv => {
            let begin = part(0, length.min(MAX_ROW as u64))?;
            match first_row(format, &begin) {
                Some(end) => begin[..end].to_vec(),
                None if begin.len() == MAX_ROW => return Err(too_long(path, 1)),
                None => return Ok(None),
            }
        }
        _ => Vec::new(),
    };
    // A version that was rolled back to before the source was followed states its beginning.
    let from = from.filter(|from| from.bytes > 0);
    let (start, before) = match from {
        Some(from) => (from.bytes, from.lines),
        None => (header.len() as u64, lines(&header)),
    };
    if let Some(from) = from {
        check(
            path,
            from,
            length,
            &part(from.bytes.saturating_sub(BEFORE), from.bytes.min(BEFORE))?,
        )?;
    }
    let mut rows = part(start, MAX_ROW as u64)?;
    let whole = rows_within(format, &rows, most);
    if whole == 0 && rows.len() == MAX_ROW {
        return Err(too_long(path, before + 1));
    }
    if whole == 0 {
        return Ok(None);
    }
    rows.truncate(whole);
    let bytes = start + whole as u64;
    let last = part(bytes.saturating_sub(BEFORE), bytes.min(BEFORE))?;
    let after = Followed {
        bytes,
        lines: before + lines(&rows),
        before: hash(&last),
    };
    Ok(Some(Arrived {
        header,
        rows,
        lines: before,
        after: Some(after),
    }))
}

/// Refuses a source that was truncated or replaced.
fn check(path: &Path, from: &Followed, length: u64, before: &[u8]) -> Result<()> {
    let expected = format!(
        "the source that was followed, with {} bytes or more",
        from.bytes
    );
    if length < from.bytes {
        return Err(Error::unreadable(
            path,
            format!("{length} bytes: expected {expected}"),
        ));
    }
    if hash(before) != from.before {
        let found = format!("other text before byte {}", from.bytes);
        return Err(Error::unreadable(
            path,
            format!("{found}: expected {expected}"),
        ));
    }
    Ok(())
}

fn hash(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}
