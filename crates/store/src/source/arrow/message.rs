//! Reads the messages of Arrow files and streams, within bounds.

use std::io::{BufReader, Chain, Cursor, Read};
use std::path::Path;

use arrow_ipc::{CompressionType, Message, root_as_message};
use papir_core::Progress;

use crate::error::{Error, Result};
use crate::file::free_memory;
use crate::source::input::Input;

/// The first and the last bytes of a file.
const MAGIC: &[u8] = b"ARROW1";
/// The first bytes of a file of Feather version 1, which is another format.
const FEATHER_1: &[u8] = b"FEA1";
/// The bytes before a file's first message, without further padding.
const BEGIN_BYTES: u64 = 8;
/// Largest alignment of a file's first message: some writers pad to that of their arrays.
const MAX_ALIGNMENT: u64 = 64;
/// The bytes before the length of a message.
const CONTINUATION: [u8; 4] = [0xff; 4];
/// The end of a stream: a message without bytes.
const END: [u8; 8] = [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];
/// Maximum length of a message without its body: a schema of many thousand columns.
const MAX_MESSAGE_BYTES: u32 = 64 << 20;
/// Bytes that a byte of LZ4 stands for at most, rounded up.
const MAX_LZ4_RATIO: u64 = 256;

/// Skips zeros before a file's first message. Returns the first bytes that are others.
fn after_padding(input: &mut Input<'_>) -> std::io::Result<Vec<u8>> {
    let mut begin = Vec::new();
    for _ in 0..MAX_ALIGNMENT / BEGIN_BYTES {
        begin.clear();
        input.take(BEGIN_BYTES).read_to_end(&mut begin)?;

        // No message begins with eight zeros.
        if begin.iter().any(|&byte| byte != 0) {
            break;
        }
    }
    Ok(begin)
}

/// The messages of a file or stream.
pub(super) struct IpcMessages<'a> {
    path: &'a Path,
    input: BufReader<Chain<Cursor<Vec<u8>>, Input<'a>>>,
    /// Set for a file, which has an end of its own.
    is_file: bool,
    /// Set once the end was passed on.
    ended: bool,
}

impl<'a> IpcMessages<'a> {
    /// Opens a file or stream before its first message.
    pub(super) fn open(path: &'a Path, progress: &'a dyn Progress) -> Result<Self> {
        let mut input = Input::open(path, progress)?;
        let mut begin = Vec::new();
        (&mut input)
            .take(BEGIN_BYTES)
            .read_to_end(&mut begin)
            .map_err(Error::io("reading", path))?;

        if begin.starts_with(FEATHER_1) {
            let reason = "Feather version 1: expected version 2, which is Arrow";
            return Err(Error::unreadable(path, reason));
        }
        let is_file = begin.starts_with(MAGIC);
        if is_file {
            begin = after_padding(&mut input).map_err(Error::io("reading", path))?;
        }

        Ok(Self {
            path,
            input: BufReader::new(Cursor::new(begin).chain(input)),
            is_file,
            ended: false,
        })
    }

    /// Bytes read so far.
    pub(super) fn bytes(&self) -> u64 {
        self.input.get_ref().get_ref().1.bytes
    }

    /// The next message with its length before it and its body after it, checked so that decoding
    /// takes no more memory than is free. The last one is the end of the stream, also if that is
    /// missing; then `None`.
    pub(super) fn next_message(&mut self) -> Result<Option<Vec<u8>>> {
        if self.ended {
            return Ok(None);
        }

        let mut bytes = Vec::new();
        let Some(length) = self.length(&mut bytes)? else {
            self.ended = true;
            self.check_end()?;
            return Ok(Some(END.to_vec()));
        };
        if length > MAX_MESSAGE_BYTES {
            let expected = format!("expected at most {MAX_MESSAGE_BYTES}");
            return Err(self.refused(format!("a message of {length} bytes: {expected}")));
        }

        let begin = bytes.len();
        self.append(u64::from(length), &mut bytes)?;
        let body_length = body_bytes(&bytes[begin..]).map_err(|reason| self.damaged(&reason))?;
        refuse_beyond_memory(body_length).map_err(|reason| self.refused(reason))?;

        let body = bytes.len();
        self.append(body_length, &mut bytes)?;
        check_packed(&bytes[begin..body], &bytes[body..]).map_err(|reason| self.refused(reason))?;
        Ok(Some(bytes))
    }

    /// Reads the length of a message; `None` at the end of the stream. The bytes are appended to
    /// `bytes`.
    fn length(&mut self, bytes: &mut Vec<u8>) -> Result<Option<u32>> {
        let read = self.part(4, bytes)?;
        // A stream may end without a sign. A file says where it ends.
        if read == 0 && !self.is_file {
            return Ok(None);
        }

        // Files from before version 0.15 have no continuation.
        if bytes[..] == CONTINUATION {
            self.part(4, bytes)?;
        }
        let last = bytes.last_chunk::<4>().copied();
        match last.map(u32::from_le_bytes) {
            Some(_) if !bytes.len().is_multiple_of(4) => Err(self.truncated()),
            None => Err(self.truncated()),
            Some(0) => Ok(None),
            Some(length) => Ok(Some(length)),
        }
    }

