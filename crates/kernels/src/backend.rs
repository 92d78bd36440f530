//! Detection and choice of the instruction set.

use std::fmt;
use std::sync::OnceLock;

#[cfg(target_arch = "x86_64")]
use crate::x86_64::amx::unit::Amx;

/// The environment variable that forces a backend: `portable`, `avx2`, `avx512`, `amx` or `neon`.
pub const BACKEND_VARIABLE: &str = "PAPIR_BACKEND";

/// An instruction set of this CPU.
///
/// A value proves the detection: none can be constructed for instructions that the CPU lacks.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Backend(Isa);

/// Instruction set architecture of a backend.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Isa {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
    /// AVX-512, with tiles for passes that several queries share.
    #[cfg(target_arch = "x86_64")]
    Amx(Amx),
    #[cfg(target_arch = "aarch64")]
    Neon,
}

/// Error from choosing a backend by name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BackendError {
    /// No backend has this name.
    #[error("unknown backend {found:?}: expected portable, avx2, avx512, amx or neon")]
    Unknown {
        /// The given name.
        found: String,
    },
    /// This CPU lacks instructions that the backend needs.
    #[error("backend {name} needs a CPU with {needs}; this one offers {offers}")]
    Unsupported {
        /// The given name.
        name: &'static str,
        /// The CPU features that the backend needs.
        needs: &'static str,
        /// The best backend of this CPU.
        offers: Backend,
    },
}

impl Backend {
    /// The backend that runs on every CPU and defines the results of the kernels.
    pub const PORTABLE: Self = Self(Isa::Portable);

    /// Returns the backend in use: the one that `PAPIR_BACKEND` names if this CPU has it, otherwise
    /// the best one detected. The choice is made once.
    pub fn current() -> Self {
        static CURRENT: OnceLock<Backend> = OnceLock::new();
        // A kernel has nobody to report a wrong name to; programs ask `try_from_env` at startup.
        *CURRENT.get_or_init(|| Self::try_from_env().unwrap_or_else(|_| Self::detect()))
    }

    /// Reads `PAPIR_BACKEND`; if it is unset or empty, returns the best backend detected.
    ///
    /// [`Backend::current`] falls back silently, so programs call this at startup to report errors.
    ///
    /// # Errors
    /// [`BackendError`] if the name is unknown or the CPU lacks the instructions.
    pub fn try_from_env() -> Result<Self, BackendError> {
        match std::env::var_os(BACKEND_VARIABLE) {
            Some(name) if !name.is_empty() => Self::from_name(&name.to_string_lossy()),
            _ => Ok(Self::detect()),
        }
    }

    /// Returns the backend of a name: `portable`, `avx2`, `avx512`, `amx` or `neon`.
    ///
    /// # Errors
    /// [`BackendError`] if the name is unknown or the CPU lacks the instructions.
    pub fn from_name(name: &str) -> Result<Self, BackendError> {
        let (name, needs) = match name {
            "portable" => return Ok(Self::PORTABLE),
            "avx2" => ("avx2", "AVX2, FMA and BMI2"),
            "avx512" => ("avx512", "AVX-512 F, BW, DQ, VL, VNNI, IFMA and VBMI"),
            "amx" => (
                "amx",
                "the instructions of avx512 and AMX int8, in a system that permits tiles",
            ),
            "neon" => ("neon", "an aarch64 CPU with dot products (asimddp)"),
            found => {
                return Err(BackendError::Unknown {
                    found: found.to_owned(),
                });
            }
        };

        let found = Self::available().into_iter().find(|b| b.name() == name);
        found.ok_or_else(|| BackendError::Unsupported {
            name,
            needs,
            offers: Self::detect(),
        })
    }

    /// All backends of this CPU: portable first, the best last.
    pub fn available() -> Vec<Self> {
        let special = special_isas().into_iter().map(Self);
        std::iter::once(Self::PORTABLE).chain(special).collect()
    }

    /// The best backend of this CPU.
    pub fn detect() -> Self {
        Self::available().pop().unwrap_or(Self::PORTABLE)
    }

    /// The name that `PAPIR_BACKEND` uses.
    pub const fn name(self) -> &'static str {
        match self.0 {
            Isa::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => "avx2",
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => "avx512",
            #[cfg(target_arch = "x86_64")]
            Isa::Amx(_) => "amx",
            #[cfg(target_arch = "aarch64")]
            Isa::Neon => "neon",
        }
    }

    /// The instructions of this backend's kernels.
    #[inline]
    pub(crate) const fn isa(self) -> Isa {
        self.0
    }
}

/// The backends of this CPU other than the portable one, the best last.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn special_isas() -> Vec<Isa> {
    Vec::new()
}

/// The backends of this CPU other than the portable one, the best last.
#[cfg(target_arch = "aarch64")]
fn special_isas() -> Vec<Isa> {
    std::arch::is_aarch64_feature_detected!("dotprod")
        .then_some(Isa::Neon)
        .into_iter()
        .collect()
}

/// The backends of this CPU other than the portable one, the best last.
#[cfg(target_arch = "x86_64")]
fn special_isas() -> Vec<Isa> {
    use std::arch::is_x86_feature_detected as has;

    let avx2 = has!("avx2") && has!("fma") && has!("bmi2");
    // The first CPUs with AVX-512 lack VNNI, IFMA or VBMI. There the kernels of AVX2 run.
    let avx512 = avx2
        && has!("avx512f")
        && has!("avx512bw")
        && has!("avx512dq")
        && has!("avx512vl")
        && has!("avx512vnni")
        && has!("avx512ifma")
        && has!("avx512vbmi");

    // In ascending order, since `detect` takes the last one.
    let mut isas = Vec::new();
    isas.extend(avx2.then_some(Isa::Avx2));
    if avx512 {
        isas.push(Isa::Avx512);
        isas.extend(Amx::detect().map(Isa::Amx));
    }
    isas
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Debug for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Backend({})", self.name())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn every_available_backend_is_found_by_its_name() {
        for backend in Backend::available() {
            assert_eq!(Backend::from_name(backend.name()), Ok(backend));
        }
        assert_eq!(Backend::available().first(), Some(&Backend::PORTABLE));
    }

    #[test]
    fn errors_quote_the_unknown_name() {
        let error = Backend::from_name("sse9").unwrap_err();
        assert_eq!(
            error.to_string(),
            "unknown backend \"sse9\": expected portable, avx2, avx512, amx or neon"
        );
    }
}
