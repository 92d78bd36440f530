//! The layout of the matrix, the bound on its sums, and answers to other queries.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use papir_core::scheme::{Client as _, Parameters as _, Server as _, Session};
use papir_core::{Error, FailureBound, NoProgress, RecordBuffer, Shape};
use papir_lattice::secret::SecretKey;

use super::client::{Client, Secret, extract};
use super::interpolation::Interpolation;
use super::layout::Layout;
use super::literal::Literal;
use super::noise::squared_sums;
use super::params::Params;
use super::{Inspire, Server};
use crate::shared::fixtures::assert_selected_before_refused;

#[test]
fn elements_hold_whole_records() {
    for (bits, stored, per_element, chunks) in [
        (1, 1, 32768, 1),
        (3, 3, 10920, 1),
        (512, 512, 64, 1),
        (2100, 2104, 15, 1),
        (32768, 32768, 1, 1),
        (32769, 32776, 1, 2),
        (262_144, 262_144, 1, 8),
    ] {
        let four = Interpolation::of_points(4, 2048).unwrap();
        let layout = Layout::new(Shape::new(100_000, bits).unwrap(), 2048, four).unwrap();

        assert_eq!(
            (
                layout.unit_layout.stored_bits,
                layout.per_element(),
                layout.chunks
            ),
            (stored, per_element, chunks)
        );
        let last = layout.locate(99_999);
        assert!((last.column as usize) < layout.columns && last.block < 4);
    }
}

#[test]
fn a_variable_has_at_most_2d_points() {
    let shape = Shape::new(10, 8).unwrap();
    let layout =
        |sizes: &[usize]| Layout::new(shape, 64, Interpolation::of_variables(sizes).unwrap());
    for sizes in [&[][..], &[3], &[127], &[128], &[128, 2], &[128, 5, 128]] {
        assert_eq!(
            layout(sizes).unwrap().points,
            sizes.iter().product::<usize>(),
            "{sizes:?}"
        );
    }
    assert!(layout(&[129]).is_err() && layout(&[2, 256]).is_err());
}

fn bound(columns: u64, points: usize) -> f64 {
    let shape = Shape::of_bytes(columns * points as u64, 4096).unwrap();
    let interpolation = Interpolation::of_points(points, 2048).unwrap();
    squared_sums(
        &Layout::new(shape, 2048, interpolation).unwrap(),
        FailureBound::DEFAULT,
    )
}

/// One column under many points is a single square: its largest value counts, not its mean.
#[test]
fn few_columns_are_bounded_by_their_tail() {
    // The mean square of a uniform word of 16 bits; the largest is 2^30.
    let mean = 2f64.powi(32) / 12.0;
    assert!(bound(1, 64) > 80.0 * 64.0 * mean, "{}", bound(1, 64) / mean);
    assert!(bound(1 << 16, 4) < 1.06 * 4.0 * 65536.0 * mean);
    assert_eq!(bound(1, 1), 2f64.powi(30));
}

/// An answer to one query is refused under every other secret, except under the parameters of older
/// databases, which reserve nothing: there only the word 65536 is refused.
#[test]
fn an_answer_opened_under_a_foreign_secret_is_refused() {
    let mut rng = ChaCha20Rng::from_seed([4; 32]);
    let shape = Shape::of_bytes(100, 32).unwrap();
    let reserving = Params::with_points(shape, 1).unwrap();
    assert!(reserving.literal().reserved);
    let server = Server::setup(
        reserving,
        &RecordBuffer::zeroed(shape),
        &mut rng,
        &NoProgress,
    )
    .unwrap();
    let client = Client::new(server.params().clone(), *server.public()).unwrap();
    let (own, query) = client.query(None, &[7], &mut rng).unwrap();
    let answer = server.answer(Session::anonymous(), &query).unwrap();

    let without = Params::new(Literal {
        reserved: false,
        ..*server.params().literal()
    })
    .unwrap();
    let open = |params: &Params, secret: &Secret| {
        extract(
            params,
            params.layout(),
            &[server.public().seed],
            secret,
            &answer,
        )
    };
    assert_eq!(open(server.params(), &own).unwrap(), [vec![0; 32]]);
    assert_eq!(open(&without, &own).unwrap(), [vec![0; 32]]);

    let mut passed = 0;
    for _ in 0..10_000 {
        let key = Arc::new(SecretKey::generate(server.params().rlwe(), &mut rng));
        let foreign = Secret {
            key,
            locations: own.locations.clone(),
        };
        assert!(matches!(
            open(server.params(), &foreign),
            Err(Error::NotDecodable)
        ));
        passed += usize::from(open(&without, &foreign).is_ok());
    }
    // e^(−2048/65537) of random words.
    assert!((9_600..9_780).contains(&passed), "{passed}");
}

#[test]
fn the_record_is_selected_before_an_answer_is_refused() {
    let shape = Shape::of_bytes(1000, 32).unwrap();
    let params = Params::with_points(shape, 4).unwrap();
    let records = RecordBuffer::zeroed(shape);

    let mut rng = ChaCha20Rng::from_seed([5; 32]);
    let server = Server::setup(params, &records, &mut rng, &NoProgress).unwrap();
    let client = Client::new(server.params().clone(), *server.public()).unwrap();

    assert_selected_before_refused::<Inspire>(&server, &client, &[7], &mut rng);
}

#[test]
fn parameters_without_a_reserve_are_refused() {
    let shape = Shape::of_bytes(100, 32).unwrap();
    let reserving = Params::with_points(shape, 4).unwrap();
    assert_eq!(
        Params::decode(&reserving.encode()).unwrap().literal(),
        reserving.literal()
    );
    let without = Params::new(Literal {
        reserved: false,
        ..*reserving.literal()
    })
    .unwrap();
    assert_eq!(
        Params::decode(&without.encode()).unwrap_err().code(),
        "malformed"
    );
}
