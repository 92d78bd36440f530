//! Private lookups over any transport: queries out, answers in, a value or "absent".

use std::sync::Arc;

use papir_core::erased::{ErasedClient, ErasedSecret};
use papir_core::{Description, Error as CoreError, Record, Version};
use rand_core::CryptoRng;
use zeroize::Zeroizing;

use crate::{Error, KeywordLayout, Result};

/// A client of one version of a database. Cheap to clone.
#[derive(Clone)]
pub struct Lookup {
    inner: Arc<Inner>,
}

struct Inner {
    client: Box<dyn ErasedClient>,
    keyword: Option<KeywordLayout>,
}

impl Lookup {
    /// A lookup client from a scheme's client, and the layout where the database has keys.
    ///
    /// # Errors
    /// [`CoreError::Malformed`] when the layout is one of another database.
    pub fn new(client: Box<dyn ErasedClient>, keyword: Option<KeywordLayout>) -> Result<Self> {
        if let Some(layout) = &keyword {
            let shape = client.describe().shape;
            let (found, expected) =
                ((layout.records(), layout.record_bytes()), (shape.records(), shape.record_bytes()));
            if found != expected {
                let words = |(records, bytes)| format!("{records} records of {bytes} bytes");
                return Err(CoreError::malformed("a keyword layout", words(found), words(expected)).into());
            }
        }
        Ok(Self { inner: Arc::new(Inner { client, keyword }) })
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

    /// The queries that look a key up. Their number and lengths are the same for every key,
    /// present or absent.
    ///
    /// # Errors
    /// [`Error::NotKeyed`], or the scheme's.
    pub fn prepare_key(&self, key: &[u8], rng: &mut dyn CryptoRng) -> Result<Pending> {
        let layout = self.inner.keyword.as_ref().ok_or(Error::NotKeyed)?;
        let indices = Zeroizing::new(layout.indices(key));
        self.prepare(Wanted::Key(Zeroizing::new(key.to_vec())), &indices, rng)
    }

    /// The queries that look a record up by its index.
    ///
    /// # Errors
    /// [`Error::Keyed`], [`CoreError::IndexOutOfRange`], or the scheme's.
    pub fn prepare_index(&self, index: u64, rng: &mut dyn CryptoRng) -> Result<Pending> {
        if self.inner.keyword.is_some() {
            return Err(Error::Keyed);
        }
        self.prepare(Wanted::Record, &[index], rng)
    }

    /// Queries for `indices`, as many in each as the scheme's batch capacity.
    fn prepare(&self, wanted: Wanted, indices: &[u64], rng: &mut dyn CryptoRng) -> Result<Pending> {
        let client = &self.inner.client;
        let batch = client.describe().limits.batch.max(1);
        let pairs: Result<Vec<_>, CoreError> =
            indices.chunks(batch).map(|part| client.query(None, part, rng)).collect();
        let (secrets, queries) = pairs?.into_iter().unzip();
        Ok(Pending { inner: Arc::clone(&self.inner), wanted, secrets, queries })
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
    secrets: Vec<ErasedSecret>,
    queries: Vec<Vec<u8>>,
}

impl Pending {
    /// The enveloped queries to send, in order. Sending one of them again is harmless; making new
    /// ones for a retry is not needed.
    pub fn queries(&self) -> &[Vec<u8>] {
        &self.queries
    }

    /// Opens the enveloped answers, one per query and in their order. `None`: the key is absent.
    ///
    /// All answers are opened before an error of any is returned, and nothing here sends
    /// anything: the traffic of a lookup does not tell whether its answers decoded.
    ///
    /// # Errors
    /// [`CoreError::Length`] for more or fewer answers than queries, [`CoreError::NotDecodable`],
    /// those of the envelope, or of [`KeywordLayout::find`].
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
        let records = parts.concat();
        match (&self.wanted, &self.inner.keyword) {
            (Wanted::Key(key), Some(layout)) => layout.find(key, &records),
            _ => Ok(records.into_iter().next()),
        }
    }
}
