//! Admission control: concurrency limits, the request queue and query batching.
//!
//! | file | contents |
//! |---|---|
//! | `executor` | bounds waiting and running requests; owns the answering threads |
//! | `queue` | the request queue: whose turn it is, and which requests form a batch |
//! | `turns` | turns at work that few requests may do at a time |
//! | `places` | places for requests, and who gives one up |
//! | `memory` | memory for bodies and answers |
//! | `limits` | per-client limits as configured, and the key that identifies a client |
//! | `limiter` | per-client rate and concurrency accounting |

mod executor;
mod limiter;
mod limits;
mod memory;
mod places;
mod queue;
mod turns;

pub(crate) use executor::{Capacity, Executor, JobError, Ongoing, Permit, Work, answer_pool, catch_panic};
pub(crate) use limiter::{ClientLimiter, ClientSlot};
pub(crate) use limits::ClientKey;
pub use limits::{ClientLimits, Rate};
pub(crate) use memory::{HeldBytes, Memory};
pub(crate) use queue::Batchable;
pub(crate) use turns::Turns;
