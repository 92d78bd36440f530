//! InsPIRe at full parameters: correct records, and noise as predicted.

use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use papir_core::scheme::{Client as _, Parameters, Server as _, Session};
use papir_core::{Change, FailureBound, Goal, NoProgress, RecordBuffer, Shape};
use papir_lattice::gadget::GadgetParams;
use papir_lattice::params::{DEFAULT_PRIMES, Literal as RlweLiteral};
use papir_ring::CyclotomicRing;
use papir_schemes::inspire::params::{KeyBits, Literal};
use papir_schemes::inspire::{Client, Interpolation, Params, Secret, Server};

fn records(shape: Shape, seed: u8) -> RecordBuffer {
    let mut records = RecordBuffer::zeroed(shape);
    let mut rng = ChaCha20Rng::from_seed([seed; 32]);
    let mut bytes = vec![0; shape.total_bytes() as usize];
    rng.fill_bytes(&mut bytes);
    if !(shape.records() * shape.record_bits()).is_multiple_of(8) {
        *bytes.last_mut().unwrap() &= (1 << (shape.records() * shape.record_bits() % 8)) - 1;
    }
    records.packed_mut().copy_from_slice(&bytes);
    records
}

fn prepare(params: Params, records: &RecordBuffer) -> (Server, Client) {
    let mut rng = ChaCha20Rng::from_seed([1; 32]);
    let server = Server::setup(params.clone(), records, &mut rng, &NoProgress).unwrap();
    let client = Client::new(params, *server.public()).unwrap();
    (server, client)
}

fn fetch(server: &Server, client: &Client, index: u64, rng: &mut ChaCha20Rng) -> Vec<u8> {
    let (secret, query) = client.query(None, &[index], rng).unwrap();
    let answer = server.answer(Session::anonymous(), &query).unwrap();
    client.extract(secret, answer).unwrap().remove(0)
}

#[test]
fn records_are_retrieved_for_every_t() {
    let mut rng = ChaCha20Rng::from_seed([2; 32]);
    let shape = Shape::of_bytes(1000, 1000).unwrap();
    let records = records(shape, 3);
    for points in [1, 2, 8, 32] {
        let (server, client) = prepare(Params::with_points(shape, points).unwrap(), &records);
        for index in [0, 1, 499, 998, 999] {
            assert_eq!(
                fetch(&server, &client, index, &mut rng),
                records.get(index).unwrap(),
                "t {points}, index {index}"
            );
        }
    }
}

/// More than 255 blocks of columns, so that the hint's sums are reduced before the last block.
#[test]
fn wide_matrices_are_retrieved() {
    let mut rng = ChaCha20Rng::from_seed([8; 32]);
    let shape = Shape::of_bytes(40_000, 128).unwrap();
    let gadget = gadget(2, 19, 18);
    let literal = Literal {
        shape,
        rlwe: RlweLiteral {
            degree: 64,
            primes: DEFAULT_PRIMES,
            sigma: 6.4,
        },
        interpolation: Interpolation::of_points(2, 64).unwrap(),
        key_switch: gadget,
        rgsw: gadget,
        query_bits: 42,
        key_bits: KeyBits::equal(50),
        answer_bits: (28, 20),
        reserved: true,
        failure: FailureBound::DEFAULT,
    };
    let records = records(shape, 9);
    let (server, client) = prepare(Params::insecure(literal).unwrap(), &records);
    for index in [0, 1, 20_000, 39_999] {
        assert_eq!(
            fetch(&server, &client, index, &mut rng),
            records.get(index).unwrap(),
            "index {index}"
        );
    }
}

#[test]
fn words_of_all_ones_and_long_records_are_retrieved() {
    let mut rng = ChaCha20Rng::from_seed([4; 32]);
    let shape = Shape::of_bytes(5, 9000).unwrap();
    let records = RecordBuffer::from_packed(shape, vec![0xFF; 45_000]).unwrap();
    let (server, client) = prepare(Params::choose(shape, Goal::Balanced).unwrap(), &records);
    assert_eq!(fetch(&server, &client, 4, &mut rng), vec![0xFF; 9000]);
}

