//! Signed checkpoints: fetched before any query, pinned, and refused.

use std::collections::VecDeque;
use std::time::Duration;

use papir_checkpoint::{
    Base, Certificate, Kind, Log, Seen, SigningKey, Statement, VerifyingKey, cosign, public_part_hash,
};
use papir_client::Error;
use papir_client::core::{
    CheckpointSettings, Failure, Method, PinnedOwner, Request, Response, Service, Session, Settings, Step,
    StoreAction, Stored, Task,
};
use papir_core::erased::ErasedServer;
use papir_core::{Goal, NoProgress};
use papir_lookup::{Bundle, Root, Wanted};
use papir_schemes::registry;

use crate::peer::{Call, EPOCH, Event, Peer, Reply, record, records, rng, short};

fn simple(seed: u64) -> Box<dyn ErasedServer> {
    let scheme = registry::by_name("simple").unwrap();
    scheme.setup(&records(seed), Goal::Balanced, &mut rng(seed), &NoProgress).unwrap()
}

fn key(seed: u64) -> SigningKey {
    SigningKey::generate("example.org/owner".parse().unwrap(), Kind::Note, &mut rng(seed))
}

/// A scripted service whose database is signed.
struct Signed {
    peer: Peer,
    /// The checkpoint that the service shows; `None` for a database that is not signed.
    log: Option<Log>,
    /// Shown before `log`, each once.
    behind: VecDeque<Log>,
    pin: Option<PinnedOwner>,
    root: Option<Root>,
}

/// Appends the newest version of the peer, signed at this time.
fn append(peer: &Peer, former: Option<&Log>, key: &SigningKey, time: u64, more: &[Certificate]) -> Log {
    let server = &peer.newest().server;
    let bundle = Bundle { scheme_public: server.public(), keyword: None, commitment_top: None }.encode();
    let (base, public_part) = (Base::Content([1; 32]), public_part_hash(&bundle));
    let statement = Statement { database: "table".into(), time, base, public_part };
    Log::append(former, &statement, key, more).unwrap()
}

impl Signed {
    fn new(key: &SigningKey) -> Self {
        let peer = Peer::new(simple(1));
        let log = Some(append(&peer, None, key, EPOCH, &[]));
        Self { peer, log, behind: VecDeque::new(), pin: None, root: None }
    }

    /// Signs a further version.
    fn sign(&mut self, key: &SigningKey, more: &[Certificate]) {
        self.log = Some(append(&self.peer, self.log.as_ref(), key, EPOCH, more));
    }

    fn open(&mut self, settings: Settings) -> Result<Session, Error> {
        let service = Service::new("https://papir.example", None, false, self.peer.platform.clone()).unwrap();
        self.run(Session::open(service, settings))
    }

    /// Like [`Peer::run`], with checkpoints.
    fn run<T>(&mut self, task: Task<'_, T>) -> T {
        let mut step = task.start();
        loop {
            step = match step {
                Step::Send(request, then) => then.resume(self.respond(request)),
                Step::Wait(duration, then) => {
                    self.peer.wait(duration);
                    then.resume()
                }
                Step::Store(request, then) => match request.action {
                    StoreAction::Owner => then.resume(Ok(Stored::Owner(self.pin.clone()))),
                    StoreAction::KeepOwner(pin) => {
                        self.peer.log(Event::Stored("pin"));
                        self.pin = Some(pin);
                        then.resume(Ok(Stored::Done))
                    }
                    StoreAction::HasRoot => then.resume(Ok(Stored::Found(self.root.is_some()))),
                    StoreAction::Root => then.resume(Ok(Stored::Root(self.root))),
                    _ => then.resume(Ok(self.peer.store(request))),
                },
                Step::Done(output) => return output,
            };
        }
    }

