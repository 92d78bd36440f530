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
        let layout = self.inner.keyword.as_ref().ok_or(Error::NotKeyed)?;
        let indices = Zeroizing::new(layout.indices(key));
        self.prepare(state, Wanted::Key(Zeroizing::new(key.to_vec())), &indices, rng)
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
        if self.inner.keyword.is_some() {
            return Err(Error::Keyed);
        }
        self.prepare(state, Wanted::Record, &[index], rng)
    }

    /// Queries for `indices`, as many in each as the scheme's batch capacity.
    fn prepare(
        &self,
        mut state: Option<&mut ErasedState>,
        wanted: Wanted,
        indices: &[u64],
        rng: &mut dyn CryptoRng,
    ) -> Result<Pending> {
        let client = &self.inner.client;
        let batch = client.describe().limits.batch.max(1);
        let inner = Arc::clone(&self.inner);
        let mut pending = Pending {
            inner,
            wanted,
            indices: Zeroizing::new(indices.to_vec()),
            secrets: Vec::new(),
            queries: Vec::new(),
            tickets: Vec::new(),
        };
        for part in indices.chunks(batch) {
            if let Some(state) = &state {
                pending.tickets.extend(client.next_ticket(state)?);
            }
            let (secret, query) = client.query(state.as_deref_mut(), part, rng)?;
            pending.secrets.push(secret);
            pending.queries.push(query);
        }
        Ok(pending)
    }
}

impl Inner {
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

/// What a lookup was asked for.
enum Wanted {
    Key(Zeroizing<Vec<u8>>),
    Record,
}

/// A lookup whose queries are on their way.
pub struct Pending {
    inner: Arc<Inner>,
    wanted: Wanted,
    /// The records asked for, in order.
    indices: Zeroizing<Vec<u64>>,
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

    /// Opens the enveloped answers, one per query and in their order. `None`: the key is absent.
    ///
    /// All answers are opened before an error of any is returned, and nothing here sends
    /// anything: the traffic of a lookup does not tell whether its answers decoded.
    ///
    /// # Errors
    /// [`CoreError::Length`] for more or fewer answers than queries, [`CoreError::NotDecodable`],
    /// [`Error::NotCommitted`](crate::Error::NotCommitted) for a record of a verifiable database without its proof, those of the envelope, or of [`KeywordLayout::find`].
    pub fn finish(self, answers: &[Vec<u8>]) -> Result<Option<Vec<u8>>> {
        CoreError::check_length("a set of answers, counted", answers.len(), self.queries.len())?;
        let client = &self.inner.client;
        let opened: Vec<Result<Vec<Record>, CoreError>> = self
            .secrets
            .into_iter()
            .zip(answers)
            .map(|(secret, answer)| client.extract(secret, answer))
            .collect();
        let parts: Vec<Vec<Record>> = opened.into_iter().collect::<Result<_, _>>()?;
        let records = self.inner.verified(&self.indices, parts.concat())?;
        match (&self.wanted, &self.inner.keyword) {
            (Wanted::Key(key), Some(layout)) => layout.find(key, &records),
            _ => Ok(records.into_iter().next()),
        }
    }
}
