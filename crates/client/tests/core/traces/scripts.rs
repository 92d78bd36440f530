//! The scripts of the lying server.

use std::ops::Range;

use super::liar::{Fault, Lie, Place};
use super::signed::Shown;
use super::world::{Other, Side, Want};
use crate::peer::{Offer, Peer};

/// Faults that are played together.
#[derive(Clone, Debug)]
pub struct Script {
    pub name: String,
    pub faults: Vec<Fault>,
    /// The client's registration at the start.
    pub start: Start,
    /// Set if the client waits between its requests, for seconds or minutes.
    pub waits: bool,
    /// Set if the database is signed.
    pub signed: bool,
    /// The client's copy of the public part at the start.
    pub copy: Copied,
}

impl Script {
    /// Returns whether the scheme has what the script lies about.
    pub fn applies_to(&self, side: &Side) -> bool {
        let uploads = self.faults.iter().any(|fault| fault.place == Place::Upload);
        // Checkpoints come before lookups, so that one kind of lookup is enough.
        let by_key = matches!(side.wanted[0], Want::Key(_));
        (self.start == Start::Any || side.registered.is_some())
            && (!uploads || side.uploads())
            && !(self.signed && by_key)
            && (self.copy == Copied::Nothing || side.keeps_copies())
    }

    /// The service at the start of the script.
    pub fn peer(&self, side: &Side, registered: bool) -> Peer {
        let mut peer = side.peer(registered);
        peer.log = if self.signed {
            Shown::Current.log(side)
        } else {
            None
        };
        peer.copy = self.copy.of(side);
        peer
    }
}

/// The client at the start of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// Any; a client of a scheme with client keys is registered.
    Any,
    /// A client that is registered.
    Registered,
    /// A client of a scheme with client keys that must register first.
    New,
}

/// A client's copy of the public part at the start of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copied {
    /// None, although the client keeps copies.
    Nothing,
    /// The true one.
    Current,
    /// That of an earlier version.
    Stale,
    /// The true one with another bit.
    Damaged,
    /// The name of the true version, and the public part of half of the records.
    Forged,
}

impl Copied {
    fn of(self, side: &Side) -> Option<Vec<u8>> {
        let named = |version: &Offer, part: &Offer| {
            [
                version.server.version().to_string().as_bytes(),
                part.bundle.as_slice(),
            ]
            .concat()
        };
        let mut current = named(&side.offer, &side.offer);
        match self {
            Self::Nothing => None,
            Self::Current => Some(current),
            Self::Stale => Some(named(&side.other(Other::Newer), &side.other(Other::Newer))),
            Self::Damaged => {
                *current.last_mut().unwrap() ^= 1;
                Some(current)
            }
            Self::Forged => Some(named(&side.offer, &side.other(Other::Half))),
        }
    }
}

/// The first response, the second one, all of them.
const FIRST: Range<usize> = 0..1;
const SECOND: Range<usize> = 1..2;
const ALL: Range<usize> = 0..usize::MAX;

/// Every refusal of the interface, and some that no service sends.
const REFUSALS: [(u16, &str); 29] = [
    (400, "interrupted"),
    (400, "malformed"),
    (400, "no_client"),
    (400, "ticket_count"),
    (400, "wrong_length"),
    (400, "checksum"),
    (401, "unauthorized"),
    (403, "forbidden"),
    (403, "not_allowed"),
    (404, "no_checkpoint"),
    (404, "no_registry"),
    (404, "unknown_database"),
    (404, "unknown_route"),
    (405, "wrong_method"),
    (408, "too_slow"),
    (409, "already_registered"),
    (409, "upload_incomplete"),
    (409, "wrong_offset"),
    (409, "wrong_version"),
    (410, "client_gone"),
    (410, "ticket_used"),
    (413, "over_quota"),
    (413, "too_long"),
    (429, "busy"),
    (429, "too_many"),
    (500, "internal"),
    (503, "no_ticket"),
    (503, "not_ready"),
    (599, "what"),
];

/// Every script.
pub fn all() -> Vec<Script> {
    [
        opening(),
        public_parts(),
        other_databases(),
        answers(),
        refusals(),
        waiting(),
        registering(),
        resuming(),
        uploading(),
        signing(),
        tickets(),
        copies(),
    ]
    .concat()
}

