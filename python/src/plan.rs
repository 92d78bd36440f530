//! Plans of databases.

use std::path::PathBuf;
use std::sync::Arc;

use papir_core::{Records, Run, Shape};
use papir_plan::database::Database;
use papir_plan::planner::Demand;
use papir_plan::rates_file;
use papir_plan::report::Plan;
use papir_plan::shards::Machines;
use papir_schemes::download;
use papir_store::{BuildOptions, survey};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::errors::{of_core, of_plan, of_store};
use crate::progress::Reporter;
use crate::source::Source;
use crate::source_form::SourceForm;
use crate::waiting::{Interrupt, run, run_until};

/// The arguments of `pypapir.plan` besides the source, which has their defaults.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Requirements {
    records: Option<u64>,
    record_bytes: Option<u64>,
    keyed: bool,
    key: Option<String>,
    values: Vec<String>,
    form: SourceForm,
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
    requirements.check()?;
    let database = match (source, requirements.records) {
        (Some(source), None) => surveyed(py, &source, &requirements)?,
        (None, Some(records)) => described(records, &requirements)?,
        _ => {
            return Err(PyValueError::new_err(
                "expected either a source or the number of records",
            ));
        }
    };

    let loaded = rates_file::load(None).map_err(of_plan)?;
    let of_database = Demand::of(&database, &loaded.rates);
    let demand = Demand {
        failure: format!("2^-{}", requirements.failure_bits)
            .parse()
            .map_err(of_core)?,
        connection: (requirements.uplink, requirements.downlink),
        memory: requirements.memory,
        threads: requirements.threads.unwrap_or(of_database.threads),
        lookups: requirements.lookups,
        batch: requirements.batch,
        load: requirements.clients.map(|clients| clients as f64),
        ..of_database
    };

    let machines = requirements.shards.map(|shards| Machines {
        shards,
        network: requirements.network,
    });

    run(py, |_| {
        let plan = Plan::new(
            &database,
            &demand,
            &loaded.rates,
            requirements.changes_per_hour,
            machines,
        );
        Ok(plan
            .map_err(of_plan)?
            .as_json(&database, &demand, loaded.origin)
            .to_string())
    })?
}

impl Requirements {
    /// Refuses numbers out of range.
    fn check(&self) -> PyResult<()> {
        let checks = [
            ("uplink above 0", is_positive(self.uplink)),
            ("downlink above 0", is_positive(self.downlink)),
            ("network above 0", is_positive(self.network)),
            ("lookups of 1 or more", self.lookups >= 1),
            (
                "threads from 1 to 1024",
                self.threads
                    .is_none_or(|threads| (1..=1024).contains(&threads)),
            ),
            ("batch of 2 or more", is_at_least(whole(self.batch), 2)),
            ("clients of 1 or more", is_at_least(self.clients, 1)),
            (
                "changes_per_hour of 1 or more",
                is_at_least(self.changes_per_hour, 1),
            ),
            ("shards of 1 or more", is_at_least(whole(self.shards), 1)),
            (
                "shards without batch, clients or changes_per_hour",
                self.shards.is_none()
                    || (self.batch.is_none()
                        && self.clients.is_none()
                        && self.changes_per_hour.is_none()),
            ),
        ];

        match checks.iter().find(|(_, holds)| !holds) {
            Some((expected, _)) => Err(PyValueError::new_err(format!("expected {expected}"))),
            None => Ok(()),
        }
    }
}

/// Returns whether a number is finite and above 0.
fn is_positive(number: f64) -> bool {
    number.is_finite() && number > 0.0
}

/// Returns whether a number is at least `least`. True for none.
fn is_at_least(number: Option<u64>, least: u64) -> bool {
    number.is_none_or(|number| number >= least)
}

/// A count as a 64-bit number.
fn whole(count: Option<usize>) -> Option<u64> {
    count.map(|count| count as u64)
}

/// The database of a source.
fn surveyed(
    py: Python<'_>,
    source: &Bound<'_, PyAny>,
    requirements: &Requirements,
) -> PyResult<Database> {
    let interrupt = Arc::new(Interrupt::default());
    // A survey writes nothing.
    let (options, source) = Source::options(
        source,
        PathBuf::new(),
        requirements.key.clone(),
        requirements.values.clone(),
        &interrupt,
    )?;
    let mut options = BuildOptions {
        record_bytes: requirements.record_bytes,
        ..requirements.form.add_to(options)?
    };
    options.tell_format().map_err(of_store)?;

    let (database, compressed_bytes) = match source {
        Source::Array(array) => {
            let rows = array.rows()?;
            (
                Database::of_records(rows.shape()),
                run(py, |_| download::estimate(&rows))?.map_err(of_core)?,
            )
        }
        Source::Rows => surveyed_rows(py, &options, &interrupt)?,
    };

    Ok(Database {
        compressed_bytes: Some(compressed_bytes),
        ..database
    })
}

/// The database of rows, and the bytes of its records after compression.
fn surveyed_rows(
    py: Python<'_>,
    options: &BuildOptions,
    interrupt: &Interrupt,
) -> PyResult<(Database, u64)> {
    let found = run_until(py, interrupt, |interrupt| {
        survey(
            options,
            &mut Run::new(
                &mut papir_client::system_rng(),
                &Reporter::new(interrupt, None),
            ),
        )
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
    Ok((database, found.compressed_bytes))
}

/// The database with this number of records or keys.
fn described(records: u64, requirements: &Requirements) -> PyResult<Database> {
    let bytes = requirements
        .record_bytes
        .ok_or_else(|| PyValueError::new_err("expected record_bytes"))?;
    match requirements.keyed {
        true => Database::of_keys(records, bytes),
        false => Shape::of_bytes(records, bytes).map(Database::of_records),
    }
    .map_err(of_core)
}
