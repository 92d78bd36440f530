//! Attack on a reused number: two queries under it reveal both indices to the server.

use papir_core::scheme::{Client, Server, Wire};
use papir_core::{RecordBuffer, Shape};
use papir_lattice::lwe32::{LOG2_Q, UnitVector};

use super::super::client::State;
use super::super::over_simple::{LEVEL, masks};
use super::super::params::ZipParams;
use super::super::wire::ZipQuery;
use super::{Columns, OverSimple, Short};

/// Returns s − s′ from the offsets s − r and s′ − r modulo m. The masks r of a number are the same.
fn difference_of_keys(first: &ZipQuery, second: &ZipQuery) -> Vec<u32> {
    let lowest = |offset: &Vec<u16>| offset[0];
    let lowest = |query: &ZipQuery| {
        query
            .offsets
            .iter()
            .flatten()
            .map(lowest)
            .collect::<Vec<_>>()
    };

    let differences = lowest(first).into_iter().zip(lowest(second));
    differences
        .map(|(a, b)| i32::from(a.wrapping_sub(b) as i16) as u32)
        .collect()
}

#[test]
fn two_queries_under_one_number_reveal_both_indices() {
    let shape = Shape::of_bytes(400, 40).unwrap();
    let records = RecordBuffer::zeroed(shape);
    let rng = chacha20::rand_core::SeedableRng::from_seed([7; 32]);
    let mut setup = OverSimple::of_records(records, 20, 1, rng);
    let params = setup.client.params().clone();

    // The state is copied, and both copies query.
    let copy = <State as Wire<ZipParams<Columns<Short>>>>::encode(&setup.state, &params);
    let (_, first) = setup.ask(321);
    setup.state = State::decode(&params, &copy).unwrap();
    let (_, second) = setup.ask(45);
    assert_eq!(first.number, second.number);

    // The server: b − b′ − A·(s − s′) = Δ·(u − u′) and noise.
    let difference = difference_of_keys(&first, &second);
    assert!(
        difference.iter().all(|bit| [0, 1, u32::MAX].contains(bit)),
        "differences of bits"
    );

    let base = &params.base;
    let length = base.layout.columns;
    let bits = base.budget.query_bits;
    let nothing = UnitVector {
        selected: u64::MAX,
        length,
        log2_delta: LEVEL.log2_delta(),
    };
    let product = base.lwe.encrypt(
        &masks(setup.server.public().seed),
        &difference,
        nothing,
        LOG2_Q,
        &mut setup.rng,
    );

    let [first, second] = [first, second].map(|query| query.parts.unwrap().remove(0));
    let words = first.iter().zip(&second).zip(&product);
    let rest = words.map(|((a, b), product)| {
        (a.wrapping_sub(*b) << (LOG2_Q - bits)).wrapping_sub(*product) as i32
    });

    let half = 1 << (LEVEL.log2_delta() - 1);
    let large: Vec<(u64, bool)> = (0..)
        .zip(rest)
        .filter(|(_, rest)| rest.abs() > half)
        .map(|(column, rest)| (column, rest > 0))
        .collect();

    let column = |index| base.layout.place(index).column;
    let mut expected = [(column(321), true), (column(45), false)];
    expected.sort_unstable();
    assert_eq!(large, expected);
}
