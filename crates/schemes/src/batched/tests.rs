//! Batches compared with the records, over two schemes.
#![allow(clippy::unwrap_used)]

use chacha20::ChaCha20Rng;
use papir_core::scheme::{Client, Goal, Parameters, Server, Session, Wire};
use papir_core::sections::MemorySections;
use papir_core::{Change, FailureBound, NoProgress, RecordBuffer, Records, Shape, envelope};
use papir_ring::prg::Seed;
use proptest::prelude::*;
use rand_core::SeedableRng;

use super::bound::{least_width, placement_log2};
use super::code::{Buckets, Code, CopyPlace, Permutation, place_vartime};
use super::*;
use crate::inspire::parts::InspireInParts;
use crate::shared::messages::SEED_BYTES;
use crate::simple::Simple;

fn sample(count: u64, bits: u64) -> RecordBuffer {
    let mut records = RecordBuffer::zeroed(Shape::new(count, bits).unwrap());
    let mut record = vec![0; bits.div_ceil(8) as usize];
    for index in 0..count {
        blake3::Hasher::new()
            .update(&index.to_le_bytes())
            .finalize_xof()
            .fill(&mut record);
        records.set(index, &record).unwrap();
    }
    records
}

/// Prepares a small batch database of nine buckets in groups of at most `parts`. The number of
/// buckets of the bound would be slow here.
fn prepared<S: Bucket>(
    records: &RecordBuffer,
    parts: usize,
    rng: &mut ChaCha20Rng,
) -> BatchedServer<S> {
    let buckets = Buckets {
        functions: 3,
        width: 3,
    };
    let params = BatchedParams::<S>::unbounded(records.shape(), 5, buckets, parts).unwrap();
    BatchedServer::setup(params, records, rng, &NoProgress).unwrap()
}

fn client_of<S: Bucket>(server: &BatchedServer<S>) -> BatchedClient<S> {
    let public = server.public().encode(server.params());
    let decoded = BatchedPublic::<S>::decode(server.params(), &public).unwrap();
    BatchedClient::new(server.params().clone(), decoded).unwrap()
}

/// Queries batches through bytes and compares lengths with the description.
fn check_batches<S: Bucket>(
    server: &BatchedServer<S>,
    records: &RecordBuffer,
    rng: &mut ChaCha20Rng,
) {
    let client = client_of(server);
    let params = server.params();
    let sizes = params.describe().sizes;
    let last = records.shape().records() - 1;
    let sent = |bytes: &[u8]| (bytes.len() + envelope::OVERHEAD) as u64;

    let mut asked = 0;
    for indices in [
        vec![last],
        vec![0, 1, 2, 3, last],
        vec![7, 7, 0, last],
        vec![7],
    ] {
        let (secret, query) = client.query(None, &indices, rng).unwrap();
        let query = query.encode(params);
        assert_eq!(sent(&query), sizes.query);
        let query = BatchedQuery::decode(params, &query).unwrap();
        let answer = server
            .answer(Session::anonymous(), &query)
            .unwrap()
            .encode(params);
        assert_eq!(sent(&answer), sizes.answer);

        // Fewer buckets than the bound requires: some batches find no places, which only the client
        // sees.
        let Ok(found) = client.extract(secret, BatchedAnswer::decode(params, &answer).unwrap())
        else {
            continue;
        };

        let expected: Vec<_> = indices
            .iter()
            .map(|&index| records.get(index).unwrap())
            .collect();
        assert_eq!(found, expected, "{indices:?}");
        asked += 1;
    }
    assert!(asked >= 2);
}

