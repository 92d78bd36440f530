//! Periodic tasks.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};

use super::app::App;
use crate::background::unless_cancelled;

/// Interval between runs. An expired version is refused at once, and freed within this time.
const INTERVAL: Duration = Duration::from_secs(1);

/// Runs periodic tasks for as long as the service exists.
pub(crate) fn start(app: &Arc<App>) {
    tokio::spawn(repeat(Arc::downgrade(app), tidy));
    // Apart from the rest, since it waits for the disk of a registry that has failed.
    tokio::spawn(repeat(Arc::downgrade(app), recover));
}

/// Frees what has expired, and reads keys of gateways again.
fn tidy(app: &App) {
    app.catalog.expire();
    app.metrics.tidy();
    app.gateway
        .iter()
        .for_each(|gateway| gateway.reload_if_due());
}

/// Notices the recovery of the registry.
fn recover(app: &App) {
    app.registry.iter().for_each(|registry| registry.recover());
}

/// Does `work` on a blocking thread, again and again. The reference is weak: the task must not keep
/// the service alive.
async fn repeat(app: Weak<App>, work: fn(&App)) {
    let mut ticks = interval(INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);

    loop {
        ticks.tick().await;
        let Some(app) = app.upgrade() else { return };

        let running = tokio::task::spawn_blocking(move || work(&app));
        let Some(ended) = unless_cancelled(running.await) else {
            return;
        };
        if let Err(error) = ended {
            tracing::error!(%error, "housekeeping failed");
        }
    }
}
