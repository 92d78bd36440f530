//! Reads the rows of CSV from a stream.

use std::borrow::Cow;
use std::io::{ErrorKind, Read};
use std::path::Path;

use papir_core::Error as CoreError;

use super::scan::{RowScanner, Scanned, StrayQuote, count_lines, is_line_end, line_end};
use crate::error::{Error, Result};
use crate::file::name_of;
use crate::source::input::{Input, without_mark};

/// Maximum length of a row in bytes. Bounds the memory of a row whose quotes are not closed.
const MAX_ROW_BYTES: usize = 16 << 20;
/// The fault of a row with a stray quote in UTF-16, where a NUL byte follows each quote.
const UTF_16: &str = "a quote beside NUL bytes, perhaps UTF-16: expected UTF-8";
/// Bytes of one read.
const READ_BYTES: usize = 1 << 20;

/// The rows of a stream.
pub(super) struct RowReader<'a> {
    path: &'a Path,
    input: Input<'a>,
    scanner: RowScanner,
    /// A window of the stream, of which `begin..end` is not passed yet.
    text: Vec<u8>,
    begin: usize,
    end: usize,
    /// Set once the stream has no more bytes.
    ended: bool,
    /// The line at `begin`, from 1.
    line: u64,
    /// The beginning of the current row in the text.
    row: usize,
}

/// The next thing in a stream.
pub(super) enum NextRow {
    /// A row that begins on this line. Its fields are those of the reader.
    Row(u64),
    /// A row with a stray quote on this line. The reader can continue after it.
    Stray(u64, &'static str),
    End,
}

impl<'a> RowReader<'a> {
    /// A reader at the first row, after a byte order mark.
    pub(super) fn new(path: &'a Path, input: Input<'a>, delimiter: u8) -> Result<Self> {
        let mut reader = Self {
            path,
            input,
            scanner: RowScanner::new(MAX_ROW_BYTES, delimiter),
            text: vec![0; READ_BYTES],
            begin: 0,
            end: 0,
            ended: false,
            line: 1,
            row: 0,
        };

        // A pipe may give less than the mark at once.
        while !reader.ended && reader.end < 3 {
            reader.fill()?;
        }
        let begin = &reader.text[..reader.end];
        reader.begin = begin.len() - without_mark(begin).len();
        Ok(reader)
    }

    /// Reads the next row that is not empty.
    ///
    /// # Errors
    /// [`Error::Line`] for a row that is too long, and [`CoreError::Io`].
    pub(super) fn next_row(&mut self) -> Result<NextRow> {
        loop {
            let text = &self.text[self.begin..self.end];
            if text.is_empty() && self.ended {
                return Ok(NextRow::End);
            }

            if text.first().is_some_and(is_line_end) {
                match line_end(text, 0, self.ended) {
                    Some(length) => self.pass(length),
                    None => self.fill()?,
                }
                continue;
            }

            let line = self.line;
            match self.scanner.scan(text, self.ended) {
                Scanned::Row(length) => {
                    self.row = self.begin;
                    self.begin += length;
                    self.line += self.scanner.lines();
                    return Ok(NextRow::Row(line));
                }
                // The error names the line of the quote, and reading goes on after that line.
                Scanned::Stray(StrayQuote { at, length, reason }) => {
                    let line = line + count_lines(&text[..at]);
                    let is_utf_16 = text[..length].contains(&0);
                    let reason = if is_utf_16 { UTF_16 } else { reason };
                    self.pass(length);
                    return Ok(NextRow::Stray(line, reason));
                }
                // The scan begins anew with more text: a state between reads would have to outlive
                // the window.
                Scanned::Torn => self.fill()?,
                Scanned::TooLong => return Err(self.too_long()),
            }
        }
    }

    /// Number of fields of the current row.
    pub(super) fn count(&self) -> usize {
        self.scanner.count()
    }

    /// A field of the current row; empty beyond the last one.
    pub(super) fn field(&self, index: usize) -> Cow<'_, [u8]> {
        self.scanner.field(&self.text[self.row..self.end], index)
    }

    /// Number of bytes read from the stream.
    pub(super) fn bytes(&self) -> u64 {
        self.input.bytes
    }

    /// Moves on by whole lines.
    fn pass(&mut self, length: usize) {
        let passed = &self.text[self.begin..self.begin + length];
        self.line += count_lines(passed);
        self.begin += length;
    }

    /// Reads more of the stream, once.
    fn fill(&mut self) -> Result<()> {
        self.text.copy_within(self.begin..self.end, 0);
        self.end -= self.begin;
        self.begin = 0;

        // Doubled, so that a long row is scanned again only a few times.
        if self.end == self.text.len() {
            let length = (2 * self.end).min(MAX_ROW_BYTES + READ_BYTES);
            self.text.resize(length.max(self.end + 1), 0);
        }

        loop {
            match self.input.read(&mut self.text[self.end..]) {
                Ok(read) => {
                    self.ended = read == 0;
                    self.end += read;
                    return Ok(());
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(source) => {
                    let what = format!("reading {}", name_of(self.path));
                    return Err(CoreError::Io { what, source }.into());
                }
            }
        }
    }

    /// The error for a row without an end.
    fn too_long(&self) -> Error {
        Error::Line {
            file: name_of(self.path),
            line: self.line,
            reason: format!("a row of {MAX_ROW_BYTES} bytes or more: expected a shorter one"),
        }
    }
}
