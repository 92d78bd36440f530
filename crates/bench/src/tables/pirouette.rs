//! Tables of Pirouette (Kang, Schild), as printed. The paper's machine: an Intel Xeon Gold 6248R, one core.
//! The phases of Figure 3 are those of `papir bench pirouette`.

use papir_core::Goal;

use super::{Block, Ours, Published, Table};
use crate::subject::Choice;

/// 3.9 MB.
const RESPIRE_KEYS: f64 = 3.9 * 1024.0;
/// 91 MB.
const T_RESPIRE_KEYS: f64 = 91.0 * 1024.0;
/// 1.2 GB.
const PIROUETTE_KEYS: f64 = 1.2 * 1024.0 * 1024.0;

/// All of them.
pub const TABLES: &[Table] = &[TABLE_5];

/// Tables 5, 6 and 7 in one.
const TABLE_5: Table = Table {
    name: "pirouette-5",
    what: "Pirouette, Tables 5 to 7: records of 256 B on one core",
    notes: &[
        "Totals are of a first query: of them keys, which are uploaded once, are nearly all.",
        "The paper's Pirouette has 118.9 bits of security in its ring and 83.1 in its response, Respire 114.7 in its own; papir's have 128.8 and more.",
        "T-Respire is the paper's estimate: AES under encryption, then Respire.",
        "A query of papir is a payload of 36 bytes in an envelope of 32 (Pirouette).",
    ],
    blocks: &[
        block(
            "256 MB",
            1 << 20,
            &[
                ours("Respire", "respire", [RESPIRE_KEYS, 4.1, 2.0], 1500.0),
                rival("T-Respire", [T_RESPIRE_KEYS, 0.14, 2.0], 217_000.0),
                ours("Pirouette", "pirouette", [PIROUETTE_KEYS, 0.035, 2.5], 19_000.0),
            ],
        ),
        block(
            "1 GB",
            1 << 22,
            &[
                ours("Respire", "respire", [RESPIRE_KEYS, 7.7, 2.0], 4000.0),
                rival("T-Respire", [T_RESPIRE_KEYS, 0.2, 2.0], 296_000.0),
                ours("Pirouette", "pirouette", [PIROUETTE_KEYS, 0.035, 2.5], 26_000.0),
            ],
        ),
        block(
            "8 GB",
            1 << 25,
            &[
                ours("Respire", "respire", [RESPIRE_KEYS, 14.8, 2.0], 29_900.0),
                rival("T-Respire", [T_RESPIRE_KEYS, 0.33, 2.0], 486_000.0),
                ours("Pirouette", "pirouette", [PIROUETTE_KEYS, 0.035, 2.5], 60_000.0),
            ],
        ),
    ],
};

const fn block(database: &'static str, entries: u64, published: &'static [Published]) -> Block {
    Block { database, entry: "256 B", entries, entry_bits: 256 * 8, parts: &[], published }
}

/// A row: KB of keys, query and response, server ms.
const fn row(scheme: &'static str, ours: Option<Ours>, kb: [f64; 3], server_ms: f64) -> Published {
    let [keys, query, response] = kb;
    let total_kb = keys + query + response;
    Published { scheme, ours, offline_s: None, kb: Some(kb), total_kb, server_ms, parts_ms: &[] }
}

/// A scheme that papir does not have.
const fn rival(scheme: &'static str, kb: [f64; 3], server_ms: f64) -> Published {
    row(scheme, None, kb, server_ms)
}

/// A scheme that papir has, its polynomials as bytes.
const fn ours(scheme: &'static str, name: &'static str, kb: [f64; 3], server_ms: f64) -> Published {
    row(scheme, Some(Ours { scheme: name, choice: Choice::Goal(Goal::Balanced) }), kb, server_ms)
}
