//! Converts panics of readers of other crates into errors.

use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs a step of a reader that detects some damage by assertions. Returns the text of its error or
/// panic.
pub(super) fn catch_panic<T, E: Display>(step: impl FnOnce() -> Result<T, E>) -> Result<T, String> {
    match catch_unwind(AssertUnwindSafe(step)) {
        Ok(result) => result.map_err(|error| error.to_string()),
        Err(panic) => {
            let words = panic.downcast_ref::<String>().map(String::as_str);
            let words = words
                .or_else(|| panic.downcast_ref::<&str>().copied())
                .unwrap_or("damaged");
            Err(format!("damaged: {words}"))
        }
    }
}
