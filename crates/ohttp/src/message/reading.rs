//! Reading of binary HTTP.
//!
//! Written here, since the library's reader reserves as much memory as a peer announces.

use std::io::ErrorKind;

use futures_util::io::{AsyncRead, AsyncReadExt};

use super::{InnerHeader, InnerRequest, ResponseHead};
use crate::error::{Error, Result};

/// Longest head in bytes: what services accept as the headers of a request.
pub(crate) const HEAD_BYTES: u64 = 32 << 10;
/// Longest end of a message in bytes: trailers, which are ignored, and padding.
const END_BYTES: u64 = 64 << 10;
/// A message of this many times [`END_BYTES`] may have more padding, in proportion.
const PADDED_PARTS: u64 = 16;
/// Bytes that are read at once.
const PIECE: usize = 4 << 10;

/// Reads one message from its plaintext: the head, the body, the end.
pub(crate) struct PlainReader<R> {
    input: R,
    /// Bytes of the head that may still be read.
    left: u64,
    is_length_known: bool,
    /// Bytes that are reserved for the body at most.
    reserved: usize,
}

/// A body, up to a limit.
pub(crate) struct ReadBody {
    pub(crate) bytes: Vec<u8>,
    /// False if there is more of it.
    pub(crate) is_whole: bool,
}

impl<R: AsyncRead + Unpin> PlainReader<R> {
    pub(crate) fn new(input: R) -> Self {
        Self {
            input,
            left: HEAD_BYTES,
            is_length_known: false,
            reserved: 0,
        }
    }

    /// Reads a message that is in memory and has at most `bytes` bytes. The memory of its body is
    /// reserved, and has no more bytes.
    pub(crate) fn within(self, bytes: usize) -> Self {
        Self {
            reserved: bytes,
            ..self
        }
    }

    /// Reads the head of a request.
    pub(crate) async fn request(&mut self) -> Result<InnerRequest> {
        match self.number().await? {
            0 => self.is_length_known = true,
            2 => {}
            other => return Err(unexpected("a request", other)),
        }

        Ok(InnerRequest {
            method: self.text().await?,
            scheme: self.text().await?,
            authority: self.text().await?,
            path: self.text().await?,
            headers: self.headers().await?,
        })
    }

    /// Reads the head of a response. Informational responses before it are passed over.
    pub(crate) async fn response(&mut self) -> Result<ResponseHead> {
        match self.number().await? {
            1 => self.is_length_known = true,
            3 => {}
            other => return Err(unexpected("a response", other)),
        }

        loop {
            let status = self.number().await?;
            let status = u16::try_from(status)
                .ok()
                .filter(|one| (100..600).contains(one));
            let status = status.ok_or_else(|| Error::Message("no status of HTTP".to_owned()))?;
            let headers = self.headers().await?;
            if status >= 200 {
                return Ok(ResponseHead { status, headers });
            }
        }
    }

    /// Reads the body up to `limit` bytes.
    pub(crate) async fn body(&mut self, limit: u64) -> Result<ReadBody> {
        let mut bytes = Vec::new();
        loop {
            let length = self.number_or_end().await?;
            // A length of zero ends a body in parts.
            if length == 0 {
                break;
            }

            let room = limit - bytes.len() as u64;
            let taken = length.min(room);
            if bytes.is_empty() {
                self.reserve(taken, &mut bytes);
            }
            self.append(taken, &mut bytes).await?;
            if taken < length {
                let is_whole = false;
                return Ok(ReadBody { bytes, is_whole });
            }
            if self.is_length_known {
                break;
            }
        }

        let is_whole = true;
        Ok(ReadBody { bytes, is_whole })
    }

    /// Reserves the memory of a body whose first part has `first` bytes. A body that only grows may
    /// have twice the memory of its bytes.
    fn reserve(&self, first: u64, bytes: &mut Vec<u8>) {
        let first = usize::try_from(first).unwrap_or(usize::MAX);
        // Of a body in parts, only the message's length bounds what follows.
        let most = if self.is_length_known {
            first.min(self.reserved)
        } else {
            self.reserved
        };
        bytes.reserve_exact(most);
    }

