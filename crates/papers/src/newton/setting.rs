//! Parameters and price model of the paper's comparison.

use papir_core::{NotPrivate, Shape};
use papir_research::newton::Symmetric;
use papir_research::newton::params::NewtonParams;

/// Synthetic records need no privacy.
pub(super) const ACKNOWLEDGED: NotPrivate = NotPrivate::acknowledged();
/// Cents per core hour.
const CENTS_PER_HOUR: f64 = 1.0;
/// Cents per GB (10⁹ bytes) of traffic.
const CENTS_PER_GB: f64 = 9.0;

/// Parameters of the symmetric variant, which the paper measures.
pub(super) fn params(
    records: u64,
    record_bits: u64,
) -> Result<NewtonParams<Symmetric>, papir_core::Error> {
    NewtonParams::new(Shape::new(records, record_bits)?, ACKNOWLEDGED)
}

/// Price in cents of an answer that takes `seconds` of one core and transfers `bytes`.
pub(super) fn cents(seconds: f64, bytes: u64) -> f64 {
    CENTS_PER_HOUR * seconds / 3600.0 + CENTS_PER_GB * bytes as f64 / 1e9
}
