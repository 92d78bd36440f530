//! Tables 6 and 7: private queries in IPFS, and device enrollment.

use papir_core::{Choice, Goal};

use super::rows::block;
use crate::tables::{Block, Ours, Published, Table};

/// Table 6.
pub const TABLE_6: Table = Table {
    name: "inspire-6",
    what: "InsPIRe, Table 6: private queries in IPFS",
    notes: &[
        "The figures of Mazmudar et al. are lower bounds, printed with a `>`.",
        "The length of a content discovery record is not printed: 128 B here.",
        "Peer routing is printed with the ring of d = 1024; papir's has d = 2048, and shorter messages.",
    ],
    blocks: &[PEER_ROUTING, CONTENT_DISCOVERY, CONTENT_RETRIEVAL],
};

/// Table 7. Rows of 292 KB and 304 KB have N/t = 2^14 and an answer of one and two ring elements.
pub const TABLE_7: Table = Table {
    name: "inspire-7",
    what: "InsPIRe, Table 7: enrollment of devices, 64 B each",
    notes: &[],
    blocks: &[
        block(
            "20 M",
            "64 B",
            20_000_000,
            512,
            &[inspire(ENROLLMENT, Some(78.0), 292.0, 416.0)],
        ),
        block(
            "40 M",
            "64 B",
            40_000_000,
            512,
            &[inspire(ENROLLMENT, Some(131.0), 292.0, 815.0)],
        ),
        block(
            "80 M",
            "64 B",
            80_000_000,
            512,
            &[inspire(ENROLLMENT, Some(241.0), 304.0, 1400.0)],
        ),
    ],
};

const ENROLLMENT: Choice = Choice::Columns(1 << 14);

/// The goal for IPFS, used if the paper does not print N/t.
const SHORTEST: Choice = Choice::Goal(Goal::MinCommunication);

const PEER_ROUTING: Block = block(
    "peer routing",
    "1.5 KB",
    256,
    1536 * 8,
    &[mazmudar(100.0, 56.0), inspire(SHORTEST, None, 69.0, 51.0)],
);

const CONTENT_DISCOVERY: Block = block(
    "content discovery",
    "128 B",
    200_000,
    1024,
    &[
        mazmudar(280.0, 875.0),
        inspire(SHORTEST, None, 128.0, 123.0),
    ],
);

/// InsPIRe's 1.02 MB are 84 KB of keys, 84 + 112 KB of query at N/t = 2^14, and 64 ring elements of
/// 12 KB.
const CONTENT_RETRIEVAL: Block = block(
    "content retrieval",
    "256 KB",
    1 << 14,
    1 << 21,
    &[
        mazmudar(2.1 * 1024.0, 3000.0),
        inspire(Choice::Columns(1 << 14), None, 1.02 * 1024.0, 1500.0),
    ],
);

const fn inspire(
    choice: Choice,
    offline_s: Option<f64>,
    total_kb: f64,
    server_ms: f64,
) -> Published {
    let ours = Some(Ours {
        scheme: "inspire",
        choice,
    });
    Published {
        scheme: "InsPIRe",
        ours,
        offline_s,
        kb: None,
        total_kb,
        server_ms,
        parts_ms: &[],
        scaling: None,
    }
}

/// The best figures of Mazmudar, Veitch and Mahdavi (Peer2PIR).
const fn mazmudar(total_kb: f64, server_ms: f64) -> Published {
    let scheme = "Mazmudar et al.";
    Published {
        scheme,
        ours: None,
        offline_s: None,
        kb: None,
        total_kb,
        server_ms,
        parts_ms: &[],
        scaling: None,
    }
}
