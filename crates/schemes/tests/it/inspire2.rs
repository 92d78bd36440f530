//! InsPIRe(2): correct records, updates equal to fresh setups, and short messages.

use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use papir_core::cost::Operation;
use papir_core::scheme::{Client as _, Parameters, Server as _, Session};
use papir_core::{Change, Error, FailureBound, Goal, NoProgress, RecordBuffer, Shape};
use papir_lattice::gadget::GadgetParams;
use papir_lattice::params::{DEFAULT_PRIMES, Literal as RlweLiteral};
use papir_lattice::response::ResponseBits;
use papir_ring::prg::Seed;
use papir_schemes::inspire::two_levels::params::Literal;
use papir_schemes::inspire::two_levels::{Client, Inspire2, Params, Server, packings};
use papir_schemes::shared::digits::Digits;
use papir_testkit::typed::sections;

fn rng(seed: u8) -> ChaCha20Rng {
    ChaCha20Rng::from_seed([seed; 32])
}

fn records(shape: Shape, seed: u8) -> RecordBuffer {
    let mut records = RecordBuffer::zeroed(shape);
    let mut rng = rng(seed);
    for index in 0..shape.records() {
        let mut bytes = vec![0; shape.record_bytes()];
        rng.fill_bytes(&mut bytes);
        records
            .set(
                index,
                &papir_core::extract_bits(&bytes, 0, shape.record_bits()),
            )
            .unwrap();
    }
    records
}

fn prepare(params: Params, records: &RecordBuffer) -> (Server, Client) {
    let server = Server::setup(params.clone(), records, &mut rng(1), &NoProgress).unwrap();
    let client = Client::new(params, server.public().clone()).unwrap();
    (server, client)
}

fn fetch(server: &Server, client: &Client, index: u64) -> Vec<u8> {
    let (secret, query) = client.query(None, &[index], &mut rng(index as u8)).unwrap();
    let answer = server.answer(Session::anonymous(), &query).unwrap();
    client.extract(secret, answer).unwrap().remove(0)
}

fn assert_retrieved(params: Params, records: &RecordBuffer) {
    let last = params.shape().records() - 1;
    let label = params.label();
    let (server, client) = prepare(params, records);
    for index in [0, last / 3, last.saturating_sub(1), last] {
        assert_eq!(
            fetch(&server, &client, index),
            records.get(index).unwrap(),
            "{label}: record {index}"
        );
    }
}

/// Returns parameters of d = 64, which are fast for every γ and digit width.
fn small(shape: Shape, blocks: usize, gammas: [usize; 3], digits: [Digits; 2]) -> Params {
    let literal = Literal {
        failure: FailureBound::DEFAULT,
        shape,
        rlwe: RlweLiteral {
            degree: 64,
            primes: DEFAULT_PRIMES,
            sigma: 6.4,
        },
        blocks,
        gammas,
        gadget: GadgetParams {
            levels: 2,
            log_base: 19,
            drop: 18,
        },
        query_bits: [44, 44],
        key_bits: 54,
        mask: digits[0],
        body: digits[1],
        answer: ResponseBits { a: 28, b: 22 },
    };
    Params::insecure(literal).unwrap()
}

const WIDE: [Digits; 2] = [Digits { bits: 14, count: 2 }; 2];

#[test]
fn records_are_retrieved_for_every_gamma() {
    let shape = Shape::of_bytes(500, 4).unwrap();
    let records = records(shape, 3);
    for gammas in [[2, 32, 2], [4, 4, 4], [8, 16, 32], [16, 2, 4], [32, 32, 32]] {
        assert_retrieved(small(shape, 7, gammas, WIDE), &records);
    }
}

#[test]
fn records_are_retrieved_for_other_digits() {
    let shape = Shape::new(700, 13).unwrap();
    let records = records(shape, 4);
    for [(bits, mask), (_, body)] in [
        [(7, 4), (7, 3)],
        [(9, 3), (9, 2)],
        [(12, 2), (12, 2)],
        [(5, 6), (5, 5)],
    ] {
        let digits = [Digits { bits, count: mask }, Digits { bits, count: body }];
        assert_retrieved(small(shape, 20, [8, 32, 8], digits), &records);
    }
}

