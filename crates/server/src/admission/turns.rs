//! Turns of requests for a kind of work.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use super::limits::ClientKey;
use super::memory::Relief;
use super::permit::{JobError, Permit};
use super::queue::{Batchable, Queue};
use super::semaphore::{FairSemaphore, TakenAmount};

/// Bounds the requests that do some work at the same time. The others wait with their permits, and
/// clients take turns.
pub(crate) struct WorkTurns {
    places: Arc<FairSemaphore>,
    /// The requests that have begun. Changed only while the queue is locked, so that no request
    /// begins before one that waits.
    begun: Arc<FairSemaphore>,
    queue: Mutex<Queue<WaitingTurn>>,
}

/// A waiting request, and the channel for its turn.
struct WaitingTurn {
    client: ClientKey,
    permit: Permit,
    send: oneshot::Sender<Result<(Turn, Permit), JobError>>,
}

/// A request's turn. The next request begins when it is dropped.
pub(crate) struct Turn {
    turns: Arc<WorkTurns>,
    /// `None` once it is given back.
    taken: Option<TakenAmount>,
}

impl WorkTurns {
    /// At most `most` requests, at least 1, at a time. Their permits are for these places.
    pub(super) fn of(places: Arc<FairSemaphore>, most: usize) -> Arc<Self> {
        Arc::new(Self {
            places,
            begun: FairSemaphore::new(most.max(1)),
            queue: Mutex::default(),
        })
    }

    /// At most `most` requests at a time, with places of their own for these and `queued` more.
    pub(crate) fn new(most: usize, queued: usize) -> Arc<Self> {
        let places = FairSemaphore::new(most.max(1).saturating_add(queued));
        Self::of(places, most)
    }

    /// Returns a permit; `None` if this client must wait for others.
    pub(crate) fn admit(&self, client: &ClientKey) -> Option<Permit> {
        self.places
            .take_or(client, |heavier| self.shed(heavier))
            .map(Permit::of)
    }

    /// Returns true if a request of this client would get a permit now.
    pub(crate) fn has_room(&self, client: &ClientKey) -> bool {
        !self.places.is_full() || self.places.has_heavier(client)
    }

    /// Waits for a turn of this client. Returns it with the permit. Fails if the request gave up
    /// its place while it waited.
    pub(crate) async fn enter(
        self: &Arc<Self>,
        client: &ClientKey,
        permit: Permit,
    ) -> Result<(Turn, Permit), JobError> {
        let (send, receive) = oneshot::channel();
        let number = {
            // Tried under the lock of the queue: a turn that ends in between would find nobody
            // waiting, and this request would wait for ever.
            let mut queue = self.queue();
            if let Some(taken) = self.begun.take(client) {
                return Ok((self.turn(taken), permit));
            }

            queue.push(WaitingTurn {
                client: client.clone(),
                permit,
                send,
            })
        };

        let _leaving = LeaveOnDrop {
            turns: self,
            number,
        };
        receive.await.unwrap_or(Err(JobError::Stopped))
    }

    /// Refuses the newest waiting request of a client. Returns whether there was one.
    pub(super) fn shed(&self, client: &ClientKey) -> bool {
        let shed = self.queue().remove_newest(client);
        let Some(WaitingTurn { permit, send, .. }) = shed else {
            return false;
        };

        // Freed before the caller hears of it, so that it finds its permit free.
        drop(permit);
        let _ = send.send(Err(JobError::Shed));
        true
    }

    /// Refuses waiting requests, which free what their permits hold.
    pub(crate) fn relief(self: &Arc<Self>) -> Relief {
        let turns = Arc::clone(self);
        Box::new(move |client: &ClientKey| turns.shed(client))
    }

