//! Updates of a database with keys.

use std::path::Path;

use papir_core::cost::Rates;
use papir_core::{Error as CoreError, PreparedRecords, Progress, Run};
use papir_lookup::update::{
    ChangeCounts, Changes, KeyChange, OwnedTable, Patch, Patched, RebuildReason, patch, rebuild,
};
use papir_lookup::{
    KeyIds, KeywordLayout, KeywordTable, MAX_VALUE_BYTES, OnDuplicate, TableOptions,
};

use super::options::{FEW_KEYS, REBUILD_ROOM, REBUILD_ROOM_OF_FEW, UpdateOptions};
use super::prepare::{Next, NextKeys, apply_changes, set_up};
use super::report::Way;
use crate::error::{Error, Result};
use crate::snapshot::{KeywordSummary, Snapshot};
use crate::source::{ChangeRow, RowOfFile};

/// The layout of a table and the ids of its keys, which the owner has.
#[derive(Clone, Copy)]
pub(super) struct OwnerKeys<'a> {
    pub(super) layout: &'a KeywordLayout,
    pub(super) ids: &'a KeyIds,
}

/// Applies the changes. Returns the next version; `None` if nothing differs.
pub(super) fn update(
    options: &UpdateOptions,
    snapshot: &Snapshot,
    layout: &KeywordLayout,
    run: &mut Run<'_>,
) -> Result<(ChangeCounts, Option<Next>)> {
    // Before the changes are read: a file without ids cannot be updated, however small the change.
    let ids = owner_keys(&options.file, snapshot)?;
    let keys = OwnerKeys { layout, ids: &ids };
    let changes = read(options, snapshot, keys, run.progress)?;

    let next = if options.rebuild {
        Some(rebuild_keys(snapshot, keys, &changes, run)?)
    } else {
        apply(&options.rates, snapshot, keys, &changes, run)?
    };
    Ok((changes.counts(), next))
}

/// Applies changes to the table, in place if they fit. Returns the next version; `None` if nothing
/// differs.
pub(super) fn apply(
    rates: &Rates,
    snapshot: &Snapshot,
    keys: OwnerKeys<'_>,
    changes: &Changes,
    run: &mut Run<'_>,
) -> Result<Option<Next>> {
    with_table(snapshot, keys, |table| {
        // In place if the changed buckets have room: only their records are prepared again.
        match patch(table, changes, run.progress)? {
            Patched::Patch(patch) => apply_patch(rates, snapshot, patch, run),
            Patched::Rebuild(reason) => {
                rebuild_table(snapshot, table, changes, Some(reason), run).map(Some)
            }
        }
    })
}

/// Applies changes and arranges all keys again, as the caller asks for.
fn rebuild_keys(
    snapshot: &Snapshot,
    keys: OwnerKeys<'_>,
    changes: &Changes,
    run: &mut Run<'_>,
) -> Result<Next> {
    with_table(snapshot, keys, |table| {
        rebuild_table(snapshot, table, changes, None, run)
    })
}

