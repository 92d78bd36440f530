//! Requests that cost tokens of an issuer.
//!
//! A transport pays for the requests of the core: it begins each request with
//! [`ServiceTokens::begin`], and sends its attempts until one is answered.

mod issuer;
mod sent;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use papir_privacy_pass::PassError;
use papir_protocol::{ErrorBody, header};
use zeroize::Zeroizing;

pub use self::issuer::check_issuer;
use self::sent::SentTokens;
use super::address::Address;
use super::request::{Failure, Method, Request, Response};
use super::service::Service;
use super::task::Task;
use super::wallet::{
    AcceptedChallenge, TokenPurse, TokenReason, TokenRefill, named_issuer, token_offers,
};
use crate::error::{Error, Result, TokenFailure};

/// Most kinds of requests whose challenge is remembered. A connection has fewer.
const MAX_REMEMBERED: usize = 64;
/// Most tokens that are spent for one request: a second one if the first is refused.
const MAX_SPENT: usize = 2;

/// The tokens of one issuer for the requests to one service.
pub struct ServiceTokens {
    purse: TokenPurse,
    /// The service's address, for errors.
    url: String,
    /// The challenge of each kind of request that was refused without a token. Later ones have one
    /// from the start.
    remembered: Mutex<HashMap<String, AcceptedChallenge>>,
    /// The tokens of requests that the service has not answered.
    sent: SentTokens,
}

impl ServiceTokens {
    /// The tokens of an issuer, with the client's bearer token for it, for the service at an
    /// address. [`check_issuer`] accepts the issuer's address.
    pub fn new(issuer: Service, service: &Address) -> Self {
        Self {
            purse: TokenPurse::new(issuer, service),
            url: service.base().to_owned(),
            remembered: Mutex::default(),
            sent: SentTokens::default(),
        }
    }

    /// The issuer's address.
    pub fn issuer(&self) -> &Address {
        self.purse.issuer()
    }

    /// Begins to send a request to the service.
    pub fn begin(self: &Arc<Self>, request: &Request) -> PaidRequest {
        let asked = self.remembered().get(&kind(request)).cloned();
        PaidRequest {
            tokens: Arc::clone(self),
            is_remembered: asked.is_some(),
            asked,
            earlier: self.sent.take(request),
            spent: 0,
            request: request.clone(),
        }
    }

    /// A refill of the wallet, to be run at a later time; `None` if none is due.
    pub fn refill(&self) -> Option<TokenRefill> {
        self.purse.refill()
    }

    /// The challenge in a response; `None` if it demands no token.
    fn asked(&self, response: &Response) -> Result<Option<AcceptedChallenge>> {
        let offers = token_offers(response).map_err(|error| bad_challenge(&self.url, &error))?;
        if offers.is_empty() {
            return Ok(None);
        }

        let chosen = self.purse.parties().choose(&offers);
        chosen.map(Some).map_err(|reason| Error::BadChallenge {
            url: self.url.clone(),
            reason,
        })
    }

    fn remember(&self, request: &Request, asked: &AcceptedChallenge) {
        let mut remembered = self.remembered();
        if remembered.len() >= MAX_REMEMBERED {
            remembered.clear();
        }
        remembered.insert(kind(request), asked.clone());
    }

    fn forget(&self, request: &Request) {
        self.remembered().remove(&kind(request));
    }

    fn remembered(&self) -> MutexGuard<'_, HashMap<String, AcceptedChallenge>> {
        self.remembered
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// The kind of a request, for which the service has one challenge.
fn kind(request: &Request) -> String {
    format!("{} {}", request.method.name(), request.path)
}

/// A request to a service that may demand tokens, with up to two attempts that spend one each.
/// Before them is an attempt with the token that was sent when the request was last tried.
pub struct PaidRequest {
    tokens: Arc<ServiceTokens>,
    request: Request,
    /// The challenge for the next attempt.
    asked: Option<AcceptedChallenge>,
    /// Set if the challenge is one of an earlier request.
    is_remembered: bool,
    /// The token that was sent when the request was last tried, and may be unspent.
    earlier: Option<Zeroizing<String>>,
    /// Number of tokens that were taken for it.
    spent: usize,
}

impl PaidRequest {
    /// The task that takes a token for the next attempt; `None` if it needs none, or has the one of
    /// the last try. Its requests go to the issuer.
    pub fn token(&self) -> Option<Task<'static, Result<Zeroizing<String>>>> {
        if self.earlier.is_some() {
            return None;
        }
        let reason = match self.spent {
            0 => TokenReason::Demanded,
            _ => TokenReason::Refused,
        };
        let asked = self.asked.clone()?;
        Some(self.tokens.purse.spend(asked, reason))
    }

