//! Tests of spending, with an issuer and a storage in memory.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use papir_core::hedge::system_rng;
use papir_privacy_pass::{
    ChallengeOffer, DIRECTORY_PATH, IssuerKey, PassToken, TOKEN_BYTES, TOKENS_PER_BATCH,
    TokenChallenge, parse_authorization, request_bytes, verify,
};
use rand_core::CryptoRng;

use super::refill::{FEW_TOKENS, REFILL_WINDOW};
use super::testing::{KEY, OTHER, TestIssuer};
use super::{AcceptedChallenge, TokenPurse, TokenReason};
use crate::core::{
    Address, Platform, Request, Response, SavedTokens, Service, Step, StoreAction, StoreLock,
    Stored, Task, Token,
};
use crate::error::Result;

struct TestPlatform;

impl Platform for TestPlatform {
    fn now(&self) -> Duration {
        Duration::ZERO
    }

    fn unix_time(&self) -> u64 {
        1_000
    }

    fn rng(&self) -> Box<dyn CryptoRng + '_> {
        Box::new(system_rng())
    }
}

/// An issuer and the client's storage, with a list of what happens.
struct World {
    issuer: TestIssuer,
    stored: Option<SavedTokens>,
    events: Vec<&'static str>,
}

impl World {
    fn new() -> Self {
        Self {
            issuer: TestIssuer::new(&KEY),
            stored: None,
            events: Vec::new(),
        }
    }

    fn answer(&mut self, request: &Request) -> Response {
        let event = match request.path.as_str() {
            DIRECTORY_PATH => "directory",
            _ => "tokens",
        };
        self.events.push(event);
        self.issuer.answer(request)
    }

    fn store(&mut self, action: StoreAction) -> Stored {
        match action {
            StoreAction::Lock => Stored::Locked(StoreLock::new(())),
            StoreAction::Tokens => Stored::Tokens(self.stored.clone()),
            StoreAction::KeepTokens(tokens) => {
                self.events.push("keep");
                self.stored = Some(tokens);
                Stored::Done
            }
            other => panic!("{other:?}"),
        }
    }

    /// Runs a task up to and with the change of the state, and drops it then if it `crashes`.
    fn run<T>(&mut self, task: Task<'static, Result<T>>, crashes: bool) -> Option<Result<T>> {
        let mut step = task.start();
        loop {
            step = match step {
                Step::Send(request, then) => then.resume(Ok(self.answer(&request))),
                Step::Wait(_, then) => then.resume(),
                Step::Store(request, then) => {
                    let is_change = matches!(request.action, StoreAction::KeepTokens(_));
                    let stored = self.store(request.action);
                    if is_change && crashes {
                        return None;
                    }
                    then.resume(Ok(stored))
                }
                Step::Done(output) => return Some(output),
            };
        }
    }

    /// The token that a client spends.
    fn spend(&mut self, reason: TokenReason) -> PassToken {
        let header = self.run(purse().spend(asked(None), reason), false);
        parse_authorization(&header.unwrap().unwrap())
            .unwrap()
            .unwrap()
    }

    /// Spends tokens of a purse.
    fn spend_of(&mut self, purse: &TokenPurse, count: usize) {
        for _ in 0..count {
            let spent = self.run(purse.spend(asked(None), TokenReason::Demanded), false);
            spent.unwrap().unwrap();
        }
    }

    /// The number of stored tokens.
    fn count(&self) -> usize {
        (self.stored.as_ref().unwrap().0.len() - 1) / TOKEN_BYTES
    }

    fn refusal(&mut self, asked: AcceptedChallenge) -> String {
        let task = purse().spend(asked, TokenReason::Demanded);
        self.run(task, false).unwrap().unwrap_err().to_string()
    }
}

fn purse() -> TokenPurse {
    let token = Some(Token::new("secret").unwrap());
    let platform = Arc::new(TestPlatform);
    let issuer = Service::new("https://issuer.example", token, false, platform).unwrap();
    TokenPurse::new(issuer, &Address::parse("https://pir.example").unwrap())
}

