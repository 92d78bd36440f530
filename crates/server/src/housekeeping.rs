//! What must happen although nobody asks for anything.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};

use crate::api::App;

/// How often. Old versions are refused when their time is over, and leave the memory within this.
const EVERY: Duration = Duration::from_secs(1);

/// Tidies up for as long as the service is there.
pub(crate) fn start(app: &Arc<App>) {
    // Not a share of the service: it would never end.
    let app = Arc::downgrade(app);
    let mut ticks = interval(EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    tokio::spawn(async move {
        loop {
            ticks.tick().await;
            let Some(app) = app.upgrade() else { return };
            let tidying = tokio::task::spawn_blocking(move || {
                app.catalog.expire();
                app.metrics.tidy();
            });
            if let Err(error) = tidying.await {
                tracing::error!(%error, "tidying up failed");
            }
        }
    });
}
