//! Messages to systemd: ready, reloading, stopping, and the watchdog's pings.
//!
//! Without `NOTIFY_SOCKET`, which systemd sets for units of `Type=notify`, nothing is sent.

use papir_server::State;

#[cfg(target_os = "linux")]
pub(crate) use linux::{tell, watchdog};
#[cfg(not(target_os = "linux"))]
pub(crate) use other::{tell, watchdog};

#[cfg(target_os = "linux")]
mod linux {
    use std::io;

    use sd_notify::NotifyState;
    use tokio::time::{MissedTickBehavior, interval};

    use super::State;

    /// Reports a state of the service.
    pub(crate) fn tell(state: State) {
        let sent = match state {
            State::Ready => sd_notify::notify(&[NotifyState::Ready]),
            State::Reloading => reloading(),
            State::Stopping => sd_notify::notify(&[NotifyState::Stopping]),
        };
        logged(sent);
    }

    /// Reports a reload, with the time at which it began: systemd 253 and later need it.
    fn reloading() -> io::Result<()> {
        sd_notify::notify(&[NotifyState::Reloading, NotifyState::monotonic_usec_now()?])
    }

    /// Starts the pings of the unit's `WatchdogSec`, at twice the rate that it asks for.
    ///
    /// A task of the runtime sends them, so that they stop if the runtime no longer runs tasks or
    /// timers.
    pub(crate) fn watchdog() {
        let Some(limit) = sd_notify::watchdog_enabled().filter(|limit| !limit.is_zero()) else {
            return;
        };

        // Half of the limit, as systemd recommends: one late ping must not end the service.
        let mut ticks = interval(limit / 2);
        // A machine that was suspended needs one ping, and not all that it missed.
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);

        tokio::spawn(async move {
            loop {
                ticks.tick().await;
                logged(sd_notify::notify(&[NotifyState::Watchdog]));
            }
        });
    }

    /// Logs a failure. The service keeps running if systemd cannot be reached: systemd then
    /// decides.
    fn logged(sent: io::Result<()>) {
        if let Err(error) = sent {
            // Logged only: a service that answers must not end because its supervisor does not hear
            // of it.
            tracing::warn!(%error, "systemd was not notified");
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod other {
    use super::State;

    /// Does nothing: only Linux has systemd.
    pub(crate) fn tell(_: State) {}

    /// Does nothing: only Linux has systemd.
    pub(crate) fn watchdog() {}
}
