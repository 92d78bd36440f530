//! Times of a client's steps for two secrets, compared as in dudect (Reparaz, Balasch, Verbauwhede:
//! "Dude, is my code constant time?").
//!
//! `make test-long` runs these tests one by one, after all others.

mod welch;

use std::hint::black_box;
use std::time::Instant;

use chacha20::ChaCha20Rng;
use papir_core::erased::{ErasedClient, ErasedSecret, ErasedSession};
use papir_core::{Goal, NoProgress, RecordBuffer, Shape};
use papir_schemes::registry;
use rand_core::{Rng, SeedableRng};

use welch::{Times, largest_t};

/// Largest |t| of two classes that take the same time. Of equal distributions, |t| exceeds 5 once
/// in a million comparisons; dudect speaks of a leak from 10 on.
const MOST_T: f64 = 10.0;
/// Measurements of each step, about half of them in each class.
const MEASUREMENTS: usize = 600;
/// Most comparisons of a step. A leak exceeds the bound in each of them. Other work on the machine
/// can add to one class by chance, or hide the known leak.
const ROUNDS: usize = 5;
/// Searches of the known leak. They take a few percent of the time of a step.
const SEARCHES: usize = 4;

/// One of two secrets: the seed of all random draws, which sets the keys, and the index.
#[derive(Clone, Copy)]
struct Secrets {
    seed: [u8; 32],
    index: u64,
}

/// A client of a small database, and an answer for each class.
struct Setting {
    client: Box<dyn ErasedClient>,
    classes: [Secrets; 2],
    answers: [Vec<u8>; 2],
}

/// Largest |t| of a step, and of the same step with a known leak.
#[derive(Debug)]
struct Comparison {
    step: f64,
    with_leak: f64,
}

/// A step of a client.
#[derive(Clone, Copy)]
enum Step {
    Query,
    Extract,
}

impl Setting {
    fn new(name: &str) -> Self {
        let shape = Shape::of_bytes(1 << 14, 64).unwrap();
        let scheme = registry::by_name(name).unwrap();
        let rng = &mut ChaCha20Rng::from_seed([5; 32]);
        let mut records = RecordBuffer::zeroed(shape);
        rng.fill_bytes(records.packed_mut());
        let server = scheme
            .setup(&records, Goal::Balanced, rng, &NoProgress)
            .unwrap();
        let client = scheme.client(&server.public()).unwrap();

        let classes = [
            Secrets {
                seed: [1; 32],
                index: 0,
            },
            Secrets {
                seed: [2; 32],
                index: shape.records() - 1,
            },
        ];
        let answers = classes.map(|class| {
            let (_, query) = class.query(&*client);
            server.answer(ErasedSession::default(), &query).unwrap()
        });

        Self {
            client,
            classes,
            answers,
        }
    }

    /// Measures a step of a class with and without the known leak, in seconds.
    fn measure(&self, step: Step, class: usize, leak: bool) -> f64 {
        let secrets = self.classes[class];
        match step {
            Step::Query => seconds(|| {
                drop(black_box(secrets.query(&*self.client)));
                if leak {
                    search(secrets.index);
                }
            }),
            Step::Extract => {
                // A secret opens one answer. This one is made again, outside the measurement.
                let (secret, _) = secrets.query(&*self.client);
                seconds(|| {
                    let found = self.client.extract(secret, &self.answers[class]);
                    drop(black_box(found.unwrap()));
                    if leak {
                        search(secrets.index);
                    }
                })
            }
        }
    }

    /// Compares both classes, measured in random order.
    fn compare(&self, step: Step, order: &mut impl Rng) -> Comparison {
        let mut plain = Times::default();
        let mut leaking = Times::default();
        for _ in 0..MEASUREMENTS {
            let class = (order.next_u32() & 1) as usize;
            plain.push(class, self.measure(step, class, false));
            leaking.push(class, self.measure(step, class, true));
        }

        Comparison {
            step: largest_t(&plain),
            with_leak: largest_t(&leaking),
        }
    }
}

impl Secrets {
    /// Makes the only query of this class.
    fn query(&self, client: &dyn ErasedClient) -> (ErasedSecret, Vec<u8>) {
        let mut rng = ChaCha20Rng::from_seed(self.seed);
        client.query(None, &[self.index], &mut rng).unwrap()
    }
}

/// The known leak: searches the numbers of all records for an index, and stops there.
fn search(index: u64) {
    for _ in 0..SEARCHES {
        let found = (0..u64::MAX).find(|&number| black_box(number) == index);
        assert_eq!(found, Some(index));
    }
}

/// Returns the time of `work` in seconds.
fn seconds(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64()
}

/// Fails if the times of a step tell two secrets apart, or if the known leak is never found.
fn check(name: &str, step: Step) {
    let setting = Setting::new(name);
    let mut order = ChaCha20Rng::from_seed([3; 32]);
    let mut comparisons = Vec::new();
    for _ in 0..ROUNDS {
        let comparison = setting.compare(step, &mut order);
        if comparison.step < MOST_T && comparison.with_leak > MOST_T {
            return;
        }
        comparisons.push(comparison);
    }
    panic!("{name}: expected |t| below {MOST_T}, and above with a leak: {comparisons:?}");
}

#[test]
#[ignore = "long"]
fn a_query_of_inspire_takes_the_same_time_for_two_secrets() {
    check("inspire", Step::Query);
}

#[test]
#[ignore = "long"]
fn extraction_of_inspire_takes_the_same_time_for_two_secrets() {
    check("inspire", Step::Extract);
}

#[test]
#[ignore = "long"]
fn a_query_of_inspire1_takes_the_same_time_for_two_secrets() {
    check("inspire1", Step::Query);
}

#[test]
#[ignore = "long"]
fn extraction_of_inspire1_takes_the_same_time_for_two_secrets() {
    check("inspire1", Step::Extract);
}

#[test]
#[ignore = "long"]
fn a_query_of_simple_takes_the_same_time_for_two_secrets() {
    check("simple", Step::Query);
}

#[test]
#[ignore = "long"]
fn extraction_of_simple_takes_the_same_time_for_two_secrets() {
    check("simple", Step::Extract);
}
