//! The gateway's side: opening of requests, sealing of responses.

use std::fmt;
use std::io;
use std::mem;
use std::ops::Range;
use std::pin::Pin;

use futures_util::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use sha2::{Digest, Sha256};

use crate::error::{Error, Result};
use crate::keys::{GatewayKey, KeyList};
use crate::message::{Framing, InnerRequest, PlainReader, PlainWriter, ResponseHead};
use crate::outbox::Outbox;
use crate::ready::ready;

/// Bytes of a sealed request before the encapsulated key: the key's identifier, and two for each of
/// the three mechanisms.
pub(crate) const HEADER_BYTES: usize = 7;
/// The place of the number of the key's mechanism in a sealed request.
const KEM_PLACE: Range<usize> = 1..3;
/// Plaintext bytes of a full chunk.
pub(crate) const CHUNK_BYTES: usize = 1 << 14;

/// The form of sealed messages, which a gateway answers in the form of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SealForm {
    /// One ciphertext (RFC 9458).
    Whole,
    /// A sequence of chunks (draft-ietf-ohai-chunked-ohttp).
    Chunked,
}

/// The keys of a gateway, newest first.
#[derive(Clone, Debug)]
pub struct Gateway {
    keys: Vec<GatewayKey>,
}

/// An opened request.
#[derive(Debug)]
pub struct OpenedRequest {
    /// The head.
    pub request: InnerRequest,
    /// The body. It has no more memory than the sealed request had bytes.
    pub body: Vec<u8>,
    /// Seals the response.
    pub sealer: ResponseSealer,
    /// A digest of the encapsulated key. Two requests have the same one only if one of them is a
    /// copy of the other.
    pub fingerprint: [u8; 32],
}

impl Gateway {
    /// A gateway with these keys. Clients see them in this order.
    #[must_use]
    pub fn new(keys: Vec<GatewayKey>) -> Self {
        Self { keys }
    }

    /// The keys' configurations.
    ///
    /// # Errors
    /// [`Error::Sealed`] if the library cannot write a key.
    pub fn key_list(&self) -> Result<KeyList> {
        KeyList::of_keys(&self.keys)
    }

    /// Opens a sealed request.
    ///
    /// # Errors
    /// [`Error::UnknownKey`] if it is sealed under another key, [`Error::WrongKey`] if that may be
    /// so, since its first chunk does not open, [`Error::Sealed`] if it is damaged behind that, or
    /// cut off, [`Error::Message`] and [`Error::LongHead`] if it contains no usable request. A
    /// request in the whole form is one chunk.
    pub fn open(&self, sealed: &[u8], form: SealForm) -> Result<OpenedRequest> {
        let key = self.key_of(sealed)?;
        let encapsulated = HEADER_BYTES..HEADER_BYTES + key.kem().encapsulated_bytes();
        let encapsulated = sealed.get(encapsulated).ok_or_else(cut_off)?;
        let fingerprint = Sha256::digest(encapsulated).into();

        let opened = match form {
            SealForm::Whole => open_whole(key, sealed)?,
            SealForm::Chunked => open_chunked(key, sealed)?,
        };
        let OpenedMessage {
            request,
            body,
            cipher,
        } = opened;
        Ok(OpenedRequest {
            request,
            body,
            sealer: ResponseSealer { cipher },
            fingerprint,
        })
    }

    /// The key that a sealed request names.
    fn key_of(&self, sealed: &[u8]) -> Result<&GatewayKey> {
        let found = *sealed
            .first()
            .ok_or_else(|| Error::Sealed("it is empty".to_owned()))?;
        let key = self.keys.iter().find(|key| key.id() == found);
        let key = key.ok_or(Error::UnknownKey { found })?;

        // An earlier key with this identifier may have been of another kind, whose encapsulated
        // keys have another length.
        let kem = sealed.get(KEM_PLACE).ok_or_else(cut_off)?;
        if kem != key.kem().identifier().to_be_bytes() {
            return Err(Error::WrongKey { found });
        }
        Ok(key)
    }
}

fn cut_off() -> Error {
    Error::Sealed("it is cut off".to_owned())
}

/// A request in the clear, and the cipher of its response.
struct OpenedMessage {
    request: InnerRequest,
    body: Vec<u8>,
    cipher: Cipher,
}

fn open_whole(key: &GatewayKey, sealed: &[u8]) -> Result<OpenedMessage> {
    let opened = key.server()?.decapsulate(sealed);
    let (message, response) = opened.map_err(|reason| unopened(key, reason))?;
    let mut reader = PlainReader::new(&message[..]).within(message.len());
    let (request, body) = ready(read(&mut reader))?;

    let message = Vec::new();
    Ok(OpenedMessage {
        request,
        body,
        cipher: Cipher::Whole { response, message },
    })
}

