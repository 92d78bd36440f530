//! A server that lies: it passes requests on to the service, and changes what the script says.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use papir_client::core::{Failure, Method, Response};
use papir_protocol::header;
use rand_core::Rng;

use super::signed::Shown;
use super::world::{Other, Side};
use crate::peer::{Call, Peer, refusal, rng};

/// The endpoint of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Endpoint {
    List,
    Info,
    Checkpoint,
    Public,
    Hashes,
    Blocks,
    Query,
    Register,
    Upload,
    Status,
    Removal,
}

impl Endpoint {
    fn of(call: &Call) -> Self {
        let segments: Vec<&str> = call.route().split('/').skip(1).collect();
        match (call.method, segments.as_slice()) {
            (Method::Get, []) => Self::List,
            (Method::Get, ["table"]) => Self::Info,
            (Method::Get, ["table", "checkpoint", "proof"]) => Self::Checkpoint,
            (Method::Get, ["table", "public"]) => Self::Public,
            (Method::Get, ["table", "public", _, "hashes"]) => Self::Hashes,
            (Method::Get, ["table", "public", _, "blocks", _]) => Self::Blocks,
            (Method::Post, ["table", "query"]) => Self::Query,
            (Method::Post, ["table", "clients"]) => Self::Register,
            (Method::Patch, ["table", "clients", _, "keys"]) => Self::Upload,
            (Method::Get, ["table", "clients", _]) => Self::Status,
            (Method::Delete, ["table", "clients", _]) => Self::Removal,
            other => panic!("{other:?}"),
        }
    }
}

/// A lie about one response.
#[derive(Clone, Debug)]
pub enum Lie {
    /// A refusal with this status and code.
    Refuse(u16, &'static str),
    /// A refusal that advises to wait this many seconds.
    RefuseFor(u16, &'static str, u64),
    /// A redirection to another address.
    Redirect,
    /// No response: the connection breaks.
    Lost,
    /// A body that breaks off.
    Cut,
    /// A body without its last byte, with one more, of twice the length, or empty.
    Shorter,
    Longer,
    Twice,
    Empty,
    /// A body of zeros, of random bytes, with another first or last bit.
    Zeros,
    Noise,
    FirstBit,
    LastBit,
    /// The two halves of the body in the other order: the answers to two queries.
    Swapped,
    /// Body of the previous response to a request of the same kind.
    Replayed,
    /// Other JSON.
    Json(fn(&mut serde_json::Value)),
    /// Another version in the header, or none.
    Version(Option<&'static str>),
    /// Another `ETag`.
    Tag(&'static str),
    /// Status 304 in place of the body.
    Unchanged,
    /// From now on, another database.
    Swap(Other),
    /// From now on, this checkpoint.
    Show(Shown),
    /// The public part of another database, described as this one.
    PublicOf(Other),
    /// A response after this many seconds.
    Late(u64),
}

/// A lie about the responses of one kind whose numbers, from 0, are in a range.
#[derive(Clone, Debug)]
pub struct Fault {
    pub endpoint: Endpoint,
    pub when: Range<usize>,
    pub lie: Lie,
}

/// Plays a script.
pub struct Liar<'a> {
    side: &'a Side,
    faults: &'a [Fault],
    counts: BTreeMap<Endpoint, usize>,
    previous: BTreeMap<Endpoint, Vec<u8>>,
    /// Number of faults played.
    pub played: usize,
}

impl<'a> Liar<'a> {
    pub fn new(side: &'a Side, faults: &'a [Fault]) -> Self {
        Self {
            side,
            faults,
            counts: BTreeMap::new(),
            previous: BTreeMap::new(),
            played: 0,
        }
    }

    /// The response to a request.
    pub fn deliver(&mut self, peer: &mut Peer, call: &Call) -> Result<Response, Failure> {
        let endpoint = Endpoint::of(call);
        let count = self.counts.entry(endpoint).or_default();
        let number = std::mem::replace(count, *count + 1);
        let due = |fault: &&Fault| fault.endpoint == endpoint && fault.when.contains(&number);
        let lies: Vec<&Lie> = self
            .faults
            .iter()
            .filter(due)
            .map(|fault| &fault.lie)
            .collect();
        self.played += lies.len();
        for lie in &lies {
            if let Some(response) = self.before(lie, peer) {
                return response;
            }
        }
        let mut response = peer.receive(call)?;
        let honest = response.body.as_ref().unwrap().clone();
        for lie in lies {
            self.after(lie, endpoint, &mut response);
        }
        self.previous.insert(endpoint, honest);
        Ok(response)
    }

    /// Plays a lie that does not need the honest response. Returns a response to send in its place.
    fn before(&self, lie: &Lie, peer: &mut Peer) -> Option<Result<Response, Failure>> {
        match lie {
            Lie::Refuse(status, code) => Some(Ok(refusal(*status, code))),
            Lie::RefuseFor(status, code, seconds) => {
                let mut response = refusal(*status, code);
                response
                    .headers
                    .push((header::RETRY_AFTER.to_owned(), seconds.to_string()));
                Some(Ok(response))
            }
            Lie::Redirect => {
                let location = ("location".to_owned(), "http://127.0.0.1:1/".to_owned());
                Some(Ok(Response {
                    status: 302,
                    headers: vec![location],
                    body: Ok(Vec::new()),
                }))
            }
            Lie::Lost => Some(Err("lost".into())),
            Lie::Late(seconds) => {
                peer.platform.advance(Duration::from_secs(*seconds));
                None
            }
            Lie::Swap(other) => {
                peer.versions.push(self.side.other(*other));
                None
            }
            Lie::Show(shown) => {
                peer.log = shown.log(self.side);
                None
            }
            _ => None,
        }
    }

    /// Changes an honest response.
    fn after(&self, lie: &Lie, endpoint: Endpoint, response: &mut Response) {
        let body = response.body.as_mut().unwrap();
        match lie {
            Lie::Cut => response.body = Err("cut".into()),
            Lie::Shorter => drop(body.pop()),
            Lie::Longer => body.push(0),
            Lie::Twice => body.extend_from_within(..),
            Lie::Empty => body.clear(),
            Lie::Zeros => body.fill(0),
            Lie::Noise => rng(77).fill_bytes(body),
            Lie::FirstBit => body.iter_mut().take(1).for_each(|byte| *byte ^= 1),
            Lie::LastBit => body
                .iter_mut()
                .next_back()
                .into_iter()
                .for_each(|byte| *byte ^= 1),
            Lie::Swapped => {
                let half = body.len() / 2;
                body.rotate_left(half);
            }
            Lie::Replayed => {
                if let Some(previous) = self.previous.get(&endpoint) {
                    body.clone_from(previous);
                }
            }
            // A refusal's body is left as it is.
            Lie::Json(change) if (200..300).contains(&response.status) => {
                let mut value = serde_json::from_slice(body).unwrap();
                change(&mut value);
                *body = serde_json::to_vec(&value).unwrap();
            }
            Lie::Version(version) => {
                response.headers.retain(|(name, _)| name != header::VERSION);
                let header = |version: &str| (header::VERSION.to_owned(), version.to_owned());
                response.headers.extend(version.map(header));
            }
            Lie::Tag(tag) => {
                response.headers.retain(|(name, _)| name != "etag");
                response
                    .headers
                    .push(("etag".to_owned(), (*tag).to_owned()));
            }
            Lie::Unchanged => {
                response.status = 304;
                body.clear();
            }
            Lie::PublicOf(other) => *body = self.side.other(*other).bundle.to_vec(),
            _ => {}
        }
    }
}
