//! Table 8: InsPIRe⁽²⁾ by N/t and entry size.
//!
//! γ₀ = γ₂ words of 16 bits; γ₁ = 1024 throughout.

use super::rows::{self, packed};
use crate::tables::{Block, Published, Table};

/// Table 8.
pub const TABLE_8: Table = Table {
    name: "inspire-8",
    what: "InsPIRe, Table 8: InsPIRe(2) by N/t and entry size",
    notes: &[],
    blocks: &[
        SHORT_1GB,
        MEDIUM_1GB,
        LONG_1GB,
        SHORT_8GB,
        MEDIUM_8GB,
        LONG_8GB,
        SHORT_32GB,
        MEDIUM_32GB,
        LONG_32GB,
    ],
};

/// The parts of the server time.
const PARTS: &[&str] = &[
    "first product",
    "first packing",
    "second product",
    "second packing",
    "third packing",
];

const fn block(
    database: &'static str,
    entry: &'static str,
    entries: u64,
    entry_bits: u64,
    rows: &'static [Published],
) -> Block {
    Block {
        parts: PARTS,
        ..rows::block(database, entry, entries, entry_bits, rows)
    }
}

/// N/t = 2^`log_columns` and γ₀; KB of the query and of the total; the parts of the server time in
/// ms, and their sum. Keys are 80 KB and the download is 52 KB everywhere; offline time is not
/// printed.
const fn row(
    log_columns: u32,
    words: u64,
    [query, total_kb]: [f64; 2],
    parts_ms: &'static [f64],
    server_ms: f64,
) -> Published {
    let ours = Some(packed(log_columns, words));
    let kb = Some([80.0, query, 52.0]);
    Published {
        scheme: "InsPIRe(2)",
        ours,
        offline_s: None,
        kb,
        total_kb,
        server_ms,
        parts_ms,
        scaling: None,
    }
}

const SHORT_1GB: Block = block(
    "1 GB",
    "32 B",
    1 << 25,
    256,
    &[
        row(
            13,
            16,
            [80.0, 211.0],
            &[104.0, 549.0, 3.7, 28.0, 10.0],
            750.0,
        ),
        row(
            14,
            16,
            [119.0, 251.0],
            &[104.0, 277.0, 1.8, 29.0, 9.0],
            470.0,
        ),
        row(
            15,
            16,
            [219.0, 350.0],
            &[104.0, 140.0, 1.0, 29.0, 9.0],
            330.0,
        ),
        row(
            16,
            16,
            [427.0, 559.0],
            &[102.0, 67.0, 0.5, 28.0, 9.0],
            260.0,
        ),
    ],
);

const MEDIUM_1GB: Block = block(
    "1 GB",
    "64 B",
    1 << 24,
    512,
    &[
        row(
            12,
            32,
            [53.0, 185.0],
            &[102.0, 966.0, 3.3, 29.0, 24.0],
            1180.0,
        ),
        row(
            13,
            32,
            [66.0, 198.0],
            &[104.0, 487.0, 1.9, 29.0, 21.0],
            690.0,
        ),
        row(
            14,
            32,
            [113.0, 244.0],
            &[101.0, 224.0, 1.2, 28.0, 21.0],
            440.0,
        ),
        row(
            15,
            32,
            [215.0, 347.0],
            &[102.0, 112.0, 0.8, 28.0, 21.0],
            320.0,
        ),
    ],
);

const LONG_1GB: Block = block(
    "1 GB",
    "128 B",
    1 << 23,
    1024,
    &[
        row(
            12,
            64,
            [40.0, 172.0],
            &[104.0, 852.0, 2.0, 29.0, 57.0],
            1100.0,
        ),
        row(
            13,
            64,
            [60.0, 191.0],
            &[103.0, 429.0, 1.1, 29.0, 58.0],
            670.0,
        ),
        row(
            14,
            64,
            [109.0, 241.0],
            &[102.0, 211.0, 0.6, 28.0, 55.0],
            470.0,
        ),
        row(
            15,
            64,
            [214.0, 345.0],
            &[102.0, 107.0, 0.4, 29.0, 59.0],
            360.0,
        ),
    ],
);

