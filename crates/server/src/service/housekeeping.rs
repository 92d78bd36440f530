//! Periodic tasks.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};

use super::app::App;
use crate::background::unless_cancelled;

/// Interval between runs. An expired version is refused at once, and freed within this time.
const INTERVAL: Duration = Duration::from_secs(1);

/// Runs periodic tasks for as long as the service exists.
pub(crate) fn start(app: &Arc<App>) {
    // A weak reference: the task must not keep the service alive.
    let app = Arc::downgrade(app);
    let mut ticks = interval(INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);

    tokio::spawn(async move {
        loop {
            ticks.tick().await;
            let Some(app) = app.upgrade() else { return };

            let running = tokio::task::spawn_blocking(move || {
                app.catalog.expire();
                app.metrics.tidy();
                app.registry.iter().for_each(|registry| registry.recover());
                app.gateway
                    .iter()
                    .for_each(|gateway| gateway.reload_if_due());
            });
            let Some(ended) = unless_cancelled(running.await) else {
                return;
            };
            if let Err(error) = ended {
                tracing::error!(%error, "housekeeping failed");
            }
        }
    });
}