    fn respond(&mut self, request: Request) -> Result<Response, Failure> {
        let path = request.path.strip_prefix("/v1/databases").unwrap().to_owned();
        match (path.as_str(), self.behind.front().or(self.log.as_ref())) {
            ("/table", Some(log)) => {
                let sequence = log.newest().unwrap().sequence;
                let mut response = self.peer.respond(&request)?;
                let mut body: serde_json::Value = serde_json::from_slice(response.body.as_ref().unwrap())?;
                body["checkpoint"] = serde_json::json!({ "sequence": sequence, "time": EPOCH });
                response.body = Ok(serde_json::to_vec(&body)?);
                Ok(response)
            }
            ("/table/checkpoint/proof", Some(log)) => {
                let body = log.proof().unwrap().encode().unwrap().into_bytes();
                self.behind.pop_front();
                let (headers, path) = (Vec::new(), request.path.clone());
                self.peer.log(Event::Sent(Call { method: Method::Get, path, headers, body: Vec::new() }));
                let version = self.peer.newest().server.version().to_string();
                Ok(Response { status: 200, headers: vec![("papir-version".into(), version)], body: Ok(body) })
            }
            _ => self.peer.respond(&request),
        }
    }

    fn events(&self) -> Vec<String> {
        short(&self.peer.take())
    }
}

fn pinning() -> Settings {
    Settings { pin: true, ..Settings::default() }
}

fn given(owner: VerifyingKey) -> Settings {
    let checkpoint = CheckpointSettings { owner: Some(owner), ..CheckpointSettings::default() };
    Settings { checkpoint, ..Settings::default() }
}

const FETCHES: [&str; 4] = ["GET ", "GET ", "GET /checkpoint/proof", "GET /public"];

#[test]
fn the_checkpoint_is_fetched_before_any_query_and_pinned_after_the_public_part() {
    let mut signed = Signed::new(&key(1));
    let mut session = signed.open(pinning()).unwrap();
    assert_eq!(signed.events(), [&FETCHES[..], &["lock", "pin", "unlock"]].concat());
    let pin = signed.pin.clone().unwrap();
    assert_eq!((&pin.key, pin.highest.sequence), (&key(1).public(), 0));
    assert_eq!(session.checkpoint().map(|accepted| accepted.seen), Some(pin.highest));
    for index in [3, 49] {
        let values = signed.run(session.get(&[Wanted::Index(index)])).unwrap();
        assert_eq!(values, [Some(record(1, index))]);
        assert_eq!(signed.events(), ["POST /query"]);
    }
    // Nothing new to pin.
    signed.open(pinning()).unwrap();
    assert_eq!(signed.events(), FETCHES);
    // Without pins nothing is stored.
    signed.pin = None;
    signed.open(Settings::default()).unwrap();
    assert_eq!((signed.events(), signed.pin.is_none()), (FETCHES.map(str::to_owned).to_vec(), true));
}

#[test]
fn databases_without_a_checkpoint_are_used_as_before_unless_a_key_is_known() {
    let mut signed = Signed::new(&key(1));
    signed.log = None;
    signed.open(pinning()).unwrap();
    assert_eq!(signed.events(), ["GET ", "GET ", "GET /public"]);
    let refused = |signed: &mut Signed, settings| {
        let error = signed.open(settings).err().unwrap();
        assert!(matches!(error, Error::NoCheckpoint { .. }), "{error}");
        assert_eq!(signed.events(), ["GET ", "GET "], "nothing is fetched or stored");
    };
    refused(&mut signed, given(key(1).public()));
    let highest = Seen { sequence: 0, leaf: [0; 32] };
    signed.pin = Some(PinnedOwner { key: key(1).public(), first: key(1).public(), highest });
    refused(&mut signed, pinning());
}

#[test]
fn another_owner_is_refused_before_the_public_part_is_fetched() {
    let mut signed = Signed::new(&key(1));
    signed.open(pinning()).unwrap();
    signed.log = None;
    signed.sign(&key(2), &[]);
    signed.events();
    for settings in [pinning(), given(key(1).public())] {
        let error = signed.open(settings).err().unwrap();
        assert_eq!(error.code(), "checkpoint_untrusted");
        assert_eq!(signed.events(), ["GET ", "GET ", "GET /checkpoint/proof"]);
    }
    assert_eq!(signed.pin.as_ref().unwrap().key, key(1).public());
    // A given key replaces the pinned one, whose sequences no longer count.
    signed.sign(&key(2), &[]);
    signed.open(Settings { pin: true, ..given(key(2).public()) }).unwrap();
    assert_eq!(signed.pin.as_ref().unwrap().key, key(2).public());
}

