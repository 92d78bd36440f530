//! Builds snapshots.

use std::path::PathBuf;
use std::sync::Arc;

use papir_core::scratch::Scratch;
use papir_core::{FailureBound, Progress, Records};
use papir_plan::auto::{AUTO, Auto};
use papir_plan::rates_file::{self, LoadedRates};
use papir_plan::shards::{DEFAULT_NETWORK, Machines};
use papir_schemes::registry;
use papir_store::{
    BuildOptions, BuildReport, ChooseBucket, Preparation, PreparedServer, TaskOptions,
    build_announced, build_records, build_records_with, build_with,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rand_core::CryptoRng;

use crate::errors::{of_core, of_plan, of_store};
use crate::progress::Reporter;
use crate::source::Source;
use crate::tasks::Functions;
use crate::waiting::run;

/// The default scheme, as of `papir build`.
const DEFAULT_SCHEME: &str = "inspire";

/// Builds a snapshot: see `pypapir.build`, which has the defaults.
#[pyfunction]
#[pyo3(signature = (source, out, *, key, values, scheme, goal, verifiable, memory, name, params, shards, record_bytes, tasks, progress))]
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
    record_bytes: Option<u64>,
    tasks: Option<(usize, Option<Py<PyAny>>, Py<PyAny>)>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let (mut options, source) = Source::options(&source, out, (key, values))?;
    let machines = shards.map(|shards| Machines {
        shards,
        network: DEFAULT_NETWORK,
    });
    let default = if machines.is_some() {
        AUTO
    } else {
        DEFAULT_SCHEME
    };
    options.scheme = scheme.unwrap_or_else(|| default.to_owned());
    if machines.is_some() && options.scheme != AUTO {
        return Err(PyValueError::new_err(
            "shards choose the scheme: expected no other",
        ));
    }
    if options.scheme == AUTO
        && [goal.is_some(), params.is_some(), memory.is_some()].contains(&true)
    {
        let message = "scheme=\"auto\" chooses by time: expected neither goal, params nor memory";
        return Err(PyValueError::new_err(message));
    }
    if let Some(goal) = goal {
        options.goal = goal.parse().map_err(of_core)?;
    }
    (
        options.verifiable,
        options.memory,
        options.name,
        options.params,
    ) = (verifiable, memory, name, params);
    options.record_bytes = record_bytes;
    options.tasks = tasks.map(|(shards, read, run)| {
        options.source = "a dataset".into();
        let runner = Functions { read, run };
        TaskOptions {
            read_rows: runner.read.is_some(),
            ..TaskOptions::new(shards, Arc::new(runner))
        }
    });
    let built = match source {
        Source::Rows => match Choosing::of(&options, machines)? {
            Some(choosing) => run(py, |interrupt| {
                let reporter = Reporter::new(interrupt, progress);
                let auto = choosing.auto();
                let bucket: &ChooseBucket<'_> = &|lengths| auto.bucket(lengths);
                let preparation = Preparation {
                    bucket,
                    prepare: &prepare(&auto),
                };
                build_with(
                    &options,
                    &preparation,
                    &mut papir_client::system_rng(),
                    &reporter,
                )
            })?,
            None => run(py, |interrupt| {
                let reporter = Reporter::new(interrupt, progress);
                build_announced(
                    &options,
                    &|_| Ok(()),
                    &mut papir_client::system_rng(),
                    &reporter,
                )
            })?,
        },
        Source::Array(array) => {
            let records = array.rows()?;
            let choosing = Choosing::of(&options, machines)?;
            run(py, |interrupt| {
                let reporter = Reporter::new(interrupt, progress);
                let rng = &mut papir_client::system_rng();
                match choosing {
                    Some(choosing) => {
                        let auto = choosing.auto();
                        build_records_with(&options, &records, &prepare(&auto), rng, &reporter)
                    }
                    None => build_records(&options, &records, rng, &reporter),
                }
            })?
        }
    };
    report(py, &built.map_err(of_store)?)
}

/// The choice that the planner makes.
struct Choosing {
    loaded: LoadedRates,
    failure: FailureBound,
    machines: Option<Machines>,
}

impl Choosing {
    /// `None` if the options name the scheme.
    fn of(options: &BuildOptions, machines: Option<Machines>) -> PyResult<Option<Self>> {
        if options.scheme != AUTO {
            return Ok(None);
        }
        let loaded = rates_file::load(None).map_err(of_plan)?;
        Ok(Some(Self {
            loaded,
            failure: options.failure,
            machines,
        }))
    }

    fn auto(&self) -> Auto<'_> {
        Auto {
            failure: self.failure,
            rates: &self.loaded.rates,
            machines: self.machines,
        }
    }
}

/// Prepares records with the scheme that the planner recommends for them.
fn prepare(
    auto: &Auto<'_>,
) -> impl Fn(&dyn Records, &mut dyn Scratch, &mut dyn CryptoRng, &dyn Progress) -> PreparedServer {
    |records, scratch, rng, progress| {
        let (best, _) = auto.scheme(records)?;
        registry::by_name(best.scheme)?.setup_resumable(
            &best.encoded,
            records,
            scratch,
            rng,
            progress,
        )
    }
}

fn report<'py>(py: Python<'py>, report: &BuildReport) -> PyResult<Bound<'py, PyDict>> {
    let metadata = &report.metadata;
    let sizes = &report.description.sizes;
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
