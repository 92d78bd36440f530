//! The policy under which a client accepts checkpoints.

use crate::checkpoint::Checkpoint;
use crate::cosignature::cosigned;
use crate::error::{Error, Result};
use crate::gateway_trust::GatewayTrust;
use crate::gateways::GatewayKeys;
use crate::key::VerifyingKey;
use crate::leaf::Leaf;
use crate::merkle::{Hash, verify_inclusion};
use crate::proof::Proof;
use crate::trust::{SKEW, Times, signers, successor};

/// A client's requirements of a checkpoint. Times are seconds since 1970, UTC.
#[derive(Clone, Debug)]
pub struct Policy<'a> {
    /// The owner's key, which the client pins.
    pub owner: &'a VerifyingKey,
    /// The name of the database that the client queries.
    pub database: &'a str,
    /// The time of the client's clock.
    pub now: u64,
    /// Maximum age of the newest leaf in seconds; `None` accepts any.
    pub max_age: Option<u64>,
    /// The version with the highest sequence that the client has seen; `None` accepts any.
    pub highest: Option<Seen>,
    /// Public keys of the witnesses that the client knows.
    pub witnesses: &'a [VerifyingKey],
    /// Minimum number of known witnesses that must have cosigned.
    pub cosignatures: usize,
}

/// A version that a client has seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The version's sequence.
    pub sequence: u64,
    /// The hash of the version's leaf.
    pub leaf: Hash,
}

impl Seen {
    /// Checks this version against the highest one that the client saw before.
    ///
    /// # Errors
    /// [`Error::Rollback`] for a lower sequence, and [`Error::Equivocation`] for another leaf with
    /// the same sequence.
    pub fn check(&self, highest: &Self) -> Result<()> {
        if self.sequence < highest.sequence {
            return Err(Error::Rollback {
                found: self.sequence,
                highest: highest.sequence,
            });
        }
        if self.sequence == highest.sequence && self.leaf != highest.leaf {
            return Err(Error::Equivocation {
                sequence: self.sequence,
            });
        }
        Ok(())
    }

    /// Checks that this version's sequence is at least `required`; `None` accepts any.
    ///
    /// # Errors
    /// [`Error::Sequence`] for a lower one.
    pub fn require(&self, required: Option<u64>) -> Result<()> {
        match required {
            Some(required) if self.sequence < required => Err(Error::Sequence {
                found: self.sequence,
                required,
            }),
            _ => Ok(()),
        }
    }
}

/// An accepted checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// The newest leaf.
    pub leaf: Leaf,
    /// The sequence and hash of the newest leaf, for [`Policy::highest`] of the next check.
    pub seen: Seen,
    /// The owner's newest key, with which the client replaces the key that it pins.
    pub owner: VerifyingKey,
    /// Number of known witnesses that have cosigned.
    pub cosignatures: usize,
}

impl<'a> Policy<'a> {
    /// A policy that accepts any age and sequence, and requires no cosignatures.
    pub fn new(owner: &'a VerifyingKey, database: &'a str, now: u64) -> Self {
        Self {
            owner,
            database,
            now,
            max_age: None,
            highest: None,
            witnesses: &[],
            cosignatures: 0,
        }
    }

    /// Accepts or refuses a checkpoint with the proof of its newest leaf. Does not check the public
    /// part: see [`Leaf::check_public_part`].
    ///
    /// # Errors
    /// The reason for refusing: any [`Error`] but `PublicPart`, `Delta`, `Sequence`, `Full`,
    /// `Options`, `NoGatewayKeys` and `GatewayKeys`. A service whose copy is out of date causes
    /// [`Error::Rollback`] too, so the caller may retry.
    pub fn accept(&self, proof: &Proof) -> Result<Accepted> {
        let leaf = &proof.leaf;
        // Signatures first: nothing else is believed before the owner has signed it.
        let checkpoint = Checkpoint::of_text(proof.note.text())?;
        self.check_name(leaf, &checkpoint)?;
        self.check_signature(proof, &checkpoint)?;

        let seen = Seen {
            sequence: leaf.sequence,
            leaf: leaf.hash()?,
        };
        // The leaf's time chose the keys above. Only here it is proved to be of a leaf that they
        // signed.
        check_inclusion(proof, &checkpoint, &seen)?;
        if let Some(highest) = &self.highest {
            seen.check(highest)?;
        }
        self.check_age(leaf.time)?;

        let cosignatures = cosigned(&proof.note, self.witnesses)?.len();
        if cosignatures < self.cosignatures {
            return Err(Error::Cosignatures {
                found: cosignatures,
                required: self.cosignatures,
            });
        }

        Ok(Accepted {
            leaf: leaf.clone(),
            seen,
            owner: successor(self.owner, &proof.certificates, self.now),
            cosignatures,
        })
    }

