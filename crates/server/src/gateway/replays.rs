//! Sealed requests that have arrived before.
//!
//! A request is remembered for ten to twelve minutes, whatever arrives after it: without room for
//! one more, a request is refused, and no other is forgotten for it. So no flood makes a copy of an
//! earlier request pass.
//!
//! Clients, which are tokens or else relays, share the room: each may have as much as is free. Of
//! `k` clients that flood, each has one part in `k + 1`, and as much is left for all others. One
//! client alone may send 2²⁰ requests in twelve minutes, 1,456 a second.

use std::collections::{HashSet, VecDeque};
use std::mem;
use std::time::{Duration, Instant};

use crate::admission::ClientKey;
use crate::shares::Shares;

/// Shortest time for which a request is remembered.
const REMEMBERED: Duration = Duration::from_secs(600);
/// Time in which the requests of one generation arrive. They are forgotten together, so that no
/// request needs a time of its own.
const GENERATION: Duration = Duration::from_secs(120);
/// Most remembered requests: at most about 40 MiB.
const MOST: usize = 1 << 21;
/// Bytes of a fingerprint that are remembered. A fingerprint is a digest of a random key, so that
/// one of 2⁴³ requests is taken for a copy. A client that finds two requests with one mark causes
/// refusals of its own requests only.
const MARK_BYTES: usize = 8;

type Mark = [u8; MARK_BYTES];

/// The requests of the last ten minutes, and the clients that they count for.
pub(super) struct Replays {
    /// The complete generations, the oldest first.
    former: VecDeque<ReplayGeneration>,
    current: ReplayGeneration,
    most: usize,
}

/// The requests of some time.
struct ReplayGeneration {
    began: Instant,
    marks: HashSet<Mark>,
    clients: Shares<ClientKey>,
}

/// A request among those that are remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    /// It is remembered from now on.
    New,
    /// It has arrived before.
    Copy,
    /// Its client has no room. It is not remembered, and must have no effect.
    Full {
        /// The time until some requests are forgotten.
        after: Duration,
    },
}

impl ReplayGeneration {
    fn new(began: Instant) -> Self {
        Self {
            began,
            marks: HashSet::new(),
            clients: Shares::default(),
        }
    }

    /// The time from which all its requests may be forgotten.
    fn end(&self) -> Instant {
        self.began + GENERATION + REMEMBERED
    }
}

impl Replays {
    pub(super) fn new() -> Self {
        Self::with_most(MOST, Instant::now())
    }

    fn with_most(most: usize, now: Instant) -> Self {
        Self {
            former: VecDeque::new(),
            current: ReplayGeneration::new(now),
            most,
        }
    }

    /// Remembers a request of a client, unless it is a copy or there is no room for it.
    pub(super) fn admit(
        &mut self,
        fingerprint: &[u8; 32],
        client: &ClientKey,
        now: Instant,
    ) -> Arrival {
        self.advance(now);

        let mut mark = [0; MARK_BYTES];
        mark.copy_from_slice(&fingerprint[..MARK_BYTES]);
        if self.generations().any(|one| one.marks.contains(&mark)) {
            return Arrival::Copy;
        }
        if !self.has_room(client) {
            let after = self.until_room(now);
            return Arrival::Full { after };
        }

        self.current.marks.insert(mark);
        self.current.clients.take(client, 1);
        Arrival::New
    }

    /// Begins a generation if it is due, and forgets those that are too old.
    fn advance(&mut self, now: Instant) {
        if now.saturating_duration_since(self.current.began) >= GENERATION {
            let complete = mem::replace(&mut self.current, ReplayGeneration::new(now));
            if complete.clients.total() > 0 {
                self.former.push_back(complete);
            }
        }

        while let Some(oldest) = self.former.front()
            && now >= oldest.end()
        {
            self.former.pop_front();
        }
    }

