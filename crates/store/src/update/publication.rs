//! Publication of the next version of a snapshot.

use std::path::Path;
use std::time::SystemTime;

use papir_checkpoint::Log;
use papir_core::{Run, Version};
use papir_lookup::prefilter;
use papir_lookup::update::ChangeCounts;

use super::options::UpdateOptions;
use super::prepare::{Next, NextKeys};
use super::report::UpdateReport;
use crate::delta::lock_deltas;
use crate::error::Result;
use crate::publish::{Keyword, PrefilterContents, Readers, SnapshotContents, SnapshotFile, save};
use crate::snapshot::{KeywordSummary, Metadata, Signed, newest_leaf, timestamp};
use crate::versions;

/// The version that the next one continues.
pub(super) struct Former<'a> {
    /// The metadata to continue.
    pub(super) metadata: &'a Metadata,
    /// The version of the file at the start.
    pub(super) version: Version,
}

/// A prepared version that is to be published.
pub(super) struct Publication<'a> {
    pub(super) options: &'a UpdateOptions,
    pub(super) former: Former<'a>,
    pub(super) counts: ChangeCounts,
    pub(super) next: Next,
}

impl Publication<'_> {
    /// Writes the next version. `seal` runs just before the file appears, and signs the version. In
    /// place, no other program publishes then, and `seal` refuses the version if one has published
    /// meanwhile.
    pub(super) fn run<S>(self, seal: S, run: &mut Run<'_>) -> Result<UpdateReport>
    where
        S: FnOnce(&Signed<'_>, &mut SnapshotFile, &mut Run<'_>) -> Result<Option<Log>>,
    {
        let metadata = self.metadata();

        // Sealed for the owner of an encrypted database: a server must not see the ids.
        let owner = self.options.encrypt.as_ref();
        let owned = match &self.next.keyword {
            Some(NextKeys { layout, ids, .. }) => Some(Keyword::new(owner, layout, ids, run.rng)?),
            None => None,
        };

        // Of all keys after the update, so that removed ones are gone.
        let filter = match (metadata.prefilter, &self.next.keyword) {
            (Some(bits), Some(keys)) => Some(prefilter::of_ids(bits, &keys.ids)?),
            _ => None,
        };
        let prefilter = match &filter {
            Some(filter) => Some(PrefilterContents::new(filter)?),
            None => None,
        };

        let prepared = SnapshotContents {
            metadata: &metadata,
            keyword: owned,
            prefilter,
            commitment: self.next.commitment.as_ref(),
            server: self.next.server.as_ref(),
        };
        let (snapshot_bytes, log) = self.write(&prepared, seal, run)?;

        Ok(UpdateReport {
            description: self.next.server.describe(),
            counts: self.counts,
            way: self.next.way,
            snapshot_bytes,
            checkpoint: newest_leaf(log.as_ref()),
            metadata,
        })
    }

    /// Writes the file. In place, keeps the replaced version, and removes old versions and deltas.
    /// Returns the snapshot's length in bytes, and the log of a signed one.
    fn write<S>(
        &self,
        prepared: &SnapshotContents<'_>,
        seal: S,
        run: &mut Run<'_>,
    ) -> Result<(u64, Option<Log>)>
    where
        S: FnOnce(&Signed<'_>, &mut SnapshotFile, &mut Run<'_>) -> Result<Option<Log>>,
    {
        let path = self.options.out.as_ref().unwrap_or(&self.options.file);
        let in_place = self.options.is_in_place();
        // Another file replaces no version of this one.
        let keep = self.options.keep.filter(|_| in_place);

        let nonce = run.rng.next_u64();
        let progress = run.progress;
        let mut deltas = None;
        let saved = save(
            path,
            self.readers(path),
            nonce,
            prepared,
            |version, sink| {
                // Locked only now that everything else is written: deltas are published during a
                // long update. Held until the old ones are removed, since a delta of the replaced
                // version that is published in between would be lost.
                if in_place {
                    deltas = lock_deltas(path)?;
                }

                let log = seal(version, sink, run)?;

                // Before the rename, which takes the replaced version's name. A crash in between
                // leaves two names of one version, and the list of versions skips the second.
                if keep.is_some() {
                    versions::keep(path, self.former.version)?;
                }
                Ok(log)
            },
            progress,
        )?;

        // After the rename: a crash before this step leaves a version too many, which the next
        // update removes, and never one too few.
        if let Some(most) = keep {
            versions::prune(path, most)?;
        }

        // After the versions, whose deltas stay as long as they do. Removes the delta of the
        // version before, unless it is kept, and deltas of merges that were killed before their
        // last step.
        if in_place {
            versions::remove_stray_deltas(path, prepared.server.version())?;
        }

        drop(deltas);
        Ok(saved)
    }

    /// The readers of the file. A new one beside the old one has all records of the old one.
    fn readers(&self, path: &Path) -> Readers<'_> {
        if path.exists() {
            Readers::Kept
        } else {
            Readers::Of(&self.options.file)
        }
    }

    /// The metadata after the update.
    fn metadata(&self) -> Metadata {
        let Next {
            server,
            commitment,
            keyword,
            ..
        } = &self.next;
        let shape = server.describe().shape;

        let layout = keyword.as_ref().map(|keys| &keys.layout);
        let root = commitment
            .as_ref()
            .map(|commitment| commitment.root(layout).to_string());

        // The lengths of keys would reveal something about encrypted records.
        let summary = keyword.as_ref().map(|keys| keys.summary.clone());
        let keyword = if self.options.encrypt.is_some() {
            summary.map(KeywordSummary::concealed)
        } else {
            summary
        };

        Metadata {
            papir: env!("CARGO_PKG_VERSION").to_owned(),
            version: server.version().to_string(),
            records: shape.records(),
            record_bits: shape.record_bits(),
            root,
            keyword,
            updated: Some(timestamp(SystemTime::now())),
            updates: self.former.metadata.updates + 1,
            ..self.former.metadata.clone()
        }
    }
}
