//! New signatures and cosignatures for a finished snapshot.

use std::path::{Path, PathBuf};

use papir_checkpoint::{Certificate, Leaf, VerifyingKey, cosigned};
use papir_core::sections::SectionSink;
use papir_core::{Result as CoreResult, Run};
use rand_core::CryptoRng;

use super::log::stored_log;
use crate::delta::{delta_file, lock_deltas, refuse_with_delta};
use crate::error::{Error, Result};
use crate::file::{CHECKPOINT, CHUNKS, Sections, SnapshotWriter, map};
use crate::psi;
use crate::publish::{Readers, lock, publish};
use crate::snapshot::{OpenOptions, Sign, Signed, Signing, Snapshot};

/// Signs the version in a snapshot again, with a later time, or for the first time. The version
/// itself stays the same: clients with a maximum age accept it for longer. Returns the new leaf.
///
/// # Errors
/// Errors of the snapshot; [`Error::Checkpoint`]; [`papir_core::Error::Io`].
pub fn sign(file: &Path, sign: &Sign, run: &mut Run<'_>) -> Result<Leaf> {
    // A delta that is published meanwhile waits: it is beside a signed version then.
    let _lock = lock(file)?;
    let _deltas = lock_deltas(file)?;

    run.progress.stage("opening", 1);
    let snapshot = Snapshot::open_with(file, OpenOptions::default())?;
    run.progress.advance(1);
    psi::refuse(&snapshot, file, "a set has no checkpoint")?;
    refuse_with_delta(&snapshot, file)?;

    // With the stored log, locked: a leaf that another program appends until the file is written
    // would be lost.
    let signing = Signing::new(sign, stored_log(file)?, &snapshot.metadata.name, file)?;
    let commitment = snapshot.commitment()?;
    let version = Signed {
        database: &snapshot.metadata.name,
        public: snapshot.server.public(),
        keyword: snapshot.keyword.as_ref(),
        prefilter: snapshot.prefilter.as_ref().map(|filter| filter.summary),
        commitment: commitment.as_ref(),
    };

    let log = rewrite(file, run.rng.next_u64(), |sections, sink| {
        signing.put(&version, sections.table(), sink)
    })?;
    log.newest().cloned().map_err(Error::of_checkpoint(file))
}

/// Adds what witnesses and the owner have signed since: cosignatures, as signature lines or whole
/// notes, and certificates. Cosignatures of `witnesses` are verified; others are carried as they
/// are. Returns the number of new cosignatures.
///
/// # Errors
/// [`Error::Options`] for a snapshot without a checkpoint; [`Error::Checkpoint`] for cosignatures
/// of another checkpoint, or invalid ones; [`papir_core::Error::Io`].
pub fn attach(
    file: &Path,
    cosignatures: &[String],
    witnesses: &[VerifyingKey],
    certificates: &[Certificate],
    rng: &mut dyn CryptoRng,
) -> Result<usize> {
    // Locked before the log is read: a leaf that is appended until it is written would be lost.
    let _lock = lock(file)?;
    let _deltas = lock_deltas(file)?;
    let mut log = stored_log(file)?.ok_or_else(|| {
        Error::options(
            format!("{} without a checkpoint", file.display()),
            "a signed database",
        )
    })?;

    log.add_certificates(certificates)
        .map_err(Error::of_checkpoint(file))?;
    let mut added = 0;
    for text in cosignatures {
        added += log
            .add_cosignatures(text)
            .map_err(Error::of_checkpoint(file))?;
    }
    // Verified before anything is written: an invalid cosignature would be served.
    cosigned(log.note(), witnesses).map_err(Error::of_checkpoint(file))?;

    let bytes = log.encode().map_err(Error::of_checkpoint(file))?;
    let written = newest_file(file)?;
    rewrite(&written, rng.next_u64(), |_, sink| {
        Ok(sink.put(CHECKPOINT, &[&bytes])?)
    })?;
    Ok(added)
}

/// The file that has the newest log: the delta beside the snapshot, or else the snapshot.
fn newest_file(file: &Path) -> Result<PathBuf> {
    let delta = delta_file(file, Snapshot::version_in(file)?)?;
    Ok(if delta.exists() {
        delta
    } else {
        file.to_owned()
    })
}

/// Writes the snapshot again with all sections but the checkpoint, and then what `last` adds.
fn rewrite<T>(
    file: &Path,
    nonce: u64,
    last: impl FnOnce(&Sections, &mut SnapshotWriter<std::fs::File>) -> Result<T>,
) -> Result<T> {
    let sections = Sections::read(map(file)?).map_err(Error::of_snapshot(file))?;
    // A damaged section must not get a new, valid checksum.
    sections.verify().map_err(Error::of_snapshot(file))?;

    let mut made = None;
    publish(file, nonce, Readers::Kept, |sink| {
        copy(&sections, sink)?;
        made = Some(last(&sections, sink)?);
        Ok(())
    })?;
    made.ok_or_else(|| {
        Error::of_snapshot(file)(papir_core::Error::MissingSection {
            name: CHECKPOINT.to_owned(),
        })
    })
}

/// Copies all sections but the checkpoint.
fn copy(sections: &Sections, sink: &mut dyn SectionSink) -> CoreResult<()> {
    // The sink writes the values of chunks itself.
    let made = [CHECKPOINT, CHUNKS];
    for section in sections.table() {
        if !made.contains(&section.name.as_str()) {
            sink.put(&section.name, &[&sections.blob(&section.name)?])?;
        }
    }
    Ok(())
}
