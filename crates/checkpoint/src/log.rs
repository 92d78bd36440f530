//! The log of a database: all leaves and the newest signed checkpoint.
//!
//! Its format:
//!
//! ```text
//! bytes  field
//!     2  format, 1
//!   8+n  the owner's public key as text, with its length
//!     8  number of leaves
//!   8+n  each leaf, with its length
//!   8+n  the checkpoint, a signed note, with its length
//!     1  number of certificates
//!   8+n  each certificate, with its length
//! ```
//! All numbers are little-endian.

mod delta;

use papir_core::Formats;
use papir_core::codec::{Reader, Writer};

use crate::certificate::Certificate;
use crate::checkpoint::Checkpoint;
use crate::error::{Error, Result};
use crate::key::{SigningKey, VerifyingKey};
use crate::leaf::{Base, Leaf};
use crate::log_certificates::{FormerCertificates, NextCertificates};
use crate::merkle::{Frontier, Hash, Tree, leaf_hash};
use crate::name::KeyName;
use crate::note::Note;
use crate::policy::Policy;
use crate::proof::{Proof, read_certificates, read_key, write_certificates};
use crate::trust;

pub use delta::DELTA_LOG_FORMATS;

/// Format numbers of logs.
pub const LOG_FORMATS: Formats = Formats {
    what: "a log",
    oldest: 1,
    written: 1,
    renew: "sign the database again: `papir build --sign …`",
};
/// Longest encoded log: 64 MiB, some 600,000 versions of a database with a short name.
pub const MAX_LOG_BYTES: u64 = 64 << 20;

/// The log of a database. Its leaves, checkpoint and origin agree, but its signatures may be
/// invalid: [`Log::check_signed`] and [`Policy`] verify them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Log {
    owner: VerifyingKey,
    leaves: Vec<Leaf>,
    hashes: Vec<Hash>,
    note: Note,
    certificates: Vec<Certificate>,
}

/// An owner's statement about a new version, of which [`Log::append`] makes a leaf.
#[derive(Clone, Debug)]
pub struct Statement {
    /// The database's name.
    pub database: String,
    /// Time of signing, seconds since 1970, UTC.
    pub time: u64,
    /// The base root, which stands for the records.
    pub base: Base,
    /// BLAKE3 hash of the public part of the delta; `None` without a delta.
    pub delta_root: Option<Hash>,
    /// BLAKE3 hash of the public part, as clients download it.
    pub public_part: Hash,
}

impl Statement {
    /// The leaf with this statement, at a place in the log and a time, with the commitment to
    /// keys of gateways.
    fn leaf(&self, sequence: u64, time: u64, gateways: Option<Hash>) -> Leaf {
        Leaf {
            database: self.database.clone(),
            sequence,
            time,
            base: self.base,
            delta_root: self.delta_root,
            public_part: self.public_part,
            gateways,
        }
    }
}

