//! A small test scheme with client keys, tickets and client state.
//!
//! It hides nothing: the index is sent in the clear. Its keys, tickets and state have the same life
//! cycle as those of ZipPIR and Pirouette. A client key determines one pad per ticket number. The
//! server prepares the pad as the ticket, the answer is the record XOR the pad, and the client,
//! which has only its key and a query counter, removes the pad.
//!
//! ```text
//! keys     key (32), filler that follows from the key (any length, to test large uploads)
//! state    key (32), number of the next ticket (8)
//! ticket   number (8), tag of the key (16), pad (⌈bits/8⌉)
//! query    number of the ticket (8), index (8)
//! answer   number of the ticket (8), record XOR pad (⌈bits/8⌉)
//! ```

use chacha20::ChaCha20Rng;
use papir_core::codec::{Reader, Writer};
use papir_core::cost::Work;
use papir_core::erased::{ErasedServer, setup_with};
use papir_core::scheme::{
    Client, EarlierTicket, Parameters, RegisteredClient, RegisteredServer, RegisteredWith, Scheme,
    Server, Session, StateNumbers, Target, Wire, check_changes, check_indices,
};
use papir_core::sections::{SectionSink, SectionSource};
use papir_core::{
    Change, Description, Error, FailureBound, Limits, MAX_RECORD_BITS, MAX_RECORDS, Privacy,
    Progress, Record, RecordBuffer, Records, Result, Shape, Sizes, UpdateCost, envelope,
    extract_bits,
};
use rand_core::{CryptoRng, Rng, SeedableRng};
use zeroize::Zeroizing;

/// Default length of keys in bytes, as in ZipPIR.
pub const KEYS_BYTES: u64 = 400;
/// Maximum length of keys: 1 GiB.
pub const MAX_KEYS_BYTES: u64 = 1 << 30;
const KEY: usize = 32;
const TAG: usize = 16;
/// Stream number of the filler and the tag; ticket numbers never reach it.
const FILLER: u64 = u64::MAX;

/// The scheme. Not private.
pub struct Stateful;

impl Scheme for Stateful {
    const NAME: &'static str = "stateful-test";
    const ID: u16 = 0xfff0;
    const PRIVACY: Privacy =
        Privacy::NotPrivate("it sends the index in the clear: it is for tests");

    type Params = StatefulParams;
    type Public = Nothing;
    type Query = StatefulQuery;
    type Answer = StatefulAnswer;
    type Secret = StatefulSecret;
    type Registration = RegisteredWith<StatefulKeys, StatefulState, StatefulTicket>;
    type Server = StatefulServer;
    type Client = StatefulClient;
}

/// Prepares a database whose clients register `keys_bytes` bytes of keys (without the envelope).
///
/// # Errors
/// The errors of [`StatefulParams::with_keys`] and [`Server::setup`].
pub fn setup(
    records: &dyn Records,
    keys_bytes: u64,
    rng: &mut dyn CryptoRng,
) -> Result<Box<dyn ErasedServer>> {
    let params = StatefulParams::with_keys(records.shape(), keys_bytes)?;
    setup_with::<Stateful>(params, records, rng, &papir_core::NoProgress)
}

/// The shape, and the length of keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatefulParams {
    shape: Shape,
    keys_bytes: u64,
}

impl StatefulParams {
    /// Parameters with keys of this many bytes.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] outside 32 to [`MAX_KEYS_BYTES`].
    pub fn with_keys(shape: Shape, keys_bytes: u64) -> Result<Self> {
        if !(KEY as u64..=MAX_KEYS_BYTES).contains(&keys_bytes) {
            return Err(Error::out_of_bounds(
                "the bytes of keys",
                keys_bytes,
                "32 to 2^30",
            ));
        }
        Ok(Self { shape, keys_bytes })
    }

    fn record_bytes(&self) -> usize {
        self.shape.record_bytes()
    }

