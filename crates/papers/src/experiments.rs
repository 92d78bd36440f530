//! The named experiments: parts of schemes, and sets of doubly-efficient PIR.

use std::io::Write;

use papir_core::Progress;
use papir_measure::effort::Effort;
use papir_measure::report::write_json;
use papir_schemes::depir::evaluation::{Points, Tables, Tabulated};
use papir_schemes::depir::structure::levels::Steps;
use serde::Serialize;

use crate::compress::{self, CompressionConfig, CompressionReport};
use crate::depir::{self, DepirConfig, DepirReport};
use crate::newton::intersection::{self, NewtonPsiConfig, NewtonPsiReport};
use crate::newton::{self, NewtonConfig, NewtonReport};
use crate::packing::{self, PackingReport};
use crate::phase0::{self, Phase0Config, Phase0Report};
use crate::{Error, Result};

/// An experiment with its inputs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Experiment<'a> {
    /// Packs LWE encryptions.
    Packing {
        /// Number of encryptions, a multiple of 2048.
        ciphertexts: usize,
    },
    /// Compresses LWE encryptions.
    Compression(CompressionConfig),
    /// Measures NewtonPIR.
    Newton(NewtonConfig),
    /// Measures NewtonPIR's private set intersection.
    NewtonPsi(NewtonPsiConfig),
    /// Measures phase 0 of Pirouette, papir's and the paper's.
    Phase0(Phase0Config),
    /// Measures a parameter set of doubly-efficient PIR.
    Depir(DepirConfig<'a>),
}

/// An experiment with a name.
#[derive(Clone, Copy, Debug)]
pub struct NamedExperiment {
    /// The name on the command line.
    pub name: &'static str,
    /// A one-line description.
    pub what: &'static str,
    /// The experiment.
    pub experiment: Experiment<'static>,
    /// A version that takes about a second, for tests.
    pub tiny: Experiment<'static>,
}

/// All named experiments.
pub const ALL: &[NamedExperiment] = &[
    NamedExperiment {
        name: "packing",
        what: "Table 5 of InsPIRe: 2^12 LWE encryptions by InspiRING and CDKS, with the gadgets of the paper and of papir",
        experiment: Experiment::Packing {
            ciphertexts: 1 << 12,
        },
        tiny: Experiment::Packing {
            ciphertexts: 1 << 11,
        },
    },
    NamedExperiment {
        name: "compress",
        what: "Tables 2 and 3 and Figure 1 of ZipPIR: LWE and RLWE ciphertexts compressed into Paillier's, on one thread",
        experiment: Experiment::Compression(CompressionConfig::FULL),
        tiny: Experiment::Compression(CompressionConfig::TINY),
    },
    NamedExperiment {
        name: "pirouette-phase0",
        what: "Figure 3 of Pirouette, which has no numbers: phase 0 as printed (Algorithms 1 to 3, LWE to RGSW, selector tree) beside papir's, 20 bits",
        experiment: Experiment::Phase0(Phase0Config::FULL),
        tiny: Experiment::Phase0(Phase0Config::TINY),
    },
    NamedExperiment {
        name: "depir-tiny",
        what: "doubly-efficient PIR, the paper's set tiny, on lines; with tables: papir-papers depir --set tiny --tabulated J",
        experiment: Experiment::Depir(DepirConfig::of(depir::Set::Tiny)),
        tiny: Experiment::Depir(DepirConfig::of(depir::Set::Least)),
    },
    NamedExperiment {
        name: "depir-small",
        what: "doubly-efficient PIR, the paper's set small, on lines",
        experiment: Experiment::Depir(DepirConfig::of(depir::Set::Small)),
        tiny: Experiment::Depir(DepirConfig {
            by: Some(WHOLE),
            ..DepirConfig::of(depir::Set::Least)
        }),
    },
    NamedExperiment {
        name: "depir-medium",
        what: "doubly-efficient PIR, as many records as the paper's set medium, on lines (minutes a query)",
        experiment: Experiment::Depir(DepirConfig::of(depir::Set::Medium)),
        tiny: Experiment::Depir(DepirConfig {
            by: Some(WHOLE),
            ..DepirConfig::of(depir::Set::Least)
        }),
    },
    NamedExperiment {
        name: "newton-tables",
        what: "Tables 2, 3 and 4 and Figures 3 and 4 of NewtonPIR, which is NOT PRIVATE",
        experiment: Experiment::Newton(NewtonConfig::FULL),
        tiny: Experiment::Newton(NewtonConfig::TINY),
    },
    NamedExperiment {
        name: "newton-psi",
        what: "NewtonPIR's private set intersection, which is NOT PRIVATE, beside papir's; the paper prints no figures of it",
        experiment: Experiment::NewtonPsi(NewtonPsiConfig::FULL),
        tiny: Experiment::NewtonPsi(NewtonPsiConfig::TINY),
    },
];

