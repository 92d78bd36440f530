//! Ways to choose parameters.

use crate::{Error, FailureBound, Result};

/// The objective of the choice of parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Goal {
    /// Fewest bytes sent and received.
    MinCommunication,
    /// Least time for a client on a 10 Mbit/s connection: transfer plus answer.
    #[default]
    Balanced,
    /// Least work for the server.
    MinTime,
}

impl Goal {
    /// All goals.
    pub const ALL: [Self; 3] = [Self::MinCommunication, Self::Balanced, Self::MinTime];

    /// The goal's name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::MinCommunication => "min-communication",
            Self::Balanced => "balanced",
            Self::MinTime => "min-time",
        }
    }
}

impl std::str::FromStr for Goal {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "min-communication" => Ok(Self::MinCommunication),
            "balanced" => Ok(Self::Balanced),
            "min-time" => Ok(Self::MinTime),
            other => Err(Error::malformed(
                "a goal",
                other,
                "min-communication, balanced or min-time",
            )),
        }
    }
}

/// Requirements for the choice of parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Target {
    /// The objective.
    pub goal: Goal,
    /// The largest allowed probability that an answer does not decode.
    pub failure: FailureBound,
}

impl From<Goal> for Target {
    /// The goal with the default failure probability.
    fn from(goal: Goal) -> Self {
        Self {
            goal,
            ..Self::default()
        }
    }
}

/// A way to choose parameters, with the default failure probability unless a target states one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The scheme's choice for a goal.
    Goal(Goal),
    /// The scheme's choice for a target.
    Target(Target),
    /// The scheme's choice for a target, with neighbouring records in the same rows of a matrix: a
    /// run of changes then changes few rows of the public part.
    RowsFirst(Target),
    /// A first dimension of a fixed number of columns.
    Columns(u64),
    /// The scheme's choice for a goal with clients that register keys.
    Registered {
        /// The goal.
        goal: Goal,
        /// Bits of the LWE key per number in a query; the scheme's choice if `None`.
        key_bits: Option<usize>,
        /// True if clients may send the keys of later queries ahead.
        hold: bool,
    },
    /// A first dimension of `columns` columns, with packs in units of `words` 16-bit words: N/t and
    /// γ₀ of InsPIRe⁽²⁾.
    Packed {
        /// N/t.
        columns: u64,
        /// γ₀.
        words: u64,
    },
    /// Records d ‖ h(d) with a digest, which the client verifies.
    Digests,
}

impl Choice {
    /// The [`Error::NoSuchParameter`] of a scheme that does not support this choice.
    pub fn refused_by(self, scheme: &'static str) -> Error {
        let what = match self {
            Self::Goal(_) | Self::Target(_) => "parameters for this goal",
            Self::RowsFirst(_) => "matrix that records fill rows first",
            Self::Columns(_) => "first dimension to fix",
            Self::Registered { .. } => "registered LWE keys",
            Self::Packed { .. } => "packed first level",
            Self::Digests => "digests of records",
        };
        Error::NoSuchParameter { scheme, what }
    }
}
