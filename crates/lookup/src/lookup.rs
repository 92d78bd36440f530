//! Private lookups by key or index, independent of the transport.

use std::sync::Arc;

use papir_core::erased::{ErasedClient, ErasedSecret, ErasedState};
use papir_core::{Description, Error as CoreError, Record, Version};
use rand_core::CryptoRng;
use zeroize::Zeroizing;

use crate::commitment::{Commitment, Root};
use crate::error::{Error, Result};
use crate::layout::KeywordLayout;

/// A lookup client for one version of a database. Cheap to clone.
#[derive(Clone)]
pub struct Lookup {
    inner: Arc<Inner>,
}

struct Inner {
    client: Box<dyn ErasedClient>,
    keyword: Option<KeywordLayout>,
    commitment: Option<Commitment>,
}

impl Lookup {
    /// Makes a lookup client from a scheme's client and, for a database with keys, the layout.
    ///
    /// # Errors
    /// [`CoreError::Malformed`] if the layout belongs to another database.
    pub fn new(client: Box<dyn ErasedClient>, keyword: Option<KeywordLayout>) -> Result<Self> {
        Self::new_verifying(client, keyword, None)
    }

    /// Like [`Lookup::new`]; given the top of a hash tree, checks the Merkle proof of every record.
    ///
    /// # Errors
    /// The errors of [`Lookup::new`] and [`Commitment::of_prepared`].
    pub fn new_verifying(
        client: Box<dyn ErasedClient>,
        keyword: Option<KeywordLayout>,
        commitment_top: Option<[u8; 32]>,
    ) -> Result<Self> {
        let prepared = client.describe().shape;
        let commitment = commitment_top.map(|top| Commitment::of_prepared(&prepared, top)).transpose()?;
        let shape = commitment.as_ref().map_or(prepared, |commitment| *commitment.shape());
        keyword.as_ref().map_or(Ok(()), |layout| layout.check_shape(&shape))?;
        Ok(Self { inner: Arc::new(Inner { client, keyword, commitment }) })
    }

    /// The scheme's sizes, security and parameters.
    pub fn describe(&self) -> Description {
        self.inner.client.describe()
    }

    /// The version of the database.
    pub fn version(&self) -> Version {
        self.inner.client.version()
    }

    /// The layout of the keys; `None` if records are looked up by index.
    pub fn keyword(&self) -> Option<&KeywordLayout> {
        self.inner.keyword.as_ref()
    }

    /// The root that every record is checked against; `None` if the database is not verifiable.
    pub fn root(&self) -> Option<Root> {
        Some(self.inner.commitment?.root(self.inner.keyword.as_ref()))
    }

    /// The scheme's client, which handles the state of registered clients.
    pub fn client(&self) -> &dyn ErasedClient {
        &*self.inner.client
    }

    /// Makes the queries for a key. Their number and lengths are the same for every key, present or
    /// absent.
    ///
    /// # Errors
    /// [`Error::NotKeyed`], or the scheme's.
    pub fn prepare_key(&self, key: &[u8], rng: &mut dyn CryptoRng) -> Result<Pending> {
        self.prepare_key_with(None, key, rng)
    }

    /// Like [`Lookup::prepare_key`], for a registered client. Save its state before sending a
    /// query.
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
    /// the error: the number of records comes from the server, which must not learn from silence
    /// that an index is larger.
    ///
    /// # Errors
    /// [`Error::Keyed`], or the scheme's.
    pub fn prepare_index(&self, index: u64, rng: &mut dyn CryptoRng) -> Result<Pending> {
        self.prepare_index_with(None, index, rng)
    }

    /// Like [`Lookup::prepare_index`], for a registered client. Save its state before sending a
    /// query.
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

    /// Number of queries for this number of lookups: each query fetches as many records as the
    /// scheme's batches hold. The server learns no more about the number of lookups.
    pub fn queries_of(&self, lookups: usize) -> usize {
        let records = self.inner.keyword.as_ref().map_or(1, KeywordLayout::lookups);
        lookups.saturating_mul(records).div_ceil(self.capacity())
    }

    /// Maximum number of lookups in this number of queries; 0 if one lookup needs more.
    pub fn lookups_in(&self, queries: usize) -> usize {
        let records = self.inner.keyword.as_ref().map_or(1, KeywordLayout::lookups);
        queries.saturating_mul(self.capacity()) / records.max(1)
    }

