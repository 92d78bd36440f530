//! What a table is made of: databases, and the figures that the paper prints for them.

use std::fmt;

use papir_core::{Choice, Goal, MAX_RECORDS, Shape};

use crate::Result;

/// A table of a paper.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// The name on the command line.
    pub name: &'static str,
    /// Where it stands, and what it compares.
    pub what: &'static str,
    /// What the paper leaves open, and what was taken here.
    pub notes: &'static [&'static str],
    /// Its databases.
    pub blocks: &'static [Block],
}

/// One database of a table, and the schemes that the paper compares on it.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    /// As the paper calls it.
    pub database: &'static str,
    /// An entry as the paper calls it.
    pub entry: &'static str,
    /// Entries.
    pub entries: u64,
    /// Bits of each.
    pub entry_bits: u64,
    /// What the parts of the server's time are, where the paper tells them apart.
    pub parts: &'static [&'static str],
    /// The paper's columns.
    pub published: &'static [Published],
}

impl Block {
    /// The records that papir serves. A database has at most [`MAX_RECORDS`]: where there are more
    /// entries, the next power of two of them stand in a record, and a client takes its own from that.
    ///
    /// # Errors
    /// As [`Shape::new`].
    pub fn shape(&self) -> Result<Shape> {
        let together = self.together();
        Ok(Shape::new(self.entries.div_ceil(together), self.entry_bits.saturating_mul(together))?)
    }

    /// Entries of a record.
    fn together(&self) -> u64 {
        self.entries.div_ceil(MAX_RECORDS).next_power_of_two()
    }

    /// What to know of a database whose records hold several entries.
    pub(super) fn served(&self) -> Option<String> {
        let together = Some(self.together()).filter(|&together| together > 1)?;
        let Self { database, entry, .. } = self;
        Some(format!(
            "{database}, {entry}: papir serves records of {together} entries, {MAX_RECORDS} at most."
        ))
    }
}

/// The paper's figures for one scheme and configuration.
#[derive(Clone, Copy, Debug)]
pub struct Published {
    /// The scheme, as the paper calls it.
    pub scheme: &'static str,
    /// papir's scheme and parameters, where the row is of a scheme that papir has or is to have.
    pub ours: Option<Ours>,
    /// Offline seconds, where they are printed.
    pub offline_s: Option<f64>,
    /// Keys, query and download in KB of 1024 bytes, where they are printed.
    pub kb: Option<[f64; 3]>,
    /// All of them together.
    pub total_kb: f64,
    /// The server's milliseconds.
    pub server_ms: f64,
    /// The parts of those, as the block names them; none where the paper does not tell them apart.
    pub parts_ms: &'static [f64],
}

/// A configuration of papir.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ours {
    /// The scheme's name on the command line.
    pub scheme: &'static str,
    /// Its parameters.
    pub choice: Choice,
}

impl Ours {
    /// A scheme with 2^`log_columns` columns.
    pub const fn columns(scheme: &'static str, log_columns: u32) -> Self {
        Self { scheme, choice: Choice::Columns(1 << log_columns) }
    }

    /// N/t, where it is named.
    pub fn named_columns(&self) -> Option<u64> {
        match self.choice {
            Choice::Columns(columns) | Choice::Packed { columns, .. } => Some(columns),
            Choice::Goal(_) | Choice::Registered { .. } => None,
        }
    }
}

/// A goal as it is typed.
fn named(goal: Goal) -> &'static str {
    match goal {
        Goal::MinCommunication => "min-communication",
        Goal::Balanced => "balanced",
        Goal::MinTime => "min-time",
    }
}

impl fmt::Display for Ours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.choice {
            Choice::Goal(goal) => write!(f, "{}, {}", self.scheme, named(goal)),
            Choice::Registered { goal, key_bits, hold } => {
                write!(f, "{}, {}", self.scheme, named(goal))?;
                key_bits.map_or(Ok(()), |bits| write!(f, ", t = {bits}"))?;
                if hold { write!(f, ", held") } else { Ok(()) }
            }
            Choice::Columns(columns) => write!(f, "{}, N/t = {columns}", self.scheme),
            Choice::Packed { columns, words } => {
                write!(f, "{}, N/t = {columns}, γ0 = {words}", self.scheme)
            }
        }
    }
}
