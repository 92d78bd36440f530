//! Error codes, the values of [`ErrorBody::code`](crate::ErrorBody::code).
//!
//! If the scheme refuses a query or keys, the code is the scheme's own (`papir_core::Error::code`):
//! `checksum`, `wrong_scheme`, `out_of_bounds`, `index_out_of_range`, `batch_size` and others.

/// 404: no route has this path.
pub const UNKNOWN_ROUTE: &str = "unknown_route";
/// 405: the route does not support this method.
pub const WRONG_METHOD: &str = "wrong_method";
/// 404: no database has this name.
pub const UNKNOWN_DATABASE: &str = "unknown_database";
/// 404: the database is not signed.
pub const NO_CHECKPOINT: &str = "no_checkpoint";
/// 503: the databases are still loading.
pub const NOT_READY: &str = "not_ready";
/// 503: a machine with a part of the database does not answer.
pub const UNAVAILABLE: &str = "unavailable";
/// 503: the service is about to stop.
pub const STOPPING: &str = "stopping";
/// 413: the body exceeds its limit.
pub const TOO_LONG: &str = "too_long";
/// 408: the body did not arrive in time.
pub const TOO_SLOW: &str = "too_slow";
/// 400: the connection broke while the body was read.
pub const INTERRUPTED: &str = "interrupted";
/// 400: the body is not a whole number of queries, or the keys have the wrong length.
pub const WRONG_LENGTH: &str = "wrong_length";
/// 409: the server does not answer the requested version, or no longer does.
pub const WRONG_VERSION: &str = "wrong_version";
/// 400: a header or body does not parse.
pub const MALFORMED: &str = "malformed";
/// 401: missing or invalid token.
pub const UNAUTHORIZED: &str = "unauthorized";
/// 403: the token does not allow the request.
pub const FORBIDDEN: &str = "forbidden";
/// 429: the client exceeds its limits.
pub const TOO_MANY: &str = "too_many";
/// 429: the server is at capacity.
pub const BUSY: &str = "busy";
/// 500: the server failed; the request was not at fault.
pub const INTERNAL: &str = "internal";

/// 404: the database's scheme has no client keys.
pub const NO_REGISTRY: &str = "no_registry";
/// 403: the operator has not enabled the list of clients.
pub const NOT_ALLOWED: &str = "not_allowed";
/// 400: the query names no client.
pub const NO_CLIENT: &str = "no_client";
/// 410: the client is unknown, expired or evicted.
pub const CLIENT_GONE: &str = "client_gone";
/// 413: the keys alone exceed the database's quota.
pub const OVER_QUOTA: &str = "over_quota";
/// 429: the clients of the database, or of the token or network, are at their limit.
pub const REGISTRY_FULL: &str = "registry_full";
/// 503: the client registry cannot be read or changed. A change may have been made: only the same
/// bytes may be sent again.
pub const REGISTRY_FAILED: &str = "registry_failed";
/// 409: the upload of the keys is not complete.
pub const UPLOAD_INCOMPLETE: &str = "upload_incomplete";
/// 409: the upload of the keys is already complete.
pub const ALREADY_REGISTERED: &str = "already_registered";
/// 409: the part does not start where the upload ended.
pub const WRONG_OFFSET: &str = "wrong_offset";
/// 400: the number of tickets differs from the number of queries.
pub const TICKET_COUNT: &str = "ticket_count";
/// 410: another query used the ticket, or its number is too old.
pub const TICKET_USED: &str = "ticket_used";
/// 503: the ticket is still being prepared.
pub const NO_TICKET: &str = "no_ticket";

/// The title of a code, the same in every response. Every code that is not in this module is a
/// scheme's own.
pub(crate) fn title(code: &str) -> &'static str {
    match code {
        UNKNOWN_ROUTE => "No such path",
        WRONG_METHOD => "The path does not support the method",
        UNKNOWN_DATABASE => "No such database",
        NO_CHECKPOINT => "The database is not signed",
        NOT_READY => "The databases are still loading",
        UNAVAILABLE => "A part of the database is unavailable",
        STOPPING => "The service is about to stop",

        TOO_LONG => "The body exceeds its limit",
        TOO_SLOW => "The body did not arrive in time",
        INTERRUPTED => "The body ended early",
        WRONG_LENGTH => "The body has a wrong length",
        WRONG_VERSION => "The version is not answered",
        MALFORMED => "A header or the body does not parse",

        UNAUTHORIZED => "Missing or invalid token",
        FORBIDDEN => "The token does not allow the request",
        TOO_MANY => "The client exceeds its limits",
        BUSY => "The server is at capacity",
        INTERNAL => "The server failed",
        _ => title_of_clients(code),
    }
}

/// The titles of the codes of registered clients.
fn title_of_clients(code: &str) -> &'static str {
    match code {
        NO_REGISTRY => "The scheme has no client keys",
        NOT_ALLOWED => "The operator has not enabled the list of clients",
        NO_CLIENT => "The query names no client",
        CLIENT_GONE => "The client is unknown, expired or evicted",
        OVER_QUOTA => "The keys exceed the quota of the database",
        REGISTRY_FULL => "Too many registered clients",
        REGISTRY_FAILED => "The client registry failed",

        UPLOAD_INCOMPLETE => "The upload is not complete",
        ALREADY_REGISTERED => "The upload is already complete",
        WRONG_OFFSET => "The part does not start where the upload ended",
        TICKET_COUNT => "As many tickets as queries are needed",
        TICKET_USED => "The ticket is used",
        NO_TICKET => "The ticket is still being prepared",
        _ => "The scheme refuses the queries or keys",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_its_own_title() {
        let codes = include_str!("code.rs")
            .lines()
            .filter(|line| line.starts_with("pub const"));
        let titles: Vec<_> = codes
            .map(|line| title(line.split('"').nth(1).unwrap_or_default()))
            .collect();
        assert!(titles.len() >= 30, "{titles:?}");
        for (i, one) in titles.iter().enumerate() {
            assert!(
                !titles[..i].contains(one) && *one != title("checksum"),
                "{one}"
            );
        }
    }
}
