//! Routes of a relay: sealed requests, keys, and the liveness probe.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, HttpBody};
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use papir_protocol::{media, path};
use tokio::time::timeout;
use tower_http::cors::{Any, CorsLayer};

use super::config::{RelayConfig, RelayGateway, RelayTransport};
use super::content_type::{self, REQUESTS, RESPONSES};
use super::download::RelayDownload;
use super::keys::RelayKeyCache;
use super::limits::{GatewayPlaces, RelayLimits, RelayPlace};
use super::problem::RelayProblem;
use super::upload::{RelayUpload, UploadFault, UploadLimits};
use crate::http::{DRAIN_TIME, PREFLIGHT_AGE, drain};
use crate::listen::Peer;
use crate::standalone::refuse;

/// The gateways and limits of a relay.
pub(super) struct RelayState {
    gateways: HashMap<String, Arc<ListedGateway>>,
    limits: RelayLimits,
    upload: UploadLimits,
    response_timeout: Duration,
}

/// A gateway, and its keys.
struct ListedGateway {
    authority: Arc<str>,
    transport: Arc<dyn RelayTransport>,
    keys: Arc<RelayKeyCache>,
    places: GatewayPlaces,
}

impl ListedGateway {
    /// A gateway, one of `gateways`.
    fn new(given: &RelayGateway, gateways: usize) -> Self {
        let authority: Arc<str> = given.authority.to_ascii_lowercase().into();
        let transport = Arc::clone(&given.transport);
        let keys = RelayKeyCache::new(Arc::clone(&authority), Arc::clone(&transport));
        Self {
            places: GatewayPlaces::new(Arc::clone(&authority), gateways),
            authority,
            transport,
            keys: Arc::new(keys),
        }
    }

    /// The problem of an exchange that failed.
    fn away(&self) -> RelayProblem {
        let authority = Arc::clone(&self.authority);
        RelayProblem::Away { authority }
    }
}

/// A request that is within its limits.
struct AdmittedRequest {
    gateway: Arc<ListedGateway>,
    /// The content type.
    media: &'static str,
    place: RelayPlace,
}

impl RelayState {
    pub(super) fn new(config: &RelayConfig) -> Self {
        let mut gateways = HashMap::new();
        for given in &config.gateways {
            let gateway = ListedGateway::new(given, config.gateways.len());
            gateways.insert(gateway.authority.to_string(), Arc::new(gateway));
        }

        Self {
            gateways,
            limits: RelayLimits::new(config.rate),
            upload: UploadLimits {
                bytes: config.max_request,
                time: config.body_timeout,
            },
            response_timeout: config.response_timeout,
        }
    }

    /// The gateway that a path names.
    fn gateway(&self, named: NamedGateway) -> Result<Arc<ListedGateway>, RelayProblem> {
        let Path(authority) = named.map_err(|_| RelayProblem::UnknownRoute)?;
        self.gateways
            .get(&authority.to_ascii_lowercase())
            .cloned()
            .ok_or(RelayProblem::UnknownGateway)
    }

    /// Checks a sealed request before any of its body is read.
    fn admit(
        &self,
        named: NamedGateway,
        request: &Request,
    ) -> Result<AdmittedRequest, RelayProblem> {
        let gateway = self.gateway(named)?;
        let media =
            content_type::one_of(request.headers(), &REQUESTS).ok_or(RelayProblem::WrongType)?;
        let limit = self.upload.bytes;
        if request.body().size_hint().lower() > limit {
            return Err(RelayProblem::TooLong { limit });
        }

        // Last: a request that is refused for another reason is not charged.
        let place = self.limits.admit(peer(request), &gateway.places)?;
        Ok(AdmittedRequest {
            gateway,
            media,
            place,
        })
    }

    /// Forwards a request and its response, both as they arrive.
    async fn forward(
        &self,
        admitted: AdmittedRequest,
        body: Body,
    ) -> Result<Response, RelayProblem> {
        let AdmittedRequest {
            gateway,
            media,
            place,
        } = admitted;

        let fault = UploadFault::default();
        let upload = RelayUpload::new(body, self.upload, fault.clone());

        let exchange = gateway.transport.send(sealed_request(upload, media));
        // The upload has a time of its own, but not while the gateway takes none of it.
        let limit = self.upload.time.saturating_add(self.response_timeout);
        let outcome = timeout(limit, exchange).await;

        // Before the outcome: the gateway is not at fault if the client's body was cut off.
        if let Some(problem) = fault.found() {
            drain(fault.rest(), DRAIN_TIME).await;
            return Err(problem);
        }
        let response = match outcome {
            Ok(Ok(response)) => response,
            Ok(Err(failure)) => {
                tracing::warn!(gateway = &*gateway.authority, %failure, "not forwarded");
                return Err(gateway.away());
            }
            Err(_) => {
                let authority = Arc::clone(&gateway.authority);
                return Err(RelayProblem::TimedOut { authority });
            }
        };

        let authority = Arc::clone(&gateway.authority);
        let known = content_type::one_of(response.headers(), &RESPONSES);
        let status = response.status();
        let Some(media) = known.filter(|_| is_final(status)) else {
            return Err(RelayProblem::NoGateway { authority });
        };
        if status.is_client_error() {
            // Its key may be unknown. The relay does not read which refusal it is.
            gateway.keys.doubt();
        }

        let body = response.into_body();
        let download = RelayDownload::new(body, authority, self.upload.time, place);
        let mut passed_on = Response::new(Body::new(download));
        *passed_on.status_mut() = status;
        content_type::set(passed_on.headers_mut(), media);
        Ok(passed_on)
    }
}

/// The gateway's authority in a path.
type NamedGateway = Result<Path<String>, PathRejection>;

