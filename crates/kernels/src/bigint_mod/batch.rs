//! Operations on batches of elements, over the engine of any backend.

use bytemuck::Pod;
use zeroize::Zeroizing;

use super::engine::{Engine, Group};
use super::field::Field;
use super::{integer, radix};
use crate::backend::Backend;
use crate::stream;

/// Bits of the exponent per multiplication.
const WINDOW: usize = 4;
/// Elements that are converted at a time.
const BLOCK: usize = 64;

/// Loads at least one and at most `LANES` elements; the other lanes repeat the last one.
fn load<'a, E: Engine<N>, const N: usize>(
    engine: &E,
    group: &mut Group<E::Limb>,
    count: usize,
    element: impl Fn(usize) -> &'a [u64],
) {
    engine.load(
        group,
        std::array::from_fn(|lane| element(lane.min(count - 1))),
    );
}

/// Loads a run of at least one and at most `LANES` elements.
fn load_run<E: Engine<N>, const N: usize>(engine: &E, group: &mut Group<E::Limb>, run: &[u64]) {
    let limbs = engine.field().element_limbs();
    load(engine, group, run.len() / limbs, |e| {
        &run[e * limbs..][..limbs]
    });
}

/// `acc[e] *= factor(e)`.
pub(super) fn multiply<'a, E: Engine<N>, const N: usize>(
    engine: &mut E,
    acc: &mut [u64],
    factor: impl Fn(usize) -> &'a [u64],
) {
    let limbs = engine.field().element_limbs();
    let count = acc.len() / limbs;
    let [mut x, mut y] = [(); 2].map(|()| Group::zero(limbs));

    let mut rest = acc;
    let mut first = 0;
    while !rest.is_empty() {
        let (run, after) = rest.split_at_mut(rest.len().min(N * limbs));
        load_run(engine, &mut x, run);
        load(engine, &mut y, count - first, |e| factor(first + e));
        first += N;

        // The next operands arrive during the multiplication.
        stream::prefetch_words(&after[..after.len().min(N * limbs)]);
        (first..count)
            .take(N)
            .for_each(|e| stream::prefetch_words(factor(e)));

        engine.multiply(&mut x, &y.0);
        engine.store(&x, run);
        rest = after;
    }
}

/// `acc[e] = acc[e]^(2^times)`.
pub(super) fn square<E: Engine<N>, const N: usize>(engine: &mut E, acc: &mut [u64], times: usize) {
    let limbs = engine.field().element_limbs();
    let mut x = Group::zero(limbs);
    for run in acc.chunks_mut(N * limbs) {
        load_run(engine, &mut x, run);
        for _ in 0..times {
            engine.square(&mut x);
        }
        engine.store(&x, run);
    }
}

/// `bases[e] = bases[e]^exponent` by fixed windows, the highest first (Handbook of Applied
/// Cryptography, Algorithm 14.82). Each lookup reads the whole table, since the exponent may be
/// secret.
pub(super) fn power<E: Engine<N>, const N: usize>(
    engine: &mut E,
    bases: &mut [u64],
    exponent: &[u64],
    bits: usize,
) {
    let limbs = engine.field().element_limbs();
    let windows = bits.div_ceil(WINDOW);
    let [mut x, mut factor] = [(); 2].map(|()| Group::zero(limbs));
    let mut table = Group::zero(limbs << WINDOW);

    for run in bases.chunks_mut(N * limbs) {
        load_run(engine, &mut x, run);
        fill_table(engine, &mut table, &x);

        for k in (0..windows).rev() {
            // The highest window replaces the base: nothing has to be squared before it.
            if k + 1 == windows {
                select(
                    engine.backend(),
                    &mut x.0,
                    &table.0,
                    window(exponent, bits, k),
                );
                continue;
            }

            for _ in 0..WINDOW {
                engine.square(&mut x);
            }
            select(
                engine.backend(),
                &mut factor.0,
                &table.0,
                window(exponent, bits, k),
            );
            engine.multiply(&mut x, &factor.0);
        }

        // An exponent without bits has selected no power. The first entry of the table is one.
        if windows == 0 {
            x.0.copy_from_slice(&table.0[..limbs]);
        }
        engine.store(&x, run);
    }
}

/// Writes the powers 0 to 2^WINDOW − 1 of x.
fn fill_table<E: Engine<N>, const N: usize>(
    engine: &mut E,
    table: &mut Group<E::Limb>,
    x: &Group<E::Limb>,
) {
    let limbs = x.0.len();
    let mut power = Group::zero(limbs);
    // A single element fills all lanes.
    load(engine, &mut power, 1, |_| engine.field().one());
    for entry in table.0.chunks_exact_mut(limbs) {
        entry.copy_from_slice(&power.0);
        engine.multiply(&mut power, &x.0);
    }
}

/// Window k of the lowest `bits` bits of the exponent.
fn window(exponent: &[u64], bits: usize, k: usize) -> u64 {
    (k * WINDOW..((k + 1) * WINDOW).min(bits))
        .rev()
        .fold(0, |window, bit| {
            window << 1 | exponent[bit / 64] >> (bit % 64) & 1
        })
}

/// Copies entry `index` of the table; reads every entry.
fn select<L: Pod>(backend: Backend, out: &mut [L], table: &[L], index: u64) {
    vectorise!(fn select(out: &mut [u64], table: &[u64], index: u64) in bigint_mod);
    select(
        backend,
        bytemuck::cast_slice_mut(out),
        bytemuck::cast_slice(table),
        index,
    );
}

