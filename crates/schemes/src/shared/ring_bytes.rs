//! Rings and gadgets as bytes of parameters.

use papir_core::Result;
use papir_core::codec::{Reader, Writer};
use papir_lattice::gadget::GadgetParams;
use papir_lattice::params::Literal as RlweLiteral;

/// Appends degree, both primes and σ.
pub(crate) fn write_ring(writer: &mut Writer, rlwe: &RlweLiteral) {
    writer.u32(rlwe.degree as u32).u32(rlwe.primes[0]).u32(rlwe.primes[1]).u64(rlwe.sigma.to_bits());
}

/// Reads what [`write_ring`] wrote.
///
/// # Errors
/// [`papir_core::Error::Length`].
pub(crate) fn read_ring(reader: &mut Reader<'_>) -> Result<RlweLiteral> {
    Ok(RlweLiteral {
        degree: reader.u32()? as usize,
        primes: [reader.u32()?, reader.u32()?],
        sigma: f64::from_bits(reader.u64()?),
    })
}

/// Appends small numbers, a byte each.
pub(crate) fn write_bytes<const N: usize>(writer: &mut Writer, values: [u32; N]) {
    writer.raw(&values.map(|value| value as u8));
}

/// Reads what [`write_bytes`] wrote.
///
/// # Errors
/// [`papir_core::Error::Length`].
pub(crate) fn read_bytes<const N: usize>(reader: &mut Reader<'_>) -> Result<[u32; N]> {
    Ok(reader.array::<N>()?.map(u32::from))
}

/// Digits, log₂ of the base and dropped bits of a gadget, for [`write_bytes`].
pub(crate) fn gadget_values(gadget: GadgetParams) -> [u32; 3] {
    [gadget.levels as u32, gadget.log_base, gadget.drop]
}

/// The gadget of [`gadget_values`].
pub(crate) fn gadget_of([levels, log_base, drop]: [u32; 3]) -> GadgetParams {
    GadgetParams { levels: levels as usize, log_base, drop }
}
