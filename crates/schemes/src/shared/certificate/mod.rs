//! Exact terms that the certificates of several schemes have.
//!
//! | terms | module |
//! |---|---|
//! | rings and gadgets | [`ring`] |
//! | one level of encryption modulo 2³² | [`level`] |
//! | rounding, whitened words, security | [`numbers`] |

mod level;
mod numbers;
mod ring;

pub(crate) use level::LevelTerms;
pub(crate) use numbers::{
    decimal, rounding, rounding_square, security_set, variance_term, words_term,
};
pub(crate) use ring::{ExactRing, GadgetTerms};
