//! Merges a delta into its base.

use std::path::{Path, PathBuf};

use papir_checkpoint::Log;
use papir_core::cost::Rates;
use papir_core::{Change, Run, Version};
use papir_lookup::delta::DeltaChanges;
use papir_lookup::update::{ChangeCounts, Changes};

use super::draft::base_of;
use super::keyed::{self, OwnerKeys};
use super::options::UpdateOptions;
use super::prepare::{Next, apply_changes};
use super::publication::{Former, Publication};
use super::report::UpdateReport;
use super::rollback::keys;
use super::{indexed, unchanged};
use crate::delta::{self, Delta, DeltaBase, lock_deltas, write};
use crate::error::Result;
use crate::publish::{SnapshotFile, lock, sign};
use crate::snapshot::{Metadata, OpenOptions, Sign, Signed, Signing, Snapshot};
use crate::versions::{log_to_continue, refuse_published, stored_log};

/// Options of a merge.
#[derive(Clone, Debug)]
pub struct MergeOptions {
    /// The snapshot.
    pub file: PathBuf,
    /// See [`UpdateOptions::keep`]. A kept version keeps its delta.
    pub keep: Option<usize>,
    /// This machine's rates, which decide between the scheme's update and a setup.
    pub rates: Rates,
    /// Signs the next version of a signed database.
    pub sign: Option<Sign>,
}

impl MergeOptions {
    /// Options with every default.
    pub fn new(file: impl Into<PathBuf>) -> Self {
        Self {
            file: file.into(),
            keep: None,
            rates: Rates::BUILT_IN,
            sign: None,
        }
    }
}

/// Merges the delta of a snapshot into the next version of it. Deltas that are published meanwhile
/// are not lost: their further changes become the delta of the new version, and both appear
/// together.
///
/// # Errors
/// The errors of [`super::update()`].
pub fn merge(options: &MergeOptions, run: &mut Run<'_>) -> Result<UpdateReport> {
    let MergeOptions {
        file,
        keep,
        rates,
        sign,
    } = options;
    // Locked to the end: the later of two updates would undo the earlier.
    let _lock = lock(file)?;

    // Before anything that takes long: a signed file needs a key.
    let log = log_to_continue(stored_log(file)?, file, sign.as_ref(), false)?;

    run.progress.stage("opening", 1);
    let base = Snapshot::open_with(file, OpenOptions::default())?;
    run.progress.advance(1);

    let version = base.server.version();
    let Some(merged) = Delta::of(file, version, &OpenOptions::default())? else {
        return Ok(unchanged(base, ChangeCounts::default()));
    };

    let changes = merged.changes()?;
    let (counts, next) = prepare(options, &base, &merged, &changes, run)?;
    // The base has all changes already: they were undone, or set what was there.
    let Some(next) = next else {
        remove_idle(file, &merged)?;
        return Ok(unchanged(base, counts));
    };

    // A trial: a key that may not sign is refused before the file is written.
    Signing::of(sign.as_ref(), log, &base.metadata.name, file)?;
    let description = next.server.describe();
    let layout = next.keyword.as_ref().map(|keys| keys.layout.clone());
    let sealing = Sealing {
        file,
        sign: sign.as_ref(),
        replaced: version,
        merged: &merged,
        changes: &changes,
        following: DeltaBase {
            version: next.server.version(),
            layout: layout.as_ref(),
            ..base_of(&base, &description, None)
        },
    };

    // The changes come from the delta, so that the file of changes is not read.
    let update = UpdateOptions {
        keep: *keep,
        rates: rates.clone(),
        ..UpdateOptions::new(file, file)
    };
    let metadata = former_metadata(&base, &merged);
    let publication = Publication {
        options: &update,
        former: Former {
            metadata: &metadata,
            version,
        },
        counts,
        next,
    };
    publication.run(|next, sink, run| sealing.run(next, sink, run), run)
}

/// The metadata that the next version continues: that of the base, with the delta's place in a
/// followed source.
fn former_metadata(base: &Snapshot, merged: &Delta) -> Metadata {
    let followed = merged.metadata.followed.clone();
    Metadata {
        followed: followed.or(base.metadata.followed.clone()),
        ..base.metadata.clone()
    }
}

/// The last step of a merge: signs the next version, and gives it the changes published meanwhile.
struct Sealing<'a> {
    file: &'a Path,
    sign: Option<&'a Sign>,
    /// The version of the file at the start.
    replaced: Version,
    /// The delta at the start, and its changes.
    merged: &'a Delta,
    changes: &'a DeltaChanges,
    /// The next version as the base of a delta.
    following: DeltaBase<'a>,
}

