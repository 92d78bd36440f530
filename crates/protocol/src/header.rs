//! Header names, in lower case.

/// The database version. In a request, it is the version that the request is for; in a response,
/// the version that answered.
pub const VERSION: &str = "papir-version";
/// The id of the registered client that sends the queries.
pub const CLIENT: &str = "papir-client";
/// The ticket numbers of the queries, one per query, separated by commas.
pub const TICKET: &str = "papir-ticket";
/// The total length in bytes of keys that will be uploaded in parts.
pub const UPLOAD_LENGTH: &str = "papir-upload-length";
/// In a request, the offset of the part's first byte; in a response, the number of bytes received.
pub const UPLOAD_OFFSET: &str = "papir-upload-offset";
/// The request's id, in requests and responses.
pub const REQUEST_ID: &str = "x-request-id";

/// `traceparent`: the caller's span (W3C Trace Context).
pub const TRACE_PARENT: &str = "traceparent";
/// `Authorization`: the bearer token.
pub const AUTHORIZATION: &str = "authorization";
/// `Content-Type`: the media type of the body.
pub const CONTENT_TYPE: &str = "content-type";
/// `If-None-Match`: the `ETag` of the client's copy.
pub const IF_NONE_MATCH: &str = "if-none-match";
/// `Retry-After`: the seconds to wait before a retry.
pub const RETRY_AFTER: &str = "retry-after";