    fn sizes(&self) -> Sizes {
        let sealed = |payload: u64| payload + envelope::OVERHEAD as u64;
        Sizes {
            public: sealed(8 + 24),
            keys: sealed(self.keys_bytes),
            ticket: (8 + TAG + self.record_bytes()) as u64,
            query: sealed(16),
            answer: sealed(8 + self.record_bytes() as u64),
            database: self.shape.total_bytes(),
            ..Sizes::default()
        }
    }
}

impl Parameters for StatefulParams {
    fn choose(shape: Shape, _target: impl Into<Target>) -> Result<Self> {
        Self::with_keys(shape, KEYS_BYTES)
    }

    fn shape(&self) -> Shape {
        self.shape
    }

    fn describe(&self) -> Description {
        Description {
            scheme: Stateful::NAME,
            privacy: Stateful::PRIVACY,
            shape: self.shape,
            sizes: self.sizes(),
            security: None,
            failure_log2: f64::NEG_INFINITY,
            failure_bound: FailureBound::DEFAULT,
            limits: Limits {
                records: MAX_RECORDS,
                record_bits: MAX_RECORD_BITS,
                batch: 1,
                client_keys: true,
                tickets: true,
                owner_key: false,
                update: UpdateCost::PerRecord,
            },
            parameters: vec![("keys", self.keys_bytes.to_string())],
            work: Work::default(),
        }
    }

    fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::new();
        writer
            .u64(self.shape.records())
            .u64(self.shape.record_bits())
            .u64(self.keys_bytes);
        writer.finish()
    }

    fn decode(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new("parameters", bytes);
        let shape = Shape::new(reader.u64()?, reader.u64()?)?;
        let keys_bytes = reader.u64()?;
        reader.finish()?;
        Self::with_keys(shape, keys_bytes)
    }
}

/// The empty public part.
#[derive(Clone, Copy, Debug)]
pub struct Nothing;

impl Wire<StatefulParams> for Nothing {
    fn encode(&self, _params: &StatefulParams) -> Vec<u8> {
        Vec::new()
    }

    fn decode(_params: &StatefulParams, bytes: &[u8]) -> Result<Self> {
        Error::check_length("a public part", bytes.len(), 0)?;
        Ok(Self)
    }
}

/// The first `length` bytes of a stream of a key.
fn stream(key: &[u8; KEY], number: u64, length: usize) -> Vec<u8> {
    let mut rng = ChaCha20Rng::from_seed(*key);
    rng.set_stream(number);
    let mut bytes = vec![0; length];
    rng.fill_bytes(&mut bytes);
    bytes
}

fn xor(record: &[u8], pad: &[u8]) -> Vec<u8> {
    record
        .iter()
        .zip(pad)
        .map(|(record, pad)| record ^ pad)
        .collect()
}

/// A client's registered keys: its key, padded to the length in the parameters.
pub struct StatefulKeys {
    key: [u8; KEY],
}

impl StatefulKeys {
    fn tag(&self) -> [u8; TAG] {
        let mut tag = [0; TAG];
        tag.copy_from_slice(&stream(&self.key, FILLER, TAG));
        tag
    }
}

impl Wire<StatefulParams> for StatefulKeys {
    fn encode(&self, params: &StatefulParams) -> Vec<u8> {
        let filler = stream(&self.key, FILLER, params.keys_bytes as usize - KEY);
        [&self.key[..], &filler].concat()
    }

    fn decode(params: &StatefulParams, bytes: &[u8]) -> Result<Self> {
        Error::check_length("client keys", bytes.len(), params.keys_bytes as usize)?;
        let mut reader = Reader::new("client keys", bytes);
        let keys = Self {
            key: reader.array()?,
        };
        if reader.rest() != stream(&keys.key, FILLER, bytes.len() - KEY) {
            return Err(Error::malformed(
                "client keys",
                "another filler",
                "the one that follows from the key",
            ));
        }
        Ok(keys)
    }
}

/// A client's state: its key and the number of tickets used.
pub struct StatefulState {
    key: Zeroizing<[u8; KEY]>,
    next: u64,
}

