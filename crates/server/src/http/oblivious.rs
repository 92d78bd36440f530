//! Handlers of the gateway of Oblivious HTTP (RFC 9458, RFC 9540).
//!
//! A relay sends sealed requests of its clients. The service learns the requests, and the relay the
//! clients' addresses. An opened request goes through the routes like a request of the relay.
//!
//! Until a request is opened, nothing but its relay is known. Its body counts for the relay while
//! it arrives, and it is opened in the relay's turn: no private key is used before. Then the token
//! within names the client, as without a relay: body, response, rate, places, and the room in the
//! window against copies count for it. A request without a valid token counts for its relay.
//!
//! Once a request is opened, refusals are sealed. `busy` comes before a request has an effect, or
//! if it only reads. One in the whole form may have had its effect when it is refused as
//! `too_long`, since only its response shows how long that is: the same queries in chunks get the
//! same answers.

use std::convert::Infallible;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{Extension, State};
use axum::http::{HeaderMap, HeaderValue, Method, Request, header};
use axum::response::{IntoResponse, Response};
use http_body_util::BodyExt;
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;
use papir_ohttp::{OpenedRequest, ResponseHead, ResponseSealer, SealForm};
use papir_protocol::limit::PART_BYTES;
use papir_protocol::{ErrorBody, media};
use tokio::task::{JoinError, spawn_blocking};

use super::authorization::granted;
use super::body::{self, FULL_ADVICE, Whole};
use super::problem::Problem;
use super::routes::Routes;
use super::sealed_body::{OpenedBody, SealedBody};
use super::sealed_head::{request_head, response_head};
use super::tracked_body::{PIECE, ResponseMemory};
use super::unread::{BodyMemory, STREAM_BYTES, response_on};
use super::{forwarded, psi};
use crate::access::{Grant, Tokens};
use crate::admission::{ClientKey, HeldBytes};
use crate::gateway::{ObliviousGateway, UnsealError};
use crate::listen::{Activity, Peer};
use crate::service::App;

/// Longest response that is sealed as a whole, in bytes. It is in memory until it is sent.
const WHOLE_BYTES: u64 = 16 << 20;
/// Bytes of a sealed request besides its body: the head, the encapsulated key, and the padding of a
/// short one.
const FRAME_BYTES: usize = 128 << 10;
/// A sealed request may have one part in this number more: the padding of a long body, and the ends
/// of its chunks.
const FRAME_PARTS: usize = 8;
/// Time for which a list of keys may be kept. It is far shorter than the overlap of two keys.
const KEYS_CACHED: HeaderValue = HeaderValue::from_static("public, max-age=3600");

/// The routes for what sealed requests contain.
#[derive(Clone)]
pub(super) struct InnerRouter(pub(super) Router);

/// Adds the routes, for a service with a gateway.
pub(super) fn routes(before: Routes) -> Routes {
    before
        .add(__path_gateway_keys, gateway_keys)
        .add(__path_relayed, relayed)
}

/// List the keys of the gateway of Oblivious HTTP.
#[utoipa::path(
    get, path = "/.well-known/ohttp-gateway",
    responses(
        (status = 200, description = "key configurations (RFC 9458, section 3)", content_type = "application/ohttp-keys"),
        (status = 429, description = "`busy`: the server is at capacity", body = ErrorBody,
         headers(("retry-after" = u64, description = "seconds"))),
    )
)]
async fn gateway_keys(State(app): State<Arc<App>>) -> Result<Response, Problem> {
    let gateway = app.gateway.as_ref().ok_or(Problem::UnknownRoute)?;
    let headers = [
        (
            header::CONTENT_TYPE,
            HeaderValue::from_static(media::OHTTP_KEYS),
        ),
        (header::CACHE_CONTROL, KEYS_CACHED),
    ];
    Ok((Extension(BodyMemory::Shared), headers, gateway.key_list()).into_response())
}

