//! Receiver of a private set intersection.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use papir_core::Version;
use papir_core::hedge::{Hedge, Hedged};
use papir_lookup::MAX_VALUE_BYTES;
use papir_lookup::oprf::ELEMENT_BYTES;
use papir_lookup::psi::{Filter, Kind, Match, Receiver, Wanted as Masked};
use papir_protocol::{PsiInfo, path};

use super::address::Address;
use super::checkpoints::OwnerTrust;
use super::pins::{NamePin, wrong_root};
use super::queries::{QueryReply, QueryRequest};
use super::service::Service;
use super::session::Session;
use super::settings::{PrefilterUse, Settings};
use super::storage::SlotStorage;
use super::task::{Io, Task};
use crate::error::{Error, Result, unexpected};

/// Maximum number of replacements of the set during one intersection.
const MAX_CHANGES: usize = 3;
/// Wait after a replacement of the set, since the service loads the set and its database one after
/// the other.
const CHANGE_WAIT: Duration = Duration::from_secs(1);
/// Maximum number of elements in one request, even if the service accepts more.
const MAX_ELEMENTS: usize = 1 << 16;
/// Longest accepted label, in bytes.
const MAX_LABEL_BYTES: u32 = MAX_VALUE_BYTES as u32;

/// The result and the costs of an intersection.
#[derive(Clone, Debug)]
pub struct Intersection {
    /// The matches: the receiver's elements that are in the set, in the receiver's order.
    pub matches: Vec<Match>,
    /// The service's description of its set.
    pub info: PsiInfo,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Bytes received: the evaluated elements, and either the filter, unless it was stored, or
    /// public part and answers.
    pub received_bytes: u64,
    /// Total time.
    pub time: Duration,
}

/// The attempts of one intersection at the servers of a set. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct SetAttempts(Arc<Mutex<AttemptState>>);

/// The traffic of all attempts so far, and the set that they have seen.
#[derive(Default)]
struct AttemptState {
    traffic: Traffic,
    /// The set of the intersection; `None` before a server has described it.
    set: Option<KnownSet>,
}

/// Bytes sent and received so far.
#[derive(Clone, Copy, Default)]
struct Traffic {
    sent: u64,
    received: u64,
}

/// The set of an intersection.
struct KnownSet {
    info: PsiInfo,
    /// The addresses of the servers that have described it, at least one.
    servers: Vec<String>,
}

impl SetAttempts {
    fn state(&self) -> MutexGuard<'_, AttemptState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn traffic(&self) -> Traffic {
        self.state().traffic
    }

    /// Counts bytes that are sent.
    fn add_sent(&self, bytes: u64) {
        self.state().traffic.sent += bytes;
    }

    /// Counts bytes that were received.
    fn add_received(&self, bytes: u64) {
        self.state().traffic.received += bytes;
    }

    /// Notes the set that the server at `url` describes. Fails with the expected set if other
    /// servers have described another one, and this server has not described theirs: such a server
    /// would give other results, of which nothing says which are right.
    fn check_same(&self, url: &str, info: &PsiInfo) -> Result<(), String> {
        let mut state = self.state();

        match &mut state.set {
            Some(known) if is_same_set(&known.info, info) => {
                if !known.servers.iter().any(|server| server == url) {
                    known.servers.push(url.to_owned());
                }
                Ok(())
            }
            Some(known) if !known.servers.iter().any(|server| server == url) => {
                let expected = shown_set(&known.info);
                Err(format!("{expected}, as at {}", known.servers[0]))
            }
            // The first description, or that of a set by which the server has replaced its own.
            set => {
                *set = Some(KnownSet {
                    info: info.clone(),
                    servers: vec![url.to_owned()],
                });
                Ok(())
            }
        }
    }
}

/// Returns true if both descriptions are of copies of one prepared set.
fn is_same_set(one: &PsiInfo, other: &PsiInfo) -> bool {
    let limits = PsiInfo {
        max_elements: other.max_elements,
        ..one.clone()
    };
    limits == *other
}

/// A set, for messages.
fn shown_set(info: &PsiInfo) -> String {
    let PsiInfo {
        kind,
        version,
        elements,
        database,
        ..
    } = info;

    match database {
        Some(name) => format!("version {version} ({kind} from `{name}`, {elements} elements)"),
        None => format!("version {version} ({kind}, {elements} elements)"),
    }
}

