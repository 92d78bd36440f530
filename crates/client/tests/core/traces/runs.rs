//! Lookups under a script, and what the server sees of them.

use std::fmt::Debug;

use papir_client::core::{Method, Session, Task};

use super::liar::Liar;
use super::scripts::{Script, Start};
use super::world::{Side, Want, World};
use crate::peer::{Call, Event, Offer, Peer};

/// Calls that every script has.
const CALLS: usize = 3;
/// Most calls besides those that every script has.
const MORE_CALLS: usize = 40;

/// A request as the server sees it, or another event between requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    Request {
        method: Method,
        path: String,
        headers: Vec<(String, String)>,
        bytes: usize,
        /// The whole body, under a scheme that does not hide the index.
        read: Option<Vec<u8>>,
    },
    Other(Event),
}

/// The server's observations of all lookups, and their outcomes.
#[derive(Debug)]
pub struct Observed {
    pub seen: Vec<Seen>,
    pub outcomes: Vec<String>,
    /// Number of faults played.
    pub played: usize,
}

/// Plays a script for every lookup of a database.
pub fn compare(world: &World, side: &Side, script: &Script) {
    if script.start != Start::Any && side.registered.is_none() {
        return;
    }
    let first = observe(world, side, script, &side.wanted[0]);
    assert!(first.played > 0, "{}: no fault was played", script.name);
    println!("{}: {}", script.name, first.outcomes.join(", "));
    for want in &side.wanted[1..] {
        let other = observe(world, side, script, want);
        assert_same(&first.seen, &other.seen, &format!("{}: {want:?}", script.name));
    }
}

pub fn assert_same<S: PartialEq + Debug>(first: &[S], other: &[S], context: &str) {
    for (position, (a, b)) in first.iter().zip(other).enumerate() {
        assert_eq!(a, b, "{context}: step {position}");
    }
    assert_eq!(first.len(), other.len(), "{context}: {:?} or {:?}", first.last(), other.last());
}

/// The calls of every script: one lookup, two, one.
pub fn calls<'a>(side: &'a Side, want: &'a Want) -> [Vec<&'a Want>; CALLS] {
    [vec![want], vec![want, &side.wanted[0]], vec![want]]
}

/// The calls of every script, and more until all faults were played. Errors do not stop the caller.
fn observe(world: &World, side: &Side, script: &Script, want: &Want) -> Observed {
    let mut peer = side.peer(script.start != Start::New);
    let mut liar = Liar::new(side, &script.faults);
    let mut seen = Vec::new();
    let opened = Session::open(peer.service().unwrap(), world.settings.clone());
    let mut outcomes = Vec::new();
    match run(&mut peer, &mut liar, &mut seen, opened) {
        Ok(mut session) => {
            let more = std::iter::repeat_n(vec![want], MORE_CALLS);
            for (number, call) in calls(side, want).into_iter().chain(more).enumerate() {
                if number >= CALLS && liar.played >= script.faults.len() {
                    break;
                }
                let wanted: Vec<_> = call.iter().map(|want| want.wanted()).collect();
                let found = run(&mut peer, &mut liar, &mut seen, session.get(&wanted));
                outcomes.push(found.map_or_else(|error| error.code().to_owned(), |_| "ok".to_owned()));
            }
        }
        Err(error) => outcomes.push(error.code().to_owned()),
    }
    Observed { seen, outcomes, played: liar.played }
}

/// Runs a task against the liar, and adds what the server sees.
fn run<T>(peer: &mut Peer, liar: &mut Liar<'_>, seen: &mut Vec<Seen>, task: Task<'_, T>) -> T {
    let output = peer.run_through(task, &mut |peer, call| {
        // Before the response: it may be of another version.
        seen.extend(peer.take().into_iter().map(|event| see(event, peer)));
        liar.deliver(peer, call)
    });
    seen.extend(peer.take().into_iter().map(|event| see(event, peer)));
    output
}

fn see(event: Event, peer: &Peer) -> Seen {
    match event {
        Event::Sent(call) => {
            let is_plain = |offer: &Offer| offer.server.describe().scheme == "plain";
            let clear = peer.version_of(&call).is_some_and(is_plain);
            let Call { method, path, headers, body } = call;
            Seen::Request { method, path, headers, bytes: body.len(), read: clear.then_some(body) }
        }
        other => Seen::Other(other),
    }
}