/// Answer a sealed request.
///
/// The body is a request in binary HTTP (RFC 9292) to a path of this interface, sealed for a key of
/// the gateway: in chunks, or as a whole (`message/ohttp-req`, RFC 9458). The response is sealed in
/// the same form (`message/ohttp-res`). Refusals of the request itself are within the response.
#[utoipa::path(
    post, path = "/.well-known/ohttp-gateway",
    request_body(content_type = "message/ohttp-chunked-req", description = "a sealed request"),
    responses(
        (status = 200, description = "the sealed response", content_type = "message/ohttp-chunked-res"),
        (status = 400, description = "`ohttp_key`: sealed under a key that the gateway does not have, or its first chunk does not open; \
            `malformed`: a later chunk does not open, it contains no request, or its content type is neither form; \
            `interrupted`: the body ended early", body = ErrorBody),
        (status = 408, description = "`too_slow`: the body did not arrive in time", body = ErrorBody),
        (status = 409, description = "`replayed`: the same sealed request has arrived before", body = ErrorBody),
        (status = 413, description = "`too_long`: no request is as long", body = ErrorBody),
        (status = 429, description = "`busy`: the server is at capacity", body = ErrorBody,
         headers(("retry-after" = u64, description = "seconds"))),
        (status = 500, description = "`internal`", body = ErrorBody),
    )
)]
async fn relayed(
    State(app): State<Arc<App>>,
    Extension(InnerRouter(router)): Extension<InnerRouter>,
    peer: Option<Extension<Peer>>,
    activity: Option<Extension<Arc<Activity>>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let gateway = app.gateway.as_ref().ok_or(Problem::UnknownRoute)?;
    let peer = peer.map_or(Peer::Local, |Extension(peer)| peer);
    let RelayedHead { form, relay } = match admit(&app, peer, &headers) {
        Ok(admitted) => admitted,
        Err(problem) => return Err(body::refused(body, app.body_timeout, problem).await),
    };
    let exchange = RelayedExchange {
        client: app.guard.client(&Grant::everything(), relay),
        relay,
        activity: activity.map(|Extension(activity)| activity),
    };

    let held = app.uploads.begin(exchange.client.clone());
    let sealed = body::read(body, longest(&app), app.body_timeout, held).await?;
    let unsealed = unseal(gateway, sealed, form, &exchange.client).await?;
    exchange.answer(&app, gateway, router, unsealed).await
}

/// A sealed request whose body may be read.
struct RelayedHead {
    form: SealForm,
    /// The peer, or the client of the proxy in front of this service.
    relay: Peer,
}

/// Checks everything that can be checked before the body is read.
fn admit(app: &App, peer: Peer, headers: &HeaderMap) -> Result<RelayedHead, Problem> {
    Ok(RelayedHead {
        form: form(headers)?,
        relay: forwarded::client(&app.guard.proxies, peer, headers)?,
    })
}

/// The form that the content type names.
fn form(headers: &HeaderMap) -> Result<SealForm, Problem> {
    let value = headers.get(header::CONTENT_TYPE);
    let text = value.and_then(|value| value.to_str().ok()).unwrap_or("");
    let (essence, _) = text.split_once(';').unwrap_or((text, ""));

    let essence = essence.trim();
    if essence.eq_ignore_ascii_case(media::OHTTP_CHUNKED_REQUEST) {
        Ok(SealForm::Chunked)
    } else if essence.eq_ignore_ascii_case(media::OHTTP_REQUEST) {
        Ok(SealForm::Whole)
    } else {
        Err(Problem::BadHeader {
            name: "content-type",
            expected: "message/ohttp-chunked-req or message/ohttp-req",
        })
    }
}

/// The longest sealed request in bytes: the longest body that a route reads, sealed.
fn longest(app: &App) -> usize {
    let queries = app.catalog.body_limit();
    let body = queries.max(PART_BYTES).max(psi::BODY_BYTES);
    body.saturating_add(body / FRAME_PARTS + FRAME_BYTES)
}

/// An opened request, and the memory that it holds.
struct Unsealed {
    opened: OpenedRequest,
    held: Option<HeldBytes>,
}

/// Opens a request on a blocking thread, in its relay's turn.
async fn unseal(
    gateway: &Arc<ObliviousGateway>,
    sealed: Whole,
    form: SealForm,
    relay: &ClientKey,
) -> Result<Unsealed, Problem> {
    let Whole { bytes, held } = sealed;
    // The turn is held until the end, even if nobody waits for it any more.
    let turn = gateway.turn(relay, held).await?;
    let gateway = Arc::clone(gateway);
    let opening = spawn_blocking(move || {
        let opened = gateway.unseal(&bytes, form)?;
        // The memory counted for the sealed bytes is enough for the opened body.
        drop(bytes);
        let held = turn.end();
        Ok::<_, UnsealError>(Unsealed { opened, held })
    });

    Ok(opening.await.map_err(|error| aborted(&error))??)
}

/// The permissions of an opened request, by which it counts for the client that its token names,
/// else for the relay. The guard counts rates and places for the same client.
fn sender(tokens: Option<&Tokens>, headers: &HeaderMap) -> Grant {
    let grant = tokens.and_then(|tokens| granted(tokens, headers));
    grant.unwrap_or_else(Grant::everything)
}

/// The room for a response that a request needs before it may have an effect.
struct ResponseRoom {
    /// Its memory; `None` if there is no room.
    memory: Option<ResponseMemory>,
    /// Set if the request only reads, so that it may be refused afterwards, too.
    is_read: bool,
}

