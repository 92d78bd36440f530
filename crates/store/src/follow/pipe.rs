//! Standard input, as it arrives.

use std::io::Read;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread;

use super::arrived::Arrived;
use super::rows::{first_row, lines, whole_rows};
use crate::error::Result;
use crate::source::Format;

/// Bytes of one read.
const READ: usize = 1 << 16;
/// Number of reads that wait to be taken. Beyond them, the writer waits.
const WAITING: usize = 256;

/// A stream that another thread reads. It is read once: what was taken and not published is lost.
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
        Self { parts, header: None, text: Vec::new(), lines: 0, ended: false }
    }

    /// Returns whether the stream has ended and everything was taken.
    pub(super) fn has_ended(&self) -> bool {
        self.ended && self.text.is_empty()
    }

    /// Takes the whole rows that have arrived; `None` if there are none yet. The last row of a stream that
    /// has ended is whole without a line end.
    ///
    /// # Errors
    /// [`papir_core::Error::Io`].
    pub(super) fn arrived(&mut self, format: Format) -> Result<Option<Arrived>> {
        self.take_parts()?;
        if self.ended && !self.text.is_empty() && !self.text.ends_with(b"\n") {
            self.text.push(b'\n');
        }
        if self.header.is_none() {
            self.header = match format {
                Format::Csv => first_row(format, &self.text).map(|end| self.text.drain(..end).collect()),
                _ => Some(Vec::new()),
            };
            self.lines = self.header.as_deref().map_or(0, lines);
        }
        let (Some(header), whole) = (self.header.clone(), whole_rows(format, &self.text)) else {
            return Ok(None);
        };
        if whole == 0 {
            return Ok(None);
        }
        let rows: Vec<u8> = self.text.drain(..whole).collect();
        let before = self.lines;
        self.lines += lines(&rows);
        Ok(Some(Arrived { header, rows, lines: before, after: None }))
    }

    fn take_parts(&mut self) -> Result<()> {
        loop {
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
    }
}

/// Passes a stream on, until it ends or fails or nobody takes it.
fn read_all(mut stream: impl Read, sender: &SyncSender<std::io::Result<Vec<u8>>>) {
    loop {
        let mut part = vec![0; READ];
        let read = stream.read(&mut part);
        let (ended, failed) = (matches!(read, Ok(0)), read.is_err());
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
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn a_stream_is_taken_in_whole_rows() {
        let mut pipe = Pipe::new(&b"k,v\n1,\"a\nb\"\n2,c"[..]);
        let mut found = Vec::new();
        let begin = Instant::now();
        while !pipe.has_ended() {
            assert!(begin.elapsed() < Duration::from_secs(60));
            if let Some(arrived) = pipe.arrived(Format::Csv).unwrap() {
                assert_eq!(arrived.header, b"k,v\n");
                found.push((arrived.lines, arrived.rows));
            }
        }
        let text: Vec<u8> = found.iter().flat_map(|(_, rows)| rows.clone()).collect();
        assert_eq!(text, b"1,\"a\nb\"\n2,c\n");
        assert_eq!(found[0].0, 1);
    }
}