/// Reads the records back after setup, update, and loading.
fn check<S: Bucket>(bits: u64, parts: usize, groups: usize) {
    let mut rng = ChaCha20Rng::seed_from_u64(bits);
    let mut records = sample(40, bits);
    let server = prepared::<S>(&records, parts, &mut rng);
    assert_eq!(server.params().groups(), groups);
    check_batches(&server, &records, &mut rng);

    let record = vec![1; records.shape().record_bytes()];
    let changes = [0, 7, 39].map(|index| Change {
        index,
        record: record.clone(),
    });
    changes
        .iter()
        .for_each(|one| records.set(one.index, &one.record).unwrap());
    let changed = server.update(&changes, &mut rng, &NoProgress).unwrap();
    check_batches(&changed, &records, &mut rng);
    // Single records, and whole buckets.
    for (first, count) in [(0, 0), (8, 1), (39 / 8 * 8, 1), (8, 17), (0, 40)] {
        // Filled with ones, so that bits that are not written show.
        let mut read = vec![0xff; (count * bits).div_ceil(8) as usize];
        let mut expected = read.clone();
        changed.read_packed(first, count, &mut read).unwrap();
        records.read_packed(first, count, &mut expected).unwrap();
        assert_eq!(read, expected, "{count} from {first}");
    }

    let mut sections = MemorySections::default();
    changed.save(&mut sections).unwrap();
    let loaded = BatchedServer::<S>::load(changed.params().clone(), &sections).unwrap();
    assert_eq!(
        loaded.public().encode(loaded.params()),
        changed.public().encode(changed.params())
    );
    check_batches(&loaded, &records, &mut rng);
}

/// Three groups, the last one with three unused parts.
#[test]
fn inspire_in_batches_of_several_groups() {
    check::<InspireInParts>(24, 4, 3);
}

#[test]
fn inspire_in_batches_of_single_buckets() {
    check::<InspireInParts>(9, 1, 9);
}

/// InspireInParts by 32: ring elements of 64 words.
#[test]
fn inspire_in_batches_of_records_in_several_chunks() {
    check::<InspireInParts>(2100, 32, 1);
}

#[test]
fn simple_in_batches_of_records_that_are_no_whole_bytes() {
    check::<Simple>(13, 1, 9);
}

#[test]
fn queries_of_one_batch_share_the_packing_key_and_nothing_else() {
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let server = prepared::<InspireInParts>(&sample(40, 24), 4, &mut rng);
    let client = client_of(&server);
    let batches = [0, 1].map(|_| client.query(None, &[3], &mut rng).unwrap().1);

    let params = &server.params().inner;
    let encoded = batches.map(|batch| {
        batch
            .groups
            .iter()
            .map(|one| one.encode(params))
            .collect::<Vec<_>>()
    });

    let shared = InspireInParts::shared_bytes(params);
    assert!(!shared.is_empty() && encoded[0].len() == 3);
    for query in &encoded[0][1..] {
        assert_eq!(query[shared.clone()], encoded[0][0][shared.clone()]);
    }

    // Each batch has a fresh secret.
    assert_ne!(encoded[0][0][shared.clone()], encoded[1][0][shared.clone()]);
    let mut selectors: Vec<_> = encoded
        .iter()
        .flatten()
        .map(|query| &query[..shared.start])
        .collect();
    selectors.sort_unstable();
    assert!(selectors.windows(2).all(|pair| pair[0] != pair[1]));
}

#[test]
fn two_buckets_under_the_same_masks_are_refused() {
    let mut rng = ChaCha20Rng::seed_from_u64(2);
    let server = prepared::<InspireInParts>(&sample(40, 24), 4, &mut rng);
    let public = server.public().encode(server.params());

    // The next part of the same group, and one of another.
    for other in [1, 5] {
        let first = SEED_BYTES;
        let other = SEED_BYTES + 32 * other;
        let mut public = public.clone();
        public.copy_within(first..first + 32, other);

        let error = BatchedPublic::<InspireInParts>::decode(server.params(), &public)
            .err()
            .unwrap();
        assert_eq!(error.code(), "malformed");
    }
}

#[test]
fn batches_without_places_are_asked_as_others_and_fail_at_the_end() {
    let mut rng = ChaCha20Rng::seed_from_u64(3);
    let records = sample(40, 24);
    // Three groups of one bucket: at most three records at a time.
    let buckets = Buckets {
        functions: 3,
        width: 1,
    };

    let params = BatchedParams::<Simple>::unbounded(records.shape(), 5, buckets, 1).unwrap();
    let server = BatchedServer::setup(params, &records, &mut rng, &NoProgress).unwrap();
    let client = client_of(&server);

    let lengths = [&[1, 2, 3][..], &[1, 2, 3, 4]].map(|indices| {
        let (secret, query) = client.query(None, indices, &mut rng).unwrap();
        let length = query.encode(server.params()).len();
        let answer = server.answer(Session::anonymous(), &query).unwrap();
        let found = client.extract(secret, answer);
        assert_eq!(found.is_ok(), indices.len() == 3);
        if let Err(error) = found {
            assert!(
                error
                    .to_string()
                    .contains("1 records of a batch share all their places"),
                "{error}"
            );
        }
        length
    });

    assert_eq!(lengths[0], lengths[1]);
    let refused = client.query(None, &[0; 6], &mut rng).err().unwrap();
    assert_eq!(refused.code(), "batch_size");
}