/// The response to what a sealed request contains.
async fn respond(router: Router, request: Request<Body>) -> Response {
    let responded: Result<Response, Infallible> =
        TowerToHyperService::new(router).call(request).await;
    let Ok(response) = responded;
    response
}

/// A sealed request's way through this service.
struct RelayedExchange {
    relay: Peer,
    /// The client that memory is counted for: the relay until the request is opened.
    client: ClientKey,
    /// Its connection; `None` for a service without a listener.
    activity: Option<Arc<Activity>>,
}

impl RelayedExchange {
    /// Answers an opened request. From here on refusals are sealed, except that of a copy.
    async fn answer(
        mut self,
        app: &App,
        gateway: &ObliviousGateway,
        router: Router,
        unsealed: Unsealed,
    ) -> Result<Response, Problem> {
        let Unsealed { opened, held } = unsealed;
        let OpenedRequest {
            request,
            body,
            sealer,
            fingerprint,
        } = opened;
        let head = request_head(&request);
        if let Ok(head) = &head {
            let sender = sender(app.guard.tokens.as_deref(), head.headers());
            self.client = app.guard.client(&sender, self.relay);
        }

        // Before the request has an effect: a response without room is refused, and its request
        // would not be sent again.
        let memory = self.hold(app, PIECE);
        let admitted = match &memory {
            Some(_) => gateway.remember(&fingerprint, &self.client),
            None => Err(UnsealError::Busy { after: FULL_ADVICE }),
        };
        let inner = match admitted {
            Ok(()) => head.and_then(|head| self.inner_request(head, body, held)),
            // Not sealed: it is the answer to whoever copied the request.
            Err(copy @ UnsealError::Replayed) => return Err(copy.into()),
            Err(full) => Err(full.into()),
        };

        let is_read = inner.as_ref().map_or(true, only_reads);
        let response = match inner {
            Ok(inner) => respond(router, inner).await,
            Err(problem) => problem.into_response(),
        };

        match sealer.form() {
            SealForm::Chunked => Ok(seal_in_chunks(sealer, response, memory)),
            SealForm::Whole => {
                let room = ResponseRoom { memory, is_read };
                self.seal_whole(app, sealer, response, room).await
            }
        }
    }

    /// Counts the memory of a sealed response; `None` if there is no room.
    fn hold(&self, app: &App, bytes: usize) -> Option<ResponseMemory> {
        let pending = response_on(self.activity.clone(), app.body_timeout);
        let bytes = STREAM_BYTES.saturating_add(bytes);
        let held = app.descriptions.hold(&self.client, bytes, pending);
        held.map(ResponseMemory::from)
    }

    /// The request that was sealed, as one of the relay. From now on its body counts for the client
    /// that its token names, as if it had come without a relay.
    fn inner_request(
        &self,
        head: Request<()>,
        body: Vec<u8>,
        held: Option<HeldBytes>,
    ) -> Result<Request<Body>, Problem> {
        let charged = held.and_then(|held| held.charged_to(&self.client));
        if charged.is_none() {
            return Err(Problem::Busy { after: FULL_ADVICE });
        }

        let length = body.len();
        let mut inner = head.map(|()| Body::new(OpenedBody::new(body, charged)));
        inner
            .headers_mut()
            .insert(header::CONTENT_LENGTH, HeaderValue::from(length));

        inner.extensions_mut().insert(self.relay);
        if let Some(activity) = &self.activity {
            inner.extensions_mut().insert(Arc::clone(activity));
        }
        Ok(inner)
    }

    /// Seals a response as a whole. One that is too long becomes a refusal, and so does one to a
    /// request that only reads, without memory for it. The response to any other request stays: the
    /// request has had its effect.
    async fn seal_whole(
        &self,
        app: &App,
        sealer: ResponseSealer,
        mut response: Response,
        mut room: ResponseRoom,
    ) -> Result<Response, Problem> {
        let length = response.body().size_hint().exact();
        match length.filter(|length| *length <= WHOLE_BYTES) {
            None => {
                let limit = WHOLE_BYTES;
                response = Problem::TooLongToSeal { limit }.into_response();
            }
            Some(length) if length > PIECE as u64 => {
                room = self.make_room(app, room, &mut response, length);
                if room.memory.is_none() {
                    response = Problem::Busy { after: FULL_ADVICE }.into_response();
                }
            }
            Some(_) => {}
        }

        let (parts, body) = response.into_parts();
        let head = response_head(&parts);
        let body = body.collect().await.map_err(|_| Problem::Internal)?;
        let plain = body.to_bytes();
        let sealing = spawn_blocking(move || seal_at_once(sealer, &head, &plain));

        let sealed = sealing.await.map_err(|error| aborted(&error))?;
        let sealed = sealed.map_err(|error| not_sealed(&error))?;
        let sealed = Body::from(sealed);
        Ok(outer(media::OHTTP_RESPONSE, sealed, room.memory))
    }

