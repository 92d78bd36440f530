//! How a receiver finds its masked elements.

use std::str::FromStr;

use papir_core::{Error, Sizes};

use super::Filter;

/// Runs of a receiver over which the download of a filter is counted: it is kept.
const RUNS: u64 = 4;
/// Elements of a receiver that costs are compared for.
const ELEMENTS: u64 = 1024;

/// How a receiver finds its masked elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// In a filter that it downloads once.
    Filter,
    /// By private lookups in a table.
    Retrieval,
}

impl Kind {
    /// The one whose messages are fewer bytes, for a thousand elements a few times: a filter of `count`
    /// elements, or queries of batches of so many lookups. The sender's work is not counted: where a filter is
    /// not much longer, it is less work by far.
    pub fn cheaper(count: u64, sizes: &Sizes, batch: usize) -> Self {
        let queries = ELEMENTS.div_ceil(batch.max(1) as u64);
        let retrieval = RUNS * queries * (sizes.query + sizes.answer) + sizes.public;
        if Filter::expected_bytes(count) <= retrieval { Self::Filter } else { Self::Retrieval }
    }

    /// Its name on the command line and in addresses.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Filter => "filter",
            Self::Retrieval => "retrieval",
        }
    }
}

impl FromStr for Kind {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "filter" => Ok(Self::Filter),
            "retrieval" => Ok(Self::Retrieval),
            other => Err(Error::malformed("a kind of intersection", other, "filter or retrieval")),
        }
    }
}
