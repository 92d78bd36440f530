//! The terms under which a program uses a scheme.

use crate::{NotPrivate, OwnerKey};

/// The terms under which a program uses a scheme; none by default. Encoded parameters contain none
/// of them.
#[derive(Clone, Default)]
pub struct Terms {
    /// The caller's acknowledgement that the scheme need not be private.
    pub acknowledgement: Option<NotPrivate>,
    /// The key of a database's owner.
    pub owner: Option<OwnerKey>,
}

impl Terms {
    /// The acknowledgement alone.
    pub const fn acknowledged(acknowledgement: NotPrivate) -> Self {
        Self {
            acknowledgement: Some(acknowledgement),
            owner: None,
        }
    }

    /// The owner's key alone, if there is one.
    pub const fn owned(owner: Option<OwnerKey>) -> Self {
        Self {
            acknowledgement: None,
            owner,
        }
    }

    /// These terms, and those of `others` that are not among them.
    pub(crate) fn or(&self, others: &Self) -> Self {
        let own = self.clone();
        Self {
            acknowledgement: own.acknowledgement.or(others.acknowledgement),
            owner: own.owner.or_else(|| others.owner.clone()),
        }
    }
}
