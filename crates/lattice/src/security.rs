//! Table of security estimates for LWE and RLWE parameter sets.
//!
//! The table lists every set that papir's schemes rely on, and published sets that papir refuses.
//! Estimates are the minimum over the primal uSVP, primal BDD, dual and dual hybrid attacks with an
//! unbounded number of samples, by the lattice estimator at [`ESTIMATOR_COMMIT`], with about ±0.5
//! bit of optimiser noise. [`Method`] says for each row how many samples the attacks use.
//! `tools/estimate.py` reads the rows of this file and estimates them again. A set is allowed if it
//! has at least 128 bits under MATZOV, the estimator's default cost model. ADPS16 is classical
//! core-SVP, for comparison.
//!
//! Every sample published under a key counts: queries, all gadget rows of key-switching keys, RGSW
//! rows. A set outside the table may rely on a row that it dominates: same kind of secret, n no
//! smaller, q no larger, σ no smaller.

use std::fmt;

/// The commit of the lattice estimator (<https://github.com/malb/lattice-estimator>).
pub const ESTIMATOR_COMMIT: &str = "27a581bb8e9d49f5e9e2db315bd48ac769d5f5f5";
/// Minimum security that papir accepts, in bits under MATZOV.
pub const MINIMUM_BITS: f64 = 128.0;

/// Distribution of a secret's coefficients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Secret {
    /// Discrete Gaussian with the standard deviation of the error.
    ErrorLike,
    /// Uniform in {−1, 0, 1}.
    Ternary,
    /// Uniform in {0, 1}.
    Binary,
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ErrorLike => "error-like",
            Self::Ternary => "ternary",
            Self::Binary => "binary",
        })
    }
}

/// Number of samples that the attacks of an estimate use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// The estimator's choice: n for the dual hybrid attack. The figure of a binary secret can be 2
    /// to 3 bits too high, so schemes rely on other rows.
    Stock,
    /// The best number for each attack, as `tools/estimate.py` finds it.
    SamplesOptimised,
}

/// One estimated parameter set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// Scheme or paper that uses the set.
    pub set: &'static str,
    /// LWE dimension or ring degree.
    pub n: usize,
    /// log₂ of the modulus.
    pub log2_q: f64,
    /// The secret's distribution.
    pub secret: Secret,
    /// The error's **standard deviation**.
    pub sigma: f64,
    /// Bits under MATZOV, compared with [`MINIMUM_BITS`].
    pub matzov: f64,
    /// Bits under ADPS16, if estimated.
    pub adps16: Option<f64>,
    /// The method of both estimates.
    pub method: Method,
}

impl Row {
    /// Returns whether the set reaches [`MINIMUM_BITS`].
    pub fn allowed(&self) -> bool {
        self.matzov >= MINIMUM_BITS
    }

    const fn stock(self) -> Self {
        Self {
            method: Method::Stock,
            ..self
        }
    }

    /// Returns whether a set is at least as hard to break as this row.
    fn is_dominated_by(&self, n: usize, log2_q: f64, secret: Secret, sigma: f64) -> bool {
        self.secret == secret && n >= self.n && log2_q <= self.log2_q && sigma >= self.sigma
    }

    /// Returns whether schemes may rely on this row.
    fn is_preferred(&self) -> bool {
        self.allowed() && self.method == Method::SamplesOptimised
    }
}

/// A parameter set without an estimate of at least [`MINIMUM_BITS`] bits.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error(
    "n = {n}, log2 q = {log2_q}, {secret} secret, standard deviation {sigma}: {}, \
     expected at least {MINIMUM_BITS} bits",
    estimate_in_words(*.bits)
)]
pub struct InsecureError {
    /// LWE dimension or ring degree.
    pub n: usize,
    /// log₂ of the modulus.
    pub log2_q: f64,
    /// The secret's distribution.
    pub secret: Secret,
    /// The error's standard deviation.
    pub sigma: f64,
    /// The estimate, if a row of the table covers the set.
    pub bits: Option<f64>,
}

fn estimate_in_words(bits: Option<f64>) -> String {
    bits.map_or("no row of the table covers it".to_owned(), |bits| {
        format!("{bits} bits estimated")
    })
}

/// Returns the row with the highest estimate among the rows that the set equals or dominates.
///
/// Rows that suffice, with an optimised number of samples, come before all others.
pub fn estimate(n: usize, log2_q: f64, secret: Secret, sigma: f64) -> Option<&'static Row> {
    // A set with larger n and σ and a smaller q is at least as hard as a row of the same secrets.
    let backing = TABLE
        .iter()
        .filter(|row| row.is_dominated_by(n, log2_q, secret, sigma));
    backing.max_by(|a, b| {
        a.is_preferred()
            .cmp(&b.is_preferred())
            .then(a.matzov.total_cmp(&b.matzov))
    })
}

