//! Lookups without cryptography: indices and records in the clear.
//!
//! The scheme is for tests of the code around a scheme, and it is the lower bound of every cost. It
//! is not private and must be allowed explicitly. A query has a fixed number of slots for up to
//! [`BATCH`] indices. As in a private scheme, its length does not depend on the number of used
//! slots.
//!
//! ```text
//! public   nothing
//! query    nonce (16), number of indices (1), 4 indices (8 each; unused ones 0)
//! answer   the query's nonce (16), 4 records (⌈bits/8⌉ each; unused ones 0)
//! ```

mod rows;

use papir_core::certificate::FailureCertificate;
use papir_core::codec::{Reader, Writer};
use papir_core::cost::Work;
use papir_core::scheme::{
    Client, Never, Parameters, Scheme, Server, Session, Target, Unregistered, Wire, check_indices,
};
use papir_core::sections::{SectionSink, SectionSource};
use papir_core::{
    Blob, Change, Description, Error, FailureBound, Limits, MAX_RECORD_BITS, Privacy, Progress,
    Record, Records, Result, Shape, Sizes, UpdateCost, copy_packed, extract_bits,
};
use rand_core::CryptoRng;

use crate::shared::messages::{EmptyPublic, SHAPE_BYTES, read_all, read_shape, write_shape};
use crate::shared::parameters::{one_record, sealed, sealed_public};
use crate::shared::stored_records;

const RECORDS: &str = "plain/records";
/// Bytes of the nonce that binds an answer to its query.
const NONCE_BYTES: usize = 16;
/// Largest number of indices in one query.
pub const BATCH: usize = 4;

/// The scheme without cryptography.
pub struct Plain;

impl Scheme for Plain {
    const NAME: &'static str = "plain";
    const ID: u16 = 0;
    const PRIVACY: Privacy = Privacy::NotPrivate("it sends the index in the clear");

    type Params = PlainParams;
    type Public = EmptyPublic;
    type Query = PlainQuery;
    type Answer = PlainAnswer;
    type Secret = PlainSecret;
    type Registration = Unregistered;
    type Server = PlainServer;
    type Client = PlainClient;
}

/// Parameters of [`Plain`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlainParams {
    shape: Shape,
}

impl PlainParams {
    /// Returns the bytes of a query's payload.
    fn query_bytes(&self) -> usize {
        NONCE_BYTES + 1 + 8 * BATCH
    }

    /// Returns the bytes of an answer's payload.
    fn answer_bytes(&self) -> usize {
        NONCE_BYTES + BATCH * self.shape.record_bytes()
    }
}

impl Parameters for PlainParams {
    fn choose(shape: Shape, _target: impl Into<Target>) -> Result<Self> {
        Ok(Self { shape })
    }

    fn shape(&self) -> Shape {
        self.shape
    }

    fn describe(&self) -> Description {
        Description {
            scheme: Plain::NAME,
            privacy: Plain::PRIVACY,
            shape: self.shape,
            sizes: Sizes {
                public: sealed_public(SHAPE_BYTES, 0),
                query: sealed(self.query_bytes()),
                answer: sealed(self.answer_bytes()),
                database: self.shape.total_bytes(),
                ..Sizes::default()
            },
            security: None,
            failure_log2: f64::NEG_INFINITY,
            failure_bound: FailureBound::DEFAULT,
            limits: Limits {
                batch: BATCH,
                ..one_record(MAX_RECORD_BITS, UpdateCost::PerRecord)
            },
            parameters: Vec::new(),
            work: Work::default(),
        }
    }

    fn certificate(&self) -> Result<FailureCertificate> {
        let reason = "an answer is the record itself, without encryption";
        Ok(FailureCertificate::never(&self.describe(), reason))
    }

    fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::new();
        write_shape(&mut writer, self.shape);
        writer.finish()
    }

    fn decode(bytes: &[u8]) -> Result<Self> {
        Ok(Self {
            shape: read_all("plain's parameters", bytes, read_shape)?,
        })
    }
}

/// A query: indices in the clear.
#[derive(Clone, Debug)]
pub struct PlainQuery {
    nonce: [u8; NONCE_BYTES],
    indices: Vec<u64>,
}

/// An answer: records in the clear, one for each index of the query.
#[derive(Clone, Debug)]
pub struct PlainAnswer {
    nonce: [u8; NONCE_BYTES],
    records: Vec<Record>,
}

impl Wire<PlainParams> for PlainQuery {
    fn encode(&self, _params: &PlainParams) -> Vec<u8> {
        let mut writer = Writer::new();
        writer.raw(&self.nonce).u8(self.indices.len() as u8);

        for slot in 0..BATCH {
            writer.u64(self.indices.get(slot).copied().unwrap_or(0));
        }

        writer.finish()
    }

