//! Schedules: requests of one size at fixed times, filled with dummies.
//!
//! A [`Schedule`] sends one request in each of its slots. The request holds lookups that the user
//! has submitted, and dummies in all other places. The lookups decide neither when a request is
//! sent nor how long it is. A transport drives a schedule with a [`ScheduleRunner`]; the user holds
//! a [`Scheduled`].
//!
//! | file | contents |
//! |---|---|
//! | `slots` | the times of requests |
//! | `promise` | values that arrive later |
//! | `queue` | submitted lookups that wait for a slot |
//! | `batch` | the lookups and dummies of one request |
//! | `scheduled` | the two ends of a schedule: its user's and its transport's |

mod batch;
mod promise;
mod queue;
mod scheduled;
mod slots;

pub use batch::ScheduledBatch;
pub use promise::Awaited;
pub use scheduled::{MAX_KEY_BYTES, MAX_WAITING, Schedule, ScheduleRunner, Scheduled};
pub use slots::{TimeSlot, TimeSlots};
