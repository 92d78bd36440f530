//! Tables of Pirouette (Kang, Schild), as printed.
//!
//! The paper's machine: an Intel Xeon Gold 6248R, on one core and on 32.

use papir_core::{Choice, Goal};

use super::{Block, Ours, Published, Scaling, Shared, Table};

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
            ours(
                "Pirouette",
                "pirouette-encrypted",
                [PIROUETTE_KEYS, 0.035, 2.5],
                $one,
            ),
            rival("Pirouette, 32 cores", [PIROUETTE_KEYS, 0.035, 2.5], $many),
        ]
    };
}

/// Cores of the paper's parallel columns.
const CORES: usize = 32;

/// The rows of a plain database: Respire's query in KB and milliseconds; blocks of T-Respire's
/// query and milliseconds on one core and on 32; Pirouette's on one core, and on 32 that share
/// phase 0 or everything; factors by which Pirouette's query is smaller than those of Respire and
/// T-Respire.
macro_rules! scaled {
    ([$kb:expr, $respire:expr], [$blocks:expr, $one:expr, $many:expr], [$plain:expr, $zero:expr, $all:expr],
     [$reduction:expr, $transciphered:expr]) => {
        [
            respire([RESPIRE_KEYS, $kb, 2.0], $respire, $reduction),
            transciphered($blocks, 1, $one as f64, Some($transciphered)),
            transciphered($blocks, CORES, $many as f64, None),
            Published {
                scaling: Some(scaling(PIROUETTE, 1, Shared::Nothing)),
                ..plain($plain as f64)
            },
            parallel(
                "Pirouette, phase 0 on 32 cores",
                Shared::PhaseZero,
                $zero as f64,
            ),
            parallel("Pirouette, 32 cores", Shared::Everything, $all as f64),
        ]
    };
}

/// All tables.
pub const TABLES: &[Table] = &[TABLE_5, TABLE_8];

/// Tables 5, 6 and 7 combined.
const TABLE_5: Table = Table {
    name: "pirouette-5",
    what: "Pirouette, Tables 5 to 7: records of 256 B, on one core and on several",
    notes: &[
        "Totals are for a first query: nearly all of them is keys, which are uploaded once.",
        "The paper's Pirouette has 118.9 bits of security in its ring and 83.1 in its response, Respire 114.7 in its own; papir's have 128.7 and more.",
        "papir's Respire is its query path under Pirouette's parameters, without Respire's own chain of moduli.",
        "T-Respire (AES under encryption, then Respire) is not implemented; its times are estimated from rotation counts, and its queries are a block for the counter and the paper's number of blocks.",
        "The paper's captions say 32 cores, its section 5.1 says 16. Its machine and papir's are different ones.",
        "Predicted: the time on one thread, over the speed-up that the cost model extrapolates from rates on several threads (papir plan --calibrate). The bits of an index are extracted on one thread.",
        "A query of papir is a payload of 36 bytes in an envelope of 32 (Pirouette).",
    ],
    blocks: &[
        block(
            "256 MB",
            1 << 20,
            &scaled!(
                [4.1, 1500.0],
                [8, 217_000, 15_000],
                [19_000, 8_000, 7_000],
                [116.0, 4.0]
            ),
        ),
        block(
            "1 GB",
            1 << 22,
            &scaled!(
                [7.7, 4_000.0],
                [12, 296_000, 22_000],
                [26_000, 12_000, 9_000],
                [219.0, 5.7]
            ),
        ),
        block(
            "8 GB",
            1 << 25,
            &scaled!(
                [14.8, 29_900.0],
                [20, 486_000, 59_800],
                [60_000, 51_000, 14_000],
                [420.0, 9.3]
            ),
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
    phases(
        "256 MB",
        1 << 20,
        &[Published {
            parts_ms: &[19_000.0],
            ..plain(19_000.0)
        }],
    ),
    phases(
        "8 GB",
        1 << 25,
        &[Published {
            parts_ms: &[60_000.0],
            ..plain(60_000.0)
        }],
    ),
];

/// A panel of Figure 3.
const fn phases(database: &'static str, entries: u64, published: &'static [Published]) -> Block {
    Block {
        entry: database,
        parts: &["all phases"],
        ..block(database, entries, published)
    }
}

/// Pirouette on a plain database, with the paper's server time.
const fn plain(server_ms: f64) -> Published {
    ours(
        "Pirouette",
        "pirouette",
        [PIROUETTE_KEYS, 0.035, 2.5],
        server_ms,
    )
}

const fn block(database: &'static str, entries: u64, published: &'static [Published]) -> Block {
    Block {
        database,
        entry: "256 B",
        entries,
        entry_bits: 256 * 8,
        parts: &[],
        published,
    }
}

const PIROUETTE: Ours = Ours {
    scheme: "pirouette",
    choice: Choice::Goal(Goal::Balanced),
};
const RESPIRE: Ours = Ours {
    scheme: "respire",
    ..PIROUETTE
};

const fn scaling(ours: Ours, cores: usize, shared: Shared) -> Scaling {
    Scaling {
        ours,
        cores,
        shared,
        blocks: 0,
        reduction: None,
    }
}

/// Respire, with the factor by which Pirouette's query is smaller.
const fn respire(kb: [f64; 3], server_ms: f64, reduction: f64) -> Published {
    let scaling = Scaling {
        reduction: Some(reduction),
        ..scaling(RESPIRE, 1, Shared::Nothing)
    };
    Published {
        scaling: Some(scaling),
        ..ours("Respire", RESPIRE.scheme, kb, server_ms)
    }
}

/// T-Respire: a query of a counter and some AES blocks.
const fn transciphered(
    blocks: usize,
    cores: usize,
    server_ms: f64,
    reduction: Option<f64>,
) -> Published {
    let (name, shared) = if cores == 1 {
        ("T-Respire", Shared::Nothing)
    } else {
        ("T-Respire, 32 cores", Shared::Everything)
    };
    let scaling = Scaling {
        blocks,
        reduction,
        ..scaling(RESPIRE, cores, shared)
    };
    let kb = [T_RESPIRE_KEYS, 16.0 * (blocks + 1) as f64 / 1024.0, 2.0];
    Published {
        scaling: Some(scaling),
        ..rival(name, kb, server_ms)
    }
}

/// Pirouette on several cores.
const fn parallel(scheme: &'static str, shared: Shared, server_ms: f64) -> Published {
    let scaling = Some(scaling(PIROUETTE, CORES, shared));
    Published {
        scaling,
        ..rival(scheme, [PIROUETTE_KEYS, 0.035, 2.5], server_ms)
    }
}

/// A row: KB of keys, query and response, server ms.
const fn row(scheme: &'static str, ours: Option<Ours>, kb: [f64; 3], server_ms: f64) -> Published {
    let [keys, query, response] = kb;
    let total_kb = keys + query + response;
    Published {
        scheme,
        ours,
        offline_s: None,
        kb: Some(kb),
        total_kb,
        server_ms,
        parts_ms: &[],
        scaling: None,
    }
}

/// A scheme that papir does not implement.
const fn rival(scheme: &'static str, kb: [f64; 3], server_ms: f64) -> Published {
    row(scheme, None, kb, server_ms)
}

/// A scheme that papir implements, with balanced parameters.
const fn ours(scheme: &'static str, name: &'static str, kb: [f64; 3], server_ms: f64) -> Published {
    row(
        scheme,
        Some(Ours {
            scheme: name,
            choice: Choice::Goal(Goal::Balanced),
        }),
        kb,
        server_ms,
    )
}
