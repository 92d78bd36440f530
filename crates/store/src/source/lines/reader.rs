//! Reads the lines of a text from a stream.

use std::io::{BufRead, BufReader, ErrorKind};
use std::path::Path;

use papir_core::Error as CoreError;

use crate::error::Result;
use crate::file::name_of;
use crate::source::csv::is_line_end;
use crate::source::input::{Input, without_mark};
use crate::source::row::Fault;

/// Maximum length of a line in bytes. A key and the longest value fit.
const MAX_LINE_BYTES: usize = 1 << 20;

/// The lines of a stream.
pub(super) struct LineReader<'a> {
    path: &'a Path,
    input: BufReader<Input<'a>>,
    /// The beginning of the current line, at most [`MAX_LINE_BYTES`].
    text: Vec<u8>,
    /// Set if the line is longer.
    is_long: bool,
    /// The current line, from 1.
    line: u64,
}

impl<'a> LineReader<'a> {
    /// A reader before the first line.
    pub(super) fn new(path: &'a Path, input: Input<'a>) -> Self {
        Self {
            path,
            input: BufReader::with_capacity(1 << 20, input),
            text: Vec::new(),
            is_long: false,
            line: 0,
        }
    }

    /// Reads the next line. Returns its number, from 1; `None` after the last one.
    pub(super) fn next_line(&mut self) -> Result<Option<u64>> {
        self.text.clear();
        self.is_long = false;

        let mut is_empty = true;
        loop {
            self.fill()?;
            let window = self.input.buffer();
            // A last line may have no end.
            if window.is_empty() && is_empty {
                return Ok(None);
            }
            if window.is_empty() {
                break;
            }

            is_empty = false;
            let end = window.iter().position(is_line_end);
            let part = &window[..end.unwrap_or(window.len())];
            let room = MAX_LINE_BYTES - self.text.len();
            self.is_long |= part.len() > room;
            self.text.extend_from_slice(&part[..part.len().min(room)]);

            let passed = end.map_or(window.len(), |end| end + 1);
            let last = window[passed - 1];
            self.input.consume(passed);
            if end.is_some() {
                self.skip_line_feed_after(last)?;
                break;
            }
        }

        self.line += 1;
        Ok(Some(self.line))
    }

    /// The current line, without its end and a byte order mark. A line that is too long is a fault.
    pub(super) fn text(&self) -> Result<&[u8], Fault> {
        if self.is_long {
            let reason = format!("longer than {MAX_LINE_BYTES} bytes: expected a shorter line");
            return Err(Fault::Reason(reason));
        }

        Ok(match self.line {
            1 => without_mark(&self.text),
            _ => self.text.as_slice(),
        })
    }

    /// Number of bytes read from the stream.
    pub(super) fn bytes(&self) -> u64 {
        self.input.get_ref().bytes
    }

    /// Skips the second half of a line end whose first byte is `first`.
    fn skip_line_feed_after(&mut self, first: u8) -> Result<()> {
        if first != b'\r' {
            return Ok(());
        }

        self.fill()?;
        if self.input.buffer().first() == Some(&b'\n') {
            self.input.consume(1);
        }
        Ok(())
    }

    /// Reads more of the stream if the buffer is empty.
    fn fill(&mut self) -> Result<()> {
        loop {
            match self.input.fill_buf() {
                Ok(_) => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(source) => {
                    let what = format!("reading {}", name_of(self.path));
                    return Err(CoreError::Io { what, source }.into());
                }
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::Cursor;

    use papir_core::NoProgress;

    use super::*;

    /// The lines of a text, each with its number.
    fn lines(text: &[u8]) -> Vec<(u64, String)> {
        let stream = Box::new(Cursor::new(text.to_vec()));
        let input = Input::of("text", stream, &NoProgress);
        let mut reader = LineReader::new(Path::new("text"), input);
        let mut lines = Vec::new();
        while let Some(line) = reader.next_line().unwrap() {
            let text = match reader.text() {
                Ok(text) => String::from_utf8(text.to_vec()).unwrap(),
                Err(fault) => fault.to_string(),
            };
            lines.push((line, text));
        }
        assert_eq!(reader.bytes(), text.len() as u64);
        lines
    }

    #[test]
    fn lines_end_at_either_character_or_both() {
        for end in ["\n", "\r\n", "\r"] {
            let text = ["\u{feff}a", "", "b c", "d"].join(end);
            let expected = [(1, "a"), (2, ""), (3, "b c"), (4, "d")];
            let expected = expected.map(|(line, text)| (line, text.to_owned()));
            assert_eq!(lines(text.as_bytes()), expected, "{end:?}");
            assert_eq!(lines((text + end).as_bytes()), expected, "{end:?}");
        }
        assert!(lines(b"").is_empty());
    }

    #[test]
    fn lines_that_are_too_long_are_named_and_passed() {
        let longest = "x".repeat(MAX_LINE_BYTES);
        let found = lines(format!("{longest}\r\n{longest}x\r\nc").as_bytes());
        assert_eq!(found[0], (1, longest));
        assert!(found[1].1.starts_with("longer than 1048576 bytes"));
        assert_eq!(found[2], (3, "c".to_owned()));
    }
}
