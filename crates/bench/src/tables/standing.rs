//! How papir stands beside a row of the paper: what it costs, or why that is not known.

use papir_core::cost::{Counts, Rates};
use papir_core::{Description, Sizes};
use serde::Serialize;

use crate::report::{Report, Stages};

/// What papir's part of a row costs: measured, or sizes exact and times predicted.
#[derive(Clone, Debug, Serialize)]
pub struct Cost {
    /// Bytes of a client's key material.
    pub keys_bytes: u64,
    /// Bytes of a query without it.
    pub query_bytes: u64,
    /// Bytes of an answer.
    pub download_bytes: u64,
    /// Bytes that depend on the database and that a client fetches once a version; the paper has none.
    pub hint_bytes: u64,
    /// All four in KB of 1024 bytes, as the paper counts them: what a client's first query costs.
    pub total_kib: f64,
    /// The same in KB of 1000 bytes.
    pub total_kb: f64,
    /// An answer; null where its work is not counted.
    pub server_ms: Option<f64>,
    /// × one read of the database; null where none was read.
    pub reads: Option<f64>,
    /// Preparing the database.
    pub offline_s: Option<f64>,
    /// A client's query.
    pub query_ms: Option<f64>,
    /// What the server computes ahead for a query of a registered client; null in schemes without, and where
    /// it was predicted.
    pub ticket_s: Option<f64>,
    /// What it keeps of that.
    pub ticket_bytes: Option<u64>,
    /// What the client computes ahead for a query.
    pub client_cold_s: Option<f64>,
    /// The parts of the answer in ms; none where it was predicted.
    pub stages: Stages,
    /// Whether every retrieved record was right; null where none was retrieved.
    pub correct: Option<bool>,
}

impl Cost {
    /// Bytes of messages, nothing else.
    fn sent([keys_bytes, query_bytes, download_bytes, hint_bytes]: [u64; 4]) -> Self {
        let total = (keys_bytes + query_bytes + download_bytes + hint_bytes) as f64;
        Self {
            keys_bytes,
            query_bytes,
            download_bytes,
            hint_bytes,
            total_kib: total / 1024.0,
            total_kb: total / 1000.0,
            server_ms: None,
            reads: None,
            offline_s: None,
            query_ms: None,
            ticket_s: None,
            ticket_bytes: None,
            client_cold_s: None,
            stages: Stages::default(),
            correct: None,
        }
    }

    pub(super) fn measured(report: Report) -> Self {
        Self {
            server_ms: Some(report.answer_ms),
            reads: Some(report.reads),
            offline_s: Some(report.offline_s),
            query_ms: Some(report.query_ms),
            ticket_s: report.ticket_s,
            ticket_bytes: report.ticket_bytes,
            client_cold_s: report.client_cold_s,
            stages: report.stages,
            correct: Some(report.correct),
            ..Self::sent([report.keys_bytes, report.query_bytes, report.download_bytes, report.hint_bytes])
        }
    }

    pub(super) fn predicted(description: &Description, rates: &Rates, threads: usize) -> Self {
        let Sizes { keys, ticket, query_keys, query, answer, hint, .. } = description.sizes;
        let seconds = |counts: &Counts| Some(counts.seconds(rates, threads)).filter(|&seconds| seconds > 0.0);
        let milliseconds = |counts| seconds(counts).map(|seconds| 1e3 * seconds);
        let work = &description.work;
        Self {
            server_ms: milliseconds(&work.answer),
            offline_s: seconds(&work.setup),
            query_ms: milliseconds(&work.query),
            ticket_bytes: Some(ticket).filter(|&bytes| bytes > 0),
            ..Self::sent([keys + query_keys, query - query_keys, answer, hint])
        }
    }
}

/// How papir stands beside a row of the paper.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum Standing {
    /// It has nothing of that name.
    NotCompared,
    /// The scheme is not among those that are built in.
    NotBuiltIn,
    /// The scheme has no parameters for this configuration.
    NoParameters {
        /// Why.
        reason: String,
    },
    /// The database exceeds the limit or the memory that is free.
    Predicted(Cost),
    /// The database was prepared and queried.
    Measured(Cost),
}

impl Standing {
    /// What it costs, where that is known.
    pub fn cost(&self) -> Option<&Cost> {
        match self {
            Self::Predicted(cost) | Self::Measured(cost) => Some(cost),
            Self::NotCompared | Self::NotBuiltIn | Self::NoParameters { .. } => None,
        }
    }
    /// How the figures came about, in a word or two.
    pub fn words(&self) -> &'static str {
        match self {
            Self::NotCompared => "-",
            Self::NotBuiltIn => "not built in",
            Self::NoParameters { .. } => "no parameters",
            Self::Predicted(_) => "predicted",
            Self::Measured(cost) if cost.correct == Some(false) => "measured, WRONG",
            Self::Measured(_) => "measured, right",
        }
    }
}
