//! Memory of responses that their clients have not read.
//!
//! A client may open many streams and read none of them. So every response that it asked for counts
//! against its share of a bounded memory until it is sent: answers with the other answers, and
//! everything else here.

use std::sync::Arc;
use std::time::Duration;

use axum::body::HttpBody;
use axum::extract::Request;
use axum::http::Method;
use axum::response::{IntoResponse, Response};

use super::body::FULL_ADVICE;
use super::problem::Problem;
use super::tracked_body::{PIECE, ResponseMemory};
use crate::admission::{ClientKey, PendingResponse};
use crate::listen::Activity;
use crate::service::App;

/// Memory of a stream besides its body, in bytes: its state, headers and buffers.
pub(super) const STREAM_BYTES: usize = 4 << 10;

/// The probes of orchestrators, which a full memory must not fail. Their responses are short.
const PROBES: [&str; 2] = ["/healthz", "/readyz"];

/// The memory of a response's body, as an extension of the response. Without it, a body has memory
/// of its own.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum BodyMemory {
    /// All responses share it.
    Shared,
    /// It is read from a file in pieces.
    Pieces,
}

/// The client that a response is for.
pub(super) struct ResponseReader {
    key: ClientKey,
    /// Its connection; `None` for a service without a listener.
    activity: Option<Arc<Activity>>,
}

impl ResponseReader {
    /// The client of a request; `None` if the response is not counted here. The responses to
    /// changes are short, and are never refused: they tell what was done.
    pub(super) fn of(key: &ClientKey, request: &Request) -> Option<Self> {
        let reads = [Method::GET, Method::HEAD].contains(request.method());
        if !reads || PROBES.contains(&request.uri().path()) {
            return None;
        }

        Some(Self {
            key: key.clone(),
            activity: request.extensions().get().cloned(),
        })
    }

    /// Counts the memory of a response until it is sent. Without room for it, the response is
    /// [`Problem::Busy`].
    pub(super) fn count(self, app: &App, mut response: Response) -> Response {
        // An answer is counted already, with the memory of answers.
        if response.extensions().get::<ResponseMemory>().is_some() {
            return response;
        }

        let bytes = STREAM_BYTES.saturating_add(body_bytes(&response));
        let pending = response_on(self.activity, app.body_timeout);
        let Some(memory) = app.descriptions.hold(&self.key, bytes, pending) else {
            return Problem::Busy { after: FULL_ADVICE }.into_response();
        };

        response
            .extensions_mut()
            .insert(ResponseMemory::from(memory));
        response
    }
}

/// The memory of a response's body, in bytes.
fn body_bytes(response: &Response) -> usize {
    let length = response.body().size_hint().upper();
    let length = length.map_or(PIECE, |bytes| usize::try_from(bytes).unwrap_or(usize::MAX));

    match response.extensions().get::<BodyMemory>() {
        Some(BodyMemory::Shared) => 0,
        Some(BodyMemory::Pieces) => length.min(PIECE),
        None => length,
    }
}

/// A response on a connection.
struct OnConnection {
    /// `None` for a service without a listener.
    activity: Option<Arc<Activity>>,
    /// Time after which it takes long.
    limit: Duration,
}

impl PendingResponse for OnConnection {
    fn takes_long(&self) -> bool {
        let activity = self.activity.as_ref();
        activity.is_some_and(|activity| activity.is_slow(self.limit))
    }

    fn end(&self) {
        if let Some(activity) = &self.activity {
            activity.evict_if_slow(self.limit);
        }
    }
}

/// A response that takes long once its connection has sent one for longer than `limit`.
pub(super) fn response_on(
    activity: Option<Arc<Activity>>,
    limit: Duration,
) -> Box<dyn PendingResponse> {
    Box::new(OnConnection { activity, limit })
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    #[test]
    fn shared_bodies_and_files_take_less_memory() {
        let bytes_of = |length: usize, memory: Option<BodyMemory>| {
            let mut response = Response::new(Body::from(vec![7; length]));
            if let Some(memory) = memory {
                response.extensions_mut().insert(memory);
            }
            body_bytes(&response)
        };

        assert_eq!(bytes_of(3 * PIECE, None), 3 * PIECE);
        assert_eq!(bytes_of(3 * PIECE, Some(BodyMemory::Shared)), 0);
        assert_eq!(bytes_of(3 * PIECE, Some(BodyMemory::Pieces)), PIECE);
        assert_eq!(bytes_of(3, Some(BodyMemory::Pieces)), 3);
    }

    #[test]
    fn only_responses_to_reads_are_counted_and_no_probes() {
        let is_counted = |method: Method, path: &str| {
            let mut request = Request::new(Body::empty());
            *request.method_mut() = method;
            *request.uri_mut() = path.parse().unwrap_or_default();
            ResponseReader::of(&ClientKey::Local, &request).is_some()
        };

        assert!(is_counted(Method::GET, "/metrics"));
        assert!(is_counted(Method::GET, "/v1/databases"));
        assert!(is_counted(Method::HEAD, "/v1/databases"));
        assert!(!is_counted(Method::GET, "/healthz") && !is_counted(Method::GET, "/readyz"));
        assert!(!is_counted(Method::PATCH, "/v1/databases/a/clients/b/keys"));
    }
}
