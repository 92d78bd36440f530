//! Asynchronous transport, which runs tasks of the protocol core.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use papir_protocol::header;
use reqwest::header::{HeaderName, HeaderValue};
use reqwest::{Method, Url};
use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout, timeout_at};
use zeroize::Zeroizing;

use super::failures::{failure, timed_out};
use super::gate::Gate;
use super::http::{self, ProxiedClient};
use super::threads::{in_place, unblocked};
use crate::core::{
    Address, Failure, Oblivious, Request, Response, Step, StoreRequest, Stored, Task,
    check_no_demand,
};
use crate::error::Result;
use crate::state::{ClientState, lock_thread_ended, on_lock_thread};
use crate::transport::READ_TIMEOUT;
use crate::transport::broken::SentRequest;
use crate::transport::call::{Call, CallRules};
use crate::transport::issuing::IssuerAccess;
use crate::transport::options::Options;
use crate::transport::proxy::failures::through;
use crate::transport::relaying::relay_of;
use crate::transport::retry_observer::RetryObserver;

/// Slowest upload that a service accepts, in bytes per second.
const SLOWEST_UPLOAD: u64 = 4 << 10;

/// Runs tasks over asynchronous HTTP. Clones are cheap and share connections.
#[derive(Clone)]
pub(super) struct Transport {
    http: ProxiedClient,
    /// The relay that carries all requests; `None` if they go to the service itself.
    relay: Option<Arc<Oblivious>>,
    /// The issuer of tokens; `None` if requests have none.
    issuer: Option<Arc<IssuerAccess<Transport>>>,
    /// The address that is connected to: the service's, or the relay's.
    pub(super) base: Arc<str>,
    state: ClientState,
    pub(super) calls: CallRules,
}

/// A token that is being taken, as the value of the header `authorization`. A type of its own,
/// since the future contains one of a request to the issuer.
type TakenToken = Pin<Box<dyn Future<Output = Result<Zeroizing<String>>> + Send>>;

impl IssuerAccess<Transport> {
    /// Fetches tokens on a thread at a later time, if few are left.
    fn refill_ahead(&self) {
        let Some(refill) = self.tokens.refill() else {
            return;
        };
        let address = self.tokens.issuer().clone();
        let options = Options {
            // Whatever the end of the calls is, and without reports: no call waits for it.
            deadline: None,
            retries: RetryObserver::default(),
            ..self.options.clone()
        };
        self.refills
            .start(refill, move |task| run_alone(&address, &options, task));
    }

    /// Takes a token within the time left for a call.
    fn take(&self, task: Task<'static, Result<Zeroizing<String>>>, call: &Call) -> TakenToken {
        let mut transport = self.transport.clone();
        transport.calls.end_by(call.end());
        Box::pin(async move { transport.run(task).await })
    }
}

impl Transport {
    /// A transport to the service at `address`. Connects at the first request.
    pub(super) fn new(address: &Address, options: &Options) -> Result<Self> {
        let relay = relay_of(address, options)?;
        let peer = relay.as_ref().map_or(address, |relay| relay.relay());

        Ok(Self {
            http: http::client(peer, options)?,
            base: peer.base().into(),
            relay,
            // Its own options name no issuer, so that this ends.
            issuer: IssuerAccess::of(address, options, Self::new)?,
            state: options.client_state(),
            calls: CallRules::new(address, options),
        })
    }

    /// The same transport, whose calls end at `end` in place of an earlier deadline.
    pub(super) fn until(&self, end: Option<Instant>) -> Self {
        let mut transport = self.clone();
        transport.calls.end_by(end);
        transport
    }

    /// The time at which a call that starts now ends; `None` without a limit.
    pub(super) fn end(&self) -> Option<Instant> {
        self.calls.start().end()
    }