fn open_chunked(key: &GatewayKey, sealed: &[u8]) -> Result<OpenedMessage> {
    let mut opened = Box::pin(key.server()?.decapsulate_stream(sealed));
    // Read by itself: it needs the first chunk and no other.
    let mut first = [0];
    let count = ready(async {
        let read = opened.read(&mut first).await;
        read.map_err(|error| unread(key, error))
    })?;

    let rest = (&first[..count]).chain(&mut opened);
    let mut reader = PlainReader::new(rest).within(sealed.len());
    let (request, body) = ready(read(&mut reader))?;

    let outbox = Outbox::default();
    let response = Box::pin(opened.response(outbox.clone())?);
    Ok(OpenedMessage {
        request,
        body,
        cipher: Cipher::Chunked { response, outbox },
    })
}

/// The error of a message of which not even the first byte is read.
fn unread(key: &GatewayKey, error: io::Error) -> Error {
    match error.downcast::<ohttp::Error>() {
        Ok(reason) => unopened(key, reason),
        Err(other) => other.into(),
    }
}

/// The error of a message whose first chunk the library does not open.
fn unopened(key: &GatewayKey, reason: ohttp::Error) -> Error {
    match reason {
        // The cipher cannot tell another key from damage.
        ohttp::Error::Hpke(_) => Error::WrongKey { found: key.id() },
        other => other.into(),
    }
}

/// Reads a request, up to the end of the message: one that is cut off is refused.
async fn read<R: AsyncRead + Unpin>(
    reader: &mut PlainReader<R>,
) -> Result<(InnerRequest, Vec<u8>)> {
    let request = reader.request().await?;
    let body = reader.body(u64::MAX).await?;
    reader.end(body.bytes.len() as u64).await?;
    Ok((request, body.bytes))
}

/// The cipher of one response.
enum Cipher {
    /// The library seals the whole message at once.
    Whole {
        response: ohttp::ServerResponse,
        message: Vec<u8>,
    },
    /// The library's writer, whose type has no public name, and what it has written.
    Chunked {
        response: Pin<Box<dyn AsyncWrite + Send>>,
        outbox: Outbox,
    },
}

impl Cipher {
    /// Takes the plaintext of which whole chunks can be sealed out of `pending`, or all of it at
    /// the end. Returns the sealed bytes.
    fn seal(&mut self, pending: &mut Vec<u8>, is_end: bool) -> Result<Vec<u8>> {
        match self {
            Self::Whole { message, .. } => {
                message.append(pending);
                Ok(Vec::new())
            }
            Self::Chunked { response, outbox } => {
                // Full chunks only: others would show where the parts of the message end.
                let full = pending.len() / CHUNK_BYTES * CHUNK_BYTES;
                let taken = if is_end { pending.len() } else { full };
                let rest = pending.split_off(taken);
                let plain = mem::replace(pending, rest);

                ready(async { Ok(response.write_all(&plain).await?) })?;
                Ok(outbox.take())
            }
        }
    }

    /// Returns the last sealed bytes.
    fn finish(self) -> Result<Vec<u8>> {
        match self {
            Self::Whole { response, message } => Ok(response.encapsulate(&message)?),
            Self::Chunked {
                mut response,
                outbox,
            } => {
                ready(async { Ok(response.close().await?) })?;
                Ok(outbox.take())
            }
        }
    }
}

/// Seals the response to one request, part by part: the head, the body, the end.
///
/// In the whole form, everything is returned at the end.
pub struct ResponseSealer {
    cipher: Cipher,
}

impl ResponseSealer {
    /// The form of the request, and so of the response.
    #[must_use]
    pub fn form(&self) -> SealForm {
        match self.cipher {
            Cipher::Whole { .. } => SealForm::Whole,
            Cipher::Chunked { .. } => SealForm::Chunked,
        }
    }

    /// Writes the head. `length` is that of the body in bytes, if it is known.
    #[must_use]
    pub fn start(self, head: &ResponseHead, length: Option<u64>) -> BodySealer {
        let framing = length.map_or(Framing::Parts, Framing::Known);
        let mut pending = Vec::new();
        let writer = PlainWriter::response(head, framing, &mut pending);
        BodySealer {
            cipher: self.cipher,
            pending,
            writer,
        }
    }
}

impl fmt::Debug for ResponseSealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ResponseSealer")
    }
}

/// Seals the body of a response.
pub struct BodySealer {
    cipher: Cipher,
    pending: Vec<u8>,
    writer: PlainWriter,
}

impl BodySealer {
    /// Seals a part of the body. Returns bytes to send, which may be none.
    ///
    /// # Errors
    /// [`Error::Sealed`] if the library cannot seal it.
    pub fn part(&mut self, bytes: &[u8]) -> Result<Vec<u8>> {
        self.writer.body(bytes, &mut self.pending);
        self.cipher.seal(&mut self.pending, false)
    }

    /// Ends the response. Returns the last bytes to send.
    ///
    /// # Errors
    /// [`Error::Sealed`] if the library cannot seal it.
    pub fn finish(mut self) -> Result<Vec<u8>> {
        self.writer.finish(&mut self.pending);
        let mut sealed = self.cipher.seal(&mut self.pending, true)?;
        sealed.append(&mut self.cipher.finish()?);
        Ok(sealed)
    }
}

impl fmt::Debug for BodySealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BodySealer")
    }
}
