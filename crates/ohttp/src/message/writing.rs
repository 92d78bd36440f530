//! Writing of binary HTTP.

use zeroize::Zeroizing;

use super::{InnerHeader, InnerRequest, ResponseHead, headers_bytes, padded_length};

/// The framing of a message's body (RFC 9292, section 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// The message begins with the body's length in bytes.
    Known(u64),
    /// Each part of the body has its length.
    Parts,
}

/// Writes one message, part by part.
#[derive(Debug)]
pub(crate) struct PlainWriter {
    framing: Framing,
    /// Bytes written so far.
    written: u64,
}

impl PlainWriter {
    /// Starts a request with a body of `length` bytes, appending its head to `output`.
    pub(crate) fn request(request: &InnerRequest, length: u64, output: &mut Vec<u8>) -> Self {
        let before = output.len();
        put_number(0, output);
        for text in [
            &request.method,
            &request.scheme,
            &request.authority,
            &request.path,
        ] {
            put_bytes(text.as_bytes(), output);
        }
        Self::start(Framing::Known(length), &request.headers, before, output)
    }

    /// Starts a response, appending its head to `output`.
    pub(crate) fn response(head: &ResponseHead, framing: Framing, output: &mut Vec<u8>) -> Self {
        let before = output.len();
        let kind = match framing {
            Framing::Known(_) => 1,
            Framing::Parts => 3,
        };
        put_number(kind, output);
        put_number(u64::from(head.status), output);
        Self::start(framing, &head.headers, before, output)
    }

    /// Appends the headers, and the length of the body if it is known. The message starts at
    /// `before`.
    fn start(
        framing: Framing,
        headers: &[InnerHeader],
        before: usize,
        output: &mut Vec<u8>,
    ) -> Self {
        // A header may be a token. A vector that grows would leave copies in memory.
        let mut section = Zeroizing::new(Vec::with_capacity(headers_bytes(headers)));
        for (name, value) in headers {
            put_bytes(name.as_bytes(), &mut section);
            put_bytes(value.as_bytes(), &mut section);
        }

        match framing {
            Framing::Known(length) => {
                put_bytes(&section, output);
                put_number(length, output);
            }
            Framing::Parts => {
                output.extend_from_slice(&section);
                put_number(0, output);
            }
        }

        Self {
            framing,
            written: (output.len() - before) as u64,
        }
    }

    /// Appends a part of the body.
    pub(crate) fn body(&mut self, part: &[u8], output: &mut Vec<u8>) {
        // A part of length zero would end the body.
        if part.is_empty() {
            return;
        }

        let before = output.len();
        if self.framing == Framing::Parts {
            put_number(part.len() as u64, output);
        }
        output.extend_from_slice(part);
        self.written += (output.len() - before) as u64;
    }

    /// Appends the end of the message: no trailers, and zeros up to the padded length.
    pub(crate) fn finish(self, output: &mut Vec<u8>) {
        // The end of the headers behind the body, and before it that of a body in parts.
        let ends = match self.framing {
            Framing::Known(_) => 1,
            Framing::Parts => 2,
        };

        // Both ends and the padding are zeros.
        let zeros = padded_length(self.written + ends) - self.written;
        let zeros = usize::try_from(zeros).unwrap_or(usize::MAX);
        output.resize(output.len() + zeros, 0);
    }
}

/// Appends bytes after their length.
fn put_bytes(bytes: &[u8], output: &mut Vec<u8>) {
    put_number(bytes.len() as u64, output);
    output.extend_from_slice(bytes);
}

/// Appends a number in the variable-length form of RFC 9000, section 16.
fn put_number(value: u64, output: &mut Vec<u8>) {
    let bytes = value.to_be_bytes();
    let (form, first) = match value {
        0..0x40 => (0, 7),
        0x40..0x4000 => (0x40, 6),
        0x4000..0x4000_0000 => (0x80, 4),
        // No length has more than 62 bits.
        _ => (0xc0, 0),
    };

    let start = output.len();
    output.extend_from_slice(&bytes[first..]);
    output[start] |= form;
}