    /// The room for a response of `length` bytes in one piece.
    fn make_room(
        &self,
        app: &App,
        mut room: ResponseRoom,
        response: &mut Response,
        length: u64,
    ) -> ResponseRoom {
        // An answer is counted with all its bytes. They are freed once they are sealed, and what is
        // sealed takes their place.
        let is_counted = response.extensions().get::<BodyMemory>().is_none();
        let counted: Option<ResponseMemory> = response.extensions_mut().remove();
        if let Some(counted) = counted.filter(|_| is_counted) {
            room.memory = Some(counted);
            return room;
        }

        // Other responses to requests with an effect are short.
        if room.is_read {
            // In place of the room for a piece.
            drop(room.memory.take());
            room.memory = self.hold(app, usize::try_from(length).unwrap_or(usize::MAX));
        }
        room
    }
}

/// Returns true if a request has no effect.
fn only_reads(request: &Request<Body>) -> bool {
    [Method::GET, Method::HEAD].contains(request.method())
}

/// Seals a response that is in memory.
fn seal_at_once(
    sealer: ResponseSealer,
    head: &ResponseHead,
    plain: &Bytes,
) -> papir_ohttp::Result<Vec<u8>> {
    let mut sealer = sealer.start(head, Some(plain.len() as u64));
    let mut sealed = sealer.part(plain)?;
    sealed.append(&mut sealer.finish()?);
    Ok(sealed)
}

/// Seals a response in chunks, while it is sent.
fn seal_in_chunks(
    sealer: ResponseSealer,
    response: Response,
    memory: Option<ResponseMemory>,
) -> Response {
    let (mut parts, body) = response.into_parts();
    // The memory of the body, until all of it is sealed. What is sealed has its own.
    let held = parts.extensions.remove();
    let length = body.size_hint().exact();
    let sealer = sealer.start(&response_head(&parts), length);

    let body = Body::new(SealedBody::new(body, length, sealer, held));
    outer(media::OHTTP_CHUNKED_RESPONSE, body, memory)
}

/// The response to the relay.
fn outer(media_type: &'static str, body: Body, memory: Option<ResponseMemory>) -> Response {
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(media_type)),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];

    let mut response = (headers, body).into_response();
    if let Some(memory) = memory {
        response.extensions_mut().insert(memory);
    }
    response
}

/// A task that panicked, or was cancelled as the service ends.
fn aborted(error: &JoinError) -> Problem {
    if !error.is_cancelled() {
        // Not the panic's message, which may contain bytes of the request.
        tracing::error!("a sealed message was not completed");
    }
    Problem::Internal
}

fn not_sealed(error: &papir_ohttp::Error) -> Problem {
    tracing::error!(%error, "a response was not sealed");
    Problem::Internal
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::access::{ListedRelays, NewToken, Scope, TokenFile, TokenSource};

    #[test]
    fn a_request_counts_for_the_client_that_its_token_names() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokens.toml");
        let token = TokenFile::add(&path, NewToken::new("all", [Scope::Query])).unwrap();
        let tokens = Tokens::open(&[TokenSource::new(&path)]).unwrap();
        let address = std::net::Ipv4Addr::new(192, 0, 2, 1).into();
        let relay = Peer::Address(address);
        let of = |tokens: Option<&Tokens>, value: &str| {
            let header = (header::AUTHORIZATION, value.parse().unwrap());
            let grant = sender(tokens, &HeaderMap::from_iter([header]));
            ClientKey::of(&grant, relay, &ListedRelays::default())
        };

        let good = format!("Bearer {}", token.as_str());
        assert_eq!(of(Some(&tokens), &good), ClientKey::Token("all".into()));
        let unnamed = ClientKey::Address(address);
        assert_eq!(of(Some(&tokens), "Bearer papir_other"), unnamed);
        assert_eq!(of(None, &good), unnamed);
        let without = sender(Some(&tokens), &HeaderMap::new());
        assert_eq!(without, Grant::everything());
    }

    #[test]
    fn content_types_name_the_form() {
        let of = |text: &'static str| {
            let value = HeaderValue::from_static(text);
            form(&HeaderMap::from_iter([(header::CONTENT_TYPE, value)])).ok()
        };

        assert_eq!(of("message/ohttp-req"), Some(SealForm::Whole));
        assert_eq!(
            of("Message/OHTTP-Chunked-Req; incremental=?1"),
            Some(SealForm::Chunked)
        );
        for other in ["", "message/ohttp-res", "application/octet-stream"] {
            assert_eq!(of(other), None, "{other}");
        }
        assert!(form(&HeaderMap::new()).is_err());
    }
}