#[test]
fn an_update_is_the_setup_of_the_changed_records() {
    let mut rng = ChaCha20Rng::from_seed([5; 32]);
    let shape = Shape::new(70_001, 3).unwrap();
    let mut records = records(shape, 6);
    let (server, _) = prepare(Params::with_points(shape, 4).unwrap(), &records);
    let changes = [
        Change {
            index: 70_000,
            record: vec![5],
        },
        Change {
            index: 0,
            record: vec![2],
        },
    ];
    let updated = server.update(&changes, &mut rng, &NoProgress).unwrap();
    changes
        .iter()
        .for_each(|change| records.set(change.index, &change.record).unwrap());
    let client = Client::new(updated.params().clone(), *updated.public()).unwrap();
    for index in [0, 1, 2, 35_000, 69_999, 70_000] {
        assert_eq!(
            fetch(&updated, &client, index, &mut rng),
            records.get(index).unwrap(),
            "index {index}"
        );
    }
}

/// Returns the error of each coefficient of an answer before its modulus is switched, modulo q and
/// centred.
///
/// The database is all zeros, so its whitened words are uniform.
fn errors(
    params: &Params,
    secret: Secret,
    server: &Server,
    query: &papir_schemes::inspire::Query,
    element: &[u32],
) -> Vec<f64> {
    let ring = params.rlwe().ring();
    let keys = server.read_keys(query).unwrap();
    let packed = server
        .pack(server.select(&[query]), std::slice::from_ref(&keys))
        .unwrap()
        .remove(0);
    let result = server.evaluate(packed, &keys).remove(0);
    let q = ring.modulus();
    let expected: Vec<u64> = element
        .iter()
        .map(|&w| (u128::from(w) * u128::from(q) / 65537) as u64)
        .collect();
    let mut phase = result.phase(ring, secret.key());
    ring.sub_assign(&mut phase, &ring.from_words(&expected));
    ring.to_centred(&phase)
        .into_iter()
        .map(|error| error as f64)
        .collect()
}

/// Returns the words of an element of the all-zero database after whitening.
fn whitened(server: &Server, element: u64) -> Vec<u32> {
    let mut stream = papir_schemes::inspire::encode::whitening(&server.public().seed, 0);
    stream.seek(element * 4096);
    let mut mask = vec![0; 4096];
    stream.fill(&mut mask);
    mask.chunks(2)
        .map(|b| u16::from_le_bytes([b[0], b[1]]).into())
        .collect()
}

/// Measured against predicted noise, for parameters that the search picks.
///
/// They have one and two digits in the RGSW encryption, t a power of two and not, and one and two
/// variables.
#[test]
fn measured_noise_is_as_predicted() {
    let mut rng = ChaCha20Rng::from_seed([7; 32]);
    for (sizes, count) in [
        (&[][..], 1024),
        (&[3], 1500),
        (&[8], 8192),
        (&[12], 3000),
        (&[4, 8], 2048),
    ] {
        let shape = Shape::of_bytes(count, 4096).unwrap();
        let interpolation = Interpolation::of_variables(sizes).unwrap();
        let params = Params::with_interpolation(shape, interpolation).unwrap();
        let (server, client) = prepare(params.clone(), &RecordBuffer::zeroed(shape));
        let (secret, query) = client.query(None, &[count / 3], &mut rng).unwrap();
        let errors = errors(
            &params,
            secret,
            &server,
            &query,
            &whitened(&server, count / 3),
        );
        let measured = errors.iter().map(|e| e * e).sum::<f64>() / errors.len() as f64;
        let predicted = params.noise().before_switching();
        let measured = measured.log2() / 2.0;
        let predicted = predicted.log2() / 2.0;
        println!(
            "{}: noise measured 2^{measured:.2}, predicted 2^{predicted:.2}",
            params.label()
        );
        assert!(
            measured < predicted + 0.1,
            "2^{measured:.2} above 2^{predicted:.2}"
        );
        assert!(
            measured > predicted - 0.5,
            "2^{measured:.2} far below 2^{predicted:.2}"
        );
    }
}

fn gadget(levels: usize, log_base: u32, drop: u32) -> GadgetParams {
    GadgetParams {
        levels,
        log_base,
        drop,
    }
}