/// The error of a run.
enum RunError {
    /// The set was replaced during the run.
    SetChanged(Error),
    Failed(Error),
}

impl<E: Into<Error>> From<E> for RunError {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// Describes the set of a service.
///
/// # Errors
/// Errors of the network and of the service (status 404 without a set).
pub fn describe(service: Service) -> Task<'static, Result<PsiInfo>> {
    Task::new(|io| async move { service.json(&io, path::PSI).await })
}

/// Finds which of `elements` are in a service's set, and their labels. The service learns the
/// approximate number of elements ([`papir_lookup::psi::padded`]) and nothing else. The set's
/// filter is stored, if there is a storage, and fetched again only when the set changes.
///
/// # Errors
/// Errors of the network and of the service (status 404 without a set); errors of verification if
/// the set must be signed or verifiable; [`Error::TooLarge`] for a filter beyond the download
/// limit; [`papir_core::Error::OutOfBounds`] for elements of 2¹⁶ or more bytes.
pub fn intersect<'a, E: AsRef<[u8]> + Send + Sync + 'a>(
    service: Service,
    settings: Settings,
    elements: Vec<E>,
) -> Task<'a, Result<Intersection>> {
    intersect_again(service, settings, elements, SetAttempts::default())
}

/// Like [`intersect`], at one of several servers of a set, after `attempts` at others. Another
/// server must have the set that the first one described. The costs are those of all attempts, and
/// the time is that of this one.
pub(crate) fn intersect_again<'a, E: AsRef<[u8]> + Send + Sync + 'a>(
    service: Service,
    settings: Settings,
    elements: Vec<E>,
    attempts: SetAttempts,
) -> Task<'a, Result<Intersection>> {
    Task::new(move |io| async move {
        let elements: Vec<&[u8]> = elements.iter().map(AsRef::as_ref).collect();
        IntersectionTask {
            io: &io,
            service,
            settings,
            attempts,
        }
        .intersect(&elements)
        .await
    })
}

/// One intersection with a service's set.
struct IntersectionTask<'a> {
    io: &'a Io,
    service: Service,
    settings: Settings,
    attempts: SetAttempts,
}

