//! Peak rates of the multiply-adds that the database kernels are built from.
//!
//! A kernel that does nothing but these instructions, on data in the first-level cache, would run
//! at these rates. They turn numbers of products into a floor for the time of an answer.

use std::hint::black_box;
use std::time::Instant;

use crate::backend::Backend;

/// Words that the loops read again and again: 8 KiB.
const WORDS: usize = 2048;
/// Repetitions of a timed loop: some milliseconds in all.
const ROUNDS: usize = 8192;
/// Timed loops, of which the fastest counts.
const TRIALS: usize = 5;

/// Rates of one core in bytes of a matrix per second.
#[derive(Clone, Copy, Debug)]
pub struct Peak {
    /// A matrix of 16-bit words, or of bytes, times a query of four planes.
    pub select: f64,
    /// A matrix of 32-bit words times a vector of 52-bit values.
    pub matrix: f64,
}

impl Peak {
    /// Measures the rates of a backend on the current thread, which takes some tens of
    /// milliseconds.
    pub fn measure(backend: Backend) -> Self {
        Self {
            select: rate(|words| dispatch!(backend, peak::products(words))),
            matrix: rate(|words| dispatch!(backend, peak::wide_products(words))),
        }
    }
}

/// Bytes per second of a loop over words.
fn rate(work: impl Fn(&[i32; WORDS]) -> i64) -> f64 {
    let words = black_box([0x0123_4567; WORDS]);
    let mut least = f64::INFINITY;

    for _ in 0..TRIALS {
        let start = Instant::now();
        for _ in 0..ROUNDS {
            black_box(work(black_box(&words)));
        }
        // Interrupts and other programs only slow a trial down, so the fastest one is the closest.
        least = least.min(start.elapsed().as_secs_f64());
    }

    (ROUNDS * size_of_val(&words)) as f64 / least
}