/// All routes of a relay.
pub(super) fn routes(state: Arc<RelayState>) -> Router {
    let cors = CorsLayer::new()
        .allow_origin(Any)
        .allow_methods([Method::GET, Method::HEAD, Method::POST])
        .allow_headers([header::CONTENT_TYPE])
        .expose_headers([header::RETRY_AFTER])
        .max_age(PREFLIGHT_AGE);

    Router::new()
        .route(path::ALIVE, get(alive))
        .route("/{authority}", get(keys).post(sealed))
        .fallback(|| async { RelayProblem::UnknownRoute })
        .method_not_allowed_fallback(|| async { RelayProblem::WrongMethod })
        .layer(cors)
        .with_state(state)
}

/// Liveness.
async fn alive() -> &'static str {
    "ok\n"
}

/// Forwards a sealed request.
async fn sealed(
    State(relay): State<Arc<RelayState>>,
    named: NamedGateway,
    request: Request,
) -> Response {
    let admitted = match relay.admit(named, &request) {
        Ok(admitted) => admitted,
        Err(problem) => return refuse(request, problem).await,
    };

    relay
        .forward(admitted, request.into_body())
        .await
        .unwrap_or_else(IntoResponse::into_response)
}

/// Serves a gateway's keys.
async fn keys(
    State(relay): State<Arc<RelayState>>,
    named: NamedGateway,
    request: Request,
) -> Result<Response, RelayProblem> {
    let gateway = relay.gateway(named)?;
    let place = relay.limits.admit(peer(&request), &gateway.places)?;

    // A task of its own: a client that leaves must not end a fetch that others wait for.
    let cache = Arc::clone(&gateway.keys);
    let fetching = tokio::spawn(async move {
        let served = cache.current().await;
        drop(place);
        served
    });
    let served = fetching.await.map_err(|_| RelayProblem::Internal)??;

    let mut response = Response::new(Body::from(served.bytes));
    content_type::set(response.headers_mut(), media::OHTTP_KEYS);
    let age = format!("public, max-age={}", served.seconds);
    if let Ok(value) = HeaderValue::try_from(age) {
        response.headers_mut().insert(header::CACHE_CONTROL, value);
    }
    Ok(response)
}

/// The remote end of a request's connection.
fn peer(request: &Request) -> Peer {
    let known = request.extensions().get::<Peer>();
    known.copied().unwrap_or(Peer::Local)
}

/// The request for the gateway: the body and its type, and nothing else of the client's request.
fn sealed_request(body: RelayUpload, media: &'static str) -> Request<RelayUpload> {
    let mut request = Request::new(body);
    *request.method_mut() = Method::POST;
    *request.uri_mut() = Uri::from_static(path::OHTTP_GATEWAY);
    content_type::set(request.headers_mut(), media);
    request
}

/// Returns whether a client may see this status. A redirection would name another address.
fn is_final(status: StatusCode) -> bool {
    !status.is_informational() && !status.is_redirection()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::convert::Infallible;
    use std::future::{pending, ready};

    use hyper::service::Service;
    use hyper_util::service::TowerToHyperService;
    use tokio::task::JoinSet;

    use super::*;
    use crate::relay::config::RelayExchange;

    /// A gateway that never responds, or responds at once.
    struct FakeGateway {
        is_hanging: bool,
    }

    impl RelayTransport for FakeGateway {
        fn send(&self, _: Request<RelayUpload>) -> RelayExchange {
            if self.is_hanging {
                return Box::pin(pending());
            }
            let mut response = Response::new(Body::from("sealed"));
            content_type::set(response.headers_mut(), media::OHTTP_RESPONSE);
            Box::pin(ready(Ok(response)))
        }
    }

    fn listed(authority: &str, is_hanging: bool) -> RelayGateway {
        RelayGateway {
            authority: authority.to_owned(),
            transport: Arc::new(FakeGateway { is_hanging }),
        }
    }

    /// The status of a sealed request of a client to a gateway.
    async fn post(router: Router, authority: &str, client: u8) -> StatusCode {
        let mut request = Request::new(Body::from("sealed"));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = format!("/{authority}").parse().unwrap();
        content_type::set(request.headers_mut(), media::OHTTP_REQUEST);
        let peer = Peer::Address([192, 0, 2, client].into());
        request.extensions_mut().insert(peer);

        let responded: Result<Response, Infallible> =
            TowerToHyperService::new(router).call(request).await;
        let Ok(response) = responded;
        response.status()
    }

    #[tokio::test]
    async fn a_gateway_that_hangs_leaves_places_for_others() {
        let config = RelayConfig {
            gateways: vec![
                listed("hanging.example", true),
                listed("healthy.example", false),
            ],
            ..RelayConfig::default()
        };
        let router = routes(Arc::new(RelayState::new(&config)));

        let mut hanging = JoinSet::new();
        for _ in 0..2 {
            for client in 0..=u8::MAX {
                hanging.spawn(post(router.clone(), "hanging.example", client));
            }
        }
        for _ in 0..256 {
            let refused = hanging.join_next().await.unwrap().unwrap();
            assert_eq!(refused, StatusCode::TOO_MANY_REQUESTS);
        }
        assert_eq!(hanging.len(), 256, "they wait for the gateway");

        let found = post(router, "healthy.example", 0).await;
        assert_eq!(found, StatusCode::OK);
    }

    #[test]
    fn redirections_are_not_passed_on() {
        assert!(is_final(StatusCode::OK) && is_final(StatusCode::BAD_REQUEST));
        assert!(!is_final(StatusCode::TEMPORARY_REDIRECT));
        assert!(!is_final(StatusCode::SWITCHING_PROTOCOLS));
    }
}
