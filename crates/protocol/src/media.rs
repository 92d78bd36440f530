//! Media types of request and response bodies.

/// The media type of queries, answers, keys, tickets, public parts and filters.
pub const BINARY: &str = "application/octet-stream";
/// The media type of a short message of a registered client: queries without their envelopes.
pub const SHORT: &str = "application/papir-short";
/// The media type of descriptions.
pub const JSON: &str = "application/json";
/// The media type of errors: problem details (RFC 9457).
pub const PROBLEM: &str = "application/problem+json";
/// The media type of signed checkpoints and their proofs.
pub const TEXT: &str = "text/plain; charset=utf-8";
/// The media type of metrics, in the text format of Prometheus.
pub const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";
/// The media type of a gateway's key configurations (RFC 9458).
pub const OHTTP_KEYS: &str = "application/ohttp-keys";
/// The media type of a sealed request (RFC 9458).
pub const OHTTP_REQUEST: &str = "message/ohttp-req";
/// The media type of a sealed response (RFC 9458).
pub const OHTTP_RESPONSE: &str = "message/ohttp-res";
/// The media type of a request that is sealed in chunks (draft-ietf-ohai-chunked-ohttp).
pub const OHTTP_CHUNKED_REQUEST: &str = "message/ohttp-chunked-req";
/// The media type of a response that is sealed in chunks (draft-ietf-ohai-chunked-ohttp).
pub const OHTTP_CHUNKED_RESPONSE: &str = "message/ohttp-chunked-res";
