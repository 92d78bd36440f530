//! From one LWE encryption of an index to what selects a record: Kang and Schild, *Pirouette*, section 3.
//!
//! | module | what | the paper |
//! |---|---|---|
//! | [`lwe`] | extraction, linear operations, the switch to a short key | 2.4.2, 2.4.3 |
//! | [`rotation`] | blind rotation | 2.4.2 |
//! | [`galois`] | automorphisms, traces, expansion | 2.4.2, 2.4.3 |
//! | [`circuit`] | RLWE′ to RGSW | LWEtoRGSW |
//! | [`digits`] | decomposition into digits and bits | Algorithms 1, 2, 3 |
//! | [`selector`] | one-hot RLWE′ encryptions | 3.2 |
//! | [`ring_switch`] | to a smaller ring and modulus | ModSwitch, RingSwitch |
//! | [`noise`] | what each of them adds | |

pub mod circuit;
pub mod digits;
pub mod galois;
pub mod lwe;
pub mod noise;
pub mod ring_switch;
pub mod rotation;
pub mod selector;
