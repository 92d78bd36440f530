//! Private lookups over any transport: queries out, answers in, a value or "absent".

use std::sync::Arc;

use papir_core::erased::{ErasedClient, ErasedSecret, ErasedState};
use papir_core::{Description, Error as CoreError, Record, Version};
use rand_core::CryptoRng;
use zeroize::Zeroizing;

use crate::{Commitment, Error, KeywordLayout, Result, Root};

/// A client of one version of a database. Cheap to clone.
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
    /// A lookup client from a scheme's client, and the layout where the database has keys.
    ///
    /// # Errors
    /// [`CoreError::Malformed`] when the layout is one of another database.
    pub fn new(client: Box<dyn ErasedClient>, keyword: Option<KeywordLayout>) -> Result<Self> {
        Self::new_verifying(client, keyword, None)
    }

    /// As [`Lookup::new`]; with the top of a hash tree, every record must prove that it hangs there.
    ///
    /// # Errors
    /// As [`Lookup::new`] and [`Commitment::of_prepared`].
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

    /// The version of the database that queries are made for.
    pub fn version(&self) -> Version {
        self.inner.client.version()
    }

    /// The layout of the keys; `None` where records are looked up by index.
    pub fn keyword(&self) -> Option<&KeywordLayout> {
        self.inner.keyword.as_ref()
    }

    /// The root that every record is held against; `None` where the database is not verifiable.
    pub fn root(&self) -> Option<Root> {
        Some(self.inner.commitment?.root(self.inner.keyword.as_ref()))
    }

    /// The scheme's client, which makes and reads the state of registered clients.
    pub fn client(&self) -> &dyn ErasedClient {
        &*self.inner.client
    }

    /// The queries that look a key up. Their number and lengths are the same for every key,
    /// present or absent.
    ///
    /// # Errors
    /// [`Error::NotKeyed`], or the scheme's.
    pub fn prepare_key(&self, key: &[u8], rng: &mut dyn CryptoRng) -> Result<Pending> {
        self.prepare_key_with(None, key, rng)
    }

    /// As [`Lookup::prepare_key`], for a registered client. Save its state before a query leaves.
    ///
    /// # Errors
    /// As [`Lookup::prepare_key`].
    pub fn prepare_key_with(
        &self,
        state: Option<&mut ErasedState>,
        key: &[u8],
        rng: &mut dyn CryptoRng,
    ) -> Result<Pending> {
        self.prepare_batch(state, &[Wanted::Key(key)], rng)
    }

    /// The queries that look a record up by its index.
    ///
    /// # Errors
    /// [`Error::Keyed`], [`CoreError::IndexOutOfRange`], or the scheme's.
    pub fn prepare_index(&self, index: u64, rng: &mut dyn CryptoRng) -> Result<Pending> {
        self.prepare_index_with(None, index, rng)
    }

    /// As [`Lookup::prepare_index`], for a registered client. Save its state before a query leaves.
    ///
    /// # Errors
    /// As [`Lookup::prepare_index`].
    pub fn prepare_index_with(
        &self,
        state: Option<&mut ErasedState>,
        index: u64,
        rng: &mut dyn CryptoRng,
    ) -> Result<Pending> {
        self.prepare_batch(state, &[Wanted::Index(index)], rng)
    }

    /// How many queries so many lookups take: each holds as many records as the scheme's batches do. The
    /// server learns no more of their number.
    pub fn queries_of(&self, lookups: usize) -> usize {
        let records = self.inner.keyword.as_ref().map_or(1, KeywordLayout::lookups);
        lookups.saturating_mul(records).div_ceil(self.capacity())
    }

    /// The most lookups that so many queries hold; none where one lookup takes more.
    pub fn lookups_in(&self, queries: usize) -> usize {
        let records = self.inner.keyword.as_ref().map_or(1, KeywordLayout::lookups);
        queries.saturating_mul(self.capacity()) / records.max(1)
    }

    /// The queries of several lookups, together in one query as far as the scheme can: many times cheaper
    /// where a database is prepared for batches ([`papir_core::Limits::batch`]). For a registered client,
    /// save its state before a query leaves.
    ///
    /// # Errors
    /// As [`Lookup::prepare_key`] and [`Lookup::prepare_index`], before anything is made that could be sent.
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
                pending.tickets.extend(client.next_ticket(state)?);
            }
            let (secret, query) = client.query(state.as_deref_mut(), part, rng)?;
            pending.secrets.push(secret);
            pending.queries.push(query);
        }
        Ok(pending)
    }

    /// Records of one query.
    fn capacity(&self) -> usize {
        self.inner.client.describe().limits.batch.max(1)
    }

    /// The records that one lookup needs.
    fn need(&self, wanted: Wanted<'_>) -> Result<Need> {
        match (wanted, &self.inner.keyword) {
            (Wanted::Key(key), Some(layout)) => Ok(Need {
                key: Some(Zeroizing::new(key.to_vec())),
                indices: Zeroizing::new(layout.indices(key)),
            }),
            (Wanted::Index(index), None) => {
                self.describe().shape.check_index(index)?;
                Ok(Need { key: None, indices: Zeroizing::new(vec![index]) })
            }
            (Wanted::Key(_), None) => Err(Error::NotKeyed),
            (Wanted::Index(_), Some(_)) => Err(Error::Keyed),
        }
    }
}