impl IntersectionTask<'_> {
    async fn intersect(&self, elements: &[&[u8]]) -> Result<Intersection> {
        let start = self.service.platform.now();
        let mut changes = 0;

        loop {
            match self.run(elements).await {
                Ok((info, matches)) => {
                    let time = self.service.platform.now().saturating_sub(start);
                    let Traffic { sent, received } = self.attempts.traffic();
                    return Ok(Intersection {
                        matches,
                        info,
                        sent_bytes: sent,
                        received_bytes: received,
                        time,
                    });
                }
                Err(RunError::SetChanged(_)) if changes < MAX_CHANGES => {
                    changes += 1;
                    // The owner may publish several changes in a row.
                    self.io.wait(CHANGE_WAIT).await;
                }
                Err(RunError::SetChanged(error) | RunError::Failed(error)) => return Err(error),
            }
        }
    }

    /// Makes one intersection with the set's current version.
    async fn run(&self, elements: &[&[u8]]) -> Result<(PsiInfo, Vec<Match>), RunError> {
        let info: PsiInfo = self.service.json(self.io, path::PSI).await?;
        let kind: Kind = info
            .kind
            .parse()
            .map_err(|_| self.bad_set("an unknown kind"))?;
        // Before any element is sent: a service that is not trusted learns nothing.
        let url = self.service.url(path::PSI_FILTER);
        let filter_bytes = info.filter_bytes.unwrap_or_default();
        self.settings.download_limit.check(&url, filter_bytes)?;
        if matches!(kind, Kind::Filter) {
            self.check_filter().await?;
        }

        let version: Version = info
            .version
            .parse()
            .map_err(|_| self.bad_set("an invalid version"))?;
        if info
            .longest_label
            .is_some_and(|longest| longest > MAX_LABEL_BYTES)
        {
            return Err(self.bad_set("labels that are too long").into());
        }
        self.check_set(&info)?;

        // Fresh blinds for each attempt: under the same ones the service could link the attempts.
        let (receiver, blinded) = Receiver::new(elements, &mut self.blinds(elements, &info))?;
        let evaluated = self.evaluate(&blinded, &info, version).await?;
        let masked = receiver.unmask(&evaluated)?;

        let matches = match kind {
            Kind::Filter => masked.in_filter(&self.filter(&info).await?),
            Kind::Retrieval => self.retrieve(&masked, &info).await?,
        };
        Ok((info, matches))
    }

    /// The generator of the blinds. It depends on the elements and the set too: two requests with
    /// equal blinds would show the service which elements they share.
    fn blinds(&self, elements: &[&[u8]], info: &PsiInfo) -> Hedged {
        let platform = &self.service.platform;
        let mut hedge = Hedge::new("blinds of a set intersection").with(info.version.as_bytes());
        for element in elements {
            hedge = hedge.with(element);
        }
        hedge
            .at(&platform.circumstances())
            .rng(&mut *platform.rng())
    }

    /// Checks that a server has the set that the others of this intersection have.
    fn check_set(&self, info: &PsiInfo) -> Result<()> {
        let url = self.service.address().shown();
        self.attempts.check_same(&url, info).map_err(|expected| {
            let reason = format!("the set has {}: expected {expected}", shown_set(info));
            unexpected(&self.service.url(path::PSI), reason)
        })
    }

    /// The error for an invalid description of the set.
    fn bad_set(&self, what: &str) -> Error {
        unexpected(&self.service.url(path::PSI), format!("a set with {what}"))
    }

    /// Sends blinded elements to the service, in several requests if necessary, and returns the
    /// evaluated elements.
    async fn evaluate(
        &self,
        blinded: &[u8],
        info: &PsiInfo,
        version: Version,
    ) -> Result<Vec<u8>, RunError> {
        let mut evaluated = Vec::with_capacity(blinded.len());
        // A service that names none would be asked for ever, and one that names too many gets all
        // memory.
        let part_bytes = info.max_elements.clamp(1, MAX_ELEMENTS) * ELEMENT_BYTES;

        for part in blinded.chunks(part_bytes) {
            let limit = part.len() as u64;
            let queries = Arc::new(part.to_vec());
            let request = QueryRequest {
                version,
                client: None,
                tickets: &[],
                queries,
                is_short: false,
                limit,
            };

            // Counted before the reply: the bytes have been sent in any case.
            self.attempts.add_sent(limit);
            match self
                .service
                .query(self.io, path::PSI_EVALUATE, &request)
                .await?
            {
                QueryReply::Answers(bytes) => evaluated.extend(bytes),
                QueryReply::WrongVersion(error) => return Err(RunError::SetChanged(error)),
                QueryReply::ClientGone(error) => return Err(error.into()),
            }
        }

        self.attempts.add_received(evaluated.len() as u64);
        Ok(evaluated)
    }

    /// Refuses a set in the form of a filter if the set must be signed or verifiable: only the
    /// database of a retrieval set can be.
    async fn check_filter(&self) -> Result<()> {
        let url = self.service.url(path::PSI);
        // A filter is no database: no root covers it, so that a caller with a root expects
        // something else.
        if let Some(expected) = self.settings.root {
            return Err(wrong_root(&url, None, expected));
        }

        let required = self.settings.checkpoint.is_required()
            || match self.service.named(&self.settings) {
                Some(name) => OwnerTrust::open(self.io, &self.service, name, &self.settings)
                    .await?
                    .is_pinned(),
                None => {
                    NamePin::of_set(self.io, &self.service, &self.settings)
                        .is_set()
                        .await?
                }
            };

        if required {
            Err(Error::NoCheckpoint { url })
        } else {
            Ok(())
        }
    }

    /// The slot for the filter of the set at an address.
    fn filter_slot(&self, address: &Address) -> String {
        // Apart from the service's own slot: its database and its set are different things.
        self.service.unlinked_slot(address.identity("") + " set")
    }

    /// The filter of this version, from the storage or fetched.
    async fn filter(&self, info: &PsiInfo) -> Result<Filter, RunError> {
        let slot = self.filter_slot(&self.service.address);
        let storage = SlotStorage::new(self.io, &slot);
        if let Some(filter) = stored_filter(storage, info).await {
            return Ok(filter);
        }
        // The same version at another server is a copy of the same file.
        for other in self.service.others() {
            let slot = self.filter_slot(other);
            if let Some(filter) = stored_filter(SlotStorage::new(self.io, &slot), info).await {
                return Ok(filter);
            }
        }

        let limit = info.filter_bytes.unwrap_or_default();
        let bytes = self
            .service
            .bytes_of(self.io, path::PSI_FILTER, &info.version, limit)
            .await?;
        let Some(bytes) = bytes else {
            let url = self.service.url(path::PSI_FILTER);
            return Err(RunError::SetChanged(unexpected(
                &url,
                "another version at each attempt".to_owned(),
            )));
        };

        self.attempts.add_received(bytes.len() as u64);
        let filter = Filter::decode(&bytes)?;
        // If the filter cannot be stored, it is fetched again next time.
        let _ = storage
            .keep_filter([info.version.as_bytes(), &bytes].concat())
            .await;
        Ok(filter)
    }

    /// Looks up all masked elements, including padding, in the set's database.
    async fn retrieve(&self, masked: &Masked, info: &PsiInfo) -> Result<Vec<Match>, RunError> {
        let named = self.service.named(&self.settings);
        if let (Some(expected), Some(found)) = (named, &info.database)
            && expected != found
        {
            let reason = format!("the set's database is `{found}`: expected `{expected}`");
            return Err(unexpected(&self.service.url(path::PSI), reason).into());
        }

        let settings = Settings {
            database: info.database.clone(),
            // A set has no filter of its keys, and an intersection no schedule.
            prefilter: PrefilterUse::Ignore,
            hide_times: false,
            ..self.settings.clone()
        };
        let mut session = Session::connect(self.io, self.service.clone(), settings).await?;
        session
            .keep_name(&NamePin::of_set(self.io, &self.service, &self.settings))
            .await?;
        self.check_version(&session, info)?;

        let names = masked.names();
        let wanted: Vec<_> = names
            .iter()
            .map(|name| papir_lookup::Wanted::Key(name.as_slice()))
            .collect();
        let values = session.look_up(self.io, &wanted).await;
        let costs = session.costs();
        // Also of a lookup that failed, since the costs are of the session.
        self.attempts.add_sent(costs.query_bytes);
        self.attempts
            .add_received(costs.public_bytes + costs.answer_bytes);

        // The session may have moved to a newer version, whose names come from another key. This is
        // checked before the answers are, whether or not they decoded: the service sees a new run.
        self.check_version(&session, info)?;
        Ok(masked.opened(&values?, info.longest_label.map(|longest| longest as usize))?)
    }

    /// Checks that the session's database has the version of the set.
    fn check_version(&self, session: &Session, info: &PsiInfo) -> Result<(), RunError> {
        if session.info().version == info.version {
            return Ok(());
        }

        let reason = format!(
            "version {}: expected {}",
            session.info().version,
            info.version
        );
        Err(RunError::SetChanged(unexpected(
            &self.service.url(""),
            reason,
        )))
    }
}

