//! Tables of InsPIRe (Mahdavi, Patel, Seo, Yeo 2025). The paper's machine: an Intel Xeon at 2.6 GHz, one thread.

use super::{Block, Published, Table};

const fn other(scheme: &'static str, offline_s: f64, total_kb: u64, server_ms: f64) -> Published {
    Published { scheme, ours: None, offline_s, total_kb, server_ms }
}

/// InsPIRe at N/t = 2^log_columns.
const fn inspire(log_columns: u32, offline_s: f64, total_kb: u64, server_ms: f64) -> Published {
    Published { scheme: "InsPIRe", ours: Some(("inspire", 1 << log_columns)), offline_s, total_kb, server_ms }
}

/// Table 3: records of 64 bytes.
pub const TABLE_3: Table = Table {
    name: "inspire-3",
    what: "InsPIRe, Table 3: records of 64 B",
    blocks: &[
        Block { database: "1 GB", records: 1 << 24, record_bytes: 64, published: SHORT_1GB },
        Block { database: "8 GB", records: 1 << 27, record_bytes: 64, published: SHORT_8GB },
        Block { database: "32 GB", records: 1 << 29, record_bytes: 64, published: SHORT_32GB },
    ],
};

/// Table 4: records of 32 KB.
pub const TABLE_4: Table = Table {
    name: "inspire-4",
    what: "InsPIRe, Table 4: records of 32 KB",
    blocks: &[
        Block { database: "1 GB", records: 1 << 15, record_bytes: 1 << 15, published: LONG_1GB },
        Block { database: "8 GB", records: 1 << 18, record_bytes: 1 << 15, published: LONG_8GB },
        Block { database: "32 GB", records: 1 << 20, record_bytes: 1 << 15, published: LONG_32GB },
    ],
};

const SHORT_1GB: &[Published] = &[
    other("SimpleYPIR", 119.0, 802, 600.0),
    other("KSPIR", 14.0, 2590, 780.0),
    other("HintlessPIR", 213.0, 2236, 750.0),
    other("InsPIRe(2)", 103.0, 172, 1100.0),
    other("InsPIRe(2)", 66.0, 191, 670.0),
    other("InsPIRe(2)", 47.0, 241, 470.0),
    other("InsPIRe(2)", 42.0, 244, 440.0),
    other("InsPIRe(2)", 37.0, 345, 360.0),
    other("InsPIRe(2)", 35.0, 347, 320.0),
    inspire(13, 87.0, 236, 650.0),
    inspire(14, 77.0, 292, 400.0),
    inspire(15, 98.0, 404, 280.0),
    inspire(16, 99.0, 628, 210.0),
];

const SHORT_8GB: &[Published] = &[
    other("SimpleYPIR", 283.0, 1354, 1850.0),
    other("KSPIR", 118.0, 2926, 5910.0),
    other("HintlessPIR", 1500.0, 4188, 2030.0),
    other("InsPIRe(2)", 402.0, 238, 4680.0),
    other("InsPIRe(2)", 235.0, 264, 2670.0),
    other("InsPIRe(2)", 157.0, 357, 1850.0),
    other("InsPIRe(2)", 118.0, 562, 1390.0),
    other("InsPIRe(2)", 94.0, 986, 1150.0),
    inspire(16, 581.0, 628, 1360.0),
    inspire(17, 579.0, 1076, 1120.0),
    inspire(18, 467.0, 2056, 1020.0),
];

const SHORT_32GB: &[Published] = &[
    other("SimpleYPIR", 706.0, 2246, 5610.0),
    other("KSPIR", 446.0, 3150, 50570.0),
    other("HintlessPIR", 5700.0, 7836, 5910.0),
    other("InsPIRe(2)", 589.0, 397, 7390.0),
    other("InsPIRe(2)", 421.0, 582, 5280.0),
    other("InsPIRe(2)", 379.0, 609, 5260.0),
    other("InsPIRe(2)", 339.0, 993, 4430.0),
    other("InsPIRe(2)", 318.0, 1006, 4410.0),
    other("InsPIRe(2)", 291.0, 1841, 4010.0),
    inspire(17, 2306.0, 1160, 4320.0),
    inspire(18, 2128.0, 1972, 3880.0),
    inspire(19, 2114.0, 3764, 3630.0),
    inspire(20, 2111.0, 7348, 3510.0),
];

const LONG_1GB: &[Published] = &[
    other("SimpleYPIR", 119.0, 802, 600.0),
    other("KSPIR", 14.0, 2590, 780.0),
    other("HintlessPIR", 213.0, 2236, 750.0),
    inspire(10, 307.0, 271, 4270.0),
    inspire(11, 177.0, 278, 2210.0),
    inspire(12, 106.0, 292, 1170.0),
    inspire(13, 83.0, 320, 640.0),
    inspire(14, 72.0, 376, 410.0),
    inspire(15, 86.0, 488, 280.0),
];

const LONG_8GB: &[Published] = &[
    other("SimpleYPIR", 283.0, 1354, 1850.0),
    other("KSPIR", 118.0, 2926, 5910.0),
    other("HintlessPIR", 1500.0, 4188, 2030.0),
    inspire(13, 547.0, 320, 5220.0),
    inspire(14, 470.0, 376, 3010.0),
    inspire(15, 598.0, 488, 1920.0),
    inspire(16, 597.0, 712, 1340.0),
    inspire(17, 538.0, 1160, 1120.0),
    inspire(18, 467.0, 2056, 1020.0),
];

const LONG_32GB: &[Published] = &[
    other("SimpleYPIR", 706.0, 2246, 5610.0),
    other("KSPIR", 446.0, 3150, 50570.0),
    other("HintlessPIR", 5700.0, 7836, 5910.0),
    inspire(14, 2052.0, 472, 15470.0),
    inspire(15, 2581.0, 488, 7640.0),
    inspire(16, 2569.0, 712, 5480.0),
    inspire(17, 2306.0, 1160, 4320.0),
    inspire(18, 2340.0, 2056, 3820.0),
    inspire(19, 2053.0, 3848, 3650.0),
    inspire(20, 1945.0, 7432, 3500.0),
];
