//! Tables of f modulo a small prime.
//!
//! For each (x₁, …, x_j), a table holds the coefficients of the remaining polynomial, contiguously.
//! Tables are made by fixing one variable at a time, so that work for common prefixes is shared: a
//! few nanoseconds for each entry. An entry has one byte below 2⁸, otherwise two.

use papir_core::{AlignedBytes, Blob, Error, Result};
use papir_kernels::pointwise::Modulus;

use crate::depir::simplex::{Simplex, for_each_row, terms};

/// Storage of tables. A table that is found is complete.
pub trait Store {
    /// Finds the table of this key.
    ///
    /// # Errors
    /// Errors of reading.
    fn find(&self, key: &Key) -> Result<Option<Blob>>;

    /// Stores a table.
    ///
    /// # Errors
    /// Errors of writing.
    fn keep(&mut self, key: &Key, table: AlignedBytes) -> Result<Blob>;
}

/// Identity of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    /// The prime.
    pub prime: u32,
    /// Number of tabulated variables.
    pub tabulated: usize,
    /// Bytes of the table.
    pub bytes: u64,
    /// BLAKE3 of the polynomial's coefficients and its simplex.
    pub fingerprint: [u8; 32],
}

/// Tables in memory, never found again.
pub struct Memory;

impl Store for Memory {
    fn find(&self, _key: &Key) -> Result<Option<Blob>> {
        Ok(None)
    }

    fn keep(&mut self, _key: &Key, table: AlignedBytes) -> Result<Blob> {
        Ok(table.into())
    }
}

/// The table of one prime; empty if no variable is tabulated.
pub struct Table {
    /// Number of tabulated variables.
    pub(super) tabulated: usize,
    prime: u32,
    /// Entries of a prefix.
    row: usize,
    entries: Option<Blob>,
}

impl Table {
    /// Reads the table from the store, or makes and stores it.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] for more tabulated variables than there are, or a table of 2⁴⁰ bytes
    /// or more.
    pub fn find_or_make(
        simplex: Simplex,
        modulus: Modulus,
        coefficients: &[u16],
        tabulated: usize,
        store: &mut dyn Store,
    ) -> Result<Self> {
        let prime = modulus.value();
        if tabulated > simplex.variables {
            let (found, expected) = (tabulated as u64, format!("at most {}", simplex.variables));
            return Err(Error::out_of_bounds("the number of tabulated variables", found, expected));
        }
        let row = terms(simplex.variables - tabulated, simplex.degree);
        let mut table = Self { tabulated, prime, row, entries: None };
        if tabulated == 0 {
            return Ok(table);
        }
        let prefixes = u64::from(prime).checked_pow(tabulated as u32);
        let bytes = prefixes.and_then(|prefixes| prefixes.checked_mul((row * table.width()) as u64));
        let bytes = bytes.filter(|&bytes| bytes < 1 << 40).ok_or_else(|| {
            let expected = "one whose table has less than 2^40 bytes";
            Error::out_of_bounds("the prime of a table", prime.into(), expected)
        })?;
        let key = Key { prime, tabulated, bytes, fingerprint: fingerprint(simplex, coefficients) };
        table.entries = Some(match store.find(&key)? {
            Some(found) => found,
            None => {
                let mut entries = AlignedBytes::zeroed(bytes as usize);
                let powers = Powers::new(prime, simplex.degree);
                table.fill(simplex, coefficients, tabulated, &powers, &mut entries.bytes_mut());
                store.keep(&key, entries)?
            }
        });
        Ok(table)
    }

    /// Bytes of an entry.
    pub fn width(&self) -> usize {
        if self.prime < 1 << 8 { 1 } else { 2 }
    }

    /// Bytes of the table.
    pub fn bytes(&self) -> u64 {
        self.entries.as_ref().map_or(0, |entries| entries.len() as u64)
    }

    /// Reads the entries of a prefix, which must be below the number of prefixes.
    pub fn read(&self, prefix: usize, out: &mut [u16]) {
        let Some(entries) = &self.entries else { return };
        let bytes = &entries[prefix * self.row * self.width()..][..out.len() * self.width()];
        if self.width() == 1 {
            out.iter_mut().zip(bytes).for_each(|(out, &byte)| *out = byte.into());
        } else {
            let pairs = bytes.as_chunks::<2>().0;
            out.iter_mut().zip(pairs).for_each(|(out, &pair)| *out = u16::from_le_bytes(pair));
        }
    }

