//! Tables of f modulo a small prime.
//!
//! For each (x₁, …, x_j), a table holds the coefficients of the remaining polynomial, contiguously.
//! Tables are made by fixing one variable at a time, so that common prefixes share work. This takes
//! a few nanoseconds for each entry. An entry has one byte if the prime is below 2⁸, otherwise two.

use papir_core::scratch::{Scratch, find_or_make};
use papir_core::{Blob, Error, Progress, Result};
use papir_kernels::{Backend, small_prime};

use crate::depir::simplex::{Simplex, for_each_row, terms};

/// Bound above the bytes of a table.
const MAX_BYTES: u64 = 1 << 40;

/// The table of one prime. It is empty if no variable is tabulated.
#[derive(Debug)]
pub struct Table {
    layout: Layout,
    entries: Option<Blob>,
}

/// Order of the entries of a table: a row for each (x₁, …, x_j) in lexicographic order.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Small prime p.
    pub prime: u32,
    /// j, the number of tabulated variables.
    pub tabulated: usize,
    /// Number of values of x₁: p, or D + 1 if that is less and x₁ is only 0, 1, …, D.
    first: u32,
    /// Number of entries in a row, the coefficients of the remaining polynomial.
    row: usize,
}

impl Layout {
    /// Creates the layout of the table of `prime`. With `Some`, x₁ is at most `first`; with `None`,
    /// it is any residue.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] for more tabulated variables than there are, or a table of 2⁴⁰ bytes
    /// or more.
    pub fn new(simplex: Simplex, prime: u32, tabulated: usize, first: Option<u32>) -> Result<Self> {
        let Simplex { variables, degree } = simplex;
        if tabulated > variables {
            let found = tabulated as u64;
            let expected = format!("at most {variables}");
            return Err(Error::out_of_bounds(
                "the number of tabulated variables",
                found,
                expected,
            ));
        }

        let first = first.map_or(prime, |last| prime.min(last + 1));
        let layout = Self {
            prime,
            tabulated,
            first,
            row: terms(variables - tabulated, degree),
        };
        if layout.bytes().is_none_or(|bytes| bytes >= MAX_BYTES) {
            let expected = "one whose table has less than 2^40 bytes";
            return Err(Error::out_of_bounds(
                "the prime of a table",
                prime.into(),
                expected,
            ));
        }

        Ok(layout)
    }

    /// Returns the bytes of an entry, 1 or 2.
    pub fn width(&self) -> usize {
        if self.prime < 1 << 8 { 1 } else { 2 }
    }

    /// Returns the bytes of the table, or `None` if the number overflows.
    pub fn bytes(&self) -> Option<u64> {
        let Some(others) = self.tabulated.checked_sub(1) else {
            return Some(0);
        };
        let rows = u64::from(self.prime)
            .checked_pow(others as u32)?
            .checked_mul(self.first.into())?;
        rows.checked_mul((self.row * self.width()) as u64)
    }

    /// Returns the bytes of the part of the table for one prefix of `shared` coordinates.
    pub(super) fn part_bytes(&self, shared: usize) -> u64 {
        let first = if shared == 0 { self.first } else { 1 };
        let others = self.tabulated.saturating_sub(shared.max(1)) as u32;
        let rows = u64::from(self.prime)
            .saturating_pow(others)
            .saturating_mul(first.into());
        rows.saturating_mul((self.row * self.width()) as u64)
    }

    /// Returns the place of the part for a prefix, in units of the part's length.
    fn place(&self, prefix: &[u16]) -> usize {
        prefix
            .iter()
            // The first coordinate leads, so that its smaller range changes no factor.
            .fold(0, |place, &x| place * self.prime as usize + usize::from(x))
    }

    /// Returns the number of values of the coordinate after `done` others.
    fn values(&self, done: usize) -> u32 {
        if done == 0 { self.first } else { self.prime }
    }
}

