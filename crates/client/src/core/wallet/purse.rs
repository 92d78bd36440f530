//! Fetches batches of tokens from an issuer, and spends them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use papir_core::hedge::Hedge;
use papir_privacy_pass::{
    BATCH_REQUEST_MEDIA_TYPE, DIRECTORY_PATH, IssuerDirectory, IssuerPublicKey,
    MAX_DIRECTORY_BYTES, PassError, PassToken, TOKENS_PER_BATCH, TokenBlinding, encode_requests,
    parse_responses, response_bytes, write_authorization,
};
use papir_protocol::header;
use zeroize::Zeroizing;

use super::offers::{AcceptedChallenge, TokenParties};
use super::refill::{FEW_TOKENS, PlannedRefill, REFILL_WINDOW, RefillPlan, TokenRefill};
use super::unspent::UnspentTokens;
use crate::core::address::Address;
use crate::core::request::{Accepted, Method, Request};
use crate::core::retries::jitter;
use crate::core::service::Service;
use crate::core::storage::{Locked, SlotStorage};
use crate::core::store::SavedTokens;
use crate::core::task::{Io, Task};
use crate::error::{Error, Result, unexpected};

/// Most keys of an issuer's directory: one in use, one announced, one that ends, and one to spare.
/// With many keys, an issuer or a service could mark each client by its key.
const MAX_ISSUER_KEYS: usize = 4;
/// Shortest time between two looks at the directory because of refused tokens. A service that works
/// with the issuer could otherwise refuse a token at any time, and see which client asks the issuer
/// at that moment.
const CHECKED_EVERY: Duration = Duration::from_secs(3600);

/// The reason why a token is spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenReason {
    /// The service demands a token.
    Demanded,
    /// The service has refused the token that was spent before.
    Refused,
}

/// The tokens of an issuer for one service.
#[derive(Clone)]
pub(crate) struct TokenPurse {
    issuer: Service,
    parties: TokenParties,
    /// The slot of the tokens in the client's state.
    slot: String,
    /// The platform's time at the last look at the directory because of a refused token. Clones
    /// share it.
    checked: Arc<Mutex<Option<Duration>>>,
    refills: RefillPlan,
}

/// A batch of tokens between request and response.
struct BlindedBatch {
    key: IssuerPublicKey,
    blindings: Vec<TokenBlinding>,
    body: Arc<Vec<u8>>,
}

impl TokenPurse {
    /// The tokens of an issuer, with the client's bearer token for it, for the service at an
    /// address.
    pub(crate) fn new(issuer: Service, service: &Address) -> Self {
        let slot = format!(
            "{} tokens of {}",
            service.identity(""),
            issuer.address().base()
        );
        Self {
            parties: TokenParties::new(issuer.address(), service),
            issuer,
            slot,
            checked: Arc::default(),
            refills: RefillPlan::default(),
        }
    }

    /// The issuer's address.
    pub(crate) fn issuer(&self) -> &Address {
        self.issuer.address()
    }

    /// The names that a challenge must have.
    pub(crate) fn parties(&self) -> &TokenParties {
        &self.parties
    }

