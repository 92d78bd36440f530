//! Queries and answers in files, which any channel carries.
//!
//! A lookup is stored before its query leaves the client, with the seed of its randomness. Its
//! answer may come days later, to another process: the query is made again from the seed, compared
//! with the one that was sent, and gives the secret that decodes the answer. A lookup is removed
//! before its answer is decoded, so that no two answers to one query are decoded.

use papir_core::Error as CoreError;
use papir_core::envelope;
use papir_core::erased::ErasedState;
use papir_core::hedge::{Hedge, Hedged};
use papir_core::short::Binding;
use papir_lookup::{Lookup, Pending, Wanted};
use rand_core::Rng;
use zeroize::Zeroizing;

use super::fetch;
use super::kept::{self, KeptWanted, VersionRecord, WaitingLookup};
use super::outgoing::short_bytes;
use super::owned::OwnedWanted;
use super::registration::StateWork;
use super::service::Service;
use super::session::Session;
use super::settings::{KnownVersion, Settings};
use super::task::{Io, Task};
use crate::error::{Error, Result};

/// A query that was made, and the state before it.
struct MadeQuery {
    state: Zeroizing<Vec<u8>>,
    queries: Vec<Vec<u8>>,
}

/// A lookup that waits no longer.
struct TakenLookup {
    pending: Pending,
    /// The answers in their envelopes.
    answers: Vec<Vec<u8>>,
}

/// A waiting lookup whose query was made again.
struct Remade {
    pending: Pending,
    binding: Binding,
}

impl Session {
    /// Makes the query of one lookup as a short message, for [`extract_message`] of its answer. The
    /// lookup is durable on return. Registers if necessary; with a kept version
    /// ([`KnownVersion::Use`](crate::core::KnownVersion::Use)) it sends nothing.
    ///
    /// # Errors
    /// [`CoreError::Parameters`] for a scheme whose clients do not register keys, or use tickets;
    /// [`CoreError::Malformed`] without a kept version of the same database, if 64 lookups wait,
    /// and if lookups wait for answers from an earlier version; errors of the network and of client
    /// state.
    pub fn query_message(&mut self, wanted: OwnedWanted) -> Task<'_, Result<Vec<u8>>> {
        Task::new(move |io| async move { self.make_message(&io, &wanted).await })
    }

    /// Like [`Session::query_message`], for an owned session.
    pub fn query_message_owned(
        mut self,
        wanted: OwnedWanted,
    ) -> Task<'static, (Self, Result<Vec<u8>>)> {
        Task::new(move |io| async move {
            let made = self.make_message(&io, &wanted).await;
            (self, made)
        })
    }

    async fn make_message(&mut self, io: &Io, wanted: &OwnedWanted) -> Result<Vec<u8>> {
        self.replace_kept(io).await?;
        self.ensure_registered(io).await?;
        let description = self.lookup.describe();
        let registration = self
            .registration
            .as_ref()
            .filter(|_| !description.limits.tickets);
        let Some(registration) = registration else {
            return Err(Error::from(CoreError::Parameters {
                scheme: description.scheme,
                reason: "queries in files are for schemes whose clients register keys and use no \
                         tickets, such as pirouette"
                    .to_owned(),
            }));
        };

        let seed = self.draw_seed(wanted.borrowed());
        let made = registration
            .with_state(
                self.context(io),
                |_| 0,
                |state| make_query(&self.lookup, state, &seed, wanted.borrowed()),
            )
            .await?;

        let MadeQuery { state, queries } = made.value;
        let query = binding_of(&made.client, &queries)?.shorten_queries(&queries)?;
        let waiting = WaitingLookup {
            seed,
            wanted: KeptWanted::of(wanted.borrowed()),
            client: made.client,
            state,
            query: query.clone(),
        };
        let version = &self.info.version;
        kept::add_waiting(io, &self.service, &self.settings, version, waiting).await?;
        Ok(query)
    }

    /// Moves to the newest version, and keeps it, if another one than the session's is kept and no
    /// lookup waits for it any more. When the session moved on, lookups may have kept the earlier
    /// version, and no query could be stored until it is replaced.
    async fn replace_kept(&mut self, io: &Io) -> Result<()> {
        if self.settings.known == KnownVersion::Ask {
            return Ok(());
        }

        let kept = kept::read(io, &self.service, &self.settings).await?;
        let is_free = kept
            .is_some_and(|kept| kept.waiting.is_empty() && kept.info.version != self.info.version);
        if is_free {
            self.fetch_again(io, 0, None).await?;
        }
        Ok(())
    }

    /// Draws the seed of a query's randomness. It differs for another key on a copy of this machine
    /// whose generator draws the same bytes.
    fn draw_seed(&self, wanted: Wanted<'_>) -> Zeroizing<[u8; 32]> {
        let platform = &self.service.platform;
        let hedge = match wanted {
            Wanted::Key(key) => Hedge::new("seed of a query in a file").with(key),
            Wanted::Index(index) => {
                Hedge::new("seed of an index in a file").with(&index.to_le_bytes())
            }
        };

        let mut generator = hedge
            .at(&platform.circumstances())
            .rng(&mut *platform.rng());
        let mut seed = Zeroizing::new([0; 32]);
        generator.fill_bytes(seed.as_mut_slice());
        seed
    }
}

