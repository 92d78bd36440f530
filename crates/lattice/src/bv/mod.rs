//! Somewhat homomorphic encryption of Brakerski and Vaikuntanathan.
//!
//! From *Fully Homomorphic Encryption from Ring-LWE and Security for Key Dependent Messages*
//! (2011). Doubly-efficient PIR evaluates polynomials on these ciphertexts (Okada, Player, Pohmann,
//! Weinert, section 4.2), because its homomorphic operations are ring operations.
//!
//! A ciphertext is a polynomial c(Y) over `R_Q = Z_Q[X]/(Xⁿ + 1)`. It encrypts m ∈ R_t if c(s) ≡ m
//! modulo t, with c(s) lifted to its centred representative. Sums and products of ciphertexts are
//! sums and products of polynomials in Y.
//!
//! | operation | item |
//! |---|---|
//! | KeyGen | [`key::BvKey::generate`] |
//! | Enc | [`key::BvKey::encrypt`] |
//! | Dec | [`key::BvKey::decrypt`] |
//! | modulus switching | [`switch::Switch`] |
//! | plaintext slots | [`slots::Slots`] |
//! | noise | [`noise`] |

pub mod key;
pub mod noise;
pub mod params;
pub mod slots;
pub mod switch;
