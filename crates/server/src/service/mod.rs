//! The service: configuration, shared state, query answering, reload and background tasks.
//!
//! | file | contents |
//! |---|---|
//! | `config`, `protection` | settings |
//! | `app` | state shared by all requests |
//! | `answering` | answers query requests in batches |
//! | `reload`, `watch`, `hangup` | loading new snapshots: on request, on file changes, on SIGHUP |
//! | `housekeeping` | periodic tasks |
//! | `gauges` | the text of `GET /metrics` |
//! | `check` | checks a configuration without serving |

mod answering;
mod app;
mod check;
mod config;
mod gauges;
mod hangup;
mod housekeeping;
mod protection;
mod reload;
mod watch;

pub(crate) use answering::AnswerError;
pub(crate) use app::App;
pub use check::check;
pub use config::{QueryObserver, ServerConfig};
pub(crate) use gauges::render as render_metrics;
pub(crate) use hangup::Hangup;
pub(crate) use housekeeping::start as start_housekeeping;
pub use protection::Protection;
pub use reload::ReloadHandle;
pub(crate) use reload::abnormal;
pub(crate) use watch::Watch;