    fn decode(params: &PlainParams, bytes: &[u8]) -> Result<Self> {
        Error::check_length("plain's query", bytes.len(), params.query_bytes())?;

        let mut reader = Reader::new("plain's query", bytes);
        let nonce = reader.array()?;
        let count = usize::from(reader.u8()?);
        let mut indices = (0..BATCH)
            .map(|_| reader.u64())
            .collect::<Result<Vec<_>>>()?;

        // One encoding for each list of indices: unused slots are zero. A count beyond the slots
        // leaves none unused and is refused below.
        let unused = indices.split_off(count.min(BATCH));
        if let Some(found) = unused.iter().find(|&&index| index != 0) {
            return Err(Error::malformed(
                "an unused slot of plain's query",
                found,
                0,
            ));
        }

        if count > BATCH {
            return Err(Error::BatchSize {
                scheme: Plain::NAME,
                found: count,
                capacity: BATCH,
            });
        }
        check_indices(Plain::NAME, &params.shape(), &indices, BATCH)?;

        Ok(Self { nonce, indices })
    }
}

impl Wire<PlainParams> for PlainAnswer {
    fn encode(&self, params: &PlainParams) -> Vec<u8> {
        let mut bytes = self.nonce.to_vec();
        self.records
            .iter()
            .for_each(|record| bytes.extend_from_slice(record));
        // Zeros in unused slots: the length does not tell the number of indices.
        bytes.resize(params.answer_bytes(), 0);
        bytes
    }

    fn decode(params: &PlainParams, bytes: &[u8]) -> Result<Self> {
        Error::check_length("plain's answer", bytes.len(), params.answer_bytes())?;

        let mut reader = Reader::new("plain's answer", bytes);
        let nonce = reader.array()?;
        let shape = params.shape();
        let slots = reader.rest().chunks(shape.record_bytes());

        Ok(Self {
            nonce,
            records: slots
                .map(|slot| extract_bits(slot, 0, shape.record_bits()))
                .collect(),
        })
    }
}

/// Secret of one query: the nonce that binds an answer to its query, and the number of indices.
/// Neither is secret.
pub struct PlainSecret {
    nonce: [u8; NONCE_BYTES],
    indices: usize,
}

/// A client that sends indices in the clear.
pub struct PlainClient {
    params: PlainParams,
}

impl Client<Plain> for PlainClient {
    fn new(params: PlainParams, _public: EmptyPublic) -> Result<Self> {
        Ok(Self { params })
    }

    fn params(&self) -> &PlainParams {
        &self.params
    }

    fn query(
        &self,
        _state: Option<&mut Never>,
        indices: &[u64],
        rng: &mut dyn CryptoRng,
    ) -> Result<(PlainSecret, PlainQuery)> {
        check_indices(Plain::NAME, &self.params.shape(), indices, BATCH)?;

        let mut nonce = [0; NONCE_BYTES];
        rng.fill_bytes(&mut nonce);

        let secret = PlainSecret {
            nonce,
            indices: indices.len(),
        };
        let query = PlainQuery {
            nonce,
            indices: indices.to_vec(),
        };
        Ok((secret, query))
    }

    fn extract(&self, secret: PlainSecret, answer: PlainAnswer) -> Result<Vec<Record>> {
        if secret.nonce != answer.nonce {
            return Err(Error::NotDecodable);
        }

        let mut records = answer.records;
        records.truncate(secret.indices);
        Ok(records)
    }
}

/// A server, with the packed records.
pub struct PlainServer {
    params: PlainParams,
    packed: Blob,
}

impl PlainServer {
    /// Reads the records of one query.
    fn answer_one(&self, query: &PlainQuery) -> PlainAnswer {
        let bits = self.params.shape().record_bits();
        let records = query
            .indices
            .iter()
            .map(|index| extract_bits(&self.packed, index * bits, bits));

        PlainAnswer {
            nonce: query.nonce,
            records: records.collect(),
        }
    }
}

impl Server<Plain> for PlainServer {
    fn setup(
        params: PlainParams,
        records: &dyn Records,
        _rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let packed = stored_records::copy(Plain::NAME, params.shape(), records, progress)?;
        Ok(Self { params, packed })
    }

    fn params(&self) -> &PlainParams {
        &self.params
    }

    fn public(&self) -> &EmptyPublic {
        &EmptyPublic
    }

    fn answer_many(
        &self,
        batch: Vec<(Session<'_, Plain>, &PlainQuery)>,
        progress: &dyn Progress,
    ) -> Result<Vec<PlainAnswer>> {
        progress.stage("answer", batch.len() as u64);

        let answers = batch
            .into_iter()
            .map(|(_, query)| self.answer_one(query))
            .collect();
        Ok(answers)
    }

    fn update(
        &self,
        changes: &[Change],
        _rng: &mut dyn CryptoRng,
        _progress: &dyn Progress,
    ) -> Result<Self> {
        let packed = stored_records::change(self.params.shape(), &self.packed, changes)?;
        Ok(Self {
            params: self.params.clone(),
            packed,
        })
    }

    fn read_packed(&self, first: u64, count: u64, out: &mut [u8]) -> Result<()> {
        copy_packed(&self.params.shape(), &self.packed, first, count, out)
    }

    fn save(&self, sink: &mut dyn SectionSink) -> Result<()> {
        sink.put(RECORDS, &[&self.packed])
    }

    fn load(params: PlainParams, source: &dyn SectionSource) -> Result<Self> {
        let packed = stored_records::load(params.shape(), source, RECORDS)?;
        Ok(Self { params, packed })
    }
}
