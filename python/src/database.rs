//! Lookups in one process.

use std::path::PathBuf;

use papir_client::system_rng;
use papir_core::NotPrivate;
use papir_core::erased::{ErasedSession, scheme_of_public};
use papir_lookup::{Lookup, Pending};
use papir_schemes::registry;
use papir_store::Snapshot;
use pyo3::prelude::*;

use crate::errors::{of_core, of_lookup, of_store};
use crate::waiting::run;

/// A snapshot, with a client of its own: queries and answers stay in this process.
#[pyclass(frozen, module = "pypapir")]
pub(crate) struct Database {
    snapshot: Snapshot,
    lookup: Lookup,
}

/// Opens a snapshot file.
#[pyfunction]
pub(crate) fn open(py: Python<'_>, path: PathBuf) -> PyResult<Database> {
    run(py, |_| {
        let snapshot = Snapshot::open(&path).map_err(of_store)?;
        let bundle = snapshot.bundle();
        let scheme = scheme_of_public(&bundle.scheme_public)
            .and_then(registry::by_id)
            .map_err(of_core)?;

        // Nobody else sees the queries.
        let scheme = scheme.allow_insecure(NotPrivate::acknowledged());
        let client = scheme.client(&bundle.scheme_public).map_err(of_core)?;
        let lookup = Lookup::new_verifying(client, bundle.keyword, bundle.commitment_top)
            .map_err(of_lookup)?;
        Ok(Database { snapshot, lookup })
    })?
}

impl Database {
    fn finish(&self, pending: Pending) -> PyResult<Option<Vec<u8>>> {
        let answers = pending
            .queries()
            .iter()
            .map(|query| self.snapshot.server.answer(ErasedSession::default(), query))
            .collect::<Result<Vec<_>, _>>()
            .map_err(of_core)?;
        pending.finish(&answers).map_err(of_lookup)
    }
}

#[pymethods]
impl Database {
    /// The value of a key; None if it is absent.
    fn get(&self, py: Python<'_>, key: Vec<u8>) -> PyResult<Option<Vec<u8>>> {
        run(py, |_| {
            self.finish(
                self.lookup
                    .prepare_key(&key, &mut system_rng())
                    .map_err(of_lookup)?,
            )
        })?
    }

    /// The record at an index.
    fn get_index(&self, py: Python<'_>, index: u64) -> PyResult<Vec<u8>> {
        run(py, |_| {
            let pending = self
                .lookup
                .prepare_index(index, &mut system_rng())
                .map_err(of_lookup)?;
            Ok(self.finish(pending)?.unwrap_or_default())
        })?
    }

    /// The scheme's name.
    #[getter]
    fn scheme(&self) -> &str {
        &self.snapshot.metadata.scheme
    }

    /// The version, 16 hexadecimal digits.
    #[getter]
    fn version(&self) -> &str {
        &self.snapshot.metadata.version
    }
}
