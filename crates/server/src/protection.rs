//! What stands between the network and the routes: tokens and limits.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{RawPathParams, Request, State};
use axum::http::{Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::access;
use crate::access::grant::Grant;
use crate::access::tokens::{TokenSource, Tokens};
use crate::api::App;
use crate::limits::{ClientKey, ClientLimits, Clients, Held};
use crate::listen::Peer;
use crate::listen::tls::{Tls, TlsFiles};
use crate::problem::Problem;
use crate::proxies::TrustedProxies;
use crate::routes::Routes;
use crate::{Error, psi, upload};

/// Who may speak to the service, and how much of it one may take. By default nobody is kept out.
#[derive(Clone, Debug, PartialEq)]
pub struct Protection {
    /// Certificate and key; plain HTTP without.
    pub tls: Option<TlsFiles>,
    /// Token files; where there is none, everything is open.
    pub tokens: Vec<TokenSource>,
    /// What one client may take.
    pub limits: ClientLimits,
    /// Time for the headers of a request, the TLS handshake included, and between two requests.
    pub header_timeout: Duration,
    /// Proxies whose word is taken for the address of a client.
    pub proxies: TrustedProxies,
    /// Most connections; the one that has waited longest without a request makes room for a new one.
    pub max_connections: usize,
}

impl Default for Protection {
    /// No TLS, no tokens, no limits of a client; 20 s for headers, 512 connections.
    fn default() -> Self {
        Self {
            tls: None,
            tokens: Vec::new(),
            limits: ClientLimits::default(),
            proxies: TrustedProxies::default(),
            header_timeout: Duration::from_secs(20),
            max_connections: 512,
        }
    }
}

/// What checks requests while the service runs.
pub(crate) struct Guard {
    pub(crate) tls: Option<Arc<Tls>>,
    pub(crate) tokens: Option<Arc<Tokens>>,
    clients: Arc<Clients>,
    proxies: TrustedProxies,
}

/// The account that a request runs on, for whoever goes on with it after its connection has ended.
#[derive(Clone)]
pub(crate) struct Account {
    _held: Option<Arc<Held>>,
}

impl Guard {
    /// Reads certificate and tokens.
    pub(crate) fn new(protection: &Protection) -> Result<Self, Error> {
        let tls = protection.tls.as_ref().map(Tls::open).transpose()?.map(Arc::new);
        let tokens = (!protection.tokens.is_empty()).then(|| Tokens::open(&protection.tokens));
        let tokens = tokens.transpose()?.map(Arc::new);
        Ok(Self {
            tls,
            tokens,
            clients: Clients::new(protection.limits),
            proxies: protection.proxies.clone(),
        })
    }

    /// Reads certificate and tokens again; what is bad leaves the old in place.
    pub(crate) fn reload(&self) {
        if let Some(tls) = &self.tls {
            tls.reload();
        }
        if let Some(tokens) = &self.tokens {
            tokens.reload();
        }
    }
}

/// Documents what [`check`] refuses.
pub(crate) fn documented(routes: Routes) -> Routes {
    ["/v1/", "/metrics"]
        .into_iter()
        .fold(routes, |routes, prefix| {
            routes
                .everywhere(
                    prefix,
                    401,
                    "`unauthorized`: tokens are on, and `Authorization: Bearer` holds no good one",
                )
                .everywhere(
                    prefix,
                    403,
                    "`forbidden`: the token does not allow the database, or lacks the scope",
                )
        })
        .everywhere("/v1/", 400, "`malformed`: a trusted proxy forwards no address of a client")
        .everywhere("/v1/", 429, "`too_many`: more than one client may ask; come again as `retry-after` says")
}

/// How long a body is listened to whose sender is turned away: nobody holds a connection that way.
const COURTESY: Duration = Duration::from_secs(1);

/// Lets a request through that may pass, before anything of its body is kept.
pub(crate) async fn check(
    State(app): State<Arc<App>>,
    parameters: Result<RawPathParams, RawPathParamsRejection>,
    mut request: Request,
    next: Next,
) -> Response {
    let name = match &parameters {
        Ok(parameters) => parameters.iter().find(|(key, _)| *key == "name").map(|(_, value)| value),
        // A name that is no UTF-8 names nothing, and is none that a token is for.
        Err(RawPathParamsRejection::InvalidUtf8InPathParam(_)) => Some(""),
        Err(_) => None,
    };
    match admit(&app, name, &request) {
        Ok((grant, account)) => {
            request.extensions_mut().insert(grant);
            request.extensions_mut().insert(account.clone());
            let response = next.run(request).await;
            drop(account);
            response
        }
        Err(problem) => {
            tracing::info!(status = problem.status().as_u16(), code = problem.code(), "turned away");
            // A client that waits to be asked for its body does not send it now.
            if !request.headers().contains_key(header::EXPECT) {
                upload::drain(request.into_body(), app.body_timeout.min(COURTESY)).await;
            }
            problem.into_response()
        }
    }
}

fn admit(app: &App, name: Option<&str>, request: &Request) -> Result<(Grant, Account), Problem> {
    let (path, guard) = (request.uri().path(), &app.guard);
    let grant = access::check(guard.tokens.as_deref(), request.method(), path, (request.headers(), name))?;
    if let (Some(name), Some(allowed)) = (name, grant.databases())
        && let Err(Problem::UnknownDatabase { .. }) = app.catalog.get(name)
    {
        // Names only what this client may know of.
        let quoted: Vec<_> = allowed.iter().map(|name| format!("`{name}`")).collect();
        return Err(Problem::UnknownDatabase { known: quoted.join(", ") });
    }
    if !path.starts_with("/v1/") {
        return Ok((grant, Account { _held: None }));
    }
    let peer = request.extensions().get::<Peer>().copied().unwrap_or(Peer::Local);
    let peer = guard.proxies.client(peer, request.headers())?;
    let key = ClientKey::of(&grant, peer);
    let held = guard.clients.admit(key, cost(app, name, request), Instant::now());
    let held = held.map_err(|after| Problem::TooMany { after })?;
    Ok((grant, Account { _held: held.map(Arc::new) }))
}

/// How many requests it counts as: a body of queries as many as its announced length holds, or as the
/// largest batch where it announces none.
fn cost(app: &App, name: Option<&str>, request: &Request) -> u64 {
    let (headers, path) = (request.headers(), request.uri().path());
    let announced = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
    let announced = announced.filter(|_| !headers.contains_key(header::TRANSFER_ENCODING));
    if let Some(cost) = psi::cost(path, announced) {
        return cost;
    }
    let Some(database) = name.filter(|_| path.ends_with("/query") && request.method() == Method::POST) else {
        return 1;
    };
    app.catalog.get(database).map_or(1, |database| database.queries_in(announced))
}
