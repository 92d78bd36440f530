//! Certificates: every term of a failure bound, exactly.
//!
//! A certificate lists the parameters of a prepared database, each variance, count and threshold of
//! its failure bound, the bound, and the sets whose security was estimated. Numbers are exact
//! rationals, so that a reader need not trust a float. `reference/certificate.py` computes all of
//! it again from the parameters, and shares no code with papir.

mod natural;
mod rational;

use std::fmt::{self, Write};

pub use rational::Rational;

use crate::{Description, Error, Result};

/// Number of the format of [`FailureCertificate::json`].
pub const CERTIFICATE_FORMAT: u32 = 1;

/// The kind of a term's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TermKind {
    /// A variance, exact.
    Variance,
    /// An upper bound on a sum of squares, computed with floats: the exact value of the float.
    Squares,
    /// A number of coefficients or of answers, exact.
    Count,
    /// An error at which a coefficient may fail, or an error that is added in the worst case,
    /// exact.
    Threshold,
    /// The largest error that decoding accepts, a whole number.
    Accepted,
    /// −log₂ of a probability that the bound allows, exact.
    Bits,
}

impl TermKind {
    fn name(self) -> &'static str {
        match self {
            Self::Variance => "variance",
            Self::Squares => "squares",
            Self::Count => "count",
            Self::Threshold => "threshold",
            Self::Accepted => "accepted",
            Self::Bits => "bits",
        }
    }
}

/// One term of a failure bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    /// Name of the term, different from all others of its certificate.
    pub name: String,
    /// Kind of the value.
    pub kind: TermKind,
    /// Paper and theorem, or the file with the derivation.
    pub source: &'static str,
    /// Value of the term.
    pub value: Rational,
}

/// A set of parameters whose security was estimated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecuritySet {
    /// LWE dimension or ring degree.
    pub n: u64,
    /// Ciphertext modulus q.
    pub modulus: Rational,
    /// Distribution of the secret: `error-like`, `ternary` or `binary`.
    pub secret: String,
    /// Standard deviation of the error.
    pub sigma: Rational,
    /// Bits that the covering row of the table of estimates states.
    pub bits: Rational,
    /// Name of that row.
    pub row: &'static str,
}

/// The failure bound of a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CertifiedFailure {
    /// An honest answer always decodes, for this reason.
    Never(&'static str),
    /// −log₂ of a bound on the probability that an honest answer does not decode: the exact value
    /// of [`Description::failure_log2`], without its sign.
    Bits(Rational),
}

/// Every term of the failure bound of a prepared database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailureCertificate {
    /// The scheme's name.
    pub scheme: &'static str,
    /// −log₂ of the failure probability that was asked for.
    pub asked_bits: u8,
    /// Parameters on which the bound depends. Their names are different.
    pub parameters: Vec<(String, Rational)>,
    /// Terms in the order of computation.
    pub terms: Vec<Term>,
    /// The bound on the failure probability.
    pub failure: CertifiedFailure,
    /// Sets with estimated security; none if the scheme encrypts nothing.
    pub security: Vec<SecuritySet>,
    /// The certificate of the scheme whose answers this scheme's answers consist of.
    pub below: Option<Box<FailureCertificate>>,
}

impl FailureCertificate {
    /// A certificate without parameters and terms, for the failure bound of a description.
    ///
    /// # Errors
    /// [`Error::Parameters`] if the failure probability is above 1, or 0, which needs
    /// [`FailureCertificate::never`].
    pub fn new(description: &Description) -> Result<Self> {
        let log2 = description.failure_log2;
        let bits = Rational::of_float(-log2).ok_or_else(|| Error::Parameters {
            scheme: description.scheme,
            reason: format!("a failure probability of 2^{log2} has no certificate"),
        })?;
        Ok(Self::with_failure(
            description,
            CertifiedFailure::Bits(bits),
        ))
    }

    /// A certificate of a scheme whose honest answers always decode, with the reason.
    pub fn never(description: &Description, reason: &'static str) -> Self {
        Self::with_failure(description, CertifiedFailure::Never(reason))
    }

    fn with_failure(description: &Description, failure: CertifiedFailure) -> Self {
        Self {
            scheme: description.scheme,
            asked_bits: description.failure_bound.bits(),
            parameters: Vec::new(),
            terms: Vec::new(),
            failure,
            security: Vec::new(),
            below: None,
        }
    }

    /// Adds a parameter.
    pub fn parameter(&mut self, name: impl Into<String>, value: impl Into<Rational>) {
        self.parameters.push((name.into(), value.into()));
    }

    /// Adds a term, and returns its value for later terms.
    pub fn term(
        &mut self,
        name: impl Into<String>,
        kind: TermKind,
        source: &'static str,
        value: impl Into<Rational>,
    ) -> Rational {
        let value = value.into();
        self.terms.push(Term {
            name: name.into(),
            kind,
            source,
            value: value.clone(),
        });
        value
    }

