//! The form of text sources, and of keys.

use super::encoding::check_text;
use super::row::Fault;

/// The form of a text source, where its format leaves a choice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextForm {
    /// The byte between the fields of CSV and TSV; `None` for a comma, in TSV a tab.
    pub delimiter: Option<u8>,
    /// The first row of CSV or TSV is a row like all others. The names of the columns are then
    /// their numbers, from 1.
    pub no_header: bool,
    /// The text between key and value of pairs, at least a byte; `None` for a colon.
    pub separator: Option<Vec<u8>>,
}

/// The form without choices.
pub(crate) static DEFAULT_TEXT: TextForm = TextForm {
    delimiter: None,
    no_header: false,
    separator: None,
};

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
