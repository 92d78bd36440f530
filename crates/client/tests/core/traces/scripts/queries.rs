//! Lies in response to queries.

use super::{ALL, FIRST, SECOND, Script, script};
use crate::traces::liar::{Endpoint, Lie};

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

/// Returns lies with answers that are damaged, or that answer other queries.
pub(super) fn answers() -> Vec<Script> {
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
            &[(Endpoint::Query, SECOND, lie.clone())],
        )
    };
    let all = |(name, lie): &(&str, Lie)| {
        script(
            format!("all answers: {name}"),
            &[(Endpoint::Query, ALL, lie.clone())],
        )
    };
    damages
        .iter()
        .map(second)
        .chain(damages[8..].iter().map(all))
        .collect()
}

/// Returns every refusal of a query: one after the other, and some of them for ever.
pub(super) fn refusals() -> Vec<Script> {
    let one = |(number, &(status, code)): (usize, &(u16, &'static str))| {
        (
            Endpoint::Query,
            number..number + 1,
            Lie::Refuse(status, code),
        )
    };
    let each: Vec<_> = REFUSALS.iter().enumerate().map(one).collect();
    let always = |&(status, code): &(u16, &'static str)| {
        let name = format!("all queries refused: {status} {code}");
        script(name, &[(Endpoint::Query, ALL, Lie::Refuse(status, code))])
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

/// Returns lies that make the client wait.
pub(super) fn waiting() -> Vec<Script> {
    let waits = |name: &str, when, lie| Script {
        waits: true,
        ..script(format!("waiting: {name}"), &[(Endpoint::Query, when, lie)])
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