    /// The keys of gateways for which a client behind a relay may seal requests about the database:
    /// those that the newest leaf commits to. Accepts or refuses the checkpoint first.
    ///
    /// # Errors
    /// The errors of [`Policy::accept`]; [`Error::NoGatewayKeys`] if the leaf commits to none;
    /// [`Error::GatewayKeys`] if their certificate is missing, not valid at this time, for another
    /// database, or not signed by a key that may sign checkpoints.
    pub fn gateway_keys(&self, proof: &Proof) -> Result<GatewayKeys> {
        let accepted = self.accept(proof)?;
        let Some(commitment) = accepted.leaf.gateways else {
            return Err(Error::NoGatewayKeys);
        };

        let trust = GatewayTrust {
            owner: self.owner,
            database: self.database,
            certificates: &proof.certificates,
            times: Times {
                now: self.now,
                leaf: accepted.leaf.time,
            },
        };
        trust.find(&commitment).cloned()
    }

    /// Checks that leaf and checkpoint belong to this owner's log of this database.
    fn check_name(&self, leaf: &Leaf, checkpoint: &Checkpoint) -> Result<()> {
        if leaf.database != self.database {
            return Err(Error::Database {
                found: leaf.database.clone(),
                expected: self.database.to_owned(),
            });
        }

        // The origin has the name of the owner's key, so another owner's log of the same database
        // is refused, too.
        let origin = self.owner.name().origin(self.database)?;
        if checkpoint.origin != origin {
            return Err(Error::Origin {
                found: checkpoint.origin.to_string(),
                expected: origin.to_string(),
            });
        }
        Ok(())
    }

    /// Checks for a signature of the owner's key, or of a key that the owner's key certifies.
    fn check_signature(&self, proof: &Proof, checkpoint: &Checkpoint) -> Result<()> {
        let times = Times {
            now: self.now,
            leaf: proof.leaf.time,
        };

        // All keys are tried: an invalid signature of any of them is an error.
        let mut signed = false;
        for key in signers(self.owner, &proof.certificates, self.database, times) {
            signed |= proof.note.is_signed_by(&key.renamed(&checkpoint.origin))?;
        }

        if signed {
            return Ok(());
        }
        Err(Error::Untrusted {
            owner: self.owner.to_string(),
            found: proof.note.signers(),
        })
    }

    /// Checks that a leaf signed at `time` is not older than the maximum age, if the policy has
    /// one.
    fn check_age(&self, time: u64) -> Result<()> {
        let Some(max) = self.max_age else {
            return Ok(());
        };
        // A time far ahead would never be too old.
        if time > self.now.saturating_add(SKEW) {
            return Err(Error::FromTheFuture {
                ahead: time - self.now,
            });
        }

        let age = self.now.saturating_sub(time);
        if age > max {
            Err(Error::TooOld { age, max })
        } else {
            Ok(())
        }
    }
}

/// Checks that the leaf is the last one of the tree. An older one would be a hidden rollback.
fn check_inclusion(proof: &Proof, checkpoint: &Checkpoint, seen: &Seen) -> Result<()> {
    let size = checkpoint.size;
    let root = &checkpoint.root;
    let newest = seen.sequence.checked_add(1) == Some(size);
    if newest && verify_inclusion(&seen.leaf, seen.sequence, size, &proof.path, root) {
        return Ok(());
    }
    Err(Error::NotIncluded {
        what: "the proof of the newest version",
        size,
    })
}