    /// Appends the next `length` bytes. Memory grows with the bytes that are there.
    fn append(&mut self, length: u64, bytes: &mut Vec<u8>) -> Result<()> {
        if self.part(length, bytes)? < length {
            return Err(self.truncated());
        }
        Ok(())
    }

    /// Appends the next `length` bytes, or fewer at the end. Returns their number.
    fn part(&mut self, length: u64, bytes: &mut Vec<u8>) -> Result<u64> {
        let read = (&mut self.input).take(length).read_to_end(bytes);
        let read = read.map_err(Error::io("reading", self.path))?;
        Ok(read as u64)
    }

    /// Refuses a file without its last bytes.
    fn check_end(&mut self) -> Result<()> {
        if !self.is_file {
            return Ok(());
        }

        // Before them is a table of the messages, which reading in order does not need.
        let mut last = Vec::new();
        loop {
            let read = self.part(1 << 16, &mut last)?;
            let kept = last.len().saturating_sub(MAGIC.len());
            last.drain(..kept);
            if read == 0 {
                break;
            }
        }
        if last == MAGIC {
            return Ok(());
        }
        Err(self.truncated())
    }

    fn truncated(&self) -> Error {
        self.damaged("truncated")
    }

    /// The error for a file that is damaged or not Arrow.
    pub(super) fn damaged(&self, reason: &str) -> Error {
        self.refused(format!("{reason}: expected an Arrow file"))
    }

    fn refused(&self, reason: String) -> Error {
        Error::unreadable(self.path, reason)
    }
}

/// Parses a message without its body.
fn parsed(message: &[u8]) -> Result<Message<'_>, String> {
    // The text of the error goes over several lines.
    root_as_message(message).map_err(|_| "a message that does not parse".to_owned())
}

/// The length of a message's body.
fn body_bytes(message: &[u8]) -> Result<u64, String> {
    let length = parsed(message)?.bodyLength();
    u64::try_from(length).map_err(|_| format!("a body of {length} bytes"))
}

/// Refuses more bytes than fit into the free memory.
fn refuse_beyond_memory(bytes: u64) -> Result<(), String> {
    match free_memory() {
        Some(free) if bytes > free => Err(format!(
            "a batch of {bytes} bytes, and {free} bytes of memory are free: expected a smaller one"
        )),
        _ => Ok(()),
    }
}

/// Refuses compressed buffers that state more bytes than they could have, and more than fit into
/// the free memory: the decoder reserves what they state.
fn check_packed(message: &[u8], body: &[u8]) -> Result<(), String> {
    let message = parsed(message)?;
    let dictionary = message.header_as_dictionary_batch();
    let of_dictionary = dictionary.and_then(|dictionary| dictionary.data());
    let Some(batch) = message.header_as_record_batch().or(of_dictionary) else {
        return Ok(());
    };
    let Some(compression) = batch.compression() else {
        return Ok(());
    };
    let codec = compression.codec();
    if codec != CompressionType::LZ4_FRAME {
        return Err(format!(
            "buffers compressed by {codec:?}: expected lz4, or none"
        ));
    }

    let mut stated = 0_u64;
    for buffer in batch.buffers().iter().flat_map(|buffers| buffers.iter()) {
        let offset = usize::try_from(buffer.offset()).ok();
        let length = usize::try_from(buffer.length()).ok();
        let end = offset.and_then(|offset| offset.checked_add(length?));
        let bytes = offset.and_then(|offset| body.get(offset..end?));
        let Some(bytes) = bytes else {
            return Err("a buffer outside its message: expected an Arrow file".to_owned());
        };
        stated = stated.saturating_add(stated_bytes(bytes)?);
    }
    refuse_beyond_memory(stated)
}

/// The bytes that a compressed buffer states before them.
fn stated_bytes(buffer: &[u8]) -> Result<u64, String> {
    if buffer.is_empty() {
        return Ok(0);
    }
    let stated = buffer.first_chunk::<8>().copied().map(i64::from_le_bytes);
    let found = match stated {
        // Its bytes follow as they are.
        Some(-1) => return Ok(0),
        Some(found) => found,
        None => {
            let found = buffer.len();
            return Err(format!(
                "a compressed buffer of {found} bytes: expected 8 or more"
            ));
        }
    };

    let most = MAX_LZ4_RATIO.saturating_mul(buffer.len() as u64);
    match u64::try_from(found) {
        Ok(found) if found <= most => Ok(found),
        _ => Err(format!(
            "a compressed buffer of {} bytes that states {found}: expected at most {most}",
            buffer.len()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_state_no_more_than_they_can_have() {
        let buffer = |stated: i64, length: usize| {
            let mut buffer = stated.to_le_bytes().to_vec();
            buffer.resize(length, 0);
            stated_bytes(&buffer)
        };

        assert_eq!(buffer(0, 8), Ok(0));
        assert_eq!(buffer(-1, 100), Ok(0));
        assert_eq!(buffer(2560, 10), Ok(2560));
        for (stated, length) in [(2561, 10), (i64::MAX, 100), (-2, 100), (0, 7)] {
            assert!(buffer(stated, length).is_err(), "{stated} {length}");
        }
        assert_eq!(stated_bytes(&[]), Ok(0));
    }
}
