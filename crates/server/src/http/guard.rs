//! Middleware: tokens and per-client limits.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{MatchedPath, RawPathParams, Request, State};
use axum::http::{Method, header};
use axum::middleware::Next;
use axum::response::Response;

use super::body::{self, DRAIN_TIME};
use super::headers::{announced_length, credentials, is_short};
use super::private_tokens::{Rights, keeps_token, rights, spend};
use super::problem::Problem;
use super::routes::Routes;
use super::unread::ResponseReader;
use super::{forwarded, psi};
use crate::access::Grant;
use crate::admission::{ClientKey, ClientSlot};
use crate::catalog::DatabaseError;
use crate::clients::SpentToken;
use crate::listen::Peer;
use crate::service::App;
use crate::traces;

/// Routes that may read as much as a query or more.
const DOWNLOADS: [&str; 4] = [
    "/v1/databases/{name}/public",
    "/v1/databases/{name}/public/{version}/hashes",
    "/v1/databases/{name}/public/{version}/blocks/{ranges}",
    "/v1/psi/filter",
];

/// The end of the route of a proof.
const PROOF: &str = "/checkpoint/proof";

/// Documents the errors of [`check`].
pub(super) fn documented(mut routes: Routes) -> Routes {
    for prefix in ["/v1/", "/metrics"] {
        routes = routes
            .everywhere(
                prefix,
                401,
                "`unauthorized`: missing or invalid token in `Authorization: Bearer`; `token_needed`, `token_invalid`, `token_spent`: \
                    the request costs a private token, for the challenge in `www-authenticate`",
            )
            .everywhere(
                prefix,
                403,
                "`forbidden`: the token does not allow the database, or lacks the scope",
            );
    }

    routes
        .everywhere(
            "/v1/",
            400,
            "`malformed`: a trusted proxy forwards no client address",
        )
        .everywhere(
            "/v1/",
            429,
            "`too_many`: the client is over its limit; `busy`: the server is at capacity; retry after `retry-after`",
        )
        .everywhere(
            "/metrics",
            429,
            "`busy`: the server is at capacity; retry after `retry-after`",
        )
}

/// Checks a request's token and limits before any of its body is read.
pub(super) async fn check(
    State(app): State<Arc<App>>,
    parameters: Result<RawPathParams, RawPathParamsRejection>,
    mut request: Request,
    next: Next,
) -> Response {
    let name = named_database(&parameters);
    if let Some(database) = name.and_then(|name| app.catalog.known(name)) {
        traces::name_database(database);
    }

    let Admitted {
        grant,
        client,
        slot,
        token,
    } = match admit(&app, name, &request) {
        Ok(admitted) => admitted,
        Err(problem) => {
            let refusal = Refusal::before_spending(&app, &request, problem);
            return refuse(&app, name, request, refusal).await;
        }
    };
    // Last: a request that is refused for another reason keeps its token.
    if let Some(token) = token {
        if let Err(problem) = spend(&app, token).await {
            return refuse(&app, name, request, Refusal::in_spending(problem)).await;
        }
        request.extensions_mut().insert(token);
    }

    // Before the request is handed on: its response no longer shows what was asked.
    let reader = ResponseReader::of(&client, &request);
    request.extensions_mut().insert(grant);
    request.extensions_mut().insert(client);
    request.extensions_mut().insert(slot.clone());

    let response = next.run(request).await;
    // Work that outlives its response holds a copy of the slot.
    drop(slot);
    match reader {
        Some(reader) => reader.count(&app, response),
        None => response,
    }
}

/// The decoded name of the database in a path.
fn named_database(parameters: &Result<RawPathParams, RawPathParamsRejection>) -> Option<&str> {
    match parameters {
        Ok(parameters) => parameters
            .iter()
            .find(|(key, _)| *key == "name")
            .map(|(_, value)| value),
        // No database and no token has a name that is not UTF-8.
        Err(RawPathParamsRejection::InvalidUtf8InPathParam(_)) => Some(""),
        Err(_) => None,
    }
}

/// A refusal of a request, before any of its body is read.
struct Refusal {
    problem: Problem,
    /// Set if the request has a private token that it did not spend.
    token_unspent: bool,
}

impl Refusal {
    /// The refusal of a request whose private token, if it has one, is not spent.
    fn before_spending(app: &App, request: &Request, problem: Problem) -> Self {
        Self {
            token_unspent: keeps_token(app, request, &problem),
            problem,
        }
    }

    /// The refusal of a request whose token is spent already. After a failure of the registry, it
    /// may be spent or not.
    fn in_spending(problem: Problem) -> Self {
        Self {
            problem,
            token_unspent: false,
        }
    }
}

/// Logs, counts and sends a refusal.
async fn refuse(app: &App, name: Option<&str>, request: Request, refusal: Refusal) -> Response {
    let Refusal {
        problem,
        token_unspent,
    } = refusal;
    tracing::info!(
        status = problem.status().as_u16(),
        code = problem.code(),
        "refused"
    );
    if let Some(database) = name.filter(|_| is_query(&request)) {
        // Without its time: a flood of refusals would hide that answers are slow.
        app.metrics
            .outcome(app.catalog.known(database), problem.code());
    }

    body::drain_unread(request, app.body_timeout.min(DRAIN_TIME)).await;
    problem.response(token_unspent)
}

/// A request that is within its limits.
struct Admitted {
    grant: Grant,
    client: ClientKey,
    slot: ClientSlot,
    /// The private token that the request costs.
    token: Option<SpentToken>,
}

