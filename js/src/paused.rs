//! Tasks that wait for JavaScript, and the functions that resume and drop them.

use crate::event::{Body, Event, Head, Reply};
use crate::memory::take;

/// A task that waits.
pub(crate) trait Paused {
    /// The number of bytes to read of a response's body; `None` for no body.
    fn body_limit(&self, _status: u16, _version: Option<&str>) -> Option<u64> {
        None
    }

    /// Resumes with JavaScript's reply.
    fn resume(self: Box<Self>, reply: Reply) -> Box<Event>;
}

/// A task's handle.
type Handle = *mut Box<dyn Paused>;

/// The event of a step that a task waits for.
pub(crate) fn waiting(head: Head, body: Body, task: Box<dyn Paused>) -> Box<Event> {
    Event::new(head, body, Box::into_raw(Box::new(task)).cast())
}

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