#[test]
fn a_public_part_that_the_checkpoint_does_not_name_is_refused() {
    let mut signed = Signed::new(&key(1));
    // The service shows version 2 under the checkpoint of version 1.
    signed.peer.versions.push(simple(2).into());
    let error = signed.open(pinning()).err().unwrap();
    assert_eq!(error.code(), "checkpoint_public_part");
    assert_eq!((signed.events(), signed.pin.is_none()), (FETCHES.map(str::to_owned).to_vec(), true));
}

#[test]
fn a_service_that_is_behind_is_asked_again_until_the_deadline() {
    let owner = key(1);
    let mut signed = Signed::new(&owner);
    let old = signed.log.clone().unwrap();
    signed.sign(&owner, &[]);
    signed.open(pinning()).unwrap();
    signed.events();
    // Twice behind, then up to date.
    signed.behind = [old.clone(), old.clone()].into();
    signed.open(pinning()).unwrap();
    let events = signed.events();
    let waits: Vec<&String> = events.iter().filter(|event| event.starts_with("wait")).collect();
    assert_eq!(waits.len(), 2, "{events:?}");
    assert_eq!(events.iter().filter(|event| *event == "GET /public").count(), 1, "{events:?}");

    signed.behind = vec![old; 1000].into();
    let start = signed.peer.now();
    let error = signed.open(pinning()).err().unwrap();
    assert_eq!(error.code(), "checkpoint_rollback");
    assert!(error.to_string().contains("sequence 0, but sequence 1"), "{error}");
    assert_eq!(signed.peer.now() - start, Duration::from_secs(30));
    assert!(!signed.events().contains(&"GET /public".to_owned()));
    let impatient = CheckpointSettings { patience: Some(Duration::ZERO), ..CheckpointSettings::default() };
    let start = signed.peer.now();
    assert!(signed.open(Settings { checkpoint: impatient, ..pinning() }).is_err());
    assert_eq!(signed.peer.now(), start);
}

#[test]
fn waits_differ_between_clients() {
    let owner = key(1);
    let mut waits = Vec::new();
    for _ in 0..2 {
        let mut signed = Signed::new(&owner);
        let old = signed.log.clone().unwrap();
        signed.sign(&owner, &[]);
        signed.open(pinning()).unwrap();
        if !waits.is_empty() {
            // Another client has drawn other randomness before.
            drop(papir_client::core::Platform::rng(&*signed.peer.platform));
        }
        let start = signed.peer.now();
        signed.behind = [old].into();
        signed.open(pinning()).unwrap();
        waits.push(signed.peer.now() - start);
    }
    assert_ne!(waits[0], waits[1]);
    assert!(waits.iter().all(|wait| (500..2500).contains(&wait.as_millis())), "{waits:?}");
}

#[test]
fn the_key_of_a_first_checkpoint_does_not_replace_a_pinned_root() {
    let mut signed = Signed::new(&key(1));
    signed.root = Some(Root([7; 32]));
    for _ in 0..2 {
        let error = signed.open(pinning()).err().unwrap();
        assert!(matches!(error, Error::Root { .. }), "{error}");
        assert!(signed.pin.is_none(), "the key is pinned although the root is wrong");
    }
    // A key that the caller gives does.
    signed.open(Settings { pin: true, ..given(key(1).public()) }).unwrap();
    signed.open(pinning()).unwrap();
}

#[test]
fn two_versions_under_one_sequence_are_refused() {
    let owner = key(1);
    let mut signed = Signed::new(&owner);
    signed.open(pinning()).unwrap();
    signed.peer.versions.push(simple(2).into());
    signed.log = None;
    signed.sign(&owner, &[]);
    let error = signed.open(pinning()).err().unwrap();
    assert_eq!(error.code(), "checkpoint_equivocation");
    assert!(signed.pin.is_some());
}