    /// Writes the rows of all prefixes of `left` variables.
    fn fill(
        &self,
        simplex: Simplex,
        coefficients: &[u16],
        left: usize,
        powers: &Powers,
        out: &mut &mut [u8],
    ) {
        if left == 0 {
            let (row, rest) = std::mem::take(out).split_at_mut(coefficients.len() * self.width());
            for (bytes, &word) in row.chunks_exact_mut(self.width()).zip(coefficients) {
                bytes.copy_from_slice(&word.to_le_bytes()[..self.width()]);
            }
            *out = rest;
            return;
        }
        let rest = Simplex { variables: simplex.variables - 1, ..simplex };
        if left == 1 && rest.variables == 0 {
            return self.fill_values(coefficients, powers, out);
        }
        let mut contracted = vec![0; simplex.rest()];
        for x in 0..self.prime {
            contract(simplex, coefficients, powers.of(x), self.prime, &mut contracted);
            self.fill(rest, &contracted, left - 1, powers, out);
        }
    }

    /// Writes the values of a polynomial in one variable at 0, 1, ….
    fn fill_values(&self, coefficients: &[u16], powers: &Powers, out: &mut &mut [u8]) {
        let count = self.prime as usize;
        let mut sums = vec![0u32; count];
        for (&coefficient, powers) in coefficients.iter().zip(powers.by_exponent.chunks_exact(count)) {
            for (sum, &power) in sums.iter_mut().zip(powers) {
                *sum += u32::from(coefficient) * u32::from(power);
            }
        }
        let (row, rest) = std::mem::take(out).split_at_mut(count * self.width());
        for (bytes, sum) in row.chunks_exact_mut(self.width()).zip(sums) {
            bytes.copy_from_slice(&((sum % self.prime) as u16).to_le_bytes()[..self.width()]);
        }
        *out = rest;
    }
}

/// BLAKE3 of a polynomial.
fn fingerprint(simplex: Simplex, coefficients: &[u16]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key("papir 2026 depir table v1");
    hasher.update(&(simplex.variables as u64).to_le_bytes()).update(&(simplex.degree as u64).to_le_bytes());
    coefficients.iter().for_each(|word| {
        hasher.update(&word.to_le_bytes());
    });
    *hasher.finalize().as_bytes()
}

/// Powers of all residues modulo a small prime.
pub(super) struct Powers {
    rows: usize,
    /// 1, x, …, x^D for each x.
    by_residue: Vec<u16>,
    /// x^i for all x in turn, for each i.
    by_exponent: Vec<u16>,
}

impl Powers {
    pub(super) fn new(prime: u32, degree: usize) -> Self {
        let (rows, count) = (degree + 1, prime as usize);
        let mut by_residue = vec![1; rows * count];
        let mut by_exponent = vec![1; rows * count];
        for x in 0..count {
            for i in 1..rows {
                let power = u32::from(by_residue[x * rows + i - 1]) * x as u32 % prime;
                by_residue[x * rows + i] = power as u16;
                by_exponent[i * count + x] = power as u16;
            }
        }
        Self { rows, by_residue, by_exponent }
    }

    /// 1, x, …, x^D.
    pub(super) fn of(&self, x: u32) -> &[u16] {
        &self.by_residue[x as usize * self.rows..][..self.rows]
    }
}

/// Computes f(x, ·), a polynomial in one variable fewer, from the powers of x. Products of residues
/// below 2¹⁰ and sums of 39 of them fit 32 bits.
pub(super) fn contract(simplex: Simplex, coefficients: &[u16], powers: &[u16], prime: u32, out: &mut [u16]) {
    let Simplex { variables, degree } = simplex;
    let mut sums = vec![0u32; out.len()];
    let mut start = 0;
    for (exponent, &power) in powers.iter().enumerate().take(degree + 1) {
        for_each_row(variables - 1, degree - exponent, degree, &mut |from, to, length| {
            let row = &coefficients[start + from..][..length];
            for (sum, &coefficient) in sums[to..][..length].iter_mut().zip(row) {
                *sum += u32::from(power) * u32::from(coefficient);
            }
        });
        start += terms(variables - 1, degree - exponent);
    }
    out.iter_mut().zip(sums).for_each(|(out, sum)| *out = (sum % prime) as u16);
}
