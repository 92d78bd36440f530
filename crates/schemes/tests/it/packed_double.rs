//! YPIR and InsPIRe₀ at full parameters.
//!
//! Records of every shape are retrieved, queries and keys of other parameters fail, and messages
//! are no longer than in the papers.

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use papir_core::scheme::{Client as _, Parameters, Server as _, Session, Wire};
use papir_core::{Error, Goal, NoProgress, RecordBuffer, Shape};
use papir_lattice::gadget::GadgetParams;
use papir_schemes::double::packed::{
    ByCdks, ByInspiring, Client, DigitShape, Literal, PackedDouble, PackedVariant, Params, Query,
    Server,
};
use papir_schemes::shared::selection::SelectionBits;
use papir_testkit::typed::assert_opens_under_its_own_secret_only;

use crate::packed::{assert_queries_share_the_passes, records};

const SEVEN: DigitShape = DigitShape {
    bits: 7,
    mask: 3,
    body: 2,
};
const ELEVEN: DigitShape = DigitShape {
    bits: 11,
    mask: 2,
    body: 1,
};

fn prepare<V: PackedVariant>(
    params: Params<V>,
    records: &RecordBuffer,
) -> (Server<V>, Client<V>, ChaCha20Rng) {
    let mut rng = ChaCha20Rng::from_seed([1; 32]);
    let server = Server::setup(params.clone(), records, &mut rng, &NoProgress).unwrap();
    let client = Client::new(params, server.public().clone()).unwrap();
    (server, client, rng)
}

fn assert_retrieved<V: PackedVariant>(params: Params<V>, seed: u8) {
    let records = records(params.shape(), seed);
    let count = params.shape().records();
    let label = params.label();
    let (server, client, mut rng) = prepare(params, &records);
    for index in [0, count / 3, count - 1] {
        let (secret, query) = client.query(None, &[index], &mut rng).unwrap();
        let answer = server.answer(Session::anonymous(), &query).unwrap();
        let found = client.extract(secret, answer).unwrap();
        assert_eq!(
            found,
            [records.get(index).unwrap()],
            "{}, {label}: {index}",
            V::DOUBLE.name
        );
    }
}

fn packed_by_inspiring((count, bits): (u64, u64), units: u64, capacity: usize) {
    let shape = Shape::new(count, bits).unwrap();
    assert_retrieved(
        Params::<ByInspiring>::with_digits(shape, units, SEVEN, capacity).unwrap(),
        3,
    );
}

fn packed_by_cdks((count, bits): (u64, u64), units: u64, digits: DigitShape) {
    let shape = Shape::new(count, bits).unwrap();
    assert_retrieved(
        Params::<ByCdks>::with_digits(shape, units, digits, 2048).unwrap(),
        4,
    );
}

/// One record, one unit, one column, more rows of packs than records, several blocks of either
/// selector, records of several bytes, packs of every size; with CDKS also single rows in a pack with
/// others, and in one of their own.
#[test]
fn records_of_odd_shapes_are_retrieved() {
    packed_by_inspiring((1, 1), 1, 1024);
    packed_by_inspiring((9, 8), 1, 64);
    packed_by_inspiring((5000, 13), 2500, 256);
    packed_by_inspiring((700, 64), 7, 2048);
    packed_by_inspiring((700, 17), 700, 512);
    packed_by_cdks((1, 1), 1, SEVEN);
    packed_by_cdks((5000, 13), 2500, SEVEN);
    packed_by_cdks((60_000, 3), 30, ELEVEN);
}

#[test]
#[ignore = "long"]
fn records_of_more_odd_shapes_are_retrieved() {
    packed_by_inspiring((1, 64), 1, 2048);
    packed_by_inspiring((9, 8), 9, 1024);
    packed_by_inspiring((60_000, 3), 30, 1024);
    packed_by_cdks((1, 1), 1, ELEVEN);
    packed_by_cdks((5000, 13), 2500, ELEVEN);
    packed_by_cdks((60_000, 3), 30, SEVEN);
}

