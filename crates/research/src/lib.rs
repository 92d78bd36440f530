//! Schemes for comparison that are **not private**: [`newton`].
//!
//! No library crate depends on this one. A program that wants its schemes calls [`register`]. The
//! registry then knows their names and numbers, and each still requires [`papir_core::NotPrivate`]
//! before it makes a server or a client.

pub mod newton;

use papir_core::Result;
use papir_core::erased::Erased;
use papir_schemes::registry::{self, Listing};

use newton::{Newton, Registered, Symmetric};

/// The schemes of this crate, in the order of their numbers.
pub const SCHEMES: &[Listing] = &[
    Listing {
        scheme: &Erased::<Newton<Registered>>::new(),
        paper: "NewtonPIR (Lu, Qu)",
        purpose: "**Not private**: [its queries reveal their index](docs/notes/newtonpir.md), as \
            `papir attack newton` shows. For comparison only, behind `--insecure-newton`",
        assumption: "none: not private, contrary to its paper ([why](notes/newtonpir.md)); a server or a \
            client needs an explicit acknowledgement",
    },
    Listing {
        scheme: &Erased::<Newton<Symmetric>>::new(),
        paper: "NewtonPIR (Lu, Qu, section 4.3)",
        purpose: "The same with one public modulus: **not private** either",
        assumption: "none: as `newton`",
    },
];

/// Adds the schemes of this crate to the registry.
///
/// # Errors
/// As [`registry::add`].
pub fn register() -> Result<()> {
    registry::add(SCHEMES)
}