#[test]
fn every_full_batch_of_many_finds_places_under_the_bound() {
    let shape = Shape::new(1 << 12, 8).unwrap();
    let params = BatchedParams::<Simple>::for_capacity(shape, Goal::Balanced, 16).unwrap();
    let code = Code::new(1 << 12, params.buckets, &Seed([8; 32]));

    for batch in 0..2000u64 {
        let candidates: Vec<Vec<usize>> = (0..16)
            .map(|i| {
                code.places_vartime((batch * 16 + i) % (1 << 12))
                    .map(|place| place.bucket)
                    .collect()
            })
            .collect();
        let placed = place_vartime(&candidates, params.bucket_count());
        assert!(placed.iter().all(Option::is_some));
    }
}

#[test]
fn parameters_round_trip_and_weak_ones_are_refused() {
    let shape = Shape::new(1 << 16, 64).unwrap();
    let params = BatchedParams::<Simple>::for_capacity(shape, Goal::MinTime, 32).unwrap();

    let decoded = BatchedParams::<Simple>::decode(&params.encode()).unwrap();
    assert_eq!(decoded.encode(), params.encode());
    assert_eq!(decoded.describe().limits.batch, 32);

    let wide = BatchedParams::<Simple>::unbounded(
        shape,
        4,
        Buckets {
            functions: 2,
            width: 200,
        },
        1,
    )
    .unwrap();
    assert_eq!(
        BatchedParams::<Simple>::decode(&wide.encode())
            .unwrap_err()
            .code(),
        "malformed"
    );

    for capacity in [0, params::MAX_CAPACITY + 1] {
        let error =
            BatchedParams::<Simple>::for_capacity(shape, Goal::MinTime, capacity).unwrap_err();
        assert_eq!(error.code(), "out_of_bounds");
    }

    let weak = BatchedParams::<Simple>::unbounded(
        shape,
        64,
        Buckets {
            functions: 2,
            width: 40,
        },
        1,
    )
    .unwrap();
    let error = BatchedParams::<Simple>::decode(&weak.encode()).unwrap_err();
    assert!(error.to_string().contains("above 2^-40"), "{error}");
}

#[test]
fn every_place_is_a_copy_of_the_record_that_finds_it() {
    for (records, functions, width) in [(1, 1, 1), (1, 2, 3), (100, 3, 7), (1000, 4, 8), (5, 4, 8)]
    {
        let buckets = Buckets { functions, width };
        let code = Code::new(records, buckets, &Seed([3; 32]));

        let mut copies = 0;
        for bucket in 0..buckets.count() {
            for position in 0..buckets.records(records) {
                let place = CopyPlace { bucket, position };
                let Some(record) = code.record_at(place) else {
                    continue;
                };
                copies += 1;
                assert!(code.places_vartime(record).any(|found| found == place));
            }
        }

        assert_eq!(copies, records * functions as u64);
    }
}

#[test]
fn copies_of_a_record_are_in_different_groups() {
    let code = Code::new(
        1000,
        Buckets {
            functions: 4,
            width: 8,
        },
        &Seed([5; 32]),
    );

    for index in 0..1000 {
        let groups: Vec<_> = code
            .places_vartime(index)
            .map(|place| place.bucket / 8)
            .collect();
        assert_eq!(groups, [0, 1, 2, 3]);
    }
}

#[test]
fn every_value_once_and_back() {
    for count in [1, 2, 3, 64, 1000, 4096, 4097] {
        let permutation = Permutation::new(&Seed([7; 32]), 1, count);
        let mut seen = vec![false; count as usize];

        for value in 0..count {
            let image = permutation.forward(value);
            assert!(
                !std::mem::replace(&mut seen[image as usize], true),
                "{count}: {image} twice"
            );
            assert_eq!(permutation.inverse(image), value);
        }
    }
}