impl Sealing<'_> {
    /// Seals the next version. The caller has locked the deltas, and keeps the lock until the file
    /// has appeared.
    fn run(
        self,
        next: &Signed<'_>,
        sink: &mut SnapshotFile,
        run: &mut Run<'_>,
    ) -> Result<Option<Log>> {
        let name = self.following.name;
        // No other program publishes a delta now: the log gets no further leaf.
        refuse_published(self.file, &self.replaced, &Snapshot::version_in(self.file)?)?;
        // The log as it is now: a delta that was published meanwhile has added leaves.
        let signing = Signing::of(self.sign, stored_log(self.file)?, name, self.file)?;
        let log = sign(signing.as_ref(), next, sink)?;

        let Some(now) = Delta::of(self.file, self.replaced, &OpenOptions::default())? else {
            return Ok(log);
        };
        // Deltas that were published during the merge have all changes since the old base. Only
        // those after the merged ones are left for the new base.
        let all = now.changes()?;
        let mut left = all.since(self.changes);
        // The next version must state the newest place in the source, even if nothing changed up to
        // it.
        if left.is_empty() && now.metadata.followed != self.merged.metadata.followed {
            left = all;
        }
        if left.is_empty() {
            return Ok(log);
        }

        let signing = Signing::of(self.sign, log.clone(), name, self.file)?;
        let following = DeltaBase {
            records: now.metadata.records,
            followed: now.metadata.followed,
            signing: signing.as_ref(),
            ..self.following
        };
        // Under the name of the new base, before the base has its own name: with that rename both
        // appear at once. After a crash before it, nobody reads this delta, and the next merge
        // removes it.
        write(self.file, &following, &left, run)?;
        Ok(log)
    }
}

/// Prepares the next version; `None` if the delta can go without one.
fn prepare(
    options: &MergeOptions,
    base: &Snapshot,
    merged: &Delta,
    changes: &DeltaChanges,
    run: &mut Run<'_>,
) -> Result<(ChangeCounts, Option<Next>)> {
    let (counts, next) = apply(options, base, changes, run)?;

    // Clients have seen the sequence of a signed delta, and the delta of a followed source says how
    // far it has been followed: both must pass to another version before the delta can go.
    let needed = merged.metadata.followed.is_some() || merged.log.is_some();
    if next.is_none() && needed {
        let next = same(&options.rates, base, run)?;
        return Ok((counts, Some(next)));
    }
    Ok((counts, next))
}

/// Prepares the base with the changes of its delta; `None` if it has them already.
fn apply(
    options: &MergeOptions,
    base: &Snapshot,
    changes: &DeltaChanges,
    run: &mut Run<'_>,
) -> Result<(ChangeCounts, Option<Next>)> {
    let MergeOptions { file, rates, .. } = options;

    match &base.keyword {
        Some(layout) => {
            let ids = keyed::owner_keys(file, base)?;
            let resolved = Changes::of_delta(&ids, changes.clone())
                .map_err(|error| keyed::explained(file, error))?;

            let counts = resolved.counts();
            let keys = OwnerKeys { layout, ids: &ids };
            let next = keyed::apply(rates, base, keys, &resolved, run)?;
            Ok((counts, next))
        }
        None => {
            // Whole records in ascending order, one change each, as the update needs them.
            let records = changes.records();
            let resolved: Vec<Change> = records
                .map(|(index, record)| Change {
                    index,
                    record: record.to_vec(),
                })
                .collect();

            let counts = indexed::counts(&base.shape()?, &resolved);
            let next = indexed::apply(rates, base, &resolved, counts.inserted, run)?;
            Ok((counts, next))
        }
    }
}

/// Prepares the base's own records as the next version.
fn same(rates: &Rates, base: &Snapshot, run: &mut Run<'_>) -> Result<Next> {
    let (server, commitment, way) = apply_changes(base, &[], rates, run)?;
    Ok(Next {
        server,
        commitment,
        keyword: keys(base)?,
        way,
    })
}

/// Removes a delta whose changes its base has already, unless there is a newer one.
fn remove_idle(file: &Path, delta: &Delta) -> Result<()> {
    // Locked before it is read: a newer delta must not be removed.
    let _deltas = lock_deltas(file)?;
    let now = Delta::of(file, delta.base, &OpenOptions::default())?;
    let same = now.is_some_and(|now| now.server.version() == delta.server.version());
    if same {
        delta::remove(file, delta.base)
    } else {
        Ok(())
    }
}
