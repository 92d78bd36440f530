//! The receiver of a private set intersection: which of its elements a service's set has.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use papir_core::Version;
use papir_lookup::psi::{Filter, Kind, Match, Receiver, Wanted};
use papir_oprf::ELEMENT_BYTES;
use serde::Deserialize;

use crate::address::Address;
use crate::transport::{Ask, Reply, Transport, unexpected};
use crate::{Connection, Error, Options, Result, state, system_rng};

/// How often a set may be replaced while it is met.
const CHANGES: usize = 3;

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
    pub longest_label: Option<usize>,
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
            Err(Unfinished::Moved(_)) if changes < CHANGES => changes += 1,
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
        for part in blinded.chunks(info.max_elements.max(1) * ELEMENT_BYTES) {
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

    /// The filter of this version, kept or fetched.
    fn filter(&self, info: &PsiInfo, traffic: &mut Traffic) -> Result<Filter, Unfinished> {
        let kept = kept_path(self.options, &self.address);
        if let Some(filter) = kept.as_deref().and_then(|path| kept_filter(path, &info.version)) {
            return Ok(filter);
        }
        let url = self.address.psi("/filter");
        let limit = info.filter_bytes.unwrap_or_default();
        let bytes = self.transport.bytes_of(&url, &info.version, limit)?;
        let moved = || Unfinished::Moved(unexpected(&url, "another version at each try".to_owned()));
        let bytes = bytes.ok_or_else(moved)?;
        traffic.received += bytes.len() as u64;
        let filter = Filter::decode(&bytes)?;
        if let Some(path) = kept {
            // Kept for the next time: without it, it is fetched again.
            let _ = keep(&path, &info.version, &bytes);
        }
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
        let values = connection.get_keys(&wanted.names())?;
        let costs = connection.costs();
        traffic.sent += costs.query_bytes;
        traffic.received += costs.public_bytes + costs.answer_bytes;
        if connection.info().version != info.version {
            let reason = format!("version {}: expected {}", connection.info().version, info.version);
            return Err(Unfinished::Moved(unexpected(self.url, reason)));
        }
        Ok(wanted.opened(&values, info.longest_label)?)
    }
}

/// Where the filter of a service is kept.
fn kept_path(options: &Options, address: &Address) -> Option<PathBuf> {
    let directory = options.state.clone().or_else(state::default_state_directory)?;
    let name = blake3::hash(address.identity("").as_bytes()).to_hex();
    Some(directory.join(format!("{}.filter", &name[..32])))
}

/// The filter that is kept, if it is of this version.
fn kept_filter(path: &Path, version: &str) -> Option<Filter> {
    let bytes = std::fs::read(path).ok()?;
    Filter::decode(bytes.strip_prefix(version.as_bytes())?).ok()
}

/// Keeps a filter: its version, then its bytes. Whoever reads it meanwhile sees the old one or the new one.
fn keep(path: &Path, version: &str, filter: &[u8]) -> std::io::Result<()> {
    if let Some(directory) = path.parent() {
        std::fs::create_dir_all(directory)?;
    }
    let partial = path.with_extension(format!("filter-{}", std::process::id()));
    std::fs::write(&partial, [version.as_bytes(), filter].concat())?;
    std::fs::rename(&partial, path)
}
