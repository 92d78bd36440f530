//! Private lookups by key or index, independent of the transport.

mod asked;
mod pending;

use std::sync::Arc;

use papir_core::erased::{ErasedClient, ErasedState};
use papir_core::{Description, Error as CoreError, Version};
use rand_core::CryptoRng;

use crate::commitment::{Commitment, Root};
use crate::delta::DeltaPart;
use crate::error::{Error, Result};
use crate::ids::KeyId;
use crate::layout::KeywordLayout;
use asked::{Asked, Need, Part};

pub use pending::{AnswerLengths, Pending};

/// A lookup client for one version of a database. Cheap to clone.
#[derive(Clone)]
pub struct Lookup {
    base: Arc<Part>,
    delta: Option<Delta>,
}

/// The client of a delta.
#[derive(Clone)]
struct Delta {
    part: Arc<Part>,
    /// Number of records of base and delta together; `None` for a database with keys.
    records: Option<u64>,
}

impl Lookup {
    /// Makes a lookup client from a scheme's client and, for a database with keys, the layout.
    ///
    /// # Errors
    /// [`CoreError::Malformed`] if the layout belongs to another database, [`CoreError::OutOfBounds`] if the
    /// queries or the answers of one lookup are longer than [`papir_core::MAX_MESSAGE_BYTES`] together.
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
        let commitment = commitment_top
            .map(|top| Commitment::of_prepared(&prepared, top))
            .transpose()?;
        let shape = commitment
            .as_ref()
            .map_or(prepared, |commitment| *commitment.shape());
        keyword
            .as_ref()
            .map_or(Ok(()), |layout| layout.check_shape(&shape))?;
        let base = Part {
            client,
            keyword,
            commitment,
        };
        base.check_messages()?;
        Ok(Self {
            base: Arc::new(base),
            delta: None,
        })
    }

    /// Adds a delta to the client of its base, in place of an earlier one. `client` is the client of the
    /// delta's scheme. Every lookup then asks both.
    ///
    /// # Errors
    /// [`CoreError::WrongVersion`] for the delta of another base, [`CoreError::Malformed`] if it does not
    /// fit the base, and the errors of [`Lookup::new_verifying`].
    pub fn with_delta(&self, client: Box<dyn ErasedClient>, delta: &DeltaPart) -> Result<Self> {
        let found = delta.base;
        let expected = self.base_version();
        if found != expected {
            return Err(CoreError::WrongVersion { found, expected }.into());
        }
        let limits = self.describe().limits;
        if limits.client_keys || limits.tickets {
            let found = "one beside a database whose clients register";
            return Err(CoreError::malformed("a delta", found, "none").into());
        }
        let records = self
            .indexed_bytes()
            .map(|_| self.describe().shape.records());
        if delta.records.is_some() != records.is_some() || delta.records < records {
            let words = |records: Option<u64>| {
                records.map_or("keys".to_owned(), |records| format!("{records} records"))
            };
            let expected = format!("{} or more", words(records));
            return Err(CoreError::malformed("a delta", words(delta.records), expected).into());
        }
        let top = delta.bundle.commitment_top;
        if top.is_some() != self.base.commitment.is_some() {
            let words = |proven| {
                if proven {
                    "records with proofs"
                } else {
                    "records without proofs"
                }
            };
            let expected = format!("{}, as in the base", words(self.base.commitment.is_some()));
            return Err(CoreError::malformed("a delta", words(top.is_some()), expected).into());
        }
        let part = Self::new_verifying(client, delta.bundle.keyword.clone(), top)?.base;
        let delta = Delta {
            part,
            records: delta.records,
        };
        Ok(Self {
            base: Arc::clone(&self.base),
            delta: Some(delta),
        })
    }

    /// The same client without a delta.
    #[must_use]
    pub fn without_delta(&self) -> Self {
        Self {
            base: Arc::clone(&self.base),
            delta: None,
        }
    }

    /// The scheme's sizes, security and parameters: those of the base.
    pub fn describe(&self) -> Description {
        self.base.client.describe()
    }

    /// The sizes, security and parameters of the delta's scheme; `None` without a delta.
    pub fn describe_delta(&self) -> Option<Description> {
        Some(self.delta.as_ref()?.part.client.describe())
    }

    /// The version of the database: that of the delta, if there is one.
    pub fn version(&self) -> Version {
        self.delta
            .as_ref()
            .map_or(&self.base, |delta| &delta.part)
            .client
            .version()
    }

    /// The version of the base.
    pub fn base_version(&self) -> Version {
        self.base.client.version()
    }

    /// The layout of the keys; `None` if records are looked up by index.
    pub fn keyword(&self) -> Option<&KeywordLayout> {
        self.base.keyword.as_ref()
    }

    /// The root that every record is checked against; `None` if the database is not verifiable.
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
        let records = self.base.records_per_lookup();
        lookups
            .saturating_mul(records)
            .div_ceil(self.base.capacity())
    }

    /// Maximum number of lookups in this number of queries; 0 if one lookup needs more.
    pub fn lookups_in(&self, queries: usize) -> usize {
        let records = self.base.records_per_lookup();
        queries.saturating_mul(self.base.capacity()) / records.max(1)
    }

    /// Maximum number of lookups whose queries, and whose answers, have at most
    /// [`papir_core::MAX_MESSAGE_BYTES`] together in the base, and at most as many again in the delta; at
    /// least 1.
    pub fn lookups_in_message(&self) -> usize {
        let delta = self.delta.as_ref().map(|delta| &delta.part);
        let most = std::iter::once(&self.base)
            .chain(delta)
            .map(|part| part.lookups_in_message())
            .min();
        most.unwrap_or(1).max(1)
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
        state: Option<&mut ErasedState>,
        wanted: &[Wanted<'_>],
        rng: &mut dyn CryptoRng,
    ) -> Result<Pending> {
        let needs = wanted
            .iter()
            .map(|one| self.need(*one))
            .collect::<Result<Vec<_>>>()?;
        let (needs, refusals): (Vec<_>, Vec<_>) = needs.into_iter().unzip();
        let base = Asked::new(&self.base, needs, state, rng)?;
        let changed = match &self.delta {
            Some(delta) => {
                let needs = wanted
                    .iter()
                    .map(|one| delta.need(*one))
                    .collect::<Result<_>>()?;
                Some(Asked::new(&delta.part, needs, None, rng)?)
            }
            None => None,
        };
        Ok(Pending::new(base, changed, refusals, self.indexed_bytes()))
    }

    /// The records of one lookup in the base, and the error if its index is out of range: then it is
    /// record 0.
    fn need(&self, wanted: Wanted<'_>) -> Result<(Need, Option<CoreError>)> {
        match (wanted, &self.base.keyword) {
            (Wanted::Key(key), Some(layout)) => {
                Ok((Need::of_id(layout, layout.seeds.id(key)), None))
            }
            (Wanted::Index(index), None) => {
                let refusal = self.refusal(index);
                Ok((
                    Need::of_record(if refusal.is_some() { 0 } else { index }),
                    refusal,
                ))
            }
            (Wanted::Key(_), None) => Err(Error::NotKeyed),
            (Wanted::Index(_), Some(_)) => Err(Error::Keyed),
        }
    }

    /// Bytes of a record that is looked up by index; `None` for a database with keys.
    fn indexed_bytes(&self) -> Option<usize> {
        let shape = || {
            self.base
                .commitment
                .map_or(self.describe().shape, |commitment| *commitment.shape())
        };
        self.base.keyword.is_none().then(|| shape().record_bytes())
    }

    /// The error for an index that the base does not have, unless the delta has it.
    fn refusal(&self, index: u64) -> Option<CoreError> {
        let in_base = self.describe().shape.records();
        let records = self
            .delta
            .as_ref()
            .and_then(|delta| delta.records)
            .unwrap_or(in_base);
        match index {
            _ if index >= records => Some(CoreError::IndexOutOfRange {
                found: index,
                records,
            }),
            _ if index >= in_base => {
                let found = format!("no record {index}");
                Some(CoreError::malformed(
                    "a delta",
                    found,
                    "every record after those of the base",
                ))
            }
            _ => None,
        }
    }
}

impl Delta {
    /// The records of one lookup in the delta, for any key and any index.
    fn need(&self, wanted: Wanted<'_>) -> Result<Need> {
        let layout = self.part.keyword.as_ref().ok_or(Error::NotKeyed)?;
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
    /// The value of a key.
    Key(&'a [u8]),
    /// The record at an index.
    Index(u64),
}