#[test]
fn records_are_retrieved_for_every_digit_width() {
    let shape = Shape::of_bytes(3000, 2).unwrap();
    for (bits, mask, body) in [
        (1, 21, 14),
        (3, 7, 4),
        (4, 6, 3),
        (6, 4, 2),
        (8, 3, 2),
        (11, 2, 1),
        (13, 2, 1),
    ] {
        let digits = DigitShape { bits, mask, body };
        assert_retrieved(
            Params::<ByInspiring>::with_digits(shape, 50, digits, 1024).unwrap(),
            bits as u8,
        );
    }
}

#[test]
fn several_queries_share_the_passes() {
    let shape = Shape::of_bytes(3000, 2).unwrap();
    let params = Params::<ByInspiring>::with_digits(shape, 50, SEVEN, 1024).unwrap();
    let (server, client, mut rng) = prepare(params, &records(shape, 11));
    assert_queries_share_the_passes::<PackedDouble<ByInspiring>>(&server, &client, &mut rng);
}

fn assert_opens_under_own_secret<V: PackedVariant>() {
    let shape = Shape::of_bytes(1000, 2).unwrap();
    let records = records(shape, 9);
    let params = Params::<V>::with_digits(shape, 8, SEVEN, 2048).unwrap();
    let (server, client, mut rng) = prepare(params, &records);
    assert_opens_under_its_own_secret_only::<PackedDouble<V>>(&server, &client, &records, &mut rng);
}

#[test]
fn an_answer_opens_under_its_own_secret_only() {
    assert_opens_under_own_secret::<ByCdks>();
    assert_opens_under_own_secret::<ByInspiring>();
}

/// A key for packs of another capacity has another length, or the same length and other masks; then
/// the answer does not decode.
#[test]
fn keys_of_another_capacity_are_rejected() {
    let shape = Shape::of_bytes(1000, 2).unwrap();
    let with = |capacity| Params::<ByInspiring>::with_digits(shape, 8, SEVEN, capacity).unwrap();
    let (server, _, mut rng) = prepare(with(1024), &records(shape, 9));
    let full = Client::new(with(2048), server.public().clone()).unwrap();
    let (_, query) = full.query(None, &[3], &mut rng).unwrap();
    let bytes = query.encode(full.params());
    assert!(matches!(
        Query::decode(server.params(), &bytes),
        Err(Error::Length { .. })
    ));
    assert_eq!(
        server
            .second()
            .read_key(&query.second)
            .err()
            .unwrap()
            .code(),
        "no_parameters"
    );

    let other = Literal {
        capacity: 512,
        ..*server.params().literal()
    };
    let partial = Client::new(
        Params::<ByInspiring>::new(other).unwrap(),
        server.public().clone(),
    )
    .unwrap();
    let (secret, query) = partial.query(None, &[3], &mut rng).unwrap();
    let query = Query::decode(server.params(), &query.encode(partial.params())).unwrap();
    let answer = server.answer(Session::anonymous(), &query).unwrap();
    let client = Client::new(server.params().clone(), server.public().clone()).unwrap();
    assert!(matches!(
        client.extract(secret, answer),
        Err(Error::NotDecodable)
    ));
}

/// Parameters whose units, capacity or first level are out of range.
fn bad_first_levels(good: Literal) -> Vec<Literal> {
    let mut bad = Vec::new();
    bad.extend([0, 1 << 30].map(|units| Literal { units, ..good }));
    bad.extend([0, 1, 1000, 4096].map(|capacity| Literal { capacity, ..good }));
    bad.extend([0, 33, good.first_bits - 1].map(|first_bits| Literal { first_bits, ..good }));
    bad
}

/// Parameters whose digits do not hold a word.
fn bad_digits(good: Literal) -> [Literal; 5] {
    let digits = |bits, mask, body| Literal {
        digits: DigitShape { bits, mask, body },
        ..good
    };
    [
        digits(0, 3, 2),
        digits(17, 1, 1),
        digits(7, 5, 2),
        digits(7, 2, 2),
        digits(7, 3, 0),
    ]
}

