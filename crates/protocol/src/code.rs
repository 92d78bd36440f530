//! Error codes, the values of [`ErrorBody::code`](crate::ErrorBody::code).
//!
//! If the scheme refuses a query or keys, the code is that of the scheme's error
//! (`papir_core::Error::code`): `checksum`, `wrong_scheme`, `out_of_bounds`, `index_out_of_range`,
//! `batch_size` and others.

/// 404: no route has this path.
pub const UNKNOWN_ROUTE: &str = "unknown_route";
/// 405: the route does not support this method.
pub const WRONG_METHOD: &str = "wrong_method";
/// 404: no database has this name.
pub const UNKNOWN_DATABASE: &str = "unknown_database";
/// 404: the database is not signed.
pub const NO_CHECKPOINT: &str = "no_checkpoint";
/// 404: the database has no filter of its keys.
pub const NO_PREFILTER: &str = "no_prefilter";
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
/// 401: the request costs a private token of Privacy Pass, and has none.
pub const TOKEN_NEEDED: &str = "token_needed";
/// 401: the private token is malformed, or is not for this service and a key of its issuer.
pub const TOKEN_INVALID: &str = "token_invalid";
/// 401: the private token was redeemed before.
pub const TOKEN_SPENT: &str = "token_spent";
/// 503: the service knows no key of the issuer of private tokens.
pub const NO_ISSUER_KEY: &str = "no_issuer_key";
/// 403: the token does not allow the request.
pub const FORBIDDEN: &str = "forbidden";
/// 400: a request is sealed under a key that the gateway of Oblivious HTTP does not have.
pub const OHTTP_KEY: &str = "ohttp_key";
/// 409: a sealed request has arrived before.
pub const REPLAYED: &str = "replayed";
/// 429: the client exceeds its limits.
pub const TOO_MANY: &str = "too_many";
/// 429: the server is at capacity.
pub const BUSY: &str = "busy";
/// 500: the server failed; the request was not at fault.
pub const INTERNAL: &str = "internal";

/// 404: the relay forwards to no gateway with this authority.
pub const UNKNOWN_GATEWAY: &str = "unknown_gateway";
/// 415: the content type is not one of those that the path accepts.
pub const WRONG_TYPE: &str = "wrong_type";
/// 502: the gateway behind the relay is away, or does not answer as a gateway.
pub const BAD_GATEWAY: &str = "bad_gateway";
/// 504: the gateway behind the relay does not answer in time.
pub const GATEWAY_TIMEOUT: &str = "gateway_timeout";

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
/// 429: the database, the token or the network has its maximum number of clients.
pub const REGISTRY_FULL: &str = "registry_full";
/// 503: the client registry cannot be read or changed. A change may have been made, so that only
/// the same bytes may be sent again.
pub const REGISTRY_FAILED: &str = "registry_failed";
/// 409: the upload of the keys is not complete.
pub const UPLOAD_INCOMPLETE: &str = "upload_incomplete";
/// 409: the upload of the keys is already complete.
pub const ALREADY_REGISTERED: &str = "already_registered";
/// 409: the part does not start where the upload ended.
pub const WRONG_OFFSET: &str = "wrong_offset";
/// 409: another client has registered the same keys.
pub const KEYS_REPEATED: &str = "keys_repeated";
/// 400: the number of tickets differs from the number of queries.
pub const TICKET_COUNT: &str = "ticket_count";
/// 410: another query used the ticket, or its number is too old.
pub const TICKET_USED: &str = "ticket_used";
/// 503: the ticket is still being prepared.
pub const NO_TICKET: &str = "no_ticket";

/// 422: the issuer signs no such batch of token requests.
pub const TOKEN_REQUEST: &str = "token_request";
/// 429: the issuer gives no more tokens to this client today.
pub const TOKEN_QUOTA: &str = "token_quota";

/// The status and the title of every response with a code.
struct Meaning {
    code: &'static str,
    /// The HTTP status.
    status: u16,
    title: &'static str,
}

impl Meaning {
    const fn of(code: &'static str, status: u16, title: &'static str) -> Self {
        Self {
            code,
            status,
            title,
        }
    }
}

