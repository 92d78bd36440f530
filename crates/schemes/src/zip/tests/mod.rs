//! Noise against its bound, updates, and what the tests share.
#![allow(clippy::unwrap_used)]

mod ahead;
mod params;
mod residues;
mod reuse;
mod slots;
mod tickets;

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use papir_core::envelope::OVERHEAD;
use papir_core::scheme::{
    Client, Parameters, RegisteredClient, RegisteredServer, Server, Session, Wire,
};
use papir_core::{Change, Error, NoProgress, Privacy, RecordBuffer, Records, Shape};
use papir_ring::prg::{SecretRng, Seed};
use rand_core::Rng;

use super::base::{Base, ParameterSet};
use super::client::{State, ZipClient, ZipSecret};
use super::over_double::{self, Levels};
use super::over_simple::{self, Columns};
use super::params::ZipParams;
use super::server::ZipServer;
use super::wire::{Keys, ZipAnswer, ZipQuery};
use crate::shared::units::count_selected;

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
    /// Creates a database of random records. `key_bits` bits of the LWE key are in one plaintext.
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
        let (state, keys) = client.register(None, &mut rng).unwrap();

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
            .ticket(&self.keys, query.number, None, &NoProgress)
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

/// Refuses rows that are far from any message.
fn assert_selected_before_refused<B: Base>(base: &B) {
    let mut rng = ChaCha20Rng::from_seed([3; 32]);
    let key = vec![0; 1280];
    let encrypted = base.encrypt(Seed([4; 32]), 5, &key, &mut SecretRng::new(&mut rng));

    let figures = base.figures();
    let online = figures.online_words / (key.len() + 1);
    let rows = vec![(0u8, u16::MAX); figures.hint_rows + online];

    let (refused, selected) = count_selected(|| base.decode(&encrypted.secret, &rows));
    assert!(matches!(refused, Err(Error::NotDecodable)));
    assert_eq!(selected, 1);
}

#[test]
fn the_record_is_selected_before_an_answer_is_refused() {
    let shape = Shape::of_bytes(64, 40).unwrap();
    let params = ZipParams::<Columns<Short>>::new(shape, 4, 1).unwrap();
    assert_selected_before_refused(&params.base);

    let shape = Shape::of_bytes(900, 1).unwrap();
    let params = ZipParams::<Levels<Short>>::new(shape, 45, 1).unwrap();
    assert_selected_before_refused(&params.base);
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
