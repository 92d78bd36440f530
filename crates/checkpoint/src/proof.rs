//! Proofs of the newest version, for clients.
//!
//! A proof is a C2SP tlog-proof:
//!
//! ```text
//! c2sp.org/tlog-proof@v1
//! extra base64(EXTRA)
//! index INDEX, the leaf's sequence in decimal
//! inclusion proof, a hash in base64 on each line
//! (an empty line)
//! the checkpoint, a signed note
//! ```
//! EXTRA is binary: format, 1 (1 byte); the owner's public key as text, the leaf, each with its
//! length (8); the number of certificates (1), and each with its length (8).

use papir_core::codec::{Reader, Writer};
use papir_core::{Formats, decimal};

use crate::base64;
use crate::certificate::{Certificate, MAX_CERTIFICATES};
use crate::error::{Error, Result};
use crate::key::VerifyingKey;
use crate::leaf::Leaf;
use crate::merkle::{Hash, MAX_PROOF};
use crate::note::{MAX_NOTE_BYTES, Note};

/// Format numbers of the extra data in proofs.
pub const PROOF_FORMATS: Formats = Formats {
    what: "a proof of a checkpoint",
    oldest: 1,
    written: 1,
    renew: "update the server that sent it",
};
const HEADER: &str = "c2sp.org/tlog-proof@v1";
/// Longest proof in bytes: room for the longest note, certificates and the path.
pub const MAX_PROOF_BYTES: usize = MAX_NOTE_BYTES + (1 << 18);

/// The newest leaf of a database's log, with the data to verify that its owner signed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    /// The owner's key, as the log claims it. Clients that pin a key ignore it.
    pub owner: VerifyingKey,
    /// The newest leaf.
    pub leaf: Leaf,
    /// The inclusion proof of the newest leaf, lowest sibling first.
    pub path: Vec<Hash>,
    /// The signed checkpoint, with cosignatures.
    pub note: Note,
    /// Delegations and rotations.
    pub certificates: Vec<Certificate>,
}

impl Proof {
    /// Encodes the proof as text.
    ///
    /// # Errors
    /// The errors of [`Leaf::encode`].
    pub fn encode(&self) -> Result<String> {
        let mut extra = Writer::new();
        extra
            .u8(PROOF_FORMATS.written as u8)
            .bytes(self.owner.to_string().as_bytes())
            .bytes(&self.leaf.encode()?);
        write_certificates(&mut extra, &self.certificates);

        let extra = base64::encode(&extra.finish());
        let mut text = format!("{HEADER}\nextra {extra}\nindex {}\n", self.leaf.sequence);
        for hash in &self.path {
            text += &base64::encode(hash);
            text.push('\n');
        }
        Ok(format!("{text}\n{}", self.note))
    }

    /// Parses a proof, and verifies the signatures of its certificates. [`crate::Policy`] verifies
    /// the rest.
    ///
    /// # Errors
    /// [`papir_core::Error::Malformed`], [`papir_core::Error::Format`],
    /// [`papir_core::Error::Length`], [`papir_core::Error::OutOfBounds`] for too many certificates
    /// or signatures, or the errors of [`Certificate::parse`].
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let text = match std::str::from_utf8(bytes) {
            Ok(text) if text.len() <= MAX_PROOF_BYTES => text,
            _ => return Err(bad("other bytes, or too many")),
        };
        // The first empty line ends the head: the note has one of its own.
        let Some((head, note)) = text.split_once("\n\n") else {
            return Err(bad("no empty line"));
        };

        let mut lines = head.split('\n');
        if lines.next() != Some(HEADER) {
            return Err(bad("another beginning"));
        }
        let Some(extra) = lines.next().and_then(|line| line.strip_prefix("extra ")) else {
            return Err(bad("another beginning"));
        };
        let index = lines
            .next()
            .and_then(|line| line.strip_prefix("index "))
            .and_then(decimal);

        // One hash more than the limit tells a longer path, whatever its length.
        let path = lines
            .take(MAX_PROOF + 1)
            .map(|line| base64::decode_array("a hash of a proof", line))
            .collect::<Result<Vec<Hash>>>()?;
        if path.len() > MAX_PROOF {
            return Err(bad("a longer path"));
        }

        let extra = Extra::read(&base64::decode("a proof's extra data", extra)?)?;
        if index != Some(extra.leaf.sequence) {
            return Err(bad("another index than the leaf's sequence"));
        }

        Ok(Self {
            owner: extra.owner,
            leaf: extra.leaf,
            path,
            note: Note::parse(note.as_bytes())?,
            certificates: extra.certificates,
        })
    }
}

/// The decoded extra data of a proof.
struct Extra {
    owner: VerifyingKey,
    leaf: Leaf,
    certificates: Vec<Certificate>,
}

impl Extra {
    fn read(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new("a proof's extra data", bytes);
        PROOF_FORMATS.check(reader.u8()?.into())?;
        let owner = read_key(&mut reader)?;
        let leaf = Leaf::decode(reader.bytes()?)?;
        let certificates = read_certificates(&mut reader)?;
        reader.finish()?;

        Ok(Self {
            owner,
            leaf,
            certificates,
        })
    }
}

/// Reads an owner's key: its length, then its text.
pub(crate) fn read_key(reader: &mut Reader<'_>) -> Result<VerifyingKey> {
    let Ok(text) = std::str::from_utf8(reader.bytes()?) else {
        let found = "bytes that are not UTF-8";
        return Err(Error::malformed("a public key", found, "text"));
    };
    text.parse::<VerifyingKey>()?.of_notes()
}

/// Writes certificates with their number and lengths.
pub(crate) fn write_certificates(writer: &mut Writer, certificates: &[Certificate]) {
    writer.u8(certificates.len() as u8);
    for certificate in certificates {
        writer.bytes(certificate.to_string().as_bytes());
    }
}

/// Reads certificates as [`write_certificates`] writes them.
pub(crate) fn read_certificates(reader: &mut Reader<'_>) -> Result<Vec<Certificate>> {
    let count = reader.u8()?;
    if usize::from(count) > MAX_CERTIFICATES {
        let what = "the number of certificates";
        let expected = format!("at most {MAX_CERTIFICATES}");
        return Err(papir_core::Error::out_of_bounds(what, count.into(), expected).into());
    }

    (0..count)
        .map(|_| Certificate::parse(reader.bytes()?))
        .collect()
}

fn bad(found: &str) -> Error {
    Error::malformed("a proof of a checkpoint", found, "a tlog-proof of papir")
}
