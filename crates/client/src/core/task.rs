//! Tasks, the state machines of the protocol.
//!
//! A task produces requests and consumes responses. Its logic is an `async fn`, which the compiler
//! turns into a state machine, but no executor is involved. The transport polls the task whenever
//! it has the result that the task waits for. Each pending `await` leaves exactly one effect for
//! the transport to perform.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use super::request::{Failure, Request, Response};
use super::store::{StoreRequest, Stored};
use crate::error::Result;

/// An operation in progress. Dropping it cancels the operation and releases its locks.
#[must_use = "a task does nothing until it is started"]
pub struct Task<'a, T> {
    future: Pin<Box<dyn Future<Output = T> + Send + 'a>>,
    io: Io,
}

/// The next step of a task, for the transport to perform.
#[must_use]
pub enum Step<'a, T> {
    /// Send the request, and resume with its response.
    Send(Request, AfterSend<'a, T>),
    /// Wait for the duration, and resume.
    Wait(Duration, AfterWait<'a, T>),
    /// Perform the request to the storage, and resume with its reply.
    Store(StoreRequest, AfterStore<'a, T>),
    /// The task is done, with this output.
    Done(T),
}

/// A task that waits for a response.
pub struct AfterSend<'a, T>(Task<'a, T>);
/// A task that waits for time to pass.
pub struct AfterWait<'a, T>(Task<'a, T>);
/// A task that waits for the storage.
pub struct AfterStore<'a, T>(Task<'a, T>);

impl<'a, T> AfterSend<'a, T> {
    /// Resumes with the response, or with the failure of the request.
    pub fn resume(self, response: Result<Response, Failure>) -> Step<'a, T> {
        self.0.io.state().response = Some(response);
        self.0.advance()
    }
}

impl<'a, T> AfterWait<'a, T> {
    /// Resumes after the wait.
    pub fn resume(self) -> Step<'a, T> {
        self.0.io.state().waited = true;
        self.0.advance()
    }
}

impl<'a, T> AfterStore<'a, T> {
    /// Resumes with the storage's reply.
    pub fn resume(self, stored: Result<Stored>) -> Step<'a, T> {
        self.0.io.state().stored = Some(stored);
        self.0.advance()
    }
}

impl<'a, T> Task<'a, T> {
    /// A task that runs the future that `make` returns.
    pub(crate) fn new<F: Future<Output = T> + Send + 'a>(make: impl FnOnce(Io) -> F) -> Self {
        let io = Io::default();
        Self {
            future: Box::pin(make(io.clone())),
            io,
        }
    }

    /// Runs the task up to its first step.
    pub fn start(self) -> Step<'a, T> {
        self.advance()
    }

    fn advance(mut self) -> Step<'a, T> {
        if let Poll::Ready(output) = self
            .future
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
        {
            return Step::Done(output);
        }

        let effect = self.io.state().effect.take();
        match effect {
            Some(Effect::Send(request)) => Step::Send(request, AfterSend(self)),
            Some(Effect::Wait(duration)) => Step::Wait(duration, AfterWait(self)),
            Some(Effect::Store(request)) => Step::Store(request, AfterStore(self)),
            // Unreachable: the core awaits only `Io`, and every pending `Io` leaves an effect.
            None => Step::Wait(Duration::ZERO, AfterWait(self)),
        }
    }
}

/// The core's access to the transport. Each method leaves an effect, and waits for its result.
#[derive(Clone, Default)]
pub(crate) struct Io(Arc<Mutex<EffectState>>);

/// The last requested effect, or its result. At most one of the fields is set.
#[derive(Default)]
struct EffectState {
    effect: Option<Effect>,
    response: Option<Result<Response, Failure>>,
    waited: bool,
    stored: Option<Result<Stored>>,
}

enum Effect {
    Send(Request),
    Wait(Duration),
    Store(StoreRequest),
}

impl Io {
    /// Sends a request.
    pub(crate) async fn send(&self, request: Request) -> Result<Response, Failure> {
        self.perform(Effect::Send(request), |state| state.response.take())
            .await
    }

    /// Waits for a duration.
    pub(crate) async fn wait(&self, duration: Duration) {
        self.perform(Effect::Wait(duration), |state| {
            std::mem::take(&mut state.waited).then_some(())
        })
        .await;
    }

    /// Reads or changes client state.
    pub(crate) async fn store(&self, request: StoreRequest) -> Result<Stored> {
        self.perform(Effect::Store(request), |state| state.stored.take())
            .await
    }

    async fn perform<T>(
        &self,
        effect: Effect,
        take_result: impl Fn(&mut EffectState) -> Option<T>,
    ) -> T {
        self.state().effect = Some(effect);
        poll_fn(|_| take_result(&mut self.state()).map_or(Poll::Pending, Poll::Ready)).await
    }

    fn state(&self) -> MutexGuard<'_, EffectState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
