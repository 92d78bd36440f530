//! Byte streams of sources: files and standard input.

use std::fs::File;
use std::io::{self, Cursor, Read, stdin};
use std::path::Path;

use flate2::read::MultiGzDecoder;
use papir_core::Progress;

use crate::error::{Error, Result};
use crate::file::{is_standard_input, name_of, open_regular};

/// The first bytes of a gzip stream (RFC 1952). No CSV or JSON text begins with them.
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// The first bytes of a zstd frame (RFC 8878). No text in UTF-8 begins with them.
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// Number of bytes read to tell compressed from other content.
const PREFIX: u64 = 4096;
/// A byte order mark of UTF-8, which some programs write before a text.
const MARK: [u8; 3] = [0xef, 0xbb, 0xbf];

/// A stream that counts its bytes and reports progress.
pub(crate) struct Input<'a> {
    name: String,
    reader: Box<dyn Read + 'a>,
    progress: &'a dyn Progress,
    /// Bytes read so far.
    pub(super) bytes: u64,
}

impl<'a> Input<'a> {
    /// Opens a file or standard input.
    pub(crate) fn open(path: &Path, progress: &'a dyn Progress) -> Result<Self> {
        let (reader, length): (Box<dyn Read>, u64) = if is_standard_input(path) {
            (Box::new(stdin().lock()), 0)
        } else {
            let file = open(path).map_err(Error::io("opening", path))?;
            let length = file.metadata().map_or(0, |metadata| metadata.len());
            (Box::new(file), length)
        };

        progress.stage("reading", length);
        Ok(Self::of(name_of(path), reader, progress))
    }

    /// Opens a file or standard input, and decompresses it if it is gzip or zstd. Then the
    /// decompressed bytes are counted.
    pub(crate) fn open_unpacked(path: &Path, progress: &'a dyn Progress) -> Result<Self> {
        let mut input = Self::open(path, progress)?;
        let mut begin = Vec::new();
        let read = (&mut input.reader).take(PREFIX).read_to_end(&mut begin);
        read.map_err(Error::io("reading", path))?;

        // Standard input cannot be rewound, so the bytes read are put in front of the rest.
        let is_gzip = begin.starts_with(&GZIP);
        let is_zstd = begin.starts_with(&ZSTD);
        let whole = Cursor::new(begin).chain(input.reader);
        input.reader = if is_gzip {
            Box::new(MultiGzDecoder::new(whole))
        } else if is_zstd {
            unpack_zstd(path, whole)?
        } else {
            Box::new(whole)
        };

        if is_gzip || is_zstd {
            // The length of the text is not known in advance.
            progress.stage("reading", 0);
        }
        Ok(input)
    }

    /// Wraps a stream; `name` is for errors.
    pub(super) fn of(
        name: impl Into<String>,
        reader: Box<dyn Read + 'a>,
        progress: &'a dyn Progress,
    ) -> Self {
        Self {
            name: name.into(),
            reader,
            progress,
            bytes: 0,
        }
    }

    /// The stream's name, for errors.
    pub(super) fn name(&self) -> &str {
        &self.name
    }
}

/// Returns whether a stream that begins with these bytes is compressed.
pub(super) fn is_packed(begin: &[u8]) -> bool {
    begin.starts_with(&GZIP) || begin.starts_with(&ZSTD)
}

/// Decompresses the frames of a zstd stream.
#[cfg(feature = "zstd")]
fn unpack_zstd<'a>(path: &Path, packed: impl Read + 'a) -> Result<Box<dyn Read + 'a>> {
    // A window of more than 128 MiB, the decoder's limit, is an error as it is read.
    let decoder = zstd::stream::read::Decoder::new(packed);
    Ok(Box::new(decoder.map_err(Error::io("reading", path))?))
}

/// Refuses a zstd stream.
#[cfg(not(feature = "zstd"))]
fn unpack_zstd<'a>(path: &Path, _: impl Read + 'a) -> Result<Box<dyn Read + 'a>> {
    Err(Error::MissingFeature {
        found: name_of(path),
        kind: "a zstd file",
        support: "zstd",
        feature: "zstd",
    })
}

/// Opens a source. A pipe is read only if the caller has opened it, as in `/dev/fd/63` of a shell's
/// `<(…)`: opening any other would wait for its writer.
fn open(path: &Path) -> io::Result<File> {
    let is_given = path.starts_with("/dev/fd") || path == Path::new("/dev/stdin");
    if is_given {
        File::open(path)
    } else {
        open_regular(path)
    }
}

/// The beginning of a text without its byte order mark.
pub fn without_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix(&MARK).unwrap_or(text)
}

impl Read for Input<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer)?;
        self.bytes += read as u64;
        self.progress.advance(read as u64);
        Ok(read)
    }
}
