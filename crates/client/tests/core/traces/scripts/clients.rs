//! Lies to registered clients: keys, uploads and tickets.

use std::ops::Range;

use super::{ALL, FIRST, SECOND, Script, Start, script};
use crate::traces::liar::{Endpoint, Lie};

/// Returns lies to a client that registers.
pub(super) fn registering() -> Vec<Script> {
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
            &[(Endpoint::Register, FIRST, lie)],
        )
    };
    lies.into_iter().map(new).collect()
}

/// Returns lies to a client that is registered already.
pub(super) fn resuming() -> Vec<Script> {
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
        ..script(
            format!("resuming: {name}"),
            &[(Endpoint::Status, FIRST, lie)],
        )
    };
    lies.into_iter().map(resumed).collect()
}

/// Returns lies to a client that uploads its keys in parts.
pub(super) fn uploading() -> Vec<Script> {
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
        ..script(
            format!("uploading: {name}"),
            &[(Endpoint::Upload, FIRST, lie)],
        )
    };
    let parts = |name: &str, change| Script {
        start: Start::New,
        ..script(
            name,
            &[
                (Endpoint::Register, FIRST, Lie::Json(change)),
                (Endpoint::Upload, SECOND, Lie::Lost),
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
                Endpoint::Register,
                FIRST,
                Lie::Json(|json| json["part_bytes"] = 0.into()),
            )],
        )
    };
    lies.into_iter().map(upload).chain([short, empty]).collect()
}

/// Returns lies about the tickets of a client that is registered.
pub(super) fn tickets() -> Vec<Script> {
    let never = || Lie::Json(|json| json["tickets_ready"] = 0.into());
    let always = || Lie::Json(|json| json["tickets_ready"] = u64::MAX.into());
    let later = || Lie::Json(|json| json["next_ticket"] = u64::MAX.into());
    let earlier = || Lie::Json(|json| json["next_ticket"] = 0.into());
    // The last one ends the looks: the client believes that its tickets are ready.
    let turns = [never(), earlier(), later(), never(), always()]
        .into_iter()
        .enumerate();
    let turns: Vec<_> = turns
        .map(|(number, lie)| (Endpoint::Status, number..number + 1, lie))
        .collect();
    let told = |name: &str, faults: &[(Endpoint, Range<usize>, Lie)]| Script {
        start: Start::Registered,
        waits: true,
        ..script(format!("tickets: {name}"), faults)
    };
    let all = |name, lie| told(name, &[(Endpoint::Status, ALL, lie)]);
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
