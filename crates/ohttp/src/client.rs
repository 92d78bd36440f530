//! The client's side: sealing of requests, opening of responses.

use std::fmt;
use std::pin::Pin;

use futures_util::io::{AsyncRead, AsyncWriteExt, Cursor};
use zeroize::Zeroizing;

use crate::error::Result;
use crate::keys::ChosenKey;
use crate::message::{
    InnerRequest, InnerResponse, PlainReader, PlainWriter, ReadBody, ResponseHead,
};
use crate::outbox::Outbox;
use crate::ready::ready;

impl ChosenKey {
    /// Seals a request in the chunked form, padded. Its key is fresh, from the operating system's
    /// random numbers.
    ///
    /// # Errors
    /// [`Error::Sealed`](crate::Error::Sealed) if the key is none of the mechanism's.
    pub fn seal(&self, request: &InnerRequest, body: &[u8]) -> Result<SealedRequest> {
        // It may hold a token. A vector that grows would leave copies in memory.
        let room = request.most_bytes() + body.len() + body.len() / 16;
        let mut message = Zeroizing::new(Vec::with_capacity(room));
        let mut writer = PlainWriter::request(request, body.len() as u64, &mut message);
        writer.body(body, &mut message);
        writer.finish(&mut message);

        let outbox = Outbox::default();
        let key = ohttp::ClientRequest::from_config(&mut self.config().clone())?;
        let mut stream = key.encapsulate_stream(outbox.clone())?;
        // The whole message at once: chunks of another length than the longest would show where the
        // head ends.
        ready(async {
            stream.write_all(&message).await?;
            stream.close().await?;
            Ok(())
        })?;

        Ok(SealedRequest {
            body: outbox.take(),
            opener: Opener {
                open: Box::new(move |sealed| Ok(Box::pin(stream.response(sealed)?))),
            },
        })
    }
}

/// A sealed request, for a relay.
#[derive(Debug)]
pub struct SealedRequest {
    /// The body of the request to the relay, of type `message/ohttp-chunked-req`.
    pub body: Vec<u8>,
    /// Opens the response.
    pub opener: Opener,
}

/// Bytes that arrive.
type SealedInput = Pin<Box<dyn AsyncRead + Send>>;

/// Opens the response to one sealed request, once.
pub struct Opener {
    /// The library's reader of the plaintext, whose type has no public name.
    open: Box<dyn FnOnce(SealedInput) -> Result<SealedInput> + Send>,
}

impl Opener {
    /// Opens a response, reading at most as many bytes of its body as `limit` says of its head. The
    /// rest is not read. What is returned was sent by the gateway, in this order; a response that
    /// is cut off within it is an error.
    ///
    /// # Errors
    /// [`Error::Sealed`](crate::Error::Sealed) if the response was not sealed for this request, or
    /// is cut off; [`Error::Message`](crate::Error::Message) if it is no message of binary HTTP;
    /// [`Error::LongHead`](crate::Error::LongHead).
    pub async fn read(
        self,
        sealed: impl AsyncRead + Send + 'static,
        limit: impl FnOnce(&ResponseHead) -> u64,
    ) -> Result<InnerResponse> {
        let opened = (self.open)(Box::pin(sealed))?;
        let mut reader = PlainReader::new(opened);
        let head = reader.response().await?;

        let limit = limit(&head);
        let ReadBody { bytes, is_whole } = reader.body(limit).await?;
        if is_whole {
            reader.end(bytes.len() as u64).await?;
        }
        Ok(InnerResponse { head, body: bytes })
    }

    /// Like [`Opener::read`], for a response in memory.
    ///
    /// # Errors
    /// See [`Opener::read`].
    pub fn open(self, sealed: Vec<u8>) -> Result<InnerResponse> {
        self.open_within(sealed, |_| u64::MAX)
    }

    /// Like [`Opener::read`], for a response in memory, or for its beginning: nothing behind the
    /// limit needs to be there.
    ///
    /// # Errors
    /// See [`Opener::read`].
    pub fn open_within(
        self,
        sealed: Vec<u8>,
        limit: impl FnOnce(&ResponseHead) -> u64,
    ) -> Result<InnerResponse> {
        ready(self.read(Cursor::new(sealed), limit))
    }
}

impl fmt::Debug for Opener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Opener")
    }
}
