//! Faults of the files of printed figures.

use crate::Error;

/// A fault of a file of printed figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataFault {
    /// The place, and the value found there.
    pub found: String,
    /// The expected value.
    pub expected: String,
}

impl DataFault {
    /// Creates a fault from displayable values.
    pub(crate) fn new(found: impl ToString, expected: impl ToString) -> Self {
        Self {
            found: found.to_string(),
            expected: expected.to_string(),
        }
    }
}

impl From<DataFault> for Error {
    fn from(fault: DataFault) -> Self {
        Self::usage(fault.found, fault.expected)
    }
}
