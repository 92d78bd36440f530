//! Definition of a table: databases, and the paper's figures for them.

use std::fmt;

use papir_core::{Choice, Goal, MAX_RECORDS, Shape, Target};

use serde::Serialize;

use crate::Result;

/// A table of a paper.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// The name on the command line.
    pub name: &'static str,
    /// Its number in the paper, and what it compares.
    pub what: &'static str,
    /// Details that the paper leaves open, and the choices made for them.
    pub notes: &'static [&'static str],
    /// Its databases.
    pub blocks: &'static [Block],
}

/// One database of a table, and the schemes that the paper compares on it.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    /// Its description in the paper.
    pub database: &'static str,
    /// The entry size, in the paper's words.
    pub entry: &'static str,
    /// Number of entries.
    pub entries: u64,
    /// Bits per entry.
    pub entry_bits: u64,
    /// Names of the parts of the server time, if the paper distinguishes them.
    pub parts: &'static [&'static str],
    /// The paper's columns.
    pub published: &'static [Published],
}

impl Block {
    /// The shape of papir's database, which has at most [`MAX_RECORDS`] records. If there are more
    /// entries, each record holds a power of two of them, and the client selects its entry.
    ///
    /// # Errors
    /// Same as [`Shape::new`].
    pub fn shape(&self) -> Result<Shape> {
        let per_record = self.entries_per_record();
        Ok(Shape::new(
            self.entries.div_ceil(per_record),
            self.entry_bits.saturating_mul(per_record),
        )?)
    }

    fn entries_per_record(&self) -> u64 {
        self.entries.div_ceil(MAX_RECORDS).next_power_of_two()
    }

    /// A note for a database whose records hold several entries.
    pub(super) fn note(&self) -> Option<String> {
        let per_record = Some(self.entries_per_record()).filter(|&count| count > 1)?;
        let Self {
            database, entry, ..
        } = self;
        Some(format!(
            "{database}, {entry}: papir serves records of {per_record} entries, at most {MAX_RECORDS} records."
        ))
    }
}

/// The paper's figures for one scheme and configuration.
#[derive(Clone, Copy, Debug)]
pub struct Published {
    /// The scheme, in the paper's words.
    pub scheme: &'static str,
    /// papir's scheme and parameters for this row; `None` if it has no comparable scheme.
    pub ours: Option<Ours>,
    /// True if the row before has the same figures, beside another configuration of papir.
    pub repeated: bool,
    /// Offline seconds, if printed.
    pub offline_s: Option<f64>,
    /// KB that are stored for a client or by it, if printed.
    pub state_kb: Option<f64>,
    /// Keys, query and download in KB of 1024 bytes, if printed.
    pub kb: Option<[f64; 3]>,
    /// Their sum.
    pub total_kb: f64,
    /// The server time in milliseconds.
    pub server_ms: f64,
    /// The parts of the server time in the block's order; empty if the paper does not distinguish
    /// them.
    pub parts_ms: &'static [f64],
    /// Cores of the server time, if the paper compares several.
    pub scaling: Option<Scaling>,
}

/// A configuration of papir.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ours {
    /// The scheme's name on the command line.
    pub scheme: &'static str,
    /// The choice of its parameters.
    pub choice: Choice,
}

impl Ours {
    /// Creates a configuration with 2^`log_columns` columns.
    pub const fn columns(scheme: &'static str, log_columns: u32) -> Self {
        Self {
            scheme,
            choice: Choice::Columns(1 << log_columns),
        }
    }

    /// N/t, if the choice fixes it.
    pub fn named_columns(&self) -> Option<u64> {
        match self.choice {
            Choice::Columns(columns) | Choice::Packed { columns, .. } => Some(columns),
            Choice::Goal(_)
            | Choice::Target(_)
            | Choice::RowsFirst(_)
            | Choice::Registered { .. }
            | Choice::Digests => None,
        }
    }
}

/// The name of a goal on the command line.
fn goal_name(goal: Goal) -> &'static str {
    match goal {
        Goal::MinCommunication => "min-communication",
        Goal::Balanced => "balanced",
        Goal::MinTime => "min-time",
    }
}

impl fmt::Display for Ours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.choice {
            Choice::Goal(goal) | Choice::Target(Target { goal, .. }) => {
                write!(f, "{}, {}", self.scheme, goal_name(goal))
            }
            Choice::Registered {
                goal,
                key_bits,
                hold,
            } => {
                write!(f, "{}, {}", self.scheme, goal_name(goal))?;
                key_bits.map_or(Ok(()), |bits| write!(f, ", t = {bits}"))?;
                if hold { write!(f, ", held") } else { Ok(()) }
            }
            Choice::RowsFirst(Target { goal, .. }) => {
                write!(f, "{}, {}, rows first", self.scheme, goal_name(goal))
            }
            Choice::Columns(columns) => write!(f, "{}, N/t = {columns}", self.scheme),
            Choice::Packed { columns, words } => {
                write!(f, "{}, N/t = {columns}, γ0 = {words}", self.scheme)
            }
            Choice::Digests => write!(f, "{}, digests", self.scheme),
        }
    }
}

/// The work that the cores of a printed time share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SharedWork {
    /// Nothing: one core.
    Nothing,
    /// Phase 0: from the query to selectors and gates.
    PhaseZero,
    /// Everything.
    Everything,
}

/// A printed time on some cores, and papir's configuration to compare with.
#[derive(Clone, Copy, Debug)]
pub struct Scaling {
    /// papir's configuration.
    pub ours: Ours,
    /// Cores of the printed time.
    pub cores: usize,
    /// The work that they share.
    pub shared: SharedWork,
    /// AES blocks that are decrypted under encryption before papir's configuration runs, or zero.
    pub blocks: usize,
    /// The printed factor by which Pirouette's query is smaller.
    pub reduction: Option<f64>,
}