impl Log {
    /// Returns the log `former` with one more leaf, or a new log, with a checkpoint that `key`
    /// signs. The former checkpoint must be valid at its time, and clients that pin the former
    /// owner's key must accept the new one. If the statement's time is at most [`crate::SKEW`]
    /// seconds before the former leaf's, the former leaf's time replaces it. New certificates are
    /// added to the former ones, and delegations that have ended are dropped.
    ///
    /// The leaf commits to the new certificate of gateways' keys, which replaces a former one.
    /// Without a new one it commits to the former one, as long as clients accept that.
    ///
    /// # Errors
    /// [`Error::Untrusted`] if `key` is neither the owner's nor certified; [`Error::Database`] for
    /// a former log of another database; [`Error::Full`]; [`papir_core::Error::OutOfBounds`] for
    /// too many certificates, or a database name of 0 or more than 255 bytes; [`Error::Options`]
    /// for two new certificates of gateways' keys, [`Error::GatewayKeys`] for one that clients
    /// would refuse now; [`papir_core::Error::Malformed`] for the key of a witness, or a name too
    /// long for an origin; the errors of [`Log::check_signed`] for the former checkpoint.
    pub fn append(
        former: Option<&Self>,
        statement: &Statement,
        key: &SigningKey,
        certificates: &[Certificate],
    ) -> Result<Self> {
        if let Some(former) = former {
            // The new signature covers the former leaves, so they must have been signed before.
            former.check_signed()?;
            former.check_database(&statement.database)?;
        }

        let mut leaves = former.map(|log| log.leaves.clone()).unwrap_or_default();
        let mut hashes = former.map(|log| log.hashes.clone()).unwrap_or_default();
        let time = time_after(leaves.last().map(|last| last.time), statement.time);

        // Clients of a log pin its owner, also if a publisher signs this version.
        let signer = key.public().of_notes()?;
        let before = FormerCertificates {
            list: former.map_or(&[], |log| &log.certificates),
            owner: former.map(|log| &log.owner),
            gateways: leaves.last().and_then(|last| last.gateways),
        };
        let NextCertificates {
            list: certificates,
            pinned,
            gateways,
        } = before.next(certificates, &signer, &statement.database, time)?;

        let leaf = statement.leaf(leaves.len() as u64, time, gateways);
        hashes.push(leaf.hash()?);
        leaves.push(leaf);

        let database = &statement.database;
        let origin = pinned.name().origin(database)?;
        let note = signed_checkpoint(&hashes, &origin, key)?;
        let log = Self {
            owner: trust::successor(&pinned, &certificates, time),
            leaves,
            hashes,
            note,
            certificates,
        };
        // A log that is too long could be written, but not read again.
        log.check_length()?;

        // A log that clients would refuse is not published.
        let proof = log.proof()?;
        for owner in [&pinned, &log.owner] {
            let policy = Policy::new(owner, database, time);
            policy.accept(&proof)?;
            if gateways.is_some() {
                policy.gateway_keys(&proof)?;
            }
        }
        Ok(log)
    }

    /// Checks that the log is of this database.
    fn check_database(&self, expected: &str) -> Result<()> {
        let found = &self.newest()?.database;
        if found == expected {
            return Ok(());
        }
        Err(Error::Database {
            found: found.clone(),
            expected: expected.to_owned(),
        })
    }

    /// Checks the checkpoint's signature at the time of its leaf.
    ///
    /// # Errors
    /// The errors of [`Policy::accept`].
    pub fn check_signed(&self) -> Result<()> {
        let newest = self.newest()?;
        let policy = Policy::new(&self.owner, &newest.database, newest.time);
        policy.accept(&self.proof()?)?;
        Ok(())
    }

    /// The owner's key that was the newest one at the time of the newest leaf.
    pub fn owner(&self) -> &VerifyingKey {
        &self.owner
    }

    /// All leaves, by sequence.
    pub fn leaves(&self) -> &[Leaf] {
        &self.leaves
    }

    /// The newest leaf.
    ///
    /// # Errors
    /// None in practice: a log has at least one leaf.
    pub fn newest(&self) -> Result<&Leaf> {
        self.leaves.last().ok_or_else(empty)
    }

    /// The first sequence at which two logs have different leaves; `None` if one log is the
    /// beginning of the other, as for two honest copies of one log.
    pub fn first_difference(&self, other: &Self) -> Option<u64> {
        let mut pairs = self.hashes.iter().zip(&other.hashes);
        let sequence = pairs.position(|(one, two)| one != two)?;
        Some(sequence as u64)
    }

    /// The signed checkpoint, with cosignatures.
    pub fn note(&self) -> &Note {
        &self.note
    }

    /// Delegations and rotations.
    pub fn certificates(&self) -> &[Certificate] {
        &self.certificates
    }

    /// The proof that clients download: the newest leaf with its inclusion in the checkpoint.
    ///
    /// # Errors
    /// None in practice: a log has at least one leaf.
    pub fn proof(&self) -> Result<Proof> {
        let last = self.hashes.len().checked_sub(1).ok_or_else(empty)?;
        let path = Tree::new(&self.hashes).inclusion(last).ok_or_else(empty)?;

        Ok(Proof {
            owner: self.owner.clone(),
            leaf: self.newest()?.clone(),
            path,
            note: self.note.clone(),
            certificates: self.certificates.clone(),
        })
    }

