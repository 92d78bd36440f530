//! The log of a database: all leaves, and the newest signed checkpoint.
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

use papir_core::Formats;
use papir_core::codec::{Reader, Writer};

use crate::certificate::{Certificate, Grant, MAX_CERTIFICATES};
use crate::checkpoint::Checkpoint;
use crate::error::{Error, Result};
use crate::key::{SigningKey, VerifyingKey};
use crate::leaf::{Base, Leaf};
use crate::merkle::{Frontier, Hash, Tree, leaf_hash};
use crate::note::Note;
use crate::policy::Policy;
use crate::proof::{Proof, read_certificates, read_key, write_certificates};
use crate::trust;

/// Format numbers of logs.
pub const LOG_FORMATS: Formats = Formats {
    what: "a log",
    oldest: 1,
    written: 1,
    renew: "sign the database again: `papir build --sign …`",
};
/// Longest encoded log: 64 MiB, some 600,000 versions of a database with a short name.
pub const MAX_LOG_BYTES: u64 = 64 << 20;

/// The log of a database. Its leaves, checkpoint and origin agree; whether the checkpoint's
/// signatures are valid and of a trusted key is decided by a [`Policy`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Log {
    owner: VerifyingKey,
    leaves: Vec<Leaf>,
    hashes: Vec<Hash>,
    note: Note,
    certificates: Vec<Certificate>,
}

/// An owner's statement about a version.
#[derive(Clone, Debug)]
pub struct Statement {
    /// The database's name.
    pub database: String,
    /// Time of signing, seconds since 1970, UTC.
    pub time: u64,
    /// The records.
    pub base: Base,
    /// BLAKE3 of the public part of the delta; `None` without a delta.
    pub delta_root: Option<Hash>,
    /// BLAKE3 of the public part, as downloaded.
    pub public_part: Hash,
}

impl Log {
    /// Appends a leaf to a log, or starts one, and signs its checkpoint. The former checkpoint must
    /// be valid at its time, and the new one must be acceptable to clients that pin the former
    /// owner's key. A time shortly before that of the former leaf is replaced by it. New certificates are
    /// added to the former ones, and delegations that have ended are dropped.
    ///
    /// # Errors
    /// [`Error::Untrusted`] if the key is neither the owner's nor certified; [`Error::Database`]
    /// for a former log of another database; [`Error::Full`]; those of the former checkpoint.
    pub fn append(
        former: Option<&Self>,
        statement: &Statement,
        key: &SigningKey,
        certificates: &[Certificate],
    ) -> Result<Self> {
        if let Some(former) = former {
            former.check_signed()?;
            let found = &former.newest()?.database;
            let expected = &statement.database;
            if found != expected {
                return Err(Error::Database {
                    found: found.clone(),
                    expected: expected.clone(),
                });
            }
        }
        let mut leaves = former.map(|log| log.leaves.clone()).unwrap_or_default();
        let mut hashes = former.map(|log| log.hashes.clone()).unwrap_or_default();
        let time = time_after(leaves.last().map(|last| last.time), statement.time);
        let certificates = merge(
            former.map_or(&[], |log| &log.certificates),
            certificates,
            time,
        )?;
        let signer = key.public().of_notes()?;
        let pinned = former.map_or_else(
            || issuer_of(&signer, &certificates),
            |log| log.owner.clone(),
        );
        let Statement {
            database,
            base,
            delta_root,
            public_part,
            ..
        } = statement.clone();
        let leaf = Leaf {
            database,
            sequence: leaves.len() as u64,
            time,
            base,
            delta_root,
            public_part,
        };
        hashes.push(leaf.hash()?);
        leaves.push(leaf);
        let database = &statement.database;
        let origin = pinned.name().origin(database)?;
        let root = Frontier::of(&hashes).root();
        let mut note = Checkpoint {
            origin: origin.clone(),
            size: hashes.len() as u64,
            root,
        }
        .to_note()?;
        note.sign(key, &origin)?;
        let owner = trust::successor(&pinned, &certificates, time);
        let log = Self {
            owner,
            leaves,
            hashes,
            note,
            certificates,
        };
        log.check_length()?;
        // A log that clients would refuse is not published.
        for owner in [&pinned, &log.owner] {
            Policy::new(owner, database, time).accept(&log.proof()?)?;
        }
        Ok(log)
    }