    /// Runs a task until it is done, or until the time limit of the call.
    pub(super) async fn run<T: Send + 'static>(&self, task: Task<'static, Result<T>>) -> Result<T> {
        self.run_any(task).await?
    }

    /// Like [`Transport::run`], for any output. Computations and file access run on blocking
    /// threads, unless the future runs [`in_place`](super::in_place()). If the future is dropped,
    /// or the time limit is reached, the step on a blocking thread finishes, and then the task is
    /// dropped.
    pub(super) async fn run_any<T: Send + 'static>(&self, task: Task<'static, T>) -> Result<T> {
        let call = self.calls.start();
        let steps = self.perform(task, &call);

        match call.end() {
            Some(end) => timeout_at(end.into(), steps)
                .await
                .unwrap_or_else(|_| Err(call.late())),
            None => steps.await,
        }
    }

    /// Performs the steps of a task one after another.
    async fn perform<T: Send + 'static>(&self, task: Task<'static, T>, call: &Call) -> Result<T> {
        let mut step = unblocked(|| task.start()).await;

        loop {
            step = match step {
                Step::Send(request, then) => {
                    let response = self.send_with_token(request, call).await;
                    call.note(&response)?;
                    unblocked(|| then.resume(response)).await
                }
                Step::Wait(duration, then) => {
                    call.pause(duration)?;
                    sleep(duration).await;
                    unblocked(|| then.resume()).await
                }
                Step::Store(request, then) => {
                    // Before a blocking thread is taken, which the lock's holder may need.
                    let gate = Gate::enter(&self.state, &request).await;
                    if call.end().is_some() && request.action.takes_lock() {
                        let stored = self.lock(gate, request).await;
                        unblocked(|| then.resume(stored)).await
                    } else {
                        let state = self.state.clone();
                        unblocked(move || then.resume(gate.perform(&state, request))).await
                    }
                }
                Step::Done(output) => return Ok(output),
            };
        }
    }

    /// Takes a lock on a thread of its own. A wait in place could not be interrupted, and the end
    /// of the runtime would wait for a thread of the runtime.
    async fn lock(&self, gate: Gate, request: StoreRequest) -> Result<Stored> {
        let location = self.state.location(&request.slot);
        let state = self.state.clone();
        let (done, outcome) = oneshot::channel();
        // A lock that comes too late is released: nobody receives it.
        on_lock_thread(&location, move || {
            drop(done.send(gate.perform(&state, request)));
        })?;

        match outcome.await {
            Ok(stored) => stored,
            Err(_) => Err(lock_thread_ended(location)),
        }
    }

    /// Sends a request, with a token of the issuer if the service demands one, and reads its
    /// response.
    async fn send_with_token(&self, request: Request, call: &Call) -> Result<Response, Failure> {
        let Some(access) = &self.issuer else {
            let response = self.send(request).await?;
            check_no_demand(self.calls.url(), &response)?;
            return Ok(response);
        };

        let mut paid = access.tokens.begin(&request);
        loop {
            let token = match paid.token() {
                Some(task) => {
                    let token = access.take(task, call).await;
                    access.refill_ahead();
                    paid.taken(token)?
                }
                None => None,
            };

            let response = self.send(paid.attempt(token)).await?;
            if paid.is_answered(&response)? {
                return Ok(response);
            }
        }
    }

    async fn send(&self, request: Request) -> Result<Response, Failure> {
        if let Some(relay) = &self.relay {
            return self.send_sealed(relay, &request).await;
        }

        let length = request.body.as_ref().map_or(0, |body| body.len());
        let encoded = self.encode(&request)?;

        let sent = SentRequest::now(length);
        let received = self.execute(encoded, response_timeout(length as u64)).await;
        let received = received.map_err(|failure| sent.without_response(failure))?;
        Ok(self.receive(&request, &sent, received).await)
    }

    /// Sends a request, and returns its response without the body.
    pub(super) async fn execute(
        &self,
        encoded: reqwest::Request,
        time: Duration,
    ) -> Result<reqwest::Response, Failure> {
        let sent = timeout(time, self.http.client.execute(encoded)).await;
        // The HTTP library may lose a request that it takes while the service refuses the
        // certificate.
        let received = sent.map_err(|_| self.explain(timed_out("response")))?;
        let received = received.map_err(|error| self.failure(error))?;

        self.http.certificate.satisfied();
        Ok(received)
    }

    fn failure(&self, error: reqwest::Error) -> Failure {
        self.explain(failure(error, &self.base))
    }

    /// Adds a hint to a failure: the client certificate that the service asked for, or the proxy.
    pub(super) fn explain(&self, failure: Failure) -> Failure {
        let failure = self.http.certificate.explain(failure);
        through(self.http.proxy.as_ref(), &self.base, failure)
    }

    fn encode(&self, request: &Request) -> Result<reqwest::Request, Failure> {
        let method = Method::from_bytes(request.method.name().as_bytes())?;
        let url = Url::parse(&format!("{}{}", self.base, request.path))?;
        let mut encoded = reqwest::Request::new(method, url);

        for header in &request.headers {
            let mut value = HeaderValue::from_str(&header.value)?;
            // HTTP/2 would keep it in its table of headers, and debug output would show it.
            value.set_sensitive(header.name == header::AUTHORIZATION);
            encoded
                .headers_mut()
                .append(HeaderName::from_static(header.name), value);
        }

        if let Some(body) = &request.body {
            *encoded.body_mut() = Some(Bytes::from_owner(SharedBody(Arc::clone(body))).into());
        }
        Ok(encoded)
    }

    /// Reads a response and the part of its body that the core requests.
    async fn receive(
        &self,
        request: &Request,
        sent: &SentRequest,
        received: reqwest::Response,
    ) -> Response {
        let mut response = head(&received);
        if let Some(limit) = response.limit(request) {
            let mut bytes = Vec::new();
            let read = self.read_into(&mut bytes, received, limit).await;
            response.body = match read {
                Ok(()) => Ok(bytes),
                Err(failure) => Err(sent.in_body(&response, bytes.len(), failure)),
            };
        }
        response
    }

    /// Reads at most `limit` bytes of the body. The connection can be reused if the body ends
    /// within them.
    pub(super) async fn read(
        &self,
        received: reqwest::Response,
        limit: u64,
    ) -> Result<Vec<u8>, Failure> {
        let mut bytes = Vec::new();
        self.read_into(&mut bytes, received, limit).await?;
        Ok(bytes)
    }

    /// Like [`Transport::read`], into `bytes`. After an error they have what arrived before it.
    async fn read_into(
        &self,
        bytes: &mut Vec<u8>,
        mut received: reqwest::Response,
        limit: u64,
    ) -> Result<(), Failure> {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);

        while bytes.len() < limit {
            let part = timeout(READ_TIMEOUT, received.chunk())
                .await
                .map_err(|_| timed_out("body"))?;
            match part.map_err(|error| self.failure(error))? {
                Some(part) => bytes.extend_from_slice(&part[..part.len().min(limit - bytes.len())]),
                None => break,
            }
        }
        Ok(())
    }
}