/// One column, one unit, one record; more blocks than a ring element has coefficients; γ above the
/// number of records.
#[test]
fn odd_shapes_are_retrieved() {
    for (count, bits, blocks) in [
        (1, 1, 1),
        (1, 64, 1),
        (3, 256, 3),
        (3, 256, 1),
        (200, 256, 200),
        (999, 33, 1),
    ] {
        let shape = Shape::new(count, bits).unwrap();
        assert_retrieved(small(shape, blocks, [16, 32, 16], WIDE), &records(shape, 5));
    }
}

#[test]
fn records_are_retrieved_at_full_parameters() {
    let shape = Shape::of_bytes(20_000, 64).unwrap();
    let records = records(shape, 6);
    for (words, blocks) in [(32, 1), (32, 64), (64, 100)] {
        assert_retrieved(Params::with_blocks(shape, words, blocks).unwrap(), &records);
    }
}

#[test]
fn long_records_are_retrieved() {
    let shape = Shape::of_bytes(40, 2048).unwrap();
    assert_retrieved(
        Params::with_blocks(shape, 1024, 4).unwrap(),
        &records(shape, 7),
    );
    let error = Params::choose(Shape::of_bytes(40, 2049).unwrap(), Goal::Balanced).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the record length in bits is 16392: expected at most 16384 in inspire2"
    );
}

#[test]
fn queries_share_one_pass() {
    let shape = Shape::of_bytes(3000, 32).unwrap();
    let records = records(shape, 8);
    let (server, client) = prepare(small(shape, 60, [16, 32, 16], WIDE), &records);
    let asked: Vec<_> = [5, 2999, 5]
        .map(|i| client.query(None, &[i], &mut rng(i as u8)).unwrap())
        .into();
    let batch = asked
        .iter()
        .map(|(_, query)| (Session::anonymous(), query))
        .collect();
    let answers = server.answer_many(batch, &NoProgress).unwrap();
    for ((answer, (secret, query)), index) in answers.into_iter().zip(asked).zip([5, 2999, 5]) {
        assert_eq!(answer, server.answer(Session::anonymous(), &query).unwrap());
        assert_eq!(
            client.extract(secret, answer).unwrap(),
            [records.get(index).unwrap()]
        );
    }
}

#[test]
fn an_update_is_a_fresh_setup() {
    let shape = Shape::new(2001, 100).unwrap();
    let mut records = records(shape, 9);
    let params = small(shape, 9, [16, 32, 16], WIDE);
    let seed = Seed([3; 32]);
    let server = Server::prepare(params.clone(), seed, &records, &NoProgress).unwrap();
    let value = |byte| papir_core::extract_bits(&[byte; 13], 0, 100);
    let changes = [(2000, 1), (0, 2), (1, 3), (0, 4), (1234, 5)];
    let changes = changes.map(|(index, byte)| Change {
        index,
        record: value(byte),
    });
    let packs = |changes: &[Change]| {
        server
            .update_cost(changes)
            .unwrap()
            .update
            .times(Operation::Pack)
    };
    let all = params.describe().work.setup.times(Operation::Pack);
    // Records 0 and 1 are in one unit; any change prepares the second level's packs again.
    assert!(packs(&changes[1..3]) < packs(&changes) && packs(&changes) < all);
    assert!(packs(&[]) == 0.0);
    let updated = server.update(&changes, &mut rng(2), &NoProgress).unwrap();
    changes
        .iter()
        .for_each(|change| records.set(change.index, &change.record).unwrap());
    let fresh = Server::prepare(params, seed, &records, &NoProgress).unwrap();
    assert_eq!(updated.public(), fresh.public());
    assert!(
        sections::<Inspire2>(&updated) == sections::<Inspire2>(&fresh),
        "an update gives other bytes than a setup"
    );
    let again = updated.update(&changes, &mut rng(2), &NoProgress).unwrap();
    assert!(
        sections::<Inspire2>(&again) == sections::<Inspire2>(&fresh),
        "changes that change nothing"
    );
}

