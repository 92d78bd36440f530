//! Noise of the second level against its bound, updates and held hints, with a short modulus.
#![allow(clippy::unwrap_used)]

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use papir_core::scheme::{Client, Parameters, Server, Session, Wire};
use papir_core::{Change, NoProgress, RecordBuffer, Shape};
use rand_core::Rng;

use super::client::{ZipDoubleClient, ZipDoubleSecret};
use super::noise::deviation;
use super::params::ZipDoubleParams;
use super::server::ZipDoubleServer;
use super::wire::{ZipDoubleAnswer, ZipDoubleQuery};
use crate::zip::compression::client::State;
use crate::zip::compression::tests::Short;
use crate::zip::compression::wire::Keys;

struct Setup {
    records: RecordBuffer,
    server: ZipDoubleServer<Short>,
    client: ZipDoubleClient<Short>,
    state: State,
    keys: Keys,
    rng: ChaCha20Rng,
}

impl Setup {
    fn new(shape: Shape, units: u64, key_bits: usize) -> Self {
        let mut rng = ChaCha20Rng::from_seed([9; 32]);
        let mut records = RecordBuffer::zeroed(shape);
        rng.fill_bytes(records.packed_mut());
        let params = ZipDoubleParams::<Short>::new(shape, units, key_bits).unwrap();
        let server = ZipDoubleServer::setup(params.clone(), &records, &mut rng, &NoProgress).unwrap();
        let client = ZipDoubleClient::new(params, server.public().clone()).unwrap();
        let (state, keys) = client.register(&mut rng).unwrap().unwrap();
        Self { records, server, client, state, keys, rng }
    }

    fn ask(&mut self, index: u64) -> (ZipDoubleSecret, ZipDoubleQuery) {
        self.client.query(Some(&mut self.state), &[index], &mut self.rng).unwrap()
    }

    fn answer(&self, query: &ZipDoubleQuery) -> ZipDoubleAnswer {
        let ticket = self.server.ticket(&self.keys, query.key.number, &NoProgress).unwrap();
        self.server.answer(Session { keys: Some(&self.keys), ticket: Some(&ticket) }, query).unwrap()
    }
}

#[test]
fn noise_is_as_computed() {
    for (units, columns, key_bits) in [(700, 9, 1), (40, 200, 4)] {
        let mut setup = Setup::new(Shape::of_bytes(units * columns, 1).unwrap(), units, key_bits);
        let params = setup.client.params().clone();
        let predicted = {
            // Digits are uniform, not extreme: √((2¹⁴ + 2)/12) in place of 64.
            let dropped = 32 - params.budget.second_bits;
            let all = deviation(params.layout.units, params.compression.n(), dropped).powi(2);
            let compression = deviation(0, params.compression.n(), dropped).powi(2);
            ((all - compression) * (36.95f64 / 64.0).powi(2) + compression).sqrt()
        };
        let (secret, query) = setup.ask(units * columns - 1);
        let rows = setup.client.rows(&secret, setup.answer(&query)).unwrap();
        assert!(rows.iter().all(|(_, distance)| *distance <= params.budget.second));
        let squares: f64 = rows.iter().map(|(_, distance)| f64::from(*distance).powi(2)).sum();
        let ratio = (squares / rows.len() as f64).sqrt() / predicted;
        assert!((0.85..1.15).contains(&ratio), "{units} units: {ratio} times {predicted}");
        let record = setup.client.extract(secret, setup.answer(&query)).unwrap();
        assert_eq!(record, [setup.records.get(units * columns - 1).unwrap()]);
    }
}

#[test]
fn an_update_is_a_setup_of_the_changed_records() {
    for changed in [1, 400] {
        let mut setup = Setup::new(Shape::of_bytes(900, 1).unwrap(), 45, 3);
        let changes: Vec<Change> =
            (0..changed).map(|i| Change { index: 2 * i, record: vec![i as u8] }).collect();
        let server = setup.server.update(&changes, &mut setup.rng, &NoProgress).unwrap();
        changes.iter().for_each(|change| setup.records.set(change.index, &change.record).unwrap());
        let (params, seed) = (server.params.clone(), server.public.seed);
        let database = crate::double::first::encode(&params.layout, &setup.records, &NoProgress).unwrap();
        let again = ZipDoubleServer::prepare(params.clone(), seed, database, &NoProgress).unwrap();
        assert!(server.first.database.tiles()[..] == again.first.database.tiles()[..]);
        assert!(server.second.masks.bytes() == again.second.masks.bytes());
        assert!(server.hint.exponents.bytes() == again.hint.exponents.bytes());
        assert!(server.hint.residues.bytes() == again.hint.residues.bytes());
        assert!(
            server.public.digest == again.public.digest && server.public.digest != setup.server.public.digest
        );
        setup.client = ZipDoubleClient::new(params, server.public().clone()).unwrap();
        setup.server = server;
        let last = changes.last().unwrap();
        let (secret, query) = setup.ask(last.index);
        assert_eq!(
            setup.client.extract(secret, setup.answer(&query)).unwrap(),
            std::slice::from_ref(&last.record)
        );
    }
}

#[test]
fn a_held_hint_shortens_the_answer() {
    let mut setup = Setup::new(Shape::new(500, 3).unwrap(), 20, 2);
    let ticket = setup.server.ticket(&setup.keys, 0, &NoProgress).unwrap();
    setup.client.hold(&mut setup.state, ticket).unwrap();
    let (secret, query) = setup.ask(123);
    let (params, answer) = (setup.client.params().clone(), setup.answer(&query));
    let bytes = answer.encode(&params);
    assert_eq!(bytes.len(), params.online_bytes() + params.compression.apart_bytes());
    let answer = ZipDoubleAnswer::decode(&params, &bytes).unwrap();
    assert_eq!(setup.client.extract(secret, answer).unwrap(), [setup.records.get(123).unwrap()]);
    assert!(ZipDoubleAnswer::decode(&params, &bytes[1..]).is_err());
    assert!(params.describe().security.is_none());
}