fn challenge() -> TokenChallenge {
    TokenChallenge::new("issuer.example", None, vec!["pir.example".to_owned()]).unwrap()
}

/// The challenge of the service, with a key of the issuer.
fn asked(key: Option<&IssuerKey>) -> AcceptedChallenge {
    let key = key.map(IssuerKey::public);
    let offer = ChallengeOffer::new(&challenge(), key, None);
    purse().parties().choose(&[offer]).unwrap()
}

#[test]
fn a_token_is_removed_from_the_state_before_it_is_sent() {
    let mut world = World::new();
    let first = world.spend(TokenReason::Demanded);
    verify(&first, &challenge(), KEY.public()).unwrap();
    assert_eq!(world.events, ["directory", "tokens", "keep"]);

    let second = world.spend(TokenReason::Demanded);
    verify(&second, &challenge(), KEY.public()).unwrap();
    assert_ne!(first, second);
    assert_eq!(world.events[3..], ["keep"], "no request");
}

#[test]
fn a_token_of_a_crashed_client_is_never_spent_again() {
    let mut world = World::new();
    let mut spent = vec![world.spend(TokenReason::Demanded)];
    let before = world.stored.clone().unwrap();

    let task = purse().spend(asked(None), TokenReason::Demanded);
    assert!(world.run(task, true).is_none());
    let after = world.stored.clone().unwrap();
    assert_eq!(before.0.len() - after.0.len(), TOKEN_BYTES);

    for _ in 2..TOKENS_PER_BATCH {
        spent.push(world.spend(TokenReason::Demanded));
    }
    let count = spent.len();
    spent.sort_by_key(|token| token.input.nonce);
    spent.dedup();
    assert_eq!((count, spent.len()), (TOKENS_PER_BATCH - 1, count));
    assert_eq!(world.issuer.lengths.len(), 1);
}

#[test]
fn few_tokens_are_refilled_at_a_random_time() {
    let mut world = World::new();
    let purse = purse();
    world.spend_of(&purse, TOKENS_PER_BATCH - FEW_TOKENS);
    assert_eq!(world.count(), FEW_TOKENS);
    assert!(purse.refill().is_none(), "there are enough");

    let mut waits = BTreeSet::new();
    for _ in 0..3 {
        world.spend_of(&purse, 1);
        let refill = purse.refill().unwrap();
        assert!(refill.wait < REFILL_WINDOW);
        waits.insert(refill.wait);
        world.spend_of(&purse, 1);
        assert!(purse.refill().is_none(), "one at a time");
    }
    assert!(waits.len() > 1, "drawn anew: {waits:?}");

    world.spend_of(&purse, 1);
    let left = FEW_TOKENS - 7;
    let refill = purse.refill().unwrap();
    let before = world.events.len();
    world.run(refill.task, false).unwrap().unwrap();
    assert_eq!(world.events[before..], ["directory", "tokens", "keep"]);
    assert_eq!(world.count(), left + TOKENS_PER_BATCH);
    assert_eq!(world.issuer.lengths.len(), 2);
    world.spend_of(&purse, 1);
    assert!(purse.refill().is_none(), "there are enough");
}

#[test]
fn a_refill_that_came_too_late_fetches_nothing() {
    let mut world = World::new();
    let purse = purse();
    world.spend_of(&purse, TOKENS_PER_BATCH - FEW_TOKENS + 1);
    let refill = purse.refill().unwrap();
    world.spend_of(&purse, FEW_TOKENS);
    assert_eq!(world.issuer.lengths.len(), 2, "none was left");

    let before = world.events.len();
    world.run(refill.task, false).unwrap().unwrap();
    assert_eq!(world.events.len(), before);
}

