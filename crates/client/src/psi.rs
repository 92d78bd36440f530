//! The receiver of a private set intersection: which of its elements a service's set has.

use std::thread::sleep;
use std::time::{Duration, Instant};

use papir_core::Version;
use papir_lookup::MAX_VALUE_BYTES;
use papir_lookup::psi::{Filter, Kind, Match, Receiver, Wanted};
use papir_oprf::ELEMENT_BYTES;
use serde::Deserialize;

use crate::address::Address;
use crate::state::Slot;
use crate::transport::{Ask, Reply, Transport, unexpected};
use crate::{Connection, Error, Options, Result, system_rng};

/// How often a set may be replaced while it is met.
const CHANGES: usize = 3;
/// How long a service is given to load the rest of a set that was replaced.
const PATIENCE: Duration = Duration::from_secs(1);
/// The most elements that are sent at once, whatever a service takes.
const MAX_ELEMENTS: usize = 1 << 16;
/// The longest label that is believed in, in bytes.
const LONGEST_LABEL: u32 = MAX_VALUE_BYTES as u32;

/// What a service says of its set.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct PsiInfo {
    /// `filter` or `retrieval`.
    pub kind: String,
    /// The version of the filter or database, 16 hexadecimal digits.
    pub version: String,
    /// Elements of the set.
    pub elements: u64,
    /// Bytes of the longest label; `None` for a set without labels.
    pub longest_label: Option<u32>,
    /// The most elements of one request.
    pub max_elements: usize,
    /// Bytes of the filter.
    pub filter_bytes: Option<u64>,
    /// The database that elements are looked up in.
    pub database: Option<String>,
}

/// What an intersection gave, and cost.
#[derive(Clone, Debug)]
pub struct Intersection {
    /// The elements that the set has, in the order of the receiver's.
    pub matches: Vec<Match>,
    /// What the service says of its set.
    pub info: PsiInfo,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Bytes received: evaluated elements, answers, a filter where none was kept, a public part.
    pub received_bytes: u64,
    /// From begin to end.
    pub time: Duration,
}

/// What was sent and received so far.
#[derive(Default)]
struct Traffic {
    sent: u64,
    received: u64,
}

/// Why there is no result yet.
enum Unfinished {
    /// The set was replaced meanwhile.
    Moved(Error),
    Failed(Error),
}

impl<E: Into<Error>> From<E> for Unfinished {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// Asks the service at `url` which of the elements its set has, and for their labels. The service learns about
/// how many elements there are ([`papir_lookup::psi::padded`]), and nothing else. A filter is kept in the
/// directory of client state, where there is one, and fetched again when the set is another.
///
/// # Errors
/// [`Error::BadUrl`], those of the network and of the service (status 404: it has no set), and
/// [`papir_core::Error::OutOfBounds`] for elements of 2¹⁶ bytes and more.
pub fn intersect<E: AsRef<[u8]>>(url: &str, elements: &[E], options: &Options) -> Result<Intersection> {
    let (start, address) = (Instant::now(), Address::parse(url)?);
    let session = Session { url, transport: Transport::new(&address, options)?, address, options };
    let mut traffic = Traffic::default();
    let mut changes = 0;
    loop {
        match session.run(elements, &mut traffic) {
            Ok((info, matches)) => {
                let Traffic { sent, received } = traffic;
                let (sent_bytes, received_bytes) = (sent, received);
                return Ok(Intersection { matches, info, sent_bytes, received_bytes, time: start.elapsed() });
            }
            Err(Unfinished::Moved(_)) if changes < CHANGES => {
                changes += 1;
                sleep(PATIENCE);
            }
            Err(Unfinished::Moved(error) | Unfinished::Failed(error)) => return Err(error),
        }
    }
}

/// A receiver and its service.
struct Session<'a> {
    url: &'a str,
    transport: Transport,
    address: Address,
    options: &'a Options,
}

