//! Builds snapshots.

use std::path::PathBuf;

use papir_plan::auto::{AUTO, Auto};
use papir_plan::rates_file;
use papir_plan::shards::{DEFAULT_NETWORK, Machines};
use papir_schemes::registry;
use papir_store::{
    BuildOptions, BuildReport, ChooseBucket, Preparation, Prepare, build_announced, build_records, build_with,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::{of_core, of_plan, of_store};
use crate::progress::Reporter;
use crate::source::Source;
use crate::waiting::run;

/// The default scheme, as of `papir build`.
const DEFAULT_SCHEME: &str = "inspire";

/// Builds a snapshot: see `pypapir.build`, which has the defaults.
#[pyfunction]
#[pyo3(signature = (source, out, *, key, values, scheme, goal, verifiable, memory, name, params, shards, progress))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn build<'py>(
    py: Python<'py>,
    source: Bound<'py, PyAny>,
    out: PathBuf,
    key: Option<String>,
    values: Vec<String>,
    scheme: Option<String>,
    goal: Option<String>,
    verifiable: bool,
    memory: Option<u64>,
    name: Option<String>,
    params: Option<String>,
    shards: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let (mut options, source) = Source::options(&source, out, (key, values))?;
    let machines = shards.map(|shards| Machines { shards, network: DEFAULT_NETWORK });
    let default = if machines.is_some() { AUTO } else { DEFAULT_SCHEME };
    options.scheme = scheme.unwrap_or_else(|| default.to_owned());
    if machines.is_some() && options.scheme != AUTO {
        return Err(PyValueError::new_err("shards choose the scheme: expected no other"));
    }
    if options.scheme == AUTO && [goal.is_some(), params.is_some(), memory.is_some()].contains(&true) {
        let message = "scheme=\"auto\" chooses by time: expected neither goal, params nor memory";
        return Err(PyValueError::new_err(message));
    }
    if let Some(goal) = goal {
        options.goal = goal.parse().map_err(of_core)?;
    }
    (options.verifiable, options.memory, options.name, options.params) = (verifiable, memory, name, params);
    let built = match source {
        Source::Rows if options.scheme == AUTO => build_auto(py, &options, machines, progress)?,
        Source::Rows => run(py, |interrupt| {
            let reporter = Reporter::new(interrupt, progress);
            build_announced(&options, &|_| Ok(()), &mut papir_client::system_rng(), &reporter)
        })?,
        Source::Array(array) => {
            let records = array.rows()?;
            if options.scheme == AUTO {
                let auto = rates_file::load(None).map_err(of_plan)?;
                let auto = Auto { failure: options.failure, rates: &auto.rates, machines };
                let (best, _) = run(py, |_| auto.scheme(&records))?.map_err(of_core)?;
                (options.scheme, options.params) = (best.scheme.to_owned(), Some(best.parameters));
            }
            run(py, |interrupt| {
                let reporter = Reporter::new(interrupt, progress);
                build_records(&options, &records, &mut papir_client::system_rng(), &reporter)
            })?
        }
    };
    report(py, &built.map_err(of_store)?)
}

/// Builds with the scheme that the planner recommends for the records.
fn build_auto(
    py: Python<'_>,
    options: &BuildOptions,
    machines: Option<Machines>,
    progress: Option<Py<PyAny>>,
) -> PyResult<papir_store::Result<BuildReport>> {
    let loaded = rates_file::load(None).map_err(of_plan)?;
    let auto = Auto { failure: options.failure, rates: &loaded.rates, machines };
    run(py, |interrupt| {
        let bucket: &ChooseBucket<'_> = &|lengths| auto.bucket(lengths);
        let prepare: &Prepare<'_> = &|records, scratch, rng, progress| {
            let (best, _) = auto.scheme(records)?;
            registry::by_name(best.scheme)?.setup_resumable(&best.encoded, records, scratch, rng, progress)
        };
        let reporter = Reporter::new(interrupt, progress);
        let preparation = Preparation { bucket, prepare };
        build_with(options, &preparation, &mut papir_client::system_rng(), &reporter)
    })
}

fn report<'py>(py: Python<'py>, report: &BuildReport) -> PyResult<Bound<'py, PyDict>> {
    let (metadata, sizes) = (&report.metadata, &report.description.sizes);
    let dict = PyDict::new(py);
    dict.set_item("name", &metadata.name)?;
    dict.set_item("scheme", &metadata.scheme)?;
    dict.set_item("version", &metadata.version)?;
    dict.set_item("entries", metadata.source.entries)?;
    dict.set_item("records", metadata.records)?;
    dict.set_item("record_bits", metadata.record_bits)?;
    dict.set_item("snapshot_bytes", report.snapshot_bytes)?;
    dict.set_item("public_bytes", sizes.public)?;
    dict.set_item("query_bytes", sizes.query)?;
    dict.set_item("answer_bytes", sizes.answer)?;
    Ok(dict)
}
