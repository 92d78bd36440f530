//! Parameters to choose from.

use crate::cost::Rates;
use crate::scheme::Goal;
use crate::sizes::Description;
use crate::{Error, Result};

/// Parameters that a scheme offers for a shape, for the planner.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// A few words that distinguish this candidate from the scheme's others.
    pub label: String,
    /// The properties of these parameters.
    pub description: Description,
    /// The encoded parameters, for [`crate::erased::ErasedScheme::setup_candidate`].
    pub parameters: Vec<u8>,
}

impl Candidate {
    /// The candidate with this label.
    ///
    /// # Errors
    /// [`Error::Parameters`] with the labels that there are.
    pub fn named(all: Vec<Self>, scheme: &'static str, label: &str) -> Result<Self> {
        let labels: Vec<String> = all.iter().map(|one| format!("`{}`", one.label)).collect();
        all.into_iter().find(|one| one.label == label).ok_or_else(|| {
            let reason = format!("there are no `{label}` for this shape; there are {}", labels.join(", "));
            Error::Parameters { scheme, reason }
        })
    }

    /// Seconds of a lookup that a goal minimises, on a modest machine and a line of 10 Mbit/s, to compare
    /// databases of different shapes. `once` is the number of bytes that a client fetches in addition
    /// to the public part. What is fetched once is spread over a hundred lookups.
    pub fn seconds(&self, goal: Goal, once: u64) -> f64 {
        const BYTE: f64 = 8.0 / 1e7;
        let sizes = &self.description.sizes;
        let line = BYTE * ((sizes.query + sizes.answer) as f64 + (sizes.public + once) as f64 / 100.0);
        let work = self.description.work.answer.core_seconds(&Rates::BUILT_IN);
        match goal {
            Goal::MinCommunication => line,
            Goal::Balanced => line + work,
            Goal::MinTime => line / 1000.0 + work,
        }
    }
}