impl Session<'_> {
    fn run<E: AsRef<[u8]>>(
        &self,
        elements: &[E],
        traffic: &mut Traffic,
    ) -> Result<(PsiInfo, Vec<Match>), Unfinished> {
        let url = self.address.psi("");
        let info: PsiInfo = self.transport.json(&url)?;
        let bad = |what: &str| unexpected(&url, format!("a set with {what}"));
        let kind: Kind = info.kind.parse().map_err(|_| bad("a kind that is not known"))?;
        let version: Version = info.version.parse().map_err(|_| bad("no version"))?;
        if info.longest_label.is_some_and(|longest| longest > LONGEST_LABEL) {
            return Err(bad("labels that are too long").into());
        }
        let (receiver, blinded) = Receiver::new(elements, &mut system_rng())?;
        let evaluated = self.evaluate(&blinded, (&info, version), traffic)?;
        let wanted = receiver.unmask(&evaluated)?;
        let matches = match kind {
            Kind::Filter => wanted.in_filter(&self.filter(&info, traffic)?),
            Kind::Retrieval => self.retrieve(&wanted, &info, traffic)?,
        };
        Ok((info, matches))
    }

    fn evaluate(
        &self,
        blinded: &[u8],
        (info, version): (&PsiInfo, Version),
        traffic: &mut Traffic,
    ) -> Result<Vec<u8>, Unfinished> {
        let url = self.address.psi("/evaluate");
        let mut evaluated = Vec::with_capacity(blinded.len());
        for part in blinded.chunks(info.max_elements.clamp(1, MAX_ELEMENTS) * ELEMENT_BYTES) {
            let limit = part.len() as u64;
            let ask = Ask { version, client: None, tickets: &[], queries: part, limit };
            traffic.sent += limit;
            match self.transport.ask(&url, &ask)? {
                Reply::Answers(bytes) => evaluated.extend(bytes),
                Reply::Moved(error) => return Err(Unfinished::Moved(error)),
                Reply::Gone(error) => return Err(error.into()),
            }
        }
        traffic.received += evaluated.len() as u64;
        Ok(evaluated)
    }

    /// What the filter of this service is kept under.
    fn identity(&self) -> String {
        self.address.identity("") + " set"
    }

    /// The filter of this version, kept or fetched.
    fn filter(&self, info: &PsiInfo, traffic: &mut Traffic) -> Result<Filter, Unfinished> {
        let kept = Slot::open(self.options, &self.identity()).ok();
        if let Some(filter) = kept.as_ref().and_then(|slot| kept_filter(slot, info)) {
            return Ok(filter);
        }
        let url = self.address.psi("/filter");
        let limit = info.filter_bytes.unwrap_or_default();
        let bytes = self.transport.bytes_of(&url, &info.version, limit)?;
        let moved = || Unfinished::Moved(unexpected(&url, "another version at each try".to_owned()));
        let bytes = bytes.ok_or_else(moved)?;
        traffic.received += bytes.len() as u64;
        let filter = Filter::decode(&bytes)?;
        // Kept for the next time: where it cannot be, it is fetched again.
        let _ = kept.map(|slot| slot.lock()?.keep_filter(&[info.version.as_bytes(), &bytes].concat()));
        Ok(filter)
    }

    /// Looks all masked elements up, those that pad too.
    fn retrieve(
        &self,
        wanted: &Wanted,
        info: &PsiInfo,
        traffic: &mut Traffic,
    ) -> Result<Vec<Match>, Unfinished> {
        let options = Options { database: info.database.clone(), ..self.options.clone() };
        let mut connection = Connection::open_with(self.url, &options)?;
        self.same(&connection, info)?;
        let values = connection.get_keys(&wanted.names())?;
        let costs = connection.costs();
        traffic.sent += costs.query_bytes;
        traffic.received += costs.public_bytes + costs.answer_bytes;
        // It follows a database that changes: names mean nothing in another version.
        self.same(&connection, info)?;
        Ok(wanted.opened(&values, info.longest_label.map(|longest| longest as usize))?)
    }

    /// Whether the database is the one that belongs to the set.
    fn same(&self, connection: &Connection, info: &PsiInfo) -> Result<(), Unfinished> {
        if connection.info().version == info.version {
            return Ok(());
        }
        let reason = format!("version {}: expected {}", connection.info().version, info.version);
        Err(Unfinished::Moved(unexpected(self.url, reason)))
    }
}

/// The filter that is kept, if it is of this version.
fn kept_filter(slot: &Slot, info: &PsiInfo) -> Option<Filter> {
    let limit = info.filter_bytes?.saturating_add(info.version.len() as u64);
    let bytes = slot.filter(limit).ok()??;
    Filter::decode(bytes.strip_prefix(info.version.as_bytes())?).ok()
}