/// Parameters whose messages have too few bits or too many.
fn bad_bits(good: Literal) -> [Literal; 5] {
    let bits = good.bits;
    [
        SelectionBits { query: 0, ..bits },
        SelectionBits {
            query: bits.query - 1,
            ..bits
        },
        SelectionBits { query: 56, ..bits },
        SelectionBits { key: 0, ..bits },
        SelectionBits { key: 60, ..bits },
    ]
    .map(|bits| Literal { bits, ..good })
}

/// Parameters whose packing key has an invalid gadget.
fn bad_gadgets(good: Literal) -> [Literal; 6] {
    let gadget = |levels, log_base, drop| GadgetParams {
        levels,
        log_base,
        drop,
    };
    [
        gadget(0, 19, 18),
        gadget(2, 0, 18),
        gadget(2, 8, 18),
        gadget(2, 28, 0),
        gadget(1, 255, 255),
        gadget(255, 1, 55),
    ]
    .map(|gadget| Literal {
        bits: SelectionBits {
            gadget,
            ..good.bits
        },
        ..good
    })
}

#[test]
fn parameters_are_read_back_and_bad_ones_are_refused() {
    let shape = Shape::new(12_345, 13).unwrap();
    let params = Params::<ByInspiring>::choose(shape, Goal::Balanced).unwrap();
    let bytes = params.encode();
    assert_eq!(
        Params::<ByInspiring>::decode(&bytes).unwrap().describe(),
        params.describe()
    );

    let good = *params.literal();
    let bad = bad_first_levels(good)
        .into_iter()
        .chain(bad_digits(good))
        .chain(bad_bits(good))
        .chain(bad_gadgets(good));
    for bad in bad {
        assert!(Params::<ByInspiring>::new(bad).is_err(), "{bad:?}");
    }

    for (position, value) in [
        (24, 0),
        (24, 255),
        (25, 0),
        (27, 3),
        (31, 0),
        (32, 9),
        (35, 255),
        (38, 1),
    ] {
        let mut bad = bytes.clone();
        bad[position] = value;
        assert!(
            Params::<ByInspiring>::decode(&bad).is_err(),
            "{value} at {position}"
        );
    }
    assert!(Params::<ByInspiring>::choose(Shape::new(9, 65).unwrap(), Goal::Balanced).is_err());
}

/// Total bytes compared with the papers' (InsPIRe, Table 2), and the goals with one another.
fn assert_goals<V: PackedVariant>(papers: &[(u32, u64)]) {
    for &(log2_records, paper) in papers {
        let shape = Shape::new(1 << log2_records, 1).unwrap();
        let all = Goal::ALL.map(|goal| Params::<V>::choose(shape, goal).unwrap());
        let sizes = all.each_ref().map(|params| params.describe().sizes);
        let traffic = sizes.map(|sizes| sizes.query + sizes.answer);
        let read = sizes.map(|sizes| sizes.database + sizes.material);
        for (params, sizes) in all.iter().zip(&sizes) {
            println!(
                "{} {}: {sizes:?} {:?}",
                V::DOUBLE.name,
                params.label(),
                params.literal().bits
            );
            assert!(params.describe().failure_log2 <= -40.0);
        }
        assert!(
            traffic[0] <= traffic[1] && traffic[1] <= traffic[2],
            "{traffic:?}"
        );
        assert!(read[2] <= read[1] && read[1] <= read[0], "{read:?}");
        assert!(
            traffic[1] <= paper,
            "{} bytes, the paper has {paper}",
            traffic[1]
        );
    }
}

#[test]
fn messages_are_never_longer_than_the_papers() {
    assert_goals::<ByInspiring>(&[(33, 504_000), (36, 1_144_000), (38, 2_168_000)]);
    assert_goals::<ByCdks>(&[(33, 858_000), (36, 1_498_000), (38, 2_522_000)]);
}
