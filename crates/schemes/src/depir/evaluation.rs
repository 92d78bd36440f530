//! Evaluation of f by the server: on lines, or by tables.

use std::str::FromStr;

use papir_core::codec::{Reader, Writer};
use papir_core::{Error, Result};

use super::simplex::{Simplex, terms};
use super::structure::Form;
use super::structure::levels::Steps;

/// Bound above all primes of Q.
pub(super) const LARGEST: u32 = 1 << 28;
/// Largest total length in bytes of tables whose choice is by time. Longer tables are chosen by
/// length.
pub(super) const CHOSEN_BYTES: u64 = 10 << 30;

/// Points at which f of a query's ciphertexts is evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Points {
    /// The points of each line whose first coordinate is 0, 1, …, D ([`super::lines`]).
    OnLines,
    /// The points of the paper: points for D + 1 values of Y. The values are roots of unity modulo
    /// primes that have them.
    OfPaper,
}

/// Evaluation by the data structure of Kedlaya and Umans ([`super::structure`]). The number of
/// look-ups grows with the degree D and is independent of the number of entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tabulation {
    /// j, the number of tabulated variables. If all are tabulated, a value modulo a small prime is
    /// one look-up.
    pub tabulated: usize,
    /// Number of reductions before a look-up.
    pub steps: Steps,
    /// Points at which f is evaluated.
    pub points: Points,
}

/// The variables that an operator wants tabulated: `all`, or the number of the first variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tabulated {
    /// All variables: a value modulo a small prime is one look-up.
    All,
    /// The first variables; the number counts them.
    First(usize),
}

impl FromStr for Tabulated {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "all" => Ok(Self::All),
            other => other.parse().map(Self::First).map_err(|_| {
                Error::malformed("a number of tabulated variables", other, "a number, or all")
            }),
        }
    }
}

/// The tables that an operator asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tables {
    /// Variables that are tabulated.
    pub tabulated: Tabulated,
    /// Reductions before a look-up. With `None`, the reductions with the fewest look-ups in tables
    /// of at most 10 GiB are chosen.
    pub steps: Option<Steps>,
    /// The points.
    pub points: Points,
}

impl Tables {
    /// Returns the tabulation for `chunks` polynomials on a simplex, or `None` if no tables are
    /// short enough.
    pub(super) fn of(self, simplex: Simplex, chunks: usize) -> Option<Tabulation> {
        let tabulated = match self.tabulated {
            Tabulated::All => simplex.variables,
            Tabulated::First(count) => count,
        };
        let one = Tabulation {
            tabulated,
            steps: Steps::One,
            points: self.points,
        };

        if let Some(steps) = self.steps {
            let given = Tabulation { steps, ..one };
            return given.bytes(simplex, chunks).map(|_| given);
        }
        if one.is_short(simplex, chunks) {
            return Some(one);
        }

        // More primes that are looked up directly need longer tables.
        let counts: Vec<usize> = (0..one.form(simplex).levels(simplex).direct.len()).collect();
        let fitting = counts.partition_point(|&count| one.mixed(count).is_short(simplex, chunks));

        let count = fitting.checked_sub(1)?;
        Some(one.mixed(count))
    }
}

impl Tabulation {
    /// The form of the structure of a polynomial.
    pub fn form(self, simplex: Simplex) -> Form {
        let first = (self.points == Points::OnLines).then_some(simplex.degree as u32);
        Form {
            largest: LARGEST,
            first,
            steps: self.steps,
            tabulated: self.tabulated,
        }
    }

    /// Returns the same tabulation with `count` primes looked up directly.
    fn mixed(self, count: usize) -> Self {
        Self {
            steps: Steps::Mixture(count),
            ..self
        }
    }

    /// Returns true if the tables of `chunks` polynomials are short enough for a choice by time.
    fn is_short(self, simplex: Simplex, chunks: usize) -> bool {
        self.bytes(simplex, chunks)
            .is_some_and(|bytes| bytes <= CHOSEN_BYTES)
    }

    /// Returns the bytes of the tables of `chunks` polynomials. Returns `None` if more variables
    /// are tabulated than there are, or if a table is too long.
    pub(super) fn bytes(self, simplex: Simplex, chunks: usize) -> Option<u64> {
        let lengths = self.form(simplex).table_lengths(simplex).ok()?;
        Some(lengths.iter().sum::<u64>().saturating_mul(chunks as u64))
    }

    /// Returns the number of look-ups and the number of products modulo small primes for one value
    /// modulo one prime of Q.
    pub(super) fn work(self, simplex: Simplex) -> (f64, f64) {
        let lookups = self.form(simplex).levels(simplex).lookups() as f64;
        let Simplex { variables, degree } = simplex;
        if self.tabulated == variables {
            return (lookups, 0.0);
        }

        // Two coordinates are shared by many points.
        let left = variables - self.tabulated.max(2.min(variables - 1));
        (lookups, lookups * terms(left, degree) as f64)
    }

    /// Returns a text for the label of parameters.
    pub(super) fn label(self) -> String {
        let steps = match self.steps {
            Steps::One => "one step".to_owned(),
            Steps::Two => "two steps".to_owned(),
            Steps::Mixture(count) => format!("{count} primes looked up"),
        };
        let label = format!("tables of {} variables, {steps}", self.tabulated);

        match self.points {
            Points::OnLines => label,
            Points::OfPaper => format!("{label}, the paper's points"),
        }
    }

    pub(super) fn encode(self, writer: &mut Writer) {
        let (kind, count) = match self.steps {
            Steps::One => (0, 0),
            Steps::Two => (1, 0),
            Steps::Mixture(count) => (2, count),
        };
        let points = u8::from(self.points == Points::OfPaper);

        writer
            .u8(points)
            .u8(kind)
            .u16(count as u16)
            .u16(self.tabulated as u16);
    }

    pub(super) fn decode(reader: &mut Reader<'_>) -> Result<Self> {
        let points = match reader.u8()? {
            0 => Points::OnLines,
            1 => Points::OfPaper,
            found => return Err(Error::malformed("depir's points", found, "0 or 1")),
        };

        let kind = reader.u8()?;
        let count = usize::from(reader.u16()?);
        // A count without a meaning is 0, so that parameters have one encoding.
        let steps = match (kind, count) {
            (0, 0) => Steps::One,
            (1, 0) => Steps::Two,
            (2, count) => Steps::Mixture(count),
            (found, _) => return Err(Error::malformed("depir's reductions", found, "0, 1 or 2")),
        };

        Ok(Self {
            tabulated: reader.u16()?.into(),
            steps,
            points,
        })
    }
}
