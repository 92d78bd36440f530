//! The service: settings, shared state, answering, reload, background tasks.
//!
//! | file | contents |
//! |---|---|
//! | `config`, `protection` | settings, and their check without serving |
//! | `app` | state shared by all requests |
//! | `answering` | answers query requests in batches |
//! | `reload`, `watch` | loading new snapshots: on request and on SIGHUP; on file changes |
//! | `running` | a running service and its tasks, without a listener |
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
mod running;
mod state;
mod watch;

pub(crate) use answering::{AnswerError, Answered, Submission};
pub(crate) use app::App;
pub use config::{QueryObserver, ServerConfig, check};
pub(crate) use gauges::render as render_metrics;
pub use protection::Protection;
pub use reload::ReloadHandle;
pub(crate) use reload::{Hangup, abnormal};
pub(crate) use running::Running;
pub use state::{State, StateObserver};
pub(crate) use watch::Watch;