fn script(name: impl Into<String>, faults: &[(Place, Range<usize>, Lie)]) -> Script {
    let fault = |(place, when, lie): &(Place, Range<usize>, Lie)| Fault {
        place: *place,
        when: when.clone(),
        lie: lie.clone(),
    };
    Script {
        name: name.into(),
        faults: faults.iter().map(fault).collect(),
        start: Start::Any,
        waits: false,
        signed: false,
        copy: Copied::Nothing,
    }
}

/// The list of databases and the description.
fn opening() -> Vec<Script> {
    let list = |name: &str, lie| script(format!("list: {name}"), &[(Place::List, FIRST, lie)]);
    let info = |name: &str, lie| script(format!("description: {name}"), &[(Place::Info, ALL, lie)]);
    vec![
        script("no lie", &[(Place::List, FIRST, Lie::Late(0))]),
        list(
            "empty",
            Lie::Json(|json| json["databases"] = serde_json::json!([])),
        ),
        list("lost", Lie::Lost),
        list("a redirection", Lie::Redirect),
        info("noise", Lie::Noise),
        info("cut", Lie::Cut),
        info(
            "another scheme's name",
            Lie::Json(|json| json["scheme"] = "plain".into()),
        ),
        info(
            "half of the records",
            Lie::Json(|json| json["records"] = 20.into()),
        ),
        info(
            "another version",
            Lie::Json(|json| json["version"] = "0123456789abcdef".into()),
        ),
        info(
            "a shorter bundle",
            Lie::Json(|json| json["sizes"]["bundle"] = 10.into()),
        ),
        info(
            "a longer bundle",
            Lie::Json(|json| json["sizes"]["bundle"] = u64::MAX.into()),
        ),
        info(
            "longer answers",
            Lie::Json(|json| json["sizes"]["answer"] = u64::MAX.into()),
        ),
        info(
            "a delta that is not there",
            Lie::Json(|json| json["delta"] = delta()),
        ),
        info(
            "no query fits",
            Lie::Json(|json| json["max_batch"] = 0.into()),
        ),
        info(
            "one query fits",
            Lie::Json(|json| json["max_batch"] = 1.into()),
        ),
        info(
            "all queries fit",
            Lie::Json(|json| json["max_batch"] = 1_000_000.into()),
        ),
        info(
            "keys for indices",
            Lie::Json(|json| json["keyed"] = (!json["keyed"].as_bool().unwrap()).into()),
        ),
    ]
}

/// The description of a delta.
fn delta() -> serde_json::Value {
    serde_json::json!({
        "version": "0123456789abcdef", "scheme": "simple", "entries": 1, "records": null, "public": 300,
        "query": 100, "answer": 100, "queries_per_lookup": 1,
    })
}

/// Public parts that are damaged, or of another database than the description.
fn public_parts() -> Vec<Script> {
    let public =
        |name: &str, lie| script(format!("public part: {name}"), &[(Place::Public, ALL, lie)]);
    let damaged = [
        ("a byte shorter", Lie::Shorter),
        ("a byte longer", Lie::Longer),
        ("empty", Lie::Empty),
        ("zeros", Lie::Zeros),
        ("noise", Lie::Noise),
        ("another bit", Lie::LastBit),
        ("cut", Lie::Cut),
        ("of another version", Lie::Version(Some("0123456789abcdef"))),
        ("of no version", Lie::Version(None)),
        (
            "of the same records prepared again",
            Lie::PublicOf(Other::Newer),
        ),
        ("of half of the records", Lie::PublicOf(Other::Half)),
        ("of another scheme", Lie::PublicOf(Other::Scheme)),
        (
            "of a scheme that is not private",
            Lie::PublicOf(Other::Plain),
        ),
    ];
    damaged
        .into_iter()
        .map(|(name, lie)| public(name, lie))
        .collect()
}

