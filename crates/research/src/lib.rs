//! Schemes that are **not private**, for comparison only: [`newton`].
//!
//! No library crate depends on this one. A program that needs its schemes calls [`register`], which
//! adds their names and numbers to the registry. Creating a server or a client still requires
//! [`papir_core::NotPrivate`].

pub mod newton;

use papir_core::Result;
use papir_core::erased::Erased;
use papir_core::scheme::Scheme;
use papir_schemes::batched::Batched;
use papir_schemes::registry::{self, Addition, Listing, OfBatches};

use newton::{Newton, NewtonBucket, Registered, Symmetric};

/// The schemes of this crate, in the order of their numbers.
pub const SCHEMES: &[Listing] = &[
    Listing {
        scheme: &Erased::<Newton<Registered>>::new(),
        paper: "NewtonPIR (Lu, Qu)",
        purpose: "**Not private**: [its queries reveal their index](notes/newtonpir.md), as \
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
    Listing {
        scheme: &Erased::<Batched<NewtonBucket>>::new(),
        paper: "Probabilistic batch codes (Angel, Chen, Laine, Setty 2018) over `newtonsym`",
        purpose: "Many records in one query, **not private** either",
        assumption: "none: as `newton`, for each bucket's query",
    },
];

/// The schemes of batches among them.
const BATCHES: &[OfBatches] = &[OfBatches::over::<NewtonBucket>(
    <Newton<Symmetric> as Scheme>::NAME,
)];

/// Adds the schemes of this crate to the registry.
///
/// # Errors
/// Same as [`registry::add`].
pub fn register() -> Result<()> {
    registry::add(Addition {
        listings: SCHEMES,
        batches: BATCHES,
    })
}
