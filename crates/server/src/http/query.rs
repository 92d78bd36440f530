//! Handler for queries.

use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::extract::{Extension, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use papir_core::Version;
use papir_protocol::ErrorBody;
use tokio::task::spawn_blocking;
use tracing::Span;

use super::body::{self, FULL_ADVICE, Whole};
use super::headers::{
    BINARY, NamePath, SHORT, credentials, database_name, is_short, named_version, version_header,
};
use super::problem::Problem;
use super::routes::Routes;
use super::short_query::{ReceivedQueries, ShortQuery};
use super::tracked_body::ResponseMemory;
use super::unread::response_on;
use crate::admission::{ClientKey, ClientSlot, Permit, WorkTurns};
use crate::catalog::{Candidates, QueryError};
use crate::clients::{ClientError, Credentials};
use crate::listen::Activity;
use crate::metrics::{Stage, Tally};
use crate::service::{Answered, App, Submission};
use crate::traces;

/// Adds the route.
pub(super) fn routes(before: Routes) -> Routes {
    before.add(__path_query, query)
}

/// Answer queries.
///
/// The body holds 1 to `max_batch` concatenated queries of `sizes.query` bytes each, or as many
/// keys that are sent ahead, or the rest of as many queries whose keys were. The response holds as
/// many concatenated answers of `sizes.answer` bytes each; those to the rest of queries are
/// shorter. Each query names the database version it is for. Naming it in the header as well lets
/// the server refuse a request before reading its body. With the content type
/// `application/papir-short`, body and response are short messages of the client.
#[utoipa::path(
    post, path = "/v1/databases/{name}/query",
    params(
        ("name" = String, Path, description = "the database's name"),
        ("papir-version" = Option<String>, Header, description = "the version that the queries are for"),
        ("papir-client" = Option<String>, Header, description = "the id of a registered client"),
        ("papir-ticket" = Option<String>, Header, description = "the client's ticket numbers, one for each query"),
    ),
    request_body(content_type = "application/octet-stream", description = "queries (docs/formats.md)"),
    responses(
        (status = 200, description = "one answer per query", content_type = "application/octet-stream",
         headers(("papir-version" = String, description = "the version that answered"))),
        (status = 400, description = "`malformed`, `wrong_length`, `checksum`, `wrong_scheme`, \
            `index_out_of_range`, `out_of_bounds`, `batch_size`, `interrupted`: the request is invalid",
         body = ErrorBody),
        (status = 404, description = "`unknown_database`", body = ErrorBody),
        (status = 408, description = "`too_slow`: the body did not arrive in time", body = ErrorBody),
        (status = 409, description = "`wrong_version`: the version is not answered, or no longer",
         body = ErrorBody, headers(("papir-version" = String, description = "the newest version"))),
        (status = 413, description = "`too_long`: more than `max_batch` queries", body = ErrorBody),
        (status = 429, description = "`busy`: the server is at capacity; `too_many`: the client is over its limit",
         body = ErrorBody, headers(("retry-after" = u64, description = "seconds"))),
        (status = 500, description = "`internal`: the server failed to answer", body = ErrorBody),
        (status = 503, description = "`not_ready`: the database is still loading; `unavailable`: a part of the database is; \
            `no_ticket`: the client's ticket is being prepared; \
            `registry_failed`: the client registry cannot be read or changed; \
            `no_issuer_key`: no key of the issuer of private tokens is known", body = ErrorBody,
         headers(("retry-after" = u64, description = "seconds"))),
    )
)]
async fn query(
    State(app): State<Arc<App>>,
    Extension(client): Extension<ClientKey>,
    Extension(slot): Extension<ClientSlot>,
    activity: Option<Extension<Arc<Activity>>>,
    name: NamePath,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let name = database_name(name);
    let caller = Caller {
        key: client,
        slot,
        activity: activity.map(|Extension(activity)| activity),
    };

    // Counted under names of the catalog only: clients can invent as many as they like.
    let mut tally = Tally::begin(&app.metrics, app.catalog.known(&name));
    let outcome = respond(&app, &name, &headers, caller, body).await;
    let code = outcome.as_ref().map_or_else(Problem::code, |_| "ok");
    let milliseconds = tally.end(code).as_secs_f64() * 1e3;

    match &outcome {
        Ok(_) => tracing::info!(milliseconds, status = 200, "query"),
        Err(problem) => {
            tracing::info!(
                milliseconds,
                status = problem.status().as_u16(),
                code = problem.code(),
                "query"
            );
        }
    }
    outcome
}