/// Returns [`estimate`]'s row if it reaches [`MINIMUM_BITS`].
///
/// # Errors
/// [`InsecureError`] if the estimate is lower or no row covers the set.
pub fn require_128(
    n: usize,
    log2_q: f64,
    secret: Secret,
    sigma: f64,
) -> Result<&'static Row, InsecureError> {
    match estimate(n, log2_q, secret, sigma) {
        Some(row) if row.allowed() => Ok(row),
        row => Err(InsecureError {
            n,
            log2_q,
            secret,
            sigma,
            bits: row.map(|row| row.matzov),
        }),
    }
}

const fn row(
    set: &'static str,
    n: usize,
    log2_q: f64,
    secret: Secret,
    sigma: f64,
    matzov: f64,
    adps16: Option<f64>,
) -> Row {
    Row {
        set,
        n,
        log2_q,
        secret,
        sigma,
        matzov,
        adps16,
        method: Method::SamplesOptimised,
    }
}

/// All estimated sets. The modulus of InsPIRe and YPIR, a product of two primes just under 2²⁸, is
/// 2^55.89 to two digits; the table has 55.895 so that every modulus that rounds to 2^55.89 is
/// covered.
#[rustfmt::skip]
pub const TABLE: &[Row] = &[
    row("InsPIRe / YPIR ring", 2048, 55.895, Secret::ErrorLike, 6.4, 131.5, Some(104.0)),
    row("InsPIRe / YPIR ring, 6.4 read as width", 2048, 55.895, Secret::ErrorLike, 2.55, 124.9, Some(96.9)).stock(),
    row("InsPIRe / YPIR ring, ternary", 2048, 55.895, Secret::Ternary, 6.4, 124.1, Some(95.5)).stock(),
    row("InsPIRe⁽²⁾ ring", 2048, 53.0, Secret::ErrorLike, 6.4, 139.8, Some(112.7)),
    row("InsPIRe⁽²⁾ ring, ternary", 2048, 53.0, Secret::Ternary, 6.4, 131.3, Some(102.8)).stock(),
    row("ring, Gaussian secret", 2048, 56.0, Secret::ErrorLike, 3.95, 127.7, Some(99.9)).stock(),
    row("DoublePIR / YPIR LWE as printed", 1024, 32.0, Secret::ErrorLike, 6.4, 121.5, Some(95.2)).stock(),
    row("DoublePIR / YPIR LWE, wider noise", 1024, 32.0, Secret::ErrorLike, 11.0, 128.4, Some(102.5)),
    row("DoublePIR / YPIR LWE, with a margin", 1024, 32.0, Secret::ErrorLike, 12.0, 129.6, Some(103.7)),
    row("DoublePIR / YPIR LWE, larger n", 1080, 32.0, Secret::ErrorLike, 6.4, 128.4, None).stock(),
    row("small packing ring, in use", 1024, 27.76, Secret::ErrorLike, 6.4, 144.3, Some(119.4)),
    row("small packing ring", 1024, 28.0, Secret::ErrorLike, 6.4, 142.8, Some(118.0)).stock(),
    row("small packing ring", 1024, 28.0, Secret::ErrorLike, 3.19, 131.8, Some(106.3)).stock(),
    row("ZipPIR LWE as printed", 1400, 32.0, Secret::Binary, 6.4, 144.7, Some(118.3)).stock(),
    row("ZipPIR LWE, in use", 1280, 32.0, Secret::Binary, 6.4, 131.3, Some(104.9)),
    row("ZipPIR LWE, with a margin", 1256, 32.0, Secret::Binary, 6.4, 128.8, None),
    row("ZipPIR LWE, with a margin", 1200, 32.0, Secret::Ternary, 6.4, 128.9, None).stock(),
    row("Pirouette query LWE", 1300, 32.0, Secret::Binary, 3.19, 129.9, Some(103.1)).stock(),
    row("rotation LWE, more precise, with a margin", 648, 15.0, Secret::Binary, 3.19, 131.0, Some(107.8)),
    row("rotation LWE, more precise, with a margin", 840, 20.0, Secret::Binary, 3.19, 130.3, Some(105.7)),
    row("rotation LWE, more precise", 640, 15.0, Secret::Binary, 3.19, 129.4, None),
    row("rotation LWE, more precise", 832, 20.0, Secret::Binary, 3.19, 129.0, None),
    row("rotation LWE", 600, 12.0, Secret::Binary, 3.19, 150.8, Some(128.2)).stock(),
    row("rotation LWE, largest modulus", 600, 14.0, Secret::Binary, 3.19, 132.2, None).stock(),
    row("rotation LWE", 512, 12.0, Secret::Binary, 3.19, 127.5, Some(107.0)),
    row("rotation LWE, with margin", 528, 12.0, Secret::Binary, 3.19, 131.0, None).stock(),
    row("key switch into a larger n under 2⁴²", 1672, 42.0, Secret::Binary, 3.19, 128.0, None).stock(),
    row("key switch into n = 600 under 2⁴²", 600, 42.0, Secret::Binary, 3.19, 48.5, Some(17.8)).stock(),
    row("Pirouette ring as printed", 2048, 56.0, Secret::Binary, 3.19, 118.9, Some(89.9)).stock(),
    row("ring, ternary", 2048, 54.0, Secret::Ternary, 3.19, 126.3, Some(97.8)).stock(),
    row("ring, Gaussian secret", 2048, 53.0, Secret::ErrorLike, 2.55, 132.4, Some(104.8)).stock(),
    row("ring, Gaussian secret", 2048, 54.0, Secret::ErrorLike, 3.19, 131.3, None).stock(),
    row("ring, Gaussian secret", 2048, 56.0, Secret::ErrorLike, 4.0, 128.0, None).stock(),
    row("ring, ternary", 2048, 53.0, Secret::Ternary, 3.19, 128.7, Some(100.4)),
    row("ring, ternary, with a margin", 2048, 53.0, Secret::Ternary, 4.0, 129.6, Some(101.1)),
    row("Pirouette query", 2048, 32.0, Secret::Ternary, 3.19, 218.0, Some(194.5)),
    row("Pirouette records", 2048, 16.0, Secret::Ternary, 3.19, 432.0, None),
    row("ring, ternary, wider noise", 2048, 54.0, Secret::Ternary, 6.4, 128.8, None).stock(),
    row("response ring as printed", 512, 20.0, Secret::Binary, 3.19, 83.1, Some(56.4)).stock(),
    row("response ring, wide noise", 512, 20.0, Secret::ErrorLike, 19.03, 128.5, None).stock(),
    row("response ring, larger", 1024, 20.0, Secret::Binary, 3.19, 160.4, None).stock(),
    row("small ring, Gaussian secret", 1024, 27.0, Secret::ErrorLike, 3.19, 137.4, None).stock(),
    row("Respire small ring", 512, 20.0, Secret::ErrorLike, 9.9, 114.7, Some(89.9)).stock(),
    row("BV ring", 4_096, 106.0, Secret::Ternary, 3.2, 128.9, None),
    row("BV ring", 8_192, 212.0, Secret::Ternary, 3.2, 129.4, None),
    row("BV ring", 16_384, 428.0, Secret::Ternary, 3.2, 129.0, None),
    row("DEPIR tiny", 32_768, 518.0, Secret::Ternary, 3.2, 225.2, Some(196.8)).stock(),
    row("DEPIR tiny, half the ring", 16_384, 518.0, Secret::Ternary, 3.2, 106.0, Some(72.7)).stock(),
    row("DEPIR small", 32_768, 804.0, Secret::Ternary, 3.2, 138.8, Some(106.3)).stock(),
    row("DEPIR medium / large as printed", 65_536, 1817.0, Secret::Ternary, 3.2, 123.0, Some(88.5)).stock(),
    row("DEPIR, largest modulus", 32_768, 864.0, Secret::Ternary, 3.2, 128.6, None),
    row("DEPIR, largest modulus", 65_536, 1736.0, Secret::Ternary, 3.2, 129.0, None).stock(),
];

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn bits(n: usize, log2_q: f64, secret: Secret, sigma: f64) -> Option<f64> {
        estimate(n, log2_q, secret, sigma).map(|row| row.matzov)
    }

    #[test]
    fn a_covering_row_is_no_harder_than_the_set() {
        for row in TABLE {
            let backing = estimate(row.n, row.log2_q, row.secret, row.sigma).unwrap();
            assert_eq!(backing.secret, row.secret);
            assert!(
                backing.n <= row.n && backing.log2_q >= row.log2_q && backing.sigma <= row.sigma,
                "{row:?}"
            );
        }
    }

    #[test]
    fn rows_cover_dominating_sets_only() {
        let secret = Secret::ErrorLike;

        assert_eq!(bits(1080, 32.0, secret, 6.4), Some(128.4));
        assert_eq!(bits(1408, 31.5, secret, 6.5), Some(128.4));
        assert_eq!(bits(1024, 32.0, secret, 11.0), Some(128.4));
        assert_eq!(bits(1079, 32.0, secret, 6.4), Some(121.5));
        assert_eq!(bits(1023, 32.0, secret, 6.4), None);
        assert_eq!(bits(1024, 32.1, secret, 6.4), None);
        assert_eq!(bits(1024, 32.0, secret, 6.3), None);
        assert_eq!(bits(1080, 32.0, Secret::Ternary, 6.4), None);
        assert_eq!(bits(2048, 56.0, secret, 6.4), Some(128.0));
        assert_eq!(bits(2048, 55.89, secret, 6.4), Some(131.5));
    }

    #[test]
    fn published_sets_below_128_bits_are_refused() {
        let refused = [
            (2048, 55.89, Secret::ErrorLike, 2.55, Some(124.9)),
            (2048, 55.89, Secret::Ternary, 6.4, Some(124.1)),
            (2048, 56.0, Secret::ErrorLike, 3.95, Some(127.7)),
            (1024, 32.0, Secret::ErrorLike, 6.4, Some(121.5)),
            (512, 12.0, Secret::Binary, 3.19, Some(127.5)),
            (600, 42.0, Secret::Binary, 3.19, Some(48.5)),
            (2048, 56.0, Secret::Binary, 3.19, Some(118.9)),
            (2048, 54.0, Secret::Ternary, 3.19, Some(126.3)),
            (512, 20.0, Secret::Binary, 3.19, Some(83.1)),
            (512, 20.0, Secret::ErrorLike, 9.9, Some(114.7)),
            (16_384, 518.0, Secret::Ternary, 3.2, Some(106.0)),
            (65_536, 1817.0, Secret::Ternary, 3.2, Some(123.0)),
            (1024, 32.0, Secret::ErrorLike, f64::NAN, None),
        ];
        for (n, log2_q, secret, sigma, bits) in refused {
            let error = require_128(n, log2_q, secret, sigma).unwrap_err();
            assert_eq!(error.bits, bits, "{error}");
        }
        let refused_rows = TABLE.iter().filter(|row| !row.allowed()).count();

        assert_eq!((TABLE.len(), refused_rows), (52, 12));
    }

    /// `tools/estimate.py` reads the rows from this file.
    #[test]
    fn the_source_has_one_row_a_line() {
        let lines = include_str!("security.rs")
            .lines()
            .filter(|line| line.starts_with("    row(\""));
        let lines: Vec<_> = lines.map(|line| line.replace('_', "")).collect();

        assert_eq!(lines.len(), TABLE.len());
        for (line, row) in lines.iter().zip(TABLE) {
            let Row {
                set,
                n,
                log2_q,
                secret,
                sigma,
                matzov,
                ..
            } = row;
            let expected = format!(
                "    row(\"{set}\", {n}, {log2_q:?}, Secret::{secret:?}, {sigma:?}, {matzov:?}, "
            );
            assert!(line.starts_with(&expected), "{line}: expected {expected}");
        }
    }

    #[test]
    fn schemes_rely_on_rows_with_optimised_samples() {
        let used = [
            (2048, 55.89, Secret::ErrorLike, 6.4, 131.5),
            (2048, 53.0, Secret::ErrorLike, 6.4, 139.8),
            (1024, 32.0, Secret::ErrorLike, 11.0, 128.4),
            (1280, 32.0, Secret::Binary, 6.4, 131.3),
            (2048, 53.0, Secret::Ternary, 3.19, 128.7),
            (2048, 53.0, Secret::Ternary, 6.4, 129.6),
            (2048, 32.0, Secret::Ternary, 3.19, 218.0),
            (2048, 16.0, Secret::Ternary, 3.19, 432.0),
            (648, 15.0, Secret::Binary, 3.19, 131.0),
            (840, 20.0, Secret::Binary, 3.19, 130.3),
            (1024, 27.76, Secret::ErrorLike, 6.4, 144.3),
            (4096, 106.0, Secret::Ternary, 3.2, 128.9),
            (8192, 212.0, Secret::Ternary, 3.2, 129.4),
            (16_384, 428.0, Secret::Ternary, 3.2, 129.0),
            (32_768, 864.0, Secret::Ternary, 3.2, 128.6),
        ];
        for (n, log2_q, secret, sigma, bits) in used {
            let row = require_128(n, log2_q, secret, sigma).unwrap();
            assert_eq!(
                (row.matzov, row.method),
                (bits, Method::SamplesOptimised),
                "{row:?}"
            );
        }
    }

    #[test]
    fn errors_name_the_set_and_the_bits() {
        let error = require_128(1024, 32.0, Secret::ErrorLike, 6.4)
            .unwrap_err()
            .to_string();
        let expected = "n = 1024, log2 q = 32, error-like secret, standard deviation 6.4: \
                        121.5 bits estimated, expected at least 128 bits";

        assert_eq!(error, expected);
        assert_eq!(
            require_128(1080, 32.0, Secret::ErrorLike, 6.4)
                .unwrap()
                .matzov,
            128.4
        );
    }
}
