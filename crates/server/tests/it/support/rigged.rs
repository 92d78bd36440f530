//! A prepared database that panics, blocks, or sends wrong answers.

use std::sync::{Arc, Condvar, Mutex};

use papir_core::envelope::{self, Header, Kind};
use papir_core::erased::{ErasedKeys, ErasedServer, ErasedSession};
use papir_core::sections::SectionSink;
use papir_core::{Change, Description, Progress, Result, Version};
use rand_core::CryptoRng;

/// Fault of each answer.
#[derive(Clone)]
pub enum Rig {
    /// Panics.
    Panic,
    /// Waits until the door is open.
    Wait(Door),
    /// A well-formed answer to another query.
    OtherPayload,
    /// One bit is flipped.
    FlippedBit,
    /// No fault.
    Honest,
    /// No fault. The shared handle shows when the database is dropped.
    Held(Arc<()>),
    /// Waits at the door, panics for one query, and records the sizes of batches.
    Batches(Batches),
}

/// A door, a query to panic for, and the sizes of answered batches.
#[derive(Clone, Default)]
pub struct Batches {
    pub door: Door,
    pub poison: Arc<Mutex<Vec<u8>>>,
    pub sizes: Arc<Mutex<Vec<usize>>>,
}

/// A door at which answers wait.
#[derive(Clone, Default)]
pub struct Door(Arc<(Mutex<(bool, usize)>, Condvar)>);

impl Door {
    pub fn open(&self) {
        self.0.0.lock().unwrap().0 = true;
        self.0.1.notify_all();
    }

    /// Waits until `count` answers wait at the door.
    pub fn wait_for(&self, count: usize) {
        let guard = self.0.0.lock().unwrap();
        drop(self.0.1.wait_while(guard, |(_, waiting)| *waiting < count).unwrap());
    }

    fn pass(&self) {
        let mut guard = self.0.0.lock().unwrap();
        guard.1 += 1;
        self.0.1.notify_all();
        drop(self.0.1.wait_while(guard, |(open, _)| !*open).unwrap());
    }
}

/// A prepared database with a fault.
pub struct Rigged {
    pub inner: Box<dyn ErasedServer>,
    pub scheme: u16,
    pub rig: Rig,
}

impl Rigged {
    fn spoil(&self, mut answer: Vec<u8>) -> Vec<u8> {
        match &self.rig {
            Rig::Panic => panic!("rigged to panic"),
            Rig::Wait(door) | Rig::Batches(Batches { door, .. }) => door.pass(),
            Rig::FlippedBit => *answer.last_mut().unwrap() ^= 1,
            Rig::OtherPayload => {
                let (version, payload) = envelope::open(&answer, Kind::Answer, self.scheme).unwrap();
                let other: Vec<u8> = payload.iter().map(|byte| !byte).collect();
                let header = Header { kind: Kind::Answer, scheme: self.scheme, version };
                answer = envelope::seal(&header, &other);
            }
            Rig::Honest | Rig::Held(_) => {}
        }
        answer
    }
}

impl ErasedServer for Rigged {
    fn describe(&self) -> Description {
        self.inner.describe()
    }

    fn version(&self) -> Version {
        self.inner.version()
    }

    fn public(&self) -> Vec<u8> {
        self.inner.public()
    }

    fn answer(&self, session: ErasedSession<'_>, query: &[u8]) -> Result<Vec<u8>> {
        self.inner.answer(session, query).map(|answer| self.spoil(answer))
    }

    fn answer_many(
        &self,
        batch: &[(ErasedSession<'_>, &[u8])],
        _progress: &dyn Progress,
    ) -> Vec<Result<Vec<u8>>> {
        if let Rig::Batches(Batches { poison, sizes, .. }) = &self.rig {
            sizes.lock().unwrap().push(batch.len());
            let poison = poison.lock().unwrap().clone();
            assert!(batch.iter().all(|(_, query)| *query != poison), "rigged to panic");
        }
        batch.iter().map(|(session, query)| self.answer(*session, query)).collect()
    }

    fn check_query(&self, query: &[u8]) -> Result<()> {
        self.inner.check_query(query)
    }

    fn accept_keys(&self, keys: &[u8]) -> Result<ErasedKeys> {
        self.inner.accept_keys(keys)
    }

    fn ticket(&self, keys: &ErasedKeys, number: u64, progress: &dyn Progress) -> Result<Vec<u8>> {
        self.inner.ticket(keys, number, progress)
    }

    fn follow(
        &self,
        earlier: (&dyn ErasedServer, &[u8]),
        keys: &ErasedKeys,
        number: u64,
        progress: &dyn Progress,
    ) -> Result<Vec<u8>> {
        self.inner.follow(earlier, keys, number, progress)
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self.inner.as_any()
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
