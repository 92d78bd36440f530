//! Route table, and its OpenAPI document at `GET /openapi.json`.
//!
//! A handler carries its documentation as `#[utoipa::path(…)]`. [`Routes::add`]`(__path_handler,
//! handler)` takes path and methods from it, so that no route lacks documentation and no
//! documentation lacks a route. [`Routes::shape`] adds the schema of a JSON body, and
//! [`Routes::everywhere`] documents an error of the middleware for many routes.

use std::sync::Arc;

use axum::body::Bytes;
use axum::handler::Handler;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, on};
use axum::{Extension, Router};
use papir_protocol::{ErrorBody, header as names, media};
use utoipa::openapi::header::HeaderBuilder;
use utoipa::openapi::path::{Operation, Parameter};
use utoipa::openapi::schema::{Components, Object, Ref, Schema, Type};
use utoipa::openapi::{
    Content, ContentBuilder, HttpMethod, InfoBuilder, LicenseBuilder, OpenApi, Paths, RefOr,
};
use utoipa::openapi::{Response as Documented, ResponseBuilder};
use utoipa::{Path, ToSchema};

use super::unread::BodyMemory;
use crate::service::App;

const JSON: HeaderValue = HeaderValue::from_static(media::JSON);

/// Form of a client's id.
const CLIENT_ID: &str = "^[0-9a-fA-F]{32}$";
/// Form of a database's version.
const VERSION: &str = "^[0-9a-fA-F]{16}$";
/// Form of a set of blocks: numbers, and pairs of them with a dash between them.
const RANGES: &str = "^(0|[1-9][0-9]*)(-[1-9][0-9]*)?(,[1-9][0-9]*(-[1-9][0-9]*)?)*$";
/// Form of ticket numbers, separated by commas.
const TICKETS: &str = "^ *(0|[1-9][0-9]*) *(, *(0|[1-9][0-9]*) *)*$";

/// Forms of parameters by name. A request with a value of another form is refused.
const PATTERNS: [(&str, &str); 6] = [
    ("id", CLIENT_ID),
    ("ranges", RANGES),
    ("version", VERSION),
    (names::CLIENT, CLIENT_ID),
    (names::TICKET, TICKETS),
    (names::VERSION, VERSION),
];

/// The routes added so far.
pub(super) struct Routes {
    router: Router<Arc<App>>,
    document: OpenApi,
}

impl Routes {
    /// No routes.
    pub(super) fn new() -> Self {
        let license = LicenseBuilder::new().name(env!("CARGO_PKG_LICENSE"));
        let info = InfoBuilder::new()
            .title("papir")
            .version(env!("CARGO_PKG_VERSION"))
            .description(Some(
                "Private information retrieval: look up records without revealing which ones to the server.",
            ))
            .license(Some(license.build()));

        let mut document = OpenApi::new(info.build(), Paths::new());
        document.components = Some(Components::new());
        Self {
            router: Router::new(),
            document,
        }
        .shape::<ErrorBody>()
    }