/// The client of a request.
struct Caller {
    key: ClientKey,
    slot: ClientSlot,
    /// Its connection; `None` for a service without a listener.
    activity: Option<Arc<Activity>>,
}

/// Answers a request. If it is refused, claims its ticket numbers.
async fn respond(
    app: &App,
    name: &str,
    headers: &HeaderMap,
    caller: Caller,
    body: Body,
) -> Result<Response, Problem> {
    let key = caller.key.clone();
    let admitted = match admit(app, name, headers, &key) {
        Ok(admitted) => admitted,
        Err(problem) => {
            // First, since the caller may go away while its body is drained.
            let problem = claim_numbers(app, &key, name, headers, problem).await;
            return Err(body::refused(body, app.body_timeout, problem).await);
        }
    };

    match submit(app, admitted, caller, body).await {
        Err(problem) => Err(claim_numbers(app, &key, name, headers, problem).await),
        answered => answered,
    }
}

/// A request that may send its body.
struct Admitted {
    candidates: Candidates,
    credentials: Credentials,
    /// Set if the body is a short message.
    is_short: bool,
}

/// Checks everything that can be checked before the body is read.
fn admit(
    app: &App,
    name: &str,
    headers: &HeaderMap,
    client: &ClientKey,
) -> Result<Admitted, Problem> {
    let mut candidates = app.catalog.candidates(name)?;
    if let Some(version) = named_version(headers)? {
        candidates = candidates.only(version)?;
    }

    let credentials = credentials(headers)?;
    app.queries
        .executor
        .expect_room(client)
        .map_err(|after| Problem::Busy { after })?;

    Ok(Admitted {
        candidates,
        credentials,
        is_short: is_short(headers),
    })
}

/// Reason why ticket numbers are not claimed.
enum Unclaimed {
    /// The client's turn never came: the request gave up its place.
    Shed,
    /// The registry refuses the claim.
    Refused(ClientError),
    /// A task was aborted.
    Aborted,
}

/// Claims the ticket numbers of queries that are refused for their version, in the client's turn.
/// Returns the refusal.
async fn claim_numbers(
    app: &App,
    key: &ClientKey,
    name: &str,
    headers: &HeaderMap,
    problem: Problem,
) -> Problem {
    // Every other refusal either comes from the registry, after its claims, or lets the client send
    // the same queries again, as `busy` does. A claim here would then refuse them.
    let Problem::Query(QueryError::WrongVersion { .. }) = problem else {
        return problem;
    };
    let Some(registry) = app.registry.clone() else {
        return problem;
    };
    let Ok(client) = credentials(headers) else {
        return problem;
    };
    let Ok(database) = app.catalog.get(name) else {
        return problem;
    };
    if client.tickets.is_empty() || client.tickets.len() > database.max_batch() {
        // No request has as many queries.
        return problem;
    }

    let Some(permit) = app.claims.admit(key) else {
        // Not the refusal for the version: a client that knows it moves on, and the numbers would
        // stay unclaimed.
        return Problem::Busy { after: FULL_ADVICE };
    };
    let turns = Arc::clone(&app.claims);
    // A task of its own: a caller that goes away does not end it.
    let claiming = tokio::spawn(claim_in_turn(turns, key.clone(), permit, move || {
        registry.claim_unanswered(&database, &client)
    }));

    // Turned into problems here, and not in the task: log lines need the request's span.
    match claiming.await {
        Ok(Ok(())) => problem,
        Ok(Err(Unclaimed::Refused(error))) => error.into(),
        Ok(Err(Unclaimed::Shed)) => Problem::Busy { after: FULL_ADVICE },
        Ok(Err(Unclaimed::Aborted)) | Err(_) => Problem::Internal,
    }
}

