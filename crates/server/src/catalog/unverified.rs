//! Verification of snapshots that are already served.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use papir_store::Verifier;

use super::base::Base;

/// A snapshot whose chunks are verified while it is served.
pub(crate) struct Unverified {
    pub(crate) name: String,
    verifier: Verifier,
    base: Weak<Base>,
}

impl Unverified {
    /// Takes the verification of a snapshot; `None` if it is verified, or being verified.
    pub(super) fn of(base: &Arc<Base>) -> Option<Self> {
        let verifier = base.take_verifier()?;
        Some(Self {
            name: base.name.clone(),
            verifier,
            base: Arc::downgrade(base),
        })
    }

    /// Verifies the snapshot, and that the owner signed its public part, on this thread. Ends
    /// early, and returns false, when it is no longer served, or when `go_on` returns false. An
    /// error names the damaged place.
    pub(crate) fn verify(&self, go_on: &dyn Fn() -> bool) -> papir_store::Result<bool> {
        if let Some(base) = self.base.upgrade() {
            self.verifier.check_public_part(&base.public_part())?;
        }

        self.verifier.run(&mut |bytes| {
            let served = self.base.upgrade();
            if let Some(base) = &served {
                base.unverified.fetch_sub(bytes, Ordering::Relaxed);
            }
            served.is_some() && go_on()
        })
    }

    /// Returns whether this is the snapshot; false once it is no longer served.
    pub(super) fn is(&self, base: &Arc<Base>) -> bool {
        std::ptr::eq(self.base.as_ptr(), Arc::as_ptr(base))
    }
}
