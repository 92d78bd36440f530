//! Parameters common to all databases: rings, short keys, gadgets.
//!
//! One client's keys serve every database.
//!
//! A test searches a grid of gadgets whose computed noise closes, over databases from 256 MiB to 8
//! GiB. Of the gadgets within a twentieth of the least work, the ones here have the smallest keys.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, PoisonError};

use papir_core::{Privacy, Result};
use papir_lattice::bootstrap::lwe::SwitchParams;
use papir_lattice::gadget::GadgetParams;
use papir_lattice::noise::Setting;
use papir_lattice::security::{self, Row, Secret};
use papir_lattice::wide::{Gadget, RlweParams};
use papir_ring::CyclotomicRing;
use papir_ring::sample::{Gaussian, SIGMAS};
use papir_ring::wide::Ring;

use crate::shared::parameters::refused;

/// A parameter set: the lengths of the short keys, and the names of the schemes that use them.
pub trait ParameterSet: Copy + Debug + Send + Sync + 'static {
    /// Name of the scheme on the command line.
    const NAME: &'static str;
    /// Number of the scheme on the wire.
    const ID: u16;
    /// Name and number of the scheme over encrypted databases.
    const ENCRYPTED: (&'static str, u16);
    /// Privacy of the schemes. It is private if the keys are long enough.
    const PRIVACY: Privacy;
    /// Numbers of bits of the key for bits and of the key for digits.
    const DIMENSIONS: [usize; 2];
}

/// Parameter set with keys of 648 and 840 bits.
#[derive(Clone, Copy, Debug)]
pub struct Standard;

impl ParameterSet for Standard {
    const NAME: &'static str = "pirouette";
    const ID: u16 = 14;
    const ENCRYPTED: (&'static str, u16) = ("pirouette-encrypted", 16);
    const PRIVACY: Privacy = Privacy::Private;
    const DIMENSIONS: [usize; 2] = [648, 840];
}

/// Ring degree d, which is N in the paper.
pub const DEGREE: usize = 2048;
/// log₂ d.
pub(crate) const LOG2_DEGREE: u32 = 11;
/// Degree N₁ of the response ring.
pub const RESPONSE_DEGREE: usize = 1024;
/// log₂ of the plaintext modulus p.
pub const LOG2_P: u32 = 8;
/// Number of exponents of X in one turn: 2d.
pub(super) const ORDER: u32 = 2 * DEGREE as u32;
/// Number of outputs of one rotation for a bit. They are the neighbouring coefficients that stand
/// for one step.
pub(crate) const OUTPUTS: usize = 8;
/// log₂ of the number of values of the digit that rotates a box.
pub(super) const LOG2_DIGIT: u32 = 4;
/// Number of key switches from a rotated box to its selectors: a trace to the digit's places, then
/// an expansion of these.
pub(super) const BOX_SWITCHES: u32 = LOG2_DEGREE - LOG2_DIGIT + (1 << LOG2_DIGIT) - 1;
/// log₂ of the query's modulus.
pub(super) const LOG2_QUERY: u32 = 32;
/// Standard deviation of the query's error.
pub const QUERY_SIGMA: f64 = 3.19;
/// Standard deviation of the ring's error and of encrypted records' errors.
pub(crate) const RECORD_SIGMA: f64 = 3.19;

// The tails of their samples are bounded ([`papir_ring::sample::EXCESS`]).
const _: () =
    assert!(RECORD_SIGMA == SIGMAS[0] && QUERY_SIGMA == SIGMAS[0] && RESPONSE_SIGMA == SIGMAS[2]);

/// Modulus q of the ring: the largest prime below 2⁵⁰ that is 1 modulo 2¹². Secrets are ternary.
pub const PRIME: u64 = (1 << LOG2_Q) - 16_383;
/// Largest mean square of the ring key's coefficients: three standard deviations of a sum of 2048
/// bits above 2/3. Heavier keys, about one in a thousand, are drawn again.
pub(crate) const TERNARY: f64 = 1.05 * 2.0 / 3.0;
/// Number of bits of q.
pub(super) const LOG2_Q: u32 = 50;
/// Number of bits to which elements of the ring's keys are rounded.
pub(super) const KEY_BITS: u32 = 49;
/// Modulus q₁ of the response ring: a prime below 2²⁸ that is 1 modulo 2¹¹. Secrets are like the
/// error.
pub const RESPONSE_PRIME: u64 = 226_510_849;
/// Standard deviation of the response ring's error.
const RESPONSE_SIGMA: f64 = 6.4;
/// Largest mean square of the response key's coefficients: three standard deviations of a sum of
/// 1024 squares above the mean. Heavier keys are drawn again.
pub(crate) const RESPONSE_WEIGHT: f64 = 1.14 * RESPONSE_SIGMA * RESPONSE_SIGMA;
/// Number of bits to which elements of the response ring's keys are rounded.
pub(super) const RESPONSE_KEY_BITS: u32 = 27;

/// Short keys for single bits and for digits, without their lengths.
const SHORT: [SwitchParams; 2] = [
    SwitchParams {
        dimension: 0,
        log2_q: 15,
        sigma: 3.19,
        log_base: 2,
    },
    SwitchParams {
        dimension: 0,
        log2_q: 20,
        sigma: 3.19,
        log_base: 2,
    },
];

/// Gadget of RGSW(bits of the short key for digits).
const DIGITS_GADGET: GadgetParams = GadgetParams {
    levels: 3,
    log_base: 12,
    drop: 14,
};

/// Granularity of the keys that make gates. It sets the size of the keys and the least number of
/// digits of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grain {
    /// Small keys, for gates of more digits.
    Coarse,
    /// Keys that are a third larger, for gates of three digits in databases with many gates.
    Fine,
}