/// The stored filter of the version in `info`; `None` if it is missing, damaged or of another
/// version.
async fn stored_filter(storage: SlotStorage<'_>, info: &PsiInfo) -> Option<Filter> {
    let limit = info.filter_bytes?.saturating_add(info.version.len() as u64);
    let bytes = storage.filter(limit).await.ok()??;
    Filter::decode(bytes.strip_prefix(info.version.as_bytes())?).ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn info(version: &str) -> PsiInfo {
        PsiInfo {
            kind: "filter".into(),
            version: version.into(),
            elements: 3,
            longest_label: None,
            max_elements: 9,
            filter_bytes: Some(99),
            database: None,
        }
    }

    #[test]
    fn the_first_description_decides_until_a_server_replaces_the_set() {
        let attempts = SetAttempts::default();
        attempts.check_same("http://a", &info("01")).unwrap();
        let other_limit = PsiInfo {
            max_elements: 5,
            ..info("01")
        };
        attempts.check_same("http://b", &other_limit).unwrap();
        let expected = attempts.check_same("http://c", &info("02")).unwrap_err();
        assert_eq!(expected, "version 01 (filter, 3 elements), as at http://a");

        // It has described the set of the others before.
        attempts.check_same("http://b", &info("02")).unwrap();
        attempts.check_same("http://c", &info("02")).unwrap();
        let expected = attempts.check_same("http://a", &info("01")).unwrap_err();
        assert_eq!(expected, "version 02 (filter, 3 elements), as at http://b");
    }
}
