//! Outcome of a subcommand.

use std::fmt;
use std::path::Path;
use std::process::ExitCode;

/// A subcommand's exit code, or a failure, which has exit code 2.
pub(crate) type Outcome = Result<ExitCode, Failure>;

/// A failed command. Always prints as one line.
#[derive(Debug)]
pub(crate) struct Failure(String);

impl Failure {
    /// Creates a failure with this message.
    pub(crate) fn new(message: impl fmt::Display) -> Self {
        let lines: Vec<String> = message.to_string().lines().map(|line| line.trim().to_owned()).collect();
        Self(lines.join(" "))
    }

    /// Creates a failure about a file.
    pub(crate) fn at(path: &Path, error: impl fmt::Display) -> Self {
        Self::new(format!("{}: {error}", path.display()))
    }
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::new(error)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_lines_become_one() {
        assert_eq!(Failure::new("a\n  b\n\nc").to_string(), "a b  c");
    }
}
