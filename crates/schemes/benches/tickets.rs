//! Times of tickets of `zip` that follow a change of few rows, beside the time of a new ticket.
//!
//! `cargo bench -p papir-schemes --bench tickets` prints, for each number of changed rows, the median
//! time of some runs and its ratio to the time that one ciphertext of a new ticket takes in the same
//! run. All changed rows belong to one ciphertext. It runs on one thread.

use std::error::Error;
use std::time::Instant;

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use papir_core::erased::EarlierErasedTicket;
use papir_core::scheme::Choice;
use papir_core::{Change, NoProgress, RecordBuffer, Shape};
use papir_schemes::registry;

const RUNS: u64 = 5;
/// Number of columns of one-byte records. A row of the hint is a record's place in its column.
const COLUMNS: u64 = 32;
/// Number of ciphertexts of a ticket. A new ticket shares its table among them.
const CIPHERTEXTS: u64 = 8;
/// Number of rows in a ciphertext with moduli of 3,072 bits and one key bit in a plaintext.
const ROWS: u64 = 191;

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build()?
        .install(measure)
}

fn measure() -> Result<(), Box<dyn Error + Send + Sync>> {
    let mut rng = ChaCha20Rng::from_seed([1; 32]);
    let scheme = registry::by_name("zip")?;
    let shape = Shape::of_bytes(COLUMNS * ROWS * CIPHERTEXTS, 1)?;
    let records = RecordBuffer::zeroed(shape);
    let candidate = scheme.candidate(shape, Choice::Columns(COLUMNS))?;
    let prepared =
        scheme.setup_candidate(&candidate.parameters, &records, &mut rng, &NoProgress)?;
    let client = scheme.client(&prepared.public())?;
    let (_, keys) = client.require_registered()?.register(&mut rng)?;
    let server = prepared.require_registered()?;
    let keys = server.accept_keys(&keys)?;
    for rows in [1, 8] {
        // The first records of as many rows.
        let changes: Vec<Change> = (0..rows)
            .map(|index| Change {
                index,
                record: vec![7],
            })
            .collect();
        let changed = prepared.update(&changes, &mut rng, &NoProgress)?;
        let changed = changed.require_registered()?;
        let mut follow = Vec::new();
        let mut ratios = Vec::new();
        for number in 0..RUNS {
            let (anew, old) = timed(|| server.ticket(&keys, number, None, &NoProgress));
            let old = old?;
            let earlier = EarlierErasedTicket {
                server,
                ticket: &old,
            };
            let (time, found) = timed(|| changed.ticket(&keys, number, Some(earlier), &NoProgress));
            if found? != changed.ticket(&keys, number, None, &NoProgress)? {
                return Err("another ticket than one made anew".into());
            }
            follow.push(time);
            ratios.push(time * CIPHERTEXTS as f64 / anew);
        }
        println!(
            "{rows} rows: {:.1} ms, {:.3} of a ciphertext",
            1e3 * median(follow),
            median(ratios)
        );
    }
    Ok(())
}

fn timed<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let start = Instant::now();
    let value = work();
    (start.elapsed().as_secs_f64(), value)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
