//! Table 2: entries of one bit.

use super::rows::{block, inspire, rival, row, second, simple_ypir};
use crate::tables::{Block, Ours, Published, Table};

/// Table 2.
pub const TABLE_2: Table = Table {
    name: "inspire-2",
    what: "InsPIRe, Table 2: entries of 1 bit",
    notes: &[],
    blocks: &[GB_1, GB_8, GB_32],
};

const GB_1: Block = block(
    ("1 GB", "1 bit"),
    (1 << 33, 1),
    &[
        ypir(16, 32.0, [384.0, 858.0], 140.0),
        simple_ypir(14, 119.0, [462.0, 112.0, 228.0, 802.0], 600.0),
        rival("KSPIR", 14.0, [2352.0, 14.0, 224.0, 2590.0], 780.0),
        rival("HintlessPIR", 213.0, [360.0, 128.0, 1748.0, 2236.0], 750.0),
        inspire_0(16, 43.0, [384.0, 504.0], 120.0),
        second((12, 64), 103.0, [40.0, 172.0], 1100.0),
        second((13, 64), 66.0, [60.0, 191.0], 670.0),
        second((14, 64), 47.0, [109.0, 241.0], 470.0),
        second((14, 32), 42.0, [113.0, 244.0], 440.0),
        second((15, 64), 37.0, [214.0, 345.0], 360.0),
        second((15, 32), 35.0, [215.0, 347.0], 320.0),
        inspire(13, 87.0, [140.0, 12.0, 236.0], 650.0),
        inspire(14, 77.0, [196.0, 12.0, 292.0], 400.0),
        inspire(15, 99.0, [308.0, 12.0, 404.0], 280.0),
    ],
);

const GB_8: Block = block(
    ("8 GB", "1 bit"),
    (1 << 36, 1),
    &[
        ypir(17, 187.0, [1024.0, 1498.0], 830.0),
        simple_ypir(16, 283.0, [462.0, 448.0, 444.0, 1354.0], 1850.0),
        rival("KSPIR", 118.0, [2688.0, 14.0, 224.0, 2926.0], 5910.0),
        rival("HintlessPIR", 1500.0, [360.0, 512.0, 3316.0, 4188.0], 2030.0),
        inspire_0(17, 200.0, [1024.0, 1144.0], 810.0),
        second((13, 64), 402.0, [106.0, 238.0], 4680.0),
        second((14, 64), 235.0, [132.0, 264.0], 2670.0),
        second((15, 64), 157.0, [225.0, 357.0], 1850.0),
        second((16, 64), 118.0, [431.0, 562.0], 1390.0),
        second((17, 32), 94.0, [855.0, 986.0], 1150.0),
        inspire(16, 581.0, [532.0, 12.0, 628.0], 1360.0),
        inspire(16, 597.0, [532.0, 96.0, 712.0], 1340.0),
        inspire(17, 579.0, [980.0, 12.0, 1076.0], 1120.0),
    ],
);

const GB_32: Block = block(
    ("32 GB", "1 bit"),
    (1 << 38, 1),
    &[
        ypir(18, 724.0, [2048.0, 2522.0], 3390.0),
        simple_ypir(17, 706.0, [462.0, 896.0, 888.0, 2246.0], 5610.0),
        rival("KSPIR", 445.0, [2912.0, 14.0, 224.0, 3150.0], 50570.0),
        rival("HintlessPIR", 5700.0, [360.0, 1024.0, 6452.0, 7836.0], 5910.0),
        inspire_0(18, 731.0, [2048.0, 2168.0], 3390.0),
        second((15, 64), 589.0, [265.0, 397.0], 7390.0),
        second((16, 64), 421.0, [450.0, 582.0], 5280.0),
        second((16, 32), 379.0, [477.0, 609.0], 5260.0),
        second((17, 64), 339.0, [861.0, 993.0], 4430.0),
        second((17, 32), 318.0, [874.0, 1006.0], 4410.0),
        second((18, 32), 291.0, [1709.0, 1841.0], 4010.0),
        inspire(17, 2306.0, [980.0, 96.0, 1160.0], 4320.0),
        inspire(18, 2128.0, [1876.0, 12.0, 1972.0], 3880.0),
        inspire(18, 2340.0, [1876.0, 96.0, 2056.0], 3820.0),
    ],
);

/// DoublePIR with CDKS packing. The query is 4 bytes for each of 2^`log_columns` columns and 8 for each row:
/// 384 KB at 2^16 and 2^14, the sides of 1 GB.
const fn ypir(log_columns: u32, offline_s: f64, [query, total]: [f64; 2], server_ms: f64) -> Published {
    row("YPIR", Some(Ours::columns("ypir", log_columns)), offline_s, [462.0, query, 12.0, total], server_ms)
}

/// DoublePIR with InspiRING, its query that of YPIR.
const fn inspire_0(log_columns: u32, offline_s: f64, [query, total]: [f64; 2], server_ms: f64) -> Published {
    let ours = Some(Ours::columns("inspire0", log_columns));
    row("InsPIRe_0", ours, offline_s, [84.0, query, 36.0, total], server_ms)
}
