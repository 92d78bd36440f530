//! Times wide modular arithmetic on each backend, in µs an element: median and least of many calls.
//!
//! `cargo bench -p papir-kernels --bench bigint_mod [NAME]` limits the operations to those whose
//! name contains NAME.

use common::{Bench, median, seconds};
use papir_kernels::Backend;
use papir_kernels::bigint_mod::{Modulus, ModulusError};

mod common;

/// Elements of a batch, timed and in a test.
const COUNT: [usize; 2] = [256, 9];
/// Entries of a table of products over the subsets of eight.
const TABLE: usize = 256;
/// Bases of a batch of powers.
const BASES: [usize; 2] = [64, 2];

fn main() -> Result<(), ModulusError> {
    let Some(mut bench) = Bench::from_args() else {
        return Ok(());
    };
    if bench.timed() {
        println!(
            "{:>28} {:>9} {:>10} {:>10}",
            "operation", "backend", "median", "least"
        );
    }
    // Words of the numbers of 6144, 3072 and 1536 bits.
    let [long, middle, short] = bench.pick([96, 48, 24], [6, 4, 2]);
    for backend in Backend::available() {
        let plain = |words| Modulus::new(backend, &numbers(words));
        let square = |words| Modulus::of_square(backend, &numbers(words));
        products(&mut bench, "6144 bits, square", &square(middle)?);
        products(&mut bench, "6144 bits", &plain(long)?);
        products(&mut bench, "3072 bits, square", &square(short)?);
        products(&mut bench, "3072 bits", &plain(middle)?);
        powers(&mut bench, "3072 bits, square", &square(short)?);
        powers(&mut bench, "3072 bits", &plain(middle)?);
        powers(&mut bench, "1536 bits", &plain(short)?);
    }
    Ok(())
}

/// Prints the time of a call over about half a second of calls, for each of `count` elements; a
/// test calls once.
fn time(bench: &Bench, name: &str, modulus: &Modulus, count: usize, mut call: impl FnMut()) {
    if !bench.selects(name) {
        return;
    }
    call();
    if !bench.timed() {
        return;
    }
    let once = seconds(&mut call);
    let runs = (0.5 / once.max(1e-9)).clamp(5.0, 2000.0) as usize;
    let mut times: Vec<f64> = (0..runs).map(|_| seconds(&mut call)).collect();
    let median = median(&mut times);
    let [median, least] = [median, times[0]].map(|time| time * 1e6 / count as f64);
    println!(
        "{name:>28} {:>9} {median:>10.3} {least:>10.3}",
        modulus.backend()
    );
}

/// Reproducible words that look random, the first odd and the last with its highest bit set.
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
    modulus.enter(
        &numbers(count * modulus.words()),
        modulus.words(),
        &mut elements,
    );
    elements
}

/// The integers of elements. The form of an element differs between backends, its integer does not.
fn integers(modulus: &Modulus, elements: &[u64]) -> Vec<u64> {
    let mut integers = vec![0; elements.len() / modulus.limbs() * modulus.words()];
    modulus.leave(elements, &mut integers);
    integers
}

fn products(bench: &mut Bench, size: &str, modulus: &Modulus) {
    let backend = modulus.backend();
    let count = bench.pick(COUNT[0], COUNT[1]);
    let mut acc = elements(modulus, count);
    let by = elements(modulus, TABLE);
    let factors = &by[..acc.len()];
    let name = format!("multiply {size}");
    time(bench, &name, modulus, count, || {
        modulus.multiply(&mut acc, factors)
    });
    bench.agree(&name, backend, || integers(modulus, &acc));

    let indices: Vec<u32> = (0..count as u32).map(|k| k * 77 % TABLE as u32).collect();
    let name = format!("selected {size}");
    time(bench, &name, modulus, count, || {
        modulus.multiply_selected(&mut acc, &by, &indices)
    });
    bench.agree(&name, backend, || integers(modulus, &acc));

    let name = format!("square {size}");
    time(bench, &name, modulus, count, || modulus.square(&mut acc));
    bench.agree(&name, backend, || integers(modulus, &acc));

    let name = format!("16 squares {size}");
    time(bench, &name, modulus, count, || {
        modulus.square_repeatedly(&mut acc, 16)
    });
    bench.agree(&name, backend, || integers(modulus, &acc));

    let name = format!("one square {size}");
    let one = &mut acc[..modulus.limbs()];
    time(bench, &name, modulus, 100, || {
        modulus.square_repeatedly(one, 100)
    });
    bench.agree(&name, backend, || integers(modulus, &acc));

    let mut left = vec![0; count * modulus.words()];
    let name = format!("leave {size}");
    time(bench, &name, modulus, count, || {
        modulus.leave(&acc, &mut left)
    });
    bench.agree(&name, backend, || &left);

    let name = format!("enter {size}");
    time(bench, &name, modulus, count, || {
        modulus.enter(&left, modulus.words(), &mut acc)
    });
    bench.agree(&name, backend, || integers(modulus, &acc));
}

fn powers(bench: &mut Bench, size: &str, modulus: &Modulus) {
    let count = bench.pick(BASES[0], BASES[1]);
    let mut bases = elements(modulus, count);
    let exponent = numbers(24);
    let bits = bench.pick(1536, 70);
    let name = format!("power {size}");
    time(bench, &name, modulus, count, || {
        modulus.power(&mut bases, &exponent, bits)
    });
    bench.agree(&name, modulus.backend(), || integers(modulus, &bases));
}