/// Runs a task on a runtime of this thread, over sockets of its own: those of another runtime rest
/// between its calls. After an error, a lookup without a token meets the same one, and reports it.
fn run_alone(address: &Address, options: &Options, task: Task<'static, Result<()>>) {
    let Ok(runtime) = Builder::new_current_thread().enable_all().build() else {
        return;
    };
    let Ok(transport) = Transport::new(address, options) else {
        return;
    };
    drop(runtime.block_on(in_place(transport.run(task))));
}

/// The response with its status and headers, and without its body.
pub(super) fn head(received: &reqwest::Response) -> Response {
    let headers = received.headers().iter();
    let headers = headers.map(|(name, value)| (name.as_str(), value.to_str().ok()));
    Response::of_head(received.status().as_u16(), headers)
}

/// The body of a request, shared so that it is not copied.
struct SharedBody(Arc<Vec<u8>>);

impl AsRef<[u8]> for SharedBody {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// Timeout from the first byte of a request with a body of `bytes` to the head of its response.
pub(super) fn response_timeout(bytes: u64) -> Duration {
    READ_TIMEOUT + Duration::from_secs(bytes / SLOWEST_UPLOAD)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::transport::locked::{LockedStorage, assert_timed_out, locking};

    /// Takes the lock once.
    fn lock(options: &Options, is_in_place: bool) -> Result<()> {
        let address = Address::parse("http://127.0.0.1:1").unwrap();
        let transport = Transport::new(&address, options).unwrap();
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let run = transport.run(locking());
        match is_in_place {
            true => runtime.block_on(in_place(run)),
            false => runtime.block_on(run),
        }
    }

    #[test]
    fn a_lock_that_another_process_holds_is_not_waited_for() {
        for is_in_place in [false, true] {
            let storage = Arc::new(LockedStorage::default());
            assert_timed_out(&lock(&storage.options(), is_in_place));
            // Behind the first one, whose thread still waits.
            assert_timed_out(&lock(&storage.options(), is_in_place));

            storage.is_released_once_free();
            lock(&storage.patient(), is_in_place).unwrap();
        }
    }
}