#[test]
fn after_a_refill_that_failed_another_one_is_planned() {
    let mut world = World::new();
    let purse = purse();
    world.spend_of(&purse, TOKENS_PER_BATCH - FEW_TOKENS + 1);
    world.issuer.keys = Vec::new();
    let failed = world.run(purse.refill().unwrap().task, false);
    assert!(failed.unwrap().is_err());
    assert!(purse.refill().is_none());

    world.spend_of(&purse, 1);
    world.issuer.keys = vec![&*KEY];
    let refilled = world.run(purse.refill().unwrap().task, false);
    refilled.unwrap().unwrap();
    assert_eq!(world.count(), FEW_TOKENS - 2 + TOKENS_PER_BATCH);
}

#[test]
fn all_batches_have_one_size() {
    let mut world = World::new();
    for _ in 0..=2 * TOKENS_PER_BATCH {
        world.spend(TokenReason::Demanded);
    }
    let expected = request_bytes(TOKENS_PER_BATCH);
    assert_eq!(world.issuer.lengths, [expected; 3]);
}

#[test]
fn tokens_under_a_key_that_has_left_the_directory_are_dropped_once_one_is_refused() {
    let mut world = World::new();
    world.spend(TokenReason::Demanded);
    world.issuer.keys = vec![&*OTHER];
    // Nobody has refused one yet.
    assert_eq!(
        &world.spend(TokenReason::Demanded).input.key_id,
        KEY.public().id()
    );

    let token = world.spend(TokenReason::Refused);
    verify(&token, &challenge(), OTHER.public()).unwrap();
    let record = world.stored.clone().unwrap();
    let left = TOKENS_PER_BATCH - 1;
    assert_eq!(record.0.len(), 1 + left * TOKEN_BYTES);
}

#[test]
fn tokens_under_a_former_key_are_dropped_once_the_service_refuses_one_and_offers_another() {
    let mut world = World::new();
    world.spend(TokenReason::Demanded);
    world.issuer.keys = vec![&*OTHER, &*KEY];
    let purse = purse();
    let mut spend = |key: &IssuerKey, reason| {
        let header = world.run(purse.spend(asked(Some(key)), reason), false);
        let token = parse_authorization(&header.unwrap().unwrap());
        token.unwrap().unwrap().input.key_id
    };

    // Its tokens are good until the service refuses one.
    let former = *KEY.public().id();
    assert_eq!(spend(&OTHER, TokenReason::Demanded), former);
    let offered = *OTHER.public().id();
    assert_eq!(spend(&OTHER, TokenReason::Refused), offered);
    assert_eq!(spend(&OTHER, TokenReason::Demanded), offered);
}

#[test]
fn refused_tokens_make_a_client_ask_the_issuer_once_an_hour() {
    let mut world = World::new();
    let purse = purse();
    for reason in [
        TokenReason::Demanded,
        TokenReason::Refused,
        TokenReason::Refused,
        TokenReason::Refused,
    ] {
        let spent = world.run(purse.spend(asked(None), reason), false);
        spent.unwrap().unwrap();
    }
    let expected = [
        "directory",
        "tokens",
        "keep",
        "directory",
        "keep",
        "keep",
        "keep",
    ];
    assert_eq!(world.events, expected);
}

#[test]
fn keys_and_request_addresses_of_others_are_refused() {
    let mut world = World::new();
    assert!(world.refusal(asked(Some(&*OTHER))).contains("offers"));
    world.issuer.keys = vec![&*KEY; 5];
    assert!(world.refusal(asked(None)).contains("5 keys"));
    world.issuer.keys = Vec::new();
    assert!(world.refusal(asked(None)).contains("time has come"));

    world.issuer.keys = vec![&*KEY];
    for other in [
        "https://other.example/token-request",
        "//other.example/t",
        "t",
    ] {
        world.issuer.request_uri = other;
        let reason = world.refusal(asked(None));
        assert!(reason.contains("expected one below"), "{reason}");
    }
    assert!(world.issuer.lengths.is_empty(), "nothing was asked for");
    world.issuer.request_uri = "https://issuer.example/token-request";
    world.spend(TokenReason::Demanded);
}
