//! Tests of encryption, interpolation and answers against big integers, and of the acknowledgement.
#![allow(clippy::unwrap_used)]

use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use num_bigint::BigUint;
use papir_core::scheme::{Client, Goal, Parameters, Scheme, Server, Session};
use papir_core::{Error, NoProgress, NotPrivate, Privacy, RecordBuffer, Shape};

use super::client::NewtonClient;
use super::coefficients::Preparation;
use super::fhe::{RANK, Ring, decrypt, encrypt, evaluate};
use super::horner::Powers;
use super::key::SecretKey;
use super::modulus::{Modulus, words_of};
use super::params::NewtonParams;
use super::server::NewtonServer;
use super::{Newton, Registered, Symmetric, Variant, xu};

/// A variant with one short modulus for all clients, insecure but fast.
#[derive(Clone, Copy, Debug)]
struct Short;

impl Variant for Short {
    const NAME: &'static str = "newton-short";
    const ID: u16 = 0xffe1;
    const MODULUS_BITS: u32 = 256;
    const REGISTERED: bool = false;
}

const ACKNOWLEDGED: NotPrivate = NotPrivate::acknowledged();

fn rng(seed: u8) -> ChaCha20Rng {
    ChaCha20Rng::from_seed([seed; 32])
}

fn big(words: &[u64]) -> BigUint {
    BigUint::new(
        words
            .iter()
            .flat_map(|word| [*word as u32, (word >> 32) as u32])
            .collect(),
    )
}

fn numbers(n: &Modulus, elements: &[u64]) -> Vec<BigUint> {
    n.leave(elements).chunks_exact(n.words()).map(big).collect()
}

fn values(count: usize, words: usize, seed: u8) -> Vec<u64> {
    let mut rng = rng(seed);
    (0..count * words).map(|_| rng.next_u64()).collect()
}

/// Algorithm 2 with its inner loop running downwards and division in Z_n.
fn divided_differences(n: &BigUint, values: &[BigUint]) -> Vec<BigUint> {
    let mut r = values.to_vec();
    for j in 1..r.len() {
        let inverse = BigUint::from(j).modinv(n).unwrap();
        for i in (j..r.len()).rev() {
            r[i] = (&r[i] + n - &r[i - 1] % n) * &inverse % n;
        }
    }
    r
}

/// Evaluates f(i) from Newton coefficients for the nodes 1, 2, ….
fn newton_value(n: &BigUint, coefficients: &[BigUint], i: usize) -> BigUint {
    coefficients
        .iter()
        .enumerate()
        .rev()
        .fold(BigUint::ZERO, |sum, (below, coefficient)| {
            (sum * (n + i - (below + 1)) + coefficient) % n
        })
}

/// Computes a·b in R by definition.
fn product(n: &BigUint, [u, v]: [&BigUint; 2], a: &[BigUint], b: &[BigUint]) -> Vec<BigUint> {
    let mut out = vec![BigUint::ZERO; RANK];
    for (i, a) in a.iter().enumerate() {
        for (j, b) in b.iter().enumerate() {
            let x = i / 3 + j / 3;
            let y = i % 3 + j % 3;
            let wrapped = a * b * u.pow(x as u32 / 3) * v.pow(y as u32 / 3);
            let place = 3 * (x % 3) + y % 3;
            out[place] = (&out[place] + wrapped) % n;
        }
    }
    out
}

#[test]
fn ciphertexts_decrypt_and_multiply() {
    for bits in [256, 2048] {
        let mut rng = rng(1);
        let key = SecretKey::generate(bits, &mut rng).unwrap();
        let n = key.modulus();
        let modulus = big(n.integer());
        assert_eq!(modulus.bits(), u64::from(bits));

        for message in [0, 1, 77, u64::MAX] {
            let (ciphertext, point) = encrypt(n, message, &mut rng);
            assert_eq!(
                big(&decrypt(&key, &ciphertext)),
                message.into(),
                "by the key"
            );
            assert_eq!(
                big(&point.open(n, &ciphertext.c)),
                message.into(),
                "by the point"
            );

            let (ring, c) = Ring::of(n, &ciphertext);
            let square = ring.multiply(&c, &c);
            let u = big(&ciphertext.u);
            let v = big(&ciphertext.v);
            let coefficients = numbers(n, &c);
            assert_eq!(
                numbers(n, &square),
                product(&modulus, [&u, &v], &coefficients, &coefficients)
            );

            let opened = big(&point.open(n, &n.leave(&square)));
            assert_eq!(
                opened,
                BigUint::from(message).pow(2) % &modulus,
                "the square of {message}"
            );
        }

        let first = encrypt(n, 5, &mut rng).0;
        let second = encrypt(n, 5, &mut rng).0;
        assert!(
            first.u != second.u && first.v != second.v && first.c != second.c,
            "ciphertexts share randomness"
        );
    }
}