#[test]
fn messages_have_bounded_sizes() {
    for (records, bytes, words, columns, kib) in [
        (1u64 << 24, 64, 32, 4096, 135),
        (1 << 24, 64, 32, 8192, 150),
    ] {
        let params =
            Params::with_columns(Shape::of_bytes(records, bytes).unwrap(), words, columns).unwrap();
        let sizes = params.describe().sizes;
        let total = sizes.query + sizes.answer + sizes.hint;
        println!(
            "{}: {} + {} + {} bytes, {:?}",
            params.label(),
            sizes.query,
            sizes.answer,
            sizes.hint,
            params.literal()
        );
        assert!(total < kib * 1024, "{total}");
    }
}

#[test]
fn an_answer_opens_under_its_own_secret_only() {
    let shape = Shape::of_bytes(3000, 32).unwrap();
    let params = Params::with_blocks(shape, 16, 50).unwrap();
    let (server, client) = prepare(params, &records(shape, 10));
    let (_, query) = client.query(None, &[7], &mut rng(1)).unwrap();
    let (other, _) = client.query(None, &[7], &mut rng(2)).unwrap();
    let answer = server.answer(Session::anonymous(), &query).unwrap();
    assert!(matches!(
        client.extract(other, answer),
        Err(Error::NotDecodable)
    ));
}

/// Parameters that decode, but would make a client allocate gigabytes.
#[test]
fn parameters_that_need_much_memory_are_refused() {
    let shape = Shape::of_bytes(8, 4).unwrap();
    let literal = *Params::with_blocks(shape, 16, 1).unwrap().literal();
    let digits = Digits { bits: 1, count: 32 };
    let narrow = Literal {
        mask: digits,
        body: digits,
        gammas: [2, 2, 2],
        blocks: 1,
        ..literal
    };
    let error = Params::new(narrow).unwrap_err().to_string();
    assert!(
        error.contains("words of an answer's part is 67108864: expected at most 4194304"),
        "{error}"
    );
    let wide = Literal {
        rlwe: RlweLiteral {
            degree: 8192,
            ..literal.rlwe
        },
        ..literal
    };
    assert!(
        Params::new(wide)
            .unwrap_err()
            .to_string()
            .contains("8192: expected at most 4096")
    );
}

#[test]
fn no_two_masks_under_one_secret_are_equal() {
    let params = small(Shape::of_bytes(300, 4).unwrap(), 130, [4, 16, 8], WIDE);
    let seed = Seed([5; 32]);
    let mut seen = std::collections::HashSet::new();
    let mut count = 0;
    let mut add = |mask: &papir_ring::Poly<papir_ring::Values>| {
        count += 1;
        seen.insert(mask.residues().to_vec());
    };
    for (level, columns) in params.selectors().into_iter().enumerate() {
        (0..columns.div_ceil(64)).for_each(|i| add(&params.selector(level).mask(&seed, i)));
    }
    let packings = packings::Packings::new(&params, &seed).unwrap();
    for packing in packings.distinct() {
        packing
            .setup()
            .switches()
            .iter()
            .flat_map(|switch| &switch.masks)
            .for_each(&mut add);
    }
    assert_eq!(
        (count, seen.len()),
        (1 + 3 + 3 * 2, 1 + 3 + 3 * 2),
        "selector blocks, packing keys"
    );
}

#[test]
fn wrong_gammas_are_refused() {
    let params = small(Shape::of_bytes(100, 4).unwrap(), 4, [4, 16, 8], WIDE);
    let literal = *params.literal();
    for gammas in [[3, 16, 8], [4, 64, 8], [4, 16, 0], [1, 16, 8]] {
        let error = Params::insecure(Literal { gammas, ..literal }).unwrap_err();
        assert!(
            matches!(error, Error::OutOfBounds { what: "gamma", .. }),
            "{gammas:?}: {error}"
        );
    }
    let other = small(Shape::of_bytes(100, 4).unwrap(), 4, [4, 8, 8], WIDE);
    let (server, _) = prepare(params, &records(Shape::of_bytes(100, 4).unwrap(), 1));
    assert!(
        Client::new(other, server.public().clone()).is_err(),
        "masks of packs of another γ"
    );
}
