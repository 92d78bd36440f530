//! Builds snapshots.

use std::path::PathBuf;
use std::sync::Arc;

use papir_core::scratch::Scratch;
use papir_core::{FailureBound, Records, Run};
use papir_plan::auto::{AUTO, Auto};
use papir_plan::rates_file::{self, LoadedRates};
use papir_plan::shards::{DEFAULT_NETWORK, Machines};
use papir_schemes::default_scheme::DEFAULT;
use papir_schemes::registry;
use papir_store::{Build, BuildOptions, BuildReport, Preparation, PreparedServer, TaskOptions};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::{of_core, of_plan, of_store};
use crate::progress::Reporter;
use crate::source::{Array, Source};
use crate::source_form::SourceForm;
use crate::tasks::Functions;
use crate::waiting::{Interrupt, run, run_until};

/// Builds a snapshot: see `pypapir.build`, which has the defaults.
#[pyfunction]
#[pyo3(signature = (source, out, *, form, key, values, scheme, clients_may_see, goal, verifiable, prefilter, memory, name, params, shards, record_bytes, force, tasks, progress))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn build<'py>(
    py: Python<'py>,
    source: Bound<'py, PyAny>,
    out: PathBuf,
    form: SourceForm,
    key: Option<String>,
    values: Vec<String>,
    scheme: Option<String>,
    clients_may_see: Option<String>,
    goal: Option<String>,
    verifiable: bool,
    prefilter: Option<u8>,
    memory: Option<u64>,
    name: Option<String>,
    params: Option<String>,
    shards: Option<usize>,
    record_bytes: Option<u64>,
    force: bool,
    tasks: Option<(usize, Option<Py<PyAny>>, Py<PyAny>)>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let interrupt = Arc::new(Interrupt::default());
    let (options, source) = Source::options(&source, out, key, values, &interrupt)?;
    let mut options = form.add_to(options)?;
    let machines = shards.map(|shards| Machines {
        shards,
        network: DEFAULT_NETWORK,
    });

    options.scheme = scheme_of(scheme, machines.is_some())?;
    if let Some(allowed) = clients_may_see {
        if options.scheme != DEFAULT || params.is_some() {
            let message =
                "clients_may_see= chooses the scheme: expected neither scheme, params nor shards";
            return Err(PyValueError::new_err(message));
        }
        options.clients_may_see = allowed.parse().map_err(of_core)?;
    }
    if options.scheme == AUTO && (goal.is_some() || params.is_some() || memory.is_some()) {
        let message = "scheme=\"auto\" chooses by time: expected neither goal, params nor memory";
        return Err(PyValueError::new_err(message));
    }

    if let Some(goal) = goal {
        options.goal = goal.parse().map_err(of_core)?;
    }
    options.verifiable = verifiable;
    options.prefilter = prefilter;
    options.memory = memory;
    options.name = name;
    options.params = params;
    options.record_bytes = record_bytes;
    options.force = force;
    options.tell_format().map_err(of_store)?;
    options.tasks = tasks.map(|(shards, read, run)| {
        options.source = "a dataset".into();
        let runner = Functions { read, run };
        TaskOptions {
            read_rows: runner.read.is_some(),
            ..TaskOptions::new(shards, Arc::new(runner))
        }
    });

    let built = match source {
        Source::Rows => build_rows(py, &options, &interrupt, machines, progress)?,
        Source::Array(array) => build_array(py, &options, &array, machines, progress)?,
    };
    report(py, &built.map_err(of_store)?)
}

/// The scheme of a build; shards leave its choice to the planner.
fn scheme_of(given: Option<String>, by_shards: bool) -> PyResult<String> {
    let default = if by_shards { AUTO } else { DEFAULT };
    let scheme = given.unwrap_or_else(|| default.to_owned());
    if by_shards && scheme != AUTO {
        let message = "shards choose the scheme: expected no other";
        return Err(PyValueError::new_err(message));
    }
    Ok(scheme)
}

/// Builds from a source with columns.
fn build_rows(
    py: Python<'_>,
    options: &BuildOptions,
    interrupt: &Interrupt,
    machines: Option<Machines>,
    progress: Option<Py<PyAny>>,
) -> PyResult<papir_store::Result<BuildReport>> {
    let choosing = Choosing::of(options, machines)?;

    run_until(py, interrupt, |interrupt| {
        let reporter = Reporter::new(interrupt, progress);
        run_build(Build::new(options), choosing.as_ref(), &reporter)
    })
}

/// Builds from an array, of which each row is a record.
fn build_array(
    py: Python<'_>,
    options: &BuildOptions,
    array: &Array<'_>,
    machines: Option<Machines>,
    progress: Option<Py<PyAny>>,
) -> PyResult<papir_store::Result<BuildReport>> {
    let records = array.rows()?;
    let choosing = Choosing::of(options, machines)?;

    run(py, |interrupt| {
        let reporter = Reporter::new(interrupt, progress);
        let build = Build::new(options).records(&records);
        run_build(build, choosing.as_ref(), &reporter)
    })
}

/// Runs a build, with the choice of the planner if it chooses the scheme.
fn run_build(
    build: Build<'_>,
    choosing: Option<&Choosing>,
    reporter: &Reporter<'_>,
) -> papir_store::Result<BuildReport> {
    let mut rng = papir_client::system_rng();
    let run = &mut Run::new(&mut rng, reporter);
    let Some(choosing) = choosing else {
        return build.run(run);
    };

    let auto = choosing.auto();
    let preparation = Preparation {
        bucket: &|lengths| auto.bucket(lengths),
        prepare: &prepare(&auto),
    };
    build.prepared_by(&preparation).run(run)
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
) -> impl Fn(&dyn Records, &mut dyn Scratch, &mut Run<'_>) -> PreparedServer {
    |records, scratch, run| {
        let (best, _) = auto.scheme(records)?;
        registry::by_name(best.scheme)?.setup_resumable(
            &best.encoded,
            records,
            scratch,
            run.rng,
            run.progress,
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
    dict.set_item("chosen", &report.chosen)?;
    Ok(dict)
}
