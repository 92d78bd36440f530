//! A prepared database that panics, blocks, or gives wrong answers.

use std::any::Any;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use papir_core::envelope::{self, Header, Kind};
use papir_core::erased::{
    EarlierErasedTicket, ErasedDatabase, ErasedKeys, ErasedRegisteredServer, ErasedServer,
    ErasedSession, ErasedVersion,
};
use papir_core::sections::SectionSink;
use papir_core::{Change, Description, Progress, Result, Version};
use rand_core::CryptoRng;

/// Fault of each answer.
#[derive(Clone)]
pub enum Fault {
    /// Panics.
    Panic,
    /// Waits until the latch is released.
    Wait(Latch),
    /// A well-formed answer to another query.
    OtherPayload,
    /// One bit is flipped.
    FlippedBit,
    /// No fault.
    Honest,
    /// No fault. The shared handle shows when the database is dropped.
    Held(Arc<()>),
    /// No fault. A ticket takes this long.
    SlowTickets(Duration),
    /// No tickets are needed of clients: they are prepared with the answers. Keys to be parsed wait
    /// for the latch, once it is armed.
    ColdKeys(Arc<AtomicBool>, Latch),
    /// Waits for the latch, panics for one query, and records the sizes of batches.
    Batches(Batches),
}

/// A latch, the query to panic for, and the sizes of answered batches.
#[derive(Clone, Default)]
pub struct Batches {
    pub latch: Latch,
    pub poison: Arc<Mutex<Vec<u8>>>,
    pub sizes: Arc<Mutex<Vec<usize>>>,
}

/// A latch that answers wait for.
#[derive(Clone, Default)]
pub struct Latch(Arc<(Mutex<(bool, usize)>, Condvar)>);

/// Time after which a waiter panics: a test that fails before it releases a latch must not hang.
const LATCH_PATIENCE: Duration = Duration::from_secs(120);

impl Latch {
    pub fn release(&self) {
        self.0.0.lock().unwrap().0 = true;
        self.0.1.notify_all();
    }

    /// Waits until `count` answers wait for the latch.
    pub fn wait_for(&self, count: usize) {
        let guard = self.0.0.lock().unwrap();
        let few = |&mut (_, waiting): &mut (bool, usize)| waiting < count;
        let (_guard, wait) = self
            .0
            .1
            .wait_timeout_while(guard, LATCH_PATIENCE, few)
            .unwrap();
        assert!(
            !wait.timed_out(),
            "fewer than {count} answers wait for the latch"
        );
    }

    /// Number of answers that have come to the latch.
    pub fn count(&self) -> usize {
        self.0.0.lock().unwrap().1
    }

    fn wait(&self) {
        let mut guard = self.0.0.lock().unwrap();
        guard.1 += 1;
        self.0.1.notify_all();
        let closed = |&mut (released, _): &mut (bool, usize)| !released;
        let (guard, wait) = self
            .0
            .1
            .wait_timeout_while(guard, LATCH_PATIENCE, closed)
            .unwrap();
        drop(guard);
        assert!(!wait.timed_out(), "nobody releases the latch");
    }
}

/// A prepared database with a fault.
pub struct FaultyDatabase {
    pub inner: Box<dyn ErasedServer>,
    pub scheme: u16,
    pub fault: Fault,
}

impl FaultyDatabase {
    fn apply_fault(&self, mut answer: Vec<u8>) -> Vec<u8> {
        match &self.fault {
            Fault::Panic => panic!("panics on purpose"),
            Fault::Wait(latch) | Fault::Batches(Batches { latch, .. }) => latch.wait(),
            Fault::FlippedBit => *answer.last_mut().unwrap() ^= 1,
            Fault::OtherPayload => {
                let (version, payload) =
                    envelope::open(&answer, Kind::Answer, self.scheme).unwrap();
                let other: Vec<u8> = payload.iter().map(|byte| !byte).collect();
                let header = Header {
                    kind: Kind::Answer,
                    scheme: self.scheme,
                    version,
                };
                answer = envelope::seal(&header, &other);
            }
            Fault::Honest | Fault::Held(_) | Fault::SlowTickets(_) | Fault::ColdKeys(..) => {}
        }
        answer
    }

