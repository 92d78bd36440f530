//! Plans of databases.

use std::path::PathBuf;

use papir_core::{Records, Shape};
use papir_plan::database::Database;
use papir_plan::planner::{self, Demand};
use papir_plan::report::as_json;
use papir_plan::shards::{self, Machines};
use papir_plan::{changes, rates_file};
use papir_schemes::download;
use papir_store::{BuildOptions, survey};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::errors::{of_core, of_plan, of_store};
use crate::progress::Reporter;
use crate::source::Source;
use crate::waiting::run;

/// The arguments of `pypapir.plan` besides the source, which has their defaults.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Requirements {
    records: Option<u64>,
    record_bytes: Option<u64>,
    keyed: bool,
    key: Option<String>,
    values: Vec<String>,
    uplink: f64,
    downlink: f64,
    memory: Option<u64>,
    failure_bits: u32,
    batch: Option<usize>,
    clients: Option<u64>,
    changes_per_hour: Option<u64>,
    lookups: u64,
    threads: Option<usize>,
    shards: Option<usize>,
    network: f64,
}

/// The plan as JSON: see `pypapir.plan`.
#[pyfunction]
#[pyo3(signature = (source, requirements))]
pub(crate) fn plan(
    py: Python<'_>,
    source: Option<Bound<'_, PyAny>>,
    requirements: Requirements,
) -> PyResult<String> {
    let database = match (source, requirements.records) {
        (Some(source), None) => surveyed(py, &source, &requirements)?,
        (None, Some(records)) => described(records, &requirements)?,
        _ => return Err(PyValueError::new_err("expected either a source or the number of records")),
    };
    let loaded = rates_file::load(None).map_err(of_plan)?;
    let of_database = Demand::of(&database, &loaded.rates);
    let demand = Demand {
        failure: format!("2^-{}", requirements.failure_bits).parse().map_err(of_core)?,
        connection: (requirements.uplink, requirements.downlink),
        memory: requirements.memory,
        threads: requirements.threads.unwrap_or(of_database.threads),
        lookups: requirements.lookups,
        batch: requirements.batch,
        load: requirements.clients.map(|clients| clients as f64),
        ..of_database
    };
    run(py, |_| {
        // A machine has a part of the database, so its memory limits none of these.
        let memory = demand.memory.filter(|_| requirements.shards.is_none());
        let choice = planner::choose(&Demand { memory, ..demand }, &loaded.rates).map_err(of_plan)?;
        let divided = requirements.shards.map(|shards| {
            shards::plan(&demand, &loaded.rates, Machines { shards, network: requirements.network })
        });
        let divided = divided.transpose().map_err(of_plan)?;
        let planned = |changes| {
            changes::plan(&choice, &demand, &loaded.rates, (changes, database.value_bytes)).map_err(of_core)
        };
        let changes = requirements.changes_per_hour.map(planned).transpose()?.flatten();
        let plans = (changes.as_ref(), divided.as_ref());
        Ok(as_json(&database, &demand, loaded.origin, &choice, plans).to_string())
    })?
}

/// The database of a source.
fn surveyed(py: Python<'_>, source: &Bound<'_, PyAny>, requirements: &Requirements) -> PyResult<Database> {
    let columns = (requirements.key.clone(), requirements.values.clone());
    // A survey writes nothing.
    let (options, source) = Source::options(source, PathBuf::new(), columns)?;
    let options = BuildOptions { record_bytes: requirements.record_bytes, ..options };
    let (database, compressed_bytes) = match source {
        Source::Array(array) => {
            let rows = array.rows()?;
            (Database::of_records(rows.shape()), run(py, |_| download::estimate(&rows))?.map_err(of_core)?)
        }
        Source::Rows => {
            let found = run(py, |interrupt| {
                survey(&options, &mut papir_client::system_rng(), &Reporter::new(interrupt, None))
            })?;
            let found = found.map_err(of_store)?;
            let database = match found.keyword {
                Some(keys) => Database::of_buckets(
                    found.shape,
                    (keys.keys, keys.lookups),
                    keys.layout_bytes,
                    keys.lengths,
                ),
                None => Database::of_records(found.shape),
            };
            (database, found.compressed_bytes)
        }
    };
    Ok(Database { compressed_bytes: Some(compressed_bytes), ..database })
}

/// The database with this number of records or keys.
fn described(records: u64, requirements: &Requirements) -> PyResult<Database> {
    let bytes = requirements.record_bytes.ok_or_else(|| PyValueError::new_err("expected record_bytes"))?;
    match requirements.keyed {
        true => Database::of_keys(records, bytes),
        false => Shape::of_bytes(records, bytes).map(Database::of_records),
    }
    .map_err(of_core)
}
