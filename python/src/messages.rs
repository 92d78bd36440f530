//! Answers to queries that travelled in messages.

use papir_client::{Options, aio};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use pyo3_async_runtimes::tokio::future_into_py;

use crate::client::options;
use crate::errors::of_client;
use crate::forked;
use crate::local::Local;

/// Decodes the answer to a query of a message. Sends nothing.
#[pyfunction]
#[pyo3(signature = (url, answer, **arguments))]
pub(crate) fn extract_message(
    py: Python<'_>,
    url: String,
    answer: Vec<u8>,
    arguments: Option<&Bound<'_, PyDict>>,
) -> PyResult<Option<Vec<u8>>> {
    let options = options(arguments)?;
    let local = Local::new()?;
    local.wait(py, extract(url, options, answer))?
}

/// Like [`extract_message`], for coroutines.
#[pyfunction]
#[pyo3(signature = (url, answer, **arguments))]
pub(crate) fn extract_message_async<'py>(
    py: Python<'py>,
    url: String,
    answer: Vec<u8>,
    arguments: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    forked::refuse()?;
    let options = options(arguments)?;
    future_into_py(py, extract(url, options, answer))
}

async fn extract(url: String, options: Options, answer: Vec<u8>) -> PyResult<Option<Vec<u8>>> {
    let extracted = aio::extract_message(&url, &options, answer).await;
    extracted.map_err(of_client)
}
