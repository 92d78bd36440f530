//! ZipPIR over SimplePIR and over DoublePIR, and the compression of answers that both share.

pub mod compression;
pub mod over_double;
pub mod over_simple;
