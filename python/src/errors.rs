//! Exceptions, with the texts of the program.

use std::io;

use papir_client::ErrorGroup;
use pyo3::exceptions::{PyException, PyTimeoutError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple, PyType};

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
pyo3::create_exception!(
    pypapir,
    VerificationError,
    Error,
    "An answer, a root or a checkpoint does not verify."
);
pyo3::create_exception!(
    pypapir,
    NotPrivateError,
    Error,
    "A scheme that hides nothing. No query was sent."
);
pyo3::create_exception!(
    pypapir,
    UnsupportedError,
    Error,
    "A database that this client does not support."
);

/// The class of timeouts. It has two bases, which the macro above cannot declare.
static TIMED_OUT: PyOnceLock<Py<PyType>> = PyOnceLock::new();

/// The class `pypapir.TimeoutError`, both a `NetworkError` and Python's own `TimeoutError`.
///
/// # Errors
/// Errors of Python while the class is made.
pub(crate) fn timed_out_class(py: Python<'_>) -> PyResult<&Py<PyType>> {
    TIMED_OUT.get_or_try_init(py, || {
        let bases = PyTuple::new(
            py,
            [
                py.get_type::<NetworkError>(),
                py.get_type::<PyTimeoutError>(),
            ],
        )?;

        let body = PyDict::new(py);
        body.set_item("__module__", "pypapir")?;
        body.set_item(
            "__doc__",
            "A call that took longer than the option `timeout`.",
        )?;

        let class = py
            .get_type::<PyType>()
            .call1(("TimeoutError", bases, body))?;
        Ok(class.cast_into::<PyType>()?.unbind())
    })
}

/// An exception of a timeout.
fn timed_out(error: &papir_client::Error) -> PyErr {
    Python::attach(|py| match timed_out_class(py) {
        Ok(class) => {
            let class = class.bind(py).clone();
            with_code(
                PyErr::from_type(class, error.to_string()),
                Some(error.code()),
            )
        }
        Err(failure) => failure,
    })
}

/// An exception of `E` with a code.
pub(crate) fn raised<E: pyo3::PyTypeInfo>(error: impl ToString, code: Option<&str>) -> PyErr {
    with_code(PyErr::new::<E, _>(error.to_string()), code)
}

fn with_code(raised: PyErr, code: Option<&str>) -> PyErr {
    Python::attach(|py| {
        // An exception without a code is better than none.
        let _ = raised.value(py).setattr("code", code);
    });
    raised
}

/// Carries an exception of the caller's code through papir; [`of_core`] gives it back.
pub(crate) fn carried(exception: PyErr) -> papir_core::Error {
    papir_core::Error::Io {
        what: "a call into Python".to_owned(),
        source: io::Error::other(exception),
    }
}

/// The exception that [`carried`] put into an error, else the error.
fn exception_of(error: papir_core::Error) -> Result<PyErr, papir_core::Error> {
    match error {
        papir_core::Error::Io { what, source } => source
            .downcast::<PyErr>()
            .map_err(|source| papir_core::Error::Io { what, source }),
        error => Err(error),
    }
}

/// An error of a scheme, or the caller's exception that ended its work.
pub(crate) fn of_core(error: papir_core::Error) -> PyErr {
    let error = match exception_of(error) {
        Ok(exception) => return exception,
        Err(error) => error,
    };

    match error {
        papir_core::Error::NotPrivate { .. } => {
            raised::<NotPrivateError>(&error, Some(error.code()))
        }
        _ => raised::<Error>(&error, Some(error.code())),
    }
}

/// An error of a lookup.
pub(crate) fn of_lookup(error: papir_lookup::Error) -> PyErr {
    match error {
        papir_lookup::Error::Core(error) => of_core(error),
        error => raised::<Error>(&error, Some(error.code())),
    }
}

/// An error of a snapshot or its source.
pub(crate) fn of_store(error: papir_store::Error) -> PyErr {
    match error {
        papir_store::Error::Core(error) => of_core(error),
        error => raised::<Error>(&error, Some(error.code())),
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
pub(crate) fn of_bench(error: papir_measure::Error) -> PyErr {
    match error {
        papir_measure::Error::Core(error) => of_core(error),
        error => raised::<Error>(error, None),
    }
}

/// An error of a client.
pub(crate) fn of_client(error: papir_client::Error) -> PyErr {
    if matches!(error.unshared(), papir_client::Error::TimedOut { .. }) {
        return timed_out(&error);
    }

    let code = Some(error.code());
    match error.group() {
        ErrorGroup::Network => raised::<NetworkError>(&error, code),
        ErrorGroup::Verification => raised::<VerificationError>(&error, code),
        ErrorGroup::NotPrivate => raised::<NotPrivateError>(&error, code),
        ErrorGroup::Unsupported => raised::<UnsupportedError>(&error, code),
        _ => raised::<Error>(&error, code),
    }
}

/// An error of a service.
pub(crate) fn of_server(error: papir_server::Error) -> PyErr {
    raised::<Error>(error, None)
}