/// Converts integers of `words` words each to elements.
pub(super) fn enter<E: Engine<N>, const N: usize>(
    engine: &mut E,
    integers: &[u64],
    words: usize,
    elements: &mut [u64],
) {
    let limbs = engine.field().element_limbs();
    let blocks = elements
        .chunks_mut(BLOCK * limbs)
        .zip(integers.chunks(BLOCK * words));
    for (elements, integers) in blocks {
        enter_block(engine, integers, words, elements);
    }
}

/// Horner's rule over pieces that fit a digit, the highest first.
///
/// The digits of a sum are below 4 roots: R has spare bits, so the next multiplication still
/// reduces them below 2 roots.
fn enter_block<E: Engine<N>, const N: usize>(
    engine: &mut E,
    integers: &[u64],
    words: usize,
    elements: &mut [u64],
) {
    // These are copies, since `multiply` borrows the engine that holds the constants.
    let [entry, step, one] = {
        let field = engine.field();
        [field.entry(), field.step(), field.one()].map(|constant| Zeroizing::new(constant.to_vec()))
    };

    let piece_words = engine.field().piece_words();
    let pieces = words.div_ceil(piece_words);
    let mut piece = Zeroizing::new(vec![0; elements.len()]);
    elements.fill(0);

    for k in (0..pieces).rev() {
        if k + 1 < pieces {
            multiply(engine, elements, |_| &step);
        }
        // A piece fits a digit but may exceed the root: its product with R² is reduced all the
        // same.
        split_pieces(engine.field(), integers, words, k * piece_words, &mut piece);
        multiply(engine, &mut piece, |_| &entry);
        add_digits(engine.field(), elements, &piece);
    }

    // Brings the digits of the last sum below 2 roots.
    if pieces > 1 {
        multiply(engine, elements, |_| &one);
    }
}

/// Writes the piece of each integer that starts at word `from` as the low digit of an element.
fn split_pieces(field: &Field, integers: &[u64], words: usize, from: usize, pieces: &mut [u64]) {
    pieces.fill(0);
    let elements = pieces.chunks_exact_mut(field.element_limbs());
    for (element, integer) in elements.zip(integers.chunks_exact(words)) {
        let piece = &integer[from..words.min(from + field.piece_words())];
        radix::split(piece, field.limb_bits(), &mut element[..field.limbs()]);
    }
}

/// Adds elements digit by digit, without a reduction.
fn add_digits(field: &Field, acc: &mut [u64], by: &[u64]) {
    let limbs = field.limbs();
    for (acc, by) in acc.chunks_exact_mut(limbs).zip(by.chunks_exact(limbs)) {
        radix::add(acc, by, field.limb_bits());
    }
}

/// Converts elements to integers below the modulus.
pub(super) fn leave<E: Engine<N>, const N: usize>(
    engine: &mut E,
    elements: &[u64],
    integers: &mut [u64],
) {
    let limbs = engine.field().element_limbs();
    let words = engine.field().modulus().len();
    let mut sum = Zeroizing::new(vec![0; 2 * engine.field().root().len()]);

    let blocks = elements
        .chunks(BLOCK * limbs)
        .zip(integers.chunks_mut(BLOCK * words));
    for (elements, integers) in blocks {
        let digits = plain_digits(engine, elements);
        let field = engine.field();
        let root_words = field.root().len();
        let values = digits.chunks_exact(field.parts() * root_words);

        for (integer, digits) in integers.chunks_exact_mut(words).zip(values) {
            // An ordinary modulus has one digit: `high` is empty, and the product adds nothing.
            let (low, high) = digits.split_at(root_words);
            sum.fill(0);
            sum[..root_words].copy_from_slice(low);
            integer::add_product(&mut sum, high, field.root());
            integer.copy_from_slice(&sum[..words]);
        }
    }
}

/// Converts elements to their digits to the base root.
pub(super) fn leave_digits<E: Engine<N>, const N: usize>(
    engine: &mut E,
    elements: &[u64],
    low: &mut [u64],
    high: &mut [u64],
) {
    let limbs = engine.field().element_limbs();
    let words = engine.field().root().len();
    let outs = low
        .chunks_mut(BLOCK * words)
        .zip(high.chunks_mut(BLOCK * words));

    for (elements, (low, high)) in elements.chunks(BLOCK * limbs).zip(outs) {
        let digits = plain_digits(engine, elements);
        let outs = low
            .chunks_exact_mut(words)
            .zip(high.chunks_exact_mut(words));
        for ((low, high), digits) in outs.zip(digits.chunks_exact(2 * words)) {
            low.copy_from_slice(&digits[..words]);
            high.copy_from_slice(&digits[words..]);
        }
    }
}

/// The digits of elements, below the root, in words.
///
/// Multiplication by the plain number 1 divides by R and leaves a digit of at most the root itself,
/// so that one subtraction suffices.
fn plain_digits<E: Engine<N>, const N: usize>(
    engine: &mut E,
    elements: &[u64],
) -> Zeroizing<Vec<u64>> {
    let mut unit = vec![0; engine.field().element_limbs()];
    unit[0] = 1;
    let mut plain = Zeroizing::new(elements.to_vec());
    multiply(engine, &mut plain, |_| &unit);

    let field = engine.field();
    let words = field.root().len();
    let mut digits = Zeroizing::new(vec![0; plain.len() / field.limbs() * words]);
    let values = digits.chunks_exact_mut(field.parts() * words);

    for (digits, limbs) in values.zip(plain.chunks_exact(field.element_limbs())) {
        let digits = digits
            .chunks_exact_mut(words)
            .zip(limbs.chunks_exact(field.limbs()));
        // A low digit that equals the root becomes zero and carries one into the high digit.
        digits.fold(0, |carry, (digit, limbs)| {
            radix::join(limbs, field.limb_bits(), digit);
            let top = integer::add_bit(digit, carry);
            integer::subtract_once(digit, top, field.root())
        });
    }

    digits
}