#[test]
fn a_session_follows_signed_versions_only() {
    let owner = key(1);
    let mut signed = Signed::new(&owner);
    let mut session = signed.open(Settings::default()).unwrap();
    let changed = |seed| Reply { next: Some(simple(seed).into()), ..Reply::refusal(409, "wrong_version") };
    // The new version is not signed yet: the checkpoint still names the old public part.
    signed.peer.script.push_back(changed(2));
    let error = signed.run(session.get(&[Wanted::Index(7)])).unwrap_err();
    assert_eq!(error.code(), "checkpoint_public_part");
    signed.sign(&owner, &[]);
    signed.peer.script.push_back(Reply::refusal(409, "wrong_version"));
    let values = signed.run(session.get(&[Wanted::Index(7)])).unwrap();
    assert_eq!(values, [Some(record(2, 7))]);
    assert_eq!(session.checkpoint().unwrap().seen.sequence, 1);
    // The key of the first checkpoint stays trusted for the session, although nothing is pinned.
    signed.log = None;
    signed.sign(&key(2), &[]);
    signed.peer.script.push_back(changed(3));
    assert_eq!(signed.run(session.get(&[Wanted::Index(7)])).unwrap_err().code(), "checkpoint_untrusted");
}

#[test]
fn ages_and_cosignatures_are_required_by_the_settings() {
    let owner = key(1);
    let witness = SigningKey::generate("w".parse().unwrap(), Kind::Cosignature, &mut rng(9));
    let mut signed = Signed::new(&owner);
    let settings = |max_age: u64, cosignatures| {
        let witnesses = vec![witness.public()];
        let max_age = Some(Duration::from_secs(max_age));
        let checkpoint =
            CheckpointSettings { max_age, witnesses, cosignatures, ..CheckpointSettings::default() };
        Settings { checkpoint, ..Settings::default() }
    };
    signed.open(settings(60, 0)).unwrap();
    assert_eq!(signed.open(settings(60, 1)).err().unwrap().code(), "checkpoint_cosignatures");
    let mut log = signed.log.clone().unwrap();
    log.add_cosignatures(&format!("{}\n", cosign(log.note(), &witness, EPOCH))).unwrap();
    signed.log = Some(log);
    let session = signed.open(settings(60, 1)).unwrap();
    assert_eq!(session.checkpoint().unwrap().cosignatures, 1);
    signed.peer.wait(Duration::from_secs(61));
    assert_eq!(signed.open(settings(60, 1)).err().unwrap().code(), "checkpoint_too_old");
    signed.open(settings(61, 1)).unwrap();
}

#[test]
fn a_pinned_client_follows_a_rotation_and_keeps_its_sequences() {
    let (old, new) = (key(1), key(2));
    let mut signed = Signed::new(&old);
    let first = signed.log.clone().unwrap();
    signed.open(pinning()).unwrap();
    let rotation = Certificate::rotate(&old, &new, (EPOCH, EPOCH + 600)).unwrap();
    signed.sign(&new, &[rotation]);
    // A key that was given before the rotation is followed too, and pinned in its new form.
    for settings in [pinning(), Settings { pin: true, ..given(old.public()) }] {
        signed.open(settings.clone()).unwrap();
        let pin = signed.pin.clone().unwrap();
        assert_eq!((pin.key, pin.highest.sequence), (new.public(), 1));
        let current = signed.log.replace(first.clone());
        let impatient = CheckpointSettings { patience: Some(Duration::ZERO), ..settings.checkpoint.clone() };
        let error = signed.open(Settings { checkpoint: impatient, ..settings }).err().unwrap();
        assert!(["checkpoint_rollback", "checkpoint_untrusted"].contains(&error.code()), "{error}");
        signed.log = current;
    }
    signed.sign(&new, &[]);
    signed.open(pinning()).unwrap();
    assert_eq!(signed.pin.unwrap().highest.sequence, 2);
}
