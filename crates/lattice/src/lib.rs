//! Lattice encryption over `R_q = Z_q[X]/(X^d + 1)`, and packing.
//!
//! | module | contents | source |
//! |---|---|---|
//! | [`params`] | checked parameters | |
//! | [`security`] | table of security estimates | lattice estimator |
//! | [`secret`], [`rlwe`], [`lwe`] | keys and encryptions under public masks | InsPIRe, section 2 |
//! | [`lwe32`] | LWE modulo 2³², negacyclic masks, byte matrices | SimplePIR, figure 2 |
//! | [`gadget`] | approximate balanced gadget decomposition | InsPIRe, appendix G.1 |
//! | [`key_switch`] | key-switching keys (KS.Setup) | InsPIRe, section 2 |
//! | [`rgsw`] | RGSW encryption | InsPIRe, section 2 |
//! | [`mod_switch`] | modulus switching to and from powers of two | InsPIRe, Lemma 9 |
//! | [`selection`] | matrix times encrypted selector, its masks | InsPIRe, Algorithm 9, line 7 |
//! | [`packing`] | ring packing: InspiRING, PartialInspiRING, CDKS | InsPIRe, Algorithms 1 and 2 |
//! | [`response`] | modulus-switched RLWE encryptions and their decryption | InsPIRe, Lemma 9 |
//! | [`rows`] | key switching (KS.Switch), external product | InsPIRe, section 2 and Lemma 2 |
//! | [`bootstrap`] | blind rotation, traces, bootstrapping, digits | Pirouette, section 3 |
//! | [`bv`] | somewhat homomorphic encryption (BV) | Brakerski, Vaikuntanathan 2011 |
//! | [`wide`] | the same types over one prime below 2⁵⁰ | |
//! | [`noise`] | noise variances, failure probabilities | InsPIRe, Theorems 2, 9, 10 |
//!
//! Every mask (the public, uniform half of an encryption) is expanded from its own seeded stream.
//! Every function that encrypts takes the mask and returns the body, the other half.

pub mod bootstrap;
pub mod bv;
pub mod gadget;
pub mod key_switch;
pub mod lwe;
pub mod lwe32;
pub mod mod_switch;
pub mod noise;
pub mod packing;
pub mod params;
pub mod response;
pub mod rgsw;
pub mod rlwe;
pub mod rows;
pub mod secret;
pub mod security;
pub mod selection;
mod threads;
pub mod wide;
