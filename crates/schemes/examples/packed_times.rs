//! Times of YPIR, InsPIRe₀ and SimpleYPIR, stage by stage: `packed_times SCHEME LOG2_BYTES GOAL`.
#![allow(clippy::unwrap_used)]

use std::time::Instant;

use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use papir_core::scheme::{Client as _, Goal, Parameters, Server as _};
use papir_core::{Progress, RecordBuffer, Shape};
use papir_schemes::double::packed::{Client, Params, Server, Variant};
use papir_schemes::{inspire0, simpleypir, ypir};

fn lap<T>(name: &str, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = work();
    println!("  {name:12} {:9.2} ms", start.elapsed().as_secs_f64() * 1e3);
    result
}

/// Prints when stages begin.
struct Stages(Instant);

impl Progress for Stages {
    fn stage(&self, name: &str, steps: u64) {
        println!("    {:9.2} ms: {name}, {steps} steps", self.0.elapsed().as_secs_f64() * 1e3);
    }

    fn advance(&self, _steps: u64) {}
}

/// Reads of the bytes with several streams, the best of a few.
fn read_ms(bytes: &[u8]) -> f64 {
    let words: &[u64] = bytemuck::cast_slice(bytes);
    let once = || {
        let start = Instant::now();
        let streams: Vec<&[u64]> = words.chunks_exact(words.len() / 8).collect();
        let mut sums = [[0u64; 8]; 8];
        for i in (0..streams[0].len() - 7).step_by(8) {
            for (sums, stream) in sums.iter_mut().zip(&streams) {
                for (sum, word) in sums.iter_mut().zip(&stream[i..i + 8]) {
                    *sum = sum.wrapping_add(*word);
                }
            }
        }
        std::hint::black_box(sums);
        start.elapsed().as_secs_f64() * 1e3
    };
    (0..5).map(|_| once()).fold(f64::INFINITY, f64::min)
}

fn packed<V: Variant>(records: &RecordBuffer, params: Params<V>) {
    println!("{} {}: {:?}", V::NAME, params.label(), params.describe().sizes);
    let mut rng = ChaCha20Rng::from_seed([1; 32]);
    let server = lap("setup", || Server::<V>::setup(params, records, &mut rng, &Stages(Instant::now())).unwrap());
    let client = Client::new(server.params().clone(), *server.public()).unwrap();
    for index in (0..7).map(|i| 5 + i * 77_777) {
        let (secret, query) = lap("query", || client.query(None, &[index], &mut rng).unwrap());
        let start = Instant::now();
        let firsts = lap("first", || server.first_level(&[&query]));
        let key = lap("read_key", || server.read_key(&query).unwrap());
        let selected = lap("second", || server.second_level(&[&query], &firsts));
        let packed = lap("pack", || server.pack(selected, &[&key]).unwrap());
        let answer = lap("round", || server.round(&packed[0]));
        println!("  answer       {:9.2} ms", start.elapsed().as_secs_f64() * 1e3);
        let found = lap("extract", || client.extract(secret, answer).unwrap());
        assert_eq!(found, [records.get(index).unwrap()]);
    }
}

fn simple(records: &RecordBuffer, params: simpleypir::Params) {
    println!("simpleypir {}: {:?}", params.label(), params.describe().sizes);
    let mut rng = ChaCha20Rng::from_seed([1; 32]);
    let server =
        lap("setup", || simpleypir::Server::setup(params, records, &mut rng, &Stages(Instant::now())).unwrap());
    let client = simpleypir::Client::new(server.params().clone(), *server.public()).unwrap();
    for index in (0..7).map(|i| 5 + i * 77_777) {
        let (secret, query) = lap("query", || client.query(None, &[index], &mut rng).unwrap());
        let start = Instant::now();
        let selected = lap("select", || server.select(&[&query]));
        let key = lap("read_key", || server.read_key(&query).unwrap());
        let packed = lap("pack", || server.pack(selected, &[&key]).unwrap());
        let answer = lap("round", || server.round(&packed[0]));
        println!("  answer       {:9.2} ms", start.elapsed().as_secs_f64() * 1e3);
        let found = lap("extract", || client.extract(secret, answer).unwrap());
        assert_eq!(found, [records.get(index).unwrap()]);
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (scheme, log2_bytes) = (arguments[0].as_str(), arguments[1].parse::<u32>().unwrap());
    let goal: Goal = arguments[2].parse().unwrap();
    let shape = Shape::new(8 << log2_bytes, 1).unwrap();
    let mut records = RecordBuffer::zeroed(shape);
    ChaCha20Rng::from_seed([9; 32]).fill_bytes(records.packed_mut());
    println!("one read {:.2} ms", read_ms(records.packed()));
    match scheme {
        "ypir" => packed(&records, lap("choose", || ypir::Params::choose(shape, goal).unwrap())),
        "inspire0" => packed(&records, lap("choose", || inspire0::Params::choose(shape, goal).unwrap())),
        _ => simple(&records, lap("choose", || simpleypir::Params::choose(shape, goal).unwrap())),
    }
}
