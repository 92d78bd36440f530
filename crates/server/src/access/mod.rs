//! Who may ask what: bearer tokens, their scopes and databases.

pub(crate) mod grant;
pub(crate) mod token_file;
pub(crate) mod tokens;

use axum::http::{HeaderMap, Method, header};

use crate::problem::Problem;
use grant::{Grant, Scope};
use tokens::Tokens;

/// Addresses that say nothing of any database: open to all.
const OPEN: &[&str] = &["/healthz", "/readyz", "/openapi.json"];

/// What a request for this address needs; `None` where everybody may ask.
fn needed(method: &Method, path: &str) -> Option<Scope> {
    if OPEN.contains(&path) {
        return None;
    }
    // The list of registered clients is the operator's; registering is the client's own.
    let reads = method == Method::GET || method == Method::HEAD;
    let administers = reads && path.matches('/').count() > 3 && path.ends_with("/clients");
    Some(match path {
        "/metrics" => Scope::Metrics,
        _ if administers => Scope::Admin,
        _ => Scope::Query,
    })
}

/// What the request may do: everything where there are no tokens, else what its own allows.
/// `database` is the name in the address, decoded as the routes decode it.
pub(crate) fn check(
    tokens: Option<&Tokens>,
    method: &Method,
    path: &str,
    (headers, database): (&HeaderMap, Option<&str>),
) -> Result<Grant, Problem> {
    let (Some(tokens), Some(scope)) = (tokens, needed(method, path)) else {
        return Ok(Grant::everything());
    };
    let grant = bearer(headers).and_then(|token| tokens.find(token)).ok_or(Problem::Unauthorized)?;
    // Whoever may see all clients may find the database, and see and end each of them.
    let operates = scope == Scope::Query && grant.has(Scope::Admin) && !path.ends_with("/query");
    if !(grant.has(scope) || operates) {
        return Err(Problem::Forbidden { what: format!("the scope {}", scope.name()) });
    }
    match database {
        Some(name) if !grant.allows(name) => Err(Problem::Forbidden { what: "this database".to_owned() }),
        _ => Ok(grant),
    }
}

/// The token of `Authorization: Bearer`.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (kind, token) = value.split_once(' ')?;
    kind.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_an_address_needs() {
        for (path, expected) in [
            ("/healthz", None),
            ("/readyz", None),
            ("/metrics", Some(Scope::Metrics)),
            ("/v1/databases", Some(Scope::Query)),
            ("/v1/databases/words/query", Some(Scope::Query)),
            ("/v1/databases/words/clients", Some(Scope::Admin)),
            ("/v1/databases/words/clients/7", Some(Scope::Query)),
            ("/nowhere", Some(Scope::Query)),
            ("/healthz/", Some(Scope::Query)),
        ] {
            assert_eq!(needed(&Method::GET, path), expected, "{path}");
        }
        assert_eq!(needed(&Method::POST, "/v1/databases/words/clients"), Some(Scope::Query));
    }

    #[test]
    fn the_bearer_of_a_header() {
        let headers = |value: &str| HeaderMap::from_iter([(header::AUTHORIZATION, value.parse().unwrap())]);
        assert_eq!(bearer(&headers("Bearer abc")), Some("abc"));
        assert_eq!(bearer(&headers("bearer  abc ")), Some("abc"));
        for other in ["abc", "Basic abc", "Bearer", ""] {
            assert_eq!(bearer(&headers(other)), None, "{other}");
        }
        assert_eq!(bearer(&HeaderMap::new()), None);
    }
}
