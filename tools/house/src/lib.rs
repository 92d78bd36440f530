//! Measures of the style of the workspace's code.
//!
//! All code outside tests is measured: the `src` folders of the workspace's crates without items
//! and files that only tests compile. Code in macro definitions, and in the arguments of macros, is
//! tokens and nothing else, since only the compiler knows what it becomes.
//!
//! | module | contents |
//! |---|---|
//! | [`SourceFile`] | finds the source files of a checkout or a source archive |
//! | `text` | the lines and tokens of a file |
//! | `outline` | the functions, types and patterns of a file |
//! | `uses` | how often a block uses a name |
//! | `test_code` | tells test code from other code |
//! | `measured` | what is measured of one file |
//! | [`StyleMetric`], [`Offence`] | what is counted, and where |
//! | [`StyleSurvey`] | all files, and names that several crates declare |
//! | [`StyleSummary`] | the figures of a crate or of the whole |
//! | [`report`] | tables and lists for people |

mod error;
mod measured;
mod metric;
mod outline;
pub mod report;
mod source;
mod summary;
mod survey;
mod test_code;
mod text;
mod uses;

#[cfg(test)]
mod tests;

pub use error::Unmeasured;
pub use metric::{Offence, StyleMetric};
pub use source::SourceFile;
pub use summary::{Spread, StyleSummary};
pub use survey::StyleSurvey;
pub use test_code::is_test;
