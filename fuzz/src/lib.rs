//! Hostile bytes for every parser of papir, on stable Rust and without instrumentation.
//!
//! A [`Target`] is a parser with valid inputs. The [`driver`] changes these ([`mutate`]), runs the
//! parser, and keeps an input when what became of it is new: the target says that in a few words, by
//! which refusal, for one. Targets that a checksum guards repair it, so that changes reach what lies
//! behind. A panic is a finding; so is a property that does not hold, which targets assert.
//!
//! Everything follows from one seed, which is printed: the same seed meets the same finding.
//!
//! To add a target, write a function that makes it in a file of `targets`, and name it in
//! [`targets::ALL`].
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub mod driver;
pub mod mutate;
pub mod repair;
pub mod targets;

/// Runs a parser over an input and says in a few words what became of it.
pub type Run = Box<dyn FnMut(&[u8]) -> String>;

/// A parser, and what to start from.
pub struct Target {
    /// Valid inputs, at least one.
    pub seeds: Vec<Vec<u8>>,
    /// Words of the format, which are put in now and then.
    pub words: &'static [&'static str],
    /// The parser.
    pub run: Run,
}

impl Target {
    /// A target without words.
    pub fn new(seeds: Vec<Vec<u8>>, run: impl FnMut(&[u8]) -> String + 'static) -> Self {
        Self { seeds, words: &[], run: Box::new(run) }
    }

    /// With words of the format.
    pub fn with_words(self, words: &'static [&'static str]) -> Self {
        Self { words, ..self }
    }
}

/// What became of an input, without what differs from one input to the next: of an error's words, those
/// that are nothing but letters.
pub fn outcome<T, E: std::fmt::Display>(result: &Result<T, E>) -> String {
    let is_word = |word: &&str| word.chars().all(|c| c.is_ascii_alphabetic() || ",.:;".contains(c));
    match result {
        Ok(_) => "accepted".to_owned(),
        Err(error) => error.to_string().split(' ').filter(is_word).take(12).collect::<Vec<_>>().join(" "),
    }
}