    /// The token for the next attempt, as the task of [`PaidRequest::token`] found it. If there is
    /// none for a challenge of an earlier request, the next attempt has no token, so that the
    /// service asks again: the issuer may have replaced the key that was offered then.
    ///
    /// # Errors
    /// The error of the task, if it may pass, or the challenge is one of this request.
    pub fn taken(
        &mut self,
        token: Result<Zeroizing<String>>,
    ) -> Result<Option<Zeroizing<String>>, Failure> {
        match token {
            Ok(token) => Ok(Some(token)),
            Err(error) if self.is_remembered && !error.is_retryable() => {
                self.tokens.forget(&self.request);
                self.is_remembered = false;
                self.asked = None;
                Ok(None)
            }
            Err(error) => Err(TokenFailure::of(error)),
        }
    }

    /// The request for the next attempt. A token is in place of the client's bearer token, as there
    /// is one header for both.
    pub fn attempt(&mut self, token: Option<Zeroizing<String>>) -> Request {
        let mut request = self.request.clone();
        self.spent += usize::from(token.is_some());
        if let Some(token) = token.or_else(|| self.earlier.take()) {
            // Before it is sent: the attempt may end without a response.
            self.tokens.sent.keep(&request, &token);
            request
                .headers
                .retain(|header| header.name != header::AUTHORIZATION);
            request = request.with_header(header::AUTHORIZATION, token);
        }
        request
    }

    /// Returns true if the response is the answer, and false if there is another attempt. Only a
    /// `POST` computes, and is paid for.
    ///
    /// # Errors
    /// [`Error::BadChallenge`] if the service demands a token that this client does not spend.
    pub fn is_answered(&mut self, response: &Response) -> Result<bool, Failure> {
        // Reading is free. A session only reads before it has verified the keys of the gateway, so
        // a relay with keys of its own cannot demand a token then.
        if self.request.method != Method::Post {
            return Ok(true);
        }

        let asked = self.tokens.asked(response).map_err(TokenFailure::of)?;
        if asked.is_some() || may_be_spent(response) {
            drop(self.tokens.sent.take(&self.request));
        }
        let Some(asked) = asked else {
            return Ok(true);
        };

        // From now on also for other requests of this kind: each refusal costs the upload.
        self.tokens.remember(&self.request, &asked);
        self.is_remembered = false;
        self.asked = Some(asked);
        Ok(self.spent >= MAX_SPENT)
    }
}

/// Returns true if the token of a request is not sent again after this response: the service
/// answers or refuses the request, and does not say that the token is unspent. The page of a proxy
/// says nothing of the token.
fn may_be_spent(response: &Response) -> bool {
    if response.is_success() {
        return true;
    }
    let body = response.body.as_deref().unwrap_or_default();
    ErrorBody::parse(body).is_some_and(|problem| !problem.token_unspent)
}

/// Refuses a response of the service at `url` that demands tokens, for a client without an issuer.
///
/// # Errors
/// The failure of the request, whose error is [`Error::NoIssuer`], or [`Error::BadChallenge`] for a
/// demand that names no issuer.
pub fn check_no_demand(url: &str, response: &Response) -> Result<(), Failure> {
    let offers =
        token_offers(response).map_err(|error| TokenFailure::of(bad_challenge(url, &error)))?;
    if offers.is_empty() {
        return Ok(());
    }

    let url = url.to_owned();
    Err(TokenFailure::of(match named_issuer(&offers) {
        Some(issuer) => Error::NoIssuer { url, issuer },
        None => {
            let reason = "no challenge for tokens of type 2".to_owned();
            Error::BadChallenge { url, reason }
        }
    }))
}

fn bad_challenge(url: &str, error: &PassError) -> Error {
    Error::BadChallenge {
        url: url.to_owned(),
        reason: error.to_string(),
    }
}
