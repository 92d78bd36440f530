//! Names → verdicts → replies.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hickory_proto::op::{Query, ResponseCode};
use hickory_proto::rr::{Name, Record, RecordType};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::Result;
use crate::arguments::{BlockedAnswer, ServeArguments};
use crate::cache::Cache;
use crate::forward::Forwarder;
use crate::names::{key_of, keys_of_name_and_parents};
use crate::reply::{Reply, SHORT_LIFETIME, lifetime_of};
use crate::table::Table;
use crate::zone::records_of;

/// Most names that are looked up at the same time. A query beyond is answered by SERVFAIL.
const MOST_LOOKUPS: usize = 64;

/// The verdict of both tables on a name.
#[derive(Clone)]
enum Verdict {
    Blocked,
    /// The records of the name, and of the names that it leads to.
    Known(Arc<[Record]>),
    Unknown,
}

impl Verdict {
    fn lifetime(&self) -> Duration {
        match self {
            Self::Known(records) => lifetime_of(records),
            Self::Blocked | Self::Unknown => SHORT_LIFETIME,
        }
    }
}

/// Answers queries by the tables' verdicts. Without a verdict the answer is SERVFAIL.
pub(crate) struct Stub {
    tables: Arc<Tables>,
    lookups: Arc<Semaphore>,
    patience: Duration,
    blocked: BlockedAnswer,
    forwarder: Option<Forwarder>,
    forwarded: Cache<(String, RecordType), Reply>,
}

/// Both tables, and the verdicts that they gave.
struct Tables {
    blocklist: Option<Table>,
    zone: Option<Table>,
    /// Keys of a request to the blocklist.
    batch: usize,
    verdicts: Cache<String, Verdict>,
}

impl Stub {
    /// Connects to the services of both tables.
    pub(crate) async fn open(arguments: &ServeArguments) -> Result<Self> {
        let service = &arguments.service;
        let blocklist = match &arguments.blocklist {
            Some(url) => Some(Table::open("blocklist", url, service).await?),
            None => None,
        };
        let zone = match &arguments.zone {
            Some(url) => Some(Table::open("zone", url, service).await?),
            None => None,
        };

        let tables = Tables {
            blocklist,
            zone,
            batch: arguments.batch.get(),
            verdicts: Cache::new(arguments.cache),
        };
        Ok(Self {
            tables: Arc::new(tables),
            lookups: Arc::new(Semaphore::new(MOST_LOOKUPS)),
            patience: Duration::from_secs(arguments.timeout),
            blocked: arguments.blocked,
            forwarder: arguments.forward.map(Forwarder::new),
            forwarded: Cache::new(arguments.cache),
        })
    }

    /// Returns the reply to a query of class IN.
    pub(crate) async fn reply(&self, query: &Query) -> Reply {
        let key = key_of(query.name());
        if let Some(cached) = self.tables.verdicts.get(&key, Instant::now()) {
            return self.reply_by(query, cached.value, cached.age).await;
        }

        match self.look_up(query.name().clone()).await {
            Some(verdict) => self.reply_by(query, verdict, Duration::ZERO).await,
            None => Reply::of_code(ResponseCode::ServFail),
        }
    }

    /// The tables' verdict on a name; `None` if there is none in time.
    ///
    /// The lookup goes on after that, so that its verdict is cached when the client asks again.
    async fn look_up(&self, name: Name) -> Option<Verdict> {
        let place = Arc::clone(&self.lookups).try_acquire_owned().ok()?;
        let tables = Arc::clone(&self.tables);
        let lookup = tokio::spawn(async move {
            let verdict = tables.look_up(&name).await;
            drop(place);
            verdict.ok()
        });

        timeout(self.patience, lookup).await.ok()?.ok()?
    }

    async fn reply_by(&self, query: &Query, verdict: Verdict, age: Duration) -> Reply {
        match verdict {
            Verdict::Blocked => Reply::blocked(query, self.blocked),
            Verdict::Known(records) => Reply::known(query, &records).aged(age),
            Verdict::Unknown => match &self.forwarder {
                Some(forwarder) => self.forward(forwarder, query).await,
                None => Reply::of_code(ResponseCode::ServFail),
            },
        }
    }

    /// Asks the resolver for unknown names, or the cache of its replies.
    async fn forward(&self, forwarder: &Forwarder, query: &Query) -> Reply {
        let key = (key_of(query.name()), query.query_type());
        if let Some(cached) = self.forwarded.get(&key, Instant::now()) {
            return cached.value.aged(cached.age);
        }

        match timeout(self.patience, forwarder.ask(query)).await {
            Ok(Ok(reply)) => {
                let lifetime = reply.lifetime();
                self.forwarded
                    .put(key, reply.clone(), lifetime, Instant::now());
                reply
            }
            _ => Reply::of_code(ResponseCode::ServFail),
        }
    }
}

impl Tables {
    /// Looks a name up in both tables, and caches the verdict.
    ///
    /// The zone is asked for blocked names, too: otherwise its service would see which names are
    /// blocked, by the requests that are missing.
    async fn look_up(&self, name: &Name) -> Result<Verdict> {
        let asked = Instant::now();
        let (is_blocked, records) = tokio::join!(self.is_blocked(name), self.records(name));

        // A name is unknown only if both tables say so.
        let verdict = if is_blocked? {
            Verdict::Blocked
        } else {
            match records? {
                Some(records) => Verdict::Known(records.into()),
                None => Verdict::Unknown,
            }
        };
        let lifetime = verdict.lifetime();
        self.verdicts
            .put(key_of(name), verdict.clone(), lifetime, asked);
        Ok(verdict)
    }

    /// Returns whether the blocklist has a name, or a parent of it.
    async fn is_blocked(&self, name: &Name) -> Result<bool> {
        let Some(blocklist) = &self.blocklist else {
            return Ok(false);
        };
        let keys = keys_of_name_and_parents(name, self.batch);
        let found = blocklist.get(&keys).await?;
        Ok(found.iter().any(Option::is_some))
    }

    /// The records of a name; `None` if the zone does not have the name.
    async fn records(&self, name: &Name) -> Result<Option<Vec<Record>>> {
        let Some(zone) = &self.zone else {
            return Ok(None);
        };
        let found = zone.get(&[key_of(name)]).await?;
        found
            .into_iter()
            .flatten()
            .next()
            .map(|value| records_of(&value))
            .transpose()
    }
}
