//! Reads standard input as it arrives.

use std::io::Read;
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread;

use super::arrived::{Arrived, TornRow};
use super::rows::{GrowingForm, GrowingText, MAX_ROW, too_long};
use crate::error::Result;
use crate::source::count_lines;

/// Bytes of one read.
const READ: usize = 1 << 16;
/// Number of reads that wait to be taken. Beyond them, the writer waits.
const WAITING: usize = 256;

/// A stream that another thread reads. It is read once: text that was not published is lost with
/// the process.
pub(super) struct Pipe {
    parts: Receiver<std::io::Result<Vec<u8>>>,
    header: Option<Vec<u8>>,
    text: Vec<u8>,
    lines: u64,
    ended: bool,
}

impl Pipe {
    /// Reads a stream on a thread of its own.
    pub(super) fn new(stream: impl Read + Send + 'static) -> Self {
        let (sender, parts) = sync_channel(WAITING);
        thread::spawn(move || read_all(stream, &sender));
        Self {
            parts,
            header: None,
            text: Vec::new(),
            lines: 0,
            ended: false,
        }
    }

    /// Returns whether the stream has ended and everything was passed.
    pub(super) fn has_ended(&self) -> bool {
        self.ended && self.text.is_empty()
    }

    /// The beginning of a row whose end has not arrived.
    pub(super) fn waiting(&self) -> Option<TornRow> {
        TornRow::of(self.text.len() as u64, self.lines + 1)
    }

    /// The next whole rows that have arrived, one or at most `most` bytes of them; `None` if there
    /// are none yet. The last row of a stream that has ended is whole without a line end. A row
    /// longer than [`MAX_ROW`] is an error.
    pub(super) fn arrived(&mut self, form: GrowingForm, most: usize) -> Result<Option<Arrived>> {
        self.take_parts()?;

        if self.header.is_none() {
            let end = if form.has_first_row() {
                self.whole(form, 0)?
            } else {
                Some(0)
            };
            // A first row that is no header is published with the others.
            self.header = end.map(|end| match form.has_header() {
                true => self.pass(end),
                false => self.text[..end].to_vec(),
            });
        }

        // The rows stay in the text until they are passed: they are not published yet.
        let (Some(header), Some(end)) = (self.header.clone(), self.whole(form, most)?) else {
            return Ok(None);
        };
        Ok(Some(Arrived {
            header,
            rows: self.text[..end].to_vec(),
            lines: self.lines,
            after: None,
        }))
    }

    /// Removes the next `bytes` bytes, which are whole rows, from the text.
    pub(super) fn pass(&mut self, bytes: usize) -> Vec<u8> {
        // Called once rows are durable: those that could not be published arrive again.
        let passed: Vec<u8> = self.text.drain(..bytes).collect();
        self.lines += count_lines(&passed);
        passed
    }

    /// Length of the first row, or of at most `most` bytes of whole rows; `None` if there are none
    /// yet.
    fn whole(&self, form: GrowingForm, most: usize) -> Result<Option<usize>> {
        // At most the longest row: more would be scanned again at each look.
        let begin = &self.text[..self.text.len().min(MAX_ROW)];
        let text = GrowingText {
            form,
            text: begin,
            ended: self.ended && begin.len() == self.text.len(),
        };

        match text.rows_within(most) {
            0 if begin.len() == MAX_ROW => Err(too_long(Path::new("-"), self.lines + 1)),
            whole => Ok((whole > 0).then_some(whole)),
        }
    }

    /// Reads on until a row of the longest length is there.
    fn take_parts(&mut self) -> Result<()> {
        while self.text.len() < MAX_ROW {
            match self.parts.try_recv() {
                Ok(Ok(part)) => self.text.extend(part),
                Ok(Err(source)) => {
                    let what = "reading standard input".to_owned();
                    return Err(papir_core::Error::Io { what, source }.into());
                }
                Err(TryRecvError::Empty) => return Ok(()),
                Err(TryRecvError::Disconnected) => {
                    self.ended = true;
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}

/// Passes a stream on, until it ends or fails or the receiver is dropped.
fn read_all(mut stream: impl Read, sender: &SyncSender<std::io::Result<Vec<u8>>>) {
    loop {
        let mut part = vec![0; READ];
        let read = stream.read(&mut part);
        let ended = matches!(read, Ok(0));
        let failed = read.is_err();

        let read = read.map(|read| {
            part.truncate(read);
            part
        });
        if ended || sender.send(read).is_err() || failed {
            return;
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::Cursor;
    use std::time::{Duration, Instant};

    use super::*;
    use crate::source::{Format, TextForm};

    /// The form of a format without choices.
    fn form(format: Format) -> GrowingForm {
        GrowingForm::new(format, &TextForm::default())
    }

    /// The rows of a stream in parts of at most `most` bytes, and the lines before each part.
    fn parts(text: impl Into<Vec<u8>>, most: usize) -> Result<Vec<(u64, String)>> {
        let mut pipe = Pipe::new(Cursor::new(text.into()));
        let mut found = Vec::new();
        let begin = Instant::now();
        while !pipe.has_ended() {
            assert!(begin.elapsed() < Duration::from_secs(60));
            if let Some(Arrived {
                header,
                rows,
                lines,
                ..
            }) = pipe.arrived(form(Format::Csv), most)?
            {
                assert_eq!(header, b"k,v\n");

                let again = pipe.arrived(form(Format::Csv), most)?.unwrap();
                assert_eq!(
                    (&again.rows, again.lines),
                    (&rows, lines),
                    "nothing is lost before it is passed"
                );
                pipe.pass(rows.len());
                found.push((lines, String::from_utf8(rows).unwrap()));
            }
        }
        Ok(found)
    }

    #[test]
    fn a_stream_is_taken_in_parts_of_whole_rows() {
        let of = |parts: &[(u64, &str)]| {
            parts
                .iter()
                .map(|(lines, rows)| (*lines, (*rows).to_owned()))
                .collect()
        };
        let all: Vec<_> = of(&[(1, "1,\"a\nb\"\n"), (3, "2,c\n3,d\n"), (5, "4,e")]);
        assert_eq!(parts("k,v\n1,\"a\nb\"\n2,c\n3,d\n4,e", 8).unwrap(), all);

        // A quote that is not closed at the end leaves the rows after it alone.
        let open: Vec<_> = of(&[(1, "1,a\n"), (2, "2,\"b\n"), (3, "3,c\n")]);
        assert_eq!(parts("k,v\n1,a\n2,\"b\n3,c\n", 8).unwrap(), open);
        assert_eq!(parts("k,v", 8).unwrap(), []);
    }

    #[test]
    fn a_row_without_an_end_is_refused_and_does_not_fill_the_memory() {
        let rows = format!("k,v\n1,a\n2,{}", "b".repeat(8 * MAX_ROW));
        let error = parts(rows, MAX_ROW).unwrap_err().to_string();
        assert!(
            error.contains("line 3: a row of more than 1048576 bytes"),
            "{error}"
        );

        let mut pipe = Pipe::new(Cursor::new(vec![b'x'; 8 * MAX_ROW]));
        let begin = Instant::now();
        while pipe.text.len() < MAX_ROW {
            assert!(begin.elapsed() < Duration::from_secs(60));
            drop(pipe.arrived(form(Format::JsonLines), MAX_ROW));
        }
        assert!(
            pipe.arrived(form(Format::JsonLines), MAX_ROW).is_err()
                && pipe.text.len() < MAX_ROW + READ
        );
    }
}
