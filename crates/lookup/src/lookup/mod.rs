//! Private lookups by key or index, independent of the transport.

mod database;
mod pending;

use std::sync::Arc;

use papir_core::erased::{ErasedClient, ErasedState};
use papir_core::{Description, Error as CoreError, Version};
use rand_core::CryptoRng;

use crate::commitment::{Commitment, Root};
use crate::delta::{DeltaPart, MAX_QUERIES_BYTES};
use crate::error::{Error, Result};
use crate::ids::KeyId;
use crate::layout::KeywordLayout;
use crate::prefilter::{Prefilter, PrefilterSummary};
use database::{DatabaseClient, DatabaseLookups, Need, PreparedLookups};

pub use pending::{AnswerLengths, Pending};

/// A lookup client for one version of a database. It is cheap to clone.
#[derive(Clone)]
pub struct Lookup {
    base: Arc<DatabaseClient>,
    delta: Option<Delta>,
    /// The filter of the base's keys that its public part states.
    stated_prefilter: Option<PrefilterSummary>,
    /// That filter, once it is fetched.
    prefilter: Option<Arc<Prefilter>>,
}

/// The client of a delta, and the number of records with it.
#[derive(Clone)]
struct Delta {
    database: Arc<DatabaseClient>,
    /// Number of records of base and delta together; `None` for a database with keys.
    records: Option<u64>,
    /// The filter of the changed keys.
    prefilter: Option<Arc<Prefilter>>,
}

impl Lookup {
    /// Makes a lookup client from a scheme's client and, for a database with keys, the layout.
    ///
    /// # Errors
    /// [`CoreError::Malformed`] if the layout belongs to another database,
    /// [`CoreError::OutOfBounds`] if the queries of one lookup, or its answers, are longer than
    /// [`papir_core::MAX_MESSAGE_BYTES`] together.
    pub fn new(client: Box<dyn ErasedClient>, keyword: Option<KeywordLayout>) -> Result<Self> {
        Self::new_verifying(client, keyword, None)
    }

    /// Like [`Lookup::new`]. If `commitment_top` is the top of a hash tree, the client verifies the
    /// Merkle proof of every record.
    ///
    /// # Errors
    /// The errors of [`Lookup::new`] and [`Commitment::of_prepared`].
    pub fn new_verifying(
        client: Box<dyn ErasedClient>,
        keyword: Option<KeywordLayout>,
        commitment_top: Option<[u8; 32]>,
    ) -> Result<Self> {
        let prepared = client.describe().shape;
        let commitment = match commitment_top {
            Some(top) => Some(Commitment::of_prepared(&prepared, top)?),
            None => None,
        };

        // The layout describes the records without their proofs.
        let shape = match &commitment {
            Some(commitment) => *commitment.shape(),
            None => prepared,
        };
        if let Some(layout) = &keyword {
            layout.check_shape(&shape)?;
        }

        let base = DatabaseClient {
            client,
            keyword,
            commitment,
        };
        base.check_messages()?;

        Ok(Self {
            base: Arc::new(base),
            delta: None,
            stated_prefilter: None,
            prefilter: None,
        })
    }

    /// Returns the same client with the statement of the filter in the base's public part; `None`
    /// for a base without a filter.
    #[must_use]
    pub fn stating_prefilter(self, stated: Option<PrefilterSummary>) -> Self {
        Self {
            stated_prefilter: stated,
            ..self
        }
    }

    /// Returns the same client with the filter of the base that its public part states.
    ///
    /// # Errors
    /// [`CoreError::Malformed`] if the public part states no filter, and the errors of
    /// [`Prefilter::verified`].
    pub fn with_prefilter(self, bytes: Vec<u8>) -> Result<Self> {
        let Some(stated) = &self.stated_prefilter else {
            let expected = "none, as in the public part";
            return Err(CoreError::malformed("a database", "a prefilter", expected).into());
        };

        let filter = Prefilter::verified(bytes, stated)?;
        Ok(Self {
            prefilter: Some(Arc::new(filter)),
            ..self
        })
    }

    /// The filter of the base that its public part states, whether or not this client has it;
    /// `None` for a base without a filter.
    pub fn stated_prefilter(&self) -> Option<&PrefilterSummary> {
        self.stated_prefilter.as_ref()
    }

    /// The filter of the base; `None` if this client has none.
    pub fn prefilter(&self) -> Option<&Prefilter> {
        self.prefilter.as_deref()
    }

