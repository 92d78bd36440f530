//! The somewhat homomorphic encryption of Brakerski and Vaikuntanathan (*Fully Homomorphic Encryption from
//! Ring-LWE and Security for Key Dependent Messages*, 2011), whose operations are those of a ring: what
//! doubly-efficient PIR evaluates polynomials on (Okada, Player, Pohmann, Weinert, section 4.2).
//!
//! A ciphertext is a polynomial c(Y) over `R_Q = Z_Q[X]/(Xⁿ + 1)`; it encrypts m ∈ R_t where c(s) ≡ m modulo t,
//! c(s) lifted to its shortest representative. Sums and products of ciphertexts are those of polynomials in Y.
//!
//! | verb | function |
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