    /// The body of a request to a witness for a cosignature (C2SP tlog-witness, `add-checkpoint`).
    /// `old` is the size of the checkpoint that the witness cosigned last, or 0.
    ///
    /// # Errors
    /// [`Error::Options`] if `old` exceeds the size of the log.
    pub fn witness_request(&self, old: u64) -> Result<String> {
        let proof = match usize::try_from(old) {
            Ok(old) => Tree::new(&self.hashes).consistency(old),
            Err(_) => None,
        };
        let Some(proof) = proof else {
            let found = format!("an old size of {old}");
            let expected = format!("at most {}, that of the log", self.hashes.len());
            return Err(Error::options(found, expected));
        };

        let lines: String = proof
            .iter()
            .map(|hash| crate::base64::encode(hash) + "\n")
            .collect();
        Ok(format!("old {old}\n{lines}\n{}", self.note))
    }

    /// Adds the cosignatures that a witness has returned: signature lines, or the whole note. The
    /// log keeps them until the next version. Skips lines that the log has already. Returns the
    /// number of new lines. Does not verify the cosignatures.
    ///
    /// # Errors
    /// [`Error::Options`] for the note of another checkpoint; the errors of [`Note::parse`];
    /// [`papir_core::Error::OutOfBounds`] for too many signature lines.
    pub fn add_cosignatures(&mut self, text: &str) -> Result<usize> {
        // A whole note has an empty line, lines of signatures have none.
        let whole = if text.contains("\n\n") {
            text.to_owned()
        } else {
            format!("{}\n{text}", self.note.text())
        };
        let cosigned = Note::parse(whole.as_bytes())?;
        // Over this text such a line is an invalid signature, for which clients refuse the whole
        // note.
        if cosigned.text() != self.note.text() {
            let found = "signatures of another checkpoint";
            return Err(Error::options(found, "those of the newest one"));
        }

        let before = self.note.signatures().len();
        for line in cosigned.signatures() {
            self.note.add(line.clone())?;
        }
        Ok(self.note.signatures().len() - before)
    }

    /// Adds certificates, for example a rotation before the first checkpoint of the new key. Keeps
    /// [`Log::owner`] and all former certificates, even ended ones, because the newest leaf was
    /// signed under them.
    ///
    /// # Errors
    /// [`papir_core::Error::OutOfBounds`] for more than [`crate::MAX_CERTIFICATES`] certificates;
    /// [`Error::Options`] for one of gateways' keys, to which no leaf commits.
    pub fn add_certificates(&mut self, certificates: &[Certificate]) -> Result<()> {
        let before = FormerCertificates {
            list: &self.certificates,
            owner: Some(&self.owner),
            gateways: self.newest()?.gateways,
        };
        self.certificates = before.with(certificates)?;
        Ok(())
    }

    /// Encodes the log.
    ///
    /// # Errors
    /// None in practice: the leaves were encoded before.
    pub fn encode(&self) -> Result<Vec<u8>> {
        let mut writer = Writer::new();
        writer
            .u16(LOG_FORMATS.written as u16)
            .bytes(self.owner.to_string().as_bytes());

        write_leaves(&mut writer, &self.leaves)?;
        writer.bytes(self.note.to_string().as_bytes());
        write_certificates(&mut writer, &self.certificates);
        Ok(writer.finish())
    }

    /// Decodes a log, and checks that its leaves, checkpoint and origin agree. Verifies signatures
    /// of certificates, but not of the checkpoint: see [`Log::check_signed`].
    ///
    /// # Errors
    /// [`papir_core::Error::Format`], [`papir_core::Error::Malformed`],
    /// [`papir_core::Error::Length`], [`papir_core::Error::OutOfBounds`] for too many certificates
    /// or signatures, [`Error::NotIncluded`], [`Error::Origin`], or the errors of
    /// [`Certificate::parse`].
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new("a log", bytes);
        LOG_FORMATS.check(reader.u16()?.into())?;
        let owner = read_key(&mut reader)?;

