//! Reads the rows appended to a file.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::time::SystemTime;

use super::arrived::{Arrived, TornRow};
use super::rows::{GrowingForm, GrowingText, MAX_ROW, too_long};
use crate::error::{Error, Result};
use crate::file::open_regular;
use crate::snapshot::Followed;
use crate::source::count_lines;

/// Number of bytes before a place that identify the source.
const BEFORE: u64 = 4096;

/// The state of a file, which tells whether it has changed: also if another file of the same length
/// has replaced it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FileState {
    length: u64,
    modified: Option<SystemTime>,
    #[cfg(unix)]
    inode: [u64; 2],
}

impl FileState {
    pub(super) fn of(path: &Path) -> Result<Self> {
        let found = fs::metadata(path).map_err(Error::io("reading", path))?;

        Ok(Self {
            length: found.len(),
            modified: found.modified().ok(),
            #[cfg(unix)]
            inode: {
                use std::os::unix::fs::MetadataExt;
                [found.dev(), found.ino()]
            },
        })
    }
}

/// The text after a place.
pub(super) enum TextAfter {
    /// Whole rows.
    Rows(Arrived),
    /// No whole row yet; the beginning of one, if there is any.
    Waiting(Option<TornRow>),
}

/// Reads the whole rows after a place, one or at most `most` bytes of them. A source that is not
/// the one that the place is in is refused, and so is a row longer than [`MAX_ROW`].
pub(super) fn arrived(
    path: &Path,
    form: GrowingForm,
    from: Option<&Followed>,
    most: usize,
) -> Result<TextAfter> {
    let mut source = GrowingFile::open(path)?;
    // A version that was rolled back to before the source was followed states its beginning.
    let from = from.filter(|from| from.bytes > 0);
    // Checked before the header is read: an emptied file has none.
    if let Some(from) = from {
        source.check(from)?;
    }

    let Some(header) = source.header(form)? else {
        return Ok(TextAfter::Waiting(TornRow::of(source.length, 1)));
    };
    let (start, before) = match from {
        Some(from) => (from.bytes, from.lines),
        // The first row is a row like the others.
        None if !form.has_header() => (0, 0),
        None => (header.len() as u64, count_lines(&header)),
    };

    // At most the longest row: memory is bounded however far the source is ahead.
    let mut rows = source.part(start, MAX_ROW as u64)?;
    let whole = growing(form, &rows).rows_within(most);
    if whole == 0 && rows.len() == MAX_ROW {
        return Err(too_long(path, before + 1));
    }
    if whole == 0 {
        return Ok(TextAfter::Waiting(TornRow::of(
            rows.len() as u64,
            before + 1,
        )));
    }
    rows.truncate(whole);

    let bytes = start + whole as u64;
    let after = Followed {
        bytes,
        lines: before + count_lines(&rows),
        before: source.hash_before(bytes)?,
    };
    Ok(TextAfter::Rows(Arrived {
        header,
        rows,
        lines: before,
        after: Some(after),
    }))
}

/// A part of a file, to which more may be appended.
fn growing(form: GrowingForm, text: &[u8]) -> GrowingText<'_> {
    GrowingText {
        form,
        text,
        ended: false,
    }
}

/// A file that grows.
struct GrowingFile<'a> {
    path: &'a Path,
    file: File,
    /// Its length when it was opened.
    length: u64,
}

impl<'a> GrowingFile<'a> {
    fn open(path: &'a Path) -> Result<Self> {
        let file = open_regular(path).map_err(Error::io("opening", path))?;
        let length = file.metadata().map_err(Error::io("reading", path))?.len();
        Ok(Self { path, file, length })
    }

    /// Reads at most `most` bytes from `start` on.
    fn part(&mut self, start: u64, most: u64) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let read = self
            .file
            .seek(SeekFrom::Start(start))
            .and_then(|_| (&mut self.file).take(most).read_to_end(&mut bytes));
        read.map(|_| bytes).map_err(Error::io("reading", self.path))
    }

    /// The first row of CSV and TSV, otherwise nothing; `None` if it is not complete yet.
    fn header(&mut self, form: GrowingForm) -> Result<Option<Vec<u8>>> {
        if !form.has_first_row() {
            return Ok(Some(Vec::new()));
        }

        // Read at each look: a source that was emptied or replaced has another one.
        let begin = self.part(0, self.length.min(MAX_ROW as u64))?;
        match growing(form, &begin).first_row() {
            Some(end) => Ok(Some(begin[..end].to_vec())),
            None if begin.len() == MAX_ROW => Err(too_long(self.path, 1)),
            None => Ok(None),
        }
    }

    /// Hash of the text before a place, which tells a replaced file from the one that was followed.
    fn hash_before(&mut self, place: u64) -> Result<String> {
        let text = self.part(place.saturating_sub(BEFORE), place.min(BEFORE))?;
        Ok(blake3::hash(&text).to_hex().to_string())
    }

    /// Refuses a source that was truncated or replaced.
    fn check(&mut self, from: &Followed) -> Result<()> {
        // The hash alone would not tell a truncated file from one that was written anew.
        let place = from.bytes;
        let before = self.hash_before(place)?;
        let expected = format!("the source that was followed, with {place} bytes or more");

        let length = self.length;
        if length < place {
            let reason = format!("{length} bytes: expected {expected}");
            return Err(Error::unreadable(self.path, reason));
        }
        if before != from.before {
            let reason = format!("other text before byte {place}: expected {expected}");
            return Err(Error::unreadable(self.path, reason));
        }
        Ok(())
    }
}
