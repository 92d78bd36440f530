//! Tasks that wait for JavaScript.

use papir_client::core::{
    AfterSend, AfterStore, AfterWait, Failure, Request, Response, Step, StoreAction, StoreRequest,
};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::event::{Body, Event, Head, Reply};
use crate::memory::take;
use crate::store;

/// A task that waits.
pub(crate) trait Paused {
    /// The number of bytes to read of a response's body: see [`Request::body_limit`].
    fn body_limit(&self, _status: u16, _version: Option<&str>) -> Option<u64> {
        None
    }

    /// Resumes with JavaScript's reply.
    fn resume(self: Box<Self>, reply: Reply) -> Box<Event>;
}

/// The head of a request's event. Its headers may have a token, so it is not copied to a JSON
/// value.
#[derive(Serialize)]
struct Send<'a> {
    kind: &'static str,
    method: &'static str,
    path: &'a str,
    headers: Vec<(&'static str, &'a str)>,
}

/// The head of a reply to a request.
#[derive(Deserialize)]
struct Received {
    /// Set if there was no response.
    failure: Option<String>,
    #[serde(default)]
    status: u16,
    #[serde(default)]
    headers: Vec<(String, String)>,
    /// Set if the body broke off.
    broken: Option<String>,
}

fn response(reply: &Reply) -> Result<Response, Failure> {
    let received: Received = serde_json::from_slice(&reply.head)?;
    if let Some(failure) = received.failure {
        return Err(failure.into());
    }

    let body = received
        .broken
        .map_or_else(|| Ok(reply.body.to_vec()), |reason| Err(reason.into()));

    Ok(Response {
        status: received.status,
        headers: received.headers,
        body,
    })
}

/// The use of a task's output.
pub(crate) type Finish<T> = Box<dyn FnOnce(T) -> Box<Event>>;

struct Sending<T>(Request, AfterSend<'static, T>, Finish<T>);
struct Waiting<T>(AfterWait<'static, T>, Finish<T>);
struct Storing<T>(StoreAction, AfterStore<'static, T>, Finish<T>);

/// Turns a step into an event, and the output of a finished task into that of `finish`.
pub(crate) fn event<T: 'static>(step: Step<'static, T>, finish: Finish<T>) -> Box<Event> {
    match step {
        Step::Done(output) => finish(output),
        Step::Wait(duration, then) => {
            let head = json!({ "kind": "wait", "milliseconds": duration.as_millis() as u64 });
            waiting(
                Head::from(&head),
                Body::None,
                Box::new(Waiting(then, finish)),
            )
        }
        Step::Send(request, then) => {
            let headers: Vec<_> = request
                .headers
                .iter()
                .map(|header| (header.name, header.value.as_str()))
                .collect();

            let head = Head::from(&Send {
                kind: "send",
                method: request.method.name(),
                path: &request.path,
                headers,
            });
            let body = request.body.clone().map_or(Body::None, Body::Shared);
            waiting(head, body, Box::new(Sending(request, then, finish)))
        }
        Step::Store(StoreRequest { slot, action }, then) => match store::message(&slot, &action) {
            Some((head, body)) => waiting(
                Head::from(&head),
                body,
                Box::new(Storing(action, then, finish)),
            ),
            None => event(then.resume(Err(store::refused())), finish),
        },
    }
}

/// The event of a step that a task waits for.
fn waiting(head: Head, body: Body, task: Box<dyn Paused>) -> Box<Event> {
    Event::new(head, body, Box::into_raw(Box::new(task)).cast())
}

impl<T: 'static> Paused for Sending<T> {
    fn body_limit(&self, status: u16, version: Option<&str>) -> Option<u64> {
        self.0.body_limit(status, version)
    }

    fn resume(self: Box<Self>, reply: Reply) -> Box<Event> {
        let Self(_, then, finish) = *self;
        event(then.resume(response(&reply)), finish)
    }
}

impl<T: 'static> Paused for Waiting<T> {
    fn resume(self: Box<Self>, _reply: Reply) -> Box<Event> {
        let Self(then, finish) = *self;
        event(then.resume(), finish)
    }
}

impl<T: 'static> Paused for Storing<T> {
    fn resume(self: Box<Self>, reply: Reply) -> Box<Event> {
        let Self(action, then, finish) = *self;
        event(then.resume(store::stored(&action, reply)), finish)
    }
}

/// A task's handle.
type Handle = *mut Box<dyn Paused>;

/// Resumes a task with a reply. Returns the next event.
///
/// # Safety
/// `task` is an event's handle that was not resumed or cancelled before; head and body come from
/// `papir_allocate` with these lengths.
#[unsafe(no_mangle)]
unsafe extern "C" fn papir_resume(
    task: Handle,
    head: *mut u8,
    head_length: usize,
    body: *mut u8,
    body_length: usize,
) -> *mut Event {
    // SAFETY: as the caller promises.
    let (task, head, body) = unsafe {
        (
            Box::from_raw(task),
            take(head, head_length),
            take(body, body_length),
        )
    };

    Box::into_raw(task.resume(Reply { head, body }))
}

/// Maximum number of bytes to read of the body of a response with this status and version; −1 for
/// none.
///
/// # Safety
/// The conditions of [`papir_resume`]; the task remains to be resumed.
#[unsafe(no_mangle)]
unsafe extern "C" fn papir_body_limit(
    task: Handle,
    status: u32,
    version: *mut u8,
    length: usize,
) -> f64 {
    // SAFETY: as the caller promises.
    let (task, version) = unsafe { (&*task, take(version, length)) };
    let version = std::str::from_utf8(&version)
        .ok()
        .filter(|text| !text.is_empty());
    task.body_limit(u16::try_from(status).unwrap_or(u16::MAX), version)
        .map_or(-1.0, |limit| limit as f64)
}

/// Drops a task that is not to be resumed.
///
/// # Safety
/// The conditions of [`papir_resume`].
#[unsafe(no_mangle)]
unsafe extern "C" fn papir_cancel(task: Handle) {
    // SAFETY: as the caller promises.
    drop(unsafe { Box::from_raw(task) });
}