        let mut leaves = Vec::new();
        let mut hashes = Vec::new();
        read_leaves(&mut reader, &mut leaves, &mut hashes)?;
        let note = Note::parse(reader.bytes()?)?;
        let certificates = read_certificates(&mut reader)?;
        reader.finish()?;

        let log = Self {
            owner,
            leaves,
            hashes,
            note,
            certificates,
        };
        log.check()?;
        Ok(log)
    }

    /// Checks that the leaves are numbered from 0, of one database, and match the checkpoint.
    fn check(&self) -> Result<()> {
        let database = &self.newest()?.database;
        for (sequence, leaf) in (0..).zip(&self.leaves) {
            if leaf.sequence != sequence || leaf.database != *database {
                let found = format!("sequence {} of `{}`", leaf.sequence, leaf.database);
                let expected = format!("sequence {sequence} of `{database}`");
                return Err(Error::malformed("a leaf of a log", found, expected));
            }
        }

        let checkpoint = Checkpoint::of_text(self.note.text())?;
        let origin = self.owner.name().origin(database)?;
        if checkpoint.origin != origin {
            return Err(Error::Origin {
                found: checkpoint.origin.to_string(),
                expected: origin.to_string(),
            });
        }

        // The leaves are read and hashed as they are, so the root covers every byte of them.
        let tree = Frontier::of(&self.hashes);
        if checkpoint.size != tree.size() || checkpoint.root != tree.root() {
            return Err(Error::NotIncluded {
                what: "the list of leaves",
                size: checkpoint.size,
            });
        }
        Ok(())
    }

    /// Checks that the encoded log has at most [`MAX_LOG_BYTES`] bytes.
    fn check_length(&self) -> Result<()> {
        let bytes = self.encode()?.len() as u64;
        if bytes <= MAX_LOG_BYTES {
            return Ok(());
        }
        Err(Error::Full {
            leaves: self.leaves.len() as u64,
            bytes,
            max: MAX_LOG_BYTES,
        })
    }
}

/// Writes leaves with their number and lengths.
fn write_leaves(writer: &mut Writer, leaves: &[Leaf]) -> Result<()> {
    writer.u64(leaves.len() as u64);
    for leaf in leaves {
        writer.bytes(&leaf.encode()?);
    }
    Ok(())
}

/// Reads leaves as [`write_leaves`] writes them, and appends them and their hashes.
fn read_leaves(
    reader: &mut Reader<'_>,
    leaves: &mut Vec<Leaf>,
    hashes: &mut Vec<Hash>,
) -> Result<()> {
    // Not allocated in advance: the number is not verified yet.
    for _ in 0..reader.u64()? {
        let bytes = reader.bytes()?;
        hashes.push(leaf_hash(bytes));
        leaves.push(Leaf::decode(bytes)?);
    }
    Ok(())
}

fn empty() -> Error {
    Error::malformed("a log", "no leaf", "at least one")
}

/// The checkpoint of a log with these leaves, signed under its origin.
fn signed_checkpoint(hashes: &[Hash], origin: &KeyName, key: &SigningKey) -> Result<Note> {
    let checkpoint = Checkpoint {
        origin: origin.clone(),
        size: hashes.len() as u64,
        root: Frontier::of(hashes).root(),
    };
    let mut note = checkpoint.to_note()?;
    note.sign(key, origin)?;
    Ok(note)
}

/// The time of a new leaf: `now`, but not before the former leaf's time unless that is more than
/// [`trust::SKEW`] seconds ahead. Clocks of two publishers may differ a little. If they differ
/// more, one is wrong, and its time must not stay forever.
fn time_after(former: Option<u64>, now: u64) -> u64 {
    match former {
        Some(former) if former <= now.saturating_add(trust::SKEW) => former.max(now),
        _ => now,
    }
}