impl Table {
    /// Creates the table from these bytes, which must have the length that the layout gives. `None`
    /// stands for no bytes.
    ///
    /// # Errors
    /// [`Error::Length`] for bytes of another length.
    pub fn new(layout: Layout, entries: Option<Blob>) -> Result<Self> {
        let found = entries.as_ref().map_or(0, |entries| entries.len());
        Error::check_length(
            "a table of depir",
            found,
            layout.bytes().unwrap_or(0) as usize,
        )?;
        Ok(Self { layout, entries })
    }

    /// Finds the table's bytes in `scratch`, or makes them and keeps them there. Returns `None` for
    /// an empty table.
    ///
    /// # Errors
    /// The errors of `scratch`.
    pub fn find_or_make(
        simplex: Simplex,
        layout: &Layout,
        coefficients: &[u16],
        scratch: &mut dyn Scratch,
        progress: &dyn Progress,
    ) -> Result<Option<Blob>> {
        let Some(bytes) = layout.bytes().filter(|&bytes| bytes > 0) else {
            return Ok(None);
        };

        let name = name(simplex, layout, coefficients);
        let fill = Fill {
            backend: Backend::current(),
            layout: *layout,
            powers: Powers::new(layout.prime, simplex.degree),
        };

        let entries = find_or_make(scratch, &name, bytes as usize, progress, |entries| {
            fill.rows(simplex, coefficients, 0, &mut entries.bytes_mut());
            Ok(())
        });
        entries.map(Some)
    }

    /// Returns j, the number of tabulated variables.
    pub(super) fn tabulated(&self) -> usize {
        self.layout.tabulated
    }

    /// Returns the order of the entries.
    pub(super) fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Returns the bytes, or `None` for an empty table.
    pub fn entries(&self) -> Option<&Blob> {
        self.entries.as_ref()
    }

    /// Reads the row of a prefix of j coordinates into `out`.
    pub(super) fn read(&self, prefix: &[u16], out: &mut [u16]) {
        let Some(entries) = &self.entries else { return };
        let bytes = out.len() * self.layout.width();
        let bytes = &entries[self.layout.place(prefix) * bytes..][..bytes];

        if self.layout.width() == 1 {
            out.iter_mut()
                .zip(bytes)
                .for_each(|(out, &byte)| *out = byte.into());
        } else {
            let pairs = bytes.as_chunks::<2>().0;
            out.iter_mut()
                .zip(pairs)
                .for_each(|(out, &pair)| *out = u16::from_le_bytes(pair));
        }
    }

    /// Reads values of a table of all variables. Each point is a pair of its number and the index
    /// of its other coordinates in the part of `prefix`; its value is written to `values[number]`.
    pub(super) fn look_up<'a>(
        &self,
        prefix: &[u16],
        points: impl Iterator<Item = (&'a u32, &'a u32)>,
        values: &mut [u16],
    ) {
        let Some(entries) = &self.entries else { return };
        let length = self.layout.part_bytes(prefix.len()) as usize;
        let part = &entries[self.layout.place(prefix) * length..][..length];

        if self.layout.width() == 1 {
            points
                .for_each(|(&point, &index)| values[point as usize] = part[index as usize].into());
        } else {
            let pairs = part.as_chunks::<2>().0;
            points.for_each(|(&point, &index)| {
                values[point as usize] = u16::from_le_bytes(pairs[index as usize]);
            });
        }
    }
}

/// Computation of a table's entries.
struct Fill {
    backend: Backend,
    layout: Layout,
    powers: Powers,
}

impl Fill {
    /// Writes the rows of all prefixes that continue `done` fixed coordinates. `coefficients` is
    /// the polynomial that these coordinates leave.
    fn rows(&self, simplex: Simplex, coefficients: &[u16], done: usize, out: &mut &mut [u8]) {
        if done == self.layout.tabulated {
            return self.write(coefficients, out);
        }

        let count = self.layout.values(done);
        let rest = Simplex {
            variables: simplex.variables - 1,
            ..simplex
        };
        if rest.variables == 0 {
            return self.values(coefficients, count as usize, out);
        }

        let mut contracted = vec![0; simplex.rest()];
        for x in 0..count {
            contract(
                simplex,
                coefficients,
                self.powers.of(x),
                self.layout.prime,
                &mut contracted,
            );
            self.rows(rest, &contracted, done + 1, out);
        }
    }

