//! Private tokens (RFC 9577): which requests cost one, and how it is spent.

use std::sync::Arc;

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, Method, header};
use papir_privacy_pass::{PassError, PassToken, parse_authorization};
use tokio::task::spawn_blocking;

use super::authorization::{authorize, has_bearer, is_open_to_readers};
use super::problem::Problem;
use crate::access::Grant;
use crate::clients::SpentToken;
use crate::privacy_pass::{PassVerifier, TokenRefusal};
use crate::service::App;

/// Start of the paths whose requests may cost a token.
const PRICED: &str = "/v1/";
/// The other scheme of a service that also has bearer tokens.
const OR_BEARER: &str = ", Bearer realm=\"papir\"";

/// Permissions of a request, and the private token that it costs.
pub(super) struct Rights {
    pub(super) grant: Grant,
    /// Verified, and not yet spent. `None` for a request that costs none.
    pub(super) token: Option<SpentToken>,
}

/// Permissions of a request: those of its bearer token, or those of everybody. In a service that
/// demands private tokens, a request that computes needs one of either kind, and reading needs
/// none. `database` is the decoded name in the path.
pub(super) fn rights(
    app: &App,
    request: &Request,
    database: Option<&str>,
) -> Result<Rights, Problem> {
    let method = request.method();
    let path = request.uri().path();
    let headers = request.headers();
    let tokens = app.guard.tokens.as_deref();

    let Some(verifier) = &app.passes else {
        let grant = authorize(tokens, method, path, headers, database)?;
        return Ok(Rights { grant, token: None });
    };
    let by_bearer = tokens.is_some() && has_bearer(headers);
    if by_bearer || !is_open_to_readers(method, path) {
        let grant = authorize(tokens, method, path, headers, database)?;
        return Ok(Rights { grant, token: None });
    }

    let token = match costs_token(method, path) {
        true => Some(verified(app, verifier, headers)?),
        false => None,
    };
    Ok(Rights {
        grant: Grant::of_everybody(),
        token,
    })
}

/// Returns true if a request computes on a database or registers a client. The parts of an upload
/// belong to a registration, which has cost a token, and the other requests only read or remove.
fn costs_token(method: &Method, path: &str) -> bool {
    method == Method::POST && path.starts_with(PRICED)
}

/// The verified token of a request.
fn verified(
    app: &App,
    verifier: &PassVerifier,
    headers: &HeaderMap,
) -> Result<SpentToken, Problem> {
    let spendable = match private_token(headers) {
        Ok(Some(token)) => verifier.verify(&token),
        Ok(None) => Err(TokenRefusal::Missing),
        Err(error) => Err(TokenRefusal::Invalid(error)),
    };
    spendable.map_err(|refusal| refused(app, verifier, refusal))
}

/// The token in `Authorization: PrivateToken`.
fn private_token(headers: &HeaderMap) -> Result<Option<PassToken>, PassError> {
    let Some(value) = headers.get(header::AUTHORIZATION) else {
        return Ok(None);
    };
    // Another text than ASCII is none of this scheme.
    value.to_str().map_or(Ok(None), parse_authorization)
}

/// The refusal of a request, with a challenge. Without a key of the issuer, no token can be
/// verified or asked for.
fn refused(app: &App, verifier: &PassVerifier, refusal: TokenRefusal) -> Problem {
    let Some(mut challenges) = verifier.offer() else {
        return Problem::NoIssuerKey;
    };
    if app.guard.tokens.is_some() {
        challenges.push_str(OR_BEARER);
    }

    match HeaderValue::try_from(challenges) {
        Ok(challenges) => Problem::PrivateToken {
            refusal,
            challenges,
        },
        // Not in practice: names and base64 are visible ASCII.
        Err(_) => Problem::Internal,
    }
}

/// Returns true if a request has a private token, and this problem says nothing against it. The
/// same request can then be sent again with the token, if it is refused before the token is spent.
pub(super) fn keeps_token(app: &App, request: &Request, problem: &Problem) -> bool {
    if app.passes.is_none() || matches!(problem, Problem::PrivateToken { .. }) {
        return false;
    }
    matches!(private_token(request.headers()), Ok(Some(_)))
}

/// Spends the token of a request. It is durable on return, so that no answer is given twice for
/// one token, even after a crash.
pub(super) async fn spend(app: &App, token: SpentToken) -> Result<(), Problem> {
    let (Some(verifier), Some(registry)) = (&app.passes, app.registry.clone()) else {
        return Err(Problem::Internal);
    };

    let turn = verifier.turn().await.map_err(|_| Problem::Internal)?;
    let metrics = Arc::clone(&app.metrics);
    let spending = spawn_blocking(move || {
        // Held until the token is spent and counted, even if the client disconnects.
        let _turn = turn;
        let spent = registry.spend(&token);
        spent.inspect(|is_new| metrics.tokens_spent(u64::from(*is_new)))
    });

    let spent = spending.await.map_err(|_| Problem::Internal)?;
    let is_new = spent?;
    verifier.note_spent(&token);
    match is_new {
        true => Ok(()),
        false => Err(refused(app, verifier, TokenRefusal::Spent)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_that_compute_or_register_cost_a_token() {
        for path in [
            "/v1/databases/words/query",
            "/v1/databases/words/clients",
            "/v1/psi/evaluate",
            "/v1/databases/%77ords/query",
            "/v1/later",
        ] {
            assert!(costs_token(&Method::POST, path), "{path}");
            assert!(!costs_token(&Method::GET, path), "{path}");
        }

        let keys = "/v1/databases/words/clients/7/keys";
        assert!(!costs_token(&Method::PATCH, keys));
        assert!(!costs_token(&Method::HEAD, keys));
        assert!(!costs_token(&Method::POST, "/.well-known/ohttp-gateway"));
    }

    #[test]
    fn other_schemes_are_no_private_tokens() {
        for value in ["Bearer abc", "Basic abc", ""] {
            let value = HeaderValue::from_static(value);
            let headers = HeaderMap::from_iter([(header::AUTHORIZATION, value)]);
            assert_eq!(private_token(&headers), Ok(None));
        }
        assert_eq!(private_token(&HeaderMap::new()), Ok(None));

        let value = HeaderValue::from_static("PrivateToken token=AAE=");
        let headers = HeaderMap::from_iter([(header::AUTHORIZATION, value)]);
        let expected = PassError::TokenType { found: 1 };
        assert_eq!(private_token(&headers), Err(expected));
    }
}
