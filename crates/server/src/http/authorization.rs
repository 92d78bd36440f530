//! Permissions of a request: bearer tokens and required scopes.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, header};
use axum::response::{IntoResponse, Response};
use papir_protocol::path;

use super::problem::Problem;
use crate::access::{Grant, Scope, Tokens};

/// Paths without information about databases: open to everyone. The token of a sealed request is
/// inside.
const OPEN: &[&str] = &[path::ALIVE, path::READY, path::OPENAPI, path::OHTTP_GATEWAY];

/// The scope that a request needs; `None` if it is open to everyone.
fn required_scope(method: &Method, path: &str) -> Option<Scope> {
    if OPEN.contains(&path) {
        return None;
    }
    // Listing registered clients is for the operator; registering is for the client itself.
    let reads = method == Method::GET || method == Method::HEAD;
    let lists_clients = reads && path.matches('/').count() > 3 && path.ends_with("/clients");

    Some(match path {
        path::METRICS => Scope::Metrics,
        _ if lists_clients => Scope::Admin,
        _ => Scope::Query,
    })
}

/// Returns true if a request only needs the right to query. In a service that demands private
/// tokens, everybody has it.
pub(super) fn is_open_to_readers(method: &Method, path: &str) -> bool {
    required_scope(method, path) == Some(Scope::Query)
}

/// Returns true if a request has a bearer token, valid or not.
pub(super) fn has_bearer(headers: &HeaderMap) -> bool {
    bearer(headers).is_some()
}

/// Permissions of a request: the permissions of its token, or all if the service has no tokens.
/// `database` is the decoded name in the path.
pub(super) fn authorize(
    tokens: Option<&Tokens>,
    method: &Method,
    path: &str,
    headers: &HeaderMap,
    database: Option<&str>,
) -> Result<Grant, Problem> {
    let Some(tokens) = tokens else {
        return Ok(Grant::everything());
    };
    let Some(scope) = required_scope(method, path) else {
        return Ok(Grant::everything());
    };

    let grant = granted(tokens, headers).ok_or(Problem::Unauthorized)?;
    // An operator who may list the clients may also see the database, and see and remove each
    // client.
    let operates = scope == Scope::Query && grant.has(Scope::Admin) && !path.ends_with("/query");
    if !(grant.has(scope) || operates) {
        return Err(Problem::Forbidden {
            what: format!("the scope {}", scope.name()),
        });
    }

    match database {
        Some(name) if !grant.allows(name) => Err(Problem::Forbidden {
            what: "this database".to_owned(),
        }),
        _ => Ok(grant),
    }
}

/// The permissions of the token in these headers; `None` without a valid one.
pub(super) fn granted(tokens: &Tokens, headers: &HeaderMap) -> Option<Grant> {
    bearer(headers).and_then(|token| tokens.find(token))
}

/// The token in `Authorization: Bearer`.
pub(crate) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (kind, token) = value.split_once(' ')?;
    kind.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// Handlers extract the permissions that the guard stored with the request.
impl<S: Sync> FromRequestParts<S> for Grant {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Response> {
        // A request without permissions has not passed the guard, so its token is unchecked. It
        // must not have the permissions of a service without tokens.
        let grant = parts.extensions.get::<Self>();
        grant
            .cloned()
            .ok_or_else(|| Problem::Internal.into_response())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use axum::http::{Request, StatusCode};

    use super::*;

    #[test]
    fn paths_require_scopes() {
        for (path, expected) in [
            ("/healthz", None),
            ("/readyz", None),
            ("/.well-known/ohttp-gateway", None),
            ("/.well-known/other", Some(Scope::Query)),
            ("/metrics", Some(Scope::Metrics)),
            ("/v1/databases", Some(Scope::Query)),
            ("/v1/databases/words/query", Some(Scope::Query)),
            ("/v1/databases/words/clients", Some(Scope::Admin)),
            ("/v1/databases/words/clients/7", Some(Scope::Query)),
            ("/nowhere", Some(Scope::Query)),
            ("/healthz/", Some(Scope::Query)),
        ] {
            assert_eq!(required_scope(&Method::GET, path), expected, "{path}");
        }

        let clients = "/v1/databases/words/clients";
        assert_eq!(required_scope(&Method::POST, clients), Some(Scope::Query));
        assert!(is_open_to_readers(&Method::POST, clients));
        assert!(!is_open_to_readers(&Method::GET, clients));
        assert!(!is_open_to_readers(&Method::GET, "/metrics"));
    }

    #[tokio::test]
    async fn a_request_that_has_not_passed_the_guard_has_no_permissions() {
        let (mut parts, ()) = Request::new(()).into_parts();
        let refused = Grant::from_request_parts(&mut parts, &()).await;
        assert!(
            refused.is_err_and(|response| response.status() == StatusCode::INTERNAL_SERVER_ERROR)
        );

        parts.extensions.insert(Grant::everything());
        let granted = Grant::from_request_parts(&mut parts, &()).await;
        assert!(granted.is_ok_and(|grant| grant == Grant::everything()));
    }

    #[test]
    fn bearer_tokens_are_parsed() {
        let headers =
            |value: &str| HeaderMap::from_iter([(header::AUTHORIZATION, value.parse().unwrap())]);

        assert_eq!(bearer(&headers("Bearer abc")), Some("abc"));
        assert_eq!(bearer(&headers("bearer  abc ")), Some("abc"));
        for other in ["abc", "Basic abc", "Bearer", ""] {
            assert_eq!(bearer(&headers(other)), None, "{other}");
        }
        assert_eq!(bearer(&HeaderMap::new()), None);
        assert!(has_bearer(&headers("Bearer abc")) && !has_bearer(&HeaderMap::new()));
    }
}