    /// Adds a handler, with the path and methods of its documentation.
    pub(super) fn add<P: Path, T: 'static>(
        mut self,
        _: P,
        handler: impl Handler<T, Arc<App>>,
    ) -> Self {
        let path = P::path();
        let mut operation = P::operation();
        let tag = match &path {
            path if path.starts_with("/v1/databases") => "databases",
            path if path.starts_with("/v1/psi") => "set intersection",
            path if path.starts_with("/.well-known/") => "oblivious HTTP",
            _ => "operations",
        };
        operation.tags = Some(vec![tag.to_owned()]);

        for method in P::methods() {
            let filter = filter(&method);
            self.router = self.router.route(&path, on(filter, handler.clone()));
            self.document
                .paths
                .add_path_operation(&path, vec![method], operation.clone());
        }
        self
    }

    /// Documents the schema of a JSON body and of the types within it.
    pub(super) fn shape<T: ToSchema>(mut self) -> Self {
        let mut schemas = vec![(T::name().into_owned(), T::schema())];
        T::schemas(&mut schemas);
        self.document
            .components
            .get_or_insert_default()
            .schemas
            .extend(schemas);
        self
    }

    /// Documents an error of all operations added so far whose path starts with `prefix`.
    pub(super) fn everywhere(mut self, prefix: &str, status: u16, meaning: &str) -> Self {
        self.operations(prefix, |operation| {
            let responses = &mut operation.responses.responses;
            responses
                .entry(status.to_string())
                .or_insert_with(|| error_response(meaning).into());
        });
        self
    }

    /// The router, including the route of the OpenAPI document.
    pub(super) fn finish(self) -> Router<Arc<App>> {
        let mut routes = self
            .add(__path_openapi, openapi)
            .everywhere(
                "/openapi.json",
                429,
                "`busy`: the server is at capacity; retry after `retry-after`",
            )
            .everywhere(
                "/",
                405,
                "`wrong_method`: the path does not support this method",
            );
        routes.operations("/", |operation| {
            let parameters = operation.parameters.iter_mut().flatten();
            parameters.for_each(add_pattern);
            operation
                .responses
                .responses
                .values_mut()
                .for_each(complete);
        });

        // Serialization cannot fail: the document consists of maps and strings.
        let document = Document(routes.document.to_json().unwrap_or_default().into());
        routes.router.layer(Extension(document))
    }

    /// Changes all operations whose path starts with `prefix`.
    fn operations(&mut self, prefix: &str, mut change: impl FnMut(&mut Operation)) {
        let paths = self
            .document
            .paths
            .paths
            .iter_mut()
            .filter(|(path, _)| path.starts_with(prefix));

        for (_, item) in paths {
            let all = [
                &mut item.get,
                &mut item.head,
                &mut item.post,
                &mut item.put,
                &mut item.delete,
                &mut item.patch,
            ];
            all.into_iter().flatten().for_each(&mut change);
        }
    }
}

/// The serialized document.
#[derive(Clone)]
struct Document(Bytes);

/// This document: the interface in OpenAPI 3.1.
#[utoipa::path(
    get, path = "/openapi.json",
    responses((status = 200, description = "the document", content_type = "application/json"))
)]
async fn openapi(Extension(Document(bytes)): Extension<Document>) -> Response {
    let content_type = [(header::CONTENT_TYPE, JSON)];
    (Extension(BodyMemory::Shared), content_type, bytes).into_response()
}

/// The method in axum's form.
fn filter(method: &HttpMethod) -> MethodFilter {
    match method {
        HttpMethod::Get => MethodFilter::GET,
        HttpMethod::Post => MethodFilter::POST,
        HttpMethod::Put => MethodFilter::PUT,
        HttpMethod::Delete => MethodFilter::DELETE,
        HttpMethod::Options => MethodFilter::OPTIONS,
        HttpMethod::Head => MethodFilter::HEAD,
        HttpMethod::Patch => MethodFilter::PATCH,
        HttpMethod::Trace => MethodFilter::TRACE,
    }
}

/// A response with an error body.
fn error_response(meaning: &str) -> Documented {
    let shape = ContentBuilder::new().schema(Some(Ref::from_schema_name(ErrorBody::name())));

    ResponseBuilder::new()
        .description(meaning)
        .content(media::JSON, shape.build())
        .build()
}

/// Adds the pattern of a parameter that has one.
fn add_pattern(parameter: &mut RefOr<Parameter>) {
    let RefOr::T(parameter) = parameter else {
        return;
    };
    let Some(RefOr::T(Schema::Object(shape))) = &mut parameter.schema else {
        return;
    };

    for (name, pattern) in PATTERNS {
        if name == parameter.name {
            shape.pattern = Some(pattern.to_owned());
        }
    }
}

/// Adds what is common to all responses: the request's id, and the media type of an error body, for
/// which utoipa assumes JSON.
fn complete(response: &mut RefOr<Documented>) {
    let RefOr::T(response) = response else {
        return;
    };

    if response.content.get(media::JSON).is_some_and(is_error)
        && let Some(content) = response.content.shift_remove(media::JSON)
    {
        response.content.insert(media::PROBLEM.to_owned(), content);
    }

    let text = Object::with_type(Type::String);
    let header = HeaderBuilder::new()
        .schema(Some(text))
        .description(Some("the request's id, also in the logs"));
    response
        .headers
        .insert(names::REQUEST_ID.to_owned(), header.build().into());
}

/// Returns whether a body is an [`ErrorBody`].
fn is_error(content: &RefOr<Content>) -> bool {
    let RefOr::T(content) = content else {
        return false;
    };
    let Some(RefOr::Ref(shape)) = &content.schema else {
        return false;
    };
    shape
        .ref_location
        .ends_with(&format!("/{}", ErrorBody::name()))
}