/// Checks the token of a request, and charges the request to its client.
fn admit(app: &App, name: Option<&str>, request: &Request) -> Result<Admitted, Problem> {
    let path = request.uri().path();
    let headers = request.headers();
    let guard = &app.guard;

    let Rights { grant, token } = if is_shown(app, name, request) {
        Rights {
            grant: Grant::of_everybody(),
            token: None,
        }
    } else {
        rights(app, request, name).map_err(|problem| unless_loading(app, request, problem))?
    };
    check_known(app, name, &grant)?;
    let peer = request
        .extensions()
        .get::<Peer>()
        .copied()
        .unwrap_or(Peer::Local);
    // Probes and metrics have no limit: an operator must see a service that is flooded.
    if !path.starts_with("/v1/") {
        return Ok(Admitted {
            client: guard.client(&grant, peer),
            grant,
            slot: ClientSlot::unlimited(),
            token: None,
        });
    }

    let peer = forwarded::client(&guard.proxies, peer, headers)?;
    let client = guard.client(&grant, peer);
    // The issuer limits the number of requests with tokens. Their peer gives way to others like any
    // client, so that a flood of tokens that were saved up delays others by its share only.
    if let Some(token) = token {
        check_prospects(app, name, request, &client)?;
        return Ok(Admitted {
            client,
            grant,
            slot: ClientSlot::unlimited(),
            token: Some(token),
        });
    }
    // Last: a request that is refused for another reason is not charged.
    let active = guard
        .limiter
        .admit(client.clone(), cost(app, name, request), Instant::now())
        .map_err(|after| Problem::TooMany { after })?;
    Ok(Admitted {
        grant,
        client,
        slot: active.into(),
        token: None,
    })
}

/// Returns true if a request reads the proof of a loaded database whose owner names the keys of
/// gateways. Clients need it before they seal a token, so it is open to everybody at a gateway.
fn is_shown(app: &App, name: Option<&str>, request: &Request) -> bool {
    let Some(name) = name.filter(|_| reads_proof(app, request)) else {
        return false;
    };
    app.catalog.get(name).is_ok_and(|database| {
        let checkpoint = database.checkpoint();
        checkpoint.is_some_and(|checkpoint| checkpoint.names_gateways)
    })
}

/// The refusal of a request that has no valid token. While a database is loading, its proof may be
/// one that is open to everybody, and the client retries later, which it does not after a refusal
/// for want of a token. So it is for all names, known or not: two answers would tell strangers
/// which databases are loading.
fn unless_loading(app: &App, request: &Request, problem: Problem) -> Problem {
    let is_stranger = matches!(problem, Problem::Unauthorized);
    if is_stranger && reads_proof(app, request) && app.catalog.all().is_err() {
        return DatabaseError::NotLoaded.into();
    }
    problem
}

/// Returns true if a request reads a proof at a gateway.
fn reads_proof(app: &App, request: &Request) -> bool {
    let method = request.method();
    let reads = method == Method::GET || method == Method::HEAD;
    app.gateway.is_some() && reads && request.uri().path().ends_with(PROOF)
}

/// Refuses an unknown database, if the token is restricted. Lists only the databases it allows.
fn check_known(app: &App, name: Option<&str>, grant: &Grant) -> Result<(), Problem> {
    let Some(name) = name else {
        return Ok(());
    };
    let Some(allowed) = grant.databases() else {
        return Ok(());
    };
    let Err(DatabaseError::Unknown { .. }) = app.catalog.get(name) else {
        return Ok(());
    };

    let quoted: Vec<_> = allowed.iter().map(|name| format!("`{name}`")).collect();
    Err(DatabaseError::Unknown {
        known: quoted.join(", "),
    }
    .into())
}

/// Refuses a request that a handler would refuse anyway, before its private token is spent.
fn check_prospects(
    app: &App,
    name: Option<&str>,
    request: &Request,
    client: &ClientKey,
) -> Result<(), Problem> {
    psi::expect_room(app, request.uri().path(), client)?;
    let Some(name) = name else {
        return Ok(());
    };

    app.catalog.get(name)?;
    if is_query(request) {
        let room = app.queries.executor.expect_room(client);
        room.map_err(|after| Problem::Busy { after })?;
    }
    Ok(())
}

/// Number of requests that a request counts as.
///
/// A query request counts as the number of whole queries in its announced body, to the snapshot and
/// to the delta, or as the largest batch if it announces no length, and at least as the number of
/// its tickets: queries whose keys were sent ahead are shorter. Reading a description or a state
/// counts as none: it is cheap, and a client does it to learn when it may ask again.
fn cost(app: &App, name: Option<&str>, request: &Request) -> u64 {
    let headers = request.headers();
    let path = request.uri().path();
    // With both headers the length is not that of the body, so it could be understated.
    let announced =
        announced_length(headers).filter(|_| !headers.contains_key(header::TRANSFER_ENCODING));

    if let Some(cost) = psi::cost(path, announced) {
        return cost;
    }
    let Some(database) = name.filter(|_| is_query(request)) else {
        return u64::from(!is_description(request));
    };

    let named = credentials(headers).map_or(0, |credentials| credentials.tickets.len() as u64);
    let Ok(database) = app.catalog.get(database) else {
        return 1;
    };
    // A short message has more queries than its length tells of long ones.
    let queries = match is_short(headers) {
        true => database.short_queries_in(announced),
        false => database.queries_in(announced),
    };
    queries.max(named)
}

/// Returns whether a request sends queries.
fn is_query(request: &Request) -> bool {
    request.method() == Method::POST && request.uri().path().ends_with("/query")
}

/// Returns whether a request only reads, and not one of the long responses.
fn is_description(request: &Request) -> bool {
    let route = request
        .extensions()
        .get::<MatchedPath>()
        .map_or("", MatchedPath::as_str);

    [Method::GET, Method::HEAD].contains(request.method()) && !DOWNLOADS.contains(&route)
}
