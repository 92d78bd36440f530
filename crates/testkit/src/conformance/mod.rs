//! Conformance suite for every scheme.
//!
//! | file | checks |
//! |---|---|
//! | `lookups` | every index class, batches, threads, retries; lengths against the description |
//! | `messages` | damaged, foreign and random messages: typed errors, never a panic |
//! | `lifecycle` | save and load, damaged sections, updates and versions |
//! | `state` | client keys and client state: saved, loaded, damaged, missing |
//! | `readback` | records read back from a prepared database |
//! | `shards` | answers combined from ranges of a database: equal to its own |
//! | `devices` | answers with a device's products: equal to the CPU's |

mod config;
mod devices;
mod fixture;
mod lifecycle;
mod lookups;
mod messages;
mod readback;
mod shards;
mod state;

use chacha20::ChaCha20Rng;
use papir_core::device::Device;
use papir_core::erased::ErasedScheme;
use papir_core::{Privacy, Target};
use rand_core::SeedableRng;

pub use config::{ConformanceConfig, shapes};
use fixture::Fixture;

/// Runs the whole suite on one scheme.
///
/// # Panics
/// If a check fails, with the shape and the reason.
pub fn run(scheme: &dyn ErasedScheme, config: &ConformanceConfig) {
    let all = config.shapes.iter().map(|shape| (*shape, false));
    let all = all.chain(config.thorough.iter().map(|shape| (*shape, true)));
    for (i, (shape, thorough)) in all.enumerate() {
        let target = Target {
            goal: config.goals[i % config.goals.len()],
            failure: config.failure,
        };

        let mut fixture = Fixture::new(scheme, shape, target, config.seed + i as u64);
        check_description(&fixture);
        lookups::check_indices(&mut fixture, config);
        lookups::check_refusals(&mut fixture);
        readback::check_reads(&mut fixture);
        shards::check(&mut fixture);
        devices::check(&mut fixture);

        if thorough {
            lookups::check_batches(&mut fixture);
            lookups::check_threads(&fixture, config);
            messages::check(&mut fixture, config);
            state::check(&mut fixture, config);
            lifecycle::check(&mut fixture, config);
        }
    }
}

/// Checks that a scheme's answers with the products of a device are those of the CPU, bit for bit.
///
/// # Panics
/// If a check fails, with the shape and the reason.
pub fn run_on_device(scheme: &dyn ErasedScheme, config: &ConformanceConfig, device: &dyn Device) {
    let goals = config.goals.iter().cycle();
    for (i, (&shape, &goal)) in config
        .shapes
        .iter()
        .chain(&config.thorough)
        .zip(goals)
        .enumerate()
    {
        let target = Target {
            goal,
            failure: config.failure,
        };
        let mut fixture = Fixture::new(scheme, shape, target, config.seed + i as u64);
        devices::check_answers(&mut fixture, device);
    }
}

/// Checks the scheme's description before any query.
fn check_description(fixture: &Fixture<'_>) {
    let Fixture {
        scheme,
        shape,
        target,
        server,
        client,
        ..
    } = fixture;

    let description = server.describe();
    let planned = scheme
        .candidate_for(*shape, *target)
        .expect("a plan")
        .description;
    assert_eq!(planned, description, "plan and prepared database differ");
    assert_eq!(client.describe(), description, "client and server differ");
    assert_eq!(client.version(), server.version());
    assert_eq!(
        (description.shape, description.scheme),
        (*shape, scheme.name())
    );
    assert_eq!(description.privacy, scheme.properties().privacy);

    let limits = description.limits;
    assert!(shape.records() <= limits.records && shape.record_bits() <= limits.record_bits);
    assert!(limits.batch >= 1);

    let public = server.public().len() as u64;
    assert_eq!(
        description.sizes.public, public,
        "{shape:?}: public part's length"
    );
    assert!(description.sizes.hint <= public);

    let bound = target.failure;
    let failure = description.failure_log2;
    assert!(
        failure <= bound.log2(),
        "{shape:?}: failure {failure}, above {bound}"
    );
    let never = failure == f64::NEG_INFINITY;
    assert!(
        never || description.failure_bound == bound,
        "{shape:?}: {}",
        description.failure_bound
    );

    if description.privacy == Privacy::Private {
        match description.security {
            Some(security) => assert!(security.bits >= 128.0, "{shape:?}: {} bits", security.bits),
            None => check_unconditional_privacy(fixture),
        }
    }
}

/// The queries of a private scheme that encrypts nothing are a function of randomness alone: from
/// the same randomness, every index makes the same query.
fn check_unconditional_privacy(fixture: &Fixture<'_>) {
    let query = |index| {
        let mut rng = ChaCha20Rng::seed_from_u64(fixture.shape.records());
        fixture
            .client
            .query(None, &[index], &mut rng)
            .expect("a query")
            .1
    };
    let last = fixture.shape.records() - 1;
    assert!(
        query(0) == query(last),
        "{:?}: a query depends on its index",
        fixture.shape
    );
}
