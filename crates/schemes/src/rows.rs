//! Rows of a scheme in the tables of the documentation and of tests.
//!
//! Each scheme states its rows in the file `rows.rs` of its folder. The registry takes its list
//! from these rows, and the tests of all schemes take their inputs from them.

use papir_core::scheme::Scheme;

/// A scheme in the list of schemes.
pub trait ListedScheme: Scheme {
    /// Rows of the scheme.
    const ROWS: SchemeRows;
}

/// Rows of one scheme.
#[derive(Clone, Copy, Debug)]
pub struct SchemeRows {
    /// Paper that the scheme implements.
    pub paper: &'static str,
    /// Use of the scheme, in Markdown.
    pub purpose: &'static str,
    /// Assumption on which the scheme's privacy rests, in Markdown.
    pub assumption: &'static str,
    /// Inputs of the conformance suite in everyday tests.
    pub quick: SuiteRow,
    /// Inputs of the conformance suite in long tests.
    pub long: SuiteRow,
    /// Failure probabilities that the scheme keeps, or `None` for a scheme that is not private.
    pub failure: Option<FailureRow>,
    /// Hashes of the scheme's bytes.
    pub golden: GoldenRow,
}

/// Inputs of the conformance suite.
#[derive(Clone, Copy, Debug)]
pub struct SuiteRow {
    /// Pace of the suite, which sets its inputs for every scheme.
    pub pace: SuitePace,
    /// Databases that replace the databases of the pace, or `None` to keep them.
    pub only: Option<SuiteShapes>,
    /// Largest record length in bits. The pace's databases of longer records are left out.
    pub longest: u64,
    /// Number of positions at which each message is damaged, or `None` for the pace's own number.
    pub damaged_positions: Option<usize>,
}

/// Inputs that the conformance suite has for every scheme.
#[derive(Clone, Copy, Debug)]
pub enum SuitePace {
    /// Small databases with every kind of record.
    Quick,
    /// Fewer small databases, and fewer damaged positions.
    Slow,
    /// Larger databases, records up to the longest of all, and more positions.
    Long,
}

/// Databases, as pairs of the number of records and the bits of a record.
#[derive(Clone, Copy, Debug)]
pub struct SuiteShapes {
    /// Databases for the checks of lookups and lengths.
    pub shapes: &'static [(u64, u64)],
    /// Databases for all checks.
    pub thorough: &'static [(u64, u64)],
}

/// Failure probabilities that a scheme keeps.
#[derive(Clone, Copy, Debug)]
pub enum FailureRow {
    /// All failure probabilities down to 2⁻¹²⁸. The conformance suite runs under 2⁻¹²⁸ with these
    /// databases.
    Any(SuiteShapes),
    /// Only 2⁻⁴⁰, with a part of the reason that the scheme's error gives.
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
    /// sections. If clients register, there are also hashes of their keys, of a ticket (in schemes
    /// with tickets) and of the client's state.
    pub hashes: &'static [&'static str],
}

impl SuiteRow {
    /// Inputs with the suite's small databases.
    pub const QUICK: Self = Self::at(SuitePace::Quick);
    /// Inputs for slow schemes.
    pub const SLOW: Self = Self::at(SuitePace::Slow);
    /// Inputs with the suite's larger databases.
    pub const LONG: Self = Self::at(SuitePace::Long);

    const fn at(pace: SuitePace) -> Self {
        Self {
            pace,
            only: None,
            longest: u64::MAX,
            damaged_positions: None,
        }
    }

    /// Returns the inputs with these databases instead.
    pub const fn only(self, shapes: SuiteShapes) -> Self {
        Self {
            only: Some(shapes),
            ..self
        }
    }

    /// Returns the inputs without records of more than `bits` bits.
    pub const fn up_to(self, bits: u64) -> Self {
        Self {
            longest: bits,
            ..self
        }
    }

    /// Returns the inputs with messages damaged at this number of positions.
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
    /// A ZipPIR client decrypts a thousand numbers of 3072 bits for each query. A NewtonPIR client
    /// searches for primes of 1024 bits. The same schemes with short moduli run the whole suite.
    pub const ONE_SMALL: Self = Self {
        shapes: &[(9, 13)],
        thorough: &[],
    };
    /// One shape, because a ticket for thousands of rows takes a good part of a second for any
    /// shape.
    pub const ONE_SHORT: Self = Self {
        shapes: &[(257, 3)],
        thorough: &[],
    };
    /// Databases of few columns.
    pub const FEW_COLUMNS: Self = Self {
        shapes: &[(1, 1), (1021, 8), (300, 2048)],
        thorough: &[(211, 16)],
    };
    /// Databases for the suite under a failure probability of 2⁻¹²⁸, with units of one record.
    pub const TIGHT: Self = Self {
        shapes: &[(509, 512)],
        thorough: &[(211, 264)],
    };
    /// Databases of short records for the suite under a failure probability of 2⁻¹²⁸.
    pub const TIGHT_SHORT: Self = Self {
        shapes: &[(4093, 1)],
        thorough: &[(257, 3)],
    };
    /// Databases of records of a byte for the suite under a failure probability of 2⁻¹²⁸.
    pub const TIGHT_BYTES: Self = Self {
        shapes: &[(1021, 8)],
        thorough: &[(211, 16)],
    };
}