/// Claims ticket numbers on a blocking thread, in the client's turn.
async fn claim_in_turn(
    turns: Arc<WorkTurns>,
    client: ClientKey,
    permit: Permit,
    claim: impl FnOnce() -> Result<(), ClientError> + Send + 'static,
) -> Result<(), Unclaimed> {
    let Ok(turn) = turns.enter(&client, permit).await else {
        return Err(Unclaimed::Shed);
    };

    let claiming = spawn_blocking(move || {
        // Held until the claim has ended, even if nobody waits for it any more.
        let _turn = turn;
        claim()
    });
    match claiming.await {
        Ok(claimed) => claimed.map_err(Unclaimed::Refused),
        Err(_) => Err(Unclaimed::Aborted),
    }
}

/// Reads the body of an admitted request, and submits its queries.
async fn submit(
    app: &App,
    admitted: Admitted,
    caller: Caller,
    body: Body,
) -> Result<Response, Problem> {
    let Admitted {
        candidates,
        credentials,
        is_short,
    } = admitted;
    let Caller {
        key: client,
        slot,
        activity,
    } = caller;
    let Whole { bytes, held } = receive(app, &candidates, &client, body).await?;
    let ReceivedQueries { queries, short } = match is_short {
        true => ShortQuery::restore(&candidates, &credentials, bytes)?,
        false => ReceivedQueries {
            queries: bytes,
            short: None,
        },
    };

    let target = candidates.choose(&queries)?;
    let version = target.database.version();
    let bytes = target.database.answer_bytes(&queries);
    let pending = response_on(activity, app.body_timeout);
    let memory = app.answers.hold(&client, bytes, pending);
    let memory = memory.ok_or(Problem::Busy { after: FULL_ADVICE })?;

    // Only a request that has arrived takes a place: an upload, however slow, keeps nobody waiting.
    // A place may be that of another request, so nothing refuses this one afterwards.
    let permit = app
        .queries
        .executor
        .admit(&client)
        .map_err(|after| Problem::Busy { after })?;
    let permit = permit.holding(slot, held);

    let submission = Submission {
        target,
        client,
        credentials,
        queries,
        memory,
    };
    let answered = app.queries.submit(permit, submission).await?;
    match short {
        Some(short) => Ok(response(version, short.answered(answered)?, SHORT)),
        None => Ok(response(version, answered, BINARY)),
    }
}

/// The response with the answers of a version. It holds their memory until it is sent.
fn response(version: Version, answered: Answered, media_type: HeaderValue) -> Response {
    let Answered { bytes, memory } = answered;
    let version = [version_header(version)];
    let content_type = [(header::CONTENT_TYPE, media_type)];

    let mut response = (version, content_type, bytes).into_response();
    response
        .extensions_mut()
        .insert(ResponseMemory::from(memory));
    response
}

/// Reads the body of an admitted request, and counts its bytes and the time that it took.
async fn receive(
    app: &App,
    candidates: &Candidates,
    client: &ClientKey,
    body: Body,
) -> Result<Whole, Problem> {
    let begin = Instant::now();
    let held = app.uploads.begin(client.clone());
    let reading = traces::stage(&Span::current(), candidates.name(), Stage::Read);
    let whole = body::read(body, candidates.body_limit(), app.body_timeout, held).await?;
    drop(reading);

    app.metrics
        .stage(candidates.name(), Stage::Read, begin.elapsed());
    app.metrics.received(candidates.name(), whole.bytes.len());
    Ok(whole)
}
