//! The schemes themselves, for research: setup, query, answer, extract.

use std::sync::{LazyLock, Mutex, PoisonError};

use papir_client::system_rng;
use papir_core::erased::{ErasedClient, ErasedScheme, ErasedSecret, ErasedServer, ErasedSession};
use papir_core::{NotPrivate, RecordBuffer};
use papir_schemes::registry;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::of_core;
use crate::progress::Reporter;
use crate::waiting::run;

/// The names of all schemes, read before a measurement adds its own to the registry.
static NAMES: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    registry::all()
        .into_iter()
        .map(|scheme| scheme.name())
        .collect()
});

/// Reads the names of the schemes, when the module is imported.
pub(crate) fn read_names() {
    LazyLock::force(&NAMES);
}

/// The names of all schemes.
#[pyfunction]
pub(crate) fn schemes() -> Vec<&'static str> {
    NAMES.clone()
}

/// A scheme by name.
#[pyclass(frozen, module = "pypapir")]
pub(crate) struct Scheme(Box<dyn ErasedScheme>);

#[pymethods]
impl Scheme {
    #[new]
    #[pyo3(signature = (name, *, allow_not_private = false))]
    fn new(name: &str, allow_not_private: bool) -> PyResult<Self> {
        let scheme = registry::by_name(name).map_err(of_core)?;
        Ok(Self(match allow_not_private {
            true => scheme.allow_insecure(NotPrivate::acknowledged()),
            false => scheme.with_owner_key(None),
        }))
    }

    /// The scheme's name.
    #[getter]
    fn name(&self) -> &'static str {
        self.0.name()
    }

    /// Prepares records of one length.
    #[pyo3(signature = (records, *, goal = None))]
    fn setup(
        &self,
        py: Python<'_>,
        records: Vec<Vec<u8>>,
        goal: Option<&str>,
    ) -> PyResult<Prepared> {
        let goal = goal
            .map(str::parse)
            .transpose()
            .map_err(of_core)?
            .unwrap_or_default();

        run(py, |interrupt| {
            let records = RecordBuffer::from_records(records).map_err(of_core)?;
            let reporter = Reporter::new(interrupt, None);
            self.0
                .setup(&records, goal, &mut system_rng(), &reporter)
                .map(Prepared)
                .map_err(of_core)
        })?
    }

    /// A client from a public part.
    fn client(&self, public: &[u8]) -> PyResult<SchemeClient> {
        self.0.client(public).map(SchemeClient).map_err(of_core)
    }
}

/// A prepared database.
#[pyclass(frozen, module = "pypapir")]
pub(crate) struct Prepared(Box<dyn ErasedServer>);

#[pymethods]
impl Prepared {
    /// The public part, which clients start from.
    #[getter]
    fn public(&self) -> Vec<u8> {
        self.0.public()
    }

    /// Answers a query.
    fn answer(&self, py: Python<'_>, query: Vec<u8>) -> PyResult<Vec<u8>> {
        run(py, |_| {
            self.0
                .answer(ErasedSession::default(), &query)
                .map_err(of_core)
        })?
    }

    /// Sizes, security and parameters.
    fn describe<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let description = self.0.describe();
        let dict = PyDict::new(py);
        dict.set_item("scheme", description.scheme)?;
        dict.set_item("records", description.shape.records())?;
        dict.set_item("record_bits", description.shape.record_bits())?;
        dict.set_item("query_bytes", description.sizes.query)?;
        dict.set_item("answer_bytes", description.sizes.answer)?;
        dict.set_item("public_bytes", description.sizes.public)?;
        dict.set_item("database_bytes", description.sizes.database)?;
        dict.set_item("material_bytes", description.sizes.material)?;

        dict.set_item(
            "security_bits",
            description.security.map(|security| security.bits),
        )?;
        dict.set_item("failure_log2", description.failure_log2)?;
        dict.set_item("parameters", description.parameters)?;
        Ok(dict)
    }
}

/// A client of a prepared database.
#[pyclass(frozen, module = "pypapir")]
pub(crate) struct SchemeClient(Box<dyn ErasedClient>);

#[pymethods]
impl SchemeClient {
    /// A fresh secret and a query for these indices.
    fn query(&self, py: Python<'_>, indices: Vec<u64>) -> PyResult<(Secret, Vec<u8>)> {
        let made = py.detach(|| self.0.query(None, &indices, &mut system_rng()));
        let (secret, query) = made.map_err(of_core)?;
        Ok((Secret(Mutex::new(Some(secret))), query))
    }

    /// The records of an answer. The secret is used up.
    fn extract(&self, py: Python<'_>, secret: &Secret, answer: Vec<u8>) -> PyResult<Vec<Vec<u8>>> {
        let secret = secret
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();

        let secret = secret
            .ok_or_else(|| PyValueError::new_err("the secret was used: expected a fresh one"))?;
        py.detach(|| self.0.extract(secret, &answer))
            .map_err(of_core)
    }
}

/// The secret of one query.
#[pyclass(frozen, module = "pypapir")]
pub(crate) struct Secret(Mutex<Option<ErasedSecret>>);
