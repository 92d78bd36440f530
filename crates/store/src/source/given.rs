//! Rows that a program gives: from its memory, or as it makes them.

use std::fmt;
use std::sync::Arc;

use super::cell::Cell;
use crate::error::Result;

/// The rows of a table in a program.
pub trait GivenRows: Send + Sync {
    /// The names of all columns.
    fn columns(&self) -> Vec<String>;

    /// Number of rows; 0 if it is not known.
    fn count(&self) -> u64 {
        0
    }

    /// Passes the cells of the wanted columns of each row to `on_row`, in the order of `wanted`.
    ///
    /// # Errors
    /// Errors of `on_row` and of the table.
    fn each(&self, wanted: &[&str], on_row: &mut dyn FnMut(Vec<Cell>) -> Result<()>) -> Result<()>;
}

/// The rows of a table, as a source.
#[derive(Clone)]
pub struct Given(pub(super) Arc<dyn GivenRows>);

impl Given {
    /// The rows of a program's table.
    pub fn new(rows: impl GivenRows + 'static) -> Self {
        Self(Arc::new(rows))
    }
}

impl fmt::Debug for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Given({:?})", self.0.columns())
    }
}
