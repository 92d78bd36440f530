//! Honest use: index classes, batches, threads, retries and message lengths.

use papir_core::{Error, NoProgress, Privacy, Records};

use super::config::ConformanceConfig;
use super::fixture::{Fixture, Registration, check_records};
use chacha20::ChaCha20Rng;
use rand_core::SeedableRng;

/// Indices of every class decode; all queries and all answers have the described lengths.
pub(super) fn check_indices(fixture: &mut Fixture<'_>, config: &ConformanceConfig) {
    let sizes = fixture.server.describe().sizes;
    for index in fixture.indices(config.random_indices) {
        let sent = fixture.send(&[index]);
        assert_eq!(
            sent.query.len() as u64,
            sizes.query,
            "{:?}: query's length",
            fixture.shape
        );

        let answer = fixture.answer(&sent);
        assert_eq!(
            answer.len() as u64,
            sizes.answer,
            "{:?}: answer's length",
            fixture.shape
        );
        assert!(
            answer == fixture.answer(&sent),
            "a retry is answered with other bytes"
        );

        let found = fixture
            .client
            .extract(sent.secret, &answer)
            .expect("an honest answer decodes");
        check_records(&fixture.records, &[index], &found);
    }

    let first = fixture.send(&[0]);
    let second = fixture.send(&[0]);
    assert!(
        first.query != second.query,
        "two queries for one index are equal"
    );

    if fixture.scheme.properties().privacy == Privacy::Private {
        check_bytes_differ(&first.query, &second.query);
    }
}

/// Distances at which bytes of one query are compared with those of another: words of up to this
/// many bits have the same alignment one such distance further on.
const DISTANCES: usize = 64;

/// Two fresh queries have no more equal bytes than random payloads: a reused mask or an unencrypted
/// part would exceed that.
///
/// Words modulo a prime do not fill their bits, so bytes of equal significance agree more often
/// than random ones. They do so at the distance of a few words too, which tells how often; more
/// than a quarter above random bytes is a fault all the same.
fn check_bytes_differ(first: &[u8], second: &[u8]) {
    let payload = 24..first.len() - 8;
    let first = &first[payload.clone()];
    let second = &second[payload];

    let equal = |distance: usize| {
        first
            .iter()
            .skip(distance)
            .zip(second)
            .filter(|(a, b)| a == b)
            .count() as f64
    };

    let found = equal(0);
    let random = first.len() as f64 / 256.0;
    let deviations = 6.0 * random.sqrt() + 8.0;
    if found < random + deviations {
        return;
    }

    let usual = (1..=DISTANCES)
        .map(equal)
        .fold(random, f64::max)
        .min(1.25 * random);

    assert!(
        found < usual + deviations,
        "{found} of {} payload bytes are equal in two queries, {usual} at a distance",
        first.len()
    );
}

/// Refuses indices out of range, too many indices, and no indices.
pub(super) fn check_refusals(fixture: &mut Fixture<'_>) {
    for index in [fixture.shape.records(), u64::MAX] {
        let result = fixture.try_send(&[index]);
        assert!(
            matches!(result, Err(Error::IndexOutOfRange { .. })),
            "index {index} was not refused"
        );
    }
    let capacity = fixture.server.describe().limits.batch;
    for count in [0, capacity + 1] {
        let result = fixture.try_send(&vec![0; count]);
        assert!(
            matches!(result, Err(Error::BatchSize { .. })),
            "{count} indices were not refused"
        );
    }
}

/// Full and partial batches in one query; several queries answered in one pass, compared with
/// single answers.
pub(super) fn check_batches(fixture: &mut Fixture<'_>) {
    let description = fixture.server.describe();
    let indices = fixture.indices(description.limits.batch.min(16));

    for count in [
        description.limits.batch.min(16),
        description.limits.batch.min(2),
    ] {
        let batch: Vec<u64> = indices.iter().rev().copied().cycle().take(count).collect();
        let sent = fixture.send(&batch);
        assert_eq!(
            sent.query.len() as u64,
            description.sizes.query,
            "length depends on {count} indices"
        );
        fixture.check_lookup(&batch);
    }

    fixture.check_lookup(&vec![0; description.limits.batch.min(3)]);
    check_answer_many(fixture, &indices);
}

/// Several queries in one pass, one of them bad.
fn check_answer_many(fixture: &mut Fixture<'_>, indices: &[u64]) {
    let sent: Vec<_> = indices
        .iter()
        .map(|&index| fixture.send(&[index]))
        .collect();
    let bad = &sent[0].query[..sent[0].query.len() - 1];
    let mut batch: Vec<_> = sent
        .iter()
        .map(|sent| (fixture.registration.session(sent), sent.query.as_slice()))
        .collect();

    for (answer, sent) in fixture
        .server
        .answer_many(&batch, &NoProgress)
        .into_iter()
        .zip(&sent)
    {
        assert!(
            answer.expect("an answer") == fixture.answer(sent),
            "in one pass and alone differ"
        );
    }

    // A bad query fails alone, wherever it is in the batch.
    let middle = batch.len() / 2;
    batch.insert(middle, (fixture.registration.session(&sent[0]), bad));
    let answers = fixture.server.answer_many(&batch, &NoProgress);
    assert_eq!(answers.len(), batch.len());
    for (i, answer) in answers.iter().enumerate() {
        assert_eq!(
            answer.is_err(),
            i == middle,
            "query {i}; only {middle} is bad"
        );
    }
    assert!(fixture.server.answer_many(&[], &NoProgress).is_empty());
}

/// Threads with their own clients query one server concurrently.
pub(super) fn check_threads(fixture: &Fixture<'_>, config: &ConformanceConfig) {
    let Fixture {
        scheme,
        server,
        records,
        ..
    } = fixture;

    let work = |thread: u64| {
        let mut rng = ChaCha20Rng::seed_from_u64(config.seed ^ (thread + 1));
        let client = scheme.client(&server.public()).expect("a client");
        let mut registration = Registration::open(&*client, &**server, &mut rng);

        for i in 0..2 {
            let index = (thread * 97 + i * 31) % records.shape().records();
            let sent = registration
                .send(&*client, &**server, &[index], &mut rng)
                .expect("a query");

            let answer = server
                .answer(registration.session(&sent), &sent.query)
                .expect("an answer");

            let found = client
                .extract(sent.secret, &answer)
                .expect("an honest answer decodes");
            check_records(records, &[index], &found);
        }
    };

    std::thread::scope(|scope| {
        for thread in 0..config.threads as u64 {
            scope.spawn({
                let work = &work;
                move || work(thread)
            });
        }
    });
}