#[test]
fn a_key_with_a_wrong_exponent_is_refused() {
    let key = SecretKey::generate(256, &mut rng(2)).unwrap();
    assert!(SecretKey::from_parts(key.modulus().clone(), key.exponent()).is_ok());
    let mut other = key.exponent().to_vec();
    other[1] ^= 1;
    let error = SecretKey::from_parts(key.modulus().clone(), &other)
        .err()
        .unwrap();
    assert!(error.to_string().contains("1/3 modulo φ(n)"), "{error}");
}

#[test]
fn coefficients_are_divided_differences() {
    let key = SecretKey::generate(256, &mut rng(3)).unwrap();
    let n = key.modulus();
    let modulus = big(n.integer());
    for count in [1, 2, 3, 8, 63, 64, 65, 130, 700] {
        let values = values(count, 3, count as u8);
        let preparation = Preparation::new(n, count, &NoProgress).unwrap();
        let found = numbers(n, &preparation.coefficients(&values, 3, &NoProgress));

        let values: Vec<BigUint> = values.chunks_exact(3).map(big).collect();
        assert!(
            found == divided_differences(&modulus, &values),
            "{count} values"
        );

        for i in [1, count / 2 + 1, count] {
            assert_eq!(
                newton_value(&modulus, &found, i),
                values[i - 1],
                "value {i} of {count}"
            );
        }
    }
}

/// More values than half a transform's length, so that blocks are multiplied with each other.
#[test]
fn coefficients_of_many_values_interpolate_them() {
    let key = SecretKey::generate(256, &mut rng(4)).unwrap();
    let n = key.modulus();
    let modulus = big(n.integer());
    let count = 70_001;
    let values = values(count, 1, 9);
    let preparation = Preparation::new(n, count, &NoProgress).unwrap();
    let found = numbers(n, &preparation.coefficients(&values, 1, &NoProgress));
    for i in [1, 2, 32_768, 32_769, 65_537, count] {
        assert_eq!(
            newton_value(&modulus, &found, i),
            values[i - 1].into(),
            "value {i}"
        );
    }
}

/// Figure 2 uses the coefficients of Algorithm 2, which divides integers and rounds down. Returned
/// records are wrong for both directions of its inner loop.
#[test]
fn the_published_setup_gives_wrong_records() {
    // All values are far below n, which only makes room for negative ones.
    let n = BigUint::from(1u8) << 256;
    let values: Vec<i64> = vec![5, 17, 2, 9, 400];

    let published = |upwards: bool| {
        let mut r = values.clone();
        for j in 1..r.len() {
            let mut places: Vec<usize> = (j..r.len()).collect();
            if !upwards {
                places.reverse();
            }
            places
                .into_iter()
                .for_each(|i| r[i] = (r[i] - r[i - 1]).div_euclid(j as i64));
        }
        let integer = |x: i64| {
            if x < 0 {
                &n - x.unsigned_abs()
            } else {
                BigUint::from(x.unsigned_abs())
            }
        };
        let r: Vec<BigUint> = r.into_iter().map(integer).collect();
        (1..=values.len())
            .map(|i| newton_value(&n, &r, i))
            .collect::<Vec<_>>()
    };

    let expected: Vec<BigUint> = values
        .iter()
        .map(|&value| BigUint::from(value as u64))
        .collect();
    assert!(published(true) != expected && published(false) != expected);
}

/// The server's answers match Algorithm 1 and the answers of Xu et al.
#[test]
fn answers_match_algorithm_1_and_lagrange_interpolation() {
    for (bits, count) in [(256, 1), (256, 7), (256, 40), (2048, 12)] {
        let mut rng = rng(5);
        let key = SecretKey::generate(bits, &mut rng).unwrap();
        let n = &**key.modulus();
        let modulus = big(n.integer());
        let words = n.words();
        let values = values(count, words, 6);
        let preparation = Preparation::new(n, count, &NoProgress).unwrap();
        let coefficients = preparation.coefficients(&values, words, &NoProgress);
        let other = preparation.coefficients(&values[..count], 1, &NoProgress);

        let index = count / 2 + 1;
        let (ciphertext, point) = encrypt(n, index as u64, &mut rng);
        let (ring, c) = Ring::of(n, &ciphertext);
        let powers = Powers::new(&ring, &c).unwrap();
        let remainders = powers.remainders(n, &[&coefficients, &other]);
        let (first, second) = remainders.split_at(RANK * n.limbs());
        let answer = powers.evaluate(n, first);

        assert_eq!(
            big(&point.open(n, &answer)),
            big(&values[(index - 1) * words..][..words]) % &modulus
        );
        assert_eq!(
            big(&point.open(n, &powers.evaluate(n, second))),
            values[index - 1].into()
        );

        let lagrange = xu::answer(&ring, &c, &n.enter(&values, words)).unwrap();
        assert!(lagrange == answer, "Lagrange, {count} values");

        // Algorithm 1 needs the coefficients of (T − 1)(T − 2)·R₃ + (T − 1)·R₂ + R₁ in powers of T.
        let [r1, r2, r3] =
            [0, 1, 2].map(|k| coefficients[k.min(count - 1) * n.limbs()..][..n.limbs()].to_vec());
        let powers_of_t = [
            n.sum([(&r1[..], 1), (&r2, -1), (&r3, 2)]),
            n.sum([(&r2[..], 1), (&r3, -3)]),
            r3.clone(),
        ]
        .concat();

        let by_ring = n.leave(&evaluate(&ring, &c, &powers_of_t));
        let by_remainder = powers.evaluate(n, &powers.remainders(n, &[&[r1, r2, r3].concat()]));
        assert!(by_ring == by_remainder, "Algorithm 1");
    }
}