/// The statuses and titles of all codes of this module.
const MEANINGS: [Meaning; 45] = [
    Meaning::of(UNKNOWN_ROUTE, 404, "No such path"),
    Meaning::of(WRONG_METHOD, 405, "The path does not support the method"),
    Meaning::of(UNKNOWN_DATABASE, 404, "No such database"),
    Meaning::of(NO_CHECKPOINT, 404, "The database is not signed"),
    Meaning::of(NO_PREFILTER, 404, "The database has no prefilter"),
    Meaning::of(NOT_READY, 503, "The databases are still loading"),
    Meaning::of(UNAVAILABLE, 503, "A part of the database is unavailable"),
    Meaning::of(STOPPING, 503, "The service is about to stop"),
    Meaning::of(TOO_LONG, 413, "The body exceeds its limit"),
    Meaning::of(TOO_SLOW, 408, "The body did not arrive in time"),
    Meaning::of(INTERRUPTED, 400, "The body ended early"),
    Meaning::of(WRONG_LENGTH, 400, "The body has a wrong length"),
    Meaning::of(WRONG_VERSION, 409, "The version is not answered"),
    Meaning::of(MALFORMED, 400, "A header or the body does not parse"),
    Meaning::of(UNAUTHORIZED, 401, "Missing or invalid token"),
    Meaning::of(TOKEN_NEEDED, 401, "The request costs a private token"),
    Meaning::of(TOKEN_INVALID, 401, "The private token is not accepted"),
    Meaning::of(TOKEN_SPENT, 401, "The private token is spent"),
    Meaning::of(NO_ISSUER_KEY, 503, "No key of the issuer is known"),
    Meaning::of(FORBIDDEN, 403, "The token does not allow the request"),
    Meaning::of(OHTTP_KEY, 400, "The gateway does not have the key"),
    Meaning::of(REPLAYED, 409, "The sealed request has arrived before"),
    Meaning::of(TOO_MANY, 429, "The client exceeds its limits"),
    Meaning::of(BUSY, 429, "The server is at capacity"),
    Meaning::of(INTERNAL, 500, "The server failed"),
    Meaning::of(UNKNOWN_GATEWAY, 404, "No such gateway"),
    Meaning::of(WRONG_TYPE, 415, "The content type is not accepted"),
    Meaning::of(BAD_GATEWAY, 502, "The gateway is away or is not one"),
    Meaning::of(GATEWAY_TIMEOUT, 504, "The gateway does not answer in time"),
    Meaning::of(NO_REGISTRY, 404, "The scheme has no client keys"),
    Meaning::of(
        NOT_ALLOWED,
        403,
        "The operator has not enabled the list of clients",
    ),
    Meaning::of(NO_CLIENT, 400, "The query names no client"),
    Meaning::of(
        CLIENT_GONE,
        410,
        "The client is unknown, expired or evicted",
    ),
    Meaning::of(OVER_QUOTA, 413, "The keys exceed the quota of the database"),
    Meaning::of(REGISTRY_FULL, 429, "Too many registered clients"),
    Meaning::of(REGISTRY_FAILED, 503, "The client registry failed"),
    Meaning::of(UPLOAD_INCOMPLETE, 409, "The upload is not complete"),
    Meaning::of(ALREADY_REGISTERED, 409, "The upload is already complete"),
    Meaning::of(
        WRONG_OFFSET,
        409,
        "The part does not start where the upload ended",
    ),
    Meaning::of(
        KEYS_REPEATED,
        409,
        "Another client has registered the same keys",
    ),
    Meaning::of(TICKET_COUNT, 400, "As many tickets as queries are needed"),
    Meaning::of(TICKET_USED, 410, "The ticket is used"),
    Meaning::of(NO_TICKET, 503, "The ticket is still being prepared"),
    Meaning::of(TOKEN_REQUEST, 422, "The token requests are not accepted"),
    Meaning::of(TOKEN_QUOTA, 429, "The client has its tokens for today"),
];

/// The status and the title of a code of a scheme's error.
const REFUSED_BY_SCHEME: Meaning = Meaning::of("", 400, "The scheme refuses the queries or keys");

/// The HTTP status of responses with a code.
pub fn status(code: &str) -> u16 {
    meaning(code).status
}

/// The title of responses with a code.
pub(crate) fn title(code: &str) -> &'static str {
    meaning(code).title
}

/// Finds the status and the title of a code. A code that is not in this module is that of a
/// scheme's error.
fn meaning(code: &str) -> &'static Meaning {
    let known = MEANINGS.iter().find(|meaning| meaning.code == code);
    known.unwrap_or(&REFUSED_BY_SCHEME)
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
        assert_eq!(titles.len(), MEANINGS.len());
        for (i, one) in titles.iter().enumerate() {
            assert!(
                !titles[..i].contains(one) && *one != title("checksum"),
                "{one}"
            );
        }
    }
}