/// Other databases, offered with their own descriptions.
fn other_databases() -> Vec<Script> {
    let others = [
        ("the same records prepared again", Other::Newer),
        ("half of the records", Other::Half),
        ("one record", Other::One),
        ("another scheme", Other::Scheme),
        ("a scheme that is not private", Other::Plain),
    ];
    let mut scripts = Vec::new();
    for (name, other) in others {
        let swap = Lie::Swap(other);
        scripts.push(script(
            format!("from the start: {name}"),
            &[(Place::List, FIRST, swap.clone())],
        ));
        // The service refuses the query, since it is for the earlier version.
        scripts.push(script(
            format!("at the first query: {name}"),
            &[(Place::Query, FIRST, swap.clone())],
        ));
        scripts.push(script(
            format!("at the second query: {name}"),
            &[(Place::Query, SECOND, swap.clone())],
        ));
        let back = [
            (Place::Query, FIRST, swap),
            (Place::Query, SECOND, Lie::Swap(Other::Newer)),
        ];
        scripts.push(script(format!("for one query: {name}"), &back));
    }
    let each_time = [(Place::Query, ALL, Lie::Swap(Other::Newer))];
    scripts.push(script(
        "at every query: the same records prepared again",
        &each_time,
    ));
    scripts
}

/// Answers that are damaged, or to other queries.
fn answers() -> Vec<Script> {
    let damages = [
        ("a byte shorter", Lie::Shorter),
        ("a byte longer", Lie::Longer),
        ("twice", Lie::Twice),
        ("empty", Lie::Empty),
        ("zeros", Lie::Zeros),
        ("noise", Lie::Noise),
        ("another first bit", Lie::FirstBit),
        ("another last bit", Lie::LastBit),
        ("in another order", Lie::Swapped),
        ("of the query before", Lie::Replayed),
        ("late", Lie::Late(5)),
        ("cut", Lie::Cut),
        ("lost", Lie::Lost),
    ];
    let second = |(name, lie): &(&str, Lie)| {
        script(
            format!("second answers: {name}"),
            &[(Place::Query, SECOND, lie.clone())],
        )
    };
    let all = |(name, lie): &(&str, Lie)| {
        script(
            format!("all answers: {name}"),
            &[(Place::Query, ALL, lie.clone())],
        )
    };
    damages
        .iter()
        .map(second)
        .chain(damages[8..].iter().map(all))
        .collect()
}

