//! Benchmark of doubly-efficient PIR with the paper's sets (`papir bench depir --set tiny`).
//!
//! Also its tables and figures. A query is for as many random indices as a plaintext has slots, and
//! every returned record is compared with the source. Answers take seconds, so there is no warm-up.
//!
//! | file | contents |
//! |---|---|
//! | `set` | measurement of one set: on lines, or with Kedlaya and Umans' structure |
//! | `estimate` | numbers of look-ups and entries: Propositions 5.3 and 5.4, and exact lists of primes |
//! | `sheet` | form of a table or figure |
//! | `sheets` | Tables 2, 3 and 4 |
//! | `curves` | Figure 3, and the time by number of tabulated variables |

mod curves;
mod estimate;
mod set;
pub mod sheet;
mod sheets;

pub use curves::{CURVES, draw};
pub(crate) use set::parse_steps;
pub use set::{DepirReport, Extent, Set, measure};
pub use sheets::SHEETS;

use sheet::{Kind, Sheet};

/// All tables and figures.
pub fn all_sheets() -> impl Iterator<Item = &'static Sheet> {
    SHEETS.iter().chain(CURVES)
}

/// The table or figure of this name.
pub fn sheet_by_name(kind: Kind, name: &str) -> Option<&'static Sheet> {
    all_sheets().find(|sheet| sheet.kind == kind && sheet.name == name)
}