    /// Returns true if the client has sent fewer requests than there is room for.
    fn has_room(&self, client: &ClientKey) -> bool {
        let all: usize = self.generations().map(|one| one.clients.total()).sum();
        let own: usize = self.generations().map(|one| one.clients.of(client)).sum();
        own < self.most.saturating_sub(all)
    }

    /// The time until the oldest generation is forgotten, at least a second.
    fn until_room(&self, now: Instant) -> Duration {
        let oldest = self.former.front().unwrap_or(&self.current);
        let left = oldest.end().saturating_duration_since(now);
        left.max(Duration::from_secs(1))
    }

    fn generations(&self) -> impl Iterator<Item = &ReplayGeneration> {
        self.former.iter().chain([&self.current])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOMENT: Duration = Duration::from_millis(1);

    fn client(number: u32) -> ClientKey {
        ClientKey::Address(std::net::Ipv4Addr::from(number).into())
    }

    fn fingerprint(number: usize) -> [u8; 32] {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&(number as u64).to_le_bytes());
        bytes
    }

    fn admit(replays: &mut Replays, number: usize, sender: u32, now: Instant) -> Arrival {
        replays.admit(&fingerprint(number), &client(sender), now)
    }

    #[test]
    fn copies_are_refused_for_ten_minutes_wherever_they_come_from() {
        let begin = Instant::now();
        for first in [Duration::ZERO, GENERATION - MOMENT, GENERATION] {
            let mut replays = Replays::with_most(100, begin);
            let arrived = begin + first;
            assert_eq!(admit(&mut replays, 1, 1, arrived), Arrival::New);
            assert_eq!(admit(&mut replays, 1, 1, arrived), Arrival::Copy);
            assert_eq!(admit(&mut replays, 2, 1, arrived), Arrival::New);

            for minute in 1..10 {
                let now = arrived + Duration::from_secs(60 * minute);
                assert_eq!(admit(&mut replays, 1, 2, now), Arrival::Copy, "{minute}");
            }
            let before = arrived + REMEMBERED - MOMENT;
            assert_eq!(admit(&mut replays, 1, 1, before), Arrival::Copy);

            let after = arrived + REMEMBERED + GENERATION;
            assert_eq!(admit(&mut replays, 1, 1, after), Arrival::New);
            assert_eq!(replays.former.len(), 0);
        }
    }

    #[test]
    fn a_flood_is_refused_and_no_request_is_forgotten_for_it() {
        let begin = Instant::now();
        let mut replays = Replays::with_most(100, begin);
        assert_eq!(admit(&mut replays, 0, 7, begin), Arrival::New);

        let mut admitted = 0;
        for number in 1..1000 {
            match admit(&mut replays, number, 1, begin) {
                Arrival::New => admitted += 1,
                found => {
                    let after = REMEMBERED + GENERATION;
                    assert_eq!(found, Arrival::Full { after }, "{number}");
                }
            }
        }
        assert_eq!(admitted, 50);
        let late = begin + REMEMBERED - MOMENT;
        assert_eq!(admit(&mut replays, 0, 1, late), Arrival::Copy);
        assert_eq!(admit(&mut replays, 1, 1, late), Arrival::Copy);

        // The first is forgotten with the flood.
        let after = begin + REMEMBERED + GENERATION;
        assert_eq!(admit(&mut replays, 0, 1, after), Arrival::New);
    }

    #[test]
    fn clients_leave_room_for_each_other() {
        let begin = Instant::now();
        let mut replays = Replays::with_most(1000, begin);
        let mut admitted = [0; 10];
        for number in 0..20_000 {
            let sender = number % 9;
            if admit(&mut replays, number, sender as u32, begin) == Arrival::New {
                admitted[sender] += 1;
            }
        }
        // Nine clients that flood leave a tenth each, and a tenth for others.
        assert!(admitted[..9].iter().all(|count| *count == 100));

        for number in 30_000..30_500 {
            if admit(&mut replays, number, 9, begin) == Arrival::New {
                admitted[9] += 1;
            }
        }
        assert_eq!(admitted[9], 50);
    }
}