    /// Makes the queries for several lookups, with as many lookups in each as the scheme's batches
    /// hold. This is many times cheaper if the database is prepared for batches
    /// ([`papir_core::Limits::batch`]). Save the state of a registered client before sending a
    /// query.
    ///
    /// # Errors
    /// The errors of [`Lookup::prepare_key`] and [`Lookup::prepare_index`], before any query is
    /// made.
    pub fn prepare_batch(
        &self,
        mut state: Option<&mut ErasedState>,
        wanted: &[Wanted<'_>],
        rng: &mut dyn CryptoRng,
    ) -> Result<Pending> {
        let needs = wanted.iter().map(|one| self.need(*one)).collect::<Result<Vec<_>>>()?;
        let mut all = Zeroizing::new(Vec::with_capacity(needs.iter().map(|need| need.indices.len()).sum()));
        needs.iter().for_each(|need| all.extend_from_slice(&need.indices));
        let (client, inner) = (&self.inner.client, Arc::clone(&self.inner));
        let (secrets, queries, tickets) = Default::default();
        let mut pending = Pending { inner, needs, secrets, queries, tickets };
        for part in all.chunks(self.capacity()) {
            if let Some(state) = &state {
                pending.tickets.extend(client.next_number(state)?);
            }
            let (secret, query) = client.query(state.as_deref_mut(), part, rng)?;
            pending.secrets.push(secret);
            pending.queries.push(query);
        }
        Ok(pending)
    }

    /// Number of records per query.
    fn capacity(&self) -> usize {
        self.inner.client.describe().limits.batch.max(1)
    }

    /// The key and records of one lookup.
    fn need(&self, wanted: Wanted<'_>) -> Result<Need> {
        match (wanted, &self.inner.keyword) {
            (Wanted::Key(key), Some(layout)) => Ok(Need {
                key: Some(Zeroizing::new(key.to_vec())),
                indices: Zeroizing::new(layout.indices(key)),
                refusal: None,
            }),
            (Wanted::Index(index), None) => {
                let refusal = self.describe().shape.check_index(index).err();
                let queried = if refusal.is_some() { 0 } else { index };
                Ok(Need { key: None, indices: Zeroizing::new(vec![queried]), refusal })
            }
            (Wanted::Key(_), None) => Err(Error::NotKeyed),
            (Wanted::Index(_), Some(_)) => Err(Error::Keyed),
        }
    }
}

impl Inner {
    /// Returns the result of one lookup from its records.
    fn open(&self, need: &Need, records: Vec<Record>) -> Result<Option<Vec<u8>>> {
        let records = self.verified(&need.indices, records)?;
        match (&need.key, &self.keyword) {
            (Some(key), Some(layout)) => layout.find(key, &records),
            _ => Ok(records.into_iter().next()),
        }
    }

    /// Checks the proofs of all records and removes them.
    fn verified(&self, indices: &[u64], records: Vec<Record>) -> Result<Vec<Record>> {
        let Some(commitment) = &self.commitment else {
            return Ok(records);
        };
        let opened: Vec<Result<Record>> =
            indices.iter().zip(&records).map(|(&index, record)| commitment.open(index, record)).collect();
        opened.into_iter().collect()
    }
}

/// A key or an index to look up.
#[derive(Clone, Copy)]
pub enum Wanted<'a> {
    /// The value of a key.
    Key(&'a [u8]),
    /// The record at an index.
    Index(u64),
}

/// The key and records of one lookup.
struct Need {
    /// `None` for a lookup by index.
    key: Option<Zeroizing<Vec<u8>>>,
    /// The indices of its records, in order.
    indices: Zeroizing<Vec<u64>>,
    /// The error for an index that is out of range. Record 0 is queried instead.
    refusal: Option<CoreError>,
}

/// Lookups that wait for their answers.
pub struct Pending {
    inner: Arc<Inner>,
    needs: Vec<Need>,
    secrets: Vec<ErasedSecret>,
    queries: Vec<Vec<u8>>,
    tickets: Vec<u64>,
}

impl Pending {
    /// The enveloped queries to send, in order. A retry may send them again; it needs no new ones.
    pub fn queries(&self) -> &[Vec<u8>] {
        &self.queries
    }

    /// The numbers of the tickets that the queries spend, one each; empty in schemes without
    /// tickets.
    pub fn tickets(&self) -> &[u64] {
        &self.tickets
    }

    /// Opens the enveloped answers to one lookup. `None` means that the key is absent.
    ///
    /// # Errors
    /// The errors of [`Pending::finish_all`].
    pub fn finish(self, answers: &[Vec<u8>]) -> Result<Option<Vec<u8>>> {
        Ok(self.finish_all(answers)?.into_iter().next().flatten())
    }

    /// Opens the enveloped answers, one per query in the same order. Returns the results in the
    /// order of the lookups; `None` means that the key is absent.
    ///
    /// All answers are opened before any error is returned, and nothing is sent from here: the
    /// traffic of a lookup does not reveal whether its answers decoded.
    ///
    /// # Errors
    /// [`CoreError::Length`] for more or fewer answers than queries, [`CoreError::NotDecodable`],
    /// [`CoreError::IndexOutOfRange`], [`Error::NotCommitted`] for an invalid proof in a verifiable
    /// database, those of the envelope, or of [`KeywordLayout::find`].
    pub fn finish_all(self, answers: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>> {
        CoreError::check_length("a set of answers, counted", answers.len(), self.queries.len())?;
        let client = &self.inner.client;
        let opened: Vec<Result<Vec<Record>, CoreError>> = self
            .secrets
            .into_iter()
            .zip(answers)
            .map(|(secret, answer)| client.extract(secret, answer))
            .collect();
        let parts: Vec<Vec<Record>> = opened.into_iter().collect::<Result<_, _>>()?;
        let mut records = parts.into_iter().flatten();
        let found: Vec<Result<Option<Vec<u8>>>> = self
            .needs
            .into_iter()
            .map(|need| {
                let value = self.inner.open(&need, records.by_ref().take(need.indices.len()).collect());
                need.refusal.map_or(value, |refusal| Err(refusal.into()))
            })
            .collect();
        found.into_iter().collect()
    }
}
