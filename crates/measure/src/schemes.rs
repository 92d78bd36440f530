//! Lookup of schemes by name, and choice of their parameters.

use papir_core::erased::ErasedScheme;
use papir_core::{Candidate, Choice, Error as CoreError, NotPrivate, Shape};
use papir_schemes::registry;

use crate::{Error, Result};

/// Returns the scheme with this name, even if it is not private: benchmark records are not secret.
///
/// # Errors
/// [`CoreError::UnknownScheme`], and the errors of [`papir_research::register`].
pub fn by_name(name: &str) -> Result<Box<dyn ErasedScheme>> {
    papir_research::register()?;
    Ok(registry::by_name(name)?.allow_insecure(NotPrivate::acknowledged()))
}

/// Returns the names of all schemes.
///
/// # Errors
/// The errors of [`papir_research::register`].
pub fn names() -> Result<Vec<&'static str>> {
    papir_research::register()?;
    Ok(registry::all().iter().map(|scheme| scheme.name()).collect())
}

/// Returns a scheme's parameters for a choice.
///
/// # Errors
/// The errors of [`ErasedScheme::candidate`]. [`Error::Usage`] names an option that the scheme does
/// not support.
pub fn candidate(scheme: &dyn ErasedScheme, shape: Shape, choice: Choice) -> Result<Candidate> {
    scheme
        .candidate(shape, choice)
        .map_err(|error| match error {
            CoreError::NoSuchParameter { scheme, .. } => no_such_option(scheme, choice),
            other => other.into(),
        })
}

fn no_such_option(scheme: &str, choice: Choice) -> Error {
    let (option, expected) = match choice {
        Choice::Goal(_) | Choice::Target(_) => ("--goal", "none: it has no parameters to choose"),
        Choice::RowsFirst(_) => ("--rows-first", "none: it has no order of records"),
        Choice::Columns(_) => ("--dim0", "none: it has no first dimension to fix"),
        Choice::Registered { .. } => (
            "--key-bits or --hold",
            "neither: its clients register no such keys",
        ),
        Choice::Digests => ("--digests", "none: its records have no digests"),
        Choice::Packed { .. } => ("--gamma0", "none: it packs no first level in units"),
    };
    Error::usage(format!("{option} with {scheme}"), expected)
}
