//! Plans of databases that change often.
//!
//! Changes go to a delta beside the database, which is merged into it when it is full.

use papir_core::cost::Rates;
use papir_core::{Goal, Result as CoreResult, Shape, Target};
use papir_lookup::delta::{CHANGE_BYTES, MAX_DELTA_BYTES, MAX_DELTA_VALUE_BYTES, SCHEME};
use papir_lookup::{BucketTarget, Estimate, Lengths, MAX_VALUE_BYTES};
use papir_schemes::registry;
use serde::Serialize;

use crate::demand::Demand;
use crate::error::of_core;
use crate::offer::Offer;
use crate::planner::RankedOffers;
use crate::units;

/// Lengths of deltas that are compared, in bytes of changes; the last one is the default maximum.
const LENGTHS: [u64; 4] = [64 << 10, 256 << 10, 1 << 20, MAX_DELTA_BYTES];
/// Largest fraction of the time that merges should take.
const MOST_MERGING: f64 = 0.1;

/// A delta that is merged once it has a certain length. All costs are the costs of the full delta.
#[derive(Clone, Debug, Serialize)]
pub struct DeltaOffer {
    /// Maximum bytes of the delta's changes: `papir update --delta-bytes`.
    pub delta_bytes: u64,
    /// Number of changes that fit in the delta.
    pub changes: u64,
    /// Seconds to prepare the delta, which publishes a version.
    pub publish_s: f64,
    /// Seconds from one merge to the next.
    pub between_merges_s: f64,
    /// Fraction of the time that merges take; above 1, changes arrive faster than they can be
    /// merged.
    pub merging: f64,
    /// Bytes that the delta adds to a query.
    pub upload_bytes: u64,
    /// Bytes that the delta adds to an answer.
    pub download_bytes: u64,
    /// Seconds that the delta adds to an answer.
    pub answer_s: f64,
}

/// The plan of a database that changes often.
#[derive(Clone, Debug, Serialize)]
pub struct ChangesPlan {
    /// Number of changes per hour, of different keys.
    pub changes_per_hour: u64,
    /// The best offer whose database can have a delta.
    pub base: Offer,
    /// The compared deltas, from short to long.
    pub deltas: Vec<DeltaOffer>,
    /// Index of the recommended delta: the shortest whose merges take at most a tenth of the time,
    /// or the last.
    pub recommended: usize,
}

/// Plans changes of values of `value_bytes` bytes on average. `None` if no offer's database can
/// have a delta, or if such values are longer than those of deltas.
///
/// # Errors
/// Errors of the scheme of deltas.
pub fn plan(
    choice: &RankedOffers,
    demand: &Demand,
    rates: &Rates,
    changes_per_hour: u64,
    value_bytes: u64,
) -> CoreResult<Option<ChangesPlan>> {
    let Some(base) = choice.offers().find(|offer| offer.takes_delta) else {
        return Ok(None);
    };
    if value_bytes > MAX_DELTA_VALUE_BYTES as u64 {
        return Ok(None);
    }

    let mut deltas = Vec::with_capacity(LENGTHS.len());
    for delta_bytes in LENGTHS {
        let changes = delta_bytes / (value_bytes + CHANGE_BYTES);
        // One value would exceed this delta, which then refuses every change.
        if changes == 0 {
            continue;
        }

        let delta = delta_of(changes, value_bytes, demand, rates)?;
        let between_merges_s = changes as f64 * 3600.0 / changes_per_hour as f64;
        deltas.push(DeltaOffer {
            delta_bytes,
            changes,
            publish_s: delta.setup_s,
            between_merges_s,
            merging: base.setup_s / between_merges_s,
            upload_bytes: delta.upload_bytes,
            download_bytes: delta.download_bytes,
            answer_s: delta.answer_s,
        });
    }

    // The shortest delta that is cheap to merge: a longer one makes every lookup dearer.
    let last = deltas.len() - 1;
    let recommended = deltas
        .iter()
        .position(|delta| delta.merging <= MOST_MERGING)
        .unwrap_or(last);

    Ok(Some(ChangesPlan {
        changes_per_hour,
        base: base.clone(),
        deltas,
        recommended,
    }))
}

