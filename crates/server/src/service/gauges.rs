//! The text of `GET /metrics`: counters, and gauges for the current state.

use std::time::{SystemTime, UNIX_EPOCH};

use super::app::App;
use crate::catalog::{MemoryUse, VersionView, resident};
use crate::error::Error;
use crate::metrics::{self, Recorder};

/// Renders all metrics.
///
/// The gauges are set in a fresh recorder each time, so that expired versions leave no labels
/// behind.
pub(crate) fn render(app: &App) -> Result<String, Error> {
    let state = Recorder::new()?;
    process(&state, app);
    for name in app.catalog.names() {
        let versions = app.catalog.versions(name).unwrap_or_default();
        database(&state, name, &versions);
        if versions
            .first()
            .is_some_and(|newest| newest.database.description().limits.client_keys)
        {
            clients(&state, name, app);
        }
    }
    Ok(sorted(&(app.metrics.render() + &state.render())))
}

fn process(state: &Recorder, app: &App) {
    let load = app.queries.executor.load();
    state.gauge(metrics::QUEUED, &[], load.queued as f64);
    state.gauge(metrics::WAITING, &[], load.waiting as f64);
    state.gauge(metrics::RUNNING, &[], load.running as f64);
    state.gauge(metrics::UPLOAD_BYTES, &[], app.uploads.bytes() as f64);
    state.gauge(metrics::ANSWER_BYTES, &[], app.answers.bytes() as f64);
    state.gauge(
        metrics::READY,
        &[],
        if app.catalog.all().is_ok() { 1.0 } else { 0.0 },
    );
    if let Some(device) = app.catalog.device() {
        state.gauge(
            metrics::DEVICE_LOST,
            &[],
            if device.is_lost() { 1.0 } else { 0.0 },
        );
    }
    if let Some(registry) = &app.registry {
        state.gauge(
            metrics::REGISTRY_FAILING,
            &[],
            if registry.is_failing() { 1.0 } else { 0.0 },
        );
    }
    state.gauge(
        metrics::BUILD,
        &[("version", env!("CARGO_PKG_VERSION"))],
        1.0,
    );
    if let Some(time) = app.guard.tls.as_ref().and_then(|tls| tls.expiry()) {
        state.gauge(metrics::CERTIFICATE_EXPIRY, &[], time as f64);
    }
    if let Some(time) = app
        .guard
        .tokens
        .as_ref()
        .and_then(|tokens| tokens.next_expiry())
    {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        state.gauge(metrics::TOKEN_EXPIRY, &[], since.as_secs_f64());
    }
    if let Some(bytes) = resident() {
        state.gauge(metrics::RESIDENT, &[], bytes as f64);
    }
}

fn database(state: &Recorder, name: &str, versions: &[VersionView]) {
    for VersionView {
        database,
        age,
        left,
    } in versions
    {
        let version = database.version().to_string();
        let newest = if left.is_none() { "true" } else { "false" };
        let scheme = database.description().scheme;
        let labels = [
            ("database", name),
            ("version", &version),
            ("scheme", scheme),
            ("newest", newest),
        ];
        state.gauge(metrics::VERSION, &labels, 1.0);
        state.gauge(metrics::AGE, &labels[..2], age.as_secs_f64());
        if let Some(published) = database.published() {
            let age = SystemTime::now()
                .duration_since(published)
                .unwrap_or_default();
            state.gauge(metrics::DATA_AGE, &labels[..2], age.as_secs_f64());
        }
    }
    let delta = versions.first().and_then(|newest| newest.database.delta());
    state.gauge(
        metrics::DELTA_ENTRIES,
        &[("database", name)],
        delta.map_or(0.0, |delta| delta.entries as f64),
    );
    let held = versions
        .first()
        .map_or(0, |newest| newest.database.device_bytes());
    state.gauge(metrics::DEVICE_BYTES, &[("database", name)], held as f64);
    let unverified = MemoryUse::unverified(versions) as f64;
    state.gauge(metrics::UNVERIFIED, &[("database", name)], unverified);
    for (part, bytes) in MemoryUse::of(versions).parts() {
        state.gauge(
            metrics::DATABASE_BYTES,
            &[("database", name), ("part", part)],
            bytes as f64,
        );
    }
}

/// The registered clients of a database. A registry that cannot be read is skipped: requests that
/// use it report the error.
fn clients(state: &Recorder, name: &str, app: &App) {
    let Some(Ok(counts)) = app.registry.as_ref().map(|registry| registry.counts(name)) else {
        return;
    };
    for (label, count) in [
        ("registered", counts.registered),
        ("uploading", counts.uploading),
    ] {
        state.gauge(
            metrics::CLIENTS,
            &[("database", name), ("state", label)],
            count as f64,
        );
    }
    for (label, count) in [
        ("ready", counts.tickets_ready),
        ("used", counts.tickets_used),
    ] {
        state.gauge(
            metrics::TICKETS,
            &[("database", name), ("state", label)],
            count as f64,
        );
    }
    state.gauge(
        metrics::CLIENT_BYTES,
        &[("database", name)],
        counts.bytes as f64,
    );
}

/// Sorts the text by metric name, for human readers.
fn sorted(text: &str) -> String {
    let mut blocks: Vec<&str> = text
        .split("\n\n")
        .map(str::trim)
        .filter(|block| !block.is_empty())
        .collect();
    blocks.sort_unstable();
    blocks.join("\n\n") + "\n"
}
