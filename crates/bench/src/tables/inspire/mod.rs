//! Tables of InsPIRe (Mahdavi, Patel, Seo, Yeo 2025), as printed. The paper's machine: an Intel Xeon at
//! 2.6 GHz, one thread.
//!
//! Two things in Tables 2 and 3 are other than they look. Rows of Tables 8 and 9 stand in them whose entry is
//! longer than the table's: the shortest messages of all entry sizes at a server time, for a long entry
//! holds short ones.
//!
//! - InsPIRe⁽²⁾ at 172, 191, 241 and 345 KB is Table 8's 128 B (units of γ₀ = 64 words), at 244 and 347 KB
//!   its 64 B (γ₀ = 32). Table 8's best for 64 B is 185 KB. The same on the larger databases.
//! - InsPIRe with 96 KB of download is Table 9's 32 KB. papir's row has the same columns, and records of the
//!   table's own length.

mod applications;
mod interpolation;
mod large;
mod medium;
mod second;
mod small;

pub use applications::{TABLE_6, TABLE_7};
pub use interpolation::TABLE_9;
pub use large::TABLE_4;
pub use medium::TABLE_3;
pub use second::TABLE_8;
pub use small::TABLE_2;

use super::{Block, Ours, Published, Table};
use papir_core::Choice;

/// All of them.
pub const TABLES: &[Table] = &[TABLE_2, TABLE_3, TABLE_4, TABLE_6, TABLE_7, TABLE_8, TABLE_9];

/// A database whose rows have no parts.
const fn block(
    (database, entry): (&'static str, &'static str),
    (entries, entry_bits): (u64, u64),
    published: &'static [Published],
) -> Block {
    Block { database, entry, entries, entry_bits, parts: &[], published }
}

/// A row of Tables 2 to 4: offline seconds; KB of keys, query, download and all three; server ms.
const fn row(
    scheme: &'static str,
    ours: Option<Ours>,
    offline_s: f64,
    [keys, query, download, total_kb]: [f64; 4],
    server_ms: f64,
) -> Published {
    let kb = Some([keys, query, download]);
    Published { scheme, ours, offline_s: Some(offline_s), kb, total_kb, server_ms, parts_ms: &[] }
}

/// A scheme that papir does not have.
const fn rival(scheme: &'static str, offline_s: f64, kb: [f64; 4], server_ms: f64) -> Published {
    row(scheme, None, offline_s, kb, server_ms)
}

/// SimplePIR with CDKS packing. Its query is 7 bytes a column: 112 KB at 2^14.
const fn simple_ypir(log_columns: u32, offline_s: f64, kb: [f64; 4], server_ms: f64) -> Published {
    row("SimpleYPIR", Some(Ours::columns("simpleypir", log_columns)), offline_s, kb, server_ms)
}

/// InsPIRe at N/t = 2^`log_columns`: its query is 84 KB and 7 bytes a column.
const fn inspire(log_columns: u32, offline_s: f64, [query, download, total]: [f64; 3], ms: f64) -> Published {
    let ours = Some(Ours::columns("inspire", log_columns));
    row("InsPIRe", ours, offline_s, [84.0, query, download, total], ms)
}

/// InsPIRe⁽²⁾ at N/t = 2^`log_columns`, units of γ₀ = `words`: its query is 53 bits for each of N/t columns and
/// t units of a column.
const fn second(
    (log_columns, words): (u32, u64),
    offline_s: f64,
    [query, total]: [f64; 2],
    ms: f64,
) -> Published {
    row("InsPIRe(2)", Some(packed(log_columns, words)), offline_s, [80.0, query, 52.0, total], ms)
}

/// papir's InsPIRe⁽²⁾.
const fn packed(log_columns: u32, words: u64) -> Ours {
    Ours { scheme: "inspire2", choice: Choice::Packed { columns: 1 << log_columns, words } }
}
