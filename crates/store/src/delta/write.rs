//! Prepares a delta and writes its file.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use papir_checkpoint::Leaf;
use papir_core::sections::SectionSink;
use papir_core::{Error as CoreError, FailureBound, Goal, Run, Target, Version};
use papir_lookup::delta::{DeltaChanges, DeltaPart, SCHEME, table};
use papir_lookup::prefilter::{self, Prefilter};
use papir_lookup::{Bundle, KeywordLayout};
use papir_schemes::registry;

use super::file::delta_file;
use super::metadata::DeltaMetadata;
use crate::error::Result;
use crate::file::{COMMITMENT, DELTA, DELTA_CHANGES, KEYWORD, PREFILTER};
use crate::publish::{Readers, SchemeSections, publish};
use crate::snapshot::{Followed, Signing, content_hash, newest_leaf, prove, timestamp};

/// The properties of the base that a delta contains.
pub(crate) struct DeltaBase<'a> {
    pub(crate) name: &'a str,
    pub(crate) version: Version,
    /// The layout of a base with keys.
    pub(crate) layout: Option<&'a KeywordLayout>,
    /// The bits of the base's filter of its keys.
    pub(crate) prefilter: Option<u8>,
    /// Number of records of base and delta together; `None` for a base with keys.
    pub(crate) records: Option<u64>,
    /// The bound on failures of the base, which is the delta's, too.
    pub(crate) failure: FailureBound,
    /// The place in a followed source up to which its changes are in.
    pub(crate) followed: Option<Followed>,
    /// The time of the first new change.
    pub(crate) arrived: Option<SystemTime>,
    /// Set if the base is verifiable: then the delta's records have proofs, too.
    pub(crate) verifiable: bool,
    /// Signs the delta of a signed base.
    pub(crate) signing: Option<&'a Signing<'a>>,
}

fn milliseconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_millis() as u64)
}

/// Prepares changes as the delta of a version of `file`, and replaces the delta before. Returns its
/// metadata, and the leaf of a signed one.
pub(crate) fn write(
    file: &Path,
    base: &DeltaBase<'_>,
    changes: &DeltaChanges,
    run: &mut Run<'_>,
) -> Result<(DeltaMetadata, Option<Leaf>)> {
    // The seeds of the table and of the scheme are drawn here, when the changes are fixed.
    let arranged = table(changes, base.layout, run.rng, run.progress)?;
    // One scheme for all deltas, whatever that of the base.
    let scheme = registry::by_name(SCHEME)?;
    let target = Target {
        goal: Goal::default(),
        failure: base.failure,
    };
    let (server, commitment) = prove(
        base.verifiable,
        &arranged.records,
        run.progress,
        |records| {
            let candidate = scheme.candidate_for(records.shape(), target)?;
            Ok(scheme.setup_candidate(&candidate.parameters, records, run.rng, run.progress)?)
        },
    )?;
    let prefilter = match base.prefilter {
        Some(bits) => Some(Prefilter::decode(prefilter::of_ids(bits, &arranged.ids)?)?),
        None => None,
    };
    let top = commitment.as_ref().map(|commitment| *commitment.top());

    let metadata = metadata_of(base, changes, server.version());
    let json = serde_json::to_vec_pretty(&metadata).map_err(|error| {
        CoreError::malformed("the metadata", error, "values that JSON can represent")
    })?;

    // Named after its base: the next base finds none until one is written for it.
    let path = delta_file(file, base.version)?;
    let mut log = None;
    publish(&path, run.rng.next_u64(), Readers::Of(file), |sink| {
        sink.put(DELTA, &[&json])?;
        sink.put(DELTA_CHANGES, &[&changes.encode()])?;
        sink.put(KEYWORD, &[&arranged.layout.encode()])?;
        if let Some(prefilter) = &prefilter {
            sink.put(PREFILTER, &[prefilter.as_bytes()])?;
        }
        if let Some(top) = top {
            sink.put(COMMITMENT, &[&top])?;
        }
        server.save(&mut SchemeSections {
            sink,
            progress: run.progress,
        })?;

        // Last of all sections: the leaf states the hash of those before it.
        let Some(signing) = base.signing else {
            return Ok(());
        };
        let part = DeltaPart {
            base: base.version,
            records: base.records,
            content: top.is_none().then(|| content_hash(sink.sections())),
            bundle: Bundle {
                scheme_public: server.public(),
                keyword: Some(arranged.layout.clone()),
                commitment_top: top,
                prefilter: None,
            },
            prefilter,
        };
        log = Some(signing.put_delta(&part.encode(), sink)?);
        Ok(())
    })?;
    Ok((metadata, newest_leaf(log.as_ref())))
}

/// The metadata of a delta with this version.
fn metadata_of(base: &DeltaBase<'_>, changes: &DeltaChanges, version: Version) -> DeltaMetadata {
    DeltaMetadata {
        name: base.name.to_owned(),
        base: base.version.to_string(),
        version: version.to_string(),
        created: timestamp(SystemTime::now()),
        papir: env!("CARGO_PKG_VERSION").to_owned(),
        scheme: SCHEME.to_owned(),
        entries: changes.len() as u64,
        records: base.records,
        followed: base.followed.clone(),
        arrived: base.arrived.map(milliseconds),
    }
}
