//! The database after an update.

use papir_core::erased::ErasedServer;
use papir_lookup::{Commitment, KeyIds, KeywordLayout};

use super::report::Way;
use crate::metadata::KeywordSummary;

/// A database after its changes.
pub(super) struct Next {
    pub(super) server: Box<dyn ErasedServer>,
    pub(super) commitment: Option<Commitment>,
    pub(super) keyword: Option<NextKeys>,
    pub(super) way: Way,
}

/// The keyword table after the changes.
pub(super) struct NextKeys {
    pub(super) layout: KeywordLayout,
    pub(super) ids: KeyIds,
    pub(super) summary: KeywordSummary,
}