    /// Checks the checkpoint's signature at the time of its leaf.
    ///
    /// # Errors
    /// The errors of [`Policy::accept`].
    pub fn check_signed(&self) -> Result<()> {
        let newest = self.newest()?;
        Policy::new(&self.owner, &newest.database, newest.time)
            .accept(&self.proof()?)
            .map(drop)
    }

    /// The owner's newest key at the time of the newest leaf.
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

    /// The first sequence at which two logs have different leaves. Two honest copies of one log
    /// have none, because the shorter one is the beginning of the longer one.
    pub fn first_difference(&self, other: &Self) -> Option<u64> {
        let differs = self
            .hashes
            .iter()
            .zip(&other.hashes)
            .position(|(one, two)| one != two);
        differs.map(|sequence| sequence as u64)
    }

    /// The signed checkpoint, with cosignatures.
    pub fn note(&self) -> &Note {
        &self.note
    }

    /// Delegations and rotations.
    pub fn certificates(&self) -> &[Certificate] {
        &self.certificates
    }

    /// The proof of the newest leaf, for clients.
    ///
    /// # Errors
    /// None in practice: a log has at least one leaf.
    pub fn proof(&self) -> Result<Proof> {
        let last = self.hashes.len().checked_sub(1).ok_or_else(empty)?;
        let path = Tree::new(&self.hashes).inclusion(last).ok_or_else(empty)?;
        let leaf = self.newest()?.clone();
        let certificates = self.certificates.clone();
        Ok(Proof {
            owner: self.owner.clone(),
            leaf,
            path,
            note: self.note.clone(),
            certificates,
        })
    }

    /// The request to a witness for a cosignature (C2SP tlog-witness, `add-checkpoint`). `old` is
    /// the size that the witness cosigned last, 0 for none.
    ///
    /// # Errors
    /// [`Error::Options`] for a size beyond the log.
    pub fn witness_request(&self, old: u64) -> Result<String> {
        let proof = usize::try_from(old)
            .ok()
            .and_then(|old| Tree::new(&self.hashes).consistency(old));
        let proof = proof.ok_or_else(|| {
            Error::options(
                format!("an old size of {old}"),
                format!("at most {}, that of the log", self.hashes.len()),
            )
        })?;
        let lines: String = proof
            .iter()
            .map(|hash| crate::base64::encode(hash) + "\n")
            .collect();
        Ok(format!("old {old}\n{lines}\n{}", self.note))
    }

    /// Adds the cosignatures that a witness has returned: lines of signatures, or the whole note.
    /// They are carried until the next version. Lines that the log has already are skipped. Returns
    /// the number of new ones.
    ///
    /// # Errors
    /// [`Error::Options`] for the note of another checkpoint; those of [`Note::parse`].
    pub fn add_cosignatures(&mut self, text: &str) -> Result<usize> {
        let whole = if text.contains("\n\n") {
            text.to_owned()
        } else {
            format!("{}\n{text}", self.note.text())
        };
        let cosigned = Note::parse(whole.as_bytes())?;
        if cosigned.text() != self.note.text() {
            return Err(Error::options(
                "signatures of another checkpoint",
                "those of the newest one",
            ));
        }
        let before = self.note.signatures().len();
        for line in cosigned.signatures() {
            self.note.add(line.clone())?;
        }
        Ok(self.note.signatures().len() - before)
    }

