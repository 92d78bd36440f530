//! Candidate parameters of every scheme: feasible, with counted work, and buildable.

use chacha20::ChaCha20Rng;
use papir_core::cost::{Operation, Rates};
use papir_core::erased::ErasedSession;
use papir_core::{
    Candidate, Description, FailureBound, Goal, NoProgress, NotPrivate, OwnerKey, Privacy,
    RecordBuffer, Shape, Sizes,
};
use papir_schemes::registry;
use rand_core::SeedableRng;

use crate::short::registered;

fn candidates(name: &str, records: u64, bytes: u64) -> Vec<Candidate> {
    let shape = Shape::of_bytes(records, bytes).unwrap();
    registry::by_name(name)
        .unwrap()
        .candidates(shape, FailureBound::DEFAULT)
        .unwrap()
}

#[test]
fn candidates_are_feasible_different_and_include_every_goal() {
    // Short enough for every scheme.
    let shape = Shape::of_bytes(1 << 20, 8).unwrap();
    for scheme in registered() {
        let offered = scheme.candidates(shape, FailureBound::DEFAULT).unwrap();
        for goal in Goal::ALL {
            let chosen = scheme.plan(shape, goal).unwrap();
            assert!(
                offered.iter().any(|one| one.description == chosen),
                "{}: {goal:?}",
                scheme.name()
            );
        }
        for (i, one) in offered.iter().enumerate() {
            assert!(one.description.failure_log2 <= -40.0);
            assert!(
                offered[..i].iter().all(|other| other.label != one.label),
                "{} twice",
                one.label
            );
            let counted = one.description.work.answer.seconds(&Rates::BUILT_IN, 1) > 0.0;
            assert_eq!(
                counted,
                scheme.properties().privacy == Privacy::Private,
                "{}",
                scheme.name()
            );
        }
    }
}

/// 64 MiB, t = 4: counts derived by hand.
#[test]
fn inspires_work_is_counted() {
    let offered = candidates("inspire", 1 << 20, 64);
    let one = offered
        .iter()
        .find(|one| one.label == "t = 4, 4096 columns")
        .unwrap();
    let work = &one.description.work;
    let pack = 4.0 * 2048.0 * 4096.0;
    for (found, expected) in [
        (work.answer.times(Operation::Select16), 67_108_864.0),
        (work.answer.times(Operation::Matrix), 4.0 * pack),
        (work.answer.times(Operation::ExternalProduct), 3.0),
        (work.query.times(Operation::Encrypt), 2.0 + 8.0),
        (work.extract.times(Operation::Decrypt), 1.0),
        (work.setup.times(Operation::Encode16), 33_554_432.0),
        (work.setup.times(Operation::Interpolate), 2.0 * 33_554_432.0),
        (work.setup.times(Operation::HintTransform), 2.0 * 8192.0),
        (work.setup.times(Operation::Pack), 4.0),
        // Twice the columns and key coefficients, the rows, twice the result's mask and body.
        (
            work.answer.times(Operation::Word),
            2.0 * (4096.0 + 8.0 * 2048.0) + 8192.0 + 8192.0,
        ),
    ] {
        assert!(
            (found - expected).abs() < 0.5,
            "{found}, not {expected}: {work:?}"
        );
    }
}

/// Candidates with t between powers of two: no other has fewer bytes in 90% of the time.
#[test]
fn inspires_candidates_are_all_worth_comparing() {
    for (records, bytes) in [(1 << 20, 64), (1 << 24, 64), (1 << 29, 64)] {
        let offered = candidates("inspire", records, bytes);
        let t = |one: &Candidate| {
            one.label[4..]
                .split(',')
                .next()
                .unwrap()
                .parse::<u64>()
                .unwrap()
        };
        assert!(offered.iter().any(|one| t(one) == 6) && offered.iter().any(|one| t(one) == 8));
        let cost = |one: &Candidate| {
            let sizes = one.description.sizes;
            (
                sizes.query + sizes.answer,
                one.description.work.answer.seconds(&Rates::BUILT_IN, 1),
            )
        };
        for one in offered.iter().filter(|one| !t(one).is_power_of_two()) {
            let (bytes, seconds) = cost(one);
            let better =
                |other: &&Candidate| cost(other).0 < bytes && cost(other).1 < 0.9 * seconds;
            assert!(offered.iter().find(better).is_none(), "{}", one.label);
        }
    }
}

#[test]
fn simples_work_is_counted() {
    for one in candidates("simple", 1 << 20, 64) {
        let work = &one.description.work;
        let sizes = one.description.sizes;
        let columns = work.query.times(Operation::EncryptColumn);
        let rows = work.extract.times(Operation::DecryptRow);
        assert!((work.answer.times(Operation::Select8) - sizes.database as f64).abs() < 0.5);
        assert!(
            (sizes.hint as f64 - 4096.0 * rows).abs() < 0.5,
            "{}",
            one.label
        );
        assert!(
            (sizes.query as f64 - 4.0 * columns).abs() < 64.0,
            "{}",
            one.label
        );
    }
}

#[test]
fn a_database_is_built_as_a_candidate_says() {
    let records = RecordBuffer::from_records((0..200u32).map(u32::to_le_bytes)).unwrap();
    let shape = papir_core::Records::shape(&records);
    let mut rng = ChaCha20Rng::from_seed([8; 32]);
    let owner = OwnerKey::generate(&mut rng);
    for scheme in registered()
        .iter()
        .map(|scheme| scheme.allow_insecure(NotPrivate::acknowledged()))
    {
        let encrypted = scheme.plan(shape, Goal::Balanced).unwrap().limits.owner_key;
        let scheme = scheme.with_owner_key(encrypted.then_some(&owner));
        for one in scheme.candidates(shape, FailureBound::DEFAULT).unwrap() {
            let server = scheme
                .setup_candidate(&one.parameters, &records, &mut rng, &NoProgress)
                .unwrap();
            check_description(&server.describe(), &one.description);
            let client = scheme.client(&server.public()).unwrap();
            // The conformance suite covers clients that register keys.
            if server.describe().limits.client_keys {
                continue;
            }
            let (secret, query) = client.query(None, &[77], &mut rng).unwrap();
            let answer = server.answer(ErasedSession::default(), &query).unwrap();
            assert_eq!(
                client.extract(secret, &answer).unwrap(),
                [77u32.to_le_bytes()]
            );
        }
        assert!(
            scheme
                .setup_candidate(&[1, 2, 3], &records, &mut rng, &NoProgress)
                .is_err()
        );
    }
}

/// Checks that a database has the planned properties. A compressed database may be shorter.
fn check_description(found: &Description, planned: &Description) {
    let sizes = found.sizes;
    let longest = planned.sizes;
    assert!(sizes.public <= longest.public, "{}", found.scheme);
    if found.scheme != "download" {
        assert_eq!(found, planned);
        return;
    }
    assert_eq!(longest.public - sizes.public, longest.hint - sizes.hint);
    let rest = |sizes| Sizes {
        public: 0,
        hint: 0,
        database: 0,
        ..sizes
    };
    assert_eq!((rest(sizes), sizes.database), (rest(longest), sizes.hint));
    assert_eq!(
        (&found.limits, &found.work),
        (&planned.limits, &planned.work)
    );
}