/// The costs of a delta with `changes` changes.
fn delta_of(changes: u64, value_bytes: u64, demand: &Demand, rates: &Rates) -> CoreResult<Offer> {
    // A new value is one byte longer than the value: its first byte tells it from a deletion. The
    // longest values are estimated without it.
    let length = usize::try_from(value_bytes + 1).unwrap_or(usize::MAX);
    let lengths = Lengths::equal(changes, length.min(MAX_VALUE_BYTES));
    let table = Estimate::of(&lengths, BucketTarget::default()).map_err(of_core)?;
    let shape = Shape::of_bytes(table.records, table.record_bytes)?;

    let target = Target {
        goal: Goal::default(),
        failure: demand.failure,
    };
    let candidate = registry::by_name(SCHEME)?.candidate_for(shape, target)?;

    let demand = Demand {
        shape,
        lengths: None,
        bucket_bytes: None,
        compressed_bytes: None,
        ..*demand
    };
    Ok(Offer::of(candidate, &demand, rates))
}

impl ChangesPlan {
    /// The recommended delta and its cost, in a sentence.
    pub fn reason(&self) -> String {
        let delta = &self.deltas[self.recommended];
        let base = &self.base;
        let bytes = units::bytes(delta.delta_bytes);
        let setup = units::seconds(base.setup_s);
        let merges = units::duration(delta.between_merges_s);
        let name = base.name();

        if delta.merging > 1.0 {
            return format!(
                "{name}: a delta of {bytes} is full every {merges}, before a merge of {setup} ends. Changes would \
                 wait: split the database, or give --delta-bytes a larger delta."
            );
        }
        let slower = (base.answer_s + delta.answer_s) / base.answer_s.max(f64::MIN_POSITIVE);
        format!(
            "{name}, with deltas of at most {bytes}: a merge of {setup} every {merges} ({:.0} % of the time); a \
             lookup has {} more on the wire, and its answer takes {slower:.2} times as long with a full delta.",
            100.0 * delta.merging,
            units::bytes(delta.upload_bytes + delta.download_bytes),
        )
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::planner::choose;

    /// A machine on which every operation takes a nanosecond.
    fn rates() -> Rates {
        Rates::new(2, |_| 1e-9, |_| 1e-9).unwrap()
    }

    fn planned(changes_per_hour: u64) -> ChangesPlan {
        let demand = Demand::new(Shape::of_bytes(1 << 20, 64).unwrap(), &rates());
        let choice = choose(&demand, &rates()).unwrap();
        plan(&choice, &demand, &rates(), changes_per_hour, 64)
            .unwrap()
            .unwrap()
    }

    #[test]
    fn longer_deltas_are_merged_less_often_and_cost_more() {
        let plan = planned(100_000);
        assert_eq!(
            plan.deltas
                .iter()
                .map(|delta| delta.delta_bytes)
                .collect::<Vec<_>>(),
            LENGTHS
        );
        for pair in plan.deltas.windows(2) {
            assert!(pair[1].changes > pair[0].changes && pair[1].merging < pair[0].merging);
            assert!(pair[1].answer_s >= pair[0].answer_s && pair[1].publish_s >= pair[0].publish_s);
        }

        let first = &plan.deltas[0];
        assert_eq!(first.changes, (64 << 10) / 76);
        let full_s = first.changes as f64 * 3600.0 / 100_000.0;
        assert!((first.between_merges_s - full_s).abs() < 1e-9);
        assert!((first.merging - plan.base.setup_s / full_s).abs() < 1e-9);
    }

    #[test]
    fn deltas_that_hold_no_change_are_left_out() {
        let demand = Demand::new(Shape::of_bytes(1 << 10, 1 << 18).unwrap(), &rates());
        let choice = choose(&demand, &rates()).unwrap();
        let planned = |value_bytes| plan(&choice, &demand, &rates(), 1, value_bytes).unwrap();

        let longest = planned(1 << 18).unwrap();
        let found: Vec<_> = longest
            .deltas
            .iter()
            .map(|delta| (delta.delta_bytes, delta.changes))
            .collect();
        assert_eq!(found, [(1 << 20, 3), (4 << 20, 15)]);
        assert!(planned((1 << 18) + 1).is_none());
    }

    #[test]
    fn the_shortest_delta_whose_merges_take_a_tenth_of_the_time_is_recommended() {
        let few = planned(1);
        assert_eq!(few.recommended, 0);
        assert!(
            few.reason().contains("at most 64.0 KiB"),
            "{}",
            few.reason()
        );

        let setup_s = few.base.setup_s;
        // As many as make the third length's merges take just below a tenth.
        let per_hour = MOST_MERGING * few.deltas[2].changes as f64 * 3600.0 / setup_s;
        assert_eq!(planned(per_hour as u64).recommended, 2);
        assert_eq!(planned((1.1 * per_hour) as u64).recommended, 3);

        let too_many = planned((few.deltas[3].changes as f64 * 4000.0 / setup_s) as u64);
        assert!(
            too_many.reason().contains("before a merge"),
            "{}",
            too_many.reason()
        );
    }
}
