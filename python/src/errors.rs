//! Exceptions, with the texts of the program.

use pyo3::exceptions::PyException;
use pyo3::prelude::*;

pyo3::create_exception!(
    pypapir,
    Error,
    PyException,
    "An error of papir. Its attribute `code` is a short stable name, or None."
);
pyo3::create_exception!(
    pypapir,
    NetworkError,
    Error,
    "A service that cannot be reached, or refuses a request."
);
pyo3::create_exception!(pypapir, NotPrivateError, Error, "A scheme that hides nothing. No query was sent.");

/// An exception of `E` with a code.
pub(crate) fn raised<E: pyo3::PyTypeInfo>(error: impl ToString, code: Option<&'static str>) -> PyErr {
    let raised = PyErr::new::<E, _>(error.to_string());
    Python::attach(|py| {
        // An exception without a code is better than none.
        let _ = raised.value(py).setattr("code", code);
    });
    raised
}

/// An error of a scheme.
pub(crate) fn of_core(error: papir_core::Error) -> PyErr {
    let code = Some(error.code());
    match error {
        papir_core::Error::NotPrivate { .. } => raised::<NotPrivateError>(error, code),
        error => raised::<Error>(error, code),
    }
}

/// An error of a lookup.
pub(crate) fn of_lookup(error: papir_lookup::Error) -> PyErr {
    match error {
        papir_lookup::Error::Core(error) => of_core(error),
        error => raised::<Error>(error, None),
    }
}

/// An error of a snapshot or its source.
pub(crate) fn of_store(error: papir_store::Error) -> PyErr {
    match error {
        papir_store::Error::Core(error) => of_core(error),
        error => raised::<Error>(error, None),
    }
}

/// An error of the planner.
pub(crate) fn of_plan(error: papir_plan::Error) -> PyErr {
    match error {
        papir_plan::Error::Core(error) => of_core(error),
        error => raised::<Error>(error, None),
    }
}

/// An error of a measurement.
pub(crate) fn of_bench(error: papir_bench::Error) -> PyErr {
    match error {
        papir_bench::Error::Core(error) => of_core(error),
        error => raised::<Error>(error, None),
    }
}

/// An error of a client.
pub(crate) fn of_client(error: papir_client::Error) -> PyErr {
    match error {
        papir_client::Error::Core(error) => of_core(error),
        papir_client::Error::Lookup(error) => of_lookup(error),
        error @ (papir_client::Error::Transport { .. } | papir_client::Error::Http { .. }) => {
            raised::<NetworkError>(error, None)
        }
        error => raised::<Error>(error, None),
    }
}

/// An error of a service.
pub(crate) fn of_server(error: papir_server::Error) -> PyErr {
    raised::<Error>(error, None)
}
