//! Queries to one prepared database, and decoding of its answers.

use std::sync::Arc;

use papir_core::erased::{ErasedClient, ErasedSecret, ErasedState};
use papir_core::{Error as CoreError, MAX_MESSAGE_BYTES, Record};
use rand_core::CryptoRng;
use zeroize::Zeroizing;

use crate::commitment::Commitment;
use crate::error::Result;
use crate::ids::KeyId;
use crate::layout::{KeywordLayout, within};

/// The client of one prepared database: a base or a delta.
pub(super) struct DatabaseClient {
    pub(super) client: Box<dyn ErasedClient>,
    pub(super) keyword: Option<KeywordLayout>,
    pub(super) commitment: Option<Commitment>,
}

/// The records that one lookup needs.
pub(super) struct Need {
    /// The key's id; `None` for a record that is looked up by index.
    pub(super) id: Option<Zeroizing<KeyId>>,
    /// The indices of the records, in order.
    pub(super) indices: Zeroizing<Vec<u64>>,
}

impl Need {
    /// Need for the records with the buckets of a key.
    pub(super) fn of_id(layout: &KeywordLayout, id: KeyId) -> Self {
        let indices = Zeroizing::new(layout.indices_of(&id));
        Self {
            id: Some(Zeroizing::new(id)),
            indices,
        }
    }

    /// Need for the record at an index.
    pub(super) fn of_record(index: u64) -> Self {
        Self {
            id: None,
            indices: Zeroizing::new(vec![index]),
        }
    }
}

impl DatabaseClient {
    /// Maximum number of records per query.
    pub(super) fn capacity(&self) -> usize {
        self.client.describe().limits.batch.max(1)
    }

    /// Number of records that every lookup fetches.
    pub(super) fn records_per_lookup(&self) -> usize {
        self.keyword.as_ref().map_or(1, KeywordLayout::lookups)
    }

    /// Checks that the queries of one lookup, and its answers, have at most [`MAX_MESSAGE_BYTES`]
    /// each. Their lengths follow from a layout and parameters of a few bytes, which a client gets
    /// from the server. The client therefore checks them before it allocates memory for a lookup.
    pub(super) fn check_messages(&self) -> Result<()> {
        let queries = self.records_per_lookup().div_ceil(self.capacity()) as u64;
        let sizes = self.client.describe().sizes;
        let messages = [
            ("the bytes of one lookup's queries", sizes.query),
            ("the bytes of one lookup's answers", sizes.answer),
        ];

        for (what, each) in messages {
            within(what, queries.saturating_mul(each), 0, MAX_MESSAGE_BYTES)?;
        }
        Ok(())
    }

    /// Maximum number of lookups whose queries together, and whose answers together, have at most
    /// [`MAX_MESSAGE_BYTES`].
    pub(super) fn lookups_in_message(&self) -> usize {
        let sizes = self.client.describe().sizes;
        let queries = MAX_MESSAGE_BYTES / sizes.query.max(sizes.answer).max(1);
        usize::try_from(queries)
            .unwrap_or(usize::MAX)
            .saturating_mul(self.capacity())
            / self.records_per_lookup().max(1)
    }

    /// Maximum number of lookups whose queries, made for one lookup after another, have at most
    /// `bytes` bytes.
    pub(super) fn lookups_in_bytes(&self, bytes: u64) -> usize {
        let queries = self.records_per_lookup().div_ceil(self.capacity()) as u64;
        let each = queries.saturating_mul(self.client.describe().sizes.query);
        usize::try_from(bytes / each.max(1)).unwrap_or(usize::MAX)
    }

    /// The result of one lookup from its records: a value, or `None` if the key is absent.
    fn open(&self, need: &Need, records: Vec<Record>) -> Result<Option<Vec<u8>>> {
        let records = self.verified(&need.indices, records)?;
        match (&need.id, &self.keyword) {
            (Some(id), Some(layout)) => layout.find_of(id, &records),
            _ => Ok(records.into_iter().next()),
        }
    }

    /// Verifies and removes the proofs of all records, if the database is verifiable.
    fn verified(&self, indices: &[u64], records: Vec<Record>) -> Result<Vec<Record>> {
        let Some(commitment) = &self.commitment else {
            return Ok(records);
        };

        // All are checked before the first error returns, as in `Pending::finish_all`.
        let opened: Vec<Result<Record>> = indices
            .iter()
            .zip(&records)
            .map(|(&index, record)| commitment.open(index, record))
            .collect();
        opened.into_iter().collect()
    }
}

/// Lookups in one database that wait for their answers.
pub(super) struct DatabaseLookups {
    database: Arc<DatabaseClient>,
    needs: Vec<Need>,
    secrets: Vec<ErasedSecret>,
}

/// The queries to one database, and the numbers of their tickets in schemes with tickets.
#[derive(Default)]
pub(super) struct Queries {
    pub(super) queries: Vec<Vec<u8>>,
    pub(super) tickets: Vec<u64>,
}

/// Lookups in one database, with their queries.
pub(super) struct PreparedLookups {
    pub(super) lookups: DatabaseLookups,
    pub(super) made: Queries,
}

impl DatabaseLookups {
    /// Makes the queries of several lookups. Each query has the largest number of records that the
    /// scheme allows.
    pub(super) fn prepare(
        database: &Arc<DatabaseClient>,
        needs: Vec<Need>,
        mut state: Option<&mut ErasedState>,
        rng: &mut dyn CryptoRng,
    ) -> Result<PreparedLookups> {
        // Allocated once: a vector that grows would leave copies of secret indices in memory.
        let total = needs.iter().map(|need| need.indices.len()).sum();
        let mut all = Zeroizing::new(Vec::with_capacity(total));
        for need in &needs {
            all.extend_from_slice(&need.indices);
        }

        let client = &database.client;
        let mut secrets = Vec::new();
        let mut made = Queries::default();
        for indices in all.chunks(database.capacity()) {
            // The number of the ticket that the query below spends.
            if let (Some(state), Some(registered)) = (&state, client.registered()) {
                made.tickets.extend(registered.numbers(state)?.query);
            }

            let (secret, query) = client.query(state.as_deref_mut(), indices, rng)?;
            secrets.push(secret);
            made.queries.push(query);
        }

        let lookups = Self {
            database: Arc::clone(database),
            needs,
            secrets,
        };
        Ok(PreparedLookups { lookups, made })
    }

    /// Number of queries.
    pub(super) fn len(&self) -> usize {
        self.secrets.len()
    }

    /// Length of the longest answer in bytes.
    pub(super) fn answer_bytes(&self) -> usize {
        self.database.client.describe().sizes.answer as usize
    }

    /// Decodes the answers, one per query. Returns one result per lookup. Decodes all answers even
    /// if one fails.
    pub(super) fn open(self, answers: &[Vec<u8>]) -> Result<Vec<Result<Option<Vec<u8>>>>> {
        let client = &self.database.client;
        let opened: Vec<Result<Vec<Record>, CoreError>> = self
            .secrets
            .into_iter()
            .zip(answers)
            .map(|(secret, answer)| client.extract(secret, answer))
            .collect();
        let parts: Vec<Vec<Record>> = opened.into_iter().collect::<Result<_, _>>()?;

        // A query holds records of several lookups: all records in a row, then split by lookup.
        let mut records = parts.into_iter().flatten();
        let mut results = Vec::with_capacity(self.needs.len());
        for need in &self.needs {
            // Taking by reference leaves the records of the next lookups in the iterator.
            let own = records.by_ref().take(need.indices.len()).collect();
            results.push(self.database.open(need, own));
        }
        Ok(results)
    }
}