    /// Returns true if a filter excludes what is wanted, so that it is absent. Returns false
    /// without filters, if only one of base and delta has one, and for an index.
    ///
    /// Its time depends on the key. A client that sends nothing for an excluded key tells the
    /// service that it looked up a key that is probably present whenever it sends something.
    pub fn excludes_vartime(&self, wanted: Wanted<'_>) -> bool {
        let Wanted::Key(key) = wanted else {
            return false;
        };

        let (Some(filter), Some(layout)) = (&self.prefilter, &self.base.keyword) else {
            return false;
        };
        if filter.may_have_vartime(layout, key) {
            return false;
        }

        match &self.delta {
            None => true,
            Some(delta) => delta.excludes_vartime(key),
        }
    }

    /// Returns the same client with a delta, which replaces an earlier one. `client` is the client
    /// of the delta's scheme. Every lookup then queries both base and delta.
    ///
    /// # Errors
    /// [`CoreError::WrongVersion`] for the delta of another base; [`CoreError::Malformed`] if
    /// clients of the base register, or the delta's keys, records or proofs do not match the base;
    /// and the errors of [`Lookup::new_verifying`].
    pub fn with_delta(&self, client: Box<dyn ErasedClient>, delta: &DeltaPart) -> Result<Self> {
        let found = delta.base;
        let expected = self.base_version();
        if found != expected {
            return Err(CoreError::WrongVersion { found, expected }.into());
        }

        self.check_no_registration()?;
        self.check_delta_records(delta)?;
        self.check_delta_proofs(delta)?;

        let keyword = delta.bundle.keyword.clone();
        let top = delta.bundle.commitment_top;
        let delta = Delta {
            database: Self::new_verifying(client, keyword, top)?.base,
            records: delta.records,
            prefilter: delta.prefilter.clone().map(Arc::new),
        };
        Ok(Self {
            delta: Some(delta),
            ..self.clone()
        })
    }

    /// Refuses a delta if clients of the base register: their state is for the base alone.
    fn check_no_registration(&self) -> Result<()> {
        let limits = self.describe().limits;
        if limits.client_keys || limits.tickets {
            let found = "one beside a database whose clients register";
            return Err(CoreError::malformed("a delta", found, "none").into());
        }
        Ok(())
    }

    /// Refuses a delta with fewer records than the base, or with records beside a base with keys,
    /// or the reverse.
    fn check_delta_records(&self, delta: &DeltaPart) -> Result<()> {
        let records = match &self.base.keyword {
            Some(_) => None,
            None => Some(self.describe().shape.records()),
        };
        if delta.records.is_some() == records.is_some() && delta.records >= records {
            return Ok(());
        }

        let found = records_words(delta.records);
        let expected = format!("{} or more", records_words(records));
        Err(CoreError::malformed("a delta", found, expected).into())
    }

    /// Refuses a delta unless its records have proofs exactly if the records of the base do.
    fn check_delta_proofs(&self, delta: &DeltaPart) -> Result<()> {
        let found = delta.bundle.commitment_top.is_some();
        let expected = self.base.commitment.is_some();
        if found == expected {
            return Ok(());
        }

        let expected = format!("{}, as in the base", proofs_words(expected));
        Err(CoreError::malformed("a delta", proofs_words(found), expected).into())
    }

    /// Returns the same client without its delta.
    #[must_use]
    pub fn without_delta(&self) -> Self {
        Self {
            delta: None,
            ..self.clone()
        }
    }

    /// Returns the same client without the filter of the base, which then excludes nothing.
    #[must_use]
    pub fn without_prefilter(&self) -> Self {
        Self {
            prefilter: None,
            ..self.clone()
        }
    }

    /// Sizes, security and parameters of the base's scheme.
    pub fn describe(&self) -> Description {
        self.base.client.describe()
    }

    /// Sizes, security and parameters of the delta's scheme; `None` without a delta.
    pub fn describe_delta(&self) -> Option<Description> {
        Some(self.delta.as_ref()?.database.client.describe())
    }

    /// Version of the database: the version of the delta if there is one, else of the base.
    pub fn version(&self) -> Version {
        let database = match &self.delta {
            Some(delta) => &delta.database,
            None => &self.base,
        };
        database.client.version()
    }

    /// Version of the base.
    pub fn base_version(&self) -> Version {
        self.base.client.version()
    }

