//! Media types of request and response bodies.

/// Queries, answers, keys, tickets, public parts and filters.
pub const BINARY: &str = "application/octet-stream";
/// Descriptions.
pub const JSON: &str = "application/json";
/// Errors: problem details (RFC 9457).
pub const PROBLEM: &str = "application/problem+json";
/// Signed checkpoints and their proofs.
pub const TEXT: &str = "text/plain; charset=utf-8";
/// Metrics, in the text format of Prometheus.
pub const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";
