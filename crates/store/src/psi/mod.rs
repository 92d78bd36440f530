//! Sets that are prepared for private intersection: one file, which only its owner may read, since it holds
//! the key that elements are masked with.
//!
//! | section | what |
//! |---|---|
//! | `psi` | how a receiver finds its elements, how many there are, bytes of the longest label, version |
//! | `psi.key` | the seed of the masking key |
//! | `psi.filter` | the filter, where receivers download it |
//! | those of a snapshot | the table of masked elements, where receivers look them up |

mod prepare;
mod rows;
mod set;

pub use prepare::{PsiOptions, PsiReport, prepare};
pub(crate) use set::refuse;
pub use set::{PsiSet, PsiSummary};
