//! Lookups under a script, and the server's view of them.

use std::fmt::Debug;

use papir_client::Error;
use papir_client::core::{Method, Session, Settings, Task};
use papir_protocol::media;

use super::liar::Liar;
use super::scripts::{Script, Start, Variant};
use super::world::{Side, Want, World};
use crate::peer::{Call, Event, Offer, Peer};

/// Largest number of attempts to open a session.
pub const OPENINGS: usize = 2;
/// Number of calls that every script has.
const CALLS: usize = 3;
/// Largest number of further calls of a script.
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
    if !script.applies_to(side) {
        return;
    }
    let first = observe(world, side, script, &side.wanted[0]);
    assert!(first.played > 0, "{}: no fault was played", script.name);
    assert_varied(script, &first.seen);
    println!("{}: {}", script.name, first.outcomes.join(", "));
    for want in &side.wanted[1..] {
        let other = observe(world, side, script, want);
        assert_same(
            &first.seen,
            &other.seen,
            &format!("{}: {want:?}", script.name),
        );
    }
}

/// Checks that the requests are those of the script's variant.
fn assert_varied(script: &Script, seen: &[Seen]) {
    let any = |is_of: fn(&str, &str) -> bool| {
        seen.iter().any(|seen| match seen {
            Seen::Request { path, headers, .. } => {
                let content = headers.iter().find(|(name, _)| name == "content-type");
                is_of(path, content.map_or("", |(_, value)| value.as_str()))
            }
            Seen::Other(_) => false,
        })
    };

    let is_varied = match script.variant {
        Variant::Usual => !any(|_, content| content == media::SHORT),
        Variant::Short => any(|_, content| content == media::SHORT),
        // The list of databases is what every other session begins with.
        Variant::Known => !any(|path, _| path == "/v1/databases"),
        Variant::Patched => any(|path, _| path.ends_with("/hashes")),
    };
    assert!(is_varied, "{}: {seen:?}", script.name);
}

pub fn assert_same<S: PartialEq + Debug>(first: &[S], other: &[S], context: &str) {
    for (position, (a, b)) in first.iter().zip(other).enumerate() {
        assert_eq!(a, b, "{context}: step {position}");
    }
    assert_eq!(
        first.len(),
        other.len(),
        "{context}: {:?} or {:?}",
        first.last(),
        other.last()
    );
}

/// Returns the calls of every script: one lookup, then two, then one.
pub fn calls<'a>(side: &'a Side, want: &'a Want) -> [Vec<&'a Want>; CALLS] {
    [vec![want], vec![want, &side.wanted[0]], vec![want]]
}

/// Makes the calls of every script, and more until all faults were played. Errors do not stop the
/// caller.
fn observe(world: &World, side: &Side, script: &Script, want: &Want) -> Observed {
    let settings = script.settings(world);
    let mut peer = script.peer(side, script.start != Start::New);
    if script.variant == Variant::Known {
        keep_version(&mut peer, &settings);
    }

    let mut liar = Liar::new(side, &script.faults);
    let mut observed = Observed {
        seen: Vec::new(),
        outcomes: Vec::new(),
        played: 0,
    };
    if let Some(mut session) = observed.open(&settings, &mut peer, &mut liar) {
        let more = std::iter::repeat_n(vec![want], MORE_CALLS);
        for (number, call) in calls(side, want).into_iter().chain(more).enumerate() {
            if number >= CALLS && liar.played >= script.faults.len() {
                break;
            }
            let wanted: Vec<_> = call.iter().map(|want| want.wanted()).collect();
            observed.run(&mut peer, &mut liar, session.get(&wanted));
        }
    }
    observed.played = liar.played;
    observed
}

/// Opens a session that keeps the version, before the server lies.
fn keep_version(peer: &mut Peer, settings: &Settings) {
    let service = peer.service().unwrap();
    peer.run(Session::open_known(service, settings.clone()))
        .unwrap();
    assert!(peer.version.is_some(), "no version is kept");
    peer.take();
}

impl Observed {
    /// Opens a session, again after an error: the client may resume what was interrupted.
    fn open(
        &mut self,
        settings: &Settings,
        peer: &mut Peer,
        liar: &mut Liar<'_>,
    ) -> Option<Session> {
        (0..OPENINGS).find_map(|_| {
            let service = peer.service().unwrap();
            self.run(peer, liar, Session::open_known(service, settings.clone()))
        })
    }

    /// Runs a task against the liar, and adds what the server sees and the outcome.
    fn run<T>(
        &mut self,
        peer: &mut Peer,
        liar: &mut Liar<'_>,
        task: Task<'_, Result<T, Error>>,
    ) -> Option<T> {
        let output = peer.run_through(task, &mut |peer, call| {
            // Before the response: it may be of another version.
            self.seen
                .extend(peer.take().into_iter().map(|event| see(event, peer)));
            liar.deliver(peer, call)
        });
        self.seen
            .extend(peer.take().into_iter().map(|event| see(event, peer)));
        self.outcomes.push(
            output
                .as_ref()
                .map_or_else(|error| error.code().to_owned(), |_| "ok".to_owned()),
        );
        output.ok()
    }
}

fn see(event: Event, peer: &Peer) -> Seen {
    match event {
        Event::Sent(call) => {
            let is_plain = |offer: &Offer| offer.server.describe().scheme == "plain";
            let clear = peer.version_of(&call).is_some_and(is_plain);
            let Call {
                method,
                path,
                headers,
                body,
            } = call;
            Seen::Request {
                method,
                path,
                headers,
                bytes: body.len(),
                read: clear.then_some(body),
            }
        }
        other => Seen::Other(other),
    }
}