fn rlwe(degree: usize, primes: [u32; 2], sigma: f64) -> RlweLiteral {
    RlweLiteral {
        degree,
        primes,
        sigma,
    }
}

/// Parameters with too few digits, or with digits that do not fit a word.
fn bad_gadgets(good: Literal) -> Vec<Literal> {
    let mut bad: Vec<Literal> = [
        gadget(2, 1, 23),
        gadget(2, 8, 18),
        gadget(0, 19, 18),
        gadget(2, 0, 18),
        gadget(2, 29, 0),
        gadget(2, 19, 255),
    ]
    .map(|key_switch| Literal { key_switch, ..good })
    .into();
    bad.push(Literal {
        rgsw: gadget(2, 8, 18),
        ..good
    });
    bad
}

/// Parameters with an invalid ring or error distribution.
fn bad_rings(good: Literal) -> [Literal; 6] {
    [
        rlwe(2048, [1_073_692_673, 67_043_329], 6.4),
        rlwe(32, DEFAULT_PRIMES, 6.4),
        rlwe(0, DEFAULT_PRIMES, 6.4),
        rlwe(2048, [0, 0], 6.4),
        rlwe(2048, DEFAULT_PRIMES, f64::NAN),
        rlwe(2048, DEFAULT_PRIMES, -1.0),
    ]
    .map(|rlwe| Literal { rlwe, ..good })
}

/// Parameters with more points than a column can have.
fn bad_interpolations(good: Literal) -> [Literal; 2] {
    [&[4097][..], &[2, 8192]].map(|sizes| Literal {
        interpolation: Interpolation::of_variables(sizes).unwrap(),
        ..good
    })
}

/// Parameters with too few bits in a message, or with more than a word has.
fn bad_bits(good: Literal) -> Vec<Literal> {
    let bits = good.key_bits;
    let mut bad = Vec::new();

    bad.extend([0, 56, 20].map(|query_bits| Literal { query_bits, ..good }));
    bad.extend(
        [
            KeyBits { y_g: 64, ..bits },
            KeyBits { y_g: 0, ..bits },
            KeyBits { y_g: 30, ..bits },
            KeyBits { y_h: 30, ..bits },
            KeyBits { rgsw: 30, ..bits },
        ]
        .map(|key_bits| Literal { key_bits, ..good }),
    );
    bad.extend([(33, 20), (28, 29), (18, 17)].map(|answer_bits| Literal {
        answer_bits,
        ..good
    }));
    bad
}

/// Parameters that satisfy a noise formula, but never decode, are refused.
#[test]
fn parameters_that_never_decode_are_refused() {
    let shape = Shape::of_bytes(100, 64).unwrap();
    let good = *Params::with_points(shape, 2).unwrap().literal();
    assert!(Params::new(good).is_ok());

    let bad = bad_gadgets(good)
        .into_iter()
        .chain(bad_rings(good))
        .chain(bad_interpolations(good))
        .chain(bad_bits(good));
    for bad in bad {
        assert!(Params::new(bad).is_err(), "{bad:?}");
    }
}

/// A small error decodes, but gives too few bits of security.
#[test]
fn parameters_with_a_small_error_are_refused_as_insecure() {
    let shape = Shape::of_bytes(100, 64).unwrap();
    let good = *Params::with_points(shape, 2).unwrap().literal();
    let narrow = Literal {
        rlwe: rlwe(2048, DEFAULT_PRIMES, 2.55),
        ..good
    };

    let few_bits = papir_core::Error::Insecure {
        found: String::new(),
        expected: 128,
    };
    assert_eq!(Params::new(narrow).unwrap_err().code(), few_bits.code());
}

/// With a single column, the noise bound rests on the tail of one squared sum, not on its mean.
#[test]
fn few_columns_with_many_points_are_retrieved() {
    let mut rng = ChaCha20Rng::from_seed([10; 32]);
    let shape = Shape::of_bytes(8, 4096).unwrap();
    let records = records(shape, 11);
    let params = Params::with_points(shape, 8).unwrap();
    assert_eq!(params.layout().columns, 1);
    let (server, client) = prepare(params, &records);
    for index in 0..8 {
        assert_eq!(
            fetch(&server, &client, index, &mut rng),
            records.get(index).unwrap(),
            "index {index}"
        );
    }
}
