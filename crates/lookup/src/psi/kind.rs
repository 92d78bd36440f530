//! Kinds of a set: filter or retrieval.

use std::str::FromStr;

use papir_core::{Error, Sizes};

use super::filter::Filter;

/// Assumed number of a receiver's runs for each download of a filter or public part.
const RUNS: u64 = 4;
/// Assumed number of elements of a receiver.
const ELEMENTS: u64 = 1024;

/// The way in which receivers find their masked elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// In a filter that receivers download once.
    Filter,
    /// In a table, by private lookups.
    Retrieval,
}

impl Kind {
    /// The kind with fewer bytes of messages for a receiver of 1024 elements that runs four times:
    /// a filter of `count` elements, or queries of `batch` lookups each. It does not count the
    /// sender's work, of which a filter causes far less.
    pub fn cheaper(count: u64, sizes: &Sizes, batch: usize) -> Self {
        let queries = ELEMENTS.div_ceil(batch.max(1) as u64);
        let retrieval = RUNS * queries * (sizes.query + sizes.answer) + sizes.public;
        if Filter::expected_bytes(count) <= retrieval {
            Self::Filter
        } else {
            Self::Retrieval
        }
    }

    /// Name on the command line and in addresses.
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
            other => Err(Error::malformed(
                "a kind of intersection",
                other,
                "filter or retrieval",
            )),
        }
    }
}
