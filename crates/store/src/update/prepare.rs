//! Preparation of the changed records, by update or setup.

use std::thread::available_parallelism;

use papir_core::cost::Rates;
use papir_core::erased::{ErasedScheme, ErasedServer};
use papir_core::{
    Candidate, Change, Choice, Goal, NotPrivate, PreparedRecords, Records, Result as CoreResult,
    Run, Shape, Target,
};
use papir_lookup::{Commitment, KeyIds, KeywordLayout};
use papir_schemes::default_scheme::{
    ClientsMaySee, SchemeWish, parameters_for, shown_by_reference,
};
use papir_schemes::registry;

use super::overlay::Overlay;
use super::report::{Prediction, Way};
use crate::error::Result;
use crate::snapshot::{KeywordSummary, Snapshot, prove};

/// The database after an update.
pub(super) struct Next {
    pub(super) server: Box<dyn ErasedServer>,
    pub(super) commitment: Option<Commitment>,
    pub(super) keyword: Option<NextKeys>,
    pub(super) way: Way,
}

/// The keyword table after an update.
pub(super) struct NextKeys {
    pub(super) layout: KeywordLayout,
    pub(super) ids: KeyIds,
    pub(super) summary: KeywordSummary,
}

/// A prepared database, with its commitment if it is verifiable.
type WithCommitment = (Box<dyn ErasedServer>, Option<Commitment>);

/// Applies changes to the database, keeping its parameters. There is at most one change per record,
/// and they ascend. `rates` decide between the scheme's update and a setup.
pub(super) fn apply_changes(
    snapshot: &Snapshot,
    changes: &[Change],
    rates: &Rates,
    run: &mut Run<'_>,
) -> Result<(Box<dyn ErasedServer>, Option<Commitment>, Way)> {
    let server = snapshot.server.as_ref();
    let changed = changes.len() as u64;
    let records = server.describe().shape.records();
    if snapshot.commitment_top.is_some() {
        let (next, commitment) = set_up_changed(snapshot, changes, run)?;
        return Ok((next, commitment, Way::Proven { changed, records }));
    }

    // An update costs time for each change, and a setup the same for any number: beyond some share
    // the setup is faster.
    let predicted = predict(server, changes, rates)?;
    if predicted.favours_update() {
        let next = server.update(changes, run.rng, run.progress)?;
        let way = Way::Updated {
            changed,
            records,
            predicted,
        };
        return Ok((next, None, way));
    }

    let (next, commitment) = set_up_changed(snapshot, changes, run)?;
    let way = Way::SetUp {
        changed,
        records,
        predicted,
    };
    Ok((next, commitment, way))
}

/// Prepares all records, with the changes, under the same parameters.
pub(super) fn set_up_changed(
    snapshot: &Snapshot,
    changes: &[Change],
    run: &mut Run<'_>,
) -> Result<WithCommitment> {
    let below = PreparedRecords::new(snapshot.server.as_ref());
    let below = snapshot.records(&below)?;
    // Read back from the prepared database, part by part: the source may be gone.
    let all = Overlay::new(below.as_ref(), below.shape().records(), changes)?;
    let scheme = scheme_of(snapshot)?;
    let parameters = snapshot.parameters()?;

    prove(
        snapshot.commitment_top.is_some(),
        &all,
        run.progress,
        |records| Ok(scheme.setup_candidate(&parameters, records, run.rng, run.progress)?),
    )
}

/// The snapshot's scheme. If it is insecure, the build has already asked for permission.
fn scheme_of(snapshot: &Snapshot) -> Result<Box<dyn ErasedScheme>> {
    let scheme = registry::by_name(snapshot.server.describe().scheme)?;
    Ok(scheme
        .allow_insecure(NotPrivate::acknowledged())
        .with_owner_key(snapshot.owner.as_ref()))
}

/// Predicts the time of an update and of a setup on this machine.
fn predict(server: &dyn ErasedServer, changes: &[Change], rates: &Rates) -> Result<Prediction> {
    let estimate = server.update_cost(changes)?;
    let threads = available_parallelism().map_or(1, usize::from);
    let [update, setup] =
        [estimate.update, estimate.setup].map(|counts| counts.seconds(rates, threads));
    Ok(Prediction { update, setup })
}

/// Prepares other records with the same scheme, in the same order, with batches of the same size,
/// tables of the same kind and the same bound on failures. Parameters are chosen for the goal that
/// the snapshot was built for; the balanced goal if that is unknown.
pub(super) fn set_up(
    snapshot: &Snapshot,
    records: &dyn Records,
    run: &mut Run<'_>,
) -> Result<WithCommitment> {
    let scheme = scheme_of(snapshot)?;
    // Other records need other parameters. They are chosen as those of the build were, so that
    // queries cost about the same.
    let goal = match &snapshot.metadata.goal {
        Some(goal) => goal.parse::<Goal>()?,
        None => Goal::default(),
    };
    let description = snapshot.server.describe();
    let target = Target {
        goal,
        failure: description.failure_bound,
    };
    let allowed = snapshot.metadata.clients_may_see.as_deref();
    // Batches and tables are schemes of their own, whose parameters their own rules choose.
    let batches = registry::batches_named(scheme.name());
    let parameters = snapshot.parameters()?;
    let tables = registry::tables_of(scheme.name(), &parameters)?;
    let rows_first = registry::is_rows_first(scheme.name(), &parameters)?;

    prove(
        snapshot.commitment_top.is_some(),
        records,
        run.progress,
        |records| {
            let candidate = match (batches, tables) {
                (None, None) if rows_first => {
                    scheme.candidate(records.shape(), Choice::RowsFirst(target))?
                }
                (None, None) => candidate_within(&*scheme, records.shape(), target, allowed)?,
                (None, Some((tables, _))) => {
                    registry::with_tables(scheme.name(), records.shape(), tables, target.failure)?
                }
                (Some(batches), _) => {
                    batches.candidate(records.shape(), target, description.limits.batch)?
                }
            };
            Ok(scheme.setup_candidate(&candidate.parameters, records, run.rng, run.progress)?)
        },
    )
}

/// The parameters of a scheme for this shape: those that show a client no more than the owner
/// allowed when the scheme was chosen or, without such parameters or a choice, the best.
fn candidate_within(
    scheme: &dyn ErasedScheme,
    shape: Shape,
    target: Target,
    allowed: Option<&str>,
) -> CoreResult<Candidate> {
    // A later version of papir may have more values.
    let allowed: Option<ClientsMaySee> = allowed.and_then(|allowed| allowed.parse().ok());
    let Some(may_see) = allowed else {
        return scheme.candidate_for(shape, target);
    };

    let wish = SchemeWish {
        may_see,
        target,
        ..SchemeWish::default()
    };
    let most = shown_by_reference(shape.record_bytes() as u64);
    parameters_for(scheme, shape, &wish, most).or_else(|_| scheme.candidate_for(shape, target))
}
