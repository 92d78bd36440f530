//! Prints the time of wide modular arithmetic on each backend, in µs an element: the
//! median and the least of many calls.
//!
//! `cargo run --release -p papir-kernels --example bigint_mod_times [NAME]` limits what is
//! measured to names that contain NAME.

use std::time::Instant;

use papir_kernels::Backend;
use papir_kernels::bigint_mod::{Modulus, ModulusError};

/// Elements of a batch.
const COUNT: usize = 256;
/// Entries of a table of products over the subsets of eight.
const TABLE: usize = 256;
/// Bases of a batch of powers.
const BASES: usize = 64;

fn main() -> Result<(), ModulusError> {
    let wanted = std::env::args().nth(1).unwrap_or_default();
    let timer = Timer { wanted };
    println!("{:>28} {:>9} {:>10} {:>10}", "operation", "backend", "median", "least");
    for backend in Backend::available() {
        let squared = Modulus::of_square_with(backend, &numbers(48))?;
        products(&timer, "6144 bits, square", &squared);
        products(&timer, "6144 bits", &Modulus::new_with(backend, &numbers(96))?);
        products(&timer, "3072 bits, square", &Modulus::of_square_with(backend, &numbers(24))?);
        products(&timer, "3072 bits", &Modulus::new_with(backend, &numbers(48))?);
        powers(&timer, "3072 bits, square", &Modulus::of_square_with(backend, &numbers(24))?);
        powers(&timer, "3072 bits", &Modulus::new_with(backend, &numbers(48))?);
        powers(&timer, "1536 bits", &Modulus::new_with(backend, &numbers(24))?);
    }
    Ok(())
}

/// Runs and prints one measurement after the other.
struct Timer {
    wanted: String,
}

impl Timer {
    /// The time of a call, over up to a second of calls, for each of `count` elements.
    fn time(&self, name: &str, modulus: &Modulus, count: usize, mut call: impl FnMut()) {
        if !name.contains(&self.wanted) {
            return;
        }
        call();
        let once = elapsed(&mut call);
        let runs = (0.5 / once.max(1e-9)).clamp(5.0, 2000.0) as usize;
        let mut times: Vec<f64> = (0..runs).map(|_| elapsed(&mut call)).collect();
        times.sort_by(f64::total_cmp);
        let [median, least] = [times[runs / 2], times[0]].map(|time| time * 1e6 / count as f64);
        println!("{name:>28} {:>9} {median:>10.3} {least:>10.3}", modulus.backend());
    }
}

/// Seconds of a call.
fn elapsed(call: &mut impl FnMut()) -> f64 {
    let start = Instant::now();
    call();
    start.elapsed().as_secs_f64()
}

/// Words that look random enough, the first odd and the last with its highest bit set.
fn numbers(count: usize) -> Vec<u64> {
    let mixed = (1..=count as u64).map(|k| k.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ k << 23);
    let mut words: Vec<u64> = mixed.map(|word| word ^ word >> 31).collect();
    words[0] |= 1;
    words[count - 1] |= 1 << 63;
    words
}

/// Different elements.
fn elements(modulus: &Modulus, count: usize) -> Vec<u64> {
    let mut elements = vec![0; count * modulus.limbs()];
    modulus.enter(&numbers(count * modulus.words()), modulus.words(), &mut elements);
    elements
}

fn products(timer: &Timer, name: &str, modulus: &Modulus) {
    let time = |operation: &str, call: &mut dyn FnMut()| {
        timer.time(&format!("{operation} {name}"), modulus, COUNT, call);
    };
    let (mut acc, by) = (elements(modulus, COUNT), elements(modulus, TABLE));
    time("multiply", &mut || modulus.multiply(&mut acc, &by));
    let indices: Vec<u32> = (0..COUNT as u32).map(|k| k * 77 % TABLE as u32).collect();
    time("selected", &mut || modulus.multiply_selected(&mut acc, &by, &indices));
    time("square", &mut || modulus.square(&mut acc));
    time("16 squares", &mut || modulus.square_repeatedly(&mut acc, 16));
    let one = &mut acc[..modulus.limbs()];
    timer.time(&format!("one square {name}"), modulus, 100, || modulus.square_repeatedly(one, 100));
    let mut integers = vec![0; COUNT * modulus.words()];
    time("leave", &mut || modulus.leave(&acc, &mut integers));
    time("enter", &mut || modulus.enter(&integers, modulus.words(), &mut acc));
}

fn powers(timer: &Timer, name: &str, modulus: &Modulus) {
    let mut bases = elements(modulus, BASES);
    let exponent = numbers(24);
    timer.time(&format!("power {name}"), modulus, BASES, || modulus.power(&mut bases, &exponent, 1536));
}