/// Passes the snapshot's table to `work`, with its buckets read back from the prepared database.
fn with_table<T>(
    snapshot: &Snapshot,
    keys: OwnerKeys<'_>,
    work: impl FnOnce(OwnedTable<'_>) -> Result<T>,
) -> Result<T> {
    let prepared = PreparedRecords::new(snapshot.server.as_ref());
    let records = snapshot.records(&prepared)?;
    work(OwnedTable {
        layout: keys.layout,
        ids: keys.ids,
        records: records.as_ref(),
    })
}

/// The ids of the keys. Every update needs them.
pub(super) fn owner_keys(file: &Path, snapshot: &Snapshot) -> Result<KeyIds> {
    let ids = snapshot.owner_keys().map_err(|error| match error {
        error @ CoreError::OwnerKey { .. } => Error::Core(error),
        error => Error::of_snapshot(file)(error),
    })?;
    ids.ok_or_else(|| {
        Error::options(
            format!("{} without the ids of its keys", file.display()),
            "a file with them: build it again from its source",
        )
    })
}

/// Reads the changes, and finds the ids of their keys.
fn read(
    options: &UpdateOptions,
    snapshot: &Snapshot,
    keys: OwnerKeys<'_>,
    progress: &dyn Progress,
) -> Result<Changes> {
    let format = options.changes_format()?;
    let columns = options.columns(format, &snapshot.metadata, MAX_VALUE_BYTES as u64)?;
    let rows = options.read_rows(format, &columns, progress)?;
    // Keys become ids here, which decide between an insertion and a replacement.
    let changes = rows
        .into_iter()
        .map(|ChangeRow { key, value, line }| KeyChange {
            key,
            value,
            line: RowOfFile::of_number(line).row,
        });

    Changes::new(keys.layout, keys.ids, changes.collect())
        .map_err(|error| explained(&options.changes, error))
}

/// The error of changes from a file.
pub(super) fn explained(file: &Path, error: papir_lookup::Error) -> Error {
    match error {
        papir_lookup::Error::Core(CoreError::EmptyDatabase) => Error::options(
            "changes that delete every key",
            "at least one key that stays",
        ),
        other => Error::of_source(file)(other),
    }
}

/// The database with a few changed buckets; `None` if none differs.
fn apply_patch(
    rates: &Rates,
    snapshot: &Snapshot,
    patch: Patch,
    run: &mut Run<'_>,
) -> Result<Option<Next>> {
    if patch.changes.is_empty() {
        return Ok(None);
    }
    let (server, commitment, way) = apply_changes(snapshot, &patch.changes, rates, run)?;

    // The patch knows what changed: the rest of the report is that of the table before.
    let before = summary(snapshot)?;
    let report = patch.report(before.tagged_bytes, before.entries);

    let keys = NextKeys {
        layout: patch.layout,
        ids: patch.ids,
        summary: KeywordSummary {
            // Keys are not stored, so their bytes are known after a build only.
            key_bytes: None,
            ..KeywordSummary::new(&report, before.bucket.into())
        },
    };
    Ok(Some(Next {
        server,
        commitment,
        keyword: Some(keys),
        way,
    }))
}

/// The database with all keys arranged again.
fn rebuild_table(
    snapshot: &Snapshot,
    table: OwnedTable<'_>,
    changes: &Changes,
    reason: Option<RebuildReason>,
    run: &mut Run<'_>,
) -> Result<Next> {
    let bucket = summary(snapshot)?.bucket.into();
    // Room from the start: a table that is full again at once would be built again at every update.
    let few = table.ids.len() as u64 / table.layout.records() < FEW_KEYS;
    let room = if few {
        REBUILD_ROOM_OF_FEW
    } else {
        REBUILD_ROOM
    };
    let options = TableOptions {
        bucket,
        on_duplicate: OnDuplicate::default(),
        room,
    };

    let KeywordTable {
        layout,
        records,
        ids,
        report,
    } = rebuild(table, changes, &options, run.rng, run.progress)?;
    let (server, commitment) = set_up(snapshot, &records, run)?;

    let way = Way::Rebuilt {
        reason,
        before: table.layout.records(),
        records: layout.records(),
        room,
    };
    let keys = NextKeys {
        layout,
        ids,
        summary: KeywordSummary::new(&report, bucket),
    };
    Ok(Next {
        server,
        commitment,
        keyword: Some(keys),
        way,
    })
}

/// The summary of the keyword table in the snapshot's metadata.
fn summary(snapshot: &Snapshot) -> Result<&KeywordSummary> {
    let summary = snapshot.metadata.keyword.as_ref();
    summary.ok_or_else(|| {
        let expected = "a keyword table, as in the layout";
        CoreError::malformed("section `metadata`", "no keyword table", expected).into()
    })
}