    /// Writes the values of a polynomial in one variable at 0, 1, ….
    fn values(&self, coefficients: &[u16], count: usize, out: &mut &mut [u8]) {
        let prime = self.layout.prime;
        // One product with the powers gives the values at all residues, of which the first
        // coordinate may need fewer.
        let mut values = vec![0; prime as usize];
        small_prime::combine(
            self.backend,
            &mut values,
            coefficients,
            &self.powers.by_exponent,
            prime,
        );
        self.write(&values[..count], out);
    }

    /// Writes entries of one or two bytes.
    fn write(&self, words: &[u16], out: &mut &mut [u8]) {
        let (row, rest) = std::mem::take(out).split_at_mut(words.len() * self.layout.width());

        if self.layout.width() == 1 {
            row.iter_mut()
                .zip(words)
                .for_each(|(byte, &word)| *byte = word as u8);
        } else {
            let (pairs, _) = row.as_chunks_mut::<2>();
            pairs
                .iter_mut()
                .zip(words)
                .for_each(|(pair, word)| *pair = word.to_le_bytes());
        }

        *out = rest;
    }
}

/// Returns the name under which a table is kept. It depends on the polynomial and the layout.
fn name(simplex: Simplex, layout: &Layout, coefficients: &[u16]) -> String {
    let mut hasher = blake3::Hasher::new_derive_key("papir 2026 depir table v2");

    // The prime and the number of tabulated variables are in the name as they are.
    let numbers = [simplex.variables, simplex.degree, layout.first as usize];
    numbers.iter().for_each(|&number| {
        hasher.update(&(number as u64).to_le_bytes());
    });
    coefficients.iter().for_each(|word| {
        hasher.update(&word.to_le_bytes());
    });

    format!(
        "{}-{}-{}",
        &hasher.finalize().to_hex()[..32],
        layout.prime,
        layout.tabulated
    )
}

/// Powers of all residues modulo a small prime.
pub(super) struct Powers {
    rows: usize,
    /// The powers 1, x, …, x^D for each x in turn.
    by_residue: Vec<u16>,
    /// The powers x^i of all x, for each i in turn.
    by_exponent: Vec<u16>,
}

impl Powers {
    pub(super) fn new(prime: u32, degree: usize) -> Self {
        let rows = degree + 1;
        let count = prime as usize;

        let mut by_residue = vec![1; rows * count];
        let mut by_exponent = vec![1; rows * count];
        for x in 0..count {
            for i in 1..rows {
                let power = u32::from(by_residue[x * rows + i - 1]) * x as u32 % prime;
                by_residue[x * rows + i] = power as u16;
                by_exponent[i * count + x] = power as u16;
            }
        }

        Self {
            rows,
            by_residue,
            by_exponent,
        }
    }

    /// Returns the powers 1, x, …, x^D.
    pub(super) fn of(&self, x: u32) -> &[u16] {
        &self.by_residue[x as usize * self.rows..][..self.rows]
    }
}

/// Computes f(x, ·), a polynomial in one variable fewer, from the powers of x. Products of residues
/// below 2¹⁰ and sums of 39 of them fit 32 bits.
pub(super) fn contract(
    simplex: Simplex,
    coefficients: &[u16],
    powers: &[u16],
    prime: u32,
    out: &mut [u16],
) {
    let Simplex { variables, degree } = simplex;
    let mut sums = vec![0u32; out.len()];
    let mut start = 0;

    // Powers may be those of a higher degree.
    for (exponent, &power) in powers.iter().enumerate().take(degree + 1) {
        for_each_row(
            variables - 1,
            degree - exponent,
            degree,
            &mut |from, to, length| {
                let row = &coefficients[start + from..][..length];
                for (sum, &coefficient) in sums[to..][..length].iter_mut().zip(row) {
                    *sum += u32::from(power) * u32::from(coefficient);
                }
            },
        );
        start += terms(variables - 1, degree - exponent);
    }

    out.iter_mut()
        .zip(sums)
        .for_each(|(out, sum)| *out = (sum % prime) as u16);
}
