//! Merges a delta into its base.

use std::path::{Path, PathBuf};

use papir_core::cost::Rates;
use papir_core::{Change, Progress};
use papir_lookup::delta::DeltaChanges;
use papir_lookup::update::{ChangeCounts, Changes};
use rand_core::CryptoRng;

use super::draft::base_of;
use super::options::UpdateOptions;
use super::prepare::{Next, apply_changes};
use super::report::UpdateReport;
use super::rollback::keys;
use super::{indexed, keyed, publish, unchanged};
use crate::delta::{self, Base, Delta, lock_deltas, write};
use crate::error::Result;
use crate::meanwhile::refuse_published;
use crate::metadata::Metadata;
use crate::publish::lock;
use crate::save::{self, SnapshotFile};
use crate::signing::{Sign, Signed, Signing};
use crate::snapshot::{OpenOptions, Snapshot};
use crate::stored_log::{log_to_continue, stored_log};

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

/// Merges the delta of a snapshot into the next version of it. Deltas that are published meanwhile are
/// not lost: their further changes become the delta of the new version, and both appear together.
///
/// # Errors
/// The errors of [`super::update()`].
pub fn merge(
    options: &MergeOptions,
    rng: &mut dyn CryptoRng,
    progress: &dyn Progress,
) -> Result<UpdateReport> {
    let MergeOptions {
        file,
        keep,
        rates,
        sign,
    } = options;
    let _lock = lock(file)?;
    // Before anything that takes long: a signed file needs a key.
    let log = log_to_continue(stored_log(file)?, file, sign.as_ref(), false)?;
    progress.stage("opening", 1);
    let base = Snapshot::open_with(file, OpenOptions::default())?;
    progress.advance(1);
    let version = base.server.version();
    let Some(merged) = Delta::of(file, version, &OpenOptions::default())? else {
        return Ok(unchanged(base, Default::default()));
    };
    let changes = merged.changes()?;
    let (counts, next) = apply(options, &base, &changes, rng, progress)?;
    // Clients have seen the sequence of a signed delta, and that of a followed source says how far it has been
    // followed: both must pass to another version before the delta can go.
    let needed = merged.metadata.followed.is_some() || merged.log.is_some();
    let next = match next {
        None if needed => same(rates, &base, rng, progress)?,
        None => {
            remove_idle(file, &merged)?;
            return Ok(unchanged(base, counts));
        }
        Some(next) => next,
    };
    let description = next.server.describe();
    let layout = next.keyword.as_ref().map(|keys| keys.layout.clone());
    let following = Base {
        version: next.server.version(),
        layout: layout.as_ref(),
        ..base_of(&base, &description, None)
    };
    let name = &base.metadata.name;
    sign.as_ref()
        .map(|sign| Signing::new(sign, log, name, file))
        .transpose()?;
    let seal = |next: &Signed<'_>, sink: &mut SnapshotFile, rng: &mut dyn CryptoRng| {
        // Nobody publishes a delta now, so that the log has no further leaf.
        refuse_published(file, &version, &Snapshot::version_in(file)?)?;
        let log = stored_log(file)?;
        let signing = sign
            .as_ref()
            .map(|sign| Signing::new(sign, log, name, file))
            .transpose()?;
        let log = save::sign(signing.as_ref(), next, sink)?;
        let Some(now) = Delta::of(file, version, &OpenOptions::default())? else {
            return Ok(log);
        };
        let all = now.changes()?;
        let mut left = all.since(&changes);
        // The next version must state the newest place in the source, even if nothing changed up to it.
        if left.is_empty() && now.metadata.followed != merged.metadata.followed {
            left = all;
        }
        if !left.is_empty() {
            let records = now.metadata.records;
            let followed = now.metadata.followed;
            let signing = sign
                .as_ref()
                .map(|sign| Signing::new(sign, log.clone(), name, file))
                .transpose()?;
            let following = Base {
                records,
                followed,
                signing: signing.as_ref(),
                ..following
            };
            write(file, &following, &left, rng, progress)?;
        }
        Ok(log)
    };
    let update = UpdateOptions {
        keep: *keep,
        rates: rates.clone(),
        ..UpdateOptions::new(file, file)
    };
    let followed = merged
        .metadata
        .followed
        .clone()
        .or(base.metadata.followed.clone());
    let former = Metadata {
        followed,
        ..base.metadata.clone()
    };
    publish(
        &update,
        (&former, version),
        counts,
        next,
        (rng, progress),
        seal,
    )
}

/// Prepares the base with the changes of its delta; `None` if it has them already.
fn apply(
    options: &MergeOptions,
    base: &Snapshot,
    changes: &DeltaChanges,
    rng: &mut dyn CryptoRng,
    progress: &dyn Progress,
) -> Result<(ChangeCounts, Option<Next>)> {
    let MergeOptions { file, rates, .. } = options;
    match &base.keyword {
        Some(layout) => {
            let ids = keyed::owner_keys(file, base)?;
            let resolved = Changes::of_delta(&ids, changes.clone())
                .map_err(|error| keyed::explained(file, error))?;
            Ok((
                resolved.counts(),
                keyed::apply(rates, base, (layout, &ids), &resolved, rng, progress)?,
            ))
        }
        None => {
            let change = |(index, record): (u64, &[u8])| Change {
                index,
                record: record.to_vec(),
            };
            let resolved: Vec<Change> = changes.records().map(change).collect();
            let counts = indexed::counts(&base.shape()?, &resolved);
            Ok((
                counts,
                indexed::apply(rates, base, &resolved, counts.inserted, rng, progress)?,
            ))
        }
    }
}

/// Prepares the base's own records as the next version.
fn same(
    rates: &Rates,
    base: &Snapshot,
    rng: &mut dyn CryptoRng,
    progress: &dyn Progress,
) -> Result<Next> {
    let (server, commitment, way) = apply_changes(base, &[], rates, rng, progress)?;
    Ok(Next {
        server,
        commitment,
        keyword: keys(base)?,
        way,
    })
}

/// Removes a delta whose changes its base has already, unless there is a newer one.
fn remove_idle(file: &Path, delta: &Delta) -> Result<()> {
    let _deltas = lock_deltas(file)?;
    let now = Delta::of(file, delta.base, &OpenOptions::default())?;
    let same = now.is_some_and(|now| now.server.version() == delta.server.version());
    if same {
        delta::remove(file, delta.base)
    } else {
        Ok(())
    }
}
