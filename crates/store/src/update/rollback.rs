//! Rollback: the records of an earlier version, published again.

use std::path::{Path, PathBuf};

use papir_core::{OwnerKey, Run};
use papir_lookup::update::ChangeCounts;

use super::options::UpdateOptions;
use super::prepare::{Next, NextKeys, set_up_changed};
use super::publication::{Former, Publication};
use super::report::{UpdateReport, Way};
use crate::delta::{Delta, delta_file};
use crate::error::{Error, Result};
use crate::psi;
use crate::publish::{lock, sign};
use crate::snapshot::{Followed, Metadata, OpenOptions, Sign, Signing, Snapshot};
use crate::versions::{self, Newest, log_to_continue, refuse_published};

/// The version to return to.
#[derive(Clone, Debug, Default)]
pub enum Earlier {
    /// The newest one that is kept next to the file.
    #[default]
    Newest,
    /// The kept one with this number, 16 hexadecimal digits.
    Kept(String),
    /// The one in this file.
    File(PathBuf),
}

/// Options of a rollback.
#[derive(Clone, Debug)]
pub struct RollbackOptions {
    /// The snapshot to replace. Its version is kept next to it.
    pub file: PathBuf,
    /// The version whose records it gets.
    pub to: Earlier,
    /// The owner's key of an encrypted database.
    pub encrypt: Option<OwnerKey>,
    /// Signs the new version with this key and appends it to the log; `None` for an unsigned one.
    pub sign: Option<Sign>,
    /// Allows an unsigned version of a signed database.
    pub unsigned: bool,
}

impl RollbackOptions {
    /// Options with every default.
    pub fn new(file: impl Into<PathBuf>, to: Earlier) -> Self {
        Self {
            file: file.into(),
            to,
            encrypt: None,
            sign: None,
            unsigned: false,
        }
    }
}

/// Replaces a snapshot by a new version with the records of an earlier one. All records are
/// prepared again, under the earlier version's parameters: a version number names one public part,
/// and a sequence one leaf, so neither can come back. The log continues that of the replaced file.
///
/// # Errors
/// [`Error::Options`] if the earlier version is not kept or is of another database; otherwise the
/// errors of [`super::update()`].
pub fn rollback(options: &RollbackOptions, run: &mut Run<'_>) -> Result<UpdateReport> {
    let file = &options.file;
    // Locked to the end: the later of two updates would undo the earlier.
    let _lock = lock(file)?;

    // Before anything that takes long: a signed file needs a key.
    let begun = Newest::of(file)?;
    let log = log_to_continue(
        begun.log.clone(),
        file,
        options.sign.as_ref(),
        options.unsigned,
    )?;

    run.progress.stage("opening", 1);
    // Not verified: only its version and metadata are needed, and damage is a reason to roll back.
    let current = Snapshot::open_with(file, OpenOptions::lazy())?;
    let earlier = open_earlier(options)?;
    run.progress.advance(1);
    check_earlier(&earlier, &current, options)?;

    let name = &earlier.metadata.name;
    let signing = Signing::of(options.sign.as_ref(), log, name, file)?;
    let (server, commitment) = set_up_changed(&earlier, &[], run)?;
    let next = Next {
        server,
        commitment,
        keyword: keys(&earlier)?,
        way: Way::RolledBack {
            to: earlier.server.version(),
        },
    };

    let metadata = former_metadata(file, &earlier, &current)?;
    let update = UpdateOptions {
        encrypt: options.encrypt.clone(),
        // The rolled back version may turn out to have been the better one.
        keep: Some(usize::MAX),
        ..UpdateOptions::new(file, file)
    };

    let publication = Publication {
        options: &update,
        former: Former {
            metadata: &metadata,
            version: current.server.version(),
        },
        counts: ChangeCounts::default(),
        next,
    };
    publication.run(
        |version, sink, _| {
            // The log would fork, or a delta would be lost.
            refuse_published(file, &begun, &Newest::of(file)?)?;
            sign(signing.as_ref(), version, sink)
        },
        run,
    )
}

/// The metadata that the new version continues.
fn former_metadata(file: &Path, earlier: &Snapshot, current: &Snapshot) -> Result<Metadata> {
    let newer = followed_by(file, current)?;
    Ok(Metadata {
        updates: current.metadata.updates,
        followed: earlier.metadata.followed.clone().or(newer),
        ..earlier.metadata.clone()
    })
}

/// The beginning of the source that the current version follows; `None` without one. A slot has
/// passed on changes since then that the earlier version does not have.
fn followed_by(file: &Path, current: &Snapshot) -> Result<Option<Followed>> {
    // The delta is followed further than its base.
    let delta = Delta::of(file, current.server.version(), &OpenOptions::lazy())?;
    let followed = match delta {
        Some(delta) => delta.metadata.followed,
        None => current.metadata.followed.clone(),
    };
    Ok(followed.map(|place| Followed {
        bytes: 0,
        lines: 0,
        ..place
    }))
}

/// Opens the version to return to.
fn open_earlier(options: &RollbackOptions) -> Result<Snapshot> {
    let path = match &options.to {
        Earlier::Newest => versions::find(&options.file, None)?.path,
        Earlier::Kept(version) => versions::find(&options.file, Some(version))?.path,
        Earlier::File(path) => path.clone(),
    };

    let options = OpenOptions {
        owner: options.encrypt.clone(),
        ..OpenOptions::default()
    };
    Snapshot::open_with(&path, options)
}

/// Refuses an earlier version that cannot replace the current one.
fn check_earlier(earlier: &Snapshot, current: &Snapshot, options: &RollbackOptions) -> Result<()> {
    psi::refuse(
        earlier,
        &options.file,
        "prepare it again with `papir psi prepare`",
    )?;
    refuse_changed(earlier, options)?;

    let name = &earlier.metadata.name;
    let expected = &current.metadata.name;
    if name == expected {
        return Ok(());
    }
    Err(Error::options(
        format!("a version of the database `{name}`"),
        format!("one of `{expected}`"),
    ))
}

/// Refuses an earlier version that was served with a delta: its file alone never was the database.
fn refuse_changed(earlier: &Snapshot, options: &RollbackOptions) -> Result<()> {
    let version = earlier.server.version();
    // A kept version keeps its delta beside it, and a file elsewhere has its own.
    let beside = match &options.to {
        Earlier::File(file) => delta_file(file, version)?.exists(),
        Earlier::Newest | Earlier::Kept(_) => false,
    };
    if !beside && !delta_file(&options.file, version)?.exists() {
        return Ok(());
    }

    let found = format!("version {version}, which has a delta beside it");
    Err(Error::options(
        found,
        "a version without one: publish its values with `papir update`",
    ))
}

/// The keyword table of a snapshot as it is.
pub(super) fn keys(snapshot: &Snapshot) -> Result<Option<NextKeys>> {
    let (Some(layout), Some(summary)) = (&snapshot.keyword, &snapshot.metadata.keyword) else {
        return Ok(None);
    };

    let ids = snapshot.owner_keys()?.ok_or_else(|| {
        Error::options(
            format!(
                "version {} without the ids of its keys",
                snapshot.metadata.version
            ),
            "one with them",
        )
    })?;

    Ok(Some(NextKeys {
        layout: layout.clone(),
        ids,
        summary: summary.clone(),
    }))
}
