//! Functions that leak a secret, which memcheck must report, and one that does not.

use std::hint::black_box;
use std::slice;

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use papir_core::hedge::Hedge;
use papir_core::{Goal, NoProgress, RecordBuffer, Shape};
use papir_ring::prg::SecretRng;
use papir_ring::sample::{Gaussian, ternary};
use papir_schemes::registry;
use rand_core::Rng;

use crate::hidden_rng::HiddenRng;
use crate::memcheck::{hidden_bits, hide, is_running, reported, reveal, turn};

/// Fills numbers from secret bytes.
type Sampler<'a> = &'a dyn Fn(&mut SecretRng, &mut [i32]);

/// A secret number below 64.
const SECRET: u64 = 37;

/// Returns [`SECRET`], undefined.
fn secret() -> u64 {
    let mut secret = SECRET;
    hide(slice::from_mut(&mut secret));
    secret
}

/// Searches from the front, and stops at the secret.
#[inline(never)]
fn search(secret: u64) -> u64 {
    let mut steps = 0;
    for number in 0..64 {
        if black_box(number) == secret {
            break;
        }
        steps = black_box(steps + 1);
    }
    steps
}

/// Reads one element of a table.
#[inline(never)]
fn read(secret: u64) -> u64 {
    let table: [u64; 64] = std::array::from_fn(|i| 3 * i as u64);
    black_box(&table)[secret as usize & 63]
}

/// Reads all elements of a table, and keeps one.
#[inline(never)]
fn scan(secret: u64) -> u64 {
    let table: [u64; 64] = std::array::from_fn(|i| 3 * i as u64);
    let mut kept = 0;
    for (number, element) in (0u64..).zip(black_box(&table)) {
        // The top bit is set unless the number is the secret.
        let difference = number ^ secret;
        let differs = (difference | difference.wrapping_neg()) >> 63;
        kept |= element & differs.wrapping_sub(1);
    }
    kept
}

/// Returns the reports of `work`, whose result is public afterwards.
fn reports_of(work: impl FnOnce() -> u64) -> (u64, u64) {
    let (mut result, reports) = reported(work);
    reveal(slice::from_mut(&mut result));
    (result, reports)
}

#[test]
fn a_branch_is_reported() {
    let _turn = turn();
    let (steps, reports) = reports_of(|| search(secret()));
    assert_eq!(steps, SECRET);
    assert_eq!(reports > 0, is_running());
}

#[test]
fn an_address_is_reported() {
    let _turn = turn();
    let (found, reports) = reports_of(|| read(secret()));
    assert_eq!(found, 3 * SECRET);
    assert_eq!(reports > 0, is_running());
}

#[test]
fn a_scan_is_not_reported() {
    let _turn = turn();
    let (found, reports) = reports_of(|| scan(secret()));
    assert_eq!(found, 3 * SECRET);
    assert_eq!(reports, 0);
}

/// What is drawn stays undefined through the hedge, the generator of secrets and the samplers.
#[test]
fn a_branch_on_a_sample_is_reported() {
    let _turn = turn();
    let gaussian = Gaussian::new(6.4).unwrap();
    let samplers: [Sampler<'_>; 2] = [&|rng, out| gaussian.fill(rng, out), &|rng, out| {
        ternary(rng, out)
    }];

    for sample in samplers {
        let mut hedged = Hedge::new("test").rng(&mut HiddenRng::from_seed([5; 32]));
        let mut samples = [0; 64];
        let (_, reports) = reported(|| sample(&mut SecretRng::new(&mut hedged), &mut samples));
        assert_eq!(reports, 0);

        let (_, reports) = reports_of(|| search(samples[0] as u64 & 63));
        assert_eq!(reports > 0, is_running());
    }
}

/// A query is undefined until it is sent: a client that reads it back, and decides by it, leaks.
#[test]
fn a_branch_on_a_query_is_reported() {
    let _turn = turn();
    let shape = Shape::of_bytes(100, 8).unwrap();
    let scheme = registry::by_name("simple").unwrap();
    let server = scheme
        .setup(
            &RecordBuffer::zeroed(shape),
            Goal::Balanced,
            &mut ChaCha20Rng::from_seed([5; 32]),
            &NoProgress,
        )
        .unwrap();
    let client = scheme.client(&server.public()).unwrap();

    let rng = &mut HiddenRng::from_seed([9; 32]);
    let (_, mut query) = client.query(None, &[7], rng).unwrap();
    let last = query.len() - 1;
    assert_eq!(
        hidden_bits(&mut query[last..]),
        if is_running() { 8 } else { 0 }
    );

    let (_, reports) = reports_of(|| search(u64::from(query[last]) & 63));
    assert_eq!(reports > 0, is_running());
}

#[test]
fn hidden_bytes_count_until_they_are_revealed() {
    let _turn = turn();
    let mut bytes = [0; 32];
    HiddenRng::from_seed([1; 32]).fill_bytes(&mut bytes);
    assert_eq!(hidden_bits(&mut bytes), if is_running() { 256 } else { 0 });

    reveal(&mut bytes[8..]);
    assert_eq!(hidden_bits(&mut bytes), if is_running() { 64 } else { 0 });
}
