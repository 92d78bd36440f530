//! The form that keys of a source must have.

use super::encoding::check_text;
use super::row::Fault;

/// The form that all keys of a source must have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyForm {
    /// Allows keys of text that are not UTF-8. Clients then look them up by the same bytes.
    pub binary: bool,
}

/// Keys of any form.
pub(crate) static ANY_KEY: KeyForm = KeyForm { binary: true };

impl KeyForm {
    /// Refuses a key of another form. `is_text` states that its source is text.
    pub(super) fn check(&self, key: &[u8], is_text: bool) -> Result<(), Fault> {
        if is_text && !self.binary {
            check_text("the key", key)?;
        }
        Ok(())
    }
}