impl Grain {
    /// Returns the gadget of RGSW(bits of the short key for bits).
    const fn bits(self) -> GadgetParams {
        match self {
            Self::Coarse => GadgetParams {
                levels: 3,
                log_base: 12,
                drop: 14,
            },
            Self::Fine => GadgetParams {
                levels: 4,
                log_base: 9,
                drop: 14,
            },
        }
    }

    /// Returns the gadget of the automorphism keys and of RLWE′(s²).
    const fn conversion(self) -> GadgetParams {
        match self {
            Self::Coarse => GadgetParams {
                levels: 7,
                log_base: 6,
                drop: 8,
            },
            Self::Fine => GadgetParams {
                levels: 9,
                log_base: 5,
                drop: 5,
            },
        }
    }
}

/// Gadget of the keys to the response ring.
const RING_SWITCH: GadgetParams = GadgetParams {
    levels: 7,
    log_base: 4,
    drop: 0,
};

/// Parameters of a short key: of the switch to it, and of the rotation by it.
#[derive(Clone, Debug)]
pub(crate) struct ShortParams {
    pub(crate) switch: SwitchParams,
    pub(super) error: Gaussian,
    pub(crate) gadget: Gadget,
}

impl ShortParams {
    fn new(
        scheme: &'static str,
        rlwe: &RlweParams,
        switch: SwitchParams,
        gadget: GadgetParams,
    ) -> Result<Self> {
        let error = Gaussian::new(switch.sigma).map_err(refused(scheme))?;

        Ok(Self {
            switch,
            error,
            gadget: with_table(scheme, rlwe, gadget)?,
        })
    }
}

/// Creates a gadget with its table for a ring.
fn with_table(scheme: &'static str, params: &RlweParams, gadget: GadgetParams) -> Result<Gadget> {
    Gadget::new(params.ring(), gadget).map_err(refused(scheme))
}

/// The common parameters with their tables.
#[derive(Debug)]
pub struct Chain {
    pub(crate) rlwe: RlweParams,
    pub(crate) response: RlweParams,
    pub(crate) bits: ShortParams,
    pub(super) digits: ShortParams,
    /// Gadget for automorphisms and s².
    pub(crate) conversion: Gadget,
    pub(crate) ring_switch: Gadget,
    pub(super) query_error: Gaussian,
    /// Weakest security estimate of everything published, or `None` for keys that tests shorten.
    pub(super) weakest: Option<&'static Row>,
}

impl Chain {
    /// Returns the chain for a parameter set. It is built once. Fails if the constants of this
    /// module are inconsistent or insecure.
    pub(crate) fn get<T: ParameterSet>(grain: Grain) -> Result<Arc<Self>> {
        type Chains = BTreeMap<([usize; 2], Grain), Arc<Chain>>;
        static CHAINS: Mutex<Chains> = Mutex::new(BTreeMap::new());

        // Locked until the chain is there, so that it is built once.
        let mut chains = CHAINS.lock().unwrap_or_else(PoisonError::into_inner);
        let place = (T::DIMENSIONS, grain);
        if let Some(chain) = chains.get(&place) {
            return Ok(Arc::clone(chain));
        }

        let chain = Arc::new(Self::new::<T>(grain)?);
        chains.insert(place, Arc::clone(&chain));
        Ok(chain)
    }