impl Wire<StatefulParams> for StatefulState {
    fn encode(&self, _params: &StatefulParams) -> Vec<u8> {
        [&self.key[..], &self.next.to_le_bytes()].concat()
    }

    fn decode(_params: &StatefulParams, bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new("client state", bytes);
        let state = Self {
            key: Zeroizing::new(reader.array()?),
            next: reader.u64()?,
        };
        reader.finish()?;
        Ok(state)
    }
}

/// A ticket: one pad.
pub struct StatefulTicket {
    number: u64,
    tag: [u8; TAG],
    pad: Vec<u8>,
}

impl Wire<StatefulParams> for StatefulTicket {
    fn encode(&self, _params: &StatefulParams) -> Vec<u8> {
        [&self.number.to_le_bytes()[..], &self.tag, &self.pad].concat()
    }

    fn decode(params: &StatefulParams, bytes: &[u8]) -> Result<Self> {
        Error::check_length("a ticket", bytes.len(), 8 + TAG + params.record_bytes())?;
        let mut reader = Reader::new("a ticket", bytes);
        Ok(Self {
            number: reader.u64()?,
            tag: reader.array()?,
            pad: reader.rest().to_vec(),
        })
    }
}

/// A query: a ticket's number and an index in the clear.
pub struct StatefulQuery {
    number: u64,
    index: u64,
}

impl Wire<StatefulParams> for StatefulQuery {
    fn encode(&self, _params: &StatefulParams) -> Vec<u8> {
        [self.number.to_le_bytes(), self.index.to_le_bytes()].concat()
    }

    fn decode(params: &StatefulParams, bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new("a query", bytes);
        let query = Self {
            number: reader.u64()?,
            index: reader.u64()?,
        };
        reader.finish()?;
        params.shape.check_index(query.index)?;
        Ok(query)
    }
}

/// An answer: a record XOR a pad.
pub struct StatefulAnswer {
    number: u64,
    padded: Vec<u8>,
}

impl Wire<StatefulParams> for StatefulAnswer {
    fn encode(&self, _params: &StatefulParams) -> Vec<u8> {
        [&self.number.to_le_bytes()[..], &self.padded].concat()
    }

    fn decode(params: &StatefulParams, bytes: &[u8]) -> Result<Self> {
        Error::check_length("an answer", bytes.len(), 8 + params.record_bytes())?;
        let mut reader = Reader::new("an answer", bytes);
        Ok(Self {
            number: reader.u64()?,
            padded: reader.rest().to_vec(),
        })
    }
}

/// The server: the records.
pub struct StatefulServer {
    params: StatefulParams,
    records: RecordBuffer,
}

impl StatefulServer {
    fn answer_one(
        &self,
        session: Session<'_, Stateful>,
        query: &StatefulQuery,
    ) -> Result<StatefulAnswer> {
        let keys = session.require_keys()?;
        let ticket = session.require_ticket()?;

        if ticket.tag != keys.tag() {
            return Err(Error::malformed(
                "a ticket",
                "one of another client",
                "one of this client",
            ));
        }

        if ticket.number != query.number {
            return Err(Error::malformed(
                "a query's ticket",
                query.number,
                ticket.number,
            ));
        }

        let record = self.records.get(query.index)?;
        Ok(StatefulAnswer {
            number: query.number,
            padded: xor(&record, &ticket.pad),
        })
    }
}

impl Server<Stateful> for StatefulServer {
    fn setup(
        params: StatefulParams,
        records: &dyn Records,
        _rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let shape = params.shape;
        progress.stage("copy records", shape.records());
        let mut copy = RecordBuffer::zeroed(shape);
        records.read_packed(0, shape.records(), copy.packed_mut())?;
        Ok(Self {
            params,
            records: copy,
        })
    }

    fn params(&self) -> &StatefulParams {
        &self.params
    }

    fn public(&self) -> &Nothing {
        &Nothing
    }