    /// Spends a token for a challenge, and fetches a batch first if there is none. The output is
    /// the value of the header `authorization`. The token is not in the state any more by then.
    pub(crate) fn spend(
        &self,
        asked: AcceptedChallenge,
        reason: TokenReason,
    ) -> Task<'static, Result<Zeroizing<String>>> {
        let purse = self.clone();
        Task::new(|io| async move { purse.take(&io, &asked, reason).await })
    }

    /// A refill of the tokens that the last spending left few of; `None` if there are enough, or
    /// if a refill is planned that has neither ended nor been dropped.
    pub(crate) fn refill(&self) -> Option<TokenRefill> {
        let planned = self.refills.begin()?;
        let purse = self.clone();
        Some(TokenRefill {
            wait: jitter(&*self.issuer.platform, REFILL_WINDOW),
            task: Task::new(|io| async move { purse.fill_up(&io, planned).await }),
        })
    }

    /// Fetches a batch, if there are still few tokens.
    async fn fill_up(&self, io: &Io, planned: PlannedRefill) -> Result<()> {
        let digest = planned.asked.challenge.digest();
        let lock = SlotStorage::new(io, &self.slot).lock().await?;
        if stored(&lock).await?.count(&digest) >= FEW_TOKENS {
            return Ok(());
        }

        // Not held while tokens are fetched: a lookup that needs one of the last ones takes it. Two
        // processes may then both fetch a batch.
        drop(lock);
        let mut fetched = UnspentTokens::default();
        fetched.add(self.fetch(io, &planned.asked).await?);

        let lock = SlotStorage::new(io, &self.slot).lock().await?;
        let mut tokens = stored(&lock).await?;
        tokens.append(fetched);
        lock.keep_tokens(SavedTokens(tokens.encode())).await
    }

    async fn take(
        &self,
        io: &Io,
        asked: &AcceptedChallenge,
        reason: TokenReason,
    ) -> Result<Zeroizing<String>> {
        // Held while tokens are fetched: others wait, and find them. It also keeps two processes
        // from taking the same token.
        let lock = SlotStorage::new(io, &self.slot).lock().await?;
        let mut tokens = stored(&lock).await?;
        if reason == TokenReason::Refused && self.is_check_due() {
            // Perhaps since its key has left the directory.
            let directory = self.directory(io).await?;
            tokens.keep_listed(&directory);
            // A service that refuses a former key, as after the loss of its registry, offers a
            // later one. Each token of the former one would cost a request that is refused.
            if let Some(offered) = &asked.key
                && directory.by_id(offered.id()).is_some()
            {
                tokens.keep_of(offered);
            }
            *self.checked() = Some(self.issuer.platform.now());
        }

        let digest = asked.challenge.digest();
        let token = match tokens.take(&digest) {
            Some(token) => token,
            None => {
                tokens.add(self.fetch(io, asked).await?);
                let fetched = tokens.take(&digest);
                fetched.ok_or_else(|| self.unusable("no token for the challenge".to_owned()))?
            }
        };

        // Before the token is sent: after a crash it is lost, and never sent twice.
        lock.keep_tokens(SavedTokens(tokens.encode())).await?;
        // Not fetched now: service and issuer together could match the spending with the fetch.
        if tokens.count(&digest) < FEW_TOKENS {
            self.refills.want(asked);
        }
        Ok(write_authorization(&token))
    }

    /// Returns true if the last look at the directory because of a refused token is long ago.
    fn is_check_due(&self) -> bool {
        let now = self.issuer.platform.now();
        let last = *self.checked();
        last.is_none_or(|last| now.saturating_sub(last) >= CHECKED_EVERY)
    }

    fn checked(&self) -> MutexGuard<'_, Option<Duration>> {
        self.checked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fetches a batch of tokens for a challenge.
    async fn fetch(&self, io: &Io, asked: &AcceptedChallenge) -> Result<Vec<PassToken>> {
        let directory = self.directory(io).await?;
        let path = self.request_path(&directory)?;
        let key = self.key(&directory, asked)?;
        let batch = self
            .blind(asked, key)
            .map_err(|error| self.unusable(error.to_string()))?;

        let limit = response_bytes(TOKENS_PER_BATCH) as u64;
        let request = Request::new(Method::Post, &path, Accepted::UpTo(limit))
            .with_header(header::CONTENT_TYPE, BATCH_REQUEST_MEDIA_TYPE.to_owned())
            .with_body(Arc::clone(&batch.body));
        let response = self
            .issuer
            .send(io, self.issuer.authorized(request))
            .await?;
        if !response.is_success() {
            let sent = Some(batch.body.len());
            return Err(self.issuer.refusal_of(&path, response, sent));
        }

        let bytes = self.issuer.body(&path, response, limit)?;
        batch
            .finalize(&bytes)
            .map_err(|error| self.unusable(error.to_string()))
    }

    /// Fetches the issuer's directory, without the bearer token: it is the same for everybody.
    async fn directory(&self, io: &Io) -> Result<IssuerDirectory> {
        let limit = MAX_DIRECTORY_BYTES as u64;
        let request = Request::get(DIRECTORY_PATH, Accepted::UpTo(limit));
        let response = self.issuer.send(io, request).await?;
        if !response.is_success() {
            return Err(self.issuer.refusal(DIRECTORY_PATH, response));
        }

        let bytes = self.issuer.body(DIRECTORY_PATH, response, limit)?;
        let directory = IssuerDirectory::parse(&bytes);
        let directory = directory.map_err(|error| self.unusable(error.to_string()))?;
        let found = directory.keys().len();
        if found > MAX_ISSUER_KEYS {
            let reason = format!("{found} keys: expected at most {MAX_ISSUER_KEYS}");
            return Err(self.unusable(reason));
        }
        Ok(directory)
    }

    /// The path of requests at the issuer. Another host would receive the bearer token.
    fn request_path(&self, directory: &IssuerDirectory) -> Result<String> {
        let found = directory.request_uri();
        let base = self.issuer.address().base();
        let path = found.strip_prefix(base).unwrap_or(found);
        if path.starts_with('/') && !path.starts_with("//") {
            return Ok(path.to_owned());
        }
        let reason = format!("the request address {found}: expected one below {base}");
        Err(self.unusable(reason))
    }

    /// The key for new tokens: the one that the service offers, else the current one. Both the
    /// service and the issuer must know it, so that neither alone can give a client its own.
    fn key(
        &self,
        directory: &IssuerDirectory,
        asked: &AcceptedChallenge,
    ) -> Result<IssuerPublicKey> {
        let found = match &asked.key {
            Some(offered) => directory.by_id(offered.id()),
            None => directory.current(self.issuer.platform.unix_time()),
        };
        let missing = match &asked.key {
            Some(_) => "no key that the service offers",
            None => "no key whose time has come",
        };
        found
            .cloned()
            .ok_or_else(|| self.unusable(missing.to_owned()))
    }

    /// Blinds a batch of tokens.
    fn blind(
        &self,
        asked: &AcceptedChallenge,
        key: IssuerPublicKey,
    ) -> Result<BlindedBatch, PassError> {
        let platform = &self.issuer.platform;
        // Equal randomness on a copy of this machine would link the tokens of both.
        let mut rng = Hedge::new("tokens of an issuer")
            .with(self.slot.as_bytes())
            .with(key.id())
            .at(&platform.circumstances())
            .rng(&mut *platform.rng());

        let mut blindings = Vec::with_capacity(TOKENS_PER_BATCH);
        let mut requests = Vec::with_capacity(TOKENS_PER_BATCH);
        for _ in 0..TOKENS_PER_BATCH {
            let (blinding, request) = TokenBlinding::new(&asked.challenge, &key, &mut rng)?;
            blindings.push(blinding);
            requests.push(request);
        }

        let body = Arc::new(encode_requests(&requests)?);
        Ok(BlindedBatch {
            key,
            blindings,
            body,
        })
    }

    /// The error for an issuer that breaks the protocol.
    fn unusable(&self, reason: String) -> Error {
        unexpected(&self.issuer.url(DIRECTORY_PATH), reason)
    }
}

impl BlindedBatch {
    /// The tokens, each of which is verified.
    fn finalize(self, response: &[u8]) -> Result<Vec<PassToken>, PassError> {
        let responses = parse_responses(response, self.blindings.len())?;
        let mut tokens = Vec::with_capacity(responses.len());
        for (blinding, response) in self.blindings.into_iter().zip(&responses) {
            tokens.push(blinding.finalize(response, &self.key)?);
        }
        Ok(tokens)
    }
}

/// The stored tokens; none at first use.
async fn stored(lock: &Locked<'_>) -> Result<UnspentTokens> {
    match lock.tokens().await? {
        Some(SavedTokens(record)) => Ok(UnspentTokens::decode(&record)?),
        None => Ok(UnspentTokens::default()),
    }
}
