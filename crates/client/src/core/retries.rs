//! Conditions, number and waits of a request's retries.

use std::time::Duration;

use papir_protocol::{ErrorBody, code, header};

use super::platform::Platform;
use super::request::{Method, Request, Response};
use super::task::Io;

/// Maximum number of retries after broken connections, if the service has never responded: its
/// address is probably wrong. For a service that has responded, which may be restarting, only the
/// patience limits retries.
pub(crate) const MAX_BROKEN: u32 = 3;
/// Maximum number of retries after refusals.
const MAX_REFUSED: u32 = 30;
/// Default time after which no retry is made.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
/// Longest wait that the client accepts as a server's advice.
const MAX_ADVICE: Duration = Duration::from_secs(30);
/// The first pause without advice. Each further pause is twice as long, up to [`MAX_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const MAX_PAUSE: Duration = Duration::from_secs(4);

/// The retries of one request.
pub(crate) struct Retries {
    start: Duration,
    patience: Duration,
    broken: u32,
    refused: u32,
}

impl Retries {
    pub(crate) fn new(platform: &dyn Platform, patience: Duration) -> Self {
        Self {
            start: platform.now(),
            patience,
            broken: 0,
            refused: 0,
        }
    }

    /// Waits before the next attempt after a broken connection. `responded` is true if the service
    /// has ever responded. Returns false, without a wait, if there is no further attempt.
    pub(crate) async fn after_failure(
        &mut self,
        io: &Io,
        platform: &dyn Platform,
        responded: bool,
    ) -> bool {
        self.broken += 1;
        // Before any response, the address is likelier wrong than the service busy.
        (responded || self.broken <= MAX_BROKEN)
            && self.wait(io, platform, pause(self.broken)).await
    }

    /// Waits before the next attempt after a refusal, at least as long as the server advises.
    /// Returns false, without a wait, if there is no further attempt.
    pub(crate) async fn after_refusal(
        &mut self,
        io: &Io,
        platform: &dyn Platform,
        refusal: &Response,
    ) -> bool {
        self.refused += 1;
        let wait = advised(refusal)
            .unwrap_or_default()
            .max(pause(self.refused));
        self.refused <= MAX_REFUSED && self.wait(io, platform, wait).await
    }

    /// Waits for `least` plus a random time of at most half of it, so that clients that were
    /// refused together do not return together. Returns false, without a wait, if the patience
    /// would end.
    async fn wait(&self, io: &Io, platform: &dyn Platform, least: Duration) -> bool {
        let wait = least + jitter(platform, least / 2);
        let waited = platform.now().saturating_sub(self.start);
        // Before the wait: a pause after which nothing is tried would be for nothing.
        if waited.saturating_add(wait) > self.patience {
            return false;
        }

        io.wait(wait).await;
        true
    }
}

/// A random time below `most`, in microseconds.
pub(crate) fn jitter(platform: &dyn Platform, most: Duration) -> Duration {
    let most = u64::try_from(most.as_micros()).unwrap_or(u64::MAX).max(1);
    Duration::from_micros(platform.rng().next_u64() % most)
}

/// The pause before attempt `number`, from 1.
pub(crate) fn pause(number: u32) -> Duration {
    FIRST_PAUSE
        // Bounded before the shift, which would overflow.
        .saturating_mul(1 << number.saturating_sub(1).min(16))
        .min(MAX_PAUSE)
}

/// Returns whether a request may be repeated although the server may have received it. Services of
/// earlier versions refuse a part of an upload that arrived as a wrong offset: the upload asks for
/// the offset instead.
pub(crate) fn is_repeatable(request: &Request) -> bool {
    request.method != Method::Patch
}

/// Returns true if the same request may succeed later: the server is busy, starts or stops, or a
/// proxy did not reach it. False for a ticket that is being prepared, which has its own wait, and
/// for an issuer whose next tokens are those of tomorrow.
///
/// Only the status decides, and not the member `retryable` of the body. Otherwise a malicious
/// server could demand repeated requests, and a repetition may reveal something to it.
pub(crate) fn is_retryable(response: &Response) -> bool {
    match response.status {
        429 => code_of(response).as_deref() != Some(code::TOKEN_QUOTA),
        502 | 504 => true,
        503 => code_of(response).as_deref() != Some(code::NO_TICKET),
        _ => false,
    }
}

fn code_of(response: &Response) -> Option<String> {
    let body = response.body.as_ref().ok()?;
    Some(ErrorBody::parse(body)?.code)
}

/// The wait that `Retry-After` advises in seconds, at most [`MAX_ADVICE`]; `None` without valid
/// advice.
pub(crate) fn advised(response: &Response) -> Option<Duration> {
    let text = response.header(header::RETRY_AFTER)?;
    // HTTP allows leading zeros, but no sign.
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }

    let seconds = text.parse().ok()?;
    Some(Duration::from_secs(seconds).min(MAX_ADVICE))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn response(status: u16, code: &str) -> Response {
        // The opposite of the truth, since the hint must not matter.
        let retryable = ![429, 502, 503].contains(&status);
        let problem = ErrorBody {
            retryable,
            ..ErrorBody::new(status, code, String::new())
        };
        let body = serde_json::to_vec(&problem).unwrap();

        Response {
            status,
            headers: vec![("retry-after".into(), "90".into())],
            body: Ok(body),
        }
    }

    #[test]
    fn only_what_may_pass_is_tried_again() {
        for (status, code, expected) in [
            (429, "busy", true),
            (429, "token_quota", false),
            (503, "not_ready", true),
            (503, "no_ticket", false),
            (502, "", true),
            (500, "internal", false),
            (400, "malformed", false),
            (409, "wrong_version", false),
        ] {
            assert_eq!(
                is_retryable(&response(status, code)),
                expected,
                "{status} {code}"
            );
        }

        let page = Response {
            status: 503,
            headers: Vec::new(),
            body: Ok(b"<html>".to_vec()),
        };
        assert!(is_retryable(&page), "a proxy's page");
        assert_eq!(
            (advised(&page), advised(&response(429, "busy"))),
            (None, Some(MAX_ADVICE))
        );
    }

    #[test]
    fn advice_is_a_number_of_seconds() {
        for (text, expected) in [
            ("2", Some(2)),
            ("002", Some(2)),
            ("+2", None),
            ("-2", None),
            ("2s", None),
            ("", None),
            ("Wed, 21 Oct 2026 07:28:00 GMT", None),
        ] {
            let response = Response {
                headers: vec![("retry-after".into(), text.into())],
                ..response(429, "busy")
            };
            let expected = expected.map(Duration::from_secs);
            assert_eq!(advised(&response), expected, "{text:?}");
        }
    }

    #[test]
    fn pauses_double() {
        let pauses: Vec<_> = [1, 2, 3, 20, u32::MAX]
            .map(|number| pause(number).as_millis())
            .into();
        assert_eq!(pauses, [50, 100, 200, 4000, 4000]);
    }
}