    fn answer_many(
        &self,
        batch: Vec<(Session<'_, Stateful>, &StatefulQuery)>,
        progress: &dyn Progress,
    ) -> Result<Vec<StatefulAnswer>> {
        progress.stage("answer", batch.len() as u64);
        batch
            .into_iter()
            .map(|(session, query)| self.answer_one(session, query))
            .collect()
    }

    fn update(
        &self,
        changes: &[Change],
        _rng: &mut dyn CryptoRng,
        _progress: &dyn Progress,
    ) -> Result<Self> {
        check_changes(&self.params.shape, changes)?;
        let mut records =
            RecordBuffer::from_packed(self.params.shape, self.records.packed().to_vec())?;
        for change in changes {
            records.set(change.index, &change.record)?;
        }
        Ok(Self {
            params: self.params.clone(),
            records,
        })
    }

    fn read_packed(&self, first: u64, count: u64, out: &mut [u8]) -> Result<()> {
        self.records.read_packed(first, count, out)
    }

    fn save(&self, sink: &mut dyn SectionSink) -> Result<()> {
        sink.put("records", &[self.records.packed()])
    }

    fn load(params: StatefulParams, source: &dyn SectionSource) -> Result<Self> {
        let records = RecordBuffer::from_packed(params.shape, source.get("records")?.to_vec())?;
        Ok(Self { params, records })
    }
}

impl RegisteredServer<Stateful> for StatefulServer {
    fn ticket(
        &self,
        keys: &StatefulKeys,
        number: u64,
        _earlier: Option<EarlierTicket<'_, Stateful>>,
        progress: &dyn Progress,
    ) -> Result<StatefulTicket> {
        progress.stage("ticket", 1);
        let pad = stream(&keys.key, number, self.params.record_bytes());
        progress.advance(1);
        Ok(StatefulTicket {
            number,
            tag: keys.tag(),
            pad,
        })
    }
}

/// The secret that removes the pad from one answer.
pub struct StatefulSecret {
    number: u64,
    pad: Zeroizing<Vec<u8>>,
}

/// A client that sends its index in the clear.
pub struct StatefulClient {
    params: StatefulParams,
}

impl Client<Stateful> for StatefulClient {
    fn new(params: StatefulParams, _public: Nothing) -> Result<Self> {
        Ok(Self { params })
    }

    fn params(&self) -> &StatefulParams {
        &self.params
    }

    fn query(
        &self,
        state: Option<&mut StatefulState>,
        indices: &[u64],
        _rng: &mut dyn CryptoRng,
    ) -> Result<(StatefulSecret, StatefulQuery)> {
        check_indices(Stateful::NAME, &self.params.shape, indices, 1)?;
        let state = state.ok_or(Error::Session {
            scheme: Stateful::NAME,
            what: "client state",
        })?;

        // Counted at once: a number that was sent is never used again, whatever follows.
        let number = state.next;
        state.next += 1;

        let pad = Zeroizing::new(stream(&state.key, number, self.params.record_bytes()));
        Ok((
            StatefulSecret { number, pad },
            StatefulQuery {
                number,
                index: indices[0],
            },
        ))
    }

    fn extract(&self, secret: StatefulSecret, answer: StatefulAnswer) -> Result<Vec<Record>> {
        if secret.number != answer.number {
            return Err(Error::NotDecodable);
        }
        let record = xor(&answer.padded, &secret.pad);
        Ok(vec![extract_bits(
            &record,
            0,
            self.params.shape.record_bits(),
        )])
    }
}

impl RegisteredClient<Stateful> for StatefulClient {
    fn register(
        &self,
        _kept: Option<&StatefulState>,
        rng: &mut dyn CryptoRng,
    ) -> Result<(StatefulState, StatefulKeys)> {
        let mut key = [0; KEY];
        rng.fill_bytes(&mut key);

        let state = StatefulState {
            key: Zeroizing::new(key),
            next: 0,
        };
        Ok((state, StatefulKeys { key }))
    }

    fn numbers(&self, state: &StatefulState) -> StateNumbers {
        StateNumbers::of_ticket(state.next)
    }

    fn state_fits(&self, _state: &StatefulState) -> bool {
        true
    }
}
