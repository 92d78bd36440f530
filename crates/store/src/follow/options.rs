//! Options of following a source.

use crate::postgres::Login;

use crate::update::UpdateOptions;

/// The rule for rows that cannot be read or do not fit the database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnBadRow {
    /// End with the error that names it.
    #[default]
    Stop,
    /// Leave it out, and report it.
    Skip,
}

/// Options of following a source.
#[derive(Clone, Debug)]
pub struct FollowOptions {
    /// The database (`file`), the source (`changes`), its format and columns, and other options of
    /// a delta.
    pub update: UpdateOptions,
    /// The rule for bad rows.
    pub on_bad: OnBadRow,
    /// Maximum number of bytes of the changes since the base; `None` for
    /// [`MAX_DELTA_BYTES`](papir_lookup::delta::MAX_DELTA_BYTES).
    pub most: Option<u64>,
    /// The slot whose changes are followed, instead of a file or standard input.
    pub slot: Option<SlotOptions>,
}

impl FollowOptions {
    /// Options with every default.
    pub fn new(update: UpdateOptions) -> Self {
        Self {
            update,
            on_bad: OnBadRow::Stop,
            most: None,
            slot: None,
        }
    }
}

/// A slot to follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotOptions {
    /// The server.
    pub login: Login,
    /// The slot's name. Its plugin is `pgoutput`.
    pub slot: String,
    /// The publication of the one table that is followed.
    pub publication: String,
}

impl SlotOptions {
    /// A slot and its publication.
    pub fn new(login: Login, slot: impl Into<String>, publication: impl Into<String>) -> Self {
        Self {
            login,
            slot: slot.into(),
            publication: publication.into(),
        }
    }
}
