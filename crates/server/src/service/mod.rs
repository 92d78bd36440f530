//! The service: configuration, shared state, query answering, reload and background tasks.
//!
//! | file | contents |
//! |---|---|
//! | `config`, `protection` | settings, and their check without serving |
//! | `app` | state shared by all requests |
//! | `answering` | answers query requests in batches |
//! | `reload`, `watch` | loading new snapshots: on request and on SIGHUP; on file changes |
//! | `state` | states of a running service, for a supervisor |
//! | `housekeeping` | periodic tasks |
//! | `gauges` | the text of `GET /metrics` |

mod answering;
mod app;
mod config;
mod gauges;
mod housekeeping;
mod protection;
mod reload;
mod state;
mod watch;

pub(crate) use answering::AnswerError;
pub(crate) use app::App;
pub use config::{QueryObserver, ServerConfig, check};
pub(crate) use gauges::render as render_metrics;
pub(crate) use housekeeping::start as start_housekeeping;
pub use protection::Protection;
pub use reload::ReloadHandle;
pub(crate) use reload::{Hangup, abnormal};
pub use state::{State, StateObserver};
pub(crate) use watch::Watch;
