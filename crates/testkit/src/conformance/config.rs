//! Configuration of the conformance suite.

use papir_core::{FailureBound, Goal, MAX_RECORD_BITS, Shape};

/// Inputs of the suite. Slow schemes use fewer `shapes` in everyday tests.
#[derive(Clone, Debug)]
pub struct ConformanceConfig {
    /// Shapes for the checks of lookups and lengths.
    pub shapes: Vec<Shape>,
    /// Shapes for all checks.
    pub thorough: Vec<Shape>,
    /// Goals for choosing parameters, used in turn for the shapes.
    pub goals: Vec<Goal>,
    /// The largest allowed failure probability.
    pub failure: FailureBound,
    /// Random indices per shape, in addition to the first, the middle and the last.
    pub random_indices: usize,
    /// Positions at which each message is damaged.
    pub damaged_positions: usize,
    /// Threads that query concurrently.
    pub threads: usize,
    /// Seed of all randomness.
    pub seed: u64,
}

/// Shapes from pairs of (records, bits per record).
pub fn shapes(list: &[(u64, u64)]) -> Vec<Shape> {
    list.iter()
        .map(|&(records, bits)| Shape::new(records, bits).expect("a legal shape"))
        .collect()
}

impl ConformanceConfig {
    /// Small databases with every kind of record: seconds for a fast scheme.
    pub fn quick() -> Self {
        Self {
            shapes: shapes(&[
                (1, 1),
                (1, 8),
                (2, 33 * 8),
                (3, 3),
                (4093, 1),
                (1009, 13),
                (1021, 8),
                (509, 64 * 8),
                (61, 4096 * 8),
                (37, 4097 * 8),
            ]),
            thorough: shapes(&[(257, 3), (211, 33 * 8)]),
            goals: vec![Goal::Balanced, Goal::MinCommunication, Goal::MinTime],
            failure: FailureBound::DEFAULT,
            random_indices: 2,
            damaged_positions: 12,
            threads: 4,
            seed: 0x7061_7069_7221,
        }
    }

    /// Like [`Self::quick`], for schemes whose setup or queries take most of a second: fewer shapes
    /// and fewer damaged positions, but all checks.
    pub fn slow() -> Self {
        Self {
            shapes: shapes(&[(1, 1), (4093, 1), (509, 64 * 8), (5, 4097 * 8)]),
            thorough: shapes(&[(211, 33 * 8)]),
            random_indices: 1,
            damaged_positions: 4,
            threads: 2,
            ..Self::quick()
        }
    }

    /// Larger databases, records up to the longest of all, more positions: minutes.
    pub fn long() -> Self {
        let quick = Self::quick();
        let more = shapes(&[
            (1_000_003, 1),
            (262_139, 8),
            (65_537, 64 * 8),
            (1009, 8191),
            (16, 65_536 * 8),
            (3, MAX_RECORD_BITS),
        ]);
        Self {
            shapes: quick.shapes.iter().copied().chain(more).collect(),
            thorough: shapes(&[
                (1, 8),
                (257, 3),
                (211, 33 * 8),
                (4099, 256 * 8),
                (5, 40_000 * 8),
            ]),
            random_indices: 8,
            damaged_positions: 60,
            threads: 8,
            ..quick
        }
    }
}