    /// Appends `count` bytes, a piece at a time: the memory grows with what arrives, whatever is
    /// announced, and the work with the bytes, however short the parts are.
    async fn append(&mut self, count: u64, bytes: &mut Vec<u8>) -> Result<()> {
        let mut left = count;
        while left > 0 {
            let piece = left.min(PIECE as u64);
            let before = bytes.len();
            bytes.resize(before + usize::try_from(piece).unwrap_or(PIECE), 0);
            self.read(&mut bytes[before..]).await?;
            left -= piece;
        }
        Ok(())
    }

    /// Reads what is behind a whole body of `bytes`, so that the cipher has seen the end of the
    /// message.
    pub(crate) async fn end(&mut self, bytes: u64) -> Result<()> {
        let mut left = END_BYTES.max(bytes / PADDED_PARTS);
        let mut piece = [0; PIECE];
        loop {
            let count = self.input.read(&mut piece).await? as u64;
            if count == 0 {
                return Ok(());
            }
            left = left
                .checked_sub(count)
                .ok_or_else(|| Error::Message("more padding than message".to_owned()))?;
        }
    }

    /// Headers whose names and values are text; others are left out.
    async fn headers(&mut self) -> Result<Vec<InnerHeader>> {
        let mut headers = Vec::new();
        if self.is_length_known {
            let section = self.number_or_end().await?;
            let end = self.left.checked_sub(section).ok_or(LONG_HEAD)?;
            while self.left > end {
                let name = self.bytes().await?;
                let value = self.bytes().await?;
                headers.extend(header(name, value));
            }
            if self.left < end {
                return Err(Error::Message("headers beyond their section".to_owned()));
            }
            return Ok(headers);
        }

        loop {
            let name = self.bytes().await?;
            if name.is_empty() {
                return Ok(headers);
            }
            let value = self.bytes().await?;
            headers.extend(header(name, value));
        }
    }

    /// A text after its length.
    async fn text(&mut self) -> Result<String> {
        String::from_utf8(self.bytes().await?).map_err(|_| Error::Message("no text".to_owned()))
    }

    /// Bytes of the head, after their length.
    async fn bytes(&mut self) -> Result<Vec<u8>> {
        let length = self.number().await?;
        self.spend(length)?;

        // At most a head, by the line before.
        let mut bytes = vec![0; usize::try_from(length).map_err(|_| LONG_HEAD)?];
        self.read(&mut bytes).await?;
        Ok(bytes)
    }

    /// A number of the head, in the variable-length form of RFC 9000, section 16.
    async fn number(&mut self) -> Result<u64> {
        let mut first = [0];
        self.read(&mut first).await?;
        self.spend(number_bytes(first[0]) as u64)?;
        self.number_after(first[0]).await
    }

    /// A number that may be missing at the end of a message, and is then zero (RFC 9292, section
    /// 3.8).
    async fn number_or_end(&mut self) -> Result<u64> {
        let mut first = [0];
        match self.input.read(&mut first).await? {
            0 => Ok(0),
            _ => self.number_after(first[0]).await,
        }
    }

    async fn number_after(&mut self, first: u8) -> Result<u64> {
        let mut bytes = [0; 8];
        let length = number_bytes(first);
        self.read(&mut bytes[9 - length..]).await?;

        bytes[8 - length] = first & 0x3f;
        Ok(u64::from_be_bytes(bytes))
    }

    /// Counts bytes of the head.
    fn spend(&mut self, bytes: u64) -> Result<()> {
        self.left = self.left.checked_sub(bytes).ok_or(LONG_HEAD)?;
        Ok(())
    }

    async fn read(&mut self, bytes: &mut [u8]) -> Result<()> {
        let read = self.input.read_exact(bytes).await;
        read.map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => Error::Message("it is cut off".to_owned()),
            _ => error.into(),
        })
    }
}

/// The length in bytes of the number with this first byte.
fn number_bytes(first: u8) -> usize {
    1 << (first >> 6)
}

const LONG_HEAD: Error = Error::LongHead { limit: HEAD_BYTES };

fn unexpected(expected: &str, found: u64) -> Error {
    Error::Message(format!(
        "expected {expected}, found a message of kind {found}"
    ))
}

fn header(name: Vec<u8>, value: Vec<u8>) -> Option<InnerHeader> {
    let name = String::from_utf8(name).ok()?;
    let value = String::from_utf8(value).ok()?;
    Some((name, value))
}
