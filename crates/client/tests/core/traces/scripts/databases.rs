//! Lies about databases: descriptions, public parts, checkpoints and copies.

use std::ops::Range;

use super::{ALL, Copied, FIRST, SECOND, Script, script};
use crate::traces::liar::{Endpoint, Lie};
use crate::traces::signed::Shown;
use crate::traces::world::Other;

/// Returns lies about the list of databases and the description.
pub(super) fn opening() -> Vec<Script> {
    let list = |name: &str, lie| script(format!("list: {name}"), &[(Endpoint::List, FIRST, lie)]);
    let info = |name: &str, lie| {
        script(
            format!("description: {name}"),
            &[(Endpoint::Info, ALL, lie)],
        )
    };
    vec![
        script("no lie", &[(Endpoint::List, FIRST, Lie::Late(0))]),
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

/// Returns the description of a delta.
fn delta() -> serde_json::Value {
    serde_json::json!({
        "version": "0123456789abcdef", "scheme": "simple", "entries": 1, "records": null, "public": 300,
        "query": 100, "answer": 100, "queries_per_lookup": 1,
    })
}

/// Returns lies with public parts that are damaged, or that belong to another database than the
/// description.
pub(super) fn public_parts() -> Vec<Script> {
    let public = |name: &str, lie| {
        script(
            format!("public part: {name}"),
            &[(Endpoint::Public, ALL, lie)],
        )
    };
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

/// Returns lies with other databases, offered with their own descriptions.
pub(super) fn other_databases() -> Vec<Script> {
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
            &[(Endpoint::List, FIRST, swap.clone())],
        ));
        // The service refuses the query, since it is for the earlier version.
        scripts.push(script(
            format!("at the first query: {name}"),
            &[(Endpoint::Query, FIRST, swap.clone())],
        ));
        scripts.push(script(
            format!("at the second query: {name}"),
            &[(Endpoint::Query, SECOND, swap.clone())],
        ));
        let back = [
            (Endpoint::Query, FIRST, swap),
            (Endpoint::Query, SECOND, Lie::Swap(Other::Newer)),
        ];
        scripts.push(script(format!("for one query: {name}"), &back));
    }
    let each_time = [(Endpoint::Query, ALL, Lie::Swap(Other::Newer))];
    scripts.push(script(
        "at every query: the same records prepared again",
        &each_time,
    ));
    scripts
}

/// A script about a signed database.
fn signed(name: &str, faults: &[(Endpoint, Range<usize>, Lie)]) -> Script {
    Script {
        signed: true,
        ..script(format!("signed: {name}"), faults)
    }
}

/// Returns lies about the checkpoint of a signed database.
pub(super) fn signing() -> Vec<Script> {
    let mut scripts = first_checkpoints();
    scripts.extend(described_checkpoints());
    scripts.extend(changed_checkpoints());
    scripts
}

/// Returns damages of the checkpoint that the client fetches first.
fn first_checkpoints() -> Vec<Script> {
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
            &[(Endpoint::Checkpoint, FIRST, lie)],
        )
    };
    damages.into_iter().map(damaged).collect()
}

/// Returns lies about the checkpoint in the database's description, and another owner's.
fn described_checkpoints() -> [Script; 4] {
    let described =
        |name: &str, change| signed(name, &[(Endpoint::Info, FIRST, Lie::Json(change))]);
    [
        described("no lie", |_| ()),
        described("described as another sequence", |json| {
            json["checkpoint"]["sequence"] = 9.into()
        }),
        described("described as not signed", |json| {
            json["checkpoint"] = serde_json::Value::Null
        }),
        signed(
            "of another owner from the start",
            &[(Endpoint::List, FIRST, Lie::Show(Shown::Stranger))],
        ),
    ]
}

/// Returns lies at the first query: the service refuses it, so that the client fetches the
/// checkpoint again.
fn changed_checkpoints() -> Vec<Script> {
    let again = |name: &str, shown, swap: Option<Other>| {
        let refuse = Lie::Refuse(409, "wrong_version");
        let first = [Some(Lie::Show(shown)), swap.map(Lie::Swap), Some(refuse)];
        let faults: Vec<_> = first
            .into_iter()
            .flatten()
            .map(|lie| (Endpoint::Query, FIRST, lie))
            .collect();
        signed(&format!("at the first query: {name}"), &faults)
    };
    let next = |name: &str, other| again(name, Shown::Next(other), Some(other));

    vec![
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
        next("the next version", Other::Newer),
        next("half of the records", Other::Half),
        next("another scheme", Other::Scheme),
        next("a scheme that is not private", Other::Plain),
        Script {
            waits: true,
            ..again("an older version", Shown::Older, None)
        },
    ]
}

/// Returns lies to a client that keeps copies of public parts.
pub(super) fn copies() -> Vec<Script> {
    let with = |copy, name: &str, when, lie| Script {
        copy,
        ..script(
            format!("copy {copy:?}: {name}"),
            &[(Endpoint::Public, when, lie)],
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
    let swap = [(Endpoint::Query, FIRST, Lie::Swap(Other::Newer))];
    scripts.push(Script {
        copy: Copied::Current,
        ..script("copy: replaced at the first query", &swap)
    });
    scripts
}
