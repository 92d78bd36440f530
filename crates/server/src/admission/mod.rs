//! Admission control: concurrency limits, the request queue and query batching.
//!
//! | file | contents |
//! |---|---|
//! | `executor` | bounds waiting and running requests; owns the answering threads |
//! | `queue` | the request queue: whose turn it is, and which requests form a batch |
//! | `turns` | limits how many requests do a kind of work at once |
//! | `permit` | permission for a request to wait and be answered |
//! | `semaphore` | an amount of places, bytes or turns, and who gives some up |
//! | `memory` | memory for bodies or answers |
//! | `answers` | memory for answers until they are received |
//! | `limits` | per-client limits as configured, and the key that identifies a client |
//! | `limiter` | per-client rate and concurrency accounting |

mod answers;
mod executor;
mod limiter;
mod limits;
mod memory;
mod permit;
mod queue;
mod semaphore;
mod turns;

pub(crate) use answers::{Answers, HeldAnswer, PendingResponse};
pub(crate) use executor::{Capacity, Executor, Ongoing, Work, answer_pool, catch_panic};
pub(crate) use limiter::{ClientLimiter, ClientSlot};
pub(crate) use limits::ClientKey;
pub use limits::{ClientLimits, Rate};
pub(crate) use memory::{HeldBytes, Memory, Relief};
pub(crate) use permit::{JobError, Permit};
pub(crate) use queue::Batchable;
pub(crate) use turns::{Turn, WorkTurns};
