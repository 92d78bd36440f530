//! Figures of the paper's Table 5 and section 7.4.

use serde::Serialize;

use crate::Result;
use crate::printed::{self, RowFigures};

/// Figures printed in the paper's Table 5 and section 7.4. KB are 2¹⁰ bytes.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Printed {
    /// Key material in KB.
    pub key_kb: u32,
    /// Offline time in s.
    pub offline_s: f64,
    /// Online time in ms.
    pub online_ms: f64,
    /// log₂ of the largest error, if printed.
    pub noise_max_log2: Option<f64>,
}

/// A column of Table 5 that papir does not implement.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Quoted {
    /// The packing method.
    pub name: &'static str,
    /// d: the dimension of each encryption.
    pub degree: usize,
    /// log₂ q.
    pub modulus_log2: f64,
    /// KB of the packed encryptions.
    pub packed_kb: u32,
    /// The other figures.
    pub paper: Printed,
}

impl Printed {
    /// The figures of a row of Table 5.
    pub(super) fn of(row: &str) -> Result<Self> {
        let costs = RowFigures::of(printed::table(printed::INSPIRE, "Table 5")?, row)?;

        // The text has the errors of two methods only.
        let noise = printed::table(printed::INSPIRE, "section 7.4")?;
        let noise = noise.rows.iter().find(|one| one.row == row).map(|row| {
            let errors = RowFigures::new(noise, row);
            errors.number("bits of the largest error", "")
        });

        Ok(Self {
            key_kb: costs.number("Key Material", "KB")? as u32,
            offline_s: costs.number("Offline Runtime", "s")?,
            online_ms: costs.number("Online Runtime", "ms")?,
            noise_max_log2: noise.transpose()?,
        })
    }
}

impl Quoted {
    /// A row of Table 5, quoted whole.
    pub(super) fn of(row: &'static str) -> Result<Self> {
        let figures = RowFigures::of(printed::table(printed::INSPIRE, "Table 5")?, row)?;
        Ok(Self {
            name: row,
            degree: 1 << figures.count("log2 d")?,
            modulus_log2: figures.number("log2 q", "")?,
            packed_kb: figures.number("Packed Size", "KB")? as u32,
            paper: Printed::of(row)?,
        })
    }
}
