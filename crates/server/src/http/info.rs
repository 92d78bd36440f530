//! JSON descriptions of databases.

use papir_core::{Privacy, Security};
use papir_protocol::{
    CheckpointInfo, DatabaseDetail, DatabaseInfo, DeltaInfo, Memory, PrefilterInfo,
    PreviousVersion, SizesInfo,
};
use papir_store::StoredPrefilter;

use crate::catalog::{Database, MemoryUse, ServedDelta, VersionView};

/// Describes the version at a position of `versions`, newest first, and lists the old ones; `None`
/// if no version is at this position.
pub(super) fn detail(versions: &[VersionView], position: usize) -> Option<DatabaseDetail> {
    let described = versions.get(position)?;
    let MemoryUse {
        versions: count,
        snapshot,
        encoded,
        material,
        hint,
    } = MemoryUse::of(versions);

    Some(DatabaseDetail {
        info: info(&described.database),
        previous_versions: versions.iter().filter_map(previous).collect(),
        memory: Memory {
            versions: count,
            snapshot,
            encoded,
            material,
            hint,
        },
    })
}

/// Describes an old version; `None` for the newest.
fn previous(view: &VersionView) -> Option<PreviousVersion> {
    let left = view.left?;
    Some(PreviousVersion {
        version: view.database.version().to_string(),
        seconds_left: left.as_secs(),
    })
}

/// Describes one version of a database.
pub(super) fn info(database: &Database) -> DatabaseInfo {
    let description = database.description();
    let parameters = description.parameters.iter();
    let security = weaker(database);

    DatabaseInfo {
        name: database.name().to_owned(),
        scheme: description.scheme.to_owned(),
        version: database.base_version().to_string(),
        records: description.shape.records(),
        record_bits: description.shape.record_bits(),
        keyed: database.lookups_per_key().is_some(),
        lookups_per_key: database.lookups_per_key(),
        max_batch: database.max_batch(),
        private: description.privacy == Privacy::Private,
        sizes: sizes(database),
        security_bits: security.map(|security| security.bits),
        security_source: security.map(|security| security.source.to_owned()),
        // JSON has no infinity. An infinite value means that an answer always decodes.
        failure_log2: Some(failure_log2(database)).filter(|log2| log2.is_finite()),
        parameters: parameters
            .map(|(name, value)| ((*name).to_owned(), value.clone()))
            .collect(),
        checkpoint: database.checkpoint().map(|checkpoint| CheckpointInfo {
            sequence: checkpoint.sequence,
            time: checkpoint.time,
        }),
        delta: database.delta().map(delta),
        short_messages: database.takes_short_messages(),
        prefilter: database.prefilter().map(prefilter),
    }
}

/// Describes the filter of a version's keys.
fn prefilter(filter: &StoredPrefilter) -> PrefilterInfo {
    let summary = &filter.summary;
    PrefilterInfo {
        bits: summary.bits,
        bytes: summary.bytes,
        blake3: blake3::Hash::from_bytes(summary.hash).to_string(),
    }
}

/// Sizes of a version, in bytes.
fn sizes(database: &Database) -> SizesInfo {
    let sizes = &database.description().sizes;
    SizesInfo {
        bundle: database.public_part_bytes(),
        public: sizes.public,
        hint: sizes.hint,
        keys: sizes.keys,
        query: sizes.query,
        answer: sizes.answer,
        database: sizes.database,
        material: sizes.material,
    }
}

/// The security of the scheme or, if it is less, of the delta's.
fn weaker(database: &Database) -> Option<&Security> {
    let of_base = database.description().security.as_ref()?;
    let of_delta = database
        .delta()
        .and_then(|delta| delta.description.security.as_ref());

    match of_delta {
        Some(of_delta) if of_delta.bits < of_base.bits => Some(of_delta),
        _ => Some(of_base),
    }
}

/// log₂ of the probability that a lookup fails to decode, in the snapshot or in the delta.
fn failure_log2(database: &Database) -> f64 {
    let of_base = database
        .description()
        .lookup_failure_log2(database.lookups_per_key().unwrap_or(1));
    let of_delta = database.delta().map(|delta| {
        delta
            .description
            .lookup_failure_log2(delta.queries_per_lookup)
    });

    of_delta.map_or(of_base, |of_delta| {
        (of_base.exp2() + of_delta.exp2()).log2()
    })
}

/// Describes the delta of a version.
fn delta(delta: &ServedDelta) -> DeltaInfo {
    let sizes = &delta.description.sizes;
    DeltaInfo {
        version: delta.version.to_string(),
        scheme: delta.description.scheme.to_owned(),
        entries: delta.entries,
        records: delta.records,
        public: delta.public_part.len() as u64,
        query: sizes.query,
        answer: sizes.answer,
        queries_per_lookup: delta.queries_per_lookup,
    }
}