/// Decodes the answer to a query of [`Session::query_message`], and removes its lookup before.
/// Returns the value; `None` for an absent key. Sends nothing.
///
/// # Errors
/// [`CoreError::Malformed`] if no version is kept, or no lookup waits for this answer: it is of
/// another client, version or query, is damaged, or was decoded before. The lookups that wait are
/// then unchanged. [`CoreError::NotDecodable`] and the errors of [`Pending::finish`].
pub fn extract_message(
    service: Service,
    settings: Settings,
    answer: Vec<u8>,
) -> Task<'static, Result<Option<Vec<u8>>>> {
    Task::new(move |io| async move {
        let taken = kept::change(&io, &service, &settings, |kept| {
            take(&service, &settings, kept, &answer)
        });
        let TakenLookup { pending, answers } = taken.await?;
        Ok(pending.finish(&answers)?)
    })
}

/// Takes the lookup that waits for an answer.
fn take(
    service: &Service,
    settings: &Settings,
    kept: &mut VersionRecord,
    answer: &[u8],
) -> Result<TakenLookup> {
    let lookup = fetch::of_kept(service, settings, &kept.info, &kept.bundle)?;
    let mut unmade = None;
    // The same for all of them: each is one lookup in one version.
    let mut expected = None;

    for position in 0..kept.waiting.len() {
        let waiting = &kept.waiting[position];
        let Remade { pending, binding } = match remake(&lookup, waiting) {
            Ok(remade) => remade,
            // Another lookup may wait for this answer.
            Err(error) => {
                unmade = Some(error);
                continue;
            }
        };
        if !binding.is_answer(&waiting.query, answer) {
            expected = Some(short_bytes(&pending.answers()));
            continue;
        }

        let count = pending.queries().len();
        let answers = binding.restore_answers(&waiting.query, answer, count)?;
        let answers = envelope::split(&answers).unwrap_or_default();
        let answers = answers.into_iter().map(<[u8]>::to_vec).collect();
        kept.waiting.remove(position);
        return Ok(TakenLookup { pending, answers });
    }

    match unmade {
        Some(error) => Err(error),
        None => Err(unmatched(answer.len(), expected, kept.waiting.len()).into()),
    }
}

/// The error for an answer of `found` bytes to none of the waiting lookups, whose answers have
/// `expected` bytes; `None` if no lookup waits.
fn unmatched(found: usize, expected: Option<usize>, waiting: usize) -> CoreError {
    let query = format!("one of {waiting} waiting queries");

    match expected {
        None => CoreError::malformed(
            "an answer",
            "one that was extracted, or whose query was dropped",
            format!("an answer to {query}: make a new query"),
        ),
        Some(expected) if expected != found => CoreError::malformed(
            "an answer",
            format!("{found} bytes: a truncated one, or one of another database"),
            format!("the {expected} bytes of an answer to {query}: transfer it again"),
        ),
        Some(_) => CoreError::malformed(
            "an answer",
            "the tag of another client, version or query, of a damaged answer, or of one that was \
             extracted",
            format!("an answer to {query}: answer the query again"),
        ),
    }
}

/// Makes the query of a waiting lookup again.
fn remake(lookup: &Lookup, waiting: &WaitingLookup) -> Result<Remade> {
    let client = lookup.client().require_registered()?;
    let mut state = client.load_state(&waiting.state)?;
    let wanted = waiting.wanted.wanted()?;
    let mut generator = generator(&waiting.seed);
    let pending = lookup.prepare_batch(Some(&mut state), &[wanted], &mut generator)?;

    let binding = binding_of(&waiting.client, pending.queries())?;
    if binding.shorten_queries(pending.queries())? == waiting.query {
        return Ok(Remade { pending, binding });
    }
    Err(CoreError::malformed(
        "a waiting lookup",
        "another query from its seed",
        "the query that was sent: it was made by another release, or the state is damaged",
    )
    .into())
}

/// Makes the query of a new lookup.
fn make_query(
    lookup: &Lookup,
    state: &mut ErasedState,
    seed: &[u8; 32],
    wanted: Wanted<'_>,
) -> Result<StateWork<MadeQuery>> {
    let before = lookup.client().require_registered()?.save_state(state)?;
    let pending = lookup.prepare_batch(Some(state), &[wanted], &mut generator(seed))?;
    let queries = pending.queries().to_vec();

    Ok(StateWork {
        made: queries.len(),
        value: MadeQuery {
            state: before,
            queries,
        },
    })
}

/// The generator of a query's randomness.
fn generator(seed: &[u8; 32]) -> Hedged {
    Hedge::new("query in a file").with(seed).of_seed()
}

/// The binding of a client's messages to the version of these queries.
fn binding_of(client: &str, queries: &[Vec<u8>]) -> Result<Binding> {
    let first = queries.first().map_or(&[][..], Vec::as_slice);
    Ok(Binding::of_query(client, first)?)
}
