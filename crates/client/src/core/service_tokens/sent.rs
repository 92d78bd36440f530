//! Tokens of requests that have not been answered.

use std::collections::VecDeque;
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use zeroize::Zeroizing;

use crate::core::request::{Method, Request};

/// Most tokens that are kept. A client sends fewer requests at a time.
pub(super) const MAX_KEPT: usize = 64;

/// The tokens that were sent and may be unspent, for further attempts of the same requests.
///
/// A service that is busy refuses a request many times. With another token for each attempt, it
/// would use up the tokens of all its clients. A token is only sent again with the same bytes:
/// with others, it would link two lookups.
#[derive(Default)]
pub(super) struct SentTokens(Mutex<VecDeque<SentToken>>);

/// A token and the request that it was sent with.
struct SentToken {
    method: Method,
    path: String,
    /// It keeps the body's address from being used again, and not its bytes.
    body: Weak<Vec<u8>>,
    /// The value of the header `authorization`.
    token: Zeroizing<String>,
}

impl SentTokens {
    /// Keeps the token of a request in place of an earlier one, until the request is dropped.
    /// Without a body, requests are not told apart, and no token is kept.
    pub(super) fn keep(&self, request: &Request, token: &Zeroizing<String>) {
        let Some(body) = &request.body else {
            return;
        };
        let sent = SentToken {
            method: request.method,
            path: request.path.clone(),
            body: Arc::downgrade(body),
            token: token.clone(),
        };

        let mut all = self.all();
        all.retain(|earlier| !earlier.is_of(request));
        if all.len() >= MAX_KEPT {
            all.pop_front();
        }
        all.push_back(sent);
    }

    /// Takes the token that was sent with this request; `None` if none is kept.
    pub(super) fn take(&self, request: &Request) -> Option<Zeroizing<String>> {
        let mut all = self.all();
        let place = all.iter().position(|sent| sent.is_of(request))?;
        all.remove(place).map(|sent| sent.token)
    }

    /// Number of tokens that are kept.
    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.all().len()
    }

    /// All tokens whose requests still exist.
    fn all(&self) -> MutexGuard<'_, VecDeque<SentToken>> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|sent| sent.body.strong_count() > 0);
        all
    }
}

impl SentToken {
    /// Returns true for the request of the token, and its clones.
    fn is_of(&self, request: &Request) -> bool {
        let Some(body) = &request.body else {
            return false;
        };
        let is_same = ptr::eq(self.body.as_ptr(), Arc::as_ptr(body));
        is_same && self.method == request.method && self.path == request.path
    }
}
