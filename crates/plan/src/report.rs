//! A plan as JSON.

use serde_json::{Value, json};

use crate::changes::ChangesPlan;
use crate::database::Database;
use crate::demand::Demand;
use crate::planner::Choice;
use crate::shards::ShardsPlan;

/// The plan as one JSON object; `rates` names their origin.
pub fn as_json(
    database: &Database,
    demand: &Demand,
    rates: &str,
    choice: &Choice,
    (changes, divided): (Option<&ChangesPlan>, Option<&ShardsPlan>),
) -> Value {
    json!({
        "records": demand.shape.records(),
        "record_bits": demand.shape.record_bits(),
        "keyed": database.keys.is_some(),
        "keys": database.keys,
        "batch": demand.batch,
        "uplink_bits": demand.connection.0,
        "downlink_bits": demand.connection.1,
        "threads": demand.threads,
        "lookups": demand.lookups,
        "memory": demand.memory,
        "failure": demand.failure.to_string(),
        "rates": rates,
        "offers": choice.offers().collect::<Vec<_>>(),
        "left_out": choice.left_out,
        "recommended": choice.best.scheme,
        "reason": choice.reason(),
        "changes": changes,
        "divided": divided,
        "group": choice.best.group,
        "cores": demand.load.map(|load| choice.best.cores(load)),
        "receives_bits": demand.load.map(|load| choice.best.bandwidth(load).0),
        "sends_bits": demand.load.map(|load| choice.best.bandwidth(load).1),
    })
}