    /// Answers one query, with the fault.
    fn answer_one(&self, session: ErasedSession<'_>, query: &[u8]) -> Result<Vec<u8>> {
        let ticket = match (&self.fault, session.keys) {
            (Fault::ColdKeys(..), Some(keys)) => {
                let (_, payload) = envelope::open(query, Kind::Query, self.scheme)?;
                let number = u64::from_le_bytes(payload[..8].try_into().unwrap());
                Some(self.inner.require_registered()?.ticket(
                    keys,
                    number,
                    None,
                    &papir_core::NoProgress,
                )?)
            }
            _ => None,
        };
        let session = ErasedSession {
            ticket: ticket.as_deref().or(session.ticket),
            ..session
        };
        self.inner
            .answer(session, query)
            .map(|answer| self.apply_fault(answer))
    }
}

impl ErasedVersion for FaultyDatabase {
    fn describe(&self) -> Description {
        let mut description = self.inner.describe();
        description.limits.tickets &= !matches!(self.fault, Fault::ColdKeys(..));
        description
    }

    fn version(&self) -> Version {
        self.inner.version()
    }
}

impl ErasedDatabase for FaultyDatabase {
    fn public(&self) -> Vec<u8> {
        self.inner.public()
    }

    fn check_query(&self, query: &[u8]) -> Result<()> {
        self.inner.check_query(query)
    }
}

impl ErasedServer for FaultyDatabase {
    fn answer_many(
        &self,
        batch: &[(ErasedSession<'_>, &[u8])],
        _progress: &dyn Progress,
    ) -> Vec<Result<Vec<u8>>> {
        if let Fault::Batches(Batches { poison, sizes, .. }) = &self.fault {
            sizes.lock().unwrap().push(batch.len());
            let poison = poison.lock().unwrap().clone();
            assert!(
                batch.iter().all(|(_, query)| *query != poison),
                "panics on purpose"
            );
        }
        batch
            .iter()
            .map(|(session, query)| self.answer_one(*session, query))
            .collect()
    }

    fn registered(&self) -> Option<&dyn ErasedRegisteredServer> {
        self.inner
            .registered()
            .map(|_| self as &dyn ErasedRegisteredServer)
    }

    fn update_cost(&self, changes: &[Change]) -> Result<papir_core::scheme::UpdateEstimate> {
        self.inner.update_cost(changes)
    }

    fn update(
        &self,
        changes: &[Change],
        rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Box<dyn ErasedServer>> {
        self.inner.update(changes, rng, progress)
    }

    fn read_packed(&self, first: u64, count: u64, out: &mut [u8]) -> Result<()> {
        self.inner.read_packed(first, count, out)
    }

    fn save(&self, sink: &mut dyn SectionSink) -> Result<()> {
        self.inner.save(sink)
    }
}

impl ErasedRegisteredServer for FaultyDatabase {
    fn accept_keys(&self, keys: &[u8]) -> Result<ErasedKeys> {
        if let Fault::ColdKeys(armed, latch) = &self.fault
            && armed.load(Ordering::SeqCst)
        {
            latch.wait();
        }
        self.inner.require_registered()?.accept_keys(keys)
    }

    fn ticket(
        &self,
        keys: &ErasedKeys,
        number: u64,
        earlier: Option<EarlierErasedTicket<'_>>,
        progress: &dyn Progress,
    ) -> Result<Vec<u8>> {
        if let (Fault::SlowTickets(time), None) = (&self.fault, &earlier) {
            std::thread::sleep(*time);
        }

        // The inner database follows the ticket of another one's inner database.
        let earlier = match earlier {
            Some(earlier) => Some(EarlierErasedTicket {
                server: inner_of(earlier.server)?,
                ..earlier
            }),
            None => None,
        };
        self.inner
            .require_registered()?
            .ticket(keys, number, earlier, progress)
    }
}

/// The database with a fault itself, or any other one as it is.
fn inner_of(server: &dyn ErasedRegisteredServer) -> Result<&dyn ErasedRegisteredServer> {
    let any: &dyn Any = server;
    match any.downcast_ref::<FaultyDatabase>() {
        Some(faulty) => faulty.inner.require_registered(),
        None => Ok(server),
    }
}
