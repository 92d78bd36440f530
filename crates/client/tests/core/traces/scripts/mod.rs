//! Scripts of the lying server.

mod clients;
mod databases;
mod queries;
mod variants;

use std::ops::Range;

use papir_client::core::{KnownVersion, Patches, Settings};

use super::liar::{Endpoint, Fault, Lie};
use super::signed::Shown;
use super::world::{Other, Side, Want, World};
use crate::peer::{Offer, Peer};

use clients::{registering, resuming, tickets, uploading};
use databases::{copies, opening, other_databases, public_parts, signing};
use queries::{answers, refusals, waiting};
use variants::{known_versions, patches, short_messages};

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
    /// The way in which client and service exchange messages.
    pub variant: Variant,
}

impl Script {
    /// Returns true if the scheme has the feature about which the script lies.
    pub fn applies_to(&self, side: &Side) -> bool {
        let uploads = self
            .faults
            .iter()
            .any(|fault| fault.endpoint == Endpoint::Upload);
        // Checkpoints come before lookups, so that one kind of lookup is enough.
        let by_key = matches!(side.wanted[0], Want::Key(_));
        (self.start == Start::Any || side.registered.is_some())
            && (!uploads || side.uploads())
            && !(self.signed && by_key)
            && (self.copy == Copied::Nothing || side.keeps_copies())
            && self.variant.applies_to(side)
    }

    /// The settings of the client.
    pub fn settings(&self, world: &World) -> Settings {
        let mut settings = world.settings.clone();
        match self.variant {
            Variant::Usual | Variant::Short => {}
            Variant::Known => settings.known = KnownVersion::Use,
            Variant::Patched => settings.patches = Patches::Always,
        }
        settings
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
        peer.allows_short = self.variant == Variant::Short;
        peer
    }
}

/// The way in which client and service exchange messages in a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// Queries have envelopes, sessions ask for the newest version, and public parts are fetched as
    /// a whole.
    Usual,
    /// Registered clients send short messages.
    Short,
    /// Sessions begin with the version that an earlier one has kept.
    Known,
    /// Copies of public parts are brought up to date by blocks.
    Patched,
}

impl Variant {
    /// Returns true if the scheme has the messages of this variant.
    fn applies_to(self, side: &Side) -> bool {
        match self {
            Self::Usual | Self::Known => true,
            Self::Short => side.takes_short(),
            Self::Patched => side.keeps_copies(),
        }
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
    /// The name of another version, and the true public part with another bit: all of its blocks
    /// but one are the true ones.
    Renamed,
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
            Self::Renamed => {
                let mut renamed = named(&side.other(Other::Newer), &side.offer);
                *renamed.last_mut().unwrap() ^= 1;
                Some(renamed)
            }
        }
    }
}

/// The first response, the second one, all of them.
const FIRST: Range<usize> = 0..1;
const SECOND: Range<usize> = 1..2;
const ALL: Range<usize> = 0..usize::MAX;

/// Returns every script.
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
        short_messages(),
        known_versions(),
        patches(),
    ]
    .concat()
}

fn script(name: impl Into<String>, faults: &[(Endpoint, Range<usize>, Lie)]) -> Script {
    let fault = |(endpoint, when, lie): &(Endpoint, Range<usize>, Lie)| Fault {
        endpoint: *endpoint,
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
        variant: Variant::Usual,
    }
}
