//! Tests of the set intersection's results, and attacks on both sets.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use num_bigint::BigUint;
use papir_core::{Error, NotPrivate};
use papir_lookup::oprf::{Blinding, Key};

use super::masking::{items, mask};
use super::receiver::Opening;
use super::wire::{Request, Response};
use super::{Item, PsiParams, Receiver, Sender, observer};
use crate::newton::fhe::{Ciphertext, RANK, Ring};
use crate::newton::key::SecretKey;
use crate::newton::modulus::{Modulus, words_of};

const ACKNOWLEDGED: NotPrivate = NotPrivate::acknowledged();

fn rng(seed: u8) -> ChaCha20Rng {
    ChaCha20Rng::from_seed([seed; 32])
}

fn modulus(bits: u32, seed: u8) -> Arc<Modulus> {
    Arc::clone(SecretKey::generate(bits, &mut rng(seed)).unwrap().modulus())
}

fn short(receiver: usize, sender: usize) -> PsiParams {
    PsiParams::new(receiver, sender)
        .unwrap()
        .with_modulus_bits(256)
        .unwrap()
}

fn set(items: impl IntoIterator<Item = u32>) -> Vec<Item> {
    items.into_iter().map(Item::from).collect()
}

/// Runs the protocol with encoded messages. Returns the intersection, the receiver's secret, and
/// both messages.
fn run(
    params: &PsiParams,
    n: &Arc<Modulus>,
    [receiver, sender]: [&[Item]; 2],
    rng: &mut ChaCha20Rng,
) -> (Vec<Item>, Opening, Request, Response) {
    let receiver = Receiver::new(params.clone(), Arc::clone(n), receiver, ACKNOWLEDGED).unwrap();
    let sender = Sender::new(params.clone(), sender, ACKNOWLEDGED).unwrap();
    let (opening, request) = receiver.request(rng).unwrap();
    let request = Request::decode(params, &request.encode()).unwrap();
    let response = sender.respond(&request, rng).unwrap();
    let response = Response::decode(params, &response.encode()).unwrap();
    (
        receiver.intersection(&opening, &response).unwrap(),
        opening,
        request,
        response,
    )
}

#[test]
fn the_receiver_learns_the_intersection() {
    let n = modulus(256, 1);
    let wide = [0, 1, u128::MAX, 1 << 64, (1 << 64) + 1];
    // The receiver's set, the sender's set, and their intersection.
    let cases: [(&str, [Vec<Item>; 3]); 8] = [
        ("the receiver's is empty", [vec![], set(0..9), vec![]]),
        ("the sender's is empty", [set(0..9), vec![], vec![]]),
        ("both are empty", [vec![], vec![], vec![]]),
        ("disjoint", [set(0..20), set(20..60), vec![]]),
        ("identical", [set(5..25), set(5..25), set(5..25)]),
        (
            "with repetitions",
            [set([3, 1, 3, 2, 1]), set([1, 9, 9, 1, 3]), set([1, 3])],
        ),
        ("overlapping", [set(0..20), set(15..70), set(15..20)]),
        (
            "of 128 bits",
            [
                wide.to_vec(),
                wide[2..].to_vec(),
                vec![1 << 64, (1 << 64) + 1, u128::MAX],
            ],
        ),
    ];

    let all = short(20, 60);
    let shapes = [
        all.clone(),
        all.clone().windowed(),
        all.clone().partitioned(5).unwrap(),
    ];
    for params in shapes
        .into_iter()
        .chain([all.partitioned(3).unwrap().windowed()])
    {
        for (name, [receiver, sender, expected]) in &cases {
            let found = run(&params, &n, [receiver, sender], &mut rng(2)).0;
            assert!(found == *expected, "{name}: {found:?}, {params:?}");
        }
    }
}

#[test]
fn the_intersection_is_correct_with_a_full_length_modulus() {
    let params = PsiParams::new(2, 12)
        .unwrap()
        .partitioned(2)
        .unwrap()
        .windowed();
    let receiver = set([7, 100]);
    let sender = set((0..12).map(|i| 9 * i + 1));

    assert_eq!(
        run(
            &params,
            &modulus(2048, 3),
            [&receiver, &sender],
            &mut rng(4)
        )
        .0,
        set([100])
    );
}