#[test]
fn invalid_moduli_are_refused_with_a_reason() {
    let key = SecretKey::generate(256, &mut rng(7)).unwrap();
    let good = key.modulus().integer().to_vec();
    let refused = |words: &[u64]| Modulus::new(256, words).err().unwrap().to_string();
    let shifted = |bits: u32| words_of(&(big(&good) >> bits).to_bytes_le());
    let mut short = shifted(3);
    short.resize(4, 0);

    let mut even = good.clone();
    even[0] &= !1;
    // An odd multiple of 3, since an even number is refused as even.
    let three = big(&good) - big(&good) % 3u8;
    let three = if three.bit(0) { three } else { three + 3u8 };
    // 2^256 − 189 is the largest prime of 256 bits.
    let prime = (BigUint::from(1u8) << 256u32) - 189u8;

    for (words, reason) in [
        (short, "of 253 bits, not 256"),
        (even, "even"),
        (words_of(&three.to_bytes_le()), "divisible by 3"),
        (words_of(&prime.to_bytes_le()), "prime"),
        (good[..3].to_vec(), "found 3, expected 4"),
    ] {
        let error = refused(&words);
        assert!(
            error.contains(reason) && error.contains("newton's modulus"),
            "{reason}: {error}"
        );
    }

    // A factor that is below the number of records.
    let n = Modulus::unchecked(&words_of(&(three.pow(2) * 70_001u32).to_bytes_le())).unwrap();
    let error = Preparation::new(&n, 70_002, &NoProgress)
        .err()
        .unwrap()
        .to_string();
    assert!(error.contains("small factor"), "{error}");
}

fn records(shape: Shape) -> RecordBuffer {
    let bytes = (0..shape.total_bytes())
        .map(|i| (i * 131 + i / 7) as u8)
        .collect();
    RecordBuffer::from_packed(shape, bytes).unwrap()
}

#[test]
fn servers_and_clients_require_the_acknowledgement() {
    let shape = Shape::of_bytes(10, 4).unwrap();
    let refuses = |error: Option<Error>| {
        matches!(
            error,
            Some(Error::NotPrivate {
                scheme: "newton-short",
                ..
            })
        )
    };

    let unacknowledged = NewtonParams::<Short>::choose(shape, Goal::Balanced).unwrap();
    let setup =
        |params| NewtonServer::<Short>::setup(params, &records(shape), &mut rng(1), &NoProgress);

    assert!(refuses(setup(unacknowledged.clone()).err()));

    let server = setup(NewtonParams::new(shape, ACKNOWLEDGED).unwrap()).unwrap();
    assert!(refuses(
        NewtonClient::<Short>::new(unacknowledged.clone(), server.public().clone()).err()
    ));

    // Encoded parameters do not contain the acknowledgement: a server cannot give it for a client.
    let read = NewtonParams::<Short>::decode(&server.params().encode()).unwrap();
    assert!(refuses(
        NewtonClient::<Short>::new(read, server.public().clone()).err()
    ));
    assert!(
        NewtonClient::<Short>::new(
            unacknowledged.allow_insecure(ACKNOWLEDGED),
            server.public().clone()
        )
        .is_ok()
    );

    for privacy in [Newton::<Registered>::PRIVACY, Newton::<Symmetric>::PRIVACY] {
        assert!(matches!(privacy, Privacy::NotPrivate(_)));
    }
}

/// Section 4.3's verifiable records: the answer to another query does not decode.
#[test]
fn records_with_digests_are_checked() {
    for bits in [8, 13, 700] {
        let shape = Shape::new(20, bits).unwrap();
        let params = NewtonParams::<Short>::new(shape, ACKNOWLEDGED)
            .unwrap()
            .with_digests()
            .unwrap();
        let mut rng = rng(11);
        let records = records(shape);
        let server = NewtonServer::setup(params.clone(), &records, &mut rng, &NoProgress).unwrap();
        let client = NewtonClient::new(params, server.public().clone()).unwrap();
        let mut ask = |index| {
            let (secret, query) = client.query(None, &[index], &mut rng).unwrap();
            (secret, server.answer(Session::anonymous(), &query).unwrap())
        };

        for index in [0, 7, 19] {
            let (secret, answer) = ask(index);
            assert_eq!(
                client.extract(secret, answer).unwrap(),
                [records.get(index).unwrap()]
            );
        }

        let (secret, mut answer) = ask(3);
        answer.chunks[0][0] ^= 1;
        assert!(matches!(
            client.extract(secret, answer),
            Err(Error::NotDecodable)
        ));

        let (secret, _) = ask(3);
        let (_, other) = ask(4);
        assert!(matches!(
            client.extract(secret, other),
            Err(Error::NotDecodable)
        ));
    }
}
