//! Rows of InsPIRe's tables.

use papir_core::Choice;

use crate::tables::{Block, Ours, Published};

/// A database whose rows do not distinguish parts.
pub(super) const fn block(
    database: &'static str,
    entry: &'static str,
    entries: u64,
    entry_bits: u64,
    published: &'static [Published],
) -> Block {
    Block {
        database,
        entry,
        entries,
        entry_bits,
        parts: &[],
        published,
    }
}

/// A row of Tables 2 to 4: offline seconds; KB of keys, query, download and total; server ms.
pub(super) const fn row(
    scheme: &'static str,
    ours: Option<Ours>,
    offline_s: f64,
    [keys, query, download, total_kb]: [f64; 4],
    server_ms: f64,
) -> Published {
    let kb = Some([keys, query, download]);
    Published {
        scheme,
        ours,
        offline_s: Some(offline_s),
        kb,
        total_kb,
        server_ms,
        parts_ms: &[],
        scaling: None,
    }
}

/// A scheme that papir does not implement.
pub(super) const fn rival(
    scheme: &'static str,
    offline_s: f64,
    kb: [f64; 4],
    server_ms: f64,
) -> Published {
    row(scheme, None, offline_s, kb, server_ms)
}

/// SimplePIR with CDKS packing. Its query has 7 bytes per column: 112 KB at 2^14.
pub(super) const fn simple_ypir(
    log_columns: u32,
    offline_s: f64,
    kb: [f64; 4],
    server_ms: f64,
) -> Published {
    row(
        "SimpleYPIR",
        Some(Ours::columns("simpleypir", log_columns)),
        offline_s,
        kb,
        server_ms,
    )
}

/// InsPIRe at N/t = 2^`log_columns`: its query has 84 KB plus 7 bytes per column.
pub(super) const fn inspire(
    log_columns: u32,
    offline_s: f64,
    [query, download, total]: [f64; 3],
    ms: f64,
) -> Published {
    let ours = Some(Ours::columns("inspire", log_columns));
    row(
        "InsPIRe",
        ours,
        offline_s,
        [84.0, query, download, total],
        ms,
    )
}

/// InsPIRe⁽²⁾ at N/t = 2^`log_columns` with units of γ₀ = `words`. Its query has 53 bits for each
/// of N/t columns and t units of a column.
pub(super) const fn second(
    log_columns: u32,
    words: u64,
    offline_s: f64,
    [query, total]: [f64; 2],
    ms: f64,
) -> Published {
    row(
        "InsPIRe(2)",
        Some(packed(log_columns, words)),
        offline_s,
        [80.0, query, 52.0, total],
        ms,
    )
}

/// papir's configuration of InsPIRe⁽²⁾.
pub(super) const fn packed(log_columns: u32, words: u64) -> Ours {
    Ours {
        scheme: "inspire2",
        choice: Choice::Packed {
            columns: 1 << log_columns,
            words,
        },
    }
}