    fn queue(&self) -> MutexGuard<'_, Queue<WaitingTurn>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn turn(self: &Arc<Self>, taken: TakenAmount) -> Turn {
        Turn {
            turns: Arc::clone(self),
            taken: Some(taken),
        }
    }

    /// Gives a turn back, and lets the next request begin.
    fn pass_on(self: &Arc<Self>, ended: Option<TakenAmount>) {
        let mut queue = self.queue();
        // Given back under the lock, so that the next in the queue takes it, and not a request that
        // comes now.
        drop(ended);
        let batch = queue.take_batch(&[]);
        let next = batch.and_then(|(_, batch)| batch.into_iter().next());
        let taken = next
            .as_ref()
            .and_then(|waiting| self.begun.take(&waiting.client));

        // Outside the lock: a turn that cannot be sent locks it to be passed on.
        drop(queue);
        if let Some(WaitingTurn { permit, send, .. }) = next
            && let Some(taken) = taken
        {
            // A turn that is not received is dropped, and passed on again.
            drop(send.send(Ok((self.turn(taken), permit))));
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.turns.pass_on(self.taken.take());
    }
}

impl Batchable for WaitingTurn {
    fn batch_key(&self) -> usize {
        0
    }

    fn fits<'a>(&'a self, _batch: impl Iterator<Item = &'a Self>) -> bool {
        false
    }

    fn client(&self) -> &ClientKey {
        &self.client
    }
}

/// Removes a cancelled request from the queue.
struct LeaveOnDrop<'a> {
    turns: &'a WorkTurns,
    number: u64,
}

impl Drop for LeaveOnDrop<'_> {
    fn drop(&mut self) {
        let removed = self.turns.queue().remove(self.number);
        // Dropped outside the lock.
        drop(removed);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tokio::task::{JoinHandle, yield_now};

    use super::*;

    fn key(number: u32) -> ClientKey {
        ClientKey::Address(std::net::Ipv4Addr::from(number).into())
    }

    async fn enter(
        turns: &Arc<WorkTurns>,
        client: u32,
    ) -> JoinHandle<Result<(Turn, Permit), JobError>> {
        let (turns, permit) = (Arc::clone(turns), turns.admit(&key(client)).unwrap());
        let waiting = tokio::spawn(async move { turns.enter(&key(client), permit).await });
        yield_now().await;
        waiting
    }

    #[test]
    fn a_client_has_room_while_another_has_more() {
        let turns = WorkTurns::new(1, 1);
        assert!(turns.has_room(&key(1)));
        let first = turns.admit(&key(1)).unwrap();
        let _second = turns.admit(&key(1)).unwrap();
        assert!(!turns.has_room(&key(1)));
        assert!(turns.has_room(&key(2)));

        drop(first);
        let _other = turns.admit(&key(2)).unwrap();
        assert!(!turns.has_room(&key(3)), "each has one");
    }

    #[tokio::test]
    async fn clients_take_turns_and_cancelled_requests_lose_theirs() {
        let turns = WorkTurns::new(1, 5);
        let (first, _) = enter(&turns, 1).await.await.unwrap().unwrap();

        let mut flood = vec![
            enter(&turns, 1).await,
            enter(&turns, 1).await,
            enter(&turns, 1).await,
        ];
        let other = enter(&turns, 2).await;

        flood.remove(0).abort();
        yield_now().await;

        drop(first);
        let mut begun = flood.remove(0).await.unwrap().unwrap();
        assert!(!other.is_finished());

        drop(begun.0);
        begun = other.await.unwrap().unwrap();
        assert!(!flood[0].is_finished());
        drop(begun.0);

        drop(flood.remove(0).await.unwrap().unwrap());
        assert!(turns.begun.is_empty());
        assert_eq!(turns.queue().len(), 0);
    }

    #[tokio::test]
    async fn a_flood_gives_up_waiting_requests_to_others() {
        let turns = WorkTurns::new(1, 2);
        let running = enter(&turns, 1).await.await.unwrap().unwrap();
        let flood = [enter(&turns, 1).await, enter(&turns, 1).await];

        assert!(turns.admit(&key(1)).is_none());
        let _permit = turns.admit(&key(2)).unwrap();

        let [older, newest] = flood;
        assert_eq!(newest.await.unwrap().map(drop), Err(JobError::Shed));

        drop(running);
        assert!(older.await.unwrap().is_ok());
    }
}
