//! Typed schemes with the parts of an answer timed.

use papir_core::scheme::{Scheme, Server, Session};
use papir_core::{Error as CoreError, Goal, Shape};

use crate::Result;
use crate::clock::Laps;

/// Choice of parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The scheme's choice for a goal.
    Goal(Goal),
    /// This number of columns, the first dimension.
    Columns(u64),
    /// The scheme's choice for a goal, where clients register.
    Registered {
        /// The goal.
        goal: Goal,
        /// Bits of the LWE key in one number of a query; `None` leaves them to the scheme.
        key_bits: Option<usize>,
        /// Whether clients hold their tickets.
        hold: bool,
    },
    /// Number of columns and 16-bit words in a packed unit of the first level: N/t and γ₀ of
    /// InsPIRe⁽²⁾.
    Packed {
        /// N/t.
        columns: u64,
        /// γ₀.
        words: u64,
    },
}

/// Output of a setup stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The encoded database.
    Encode,
    /// The hint that clients download.
    Hint,
    /// Material that only the server uses.
    Material,
}

/// A scheme that can be measured.
pub trait Measured: Scheme {
    /// Parameters for a shape.
    ///
    /// # Errors
    /// Those of the scheme's constructors; [`crate::Error::Usage`] for an unsupported choice.
    fn params(shape: Shape, choice: Choice) -> Result<Self::Params>;

    /// The output of a setup stage by its name; `None` for an unknown name.
    fn part(stage: &str) -> Option<Part> {
        match stage {
            "encode" | "copy records" => Some(Part::Encode),
            "hint" => Some(Part::Hint),
            "pack" => Some(Part::Material),
            _ => None,
        }
    }

    /// Answers a query and times its stages.
    ///
    /// # Errors
    /// As [`Server::answer`].
    fn answer(
        server: &Self::Server,
        session: Session<'_, Self>,
        query: &Self::Query,
        laps: &mut Laps,
    ) -> Result<Self::Answer, CoreError> {
        laps.time("answer", || server.answer(session, query))
    }
}
