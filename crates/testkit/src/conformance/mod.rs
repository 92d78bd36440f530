//! One suite that every scheme inherits: what the interface promises, asked of a real database.
//!
//! | file | asks |
//! |---|---|
//! | `lookups` | every index class, batches, threads, retries; lengths against the description |
//! | `messages` | damaged, foreign and random messages: typed errors, never a panic |
//! | `lifecycle` | save and load, damaged sections, updates and versions |
//! | `state` | client keys and client state: saved, loaded, damaged, missing |

mod fixture;
mod lifecycle;
mod lookups;
mod messages;
mod readback;
mod state;

use papir_core::erased::ErasedScheme;
use papir_core::{Goal, Privacy, Shape};

use fixture::Fixture;

/// What the suite runs over. Slow schemes trim `shapes` in everyday tests.
#[derive(Clone, Debug)]
pub struct Config {
    /// Shapes on which lookups and lengths are checked.
    pub shapes: Vec<Shape>,
    /// Shapes on which everything is checked.
    pub thorough: Vec<Shape>,
    /// Goals that parameters are chosen for, in turn over the shapes.
    pub goals: Vec<Goal>,
    /// Random indices for each shape, besides the first, the middle and the last.
    pub random_indices: usize,
    /// Positions at which each message is damaged.
    pub damaged_positions: usize,
    /// Threads that query at the same time.
    pub threads: usize,
    /// Seed of all randomness.
    pub seed: u64,
}

/// Shapes by (records, bits of a record).
pub fn shapes(list: &[(u64, u64)]) -> Vec<Shape> {
    list.iter().map(|&(records, bits)| Shape::new(records, bits).expect("a legal shape")).collect()
}

impl Config {
    /// Small databases of every kind of record: seconds for a fast scheme.
    pub fn quick() -> Self {
        Self {
            shapes: shapes(&[
                (1, 1),
                (1, 8),
                (2, 33 * 8),
                (3, 3),
                (4093, 1),
                (1009, 13),
                (1021, 8),
                (509, 64 * 8),
                (61, 4096 * 8),
                (37, 4097 * 8),
            ]),
            thorough: shapes(&[(257, 3), (211, 33 * 8)]),
            goals: vec![Goal::Balanced, Goal::MinCommunication, Goal::MinTime],
            random_indices: 2,
            damaged_positions: 12,
            threads: 4,
            seed: 0x7061_7069_7221,
        }
    }

    /// As [`Self::quick`] for schemes whose setup or queries take a good part of a second: fewer
    /// shapes and fewer damaged positions, every check still made.
    pub fn slow() -> Self {
        Self {
            shapes: shapes(&[(1, 1), (4093, 1), (509, 64 * 8), (5, 4097 * 8)]),
            thorough: shapes(&[(211, 33 * 8)]),
            random_indices: 1,
            damaged_positions: 4,
            threads: 2,
            ..Self::quick()
        }
    }

    /// Larger databases, records up to 256 KiB, more positions: minutes.
    pub fn long() -> Self {
        let quick = Self::quick();
        let more = shapes(&[
            (1_000_003, 1),
            (262_139, 8),
            (65_537, 64 * 8),
            (1009, 8191),
            (16, 65_536 * 8),
            (3, 1 << 21),
        ]);
        Self {
            shapes: quick.shapes.iter().copied().chain(more).collect(),
            thorough: shapes(&[(1, 8), (257, 3), (211, 33 * 8), (4099, 256 * 8), (5, 40_000 * 8)]),
            random_indices: 8,
            damaged_positions: 60,
            threads: 8,
            ..quick
        }
    }
}

/// Runs the whole suite on one scheme.
///
/// # Panics
/// With the shape and what failed, when the scheme breaks a promise.
pub fn run(scheme: &dyn ErasedScheme, config: &Config) {
    let all = config.shapes.iter().map(|shape| (*shape, false));
    let all = all.chain(config.thorough.iter().map(|shape| (*shape, true)));
    for (i, (shape, thorough)) in all.enumerate() {
        let goal = config.goals[i % config.goals.len()];
        let mut fixture = Fixture::new(scheme, shape, goal, config.seed + i as u64);
        check_description(&fixture);
        lookups::check_indices(&mut fixture, config);
        lookups::check_refusals(&mut fixture);
        readback::check_reads(&mut fixture);
        if thorough {
            lookups::check_batches(&mut fixture);
            lookups::check_threads(&fixture, config);
            messages::check(&mut fixture, config);
            state::check(&mut fixture, config);
            lifecycle::check(&mut fixture, config);
        }
    }
}

/// Everything that holds the scheme to its own description before any query.
fn check_description(fixture: &Fixture<'_>) {
    let Fixture { scheme, shape, goal, server, client, .. } = fixture;
    let description = server.describe();
    assert_eq!(scheme.plan(*shape, *goal).expect("a plan"), description, "plan and prepared database differ");
    assert_eq!(client.describe(), description, "client and server differ");
    assert_eq!(client.version(), server.version());
    assert_eq!((description.shape, description.scheme), (*shape, scheme.name()));
    assert_eq!(description.privacy, scheme.privacy());
    let limits = description.limits;
    assert!(shape.records() <= limits.records && shape.record_bits() <= limits.record_bits);
    assert!(limits.batch >= 1);
    let public = server.public().len() as u64;
    assert_eq!(description.sizes.public, public, "{shape:?}: public part's length");
    assert!(description.sizes.hint <= public);
    assert!(description.failure_log2 <= -40.0, "{shape:?}: failure {}", description.failure_log2);
    if description.privacy == Privacy::Private {
        let security = description.security.expect("a private scheme states its security");
        assert!(security.bits >= 128.0, "{shape:?}: {} bits", security.bits);
    }
}