impl Inner {
    /// What one lookup found in its records.
    fn open(&self, need: &Need, records: Vec<Record>) -> Result<Option<Vec<u8>>> {
        let records = self.verified(&need.indices, records)?;
        match (&need.key, &self.keyword) {
            (Some(key), Some(layout)) => layout.find(key, &records),
            _ => Ok(records.into_iter().next()),
        }
    }

    /// The records without their proofs, all of which were checked.
    fn verified(&self, indices: &[u64], records: Vec<Record>) -> Result<Vec<Record>> {
        let Some(commitment) = &self.commitment else {
            return Ok(records);
        };
        let opened: Vec<Result<Record>> =
            indices.iter().zip(&records).map(|(&index, record)| commitment.open(index, record)).collect();
        opened.into_iter().collect()
    }
}

/// What to look up.
#[derive(Clone, Copy)]
pub enum Wanted<'a> {
    /// The value of a key.
    Key(&'a [u8]),
    /// The record at an index.
    Index(u64),
}

/// What one lookup needs.
struct Need {
    /// None where a record is looked up by its index.
    key: Option<Zeroizing<Vec<u8>>>,
    /// The records that it needs, in order.
    indices: Zeroizing<Vec<u64>>,
}

/// Lookups whose queries are on their way.
pub struct Pending {
    inner: Arc<Inner>,
    needs: Vec<Need>,
    secrets: Vec<ErasedSecret>,
    queries: Vec<Vec<u8>>,
    tickets: Vec<u64>,
}

impl Pending {
    /// The enveloped queries to send, in order. Sending one of them again is harmless; making new
    /// ones for a retry is not needed.
    pub fn queries(&self) -> &[Vec<u8>] {
        &self.queries
    }

    /// The numbers of the tickets that the queries use up, one each; none in schemes without tickets.
    pub fn tickets(&self) -> &[u64] {
        &self.tickets
    }

    /// Opens the enveloped answers to one lookup. `None`: the key is absent.
    ///
    /// # Errors
    /// As [`Pending::finish_all`].
    pub fn finish(self, answers: &[Vec<u8>]) -> Result<Option<Vec<u8>>> {
        Ok(self.finish_all(answers)?.into_iter().next().flatten())
    }

    /// Opens the enveloped answers, one per query and in their order; gives what was asked for in the order
    /// of asking. `None`: the key is absent.
    ///
    /// All answers are opened before an error of any is returned, and nothing here sends
    /// anything: the traffic of a lookup does not tell whether its answers decoded.
    ///
    /// # Errors
    /// [`CoreError::Length`] for more or fewer answers than queries, [`CoreError::NotDecodable`],
    /// [`Error::NotCommitted`](crate::Error::NotCommitted) for a record of a verifiable database without its proof, those of the envelope, or of [`KeywordLayout::find`].
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
            .iter()
            .map(|need| self.inner.open(need, records.by_ref().take(need.indices.len()).collect()))
            .collect();
        found.into_iter().collect()
    }
}
