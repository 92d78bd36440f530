//! Costs of a scheme on a database: measured, predicted or absent.

use papir_core::cost::{Counts, Rates};
use papir_core::{Description, Sizes};
use serde::Serialize;

use crate::report::{Report, Stages};

/// Costs of a scheme on a database: measured, or exact sizes and predicted times.
#[derive(Clone, Debug, Serialize)]
pub struct Cost {
    /// Bytes of a client's key material.
    pub keys_bytes: u64,
    /// Bytes of a query without the keys.
    pub query_bytes: u64,
    /// Bytes of an answer.
    pub download_bytes: u64,
    /// Bytes of the hint, which a client fetches once for each database version. The paper's
    /// schemes have none.
    pub hint_bytes: u64,
    /// Bytes of the key that was sent ahead of a measured query, and of its answer. It is zero if
    /// predicted: `keys_bytes` and `download_bytes` then include them.
    pub ahead_bytes: u64,
    /// Sum of the five sizes above in KB of 1024 bytes, the paper's unit. It is the cost of a
    /// client's first query.
    pub total_kib: f64,
    /// Sum of the five sizes above in KB of 1000 bytes.
    pub total_kb: f64,
    /// Time of an answer in milliseconds, with `ahead_ms`, or null if the cost model does not count
    /// its work.
    pub server_ms: Option<f64>,
    /// Time of the answer to the key that was sent ahead, in milliseconds. It is null if none was
    /// sent ahead.
    pub ahead_ms: Option<f64>,
    /// Answer time divided by the time of reading the database once, or null if not measured.
    pub reads: Option<f64>,
    /// Time to prepare the database in seconds.
    pub offline_s: Option<f64>,
    /// Time of a client's query in milliseconds.
    pub query_ms: Option<f64>,
    /// Time of the server's precomputation for a registered client's query, in seconds. It is null
    /// if predicted, and in schemes without tickets.
    pub ticket_s: Option<f64>,
    /// Bytes of the precomputed ticket.
    pub ticket_bytes: Option<u64>,
    /// Time of the client's precomputation for a query, in seconds.
    pub client_cold_s: Option<f64>,
    /// Stages of the answer in milliseconds. There are none if predicted.
    pub stages: Stages,
    /// True if every retrieved record was correct, or null if none was retrieved.
    pub correct: Option<bool>,
}

/// Bytes of the messages of a lookup.
struct SentBytes {
    keys_bytes: u64,
    query_bytes: u64,
    download_bytes: u64,
    hint_bytes: u64,
    ahead_bytes: u64,
}

impl Cost {
    /// Creates costs with message sizes only.
    fn sent(sent: SentBytes) -> Self {
        let SentBytes {
            keys_bytes,
            query_bytes,
            download_bytes,
            hint_bytes,
            ahead_bytes,
        } = sent;
        let once = keys_bytes + hint_bytes;
        let total = (once + ahead_bytes + query_bytes + download_bytes) as f64;

        Self {
            keys_bytes,
            query_bytes,
            download_bytes,
            hint_bytes,
            ahead_bytes,
            total_kib: total / 1024.0,
            total_kb: total / 1000.0,
            server_ms: None,
            ahead_ms: None,
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

    /// Returns the costs of a measurement.
    pub fn measured(report: Report) -> Self {
        // The server's whole work for a lookup, whenever it does it.
        let server_ms = report.answer_ms + report.ahead_ms.unwrap_or(0.0);

        Self {
            server_ms: Some(server_ms),
            ahead_ms: report.ahead_ms,
            reads: Some(report.reads),
            offline_s: Some(report.offline_s),
            query_ms: Some(report.query_ms),
            ticket_s: report.ticket_s,
            ticket_bytes: report.ticket_bytes,
            client_cold_s: report.client_cold_s,
            stages: report.stages,
            correct: Some(report.correct),
            ..Self::sent(SentBytes {
                keys_bytes: report.keys_bytes,
                query_bytes: report.query_bytes,
                download_bytes: report.download_bytes,
                hint_bytes: report.hint_bytes,
                ahead_bytes: report.ahead_bytes.unwrap_or(0),
            })
        }
    }

    /// Returns exact sizes and predicted times of a parameter choice.
    pub fn predicted(description: &Description, rates: &Rates, threads: usize) -> Self {
        let Sizes {
            keys,
            ticket,
            query_keys,
            query,
            answer,
            hint,
            ..
        } = description.sizes;

        // Work that a scheme does not count is unknown, not free: no seconds are no prediction.
        let seconds =
            |counts: &Counts| Some(counts.seconds(rates, threads)).filter(|&seconds| seconds > 0.0);
        let milliseconds = |counts| seconds(counts).map(|seconds| 1e3 * seconds);
        let work = &description.work;

        Self {
            server_ms: milliseconds(&work.answer),
            offline_s: seconds(&work.setup),
            query_ms: milliseconds(&work.query),
            ticket_bytes: Some(ticket).filter(|&bytes| bytes > 0),
            ..Self::sent(SentBytes {
                // Key material in a query counts as keys, so that the total has it once.
                keys_bytes: keys + query_keys,
                query_bytes: query - query_keys,
                download_bytes: answer,
                hint_bytes: hint,
                ahead_bytes: 0,
            })
        }
    }
}

/// Costs of a scheme on a database, or the reason why there are none.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum Status {
    /// papir has no comparable scheme.
    NotCompared,
    /// The scheme is not built in.
    NotBuiltIn,
    /// The scheme has no parameters for this configuration.
    NoParameters {
        /// Reason that the scheme gives.
        reason: String,
    },
    /// Costs are predicted, because the database exceeds the limit or free memory.
    Predicted(Cost),
    /// Costs are measured.
    Measured(Cost),
}

impl Status {
    /// Returns the costs, or `None` if there are none.
    pub fn cost(&self) -> Option<&Cost> {
        match self {
            Self::Predicted(cost) | Self::Measured(cost) => Some(cost),
            Self::NotCompared | Self::NotBuiltIn | Self::NoParameters { .. } => None,
        }
    }

    /// Returns a short description of the origin of the figures.
    pub fn label(&self) -> &'static str {
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
