//! Lattice encryption over `R_q = Z_q[X]/(X^d + 1)` and what is built from it.
//!
//! | module | what | source |
//! |---|---|---|
//! | [`params`], [`security`] | checked parameters, the table of estimates | lattice estimator |
//! | [`secret`], [`rlwe`], [`lwe`] | keys and encryptions under public masks | InsPIRe, section 2 |
//! | [`lwe32`] | LWE at modulus 2³² under negacyclic masks, and products of bytes | SimplePIR, figure 2 |
//! | [`gadget`] | approximate balanced digits | InsPIRe, appendix G.1 |
//! | [`key_switch`], [`rgsw`] | KS.Setup, RGSW encryptions | InsPIRe, section 2 |
//! | [`mod_switch`] | rounding to and from powers of two | InsPIRe, Lemma 9 |
//! | [`selection`] | a matrix of words times an encrypted selector, and its masks | InsPIRe, Algorithm 9, line 7 |
//! | [`packing`] | many LWE encryptions into one RLWE encryption: InspiRING, PartialInspiRING, CDKS | InsPIRe, Algorithms 1 and 2 |
//! | [`response`] | RLWE encryptions in few bits, and what they decrypt to | InsPIRe, Lemma 9 |
//! | [`rows`] | KS.Switch, external product | InsPIRe, section 2 and Lemma 2 |
//! | [`bootstrap`] | blind rotation, traces, circuit bootstrapping, decomposition of LWE messages | Pirouette, section 3 |
//! | [`bv`] | somewhat homomorphic encryption whose operations are those of a ring | Brakerski, Vaikuntanathan 2011 |
//! | [`noise`] | variances and failure probabilities | InsPIRe, Theorems 2, 9, 10 |
//!
//! Every mask (the public, uniform half of an encryption) is expanded from a seed of its own;
//! every function that encrypts takes the mask and gives the other half, the body.

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