    /// Layout of the keys; `None` if records are looked up by index.
    pub fn keyword(&self) -> Option<&KeywordLayout> {
        self.base.keyword.as_ref()
    }

    /// Root against which the client verifies every record of the base; `None` if the database is
    /// not verifiable.
    pub fn root(&self) -> Option<Root> {
        Some(self.base.commitment?.root(self.base.keyword.as_ref()))
    }

    /// The scheme's client, which handles the state of registered clients.
    pub fn client(&self) -> &dyn ErasedClient {
        &*self.base.client
    }

    /// Makes the queries for a key. Their number and lengths are the same for every key, present or
    /// absent.
    ///
    /// # Errors
    /// [`Error::NotKeyed`] for a database without keys, or the errors of the scheme.
    pub fn prepare_key(&self, key: &[u8], rng: &mut dyn CryptoRng) -> Result<Pending> {
        self.prepare_key_with(None, key, rng)
    }

    /// Like [`Lookup::prepare_key`], for a registered client. Save the client's state before
    /// sending a query.
    ///
    /// # Errors
    /// The errors of [`Lookup::prepare_key`].
    pub fn prepare_key_with(
        &self,
        state: Option<&mut ErasedState>,
        key: &[u8],
        rng: &mut dyn CryptoRng,
    ) -> Result<Pending> {
        self.prepare_batch(state, &[Wanted::Key(key)], rng)
    }

    /// Makes the queries for the record at an index.
    ///
    /// For an index beyond the last record, it queries record 0, and [`Pending::finish`] returns
    /// the error. The number of records comes from the server, which could otherwise learn from a
    /// missing query that the index is larger.
    ///
    /// # Errors
    /// [`Error::Keyed`] for a database with keys, or the errors of the scheme.
    pub fn prepare_index(&self, index: u64, rng: &mut dyn CryptoRng) -> Result<Pending> {
        self.prepare_index_with(None, index, rng)
    }

    /// Like [`Lookup::prepare_index`], for a registered client. Save the client's state before
    /// sending a query.
    ///
    /// # Errors
    /// The errors of [`Lookup::prepare_index`].
    pub fn prepare_index_with(
        &self,
        state: Option<&mut ErasedState>,
        index: u64,
        rng: &mut dyn CryptoRng,
    ) -> Result<Pending> {
        self.prepare_batch(state, &[Wanted::Index(index)], rng)
    }

    /// Returns the number of queries to the base for `lookups` lookups. Each query retrieves the
    /// largest number of records that the scheme allows. The server learns the number of queries,
    /// and no more about the number of lookups.
    pub fn queries_of(&self, lookups: usize) -> usize {
        let records = self.base.records_per_lookup();
        lookups
            .saturating_mul(records)
            .div_ceil(self.base.capacity())
    }

    /// Maximum number of lookups in `queries` queries to the base; 0 if one lookup needs more
    /// queries.
    pub fn lookups_in(&self, queries: usize) -> usize {
        let records = self.base.records_per_lookup();
        queries.saturating_mul(self.base.capacity()) / records.max(1)
    }

    /// Maximum number of lookups, at least 1, whose queries together, and whose answers together,
    /// have at most [`papir_core::MAX_MESSAGE_BYTES`], separately in the base and in the delta.
    /// Queries to a delta have at most [`MAX_QUERIES_BYTES`].
    pub fn lookups_in_message(&self) -> usize {
        let base = self.base.lookups_in_message();
        let most = match &self.delta {
            Some(delta) => base
                .min(delta.database.lookups_in_message())
                .min(delta.database.lookups_in_bytes(MAX_QUERIES_BYTES)),
            None => base,
        };
        most.max(1)
    }

