//! Sets prepared for private intersection.
//!
//! A set is one file. It is readable by its owner only, since it contains the key that masks the
//! elements.
//!
//! | section | content |
//! |---|---|
//! | `psi` | kind, number of elements, bytes of the longest label, version |
//! | `psi.key` | the seed of the masking key |
//! | `psi.filter` | the filter, if receivers download one |
//! | the sections of a snapshot | the table of masked elements, if receivers look them up |

mod prepare;
mod rows;
mod set;

pub use prepare::{PsiOptions, PsiReport, prepare};
pub(crate) use set::refuse;
pub use set::{PsiSet, PsiSummary};