const SHORT_8GB: Block = block(
    "8 GB",
    "32 B",
    1 << 28,
    256,
    &[
        row(
            14,
            16,
            [212.0, 344.0],
            &[844.0, 2221.0, 13.7, 34.0, 10.0],
            3150.0,
        ),
        row(
            15,
            16,
            [265.0, 397.0],
            &[819.0, 1038.0, 7.1, 29.0, 10.0],
            1960.0,
        ),
        row(
            16,
            16,
            [450.0, 582.0],
            &[911.0, 538.0, 3.9, 30.0, 11.0],
            1550.0,
        ),
        row(
            17,
            16,
            [861.0, 993.0],
            &[836.0, 289.0, 1.7, 30.0, 9.0],
            1210.0,
        ),
    ],
);

const MEDIUM_8GB: Block = block(
    "8 GB",
    "64 B",
    1 << 27,
    512,
    &[
        row(
            14,
            32,
            [159.0, 291.0],
            &[827.0, 1837.0, 7.0, 30.0, 23.0],
            2850.0,
        ),
        row(
            15,
            32,
            [238.0, 370.0],
            &[845.0, 994.0, 4.1, 28.0, 22.0],
            1930.0,
        ),
        row(
            16,
            32,
            [437.0, 569.0],
            &[827.0, 480.0, 2.0, 30.0, 20.0],
            1420.0,
        ),
        row(
            17,
            32,
            [855.0, 986.0],
            &[824.0, 225.0, 1.1, 28.0, 20.0],
            1150.0,
        ),
    ],
);

const LONG_8GB: Block = block(
    "8 GB",
    "128 B",
    1 << 26,
    1024,
    &[
        row(
            13,
            64,
            [106.0, 238.0],
            &[849.0, 3462.0, 6.4, 34.0, 63.0],
            4680.0,
        ),
        row(
            14,
            64,
            [132.0, 264.0],
            &[840.0, 1681.0, 3.9, 28.0, 59.0],
            2670.0,
        ),
        row(
            15,
            64,
            [225.0, 357.0],
            &[823.0, 875.0, 1.7, 28.0, 56.0],
            1850.0,
        ),
        row(
            16,
            64,
            [431.0, 562.0],
            &[814.0, 424.0, 1.1, 28.0, 56.0],
            1390.0,
        ),
    ],
);

const SHORT_32GB: Block = block(
    "32 GB",
    "32 B",
    1 << 30,
    256,
    &[
        row(
            15,
            16,
            [424.0, 556.0],
            &[4336.0, 8404.0, 37.9, 28.0, 11.0],
            11780.0,
        ),
        row(
            16,
            16,
            [530.0, 662.0],
            &[3308.0, 2049.0, 13.7, 103.0, 10.0],
            5540.0,
        ),
        row(
            17,
            16,
            [901.0, 1033.0],
            &[3430.0, 1055.0, 7.1, 27.0, 10.0],
            4560.0,
        ),
        row(
            18,
            16,
            [1722.0, 1854.0],
            &[3406.0, 555.0, 3.3, 29.0, 10.0],
            4070.0,
        ),
    ],
);

const MEDIUM_32GB: Block = block(
    "32 GB",
    "64 B",
    1 << 29,
    512,
    &[
        row(
            15,
            32,
            [318.0, 450.0],
            &[3419.0, 4131.0, 13.3, 36.0, 24.0],
            7760.0,
        ),
        row(
            16,
            32,
            [477.0, 609.0],
            &[3279.0, 1855.0, 7.0, 32.0, 24.0],
            5260.0,
        ),
        row(
            17,
            32,
            [874.0, 1006.0],
            &[3325.0, 935.0, 3.9, 29.0, 23.0],
            4410.0,
        ),
        row(
            18,
            32,
            [1709.0, 1841.0],
            &[3434.0, 494.0, 2.0, 30.0, 22.0],
            4010.0,
        ),
    ],
);

const LONG_32GB: Block = block(
    "32 GB",
    "128 B",
    1 << 28,
    1024,
    &[
        row(
            15,
            64,
            [265.0, 397.0],
            &[3369.0, 3778.0, 6.8, 36.0, 62.0],
            7390.0,
        ),
        row(
            16,
            64,
            [450.0, 582.0],
            &[3313.0, 1685.0, 3.6, 31.0, 61.0],
            5280.0,
        ),
        row(
            17,
            64,
            [861.0, 993.0],
            &[3391.0, 870.0, 1.9, 30.0, 57.0],
            4430.0,
        ),
    ],
);
