//! Benchmark of doubly-efficient PIR with the paper's sets (`papir-papers depir --set tiny`).
//!
//! Also reproduces the paper's tables and figures. Each query asks for as many random indices as a
//! plaintext has slots, and every returned record is compared with the source. Answers take
//! seconds, so there is no warm-up.
//!
//! | file | contents |
//! |---|---|
//! | `set` | measurement of one set, on lines or with the Kedlaya-Umans data structure |
//! | `memory` | memory that a measurement needs |
//! | `predicted` | costs of a set that are said before it is measured, or instead |
//! | [`outline`] | counts of an evaluation for any number of records |
//! | `crossing` | predicted times on lines and by whole tables, by number of records |
//! | `estimate` | numbers of look-ups and table entries, estimated and exact |
//! | `sheet` | definition and output of a table or figure |
//! | `sheets` | Tables 2, 3 and 4 |
//! | `curves` | Figure 3, and answer times by number of tabulated variables |

mod crossing;
mod curves;
mod estimate;
mod memory;
pub mod outline;
mod predicted;
mod set;
pub mod sheet;
mod sheets;

pub use curves::{CURVES, draw};
pub use predicted::{announcement, predict};
pub use set::{DepirConfig, DepirReport, Set, measure};
pub use sheets::SHEETS;

use sheet::{Sheet, SheetKind};

/// All tables and figures.
pub fn all_sheets() -> impl Iterator<Item = &'static Sheet> {
    SHEETS.iter().chain(CURVES)
}

/// Returns the table or figure with this name.
pub fn sheet_by_name(kind: SheetKind, name: &str) -> Option<&'static Sheet> {
    all_sheets().find(|sheet| sheet.kind == kind && sheet.name == name)
}
