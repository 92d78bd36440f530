//! Events, which tell JavaScript the next step or a result, and replies to them.

use std::io::{self, Write};
use std::sync::Arc;

use papir_client::{Error, ErrorGroup};
use serde::Serialize;
use serde_json::{Value, json};
use zeroize::Zeroizing;

/// JavaScript's reply to an event.
pub(crate) struct Reply {
    /// JSON.
    pub(crate) head: Zeroizing<Vec<u8>>,
    pub(crate) body: Zeroizing<Vec<u8>>,
}

/// Bytes of an event.
pub(crate) enum Body {
    None,
    /// A request's body, which may be sent again.
    Shared(Arc<Vec<u8>>),
    /// Erased when the event is dropped.
    Own(Zeroizing<Vec<u8>>),
}

impl Body {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::None => &[],
            Self::Shared(bytes) => bytes,
            Self::Own(bytes) => bytes,
        }
    }
}

/// The head of an event, in JSON. Erased when dropped.
pub(crate) struct Head(Zeroizing<Vec<u8>>);

impl<T: Serialize> From<&T> for Head {
    /// Encodes a head in memory of its length: growing would leave copies, and a head may have a
    /// token.
    fn from(head: &T) -> Self {
        let mut length = Length(0);
        // Neither a length nor memory fails.
        let _ = serde_json::to_writer(&mut length, head);
        let mut text = Zeroizing::new(Vec::with_capacity(length.0));
        let _ = serde_json::to_writer(&mut *text, head);
        Self(text)
    }
}

/// Counts the bytes that are written.
struct Length(usize);

impl Write for Length {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// An event. Its fields point into this module's memory until [`papir_dispose`].
#[repr(C)]
pub(crate) struct Event {
    head: *const u8,
    head_length: usize,
    body: *const u8,
    body_length: usize,
    /// The task to resume, or the opened database; null for neither.
    handle: *mut (),
    owned: (Head, Body),
}

impl Event {
    pub(crate) fn new(head: Head, body: Body, handle: *mut ()) -> Box<Self> {
        let owned = (head, body);
        let text = &owned.0.0;
        let bytes = owned.1.bytes();

        let head = text.as_ptr();
        let head_length = text.len();
        let body = bytes.as_ptr();
        let body_length = bytes.len();

        Box::new(Self {
            head,
            head_length,
            body,
            body_length,
            handle,
            owned,
        })
    }

    /// The result of a task that failed.
    pub(crate) fn failed(error: &Error) -> Box<Self> {
        let mut head = description(error);
        head["origin"] = origin(error).into();
        Self::last(head)
    }

    /// The result of a call with options that cannot be used. No server is the origin.
    pub(crate) fn refused(error: &Error) -> Box<Self> {
        Self::last(description(error))
    }

    /// The result with the description of an error.
    fn last(mut head: Value) -> Box<Self> {
        head["kind"] = "failed".into();
        Self::new(Head::from(&head), Body::None, std::ptr::null_mut())
    }
}

/// The description of an error, for JavaScript.
pub(crate) fn description(error: &Error) -> Value {
    let status = if let Error::Http { status, .. } = error {
        Some(*status)
    } else {
        None
    };

    json!({
        "group": group(error),
        "code": error.code(),
        "message": error.to_string(),
        "retryable": error.is_retryable(),
        "status": status,
    })
}

/// The name of an error's group; `None` for the base class.
fn group(error: &Error) -> Option<&'static str> {
    match error.group() {
        ErrorGroup::Network => Some("network"),
        ErrorGroup::Verification => Some("verification"),
        ErrorGroup::NotPrivate => Some("not_private"),
        ErrorGroup::Unsupported => Some("unsupported"),
        _ => None,
    }
}

/// The origin of an error, if another server may be asked after it: always after one of the server,
/// and before a lookup also after one that may be of an answer.
fn origin(error: &Error) -> Option<&'static str> {
    if error.is_of_server() {
        Some("server")
    } else if error.is_of_answer() {
        Some("answer")
    } else {
        None
    }
}

/// Frees an event, but not what its handle names.
///
/// # Safety
/// `event` comes from a function of this module, and is given back once.
#[unsafe(no_mangle)]
unsafe extern "C" fn papir_dispose(event: *mut Event) {
    // SAFETY: as the caller promises.
    let event = unsafe { Box::from_raw(event) };
    drop(event.owned);
}