/// Tables of all variables, after two reductions.
const WHOLE: Tables = Tables {
    tabulated: Tabulated::All,
    steps: Some(Steps::Two),
    points: Points::OnLines,
};

/// Returns the experiment with this name.
pub fn by_name(name: &str) -> Option<&'static NamedExperiment> {
    ALL.iter().find(|named| named.name == name)
}

/// The result of an experiment.
#[derive(Serialize)]
#[serde(untagged)]
pub enum ExperimentReport {
    /// The report of packing.
    Packing(PackingReport),
    /// The report of compression.
    Compression(CompressionReport),
    /// The report of NewtonPIR.
    Newton(NewtonReport),
    /// The report of NewtonPIR's private set intersection.
    NewtonPsi(NewtonPsiReport),
    /// The report of Pirouette's phase 0.
    Phase0(Phase0Report),
    /// The report of a set of doubly-efficient PIR.
    Depir(DepirReport),
}

/// Runs an experiment.
///
/// # Errors
/// Errors of the measurement.
pub fn perform(
    experiment: Experiment<'_>,
    effort: Effort,
    progress: &dyn Progress,
) -> Result<ExperimentReport> {
    Ok(match experiment {
        Experiment::Packing { ciphertexts } => {
            ExperimentReport::Packing(packing::measure(ciphertexts, effort, progress)?)
        }
        Experiment::Compression(config) => {
            ExperimentReport::Compression(compress::measure(config, effort, progress)?)
        }
        Experiment::Newton(config) => {
            ExperimentReport::Newton(newton::measure(config, effort, progress)?)
        }
        Experiment::NewtonPsi(config) => {
            ExperimentReport::NewtonPsi(intersection::measure(config, effort, progress)?)
        }
        Experiment::Phase0(config) => {
            ExperimentReport::Phase0(phase0::measure(config, effort, progress)?)
        }
        Experiment::Depir(config) => {
            ExperimentReport::Depir(depir::measure(config, effort, progress)?)
        }
    })
}

impl ExperimentReport {
    /// Writes the report as text.
    ///
    /// # Errors
    /// I/O errors from `out`.
    pub fn write_table(&self, out: &mut dyn Write) -> Result<()> {
        match self {
            Self::Packing(report) => report.write_table(out),
            Self::Compression(report) => report.write_table(out),
            Self::Newton(report) => report.write_table(out),
            Self::NewtonPsi(report) => report.write_table(out),
            Self::Phase0(report) => report.write_table(out),
            Self::Depir(report) => report.write_table(out),
        }
    }

    /// Writes the report as one line of JSON.
    ///
    /// # Errors
    /// I/O errors from `out`.
    pub fn write_json(&self, out: &mut dyn Write) -> Result<()> {
        match self {
            Self::Packing(report) => write_json(out, report),
            Self::Compression(report) => write_json(out, report),
            Self::Newton(report) => write_json(out, report),
            Self::NewtonPsi(report) => write_json(out, report),
            Self::Phase0(report) => write_json(out, report),
            Self::Depir(report) => write_json(out, report),
        }
    }

    /// Checks that all results were correct.
    ///
    /// # Errors
    /// [`Error::Wrong`].
    pub fn check(&self) -> Result<()> {
        // Checked after it was written, so that a wrong result is seen and then fails.
        let (part, correct) = match self {
            Self::Packing(report) => (report.part, report.correct),
            Self::Compression(report) => (report.part, report.correct),
            Self::Newton(report) => (report.part, report.correct),
            Self::NewtonPsi(report) => (report.part, report.correct),
            Self::Phase0(report) => (report.part, report.correct),
            Self::Depir(report) => (report.part, report.correct),
        };
        check_correct(part, correct)
    }
}

/// Fails if a result was wrong.
///
/// # Errors
/// [`Error::Wrong`].
pub fn check_correct(what: &str, correct: bool) -> Result<()> {
    if correct {
        return Ok(());
    }
    Err(Error::Wrong {
        what: what.to_owned(),
    })
}
