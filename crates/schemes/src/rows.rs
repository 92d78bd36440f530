//! Rows of a scheme in the tables of the documentation and of tests.
//!
//! Each scheme states its rows in the file `rows.rs` of its folder. The registry makes its list of
//! them, and the tests of all schemes their inputs.

use papir_core::scheme::Scheme;

/// A scheme of the registry.
pub trait ListedScheme: Scheme {
    /// Its rows.
    const ROWS: SchemeRows;
}

/// Rows of one scheme.
#[derive(Clone, Copy, Debug)]
pub struct SchemeRows {
    /// The paper that it implements.
    pub paper: &'static str,
    /// Its use, in Markdown.
    pub purpose: &'static str,
    /// The assumption that its privacy rests on, in Markdown.
    pub assumption: &'static str,
    /// The conformance suite in everyday tests.
    pub quick: SuiteRow,
    /// The conformance suite in long tests.
    pub long: SuiteRow,
    /// Failure probabilities below 2⁻⁴⁰; `None` for a scheme that is not private.
    pub failure: Option<FailureRow>,
    /// Hashes of its bytes.
    pub golden: GoldenRow,
}

/// Inputs of the conformance suite.
#[derive(Clone, Copy, Debug)]
pub struct SuiteRow {
    /// Inputs that the suite has for every scheme.
    pub pace: SuitePace,
    /// Databases in place of the pace's own.
    pub only: Option<SuiteShapes>,
    /// Longest records in bits; the pace's databases of longer ones are left out.
    pub longest: u64,
    /// Positions at which each message is damaged, in place of the pace's own.
    pub damaged_positions: Option<usize>,
}

/// Inputs that the conformance suite has for every scheme.
#[derive(Clone, Copy, Debug)]
pub enum SuitePace {
    /// Small databases with every kind of record.
    Quick,
    /// Fewer of them, and fewer damaged positions.
    Slow,
    /// Larger databases, records up to 256 KiB, and more positions.
    Long,
}

/// Databases as pairs of records and bits of a record.
#[derive(Clone, Copy, Debug)]
pub struct SuiteShapes {
    /// For the checks of lookups and lengths.
    pub shapes: &'static [(u64, u64)],
    /// For all checks.
    pub thorough: &'static [(u64, u64)],
}

/// Failure probabilities that a scheme keeps.
#[derive(Clone, Copy, Debug)]
pub enum FailureRow {
    /// Down to 2⁻¹²⁸, under which the conformance suite runs with these databases.
    Any(SuiteShapes),
    /// 2⁻⁴⁰ only, with a part of the reason that its error gives.
    DefaultOnly(&'static str),
}

/// Hashes of the bytes of a small database, of its messages and of a client's state.
#[derive(Clone, Copy, Debug)]
pub struct GoldenRow {
    /// Number of records.
    pub records: u64,
    /// Bytes of a record.
    pub record_bytes: u64,
    /// First bytes of each hash, in hexadecimal: of the public part, a query, its answer and all
    /// sections; if clients register, also of their keys, of a ticket (in schemes with tickets) and
    /// of the client's state.
    pub hashes: &'static [&'static str],
}

impl SuiteRow {
    /// The suite's small databases.
    pub const QUICK: Self = Self::at(SuitePace::Quick);
    /// The suite's inputs for slow schemes.
    pub const SLOW: Self = Self::at(SuitePace::Slow);
    /// The suite's larger databases.
    pub const LONG: Self = Self::at(SuitePace::Long);

    const fn at(pace: SuitePace) -> Self {
        Self {
            pace,
            only: None,
            longest: u64::MAX,
            damaged_positions: None,
        }
    }

    /// With these databases.
    pub const fn only(self, shapes: SuiteShapes) -> Self {
        Self {
            only: Some(shapes),
            ..self
        }
    }

    /// Without records of more than `bits` bits.
    pub const fn up_to(self, bits: u64) -> Self {
        Self {
            longest: bits,
            ..self
        }
    }

    /// With messages damaged at this number of positions.
    pub const fn damaged_at(self, positions: usize) -> Self {
        Self {
            damaged_positions: Some(positions),
            ..self
        }
    }
}

impl SuiteShapes {
    /// One shape, for schemes with slow clients.
    ///
    /// A ZipPIR client decrypts a thousand numbers of 3072 bits for each query; a NewtonPIR client
    /// searches for primes of 1024 bits. The same schemes with short moduli run the whole suite.
    pub const ONE_SMALL: Self = Self {
        shapes: &[(9, 13)],
        thorough: &[],
    };
    /// One shape, as a ticket for thousands of rows takes a good part of a second for any shape.
    pub const ONE_SHORT: Self = Self {
        shapes: &[(257, 3)],
        thorough: &[],
    };
    /// Databases of few columns.
    pub const FEW_COLUMNS: Self = Self {
        shapes: &[(1, 1), (1021, 8), (300, 2048)],
        thorough: &[(211, 16)],
    };
    /// Databases for the suite under a failure probability of 2⁻¹²⁸: one of units of one record.
    pub const TIGHT: Self = Self {
        shapes: &[(509, 512)],
        thorough: &[(211, 264)],
    };
    /// One of short records.
    pub const TIGHT_SHORT: Self = Self {
        shapes: &[(4093, 1)],
        thorough: &[(257, 3)],
    };
    /// One of records of a byte.
    pub const TIGHT_BYTES: Self = Self {
        shapes: &[(1021, 8)],
        thorough: &[(211, 16)],
    };
}