/// Each element is a root of a polynomial that the request reveals: see docs/notes/newtonpir.md.
#[test]
fn the_receivers_set_is_recovered_from_its_request() {
    for (bits, windowed, seed) in [(256, false, 5), (256, true, 6), (2048, true, 7)] {
        let n = modulus(bits, seed);
        let mut rng = rng(seed);
        let count = if bits == 256 { 20 } else { 3 };
        let params = PsiParams::new(count, 30)
            .unwrap()
            .with_modulus_bits(bits)
            .unwrap();
        let params = if windowed { params.windowed() } else { params };

        let mut items: Vec<Item> = (0..count)
            .map(|_| Item::from(rng.next_u32() % (1 << 10)))
            .collect();
        let receiver = Receiver::new(params.clone(), n, &items, ACKNOWLEDGED).unwrap();
        let request = receiver.request(&mut rng).unwrap().1;
        let seen = Request::decode(&params, &request.encode()).unwrap();

        items.sort_unstable();
        items.dedup();
        assert_eq!(
            observer::elements(&seen, &set(0..1 << 10)).unwrap(),
            items,
            "{bits} bits"
        );

        let others: Vec<Item> = (0..1 << 10).filter(|item| !items.contains(item)).collect();
        assert_eq!(observer::elements(&seen, &others).unwrap(), [0; 0]);
    }
}

/// The attack recovers masked elements. The sender can mask candidates, so it recovers the set.
#[test]
fn with_masking_the_sender_still_recovers_the_receivers_set() {
    let mut rng = rng(8);
    let names = |numbers: std::ops::Range<u32>| -> Vec<Vec<u8>> {
        numbers
            .map(|number| format!("name {number}").into_bytes())
            .collect()
    };

    let receiver = names(40..50);
    let sender = names(45..75);
    let candidates = names(0..100);

    let key = Key::generate(&mut rng).unwrap();
    let (blinding, blinded) = Blinding::new(&receiver, &mut rng).unwrap();
    let masked = items(&blinding.finish(&key.evaluate(&blinded).unwrap()).unwrap());

    assert_eq!(
        *masked,
        mask(&key, &receiver).unwrap(),
        "both parties compute the same masks"
    );

    let params = short(10, 30);
    let senders = mask(&key, &sender).unwrap();
    let (found, _, request, _) = run(&params, &modulus(256, 9), [&masked, &senders], &mut rng);

    let name = |masked: &Vec<Item>, item: &Item| masked.iter().position(|one| one == item).unwrap();
    let mut indices: Vec<usize> = found.iter().map(|item| name(&masked, item)).collect();
    indices.sort_unstable();
    assert_eq!(indices, [5, 6, 7, 8, 9]);

    // The sender's attack.
    let guesses = mask(&key, &candidates).unwrap();
    let seen = observer::elements(&request, &guesses).unwrap();
    let mut seen: Vec<usize> = seen.iter().map(|item| name(&guesses, item)).collect();
    seen.sort_unstable();
    assert_eq!(seen, Vec::from_iter(40..50));

    // With another key, masked values differ, and the attack finds nothing.
    let guesses = mask(&Key::generate(&mut rng).unwrap(), &candidates).unwrap();
    assert_eq!(observer::elements(&request, &guesses).unwrap(), [0; 0]);
}

fn big(words: &[u64]) -> BigUint {
    BigUint::from_bytes_le(
        &words
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .collect::<Vec<_>>(),
    )
}

/// Solves Σ xₖ·columns[k] = right modulo n by Gaussian elimination.
fn solve(n: &BigUint, columns: &[Vec<BigUint>], right: &[BigUint]) -> Vec<BigUint> {
    let mut rows: Vec<Vec<BigUint>> = (0..right.len())
        .map(|row| {
            columns
                .iter()
                .map(|column| column[row].clone())
                .chain([right[row].clone()])
                .collect()
        })
        .collect();

    for pivot in 0..columns.len() {
        let inverse = rows[pivot][pivot].modinv(n).unwrap();
        rows[pivot]
            .iter_mut()
            .for_each(|entry| *entry = &*entry * &inverse % n);
        let lead = rows[pivot].clone();
        for (_, row) in rows.iter_mut().enumerate().filter(|(row, _)| *row != pivot) {
            let factor = n - &row[pivot];
            row.iter_mut()
                .zip(&lead)
                .for_each(|(entry, lead)| *entry = (&*entry + &factor * lead) % n);
        }
    }

    rows.iter()
        .take(columns.len())
        .map(|row| row[columns.len()].clone())
        .collect()
}

