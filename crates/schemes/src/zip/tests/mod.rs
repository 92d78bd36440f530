//! Noise against its bound, updates, and single use of tickets' numbers.
#![allow(clippy::unwrap_used)]

mod params;
mod residues;
mod reuse;
mod slots;

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use papir_core::envelope::OVERHEAD;
use papir_core::scheme::{Client, Parameters, SENT_AHEAD, Scheme, Server, Session, Wire};
use papir_core::{Change, Error, NoProgress, Privacy, Progress, RecordBuffer, Records, Shape};
use rand_core::Rng;

use super::Zip;
use super::base::{Base, ParameterSet};
use super::client::{State, ZipClient, ZipSecret};
use super::over_double::{self, Levels};
use super::over_simple::{self, Columns};
use super::params::ZipParams;
use super::server::ZipServer;
use super::wire::{Keys, Product, ZipAnswer, ZipQuery};

/// A modulus that anybody can factor.
#[derive(Clone, Copy, Debug)]
struct Short;

impl ParameterSet for Short {
    const ZIP: (&'static str, u16) = ("zip-short", 0xfff1);
    const ZIP_DOUBLE: (&'static str, u16) = ("zipdouble-short", 0xfff2);
    const PRIVACY: Privacy = Privacy::NotPrivate("its modulus is short: it is for tests");

    fn paillier() -> papir_paillier::Result<papir_paillier::Params> {
        papir_paillier::Params::insecure(256, 1)
    }
}

type OverSimple = Setup<Columns<Short>>;
type OverDouble = Setup<Levels<Short>>;

struct Setup<B: Base> {
    records: RecordBuffer,
    server: ZipServer<B>,
    client: ZipClient<B>,
    state: State,
    keys: Keys,
    rng: ChaCha20Rng,
}

impl<B: Base> Setup<B> {
    /// Random records; `key_bits` bits of the LWE key are in one plaintext.
    fn new(shape: Shape, height: u64, key_bits: usize) -> Self {
        let mut rng = ChaCha20Rng::from_seed([7; 32]);
        let mut records = RecordBuffer::zeroed(shape);
        rng.fill_bytes(records.packed_mut());
        Self::of_records(records, height, key_bits, rng)
    }

    fn of_records(
        records: RecordBuffer,
        height: u64,
        key_bits: usize,
        mut rng: ChaCha20Rng,
    ) -> Self {
        let params = ZipParams::<B>::new(records.shape(), height, key_bits).unwrap();
        let server = ZipServer::setup(params.clone(), &records, &mut rng, &NoProgress).unwrap();
        let client = ZipClient::new(params, server.public().clone()).unwrap();
        let (state, keys) = client.register(&mut rng).unwrap().unwrap();
        Self {
            records,
            server,
            client,
            state,
            keys,
            rng,
        }
    }

    fn ask(&mut self, index: u64) -> (ZipSecret<B>, ZipQuery) {
        self.client
            .query(Some(&mut self.state), &[index], &mut self.rng)
            .unwrap()
    }

    fn answer(&self, query: &ZipQuery) -> ZipAnswer {
        let ticket = self
            .server
            .ticket(&self.keys, query.number, &NoProgress)
            .unwrap();
        let session = Session {
            keys: Some(&self.keys),
            ticket: Some(&ticket),
        };
        self.server.answer(session, query).unwrap()
    }

    /// Sends the key of the next number ahead.
    fn send_ahead(&mut self) -> ZipAnswer {
        let query = self
            .client
            .send_ahead(&mut self.state, &mut self.rng)
            .unwrap();
        assert!(query.parts.is_none());
        let params = self.client.params();
        let bytes = query.encode(params);
        assert_eq!(
            bytes.len() + OVERHEAD,
            params.describe().sizes.ahead as usize
        );
        self.answer(&ZipQuery::decode(params, &bytes).unwrap())
    }

    fn copy_of(&self, answer: &ZipAnswer) -> ZipAnswer {
        let params = self.client.params();
        ZipAnswer::decode(params, &answer.encode(params)).unwrap()
    }

    /// Encodes the state and reads it again.
    fn reload(&mut self) {
        let params = self.client.params();
        let bytes = self.state.encode(params);
        self.state = State::decode(params, &bytes).unwrap();
    }
}

#[test]
fn noise_over_simple_is_as_computed() {
    // Zeros have the largest centred words, but all of their rows are equal.
    for (zeros, key_bits) in [(true, 1), (false, 1), (false, 2), (false, 3), (false, 5)] {
        let shape = Shape::of_bytes(400, 40).unwrap();
        let mut rng = ChaCha20Rng::from_seed([7; 32]);
        let mut records = RecordBuffer::zeroed(shape);
        if !zeros {
            rng.fill_bytes(records.packed_mut());
        }
        let mut setup = OverSimple::of_records(records, 20, key_bits, rng);
        let params = setup.client.params().clone();
        let mut squares = 0.0;
        let mut count = 0.0;
        let columns = params.base.layout.columns;
        let bits = params.base.budget.query_bits;
        let predicted = over_simple::LEVEL.deviation(columns, 1280, bits);
        for index in [0, 399, 57] {
            let (secret, query) = setup.ask(index);
            let rows = setup.client.rows(&secret, setup.answer(&query)).unwrap();
            assert!(
                rows.iter()
                    .all(|(_, distance)| *distance <= params.base.budget.bound)
            );
            squares += rows.iter().map(|(_, d)| f64::from(*d).powi(2)).sum::<f64>();
            count += rows.len() as f64;
            let record = setup.client.extract(secret, setup.answer(&query)).unwrap();
            assert_eq!(record, [setup.records.get(index).unwrap()]);
        }
        let measured = (squares / count).sqrt();
        let ratio = measured / predicted;
        assert!(
            zeros || (0.85..1.1).contains(&ratio),
            "{key_bits}: {measured} units, not {predicted}"
        );
    }
}

#[test]
fn a_key_sent_ahead_serves_one_query_of_one_version() {
    let shape = Shape::of_bytes(300, 8).unwrap();
    let mut setup = OverSimple::new(shape, 30, 2);
    let params = setup.client.params().clone();
    let sizes = params.describe().sizes;
    for number in 0..3 {
        assert_eq!(setup.client.next_ticket(&setup.state), Some(number));
        let answer = setup.send_ahead();
        assert_eq!(
            answer.encode(&params).len() + OVERHEAD,
            sizes.answer as usize
        );
        assert_eq!(setup.client.held(&setup.state) as u64, number);
        setup.reload();
        setup.client.hold(&mut setup.state, number, answer).unwrap();
        setup.reload();
    }
    let bytes = <State as Wire<ZipParams<Columns<Short>>>>::encode(&setup.state, &params);
    let cut =
        <State as Wire<ZipParams<Columns<Short>>>>::decode(&params, &bytes[..bytes.len() - 1]);
    assert!(matches!(cut.map(drop), Err(Error::Length { .. })));

    assert_eq!(setup.client.next_number(&setup.state), Some(SENT_AHEAD));
    let (secret, query) = setup.ask(77);
    assert!(query.offsets.is_none() && query.number == 0);
    assert_eq!(
        query.encode(&params).len() + OVERHEAD,
        sizes.online as usize
    );
    assert_eq!(setup.client.next_number(&setup.state), Some(SENT_AHEAD + 1));
    // It needs neither keys nor a ticket.
    let answer = setup.server.answer(Session::anonymous(), &query).unwrap();
    let bytes = answer.encode(&params);
    assert_eq!(bytes.len(), 2 * params.compression.rows);
    let answer = ZipAnswer::decode(&params, &bytes).unwrap();
    assert_eq!(
        setup.client.extract(secret, answer).unwrap(),
        [setup.records.get(77).unwrap()]
    );

    // A key is not used for another version, which has another hint.
    let change = Change {
        index: 33,
        record: vec![9; 8],
    };
    setup.server = setup
        .server
        .update(std::slice::from_ref(&change), &mut setup.rng, &NoProgress)
        .unwrap();
    setup.client = ZipClient::new(params, setup.server.public().clone()).unwrap();
    assert_eq!(
        (
            setup.client.held(&setup.state),
            setup.client.next_number(&setup.state)
        ),
        (0, Some(3))
    );
    let (secret, query) = setup.ask(33);
    assert!(query.offsets.is_some() && query.number == 3);
    assert_eq!(
        setup.client.extract(secret, setup.answer(&query)).unwrap(),
        [change.record]
    );
}

#[test]
fn whole_and_halved_queries_are_answered_together() {
    let mut setup = OverDouble::new(Shape::new(500, 3).unwrap(), 20, 2);
    let params = setup.client.params().clone();
    let answer = setup.send_ahead();
    setup.client.hold(&mut setup.state, 0, answer).unwrap();
    let (online, first) = setup.ask(123);
    let (whole, second) = setup.ask(321);
    let third = setup
        .client
        .send_ahead(&mut setup.state, &mut setup.rng)
        .unwrap();
    let tickets = [1, 2].map(|number| {
        setup
            .server
            .ticket(&setup.keys, number, &NoProgress)
            .unwrap()
    });
    let session = |ticket| Session {
        keys: Some(&setup.keys),
        ticket,
    };
    let batch = vec![
        (session(None), &first),
        (session(Some(&tickets[0])), &second),
        (session(Some(&tickets[1])), &third),
    ];
    let answers = setup.server.answer_many(batch, &NoProgress).unwrap();
    let mut answers = answers.into_iter().map(|answer| {
        let bytes = answer.encode(&params);
        (bytes.len(), ZipAnswer::decode(&params, &bytes).unwrap())
    });
    let online_words = 2 * params.base.figures().online_words;
    let (length, answer) = answers.next().unwrap();
    assert_eq!(length, online_words + params.compression.words_bytes());
    assert_eq!(
        setup.client.extract(online, answer).unwrap(),
        [setup.records.get(123).unwrap()]
    );
    let (length, answer) = answers.next().unwrap();
    assert_eq!(length, online_words + params.compression.joined_bytes());
    assert_eq!(
        setup.client.extract(whole, answer).unwrap(),
        [setup.records.get(321).unwrap()]
    );
    setup
        .client
        .hold(&mut setup.state, 2, answers.next().unwrap().1)
        .unwrap();
    let (secret, query) = setup.ask(7);
    let answer = setup.server.answer(Session::anonymous(), &query).unwrap();
    assert_eq!(
        setup.client.extract(secret, answer).unwrap(),
        [setup.records.get(7).unwrap()]
    );
    assert!(params.describe().security.is_none());
}

#[test]
fn an_answer_is_held_once_and_for_its_own_key() {
    let mut setup = OverSimple::new(Shape::of_bytes(300, 8).unwrap(), 30, 1);
    let answers = [setup.send_ahead(), setup.send_ahead()];
    let words = ZipAnswer {
        online: Vec::new(),
        product: Product::Words(Vec::new()),
    };
    for (number, answer) in [(5, setup.copy_of(&answers[0])), (0, words)] {
        let error = setup
            .client
            .hold(&mut setup.state, number, answer)
            .unwrap_err();
        assert!(matches!(error, Error::Malformed { .. }), "{error}");
    }
    let [first, second] = answers;
    let again = setup.copy_of(&first);
    setup.client.hold(&mut setup.state, 0, first).unwrap();
    assert!(
        setup.client.hold(&mut setup.state, 0, again).is_err(),
        "a second answer"
    );
    setup.client.hold(&mut setup.state, 1, second).unwrap();

    // Neither form of an answer passes for the other.
    let (secret, query) = setup.ask(1);
    let joined = setup.send_ahead();
    assert!(matches!(
        setup.client.extract(secret, joined),
        Err(Error::Malformed { .. })
    ));
    assert_eq!(query.number, 0);
    let words = setup.server.answer(Session::anonymous(), &query).unwrap();
    setup.ask(2);
    let (secret, _) = setup.ask(2);
    assert!(matches!(
        setup.client.extract(secret, words),
        Err(Error::Malformed { .. })
    ));
}

#[test]
fn keys_whose_answers_never_come_are_given_up() {
    let mut setup = OverSimple::new(Shape::of_bytes(300, 8).unwrap(), 30, 5);
    let params = setup.client.params().clone();
    let length =
        |state: &State| <State as Wire<ZipParams<Columns<Short>>>>::encode(state, &params).len();
    for _ in 0..70 {
        setup
            .client
            .send_ahead(&mut setup.state, &mut setup.rng)
            .unwrap();
    }
    let most = length(&setup.state);
    setup
        .client
        .send_ahead(&mut setup.state, &mut setup.rng)
        .unwrap();
    assert_eq!(length(&setup.state), most);
}

#[test]
fn a_row_without_words_decodes() {
    // Centred, a byte of 128 is zero, and so is the row's hint: nothing hides its spill's mean.
    let shape = Shape::of_bytes(64, 40).unwrap();
    let mut records = RecordBuffer::zeroed(shape);
    records.packed_mut().fill(128);
    let mut setup = OverSimple::of_records(records, 4, 3, ChaCha20Rng::from_seed([1; 32]));
    let (secret, query) = setup.ask(9);
    let answer = setup.answer(&query);
    assert_eq!(
        setup.client.extract(secret, answer).unwrap(),
        [setup.records.get(9).unwrap()]
    );
}

#[test]
fn every_number_has_its_own_masks_and_offsets() {
    let mut setup = OverSimple::new(Shape::of_bytes(50, 9).unwrap(), 5, 1);
    let queries: Vec<ZipQuery> = (0..3).map(|_| setup.ask(4).1).collect();
    assert_eq!(
        queries.iter().map(|query| query.number).collect::<Vec<_>>(),
        [0, 1, 2]
    );
    let mut offsets: Vec<&Vec<u16>> = queries
        .iter()
        .flat_map(|query| query.offsets.as_ref().unwrap())
        .collect();
    let all = offsets.len();
    offsets.sort();
    offsets.dedup();
    assert_eq!(offsets.len(), all, "two offsets are equal");
}

#[test]
fn tickets_follow_a_change_of_the_database() {
    let shape = Shape::of_bytes(300, 8).unwrap();
    let mut setup = OverSimple::new(shape, 30, 1);
    let ticket = |server: &ZipServer<Columns<Short>>, keys: &Keys| {
        server.ticket(keys, 5, &NoProgress).unwrap()
    };
    let old = ticket(&setup.server, &setup.keys);
    let change = Change {
        index: 33,
        record: vec![1, 2, 3, 4, 5, 6, 7, 8],
    };
    let server = setup
        .server
        .update(std::slice::from_ref(&change), &mut setup.rng, &NoProgress)
        .unwrap();
    setup.records.set(33, &change.record).unwrap();
    let seed = server.public.seed;
    let again = ZipServer::with_seed(server.params.clone(), seed, &setup.records, &NoProgress)
        .unwrap()
        .hint;
    assert!(
        server.hint.exponents.bytes() == again.exponents.bytes(),
        "the hint's exponents"
    );
    assert!(
        server.hint.residues.bytes() == again.residues.bytes(),
        "their residues"
    );
    assert!(server.hint.sums.bytes() == again.sums.bytes(), "their sums");
    assert!(server.hint.digest == again.digest && server.hint.digest != setup.server.hint.digest);
    let kept: usize = {
        let fresh = ticket(&server, &setup.keys).ciphertexts;
        old.ciphertexts
            .iter()
            .zip(&fresh)
            .filter(|(old, new)| old == new)
            .count()
    };
    assert!(
        kept > 0 && kept < old.ciphertexts.len(),
        "{kept} of {} stay",
        old.ciphertexts.len()
    );
    let followed = server
        .follow((&setup.server, old), &setup.keys, 5, &NoProgress)
        .unwrap();
    assert!(followed.ciphertexts == ticket(&server, &setup.keys).ciphertexts);
    setup.server = server;
    let (secret, query) = setup.ask(33);
    let answer = setup.answer(&query);
    assert_eq!(
        setup.client.extract(secret, answer).unwrap(),
        [change.record]
    );
}

#[test]
fn sessions_of_others_are_refused() {
    let mut setup = OverSimple::new(Shape::of_bytes(50, 9).unwrap(), 5, 1);
    let (_, query) = setup.ask(4);
    let (_, others) = setup.client.register(&mut setup.rng).unwrap().unwrap();
    let ticket = setup.server.ticket(&setup.keys, 0, &NoProgress).unwrap();
    let late = setup.server.ticket(&setup.keys, 1, &NoProgress).unwrap();
    let stranger = setup.server.ticket(&others, 0, &NoProgress).unwrap();
    let answer = |keys, ticket| setup.server.answer(Session { keys, ticket }, &query);
    let keys = Some(&setup.keys);
    assert!(matches!(
        answer(None, Some(&ticket)),
        Err(Error::Session { .. })
    ));
    assert!(matches!(answer(keys, None), Err(Error::Session { .. })));
    assert!(matches!(
        answer(keys, Some(&late)),
        Err(Error::Malformed { .. })
    ));
    assert!(matches!(
        answer(keys, Some(&stranger)),
        Err(Error::Malformed { .. })
    ));
    assert!(matches!(
        answer(Some(&others), Some(&ticket)),
        Err(Error::Malformed { .. })
    ));
    assert!(answer(keys, Some(&ticket)).is_ok());
}

/// Changes of few rows are multiplied into a ticket, and those of many make its ciphertexts anew: the
/// result is the same.
#[test]
fn tickets_follow_few_and_many_rows_alike() {
    for (key_bits, records) in [(1, 1), (1, 3), (1, 15), (2, 1), (4, 1)] {
        // A column has 30 records of one byte: rows are single bytes.
        let mut setup = OverSimple::new(Shape::of_bytes(300, 1).unwrap(), 30, key_bits);
        let old = setup.server.ticket(&setup.keys, 5, &NoProgress).unwrap();
        let changes: Vec<Change> = (0..records)
            .map(|i| Change {
                index: 2 * i,
                record: vec![201 + i as u8],
            })
            .collect();
        let server = setup
            .server
            .update(&changes, &mut setup.rng, &NoProgress)
            .unwrap();
        let stages = Stages::default();
        let followed = server
            .follow((&setup.server, old), &setup.keys, 5, &stages)
            .unwrap();
        let fresh = server.ticket(&setup.keys, 5, &NoProgress).unwrap();
        assert!(
            followed.ciphertexts == fresh.ciphertexts,
            "{records} records, {key_bits} key bits"
        );
        let stages = stages.0.into_inner().unwrap();
        assert!(
            stages.iter().any(|stage| stage == "difference") != (records == 15),
            "{records}: {stages:?}"
        );
        setup.client = ZipClient::new(server.params.clone(), server.public().clone()).unwrap();
        setup.server = server;
        let (secret, query) = setup.ask(0);
        assert_eq!(
            setup.client.extract(secret, setup.answer(&query)).unwrap(),
            [vec![201]]
        );
    }
}

/// Names of the stages with any work.
#[derive(Default)]
struct Stages(std::sync::Mutex<Vec<String>>);

impl Progress for Stages {
    fn stage(&self, name: &str, total: u64) {
        if total > 0 {
            self.0.lock().unwrap().push(name.to_owned());
        }
    }

    fn advance(&self, _steps: u64) {}
}

#[test]
fn malformed_keys_are_refused_with_a_reason() {
    let setup = OverSimple::new(Shape::of_bytes(50, 9).unwrap(), 5, 1);
    let params = setup.client.params();
    let good = setup.keys.encode(params);
    let with = |modulus: &[u8]| [modulus, &good[modulus.len()..]].concat();
    let number = |add: i8| {
        let mut bytes = good.clone();
        bytes[0] = bytes[0].wrapping_add_signed(add);
        bytes
    };
    let prime = {
        // 2^256 − 189.
        let mut bytes = [0xff; 32];
        bytes[0] = 0x43;
        with(&bytes)
    };
    let cases = [
        ("m + 1", number(1)),
        ("m − 1", number(-1)),
        ("zero", with(&[0; 32])),
        (
            "too short",
            with(&[
                good[0], 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 0,
                0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
            ]),
        ),
        ("a prime", prime),
    ];
    for (what, bytes) in cases {
        let error = <Keys as Wire<ZipParams<Columns<Short>>>>::decode(params, &bytes)
            .map(drop)
            .unwrap_err();
        assert!(matches!(error, Error::Malformed { .. }), "{what}: {error}");
    }
    for length in [0, good.len() - 1, good.len() + 1] {
        let mut bytes = good.clone();
        bytes.resize(length, 0);
        let error = <Keys as Wire<ZipParams<Columns<Short>>>>::decode(params, &bytes)
            .map(drop)
            .unwrap_err();
        assert!(
            matches!(error, Error::Length { .. }),
            "{length} bytes: {error}"
        );
    }
    assert_eq!(<Zip<Short> as Scheme>::ID, 0xfff1);
}

#[test]
fn noise_over_double_is_as_computed() {
    for (units, columns, key_bits) in [(700, 9, 1), (40, 200, 4)] {
        let mut setup = OverDouble::new(
            Shape::of_bytes(units * columns, 1).unwrap(),
            units,
            key_bits,
        );
        let params = setup.client.params().clone();
        let predicted = {
            // Digits are uniform, not extreme: √((2¹⁴ + 2)/12) instead of 64.
            let bits = params.base.budget.query_bits;
            let deviation = |units| over_double::LEVEL.deviation(units, 1280, bits);
            let all = deviation(units as usize).powi(2);
            let compression = deviation(0).powi(2);
            ((all - compression) * (36.95f64 / 64.0).powi(2) + compression).sqrt()
        };
        let (secret, query) = setup.ask(units * columns - 1);
        let rows = setup.client.rows(&secret, setup.answer(&query)).unwrap();
        assert!(
            rows.iter()
                .all(|(_, distance)| *distance <= params.base.budget.bound)
        );
        let squares: f64 = rows
            .iter()
            .map(|(_, distance)| f64::from(*distance).powi(2))
            .sum();
        let ratio = (squares / rows.len() as f64).sqrt() / predicted;
        assert!(
            (0.85..1.15).contains(&ratio),
            "{units} units: {ratio} times {predicted}"
        );
        let record = setup.client.extract(secret, setup.answer(&query)).unwrap();
        assert_eq!(record, [setup.records.get(units * columns - 1).unwrap()]);
    }
}

#[test]
fn an_update_over_double_equals_a_setup_of_the_changed_records() {
    for changed in [1, 400] {
        let mut setup = OverDouble::new(Shape::of_bytes(900, 1).unwrap(), 45, 3);
        let changes: Vec<Change> = (0..changed)
            .map(|i| Change {
                index: 2 * i,
                record: vec![i as u8],
            })
            .collect();
        let server = setup
            .server
            .update(&changes, &mut setup.rng, &NoProgress)
            .unwrap();
        changes
            .iter()
            .for_each(|change| setup.records.set(change.index, &change.record).unwrap());
        let params = server.params.clone();
        let seed = server.public.seed;
        let again =
            ZipServer::with_seed(params.clone(), seed, &setup.records, &NoProgress).unwrap();
        assert!(
            server.stored.first.database.tiles()[..] == again.stored.first.database.tiles()[..]
        );
        assert!(server.stored.second.masks.bytes() == again.stored.second.masks.bytes());
        assert!(server.hint.exponents.bytes() == again.hint.exponents.bytes());
        assert!(server.hint.residues.bytes() == again.hint.residues.bytes());
        assert!(
            server.public.digest == again.public.digest
                && server.public.digest != setup.server.public.digest
        );
        setup.client = ZipClient::new(params, server.public().clone()).unwrap();
        setup.server = server;
        let last = changes.last().unwrap();
        let (secret, query) = setup.ask(last.index);
        assert_eq!(
            setup.client.extract(secret, setup.answer(&query)).unwrap(),
            std::slice::from_ref(&last.record)
        );
    }
}
