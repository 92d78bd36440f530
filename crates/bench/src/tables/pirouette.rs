//! Tables of Pirouette (Kang, Schild), as printed.
//!
//! The paper's machine: an Intel Xeon Gold 6248R, one core.

use papir_core::{Choice, Goal};

use super::{Block, Ours, Published, Table};

/// 3.9 MB.
const RESPIRE_KEYS: f64 = 3.9 * 1024.0;
/// 91 MB.
const T_RESPIRE_KEYS: f64 = 91.0 * 1024.0;
/// 1.2 GB.
const PIROUETTE_KEYS: f64 = 1.2 * 1024.0 * 1024.0;

/// The rows of an encrypted database, from the paper's milliseconds on one core and on 32.
macro_rules! encrypted {
    ($one:expr, $many:expr) => {
        [
            ours("Pirouette", "pirouette-encrypted", [PIROUETTE_KEYS, 0.035, 2.5], $one),
            rival("Pirouette, 32 cores", [PIROUETTE_KEYS, 0.035, 2.5], $many),
        ]
    };
}

/// All tables.
pub const TABLES: &[Table] = &[TABLE_5, TABLE_8];

/// Tables 5, 6 and 7 combined.
const TABLE_5: Table = Table {
    name: "pirouette-5",
    what: "Pirouette, Tables 5 to 7: records of 256 B on one core",
    notes: &[
        "Totals are for a first query: nearly all of them is keys, which are uploaded once.",
        "The paper's Pirouette has 118.9 bits of security in its ring and 83.1 in its response, Respire 114.7 in its own; papir's have 128.8 and more.",
        "papir's Respire is its query path under Pirouette's parameters, without Respire's own chain of moduli.",
        "T-Respire (AES under encryption, then Respire) is the paper's; decision 20 estimates it from rotation counts.",
        "A query of papir is a payload of 36 bytes in an envelope of 32 (Pirouette).",
    ],
    blocks: &[
        block(
            "256 MB",
            1 << 20,
            &[
                ours("Respire", "respire", [RESPIRE_KEYS, 4.1, 2.0], 1500.0),
                rival("T-Respire", [T_RESPIRE_KEYS, 0.14, 2.0], 217_000.0),
                plain(19_000.0),
            ],
        ),
        block(
            "1 GB",
            1 << 22,
            &[
                ours("Respire", "respire", [RESPIRE_KEYS, 7.7, 2.0], 4000.0),
                rival("T-Respire", [T_RESPIRE_KEYS, 0.2, 2.0], 296_000.0),
                plain(26_000.0),
            ],
        ),
        block(
            "8 GB",
            1 << 25,
            &[
                ours("Respire", "respire", [RESPIRE_KEYS, 14.8, 2.0], 29_900.0),
                rival("T-Respire", [T_RESPIRE_KEYS, 0.33, 2.0], 486_000.0),
                plain(60_000.0),
            ],
        ),
    ],
};

/// Encrypted databases.
const TABLE_8: Table = Table {
    name: "pirouette-8",
    what: "Pirouette, Table 8: encrypted records of 256 B",
    notes: &[
        "The paper's times are extrapolated from the time of one gate; the parallel ones are for 32 cores.",
        "Key sizes are the paper's for plain databases; it prints none for encrypted ones.",
        "papir's encrypted databases have twice their plain size, the paper's about 28 times.",
    ],
    blocks: &[
        block("256 MB", 1 << 20, &encrypted!(202_000.0, 16_000.0)),
        block("1 GB", 1 << 22, &encrypted!(788_000.0, 42_000.0)),
        block("8 GB", 1 << 25, &encrypted!(6_177_000.0, 101_000.0)),
    ],
};

/// Figure 3: the phases of an answer for two databases. The paper prints only their sum.
pub const PHASES: &[Block] = &[
    phases("256 MB", 1 << 20, &[Published { parts_ms: &[19_000.0], ..plain(19_000.0) }]),
    phases("8 GB", 1 << 25, &[Published { parts_ms: &[60_000.0], ..plain(60_000.0) }]),
];

/// A panel of Figure 3.
const fn phases(database: &'static str, entries: u64, published: &'static [Published]) -> Block {
    Block { entry: database, parts: &["all phases"], ..block(database, entries, published) }
}

/// Pirouette on a plain database, with the paper's server time.
const fn plain(server_ms: f64) -> Published {
    ours("Pirouette", "pirouette", [PIROUETTE_KEYS, 0.035, 2.5], server_ms)
}

const fn block(database: &'static str, entries: u64, published: &'static [Published]) -> Block {
    Block { database, entry: "256 B", entries, entry_bits: 256 * 8, parts: &[], published }
}

/// A row: KB of keys, query and response, server ms.
const fn row(scheme: &'static str, ours: Option<Ours>, kb: [f64; 3], server_ms: f64) -> Published {
    let [keys, query, response] = kb;
    let total_kb = keys + query + response;
    Published { scheme, ours, offline_s: None, kb: Some(kb), total_kb, server_ms, parts_ms: &[] }
}

/// A scheme that papir does not implement.
const fn rival(scheme: &'static str, kb: [f64; 3], server_ms: f64) -> Published {
    row(scheme, None, kb, server_ms)
}

/// A scheme that papir implements, with balanced parameters.
const fn ours(scheme: &'static str, name: &'static str, kb: [f64; 3], server_ms: f64) -> Published {
    row(scheme, Some(Ours { scheme: name, choice: Choice::Goal(Goal::Balanced) }), kb, server_ms)
}
