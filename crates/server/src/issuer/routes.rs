//! Routes of an issuer: its directory, token requests, and the liveness probe.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, HttpBody};
use axum::extract::{Request, State};
use axum::http::{HeaderValue, Method, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use papir_privacy_pass::{DIRECTORY_MEDIA_TYPE, DIRECTORY_PATH};
use papir_protocol::path;
use tokio::time::timeout;
use tower_http::cors::{Any, CorsLayer};

use super::issuance::{TokenClient, TokenIssuer};
use super::problem::IssuerProblem;
use super::requests::{REQUEST_PATH, RequestForm};
use crate::http::{PREFLIGHT_AGE, bearer};
use crate::standalone::refuse;

/// Time for which clients and services may keep the directory. Successors of keys are announced
/// earlier.
const DIRECTORY_AGE: HeaderValue = HeaderValue::from_static("public, max-age=3600");

/// An issuer, and the time limit for bodies.
pub(super) struct IssuerState {
    pub(super) issuer: Arc<TokenIssuer>,
    pub(super) body_timeout: Duration,
}

/// All routes.
pub(super) fn routes(state: Arc<IssuerState>) -> Router {
    // A client shows its bearer token itself, and a browser adds no credentials of its own.
    let cors = CorsLayer::new()
        .allow_origin(Any)
        .allow_methods([Method::GET, Method::HEAD, Method::POST])
        .allow_headers([header::AUTHORIZATION, header::CONTENT_TYPE])
        .expose_headers([header::RETRY_AFTER])
        .max_age(PREFLIGHT_AGE);

    Router::new()
        .route(path::ALIVE, get(alive))
        .route(DIRECTORY_PATH, get(directory))
        .route(REQUEST_PATH, post(token_request))
        .fallback(|| async { IssuerProblem::UnknownRoute })
        .method_not_allowed_fallback(|| async { IssuerProblem::WrongMethod })
        .layer(cors)
        .with_state(state)
}

/// Liveness.
async fn alive() -> &'static str {
    "ok\n"
}

/// The public keys, the same bytes for everybody.
async fn directory(State(state): State<Arc<IssuerState>>) -> Response {
    let mut response = Response::new(Body::from(state.issuer.keys.directory()));
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static(DIRECTORY_MEDIA_TYPE),
    );
    headers.insert(header::CACHE_CONTROL, DIRECTORY_AGE);
    response
}

/// Signs blinded tokens.
async fn token_request(State(state): State<Arc<IssuerState>>, request: Request) -> Response {
    let admitted = match state.admit(&request) {
        Ok(admitted) => admitted,
        Err(problem) => return refuse(request, problem).await,
    };

    let form = admitted.form;
    match state.answer(admitted, request.into_body()).await {
        Ok(bytes) => issued(form, bytes),
        Err(problem) => problem.into_response(),
    }
}

/// A request whose client may have tokens.
struct AdmittedClient {
    client: TokenClient,
    form: RequestForm,
}

impl IssuerState {
    /// Checks a request before any of its body is read.
    fn admit(&self, request: &Request) -> Result<AdmittedClient, IssuerProblem> {
        let client = self.issuer.client(bearer(request.headers()))?;
        let form = RequestForm::of(request.headers()).ok_or(IssuerProblem::WrongType)?;
        let limit = form.limit();
        if request.body().size_hint().lower() > limit as u64 {
            return Err(IssuerProblem::TooLong { limit });
        }
        Ok(AdmittedClient { client, form })
    }

    /// Reads the body, and signs its tokens.
    async fn answer(&self, admitted: AdmittedClient, body: Body) -> Result<Vec<u8>, IssuerProblem> {
        let AdmittedClient { client, form } = admitted;
        let limit = form.limit();
        let collected = timeout(self.body_timeout, Limited::new(body, limit).collect())
            .await
            .map_err(|_| IssuerProblem::TooSlow)?;

        let whole = collected.map_err(|error| match error.is::<LengthLimitError>() {
            true => IssuerProblem::TooLong { limit },
            false => IssuerProblem::Interrupted,
        })?;
        let bytes = whole.to_bytes().to_vec();
        self.issuer.issue(client, form, bytes).await
    }
}

/// The response with signatures. They are for one client only.
fn issued(form: RequestForm, bytes: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(bytes));
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static(form.response_media()),
    );
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
