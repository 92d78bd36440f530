//! Schemes for comparison that are **not private**: [`newton`].
//!
//! No library crate depends on this one. A program that wants its schemes calls [`register`]. The
//! registry then knows their names and numbers, and each still requires [`papir_core::NotPrivate`]
//! before it makes a server or a client.

pub mod newton;

use papir_core::Result;
use papir_core::erased::{Erased, ErasedScheme};
use papir_schemes::registry;

use newton::{Newton, Registered, Symmetric};

/// The schemes of this crate, in the order of their numbers.
pub fn schemes() -> &'static [&'static dyn ErasedScheme] {
    const SCHEMES: &[&dyn ErasedScheme] =
        &[&Erased::<Newton<Registered>>::new(), &Erased::<Newton<Symmetric>>::new()];
    SCHEMES
}

/// Adds the schemes of this crate to the registry.
///
/// # Errors
/// As [`registry::add`].
pub fn register() -> Result<()> {
    registry::add(schemes())
}
