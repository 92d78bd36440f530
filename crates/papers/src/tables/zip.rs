//! Tables of ZipPIR (Akhavan Mahdavi, Diao, Kerschbaum), as printed.
//!
//! The paper's machine: an Intel Xeon Platinum 8276, one thread online. Tables 2 and 3 and Figure 1
//! are the benchmark `compress`. The paper's tables omit the server's precomputation for each query
//! of each client, and the client's decryptions. papir's columns show both.

use papir_core::{Choice, Goal};

use super::{Block, Ours, Published, Table};

/// All tables.
pub const TABLES: &[Table] = &[TABLE_4, TABLE_5];

/// Table 4.
const TABLE_4: Table = Table {
    name: "zip-4",
    what: "ZipPIR, Table 4: records of 16 KB, clients that store nothing",
    notes: &[
        "The paper's databases are square: a query selects a column of 16 KB or more.",
        "Stored per client and query by the paper's ZipPIR: 60, 85, 120 and 170 KB. Stored per client by SealPIR: 1215 KB for 256 and 512 MB, 1350 KB for more; by FastPIR 670 KB, OnionPIR 5538 KB, Spiral 12432 to 14224 KB.",
    ],
    blocks: &[MB_256, MB_512, GB_1, GB_2],
};

const MB_256: Block = large(
    "256 MB",
    1 << 14,
    &[
        rival("SealPIR", [90.0, 181.0], 2455.0),
        rival("FastPIR", [832.0, 64.0], 1851.0),
        rival("OnionPIR", [256.0, 128.0], 3378.0),
        rival("Spiral", [14.0, 20.0], 1633.0),
        rival("HintlessPIR", [424.0, 964.0], 662.0),
        ours("YPIR", "simpleypir", [518.0, 120.0], 388.0),
        ours("ZipPIR", "zip", [617.0, 91.0], 171.0),
    ],
);

const MB_512: Block = large(
    "512 MB",
    1 << 15,
    &[
        rival("SealPIR", [90.0, 181.0], 4564.0),
        rival("FastPIR", [1664.0, 64.0], 2808.0),
        rival("OnionPIR", [256.0, 128.0], 5865.0),
        rival("Spiral", [14.0, 20.0], 3031.0),
        rival("HintlessPIR", [448.0, 964.0], 674.0),
        ours("YPIR", "simpleypir", [574.0, 120.0], 425.0),
        ours("ZipPIR", "zip", [655.0, 128.0], 227.0),
    ],
);

const GB_1: Block = large(
    "1 GB",
    1 << 16,
    &[
        rival("SealPIR", [90.0, 181.0], 9071.0),
        rival("FastPIR", [3328.0, 64.0], 4698.0),
        rival("OnionPIR", [256.0, 128.0], 9662.0),
        rival("Spiral", [14.0, 20.0], 3080.0),
        rival("HintlessPIR", [488.0, 1748.0], 971.0),
        ours("YPIR", "simpleypir", [686.0, 120.0], 515.0),
        ours("ZipPIR", "zip", [708.0, 181.0], 339.0),
    ],
);

const GB_2: Block = large(
    "2 GB",
    1 << 17,
    &[
        rival("SealPIR", [90.0, 181.0], 17692.0),
        rival("FastPIR", [6592.0, 64.0], 8388.0),
        rival("OnionPIR", [256.0, 128.0], 19569.0),
        rival("Spiral", [14.0, 20.0], 4435.0),
        rival("HintlessPIR", [616.0, 1748.0], 1232.0),
        ours("YPIR", "simpleypir", [910.0, 120.0], 704.0),
        ours("ZipPIR", "zip", [782.0, 255.0], 580.0),
    ],
);

/// Table 5.
const TABLE_5: Table = Table {
    name: "zip-5",
    what: "ZipPIR, Table 5: records of 288 B, clients that store hints",
    notes: &[
        "Clients fetch their tickets in advance: the paper's are 6, 12 and 24 KB. Predicted answers include the ticket.",
        "Figures of the other schemes are those that the paper quotes from Patel et al., with client state for one query.",
    ],
    blocks: &[
        small(
            "2^16",
            1 << 16,
            &[
                rival("SealPSIR", [74.0, 256.0], 70.0),
                rival("PaillierPSIR", [12.0, 18.0], 760.0),
                rival("XPSIR", [305.0, 262.0], 20.0),
                held("ZipPIR", "zip", [591.0, 3.0], 16.0),
            ],
        ),
        small(
            "2^18",
            1 << 18,
            &[
                rival("SealPSIR", [84.0, 256.0], 210.0),
                rival("PaillierPSIR", [24.0, 18.0], 1020.0),
                rival("XPSIR", [413.0, 262.0], 120.0),
                held("ZipPIR", "zip", [655.0, 6.0], 40.0),
            ],
        ),
        small(
            "2^20",
            1 << 20,
            &[
                rival("SealPSIR", [104.0, 256.0], 710.0),
                rival("PaillierPSIR", [48.0, 18.0], 1750.0),
                rival("XPSIR", [597.0, 262.0], 520.0),
                held("ZipPIR", "zip", [783.0, 12.0], 120.0),
            ],
        ),
    ],
};

const fn large(database: &'static str, entries: u64, published: &'static [Published]) -> Block {
    Block {
        database,
        entry: "16 KB",
        entries,
        entry_bits: 1 << 17,
        parts: &[],
        published,
    }
}

const fn small(database: &'static str, entries: u64, published: &'static [Published]) -> Block {
    Block {
        database,
        entry: "288 B",
        entries,
        entry_bits: 288 * 8,
        parts: &[],
        published,
    }
}

/// A row: KB of query and response, server ms.
const fn row(
    scheme: &'static str,
    ours: Option<Ours>,
    [query, response]: [f64; 2],
    server_ms: f64,
) -> Published {
    let kb = Some([0.0, query, response]);
    Published {
        scheme,
        ours,
        offline_s: None,
        kb,
        total_kb: query + response,
        server_ms,
        parts_ms: &[],
        scaling: None,
    }
}

/// A scheme that papir does not implement.
const fn rival(scheme: &'static str, kb: [f64; 2], server_ms: f64) -> Published {
    row(scheme, None, kb, server_ms)
}

/// A scheme that papir implements, with the least communication.
const fn ours(scheme: &'static str, name: &'static str, kb: [f64; 2], server_ms: f64) -> Published {
    let choice = Choice::Goal(Goal::MinCommunication);
    row(
        scheme,
        Some(Ours {
            scheme: name,
            choice,
        }),
        kb,
        server_ms,
    )
}

/// A scheme that papir implements, for a client that sends its key ahead.
const fn held(scheme: &'static str, name: &'static str, kb: [f64; 2], server_ms: f64) -> Published {
    let choice = Choice::Registered {
        goal: Goal::MinCommunication,
        key_bits: None,
        hold: true,
    };
    row(
        scheme,
        Some(Ours {
            scheme: name,
            choice,
        }),
        kb,
        server_ms,
    )
}
