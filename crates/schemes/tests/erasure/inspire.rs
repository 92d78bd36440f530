//! Both levels of InsPIRe: the ring secret, and messages before their encryption.

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use papir_core::scheme::{Client as _, Server as _, Session};
use papir_core::{NoProgress, RecordBuffer, Shape};
use papir_kernels::galois;
use papir_lattice::secret::SecretKey;
use papir_ring::CyclotomicRing as _;
use papir_schemes::inspire::{Answer, Client, Params, Server};

use crate::watch::{bytes_of, freed, pattern, turn};

/// Returns patterns of the key and of what a query for this record encrypts.
fn secrets_of_query(params: &Params, key: &SecretKey, index: u64) -> Vec<(&'static str, Vec<u8>)> {
    let ring = params.rlwe().ring();
    let location = params.layout().locate(index);
    let d = ring.degree();
    let image = ring.permute(key.values(), &galois::permutation(d, 5));

    let mut point = vec![0i32; d];
    let exponent = location.block as usize * (2 * d / params.layout().points);
    point[exponent % d] = if exponent < d { 1 } else { -1 };
    let point = ring.forward(ring.from_signed(&point));
    let keyed = ring.mul(&point, key.values());

    let mut selector = vec![0; d];
    selector[location.column as usize % d] = params.scale();
    let selector = ring.forward(ring.from_words(&selector));

    let low = ring.scale(&image, params.key_switch().factor(0));
    let high = ring.scale(&image, params.key_switch().factor(1));
    let rgsw = params.rgsw().factor(0);

    vec![
        ("s in values", pattern(key.values())),
        ("s in coefficients", bytes_of(&key.coefficients()[100..108])),
        ("the image of s", pattern(&image)),
        ("the image of s times the low factor", pattern(&low)),
        ("the image of s times the high factor", pattern(&high)),
        ("s·m", pattern(&keyed)),
        (
            "s·m times the RGSW factor",
            pattern(&ring.scale(&keyed, rgsw)),
        ),
        (
            "m times the RGSW factor",
            pattern(&ring.scale(&point, rgsw)),
        ),
        ("the selector's message", pattern(&selector)),
    ]
}

/// Returns patterns of the product of an answer's masks with the key.
fn secrets_of_answer(
    params: &Params,
    key: &SecretKey,
    answer: &Answer,
) -> [(&'static str, Vec<u8>); 2] {
    let ring = params.rlwe().ring();
    let masks = ring.forward(ring.from_words(&answer.masks));
    let product = ring.mul(&masks, key.values());
    let centred = ring.to_centred(&ring.inverse(product.clone()));

    [
        ("a·s in values", pattern(&product)),
        ("a·s centred", bytes_of(&centred[100..104])),
    ]
}

#[test]
fn freed_memory_holds_no_secret() {
    let _turn = turn();
    let shape = Shape::of_bytes(300_000, 64).unwrap();
    let params = Params::with_points(shape, 4).unwrap();
    let mut rng = ChaCha20Rng::from_seed([5; 32]);
    let records = RecordBuffer::zeroed(shape);
    let server = Server::setup(params.clone(), &records, &mut rng, &NoProgress).unwrap();
    let client = Client::new(params.clone(), *server.public()).unwrap();
    let index = 123_457;

    // The first run with this seed tells the secret; the second, watched, makes it again.
    let query = || {
        client
            .query(None, &[index], &mut ChaCha20Rng::from_seed([9; 32]))
            .unwrap()
    };
    let (known, _) = query();
    let mut secrets = secrets_of_query(&params, known.key(), index);
    let ((secret, query), seen) = freed(secrets.clone(), query);
    assert!(seen.is_empty(), "making a query frees {seen:?}");

    let answer = server.answer(Session::anonymous(), &query).unwrap();
    secrets.extend(secrets_of_answer(&params, known.key(), &answer));
    let (_, seen) = freed(secrets, || client.extract(secret, answer).unwrap());
    assert!(seen.is_empty(), "opening an answer frees {seen:?}");
}
