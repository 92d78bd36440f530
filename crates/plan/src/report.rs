//! Plans of databases, also as JSON.

use papir_core::cost::Rates;
use papir_schemes::default_scheme::{ClientsMaySee, DefaultScheme};
use serde_json::{Value, json};

use crate::Result;
use crate::built::scheme_of_build;
use crate::changes::{self, ChangesPlan};
use crate::database::Database;
use crate::demand::Demand;
use crate::planner::{self, Offer, RankedOffers};
use crate::shards::{self, Machines, ShardsPlan};

/// The plan of a database: offers, deltas and shards.
pub struct Plan {
    /// The offers for the database.
    pub choice: RankedOffers,
    /// The deltas; `None` if no changes are planned, or no offer's database can have a delta.
    pub changes: Option<ChangesPlan>,
    /// The division among several machines; `None` if none is planned.
    pub divided: Option<ShardsPlan>,
    /// The scheme of a build that names none, and the reason; `None` for batches and several
    /// machines, which a build names.
    pub built: Option<DefaultScheme>,
}

impl Plan {
    /// Plans a database. `changes_per_hour` adds a plan of its changes, and `machines` its division
    /// among machines, each of which has the memory and threads of the demand.
    ///
    /// # Errors
    /// [`crate::Error::NothingFits`] with the reason of each scheme, and errors of the scheme of
    /// deltas.
    pub fn new(
        database: &Database,
        demand: &Demand,
        rates: &Rates,
        changes_per_hour: Option<u64>,
        machines: Option<Machines>,
    ) -> Result<Self> {
        // A machine has a part of the database, so its memory excludes no offer yet.
        let memory = demand.memory.filter(|_| machines.is_none());
        let choice = planner::choose(&Demand { memory, ..*demand }, rates)?;

        let changes = match changes_per_hour {
            Some(per_hour) => {
                changes::plan(&choice, demand, rates, per_hour, database.value_bytes)?
            }
            None => None,
        };
        let divided = match machines {
            Some(machines) => Some(shards::plan(&choice, demand, rates, machines)?),
            None => None,
        };

        let built = match (demand.batch, machines) {
            (None, None) => {
                let may_see = ClientsMaySee::default();
                Some(scheme_of_build(database, demand.failure, may_see)?)
            }
            _ => None,
        };

        Ok(Self {
            choice,
            changes,
            divided,
            built,
        })
    }

    /// The recommendation, and its reason, in a sentence.
    pub fn reason(&self) -> String {
        match &self.divided {
            Some(divided) => divided.reason(),
            None => self.choice.reason(),
        }
    }

    /// The recommended offer.
    pub fn recommended(&self) -> &Offer {
        match &self.divided {
            Some(divided) => &divided.single,
            None => &self.choice.best,
        }
    }

    /// The plan as a JSON object. `rates` is the origin of the rates.
    pub fn as_json(&self, database: &Database, demand: &Demand, rates: &str) -> Value {
        let Self {
            choice,
            changes,
            divided,
            built,
        } = self;
        let built_scheme = built.as_ref().map(|built| built.scheme.name());
        let built_reason = built.as_ref().map(|built| &built.reason);

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
            "recommended": self.recommended().scheme,
            "reason": self.reason(),
            "built": built_scheme,
            "built_reason": built_reason,
            "changes": changes,
            "divided": divided,
            "group": choice.best.group,
            "cores": demand.load.map(|load| choice.best.cores(load)),
            "receives_bits": demand.load.map(|load| choice.best.bandwidth(load).0),
            "sends_bits": demand.load.map(|load| choice.best.bandwidth(load).1),
        })
    }
}