#[test]
fn permutations_of_one_seed_differ_and_move_nearly_all() {
    let count = 1 << 14;
    let [first, second] = [0, 1].map(|number| Permutation::new(&Seed([1; 32]), number, count));
    let same = (0..count)
        .filter(|&x| first.forward(x) == second.forward(x))
        .count();
    let fixed = (0..count).filter(|&x| first.forward(x) == x).count();
    // One is expected of either; Poisson.
    assert!(same < 15 && fixed < 15, "{same} {fixed}");
}

#[test]
fn neighbours_spread_over_residues_as_random_values_do() {
    let count = 1 << 20;
    let width = 23;
    let permutation = Permutation::new(&Seed([9; 32]), 0, count);
    let mut counts = vec![0f64; width];
    (0..23_000).for_each(|x| counts[(permutation.forward(x) % width as u64) as usize] += 1.0);
    let chi_square: f64 = counts
        .iter()
        .map(|found| (found - 1000.0).powi(2) / 1000.0)
        .sum();
    // 22 degrees of freedom: above 67 with probability 10⁻⁶; the seed is fixed.
    assert!(chi_square < 67.0, "{chi_square}");
}

/// Returns the largest number of records that can have distinct buckets, by trying all choices.
fn most(candidates: &[Vec<usize>], taken: u32) -> usize {
    let Some((first, rest)) = candidates.split_first() else {
        return 0;
    };
    let free = first.iter().filter(|&&bucket| taken >> bucket & 1 == 0);
    let with = free
        .map(|&bucket| 1 + most(rest, taken | 1 << bucket))
        .max()
        .unwrap_or(0);
    with.max(most(rest, taken))
}

proptest! {
    #[test]
    fn as_many_records_as_can_be_have_distinct_buckets(
        candidates in prop::collection::vec(prop::collection::vec(0usize..8, 1..4), 0..9),
    ) {
        let placed = place_vartime(&candidates, 8);
        let found = placed.iter().flatten().count();
        prop_assert_eq!((placed.len(), found), (candidates.len(), most(&candidates, 0)));
        let mut seen = [false; 8];
        for (bucket, candidates) in placed.iter().zip(&candidates) {
            let Some(bucket) = bucket else { continue };
            prop_assert!(candidates.contains(bucket));
            prop_assert!(!std::mem::replace(&mut seen[*bucket], true));
        }
    }
}

#[test]
fn a_chain_of_moves_is_followed_to_its_end() {
    let mut candidates: Vec<Vec<usize>> = (0..30).map(|i| vec![i, i + 1]).collect();
    candidates.push(vec![0]);
    let placed = place_vartime(&candidates, 31);
    assert_eq!(*placed, (1..=30).chain([0]).map(Some).collect::<Vec<_>>());
}

const MANY: u64 = 1 << 40;

fn of(functions: usize, width: usize) -> Buckets {
    Buckets { functions, width }
}

#[test]
fn the_smallest_obstruction_alone_is_below_the_bound_and_near_it() {
    // Five records with the same four places, of 64 with 23 buckets a group: C(64, 5)/23^16.
    let alone = (7_624_512f64 / 23f64.powi(16)).log2();
    let bound = placement_log2(64, of(4, 23), MANY);
    assert!(bound > alone && bound < alone + 8.0, "{alone} {bound}");
}

#[test]
fn few_records_always_find_places() {
    for records in 1..=4 {
        assert_eq!(placement_log2(records, of(4, 1), MANY), f64::NEG_INFINITY);
    }
    assert_eq!(placement_log2(5, of(4, 1), MANY), 0.0);
    assert_eq!(placement_log2(64, of(4, 1), 3), f64::NEG_INFINITY);
}

#[test]
fn widths_are_least_and_known() {
    for (capacity, functions, expected) in [
        (16, 4, 10),
        (64, 3, 98),
        (64, 4, 23),
        (64, 5, 16),
        (256, 4, 80),
    ] {
        let width = least_width(capacity, functions, MANY, FailureBound::DEFAULT).unwrap();
        assert_eq!(width, expected, "{capacity} {functions}");
        assert!(
            placement_log2(capacity, of(functions, width - 1), MANY) > FailureBound::DEFAULT.log2()
        );
    }

    assert_eq!(least_width(64, 2, 1000, FailureBound::DEFAULT), None);
    // Not beyond the records, and not before them.
    assert!(least_width(16, 4, 10, FailureBound::DEFAULT).is_some_and(|width| width <= 10));
}
