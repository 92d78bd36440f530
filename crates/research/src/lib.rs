//! Schemes that are **not private**, for comparison only: [`newton`].
//!
//! No library crate depends on this one. A program that needs its schemes calls [`register`], which
//! adds their names and numbers to the registry. Creating a server or a client still requires
//! [`papir_core::NotPrivate`].

pub mod newton;

use papir_core::Result;
use papir_core::scheme::Scheme;
use papir_schemes::batched::Batched;
use papir_schemes::registry::{self, Addition, Listing, OfBatches};

use newton::{Newton, NewtonBucket, Symmetric};

/// Batches over [`Newton`] with one public modulus.
pub type NewtonBatches = Batched<NewtonBucket>;

/// The only list of the schemes of this crate, in the order of their numbers. Calls the macro
/// `$then` with all of them, as [`papir_schemes::for_each_scheme`] does; they are `fenced`.
#[macro_export]
macro_rules! for_each_research_scheme {
    ($then:ident) => {
        $then! {
            newton: $crate::newton::Newton<$crate::newton::Registered> {
                fenced, registered, default_bound, rare
            }
            newtonsym: $crate::newton::Newton<$crate::newton::Symmetric> {
                fenced, keyless, default_bound, rare
            }
            newtonsym_batch: $crate::NewtonBatches { fenced, keyless, default_bound, rare }
        }
    };
}

/// The listings of all schemes.
macro_rules! listings {
    ($($name:ident: $scheme:ty { $($word:ident),* })*) => {
        &[$(Listing::of::<$scheme>()),*]
    };
}

/// The schemes of this crate, in the order of their numbers.
pub const SCHEMES: &[Listing] = for_each_research_scheme!(listings);

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
