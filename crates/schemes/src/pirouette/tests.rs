use papir_core::scheme::{Client, Goal, Parameters, Server, Session};
use papir_core::{NoProgress, RecordBuffer, Shape};
use rand_core::SeedableRng;

use super::Full;
use super::client::PirouetteClient;
use super::params::PirouetteParams;
use super::server::PirouetteServer;
use super::wire::Public;

#[test]
fn a_record_comes_back() {
    let mut rng = chacha20::ChaCha20Rng::from_seed([3; 32]);
    let shape = Shape::new(1 << 10, 2048).unwrap();
    let packed = (0..shape.total_bytes()).map(|i| (i * 7 + i / 256) as u8).collect();
    let records = RecordBuffer::from_packed(shape, packed).unwrap();
    let params = PirouetteParams::<Full>::choose(shape, Goal::Balanced).unwrap();
    eprintln!("{:?}", params.describe());
    let server = PirouetteServer::setup(params.clone(), &records, &mut rng, &NoProgress).unwrap();
    let client = PirouetteClient::new(params, Public).unwrap();
    let (mut state, keys) = client.register(&mut rng).unwrap().unwrap();
    for index in [0, 1, 517, 1023] {
        let (secret, query) = client.query(Some(&mut state), &[index], &mut rng).unwrap();
        let start = std::time::Instant::now();
        let answer = server.answer(Session { keys: Some(&keys), ticket: None }, &query).unwrap();
        eprintln!("{:?}", start.elapsed());
        let found = client.extract(secret, answer).unwrap();
        assert_eq!(found, [records.get(index).unwrap()], "record {index}");
    }
}
