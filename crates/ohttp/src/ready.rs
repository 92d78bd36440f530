//! Futures that never wait.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use crate::error::{Error, Result};

/// Runs a future whose input and output are in memory, so that it is ready at once.
///
/// # Errors
/// The future's, and [`Error::Message`] if it waits: the message ends within one of its parts.
pub(crate) fn ready<T>(future: impl Future<Output = Result<T>>) -> Result<T> {
    let mut context = Context::from_waker(Waker::noop());
    match pin!(future).poll(&mut context) {
        Poll::Ready(output) => output,
        Poll::Pending => Err(Error::Message("it is incomplete".to_owned())),
    }
}