    fn new<T: ParameterSet>(grain: Grain) -> Result<Self> {
        let rlwe = Ring::new(DEGREE, PRIME).map_err(refused(T::NAME))?;
        let response = Ring::new(RESPONSE_DEGREE, RESPONSE_PRIME).map_err(refused(T::NAME))?;
        let rlwe =
            RlweParams::over(rlwe, Secret::Ternary, RECORD_SIGMA).map_err(refused(T::NAME))?;
        let response = RlweParams::over(response, Secret::ErrorLike, RESPONSE_SIGMA)
            .map_err(refused(T::NAME))?;

        let [bits, digits] = [0, 1].map(|i| SwitchParams {
            dimension: T::DIMENSIONS[i],
            ..SHORT[i]
        });
        let weakest = match T::PRIVACY {
            Privacy::Private => weakest(T::NAME, [&bits, &digits], [&rlwe, &response])?,
            Privacy::NotPrivate(_) => None,
        };

        Ok(Self {
            bits: ShortParams::new(T::NAME, &rlwe, bits, grain.bits())?,
            digits: ShortParams::new(T::NAME, &rlwe, digits, DIGITS_GADGET)?,
            conversion: with_table(T::NAME, &rlwe, grain.conversion())?,
            ring_switch: with_table(T::NAME, &response, RING_SWITCH)?,
            query_error: Gaussian::new(QUERY_SIGMA).map_err(refused(T::NAME))?,
            rlwe,
            response,
            weakest,
        })
    }

    /// Returns the short key for bits (0) or for digits (1).
    pub(super) fn short(&self, which: usize) -> &ShortParams {
        if which == 0 { &self.bits } else { &self.digits }
    }

    /// Returns the ring R_q.
    pub(crate) fn ring(&self) -> &Ring {
        self.rlwe.ring()
    }

    /// Returns the noise setting of the ring.
    pub(crate) fn setting(&self) -> Setting {
        Setting {
            degree: DEGREE,
            modulus: self.ring().modulus() as f64,
            secret: TERNARY,
            sigma: RECORD_SIGMA,
            key_bits: KEY_BITS,
        }
    }

    /// Returns the noise setting of the response ring.
    pub(crate) fn response_setting(&self) -> Setting {
        let modulus = self.response.ring().modulus() as f64;
        Setting::error_like(RESPONSE_DEGREE, modulus, RESPONSE_SIGMA, RESPONSE_KEY_BITS)
    }
}

/// Returns the weakest security estimate of everything published. Fails below 128 bits.
fn weakest(
    scheme: &'static str,
    short: [&SwitchParams; 2],
    rings: [&RlweParams; 2],
) -> Result<Option<&'static Row>> {
    // Queries are under the ring's key, but at 2³², where a sample is weaker than at q.
    let query = security::require_128(DEGREE, f64::from(LOG2_QUERY), Secret::Ternary, QUERY_SIGMA);
    let all = [
        query.map_err(refused(scheme))?,
        // Rotation keys, automorphisms, s².
        ring_estimate(scheme, rings[0])?,
        // Switches to the short keys.
        short_estimate(scheme, short[0])?,
        short_estimate(scheme, short[1])?,
        // Switch to the response ring, answers.
        ring_estimate(scheme, rings[1])?,
    ];

    Ok(all.into_iter().min_by(|a, b| a.matzov.total_cmp(&b.matzov)))
}

/// Returns the security estimate of samples under a short key. Fails below 128 bits.
fn short_estimate(scheme: &'static str, params: &SwitchParams) -> Result<&'static Row> {
    let SwitchParams {
        dimension,
        log2_q,
        sigma,
        ..
    } = *params;

    security::require_128(dimension, f64::from(log2_q), Secret::Binary, sigma)
        .map_err(refused(scheme))
}

/// Returns the security estimate of samples in a ring. Fails if there is none.
fn ring_estimate(scheme: &'static str, params: &RlweParams) -> Result<&'static Row> {
    params
        .security()
        .ok_or_else(|| refused(scheme)("a ring without an estimate"))
}

/// Returns x/2 modulo an odd q.
pub(crate) fn half_modulo(x: u64, q: u64) -> u64 {
    if x.is_multiple_of(2) {
        x / 2
    } else {
        x / 2 + q.div_ceil(2)
    }
}
