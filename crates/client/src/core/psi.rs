//! The receiver of a private set intersection.

use std::sync::Arc;
use std::time::Duration;

use papir_core::Version;
use papir_lookup::MAX_VALUE_BYTES;
use papir_lookup::psi::{Filter, Kind, Match, Receiver, Wanted as Masked};
use papir_oprf::ELEMENT_BYTES;
use papir_protocol::{PsiInfo, path};

use super::queries::{QueryReply, QueryRequest};
use super::service::Service;
use super::session::Session;
use super::settings::Settings;
use super::storage::Storage;
use super::task::{Io, Task};
use crate::error::{Error, Result, unexpected};

/// Most replacements of the set during one intersection.
const CHANGES: usize = 3;
/// The wait for a service to load the rest of a set that was replaced.
const PATIENCE: Duration = Duration::from_secs(1);
/// Most elements in one request, whatever a service accepts.
const MAX_ELEMENTS: usize = 1 << 16;
/// Longest label that is accepted, in bytes.
const LONGEST_LABEL: u32 = MAX_VALUE_BYTES as u32;

/// The result and the costs of an intersection.
#[derive(Clone, Debug)]
pub struct Intersection {
    /// The elements that the set has, in the order of the receiver's.
    pub matches: Vec<Match>,
    /// The service's description of its set.
    pub info: PsiInfo,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Bytes received: evaluated elements, answers, a filter unless one was kept, a public part.
    pub received_bytes: u64,
    /// From start to end.
    pub time: Duration,
}

/// Bytes sent and received so far.
#[derive(Default)]
struct Traffic {
    sent: u64,
    received: u64,
}

/// The reason that a run has no result.
enum Unfinished {
    /// The set was replaced during the run.
    Moved(Error),
    Failed(Error),
}

impl<E: Into<Error>> From<E> for Unfinished {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// Finds the elements that a service's set has, and their labels. The service learns roughly how
/// many elements there are ([`papir_lookup::psi::padded`]) and nothing else. A filter is kept in
/// the storage if there is one, and fetched again after the set changes.
///
/// # Errors
/// Errors of the network and of the service (status 404: it has no set), and
/// [`papir_core::Error::OutOfBounds`] for elements of 2¹⁶ bytes and more.
pub fn intersect<'a>(
    service: Service,
    settings: Settings,
    elements: &'a [&'a [u8]],
) -> Task<'a, Result<Intersection>> {
    Task::new(move |io| async move { Receiving { io: &io, service, settings }.intersect(elements).await })
}

/// A receiver and its service.
struct Receiving<'a> {
    io: &'a Io,
    service: Service,
    settings: Settings,
}

