//! Bootstrapping: from an encrypted index to an encrypted selector.
//!
//! One LWE encryption of an index becomes the encryptions that select a record: Kang and Schild,
//! *Pirouette*, section 3.
//!
//! | module | contents | section of the paper |
//! |---|---|---|
//! | [`lwe`] | extraction, linear operations, key switching to a short key | 2.4.2, 2.4.3 |
//! | [`rotation`] | blind rotation | 2.4.2 |
//! | [`galois`] | automorphisms, traces, expansion | 2.4.2, 2.4.3 |
//! | [`circuit`] | scheme switching from RLWE′ to RGSW | LWEtoRGSW |
//! | [`digits`] | decomposition into digits and bits | Algorithms 1, 2, 3 |
//! | [`selector`] | one-hot RLWE′ encryptions | 3.2 |
//! | [`ring_switch`] | switching to a smaller ring and modulus | ModSwitch, RingSwitch |
//! | [`noise`] | noise of each operation | |
//!
//! Messages and phases of LWE encryptions are elements of the torus, the reals modulo 1. A *turn*
//! is 1, the period of the torus and of a blind rotation.

pub mod circuit;
pub mod digits;
pub mod galois;
pub mod lwe;
pub mod noise;
pub mod ring_switch;
pub mod rotation;
pub mod selector;
