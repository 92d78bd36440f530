//! Refills of a wallet ahead of need, at random times.

use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use papir_privacy_pass::TOKENS_PER_BATCH;

use super::offers::AcceptedChallenge;
use crate::core::task::Task;
use crate::error::Result;

/// Number of tokens below which a refill is planned.
pub(super) const FEW_TOKENS: usize = TOKENS_PER_BATCH / 4;
/// Time within which a refill begins. Service and issuer together can only tell that a client that
/// fetches tokens has spent one within this time.
pub(super) const REFILL_WINDOW: Duration = Duration::from_secs(3600);

/// A refill of a wallet, and the time until it begins.
pub struct TokenRefill {
    /// The time until it begins.
    pub wait: Duration,
    /// Fetches a batch, unless there are enough tokens by then.
    pub task: Task<'static, Result<()>>,
}

/// The refill that is wanted or planned, if any. Clones share it, so that one is planned at a time.
#[derive(Clone, Default)]
pub(super) struct RefillPlan(Arc<Mutex<RefillState>>);

#[derive(Default)]
enum RefillState {
    #[default]
    Idle,
    /// Tokens for this challenge run low.
    Wanted(Box<AcceptedChallenge>),
    Planned,
}

/// A planned refill. Another one may be wanted once it is dropped.
pub(super) struct PlannedRefill {
    pub(super) asked: Box<AcceptedChallenge>,
    plan: RefillPlan,
}

impl RefillPlan {
    /// Notes that tokens for a challenge run low.
    pub(super) fn want(&self, asked: &AcceptedChallenge) {
        let mut state = self.state();
        if !matches!(*state, RefillState::Planned) {
            *state = RefillState::Wanted(Box::new(asked.clone()));
        }
    }

    /// Begins the refill that is wanted; `None` if none is, or one is planned.
    pub(super) fn begin(&self) -> Option<PlannedRefill> {
        let mut state = self.state();
        match mem::replace(&mut *state, RefillState::Planned) {
            RefillState::Wanted(asked) => Some(PlannedRefill {
                asked,
                plan: self.clone(),
            }),
            other => {
                *state = other;
                None
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, RefillState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for PlannedRefill {
    fn drop(&mut self) {
        *self.plan.state() = RefillState::Idle;
    }
}
