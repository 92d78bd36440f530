//! The work of a token request: keys, counts, signatures.

use std::sync::Arc;
use std::time::SystemTime;

use papir_core::hedge::system_rng;
use papir_privacy_pass::{IssuerKey, TokenRequest, TokenResponse};
use tokio::task::{JoinSet, spawn_blocking};

use super::config::IssuerConfig;
use super::counts::{IssuedCounts, TokenOrder};
use super::keys::{CHECK_INTERVAL, IssuerKeys, ServedIssuerKeys};
use super::problem::IssuerProblem;
use super::requests::RequestForm;
use crate::access::{Grant, Scope, Tokens};
use crate::admission::{ClientKey, WorkTurns};
use crate::error::Error;

/// Requests that wait for their turn. Each holds a body of 8 kB.
const QUEUED: usize = 256;

/// Issues tokens to those who may have them.
pub(super) struct TokenIssuer {
    pub(super) keys: IssuerKeys,
    counts: IssuedCounts,
    tokens: Arc<Tokens>,
    /// Clients take turns, so that one that asks often does not delay the others.
    turns: Arc<WorkTurns>,
}

/// The client of a request: the name of its bearer token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TokenClient(Arc<str>);

impl TokenIssuer {
    /// Reads keys, counts and bearer tokens, and makes missing files of keys and counts.
    pub(super) fn open(config: &IssuerConfig) -> Result<Self, Error> {
        let least = papir_privacy_pass::TOKENS_PER_BATCH;
        if (config.daily as usize) < least {
            return Err(Error::FewDailyTokens {
                found: config.daily,
                least,
            });
        }

        // First: a start that fails for it makes no files.
        let tokens = Arc::new(Tokens::open(&config.tokens)?);
        Ok(Self {
            keys: IssuerKeys::open(&config.keys)?,
            counts: IssuedCounts::open(&config.counts, config.daily)?,
            tokens,
            turns: WorkTurns::new(config.threads, QUEUED),
        })
    }

    /// The client with a bearer token.
    pub(super) fn client(&self, bearer: Option<&str>) -> Result<TokenClient, IssuerProblem> {
        let grant: Grant = bearer
            .and_then(|token| self.tokens.find(token))
            .ok_or(IssuerProblem::Unauthorized)?;
        if !grant.has(Scope::Query) {
            return Err(IssuerProblem::Forbidden);
        }

        // Every token of a file has a name. Without one there is nobody to charge.
        grant
            .name
            .map(TokenClient)
            .ok_or(IssuerProblem::Unauthorized)
    }

    /// Signs the blinded tokens of a body. Returns the body of the response.
    pub(super) async fn issue(
        self: &Arc<Self>,
        client: TokenClient,
        form: RequestForm,
        body: Vec<u8>,
    ) -> Result<Vec<u8>, IssuerProblem> {
        let requests = form.parse(&body)?;
        let order = SignOrder {
            client,
            requests,
            digest: blake3::hash(&body).into(),
        };

        let key = ClientKey::Token(Arc::clone(&order.client.0));
        let permit = self.turns.admit(&key).ok_or(IssuerProblem::Busy)?;
        let turn = self.turns.enter(&key, permit).await;
        let turn = turn.map_err(|_| IssuerProblem::Busy)?;

        // The turn ends with the work, also if the client leaves: its signatures cost the same.
        let issuer = Arc::clone(self);
        let work = spawn_blocking(move || {
            let signed = issuer.sign(&order, SystemTime::now());
            drop(turn);
            signed
        });
        let responses = work.await.map_err(|_| IssuerProblem::Internal)??;

        tracing::info!(tokens = responses.len(), "tokens issued");
        form.encode(&responses).map_err(IssuerProblem::from)
    }

    /// Charges an order and signs it. Blocks.
    fn sign(
        &self,
        order: &SignOrder,
        now: SystemTime,
    ) -> Result<Vec<TokenResponse>, IssuerProblem> {
        let served = self.keys.served();
        // Before the charge: a client with an old directory pays nothing.
        let keys = signing_keys(&served, &order.requests, now)?;
        let charge = TokenOrder {
            client: &order.client.0,
            count: u32::try_from(order.requests.len()).unwrap_or(u32::MAX),
            digest: order.digest,
        };
        self.counts.charge(&charge, now)?;

        let mut rng = system_rng();
        let mut responses = Vec::with_capacity(order.requests.len());
        for (request, key) in order.requests.iter().zip(keys) {
            responses.push(key.sign_blinded(request, &mut rng)?);
        }
        Ok(responses)
    }

    /// Reads the bearer tokens and the keys again, each SIGHUP.
    pub(super) fn reload(self: &Arc<Self>) {
        let issuer = Arc::clone(self);
        spawn_blocking(move || {
            issuer.tokens.reload();
            issuer.keys.reload();
        });
    }

    /// Starts the tasks that watch the token files, and rotate keys. They end when dropped.
    pub(super) fn watch(self: &Arc<Self>) -> JoinSet<()> {
        let mut watching = JoinSet::new();
        watching.spawn(Arc::clone(&self.tokens).watch());
        watching.spawn(rotate(Arc::clone(self)));
        watching
    }
}

/// A client's blinded tokens.
struct SignOrder {
    client: TokenClient,
    requests: Vec<TokenRequest>,
    /// The hash of the body.
    digest: [u8; 32],
}

/// The key for each request.
fn signing_keys<'a>(
    served: &'a ServedIssuerKeys,
    requests: &[TokenRequest],
    now: SystemTime,
) -> Result<Vec<&'a IssuerKey>, IssuerProblem> {
    let mut keys = Vec::with_capacity(requests.len());
    for request in requests {
        let found = request.truncated_key_id;
        let key = served.signing(found, now);
        keys.push(key.ok_or(IssuerProblem::UnknownKey { found })?);
    }
    Ok(keys)
}

/// Rotates keys that are due. Never completes.
async fn rotate(issuer: Arc<TokenIssuer>) {
    loop {
        tokio::time::sleep(CHECK_INTERVAL).await;
        if !issuer.keys.begins_reading() {
            continue;
        }

        let keys = Arc::clone(&issuer);
        let reading = spawn_blocking(move || keys.keys.reload());
        if let Err(error) = reading.await
            && !error.is_cancelled()
        {
            tracing::error!(%error, "issuer keys not read");
        }
    }
}
