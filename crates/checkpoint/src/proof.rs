//! Proof of the newest version, for clients.
//!
//! It is a C2SP tlog-proof:
//!
//! ```text
//! c2sp.org/tlog-proof@v1
//! extra base64(EXTRA)
//! index of the leaf
//! inclusion proof, a hash in base64 on each line
//! (an empty line)
//! the checkpoint, a signed note
//! ```
//! EXTRA is binary: format, 1 (1 byte); the owner's public key as text, the leaf, each with its
//! length (8); the number of certificates (1), and each with its length (8).

use papir_core::Formats;
use papir_core::codec::{Reader, Writer};

use crate::base64;
use crate::certificate::{Certificate, MAX_CERTIFICATES};
use crate::checkpoint::decimal;
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

/// The newest version of a database, with everything that shows that its owner signed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    /// The owner's key, as the log claims it. Clients that pin a key do not trust it.
    pub owner: VerifyingKey,
    /// The newest leaf.
    pub leaf: Leaf,
    /// Its inclusion proof.
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

    /// Parses a proof, and verifies the signatures of its certificates. Nothing else is verified:
    /// see [`crate::Policy`].
    ///
    /// # Errors
    /// [`papir_core::Error::Malformed`], [`papir_core::Error::Format`], or the errors of
    /// [`Certificate::parse`].
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

/// The extra data of a proof.
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

/// Reads an owner's key with its length.
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

/// Reads certificates.
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