    /// Makes the queries for several lookups. Each query has the largest number of lookups that the
    /// scheme allows. This is many times cheaper if the database is prepared for batches
    /// ([`papir_core::Limits::batch`]). Save the state of a registered client before sending a
    /// query.
    ///
    /// # Errors
    /// The errors of [`Lookup::prepare_key`] and [`Lookup::prepare_index`]. A lookup that the
    /// database does not support is an error before any query is made.
    pub fn prepare_batch(
        &self,
        state: Option<&mut ErasedState>,
        wanted: &[Wanted<'_>],
        rng: &mut dyn CryptoRng,
    ) -> Result<Pending> {
        // Before any query: a ticket is spent with its query, and an error must not waste one.
        let mut needs = Vec::with_capacity(wanted.len());
        let mut refusals = Vec::with_capacity(wanted.len());
        for one in wanted {
            let (need, refusal) = self.need(*one)?;
            needs.push(need);
            refusals.push(refusal);
        }

        // Every lookup asks both: the client does not know which keys the delta has, and the server
        // must not learn which one it wants.
        let base = DatabaseLookups::prepare(&self.base, needs, state, rng)?;
        let changed = match &self.delta {
            Some(delta) => Some(delta.prepare(wanted, rng)?),
            None => None,
        };

        Ok(Pending::new(base, changed, refusals, self.indexed_bytes()))
    }

    /// The records of one lookup in the base. For an index out of range, these are record 0 and the
    /// error.
    fn need(&self, wanted: Wanted<'_>) -> Result<(Need, Option<CoreError>)> {
        match (wanted, &self.base.keyword) {
            (Wanted::Key(key), Some(layout)) => {
                Ok((Need::of_id(layout, layout.seeds.id(key)), None))
            }
            (Wanted::Index(index), None) => {
                // Queried all the same: silence would tell the server that the index is too large.
                let refusal = self.refusal(index);
                let record = if refusal.is_some() { 0 } else { index };
                Ok((Need::of_record(record), refusal))
            }
            (Wanted::Key(_), None) => Err(Error::NotKeyed),
            (Wanted::Index(_), Some(_)) => Err(Error::Keyed),
        }
    }

    /// Length in bytes of a record that is looked up by index; `None` for a database with keys.
    fn indexed_bytes(&self) -> Option<usize> {
        if self.base.keyword.is_some() {
            return None;
        }
        let shape = match &self.base.commitment {
            Some(commitment) => *commitment.shape(),
            None => self.describe().shape,
        };
        Some(shape.record_bytes())
    }

    /// The error of a lookup of this index; `None` for a record of the base. For an index between
    /// the records of base and delta, the error counts only if the delta does not have the record.
    fn refusal(&self, index: u64) -> Option<CoreError> {
        let in_base = self.describe().shape.records();
        let records = match &self.delta {
            Some(delta) => delta.records.unwrap_or(in_base),
            None => in_base,
        };

        if index >= records {
            return Some(CoreError::IndexOutOfRange {
                found: index,
                records,
            });
        }
        if index >= in_base {
            let found = format!("no record {index}");
            let expected = "every record after those of the base";
            return Some(CoreError::malformed("a delta", found, expected));
        }
        None
    }
}

/// A number of records in words, for an error; `None` for a database with keys.
fn records_words(records: Option<u64>) -> String {
    match records {
        Some(records) => format!("{records} records"),
        None => "keys".to_owned(),
    }
}

/// Records with or without proofs in words, for an error.
fn proofs_words(proven: bool) -> &'static str {
    if proven {
        "records with proofs"
    } else {
        "records without proofs"
    }
}

impl Delta {
    /// Returns true if the delta has a filter, and the filter excludes this key.
    fn excludes_vartime(&self, key: &[u8]) -> bool {
        match (&self.prefilter, &self.database.keyword) {
            (Some(filter), Some(layout)) => !filter.may_have_vartime(layout, key),
            _ => false,
        }
    }

    /// Makes the queries to the delta for these lookups.
    fn prepare(&self, wanted: &[Wanted<'_>], rng: &mut dyn CryptoRng) -> Result<PreparedLookups> {
        let needs = wanted
            .iter()
            .map(|one| self.need(*one))
            .collect::<Result<_>>()?;
        DatabaseLookups::prepare(&self.database, needs, None, rng)
    }

    /// The records of one lookup in the delta, which has a bucket for any key and any index.
    fn need(&self, wanted: Wanted<'_>) -> Result<Need> {
        let layout = self.database.keyword.as_ref().ok_or(Error::NotKeyed)?;
        let id = match wanted {
            Wanted::Key(key) => layout.seeds.id(key),
            Wanted::Index(index) => KeyId::of_index(index),
        };
        Ok(Need::of_id(layout, id))
    }
}

/// A key or an index to look up.
#[derive(Clone, Copy)]
pub enum Wanted<'a> {
    /// Looks up the value of this key.
    Key(&'a [u8]),
    /// Looks up the record at this index.
    Index(u64),
}