/// Every refusal of a query: one after the other, and some of them for ever.
fn refusals() -> Vec<Script> {
    let one = |(number, &(status, code)): (usize, &(u16, &'static str))| {
        (Place::Query, number..number + 1, Lie::Refuse(status, code))
    };
    let each: Vec<_> = REFUSALS.iter().enumerate().map(one).collect();
    let always = |&(status, code): &(u16, &'static str)| {
        let name = format!("all queries refused: {status} {code}");
        script(name, &[(Place::Query, ALL, Lie::Refuse(status, code))])
    };
    let repeated = [
        (409, "wrong_version"),
        (410, "client_gone"),
        (410, "ticket_used"),
        (429, "busy"),
    ];
    let mut scripts = vec![script("queries refused with every code in turn", &each)];
    scripts.extend(repeated.iter().map(always));
    scripts
}

/// Lies that make the client wait.
fn waiting() -> Vec<Script> {
    let waits = |name: &str, when, lie| Script {
        waits: true,
        ..script(format!("waiting: {name}"), &[(Place::Query, when, lie)])
    };
    vec![
        waits("a busy server", FIRST, Lie::RefuseFor(429, "busy", 7)),
        waits(
            "a ticket for ever",
            ALL,
            Lie::RefuseFor(503, "no_ticket", 1_000_000),
        ),
        waits("a late answer", FIRST, Lie::Late(20)),
        waits("an answer after an hour", FIRST, Lie::Late(3600)),
    ]
}

/// Lies to a client that registers.
fn registering() -> Vec<Script> {
    let lies = [
        ("refused as too many", Lie::Refuse(429, "too_many")),
        ("refused as over the quota", Lie::Refuse(413, "over_quota")),
        (
            "refused for another version",
            Lie::Refuse(409, "wrong_version"),
        ),
        ("lost", Lie::Lost),
        ("noise", Lie::Noise),
        (
            "no tickets ahead",
            Lie::Json(|json| json["tickets_ahead"] = 0.into()),
        ),
        (
            "many tickets ahead",
            Lie::Json(|json| json["tickets_ahead"] = u64::MAX.into()),
        ),
    ];
    let new = |(name, lie): (&str, Lie)| Script {
        start: Start::New,
        ..script(
            format!("registering: {name}"),
            &[(Place::Register, FIRST, lie)],
        )
    };
    lies.into_iter().map(new).collect()
}

/// Lies to a client that is registered already.
fn resuming() -> Vec<Script> {
    let lies = [
        ("gone", Lie::Refuse(410, "client_gone")),
        ("refused", Lie::Refuse(403, "forbidden")),
        ("noise", Lie::Noise),
        (
            "a later ticket",
            Lie::Json(|json| json["next_ticket"] = 100.into()),
        ),
        (
            "no tickets ahead",
            Lie::Json(|json| json["tickets_ahead"] = 0.into()),
        ),
        (
            "an upload that never began",
            Lie::Json(|json| json["status"] = "uploading".into()),
        ),
    ];
    let resumed = |(name, lie): (&str, Lie)| Script {
        start: Start::Registered,
        ..script(format!("resuming: {name}"), &[(Place::Status, FIRST, lie)])
    };
    lies.into_iter().map(resumed).collect()
}

/// Lies to a client that uploads its keys in parts.
fn uploading() -> Vec<Script> {
    let lies = [
        ("refused as gone", Lie::Refuse(410, "client_gone")),
        (
            "refused for another offset",
            Lie::Refuse(409, "wrong_offset"),
        ),
        ("refused as too long", Lie::Refuse(413, "too_long")),
        ("lost", Lie::Lost),
        ("cut", Lie::Cut),
        ("noise", Lie::Noise),
        (
            "nothing received",
            Lie::Json(|json| json["uploaded_bytes"] = 0.into()),
        ),
        (
            "more received than sent",
            Lie::Json(|json| json["uploaded_bytes"] = u64::MAX.into()),
        ),
        (
            "never whole",
            Lie::Json(|json| json["status"] = "uploading".into()),
        ),
        (
            "whole too early",
            Lie::Json(|json| json["status"] = "registered".into()),
        ),
    ];
    let upload = |(name, lie): (&str, Lie)| Script {
        start: Start::New,
        ..script(format!("uploading: {name}"), &[(Place::Upload, FIRST, lie)])
    };
    let parts = |name: &str, change| Script {
        start: Start::New,
        ..script(
            name,
            &[
                (Place::Register, FIRST, Lie::Json(change)),
                (Place::Upload, SECOND, Lie::Lost),
            ],
        )
    };
    let short = parts("uploading: short parts, and the second lost", |json| {
        json["part_bytes"] = 40_000.into()
    });
    let empty = Script {
        start: Start::New,
        ..script(
            "uploading: empty parts",
            &[(
                Place::Register,
                FIRST,
                Lie::Json(|json| json["part_bytes"] = 0.into()),
            )],
        )
    };
    lies.into_iter().map(upload).chain([short, empty]).collect()
}

/// Lies about the checkpoint of a signed database.
fn signing() -> Vec<Script> {
    let signed = |name: &str, faults: &[_]| Script {
        signed: true,
        ..script(format!("signed: {name}"), faults)
    };
    let damages = [
        ("a byte shorter", Lie::Shorter),
        ("a byte longer", Lie::Longer),
        ("empty", Lie::Empty),
        ("noise", Lie::Noise),
        ("another bit", Lie::LastBit),
        ("cut", Lie::Cut),
        ("lost", Lie::Lost),
        ("refused", Lie::Refuse(404, "no_checkpoint")),
        ("of another version", Lie::Version(Some("0123456789abcdef"))),
    ];
    let damaged = |(name, lie): (&str, Lie)| {
        signed(
            &format!("the first checkpoint {name}"),
            &[(Place::Checkpoint, FIRST, lie)],
        )
    };
    let described = |name: &str, change| signed(name, &[(Place::Info, FIRST, Lie::Json(change))]);
    // The service refuses the query, so that the client fetches the checkpoint again.
    let again = |name: &str, shown, swap: Option<Other>| {
        let refuse = Lie::Refuse(409, "wrong_version");
        let first = [Some(Lie::Show(shown)), swap.map(Lie::Swap), Some(refuse)];
        let faults: Vec<_> = first
            .into_iter()
            .flatten()
            .map(|lie| (Place::Query, FIRST, lie))
            .collect();
        signed(&format!("at the first query: {name}"), &faults)
    };
    let mut scripts: Vec<_> = damages.into_iter().map(damaged).collect();
    scripts.extend([
        described("no lie", |_| ()),
        described("described as another sequence", |json| {
            json["checkpoint"]["sequence"] = 9.into()
        }),
        described("described as not signed", |json| {
            json["checkpoint"] = serde_json::Value::Null
        }),
        signed(
            "of another owner from the start",
            &[(Place::List, FIRST, Lie::Show(Shown::Stranger))],
        ),
        again("the same checkpoint", Shown::Current, None),
        again("another owner", Shown::Stranger, None),
        again("not signed any more", Shown::Unsigned, None),
        again(
            "another database under the same checkpoint",
            Shown::Current,
            Some(Other::Newer),
        ),
        again(
            "two versions of one sequence",
            Shown::Forked(Other::Newer),
            Some(Other::Newer),
        ),
        again(
            "the next version",
            Shown::Next(Other::Newer),
            Some(Other::Newer),
        ),
        again(
            "half of the records",
            Shown::Next(Other::Half),
            Some(Other::Half),
        ),
        again(
            "another scheme",
            Shown::Next(Other::Scheme),
            Some(Other::Scheme),
        ),
        again(
            "a scheme that is not private",
            Shown::Next(Other::Plain),
            Some(Other::Plain),
        ),
        Script {
            waits: true,
            ..again("an older version", Shown::Older, None)
        },
    ]);
    scripts
}

/// Lies about the tickets of a client that is registered.
fn tickets() -> Vec<Script> {
    let never = || Lie::Json(|json| json["tickets_ready"] = 0.into());
    let always = || Lie::Json(|json| json["tickets_ready"] = u64::MAX.into());
    let later = || Lie::Json(|json| json["next_ticket"] = u64::MAX.into());
    let earlier = || Lie::Json(|json| json["next_ticket"] = 0.into());
    // The last one ends the looks: the client believes that its tickets are ready.
    let turns = [never(), earlier(), later(), never(), always()]
        .into_iter()
        .enumerate();
    let turns: Vec<_> = turns
        .map(|(number, lie)| (Place::Status, number..number + 1, lie))
        .collect();
    let told = |name: &str, faults: &[(Place, Range<usize>, Lie)]| Script {
        start: Start::Registered,
        waits: true,
        ..script(format!("tickets: {name}"), faults)
    };
    let all = |name, lie| told(name, &[(Place::Status, ALL, lie)]);
    vec![
        all("never ready", never()),
        Script {
            waits: false,
            ..all("more ready than there are", always())
        },
        Script {
            waits: false,
            ..all("later numbers than the client has", later())
        },
        all("earlier numbers than the client has", earlier()),
        all(
            "another version each time",
            Lie::Refuse(409, "wrong_version"),
        ),
        all("gone each time", Lie::Refuse(410, "client_gone")),
        told("one after the other", &turns),
    ]
}

/// Lies to a client that keeps copies of public parts.
fn copies() -> Vec<Script> {
    let with = |copy, name: &str, when, lie| Script {
        copy,
        ..script(
            format!("copy {copy:?}: {name}"),
            &[(Place::Public, when, lie)],
        )
    };
    let mut scripts: Vec<_> = [
        Copied::Current,
        Copied::Stale,
        Copied::Damaged,
        Copied::Forged,
    ]
    .into_iter()
    .map(|copy| with(copy, "no lie", FIRST, Lie::Late(0)))
    .collect();
    scripts.extend([
        with(
            Copied::Nothing,
            "confirmed although there is none",
            FIRST,
            Lie::Unchanged,
        ),
        with(
            Copied::Stale,
            "confirmed although it was not offered",
            ALL,
            Lie::Unchanged,
        ),
        with(
            Copied::Current,
            "confirmed for another version",
            ALL,
            Lie::Version(Some("0123456789abcdef")),
        ),
        with(
            Copied::Current,
            "confirmed for no version",
            ALL,
            Lie::Version(None),
        ),
        with(
            Copied::Current,
            "confirmed under another tag",
            FIRST,
            Lie::Tag("\"0123456789abcdef\""),
        ),
    ]);
    let swap = [(Place::Query, FIRST, Lie::Swap(Other::Newer))];
    scripts.push(Script {
        copy: Copied::Current,
        ..script("copy: replaced at the first query", &swap)
    });
    scripts
}
