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
    fn key(&self, key: &[u8]) -> PyResult<Option<Vec<u8>>> {
        let pending = self.lookup.prepare_key(key, &mut system_rng());
        self.finish(pending.map_err(of_lookup)?)
    }

    fn index(&self, index: u64) -> PyResult<Vec<u8>> {
        let pending = self.lookup.prepare_index(index, &mut system_rng());
        Ok(self
            .finish(pending.map_err(of_lookup)?)?
            .unwrap_or_default())
    }

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
    /// The values of several keys, in order; None for a key that is absent.
    fn get_many(&self, py: Python<'_>, keys: Vec<Vec<u8>>) -> PyResult<Vec<Option<Vec<u8>>>> {
        run(py, |interrupt| {
            let values = keys.iter().map(|key| {
                interrupt.check();
                self.key(key)
            });
            values.collect::<PyResult<Vec<_>>>()
        })?
    }

    /// The records at several indices, in order.
    fn get_indices(&self, py: Python<'_>, indices: Vec<u64>) -> PyResult<Vec<Vec<u8>>> {
        run(py, |interrupt| {
            let records = indices.iter().map(|&index| {
                interrupt.check();
                self.index(index)
            });
            records.collect::<PyResult<Vec<_>>>()
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
