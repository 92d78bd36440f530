//! Arithmetic modulo one odd q below 2⁵⁰, in words of 64 bits.
//!
//! The counterpart of [`ntt`](crate::ntt), [`pointwise`](crate::pointwise),
//! [`monomial`](crate::monomial) and [`gadget`](crate::gadget), which compute modulo primes below
//! 2³⁰ in words of 32 bits. A product has two digits of 52 bits, which fit the multipliers of IFMA
//! and a double. Values below 4q are below 2⁵² and so fit one digit.

use crate::backend::Backend;
use crate::dispatch::same_length;

pub(crate) mod gadget;
pub(crate) mod modulus;
pub mod packed;
pub(crate) mod prime;
pub(crate) mod table;

pub use gadget::Gadget;
pub use modulus::Modulus;
pub use prime::{is_prime, pow};
pub use table::{NttError, NttTable};

/// The largest number of rows of [`dot`]: sums of their digits of 52 bits fit 64 bits.
pub const DOT_ROWS: usize = 2048;

impl NttTable {
    /// Transforms coefficients below 4q to values in [0, q), with slots in bit-reversed order.
    pub fn forward(&self, backend: Backend, x: &mut [u64]) {
        assert_eq!(x.len(), self.d, "coefficients of an NTT");
        dispatch!(backend, wide_ntt::forward(self, x));
    }

    /// [`NttTable::forward`] without the last reduction: values in [0, 4q).
    ///
    /// The representatives may differ between backends.
    pub fn forward_lazy(&self, backend: Backend, x: &mut [u64]) {
        assert_eq!(x.len(), self.d, "coefficients of an NTT");
        dispatch!(backend, wide_ntt::forward_lazy(self, x));
    }

    /// Transforms values below 2q, with slots in bit-reversed order, to coefficients in [0, q).
    pub fn inverse(&self, backend: Backend, x: &mut [u64]) {
        assert_eq!(x.len(), self.d, "values of an NTT");
        dispatch!(backend, wide_ntt::inverse(self, x));
    }
}

kernel! {
    /// acc = acc + a mod q; inputs below q.
    pub fn add_assign(acc: &mut [u64], a: &[u64], modulus: Modulus)
    checks { same_length([acc.len(), a.len()]) }
    in wide;
}

kernel! {
    /// acc = acc − a mod q; inputs below q.
    pub fn sub_assign(acc: &mut [u64], a: &[u64], modulus: Modulus)
    checks { same_length([acc.len(), a.len()]) }
    in wide;
}

/// out = a·b mod q, for words of `a` below 4q and words of `b` below q.
pub fn mul(backend: Backend, out: &mut [u64], a: &[u64], b: &[u64], modulus: Modulus) {
    same_length([out.len(), a.len(), b.len()]);
    dispatch!(backend, wide::mul(out, a, b, modulus));
}

/// out = constant·a mod q, for a constant below q and words of `a` below 4q.
pub fn scale(backend: Backend, out: &mut [u64], a: &[u64], constant: u64, modulus: Modulus) {
    same_length([out.len(), a.len()]);
    assert!(
        constant < modulus.value(),
        "the constant must be below the modulus"
    );
    dispatch!(backend, wide::scale(out, a, constant, modulus));
}

/// out = words mod q, exact for any words.
pub fn reduce(backend: Backend, out: &mut [u64], words: &[u64], modulus: Modulus) {
    same_length([out.len(), words.len()]);
    dispatch!(backend, wide::reduce(out, words, modulus));
}

/// Panics unless `a` and `b` have the same number of rows, from 0 to `DOT_ROWS`, as long as `out`.
#[track_caller]
fn check_rows(out: usize, a: usize, b: usize) {
    same_length([a, b]);
    assert!(
        out > 0 && a.is_multiple_of(out),
        "rows must have {out} words"
    );
    assert!(a / out <= DOT_ROWS, "at most {DOT_ROWS} rows");
}

/// out = Σ_j a_j·b_j mod q over the rows of `a` and `b`, each as long as `out`.
///
/// Words of `a` must be below 4q and words of `b` below q; larger ones give wrong residues. At
/// most [`DOT_ROWS`] rows.
pub fn dot(backend: Backend, out: &mut [u64], a: &[u64], b: &[u64], modulus: Modulus) {
    check_rows(out.len(), a.len(), b.len());
    dispatch!(backend, wide::dot(out, a, b, modulus));
}

/// [`dot`] of one `a` with two sets of rows: outs\[i\] = Σ_j a_j·b\[i\]_j mod q.
///
/// It is up to twice as fast if all slices start at multiples of 64 bytes.
pub fn dot_pair(
    backend: Backend,
    outs: [&mut [u64]; 2],
    a: &[u64],
    b: [&[u64]; 2],
    modulus: Modulus,
) {
    same_length([outs[0].len(), outs[1].len()]);
    same_length([b[0].len(), b[1].len()]);
    check_rows(outs[0].len(), a.len(), b[0].len());
    dispatch!(backend, wide::dot_pair(outs, a, b, modulus));
}

kernel! {
    /// out = a·X^shift modulo X^d + 1 and q, for a shift below 2d and words below q.
    pub fn rotate(out: &mut [u64], a: &[u64], shift: usize, modulus: Modulus)
    checks {
        same_length([out.len(), a.len()]);
        assert!(shift < 2 * a.len(), "the shift must be below {}, not {shift}", 2 * a.len());
    }
    in wide;
}

kernel! {
    /// out(X) = a(X^e) modulo X^d + 1 on coefficients below q, for e odd, reduced modulo 2d.
    pub fn automorphism(out: &mut [u64], a: &[u64], e: usize, modulus: Modulus)
    checks {
        same_length([out.len(), a.len()]);
        assert!(a.len().is_power_of_two(), "a power of two, not {}", a.len());
        assert!(e % 2 == 1, "an odd exponent, not {e}");
    }
    in wide;
}

kernel! {
    /// Reduces any signed words to residues in [0, q).
    pub fn from_signed(out: &mut [u64], words: &[i32], modulus: Modulus)
    checks { same_length([out.len(), words.len()]) }
    in wide;
}

kernel! {
    /// out = byte + q for signed bytes, in (0, 2q), for q above 2⁷: inputs of
    /// [`NttTable::forward_lazy`].
    pub fn from_bytes_lazy(out: &mut [u64], bytes: &[u8], modulus: Modulus)
    checks {
        same_length([out.len(), bytes.len()]);
        assert!(modulus.value() > 1 << 7, "bytes must be below the modulus");
    }
    in wide;
}

kernel! {
    /// Writes the digits of d words below q.
    ///
    /// `digits` has levels·d words, digit-major: the d lowest digits come first.
    pub fn decompose(gadget: &Gadget, digits: &mut [i32], words: &[u64])
    checks { same_length([digits.len(), words.len() * gadget.levels()]) }
    in wide_gadget;
}

kernel! {
    /// Writes the digits of d words below q as residues: δ + q for each digit δ, in (0, 2q).
    ///
    /// `out` has levels·d words, digit-major as in [`decompose`].
    pub fn decompose_lazy(gadget: &Gadget, out: &mut [u64], words: &[u64])
    checks {
        same_length([out.len(), words.len() * gadget.levels()]);
        assert!(gadget.largest_digit() < gadget.q, "digits must be below the modulus");
    }
    in wide_gadget;
}