impl Receiving<'_> {
    async fn intersect(&self, elements: &[&[u8]]) -> Result<Intersection> {
        let (start, mut traffic) = (self.service.platform.now(), Traffic::default());
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
                Err(Unfinished::Moved(_)) if changes < CHANGES => {
                    changes += 1;
                    self.io.wait(PATIENCE).await;
                }
                Err(Unfinished::Moved(error) | Unfinished::Failed(error)) => return Err(error),
            }
        }
    }

    async fn run(
        &self,
        elements: &[&[u8]],
        traffic: &mut Traffic,
    ) -> Result<(PsiInfo, Vec<Match>), Unfinished> {
        let info: PsiInfo = self.service.json(self.io, path::PSI).await?;
        let bad = |what: &str| unexpected(&self.service.url(path::PSI), format!("a set with {what}"));
        let kind: Kind = info.kind.parse().map_err(|_| bad("an unknown kind"))?;
        let version: Version = info.version.parse().map_err(|_| bad("an invalid version"))?;
        if info.longest_label.is_some_and(|longest| longest > LONGEST_LABEL) {
            return Err(bad("labels that are too long").into());
        }
        let (receiver, blinded) = Receiver::new(elements, &mut *self.service.platform.rng())?;
        let evaluated = self.evaluate(&blinded, &info, version, traffic).await?;
        let masked = receiver.unmask(&evaluated)?;
        let matches = match kind {
            Kind::Filter => masked.in_filter(&self.filter(&info, traffic).await?),
            Kind::Retrieval => self.retrieve(&masked, &info, traffic).await?,
        };
        Ok((info, matches))
    }

    async fn evaluate(
        &self,
        blinded: &[u8],
        info: &PsiInfo,
        version: Version,
        traffic: &mut Traffic,
    ) -> Result<Vec<u8>, Unfinished> {
        let mut evaluated = Vec::with_capacity(blinded.len());
        for part in blinded.chunks(info.max_elements.clamp(1, MAX_ELEMENTS) * ELEMENT_BYTES) {
            let limit = part.len() as u64;
            let queries = Arc::new(part.to_vec());
            let request = QueryRequest { version, client: None, tickets: &[], queries, limit };
            traffic.sent += limit;
            match self.service.query(self.io, path::PSI_EVALUATE, &request).await? {
                QueryReply::Answers(bytes) => evaluated.extend(bytes),
                QueryReply::WrongVersion(error) => return Err(Unfinished::Moved(error)),
                QueryReply::ClientGone(error) => return Err(error.into()),
            }
        }
        traffic.received += evaluated.len() as u64;
        Ok(evaluated)
    }

    /// The filter of this version, kept or fetched.
    async fn filter(&self, info: &PsiInfo, traffic: &mut Traffic) -> Result<Filter, Unfinished> {
        let slot = self.service.address.identity("") + " set";
        let storage = Storage::new(self.io, &slot);
        if let Some(filter) = kept_filter(storage, info).await {
            return Ok(filter);
        }
        let limit = info.filter_bytes.unwrap_or_default();
        let bytes = self.service.bytes_of(self.io, path::PSI_FILTER, &info.version, limit).await?;
        let moved = || {
            let url = self.service.url(path::PSI_FILTER);
            Unfinished::Moved(unexpected(&url, "another version at each try".to_owned()))
        };
        let bytes = bytes.ok_or_else(moved)?;
        traffic.received += bytes.len() as u64;
        let filter = Filter::decode(&bytes)?;
        // A filter that cannot be kept is fetched again the next time.
        let _ = storage.keep_filter([info.version.as_bytes(), &bytes].concat()).await;
        Ok(filter)
    }

    /// Looks up all masked elements, padding included.
    async fn retrieve(
        &self,
        masked: &Masked,
        info: &PsiInfo,
        traffic: &mut Traffic,
    ) -> Result<Vec<Match>, Unfinished> {
        let settings = Settings { database: info.database.clone(), ..self.settings.clone() };
        let mut session = Session::connect(self.io, self.service.clone(), settings).await?;
        self.check_version(&session, info)?;
        let names = masked.names();
        let wanted: Vec<_> = names.iter().map(|name| papir_lookup::Wanted::Key(name.as_slice())).collect();
        let values = session.look_up(self.io, &wanted).await?;
        let costs = session.costs();
        traffic.sent += costs.query_bytes;
        traffic.received += costs.public_bytes + costs.answer_bytes;
        // The session follows a database that changes; in another version the names mean nothing.
        self.check_version(&session, info)?;
        Ok(masked.opened(&values, info.longest_label.map(|longest| longest as usize))?)
    }

    /// Checks that the database belongs to the set.
    fn check_version(&self, session: &Session, info: &PsiInfo) -> Result<(), Unfinished> {
        if session.info().version == info.version {
            return Ok(());
        }
        let reason = format!("version {}: expected {}", session.info().version, info.version);
        Err(Unfinished::Moved(unexpected(&self.service.url(""), reason)))
    }
}

/// The filter that is kept, if it is of this version.
async fn kept_filter(storage: Storage<'_>, info: &PsiInfo) -> Option<Filter> {
    let limit = info.filter_bytes?.saturating_add(info.version.len() as u64);
    let bytes = storage.filter(limit).await.ok()??;
    Filter::decode(bytes.strip_prefix(info.version.as_bytes())?).ok()
}
