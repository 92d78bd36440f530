//! Definitions of the named benchmarks.

use papir_core::{Choice, Goal};

use crate::batch::BatchConfig;
use crate::psi::PsiConfig;

/// The work of a benchmark.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BenchWork<'a> {
    /// Measures schemes on one database.
    Schemes {
        /// Names of the schemes.
        schemes: &'a [&'a str],
        /// Number of records of the database.
        records: u64,
        /// Bits of a record.
        record_bits: u64,
        /// Choice of the parameters.
        choice: Choice,
    },
    /// Compares a batch with single lookups.
    Batch(BatchConfig<'a>),
    /// Measures a private set intersection.
    Psi(PsiConfig),
}

/// A named benchmark.
#[derive(Clone, Copy, Debug)]
pub struct Definition {
    /// Name on the command line.
    pub name: &'static str,
    /// Description in one line.
    pub what: &'static str,
    /// Work of the benchmark.
    pub work: BenchWork<'static>,
    /// Work that takes about a second, for tests.
    pub tiny: BenchWork<'static>,
}

const BALANCED: Choice = Choice::Goal(Goal::Balanced);
const LEAST: Choice = Choice::Goal(Goal::MinCommunication);

const fn inspire(records: u64, record_bytes: u64, choice: Choice) -> BenchWork<'static> {
    of_bits(&["inspire"], records, 8 * record_bytes, choice)
}

const fn of_bits(
    schemes: &'static [&'static str],
    records: u64,
    record_bits: u64,
    choice: Choice,
) -> BenchWork<'static> {
    BenchWork::Schemes {
        schemes,
        records,
        record_bits,
        choice,
    }
}

const fn comparison(records: u64, record_bytes: u64) -> BenchWork<'static> {
    of_bits(
        &["inspire", "simple", "simpleypir", "plain"],
        records,
        8 * record_bytes,
        BALANCED,
    )
}

const fn set_of(sender: u64, label_bytes: Option<usize>) -> PsiConfig {
    PsiConfig {
        receiver: 1000,
        sender,
        label_bytes,
        batch: 64,
    }
}

/// All named benchmarks.
pub const ALL: &[Definition] = &[
    Definition {
        name: "inspire-256mib",
        what: "InsPIRe, 256 MiB in records of 64 B, N/t = 2^14",
        work: inspire(1 << 22, 64, Choice::Columns(1 << 14)),
        tiny: inspire(1 << 12, 64, Choice::Columns(16)),
    },
    Definition {
        name: "inspire-1gib",
        what: "InsPIRe, 1 GiB in records of 64 B, N/t = 2^16",
        work: inspire(1 << 24, 64, Choice::Columns(1 << 16)),
        tiny: inspire(1 << 12, 64, Choice::Columns(64)),
    },
    Definition {
        name: "inspire-1gib-t16",
        what: "InsPIRe, 1 GiB in records of 64 B, N/t = 2^14: smaller query, more packing",
        work: inspire(1 << 24, 64, Choice::Columns(1 << 14)),
        tiny: inspire(1 << 10, 64, Choice::Columns(4)),
    },
    Definition {
        name: "inspire-32kib",
        what: "InsPIRe, 1 GiB in records of 32 KiB, N/t = 2^15",
        work: inspire(1 << 15, 1 << 15, Choice::Columns(1 << 15)),
        tiny: inspire(5, 1 << 13, Choice::Columns(5)),
    },
    Definition {
        name: "inspire2-1gib",
        what: "InsPIRe(2), 1 GiB in records of 64 B, N/t = 2^13",
        work: of_bits(&["inspire2"], 1 << 24, 512, Choice::Columns(1 << 13)),
        tiny: of_bits(&["inspire2"], 1 << 10, 512, Choice::Columns(32)),
    },
    Definition {
        name: "bits-1gib",
        what: "InsPIRe(0), YPIR and InsPIRe(2) on 1 GiB of records of one bit",
        work: of_bits(&["inspire0", "ypir", "inspire2"], 1 << 33, 1, BALANCED),
        tiny: of_bits(&["inspire0", "ypir", "inspire2"], 1 << 12, 1, BALANCED),
    },
    Definition {
        name: "devices",
        what: "device enrollment: 20 million records of 64 B, least communication",
        work: of_bits(&["inspire", "inspire2"], 20_000_000, 512, LEAST),
        tiny: of_bits(&["inspire", "inspire2"], 1000, 512, LEAST),
    },
    Definition {
        name: "demo",
        what: "InsPIRe on a database of the demo's shape: 108 records of 4 KiB",
        work: inspire(108, 1 << 12, BALANCED),
        tiny: inspire(27, 1 << 12, BALANCED),
    },
    Definition {
        name: "compare-256mib",
        what: "InsPIRe and its baselines on 256 MiB in records of 64 B",
        work: comparison(1 << 22, 64),
        tiny: comparison(1 << 10, 64),
    },
    Definition {
        name: "compare-32kib",
        what: "InsPIRe and its baselines on 256 MiB in records of 32 KiB",
        work: comparison(1 << 13, 1 << 15),
        tiny: comparison(3, 1 << 13),
    },
    Definition {
        name: "batch",
        what: "a batch of 64 records of 64 B from 1 GiB, against single lookups; adjustable by --size, --batch and others",
        work: BenchWork::Batch(BatchConfig::DEFAULT),
        tiny: BenchWork::Batch(BatchConfig {
            records: 200,
            capacity: 3,
            ..BatchConfig::DEFAULT
        }),
    },
    Definition {
        name: "psi",
        what: "private set intersection: 1,000 elements against 1,000,000, by a filter",
        work: BenchWork::Psi(set_of(1_000_000, None)),
        tiny: BenchWork::Psi(PsiConfig {
            receiver: 8,
            ..set_of(50, None)
        }),
    },
    Definition {
        name: "psi-labels",
        what: "private set intersection: 1,000 elements against 1,000,000 with labels of 32 B",
        work: BenchWork::Psi(set_of(1_000_000, Some(32))),
        tiny: BenchWork::Psi(PsiConfig {
            receiver: 3,
            batch: 2,
            ..set_of(50, Some(32))
        }),
    },
    Definition {
        name: "psi-labels-10m",
        what: "private set intersection: 1,000 elements against 10,000,000 with labels of 32 B",
        work: BenchWork::Psi(set_of(10_000_000, Some(32))),
        tiny: BenchWork::Psi(PsiConfig {
            receiver: 3,
            batch: 2,
            ..set_of(60, Some(32))
        }),
    },
];

/// Returns the benchmark with this name, or `None` if there is none.
pub fn by_name(name: &str) -> Option<&'static Definition> {
    ALL.iter().find(|definition| definition.name == name)
}