    /// Adds a term whose value is a float, as its exact value.
    ///
    /// # Errors
    /// [`Error::Parameters`] if the float is negative, infinite or NaN.
    pub fn float_term(
        &mut self,
        name: impl Into<String>,
        kind: TermKind,
        source: &'static str,
        value: f64,
    ) -> Result<Rational> {
        let name = name.into();
        match Rational::of_float(value) {
            Some(value) => Ok(self.term(name, kind, source, value)),
            None => Err(Error::Parameters {
                scheme: self.scheme,
                reason: format!("the term {name} of the failure bound is {value}"),
            }),
        }
    }

    /// Returns the certificate as one JSON object. Every number is a string: `p` or `p/q`.
    pub fn json(&self) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = self.write(&mut text, "");
        text.push('\n');
        text
    }

    fn write(&self, out: &mut String, indent: &str) -> fmt::Result {
        writeln!(out, "{{")?;
        writeln!(
            out,
            "{indent}  \"papir_certificate\": \"{CERTIFICATE_FORMAT}\","
        )?;
        writeln!(out, "{indent}  \"scheme\": {},", quoted(self.scheme))?;
        writeln!(out, "{indent}  \"asked_bits\": \"{}\",", self.asked_bits)?;

        let parameters = self
            .parameters
            .iter()
            .map(|(name, value)| format!("{}: \"{value}\"", quoted(name)));
        let parameters = block(parameters, indent);
        writeln!(out, "{indent}  \"parameters\": {{{parameters}}},")?;

        let terms = block(self.terms.iter().map(Term::json), indent);
        writeln!(out, "{indent}  \"terms\": [{terms}],")?;

        match &self.failure {
            CertifiedFailure::Never(reason) => {
                writeln!(out, "{indent}  \"never_fails\": {},", quoted(reason))?;
            }
            CertifiedFailure::Bits(bits) => {
                writeln!(out, "{indent}  \"failure_bits\": \"{bits}\",")?;
            }
        }

        let security = block(self.security.iter().map(SecuritySet::json), indent);
        write!(out, "{indent}  \"security\": [{security}]")?;

        if let Some(below) = &self.below {
            write!(out, ",\n{indent}  \"below\": ")?;
            below.write(out, &format!("{indent}  "))?;
        }
        write!(out, "\n{indent}}}")
    }
}

impl Term {
    fn json(&self) -> String {
        format!(
            "{{\"name\": {}, \"kind\": \"{}\", \"source\": {}, \"value\": \"{}\"}}",
            quoted(&self.name),
            self.kind.name(),
            quoted(self.source),
            self.value
        )
    }
}

impl SecuritySet {
    fn json(&self) -> String {
        format!(
            "{{\"n\": \"{}\", \"q\": \"{}\", \"secret\": {}, \"sigma\": \"{}\", \"bits\": \"{}\", \
             \"row\": {}}}",
            self.n,
            self.modulus,
            quoted(&self.secret),
            self.sigma,
            self.bits,
            quoted(self.row)
        )
    }
}

/// Entries of an object or a list, one a line.
fn block(entries: impl Iterator<Item = String>, indent: &str) -> String {
    let lines: Vec<String> = entries
        .map(|entry| format!("\n{indent}    {entry}"))
        .collect();
    if lines.is_empty() {
        return String::new();
    }
    format!("{}\n{indent}  ", lines.join(","))
}

/// A JSON string. Control characters, which no name has, become spaces.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            control if control.is_control() => quoted.push(' '),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_json_has_every_number_as_a_string() {
        let below = FailureCertificate {
            scheme: "inner",
            asked_bits: 40,
            parameters: Vec::new(),
            terms: Vec::new(),
            failure: CertifiedFailure::Never("it says \"so\""),
            security: Vec::new(),
            below: None,
        };
        let mut certificate = FailureCertificate {
            scheme: "outer",
            failure: CertifiedFailure::Bits(Rational::new(81, 2)),
            below: Some(Box::new(below.clone())),
            ..below
        };

        certificate.parameter("rows", 7u32);
        let half = certificate.term("half", TermKind::Variance, "a paper", Rational::new(1, 2));
        certificate.term("more", TermKind::Count, "a file", half * 4u32);
        certificate.security.push(SecuritySet {
            n: 8,
            modulus: Rational::power_of_two(32),
            secret: "binary".to_owned(),
            sigma: Rational::new(32, 5),
            bits: Rational::new(263, 2),
            row: "a row",
        });

        let expected = r#"{
  "papir_certificate": "1",
  "scheme": "outer",
  "asked_bits": "40",
  "parameters": {
    "rows": "7"
  },
  "terms": [
    {"name": "half", "kind": "variance", "source": "a paper", "value": "1/2"},
    {"name": "more", "kind": "count", "source": "a file", "value": "2"}
  ],
  "failure_bits": "81/2",
  "security": [
    {"n": "8", "q": "4294967296", "secret": "binary", "sigma": "32/5", "bits": "263/2", "row": "a row"}
  ],
  "below": {
    "papir_certificate": "1",
    "scheme": "inner",
    "asked_bits": "40",
    "parameters": {},
    "terms": [],
    "never_fails": "it says \"so\"",
    "security": []
  }
}
"#;
        assert_eq!(certificate.json(), expected);
    }
}