/// An answer is r·g(c) in a ring of rank 9, and the receiver knows c, so it can solve for a g of
/// degree up to 8. Only the plaintext is "uniformly distributed and independent of the set X".
#[test]
fn the_senders_set_is_read_from_a_short_bins_answer() {
    let n = modulus(256, 10);
    let params = short(1, 8);
    let params = params
        .clone()
        .partitioned(params.load().div_ceil(8))
        .unwrap();
    assert!(params.degree() < RANK);

    let sender = set(1000..1008);
    let (found, _, request, response) = run(&params, &n, [&set([5]), &sender], &mut rng(11));
    assert_eq!(found, [0; 0], "nothing in common");
    let number = big(n.integer());

    let mut recovered = Vec::new();
    for (bin, parts) in request.bins.iter().zip(&response.bins) {
        let u = bin.u.clone();
        let v = bin.v.clone();
        let c = bin.powers[0].clone();
        let (ring, c) = Ring::of(&n, &Ciphertext { u, v, c });
        let mut powers = vec![ring.one()];
        while powers.len() <= params.degree() {
            powers.push(ring.multiply(&powers[powers.len() - 1], &c));
        }
        let numbers =
            |element: &[u64]| element.chunks_exact(n.words()).map(big).collect::<Vec<_>>();

        let columns: Vec<Vec<BigUint>> = powers
            .iter()
            .map(|power| numbers(&n.leave(power)))
            .collect();

        for part in parts {
            let g = solve(&number, &columns, &numbers(part));
            let value = |x: &Item| {
                g.iter()
                    .rev()
                    .fold(BigUint::ZERO, |sum, g| (sum * *x + g) % &number)
            };
            recovered.extend((0..2000).filter(|candidate| value(candidate) == BigUint::ZERO));
        }
    }

    recovered.sort_unstable();
    recovered.dedup();
    assert_eq!(recovered, sender);
}

#[test]
fn every_answer_has_a_fresh_r() {
    let n = modulus(256, 12);
    let params = short(3, 3);
    let receiver = Receiver::new(params.clone(), Arc::clone(&n), &set(0..3), ACKNOWLEDGED).unwrap();
    let sender = Sender::new(params.clone(), &set(3..6), ACKNOWLEDGED).unwrap();
    let (opening, request) = receiver.request(&mut rng(13)).unwrap();
    let [one, other] = [14, 15].map(|seed| sender.respond(&request, &mut rng(seed)).unwrap());
    assert!(
        one.bins
            .iter()
            .flatten()
            .zip(other.bins.iter().flatten())
            .all(|(one, other)| one != other)
    );
    assert_eq!(receiver.intersection(&opening, &one).unwrap(), [0; 0]);
}

#[test]
fn mismatched_sets_and_messages_are_refused_with_a_reason() {
    let n = modulus(256, 16);
    let params = short(2, 3);
    let receiver =
        |items: &[Item]| Receiver::new(params.clone(), Arc::clone(&n), items, ACKNOWLEDGED);

    let error = receiver(&set(0..3)).err().unwrap().to_string();
    assert!(
        error.contains("the receiver's set is 3: expected at most 2"),
        "{error}"
    );

    assert!(
        receiver(&set([1, 1, 1, 0])).is_ok(),
        "repeated items count once"
    );

    let error = Sender::new(params.clone(), &set(0..4), ACKNOWLEDGED)
        .err()
        .unwrap()
        .to_string();
    assert!(
        error.contains("the sender's set is 4: expected at most 3"),
        "{error}"
    );

    let longer = params.clone().with_modulus_bits(384).unwrap();
    assert!(matches!(
        Receiver::new(longer, Arc::clone(&n), &[], ACKNOWLEDGED),
        Err(Error::Length { .. })
    ));

    let (opening, mut request) = receiver(&set(0..2)).unwrap().request(&mut rng(17)).unwrap();
    let bytes = request.encode();
    assert!(matches!(
        Request::decode(&params, &bytes[1..]),
        Err(Error::Length { .. })
    ));
    assert!(matches!(
        Response::decode(&params, &bytes),
        Err(Error::Length { .. })
    ));

    let sender = Sender::new(params.clone(), &set(0..3), ACKNOWLEDGED).unwrap();
    let mut even = request.clone();
    even.modulus = words_of(&[2; 32]);
    assert!(sender.respond(&even, &mut rng(18)).is_err());

    request.bins.pop();
    let error = sender
        .respond(&request, &mut rng(18))
        .err()
        .unwrap()
        .to_string();
    assert!(
        error.contains("found 5 bins of 1 powers, expected 6 bins of 1 powers"),
        "{error}"
    );

    let none = Response { bins: Vec::new() };
    assert!(matches!(
        receiver(&[]).unwrap().intersection(&opening, &none),
        Err(Error::Length { .. })
    ));

    request.bins.clear();
    assert!(observer::elements(&request, &[1]).is_err());
}
