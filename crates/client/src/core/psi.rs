//! Receiver of a private set intersection.

use std::sync::Arc;
use std::time::Duration;

use papir_core::Version;
use papir_core::hedge::{Hedge, Hedged};
use papir_lookup::MAX_VALUE_BYTES;
use papir_lookup::oprf::ELEMENT_BYTES;
use papir_lookup::psi::{Filter, Kind, Match, Receiver, Wanted as Masked};
use papir_protocol::{PsiInfo, path};

use super::checkpoints::OwnerTrust;
use super::pins::{NamePin, wrong_root};
use super::queries::{QueryReply, QueryRequest};
use super::service::Service;
use super::session::Session;
use super::settings::Settings;
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

/// Bytes sent and received so far.
#[derive(Default)]
struct Traffic {
    sent: u64,
    received: u64,
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
    Task::new(move |io| async move {
        let elements: Vec<&[u8]> = elements.iter().map(AsRef::as_ref).collect();
        IntersectionTask {
            io: &io,
            service,
            settings,
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
}

impl IntersectionTask<'_> {
    async fn intersect(&self, elements: &[&[u8]]) -> Result<Intersection> {
        let start = self.service.platform.now();
        let mut traffic = Traffic::default();
        let mut changes = 0;

        loop {
            match self.run(elements, &mut traffic).await {
                Ok((info, matches)) => {
                    let Traffic { sent, received } = traffic;
                    let time = self.service.platform.now().saturating_sub(start);
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
    async fn run(
        &self,
        elements: &[&[u8]],
        traffic: &mut Traffic,
    ) -> Result<(PsiInfo, Vec<Match>), RunError> {
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

        // Fresh blinds for each attempt: under the same ones the service could link the attempts.
        let (receiver, blinded) = Receiver::new(elements, &mut self.blinds(elements, &info))?;
        let evaluated = self.evaluate(&blinded, &info, version, traffic).await?;
        let masked = receiver.unmask(&evaluated)?;

        let matches = match kind {
            Kind::Filter => masked.in_filter(&self.filter(&info, traffic).await?),
            Kind::Retrieval => self.retrieve(&masked, &info, traffic).await?,
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
        traffic: &mut Traffic,
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
                limit,
            };

            // Counted before the reply: the bytes have been sent in any case.
            traffic.sent += limit;
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

        traffic.received += evaluated.len() as u64;
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

    /// The filter of this version, from the storage or fetched.
    async fn filter(&self, info: &PsiInfo, traffic: &mut Traffic) -> Result<Filter, RunError> {
        // Apart from the service's own slot: its database and its set are different things.
        let set = self.service.address.identity("") + " set";
        let slot = self.service.unlinked_slot(set);
        let storage = SlotStorage::new(self.io, &slot);
        if let Some(filter) = stored_filter(storage, info).await {
            return Ok(filter);
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

        traffic.received += bytes.len() as u64;
        let filter = Filter::decode(&bytes)?;
        // If the filter cannot be stored, it is fetched again next time.
        let _ = storage
            .keep_filter([info.version.as_bytes(), &bytes].concat())
            .await;
        Ok(filter)
    }

    /// Looks up all masked elements, including padding, in the set's database.
    async fn retrieve(
        &self,
        masked: &Masked,
        info: &PsiInfo,
        traffic: &mut Traffic,
    ) -> Result<Vec<Match>, RunError> {
        let named = self.service.named(&self.settings);
        if let (Some(expected), Some(found)) = (named, &info.database)
            && expected != found
        {
            let reason = format!("the set's database is `{found}`: expected `{expected}`");
            return Err(unexpected(&self.service.url(path::PSI), reason).into());
        }

        let settings = Settings {
            database: info.database.clone(),
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
        traffic.sent += costs.query_bytes;
        // Also of a lookup that failed, since the costs are of the session.
        traffic.received += costs.public_bytes + costs.answer_bytes;

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
