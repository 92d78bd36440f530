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

    let written = newest_file(file)?;
    let encoded = match written == file {
        true => log.encode(),
        // The snapshot has the leaves before those of the delta.
        false => log.encode_delta(),
    };
    let bytes = encoded.map_err(Error::of_checkpoint(file))?;
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use papir_checkpoint::{Kind, SigningKey};
    use papir_core::NoProgress;
    use rand_core::SeedableRng;

    use super::*;
    use crate::{Build, BuildOptions, UpdateOptions, update_delta};

    fn rng(seed: u8) -> chacha20::ChaCha20Rng {
        chacha20::ChaCha20Rng::from_seed([seed; 32])
    }

    /// Publishes a change of one word as a delta.
    fn publish(file: &Path, key: &Sign, row: &str) {
        let changes = file.with_extension("changes.csv");
        std::fs::write(&changes, format!("word,meaning\n{row}\n")).unwrap();
        let options = UpdateOptions {
            sign: Some(key.clone()),
            ..UpdateOptions::new(file, changes)
        };
        update_delta(&options, None, &mut Run::new(&mut rng(2), &NoProgress))
            .unwrap()
            .unwrap();
    }

    /// Earlier releases wrote the whole log to the file of a delta.
    #[test]
    fn a_delta_with_a_whole_log_is_read_and_continued() {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("words.csv");
        std::fs::write(&source, "word,meaning\na,1\nb,2\n").unwrap();
        let file = folder.path().join("words.pir");
        let name = "example.org/owner".parse().unwrap();
        let key = Sign::new(SigningKey::generate(name, Kind::Note, &mut rng(1)));
        let options = BuildOptions {
            key: Some("word".into()),
            values: vec!["meaning".into()],
            scheme: "simple".into(),
            sign: Some(key.clone()),
            ..BuildOptions::new(source, &file)
        };
        Build::new(&options)
            .run(&mut Run::new(&mut rng(1), &NoProgress))
            .unwrap();
        publish(&file, &key, "a,3");

        let log = stored_log(&file).unwrap().unwrap();
        let delta = newest_file(&file).unwrap();
        assert_ne!(delta, file);
        let whole = log.encode().unwrap();
        rewrite(&delta, 3, |_, sink| Ok(sink.put(CHECKPOINT, &[&whole])?)).unwrap();
        assert_eq!(stored_log(&file).unwrap().unwrap(), log);

        publish(&file, &key, "b,4");
        let next = stored_log(&file).unwrap().unwrap();
        assert_eq!((log.leaves().len(), next.leaves().len()), (2, 3));
        assert_eq!(log.first_difference(&next), None);
    }
}
