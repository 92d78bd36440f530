//! Fuzzing of every parser of papir, on stable Rust and without instrumentation.
//!
//! A [`Target`] is a parser with valid inputs. The [`driver`] mutates these ([`mutate`]), runs the
//! parser, and keeps an input when its outcome is new. The target describes an outcome in a few
//! words, for example by the kind of refusal. Targets behind a checksum repair it, so that
//! mutations reach the parser itself. A panic is a finding, and so is a failed assertion of a
//! target.
//!
//! All randomness follows from one seed, which is printed: the same seed reproduces a finding.
//!
//! To add a target, write a function that makes it in a file of `targets`, and list it in
//! [`targets::ALL`].
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub mod driver;
pub mod mutate;
pub mod repair;
pub mod targets;

/// Runs a parser on an input and describes the outcome in a few words.
pub type Run = Box<dyn FnMut(&[u8]) -> String>;

/// A parser and its seeds.
pub struct Target {
    /// Valid inputs, at least one.
    pub seeds: Vec<Vec<u8>>,
    /// Tokens of the format, for insertion.
    pub words: &'static [&'static str],
    /// The parser.
    pub run: Run,
}

impl Target {
    /// A target without tokens.
    pub fn new(seeds: Vec<Vec<u8>>, run: impl FnMut(&[u8]) -> String + 'static) -> Self {
        Self {
            seeds,
            words: &[],
            run: Box::new(run),
        }
    }

    /// Adds tokens of the format.
    pub fn with_words(self, words: &'static [&'static str]) -> Self {
        Self { words, ..self }
    }
}

/// The kind of an outcome: `accepted`, or the error's first words that consist only of letters, so
/// that values from the input do not count.
pub fn outcome<T, E: std::fmt::Display>(result: &Result<T, E>) -> String {
    match result {
        Ok(_) => "accepted".to_owned(),
        Err(error) => error
            .to_string()
            .split(' ')
            .filter(|word| is_word(word))
            .take(12)
            .collect::<Vec<_>>()
            .join(" "),
    }
}

/// Returns true for letters and punctuation only.
fn is_word(word: &str) -> bool {
    word.chars()
        .all(|c| c.is_ascii_alphabetic() || ",.:;".contains(c))
}