    /// Adds certificates, for example a rotation before the first checkpoint of the new key. The
    /// owner stays the one at the time of the newest leaf, under which that leaf was signed, and so
    /// do the certificates of that time.
    ///
    /// # Errors
    /// [`papir_core::Error::OutOfBounds`] for too many.
    pub fn add_certificates(&mut self, certificates: &[Certificate]) -> Result<()> {
        self.certificates = merge(&self.certificates, certificates, 0)?;
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
        writer.u64(self.leaves.len() as u64);
        for leaf in &self.leaves {
            writer.bytes(&leaf.encode()?);
        }
        writer.bytes(self.note.to_string().as_bytes());
        write_certificates(&mut writer, &self.certificates);
        Ok(writer.finish())
    }

    /// Decodes a log, and checks that its leaves, checkpoint and origin agree.
    ///
    /// # Errors
    /// [`papir_core::Error::Format`], [`papir_core::Error::Malformed`],
    /// [`papir_core::Error::Length`], [`Error::NotIncluded`] or [`Error::Origin`].
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new("a log", bytes);
        LOG_FORMATS.check(reader.u16()?.into())?;
        let owner = read_key(&mut reader)?;
        let mut leaves = Vec::new();
        let mut hashes = Vec::new();
        // Not allocated in advance: the number is not verified yet.
        for _ in 0..reader.u64()? {
            let bytes = reader.bytes()?;
            hashes.push(leaf_hash(bytes));
            leaves.push(Leaf::decode(bytes)?);
        }
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

    /// Checks that leaves and checkpoint belong together.
    fn check(&self) -> Result<()> {
        let database = &self.newest()?.database;
        for (sequence, leaf) in (0..).zip(&self.leaves) {
            if leaf.sequence != sequence || leaf.database != *database {
                let found = format!("sequence {} of `{}`", leaf.sequence, leaf.database);
                return Err(Error::malformed(
                    "a leaf of a log",
                    found,
                    format!("sequence {sequence} of `{database}`"),
                ));
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
        let tree = Frontier::of(&self.hashes);
        if (checkpoint.size, checkpoint.root) != (tree.size(), tree.root()) {
            return Err(Error::NotIncluded {
                what: "the list of leaves",
                size: checkpoint.size,
            });
        }
        Ok(())
    }

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

fn empty() -> Error {
    Error::malformed("a log", "no leaf", "at least one")
}

/// The owner in whose name a key starts a log: the issuer of its delegation, or itself.
fn issuer_of(signer: &VerifyingKey, certificates: &[Certificate]) -> VerifyingKey {
    let delegation = certificates
        .iter()
        .find(|one| matches!(one.grant(), Grant::Delegate(_)) && one.subject().same_key(signer));
    delegation.map_or_else(|| signer.clone(), |one| one.issuer().clone())
}

/// The time of a leaf after one of the time `former`. Clocks of two publishers may differ a little. If they
/// differ more, one is wrong, and its time must not stay forever.
fn time_after(former: Option<u64>, now: u64) -> u64 {
    former
        .filter(|&former| former <= now.saturating_add(trust::SKEW))
        .map_or(now, |former| former.max(now))
}

/// Old and new certificates, each once, without delegations that ended before this time.
fn merge(old: &[Certificate], new: &[Certificate], time: u64) -> Result<Vec<Certificate>> {
    let mut merged: Vec<Certificate> = Vec::new();
    for certificate in old.iter().chain(new) {
        let ended = *certificate.grant() != Grant::Rotate && certificate.until() < time;
        if !ended && !merged.contains(certificate) {
            merged.push(certificate.clone());
        }
    }
    if merged.len() > MAX_CERTIFICATES {
        let found = merged.len() as u64;
        let expected = format!("at most {MAX_CERTIFICATES}");
        return Err(papir_core::Error::out_of_bounds(
            "the number of certificates",
            found,
            expected,
        )
        .into());
    }
    Ok(merged)
}
