//! Text of `GET /metrics`: counters and gauges.

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
    requests(&state, app);
    process(&state, app);

    for name in app.catalog.names() {
        let versions = app.catalog.versions(name).unwrap_or_default();
        for view in &versions {
            version(&state, name, view);
        }
        database(&state, name, &versions);

        let has_clients = versions
            .first()
            .is_some_and(|newest| newest.database.description().limits.client_keys);
        if has_clients {
            clients(&state, name, app);
        }
    }
    Ok(sorted(&(app.metrics.render() + &state.render())))
}

/// The requests that wait or run, and their memory.
fn requests(state: &Recorder, app: &App) {
    let load = app.queries.executor.load();
    state.gauge(metrics::QUEUED, &[], load.queued as f64);
    state.gauge(metrics::WAITING, &[], load.waiting as f64);
    state.gauge(metrics::RUNNING, &[], load.running as f64);
    state.gauge(metrics::UPLOAD_BYTES, &[], app.uploads.bytes() as f64);
    state.gauge(metrics::ANSWER_BYTES, &[], app.answers.bytes() as f64);
    let descriptions = app.descriptions.bytes() as f64;
    state.gauge(metrics::DESCRIPTION_BYTES, &[], descriptions);
}

/// The state of the process and of its parts.
fn process(state: &Recorder, app: &App) {
    state.flag(metrics::READY, &[], app.catalog.all().is_ok());
    if let Some(device) = app.catalog.device() {
        state.flag(metrics::DEVICE_LOST, &[], device.is_lost());
    }
    if let Some(registry) = &app.registry {
        state.flag(metrics::REGISTRY_FAILING, &[], registry.is_failing());
        // The registry counts, and the fresh counter begins at its number.
        if let Some(writes) = registry.syncs() {
            state.count(metrics::REGISTRY_WRITES, &[], writes);
        }
    }

    let version = ("version", env!("CARGO_PKG_VERSION"));
    state.gauge(metrics::BUILD, &[version], 1.0);

    let expiry = app.guard.tls.as_ref().and_then(|tls| tls.expiry());
    if let Some(time) = expiry {
        state.gauge(metrics::CERTIFICATE_EXPIRY, &[], time as f64);
    }
    let tokens = app.guard.tokens.as_ref();
    if let Some(time) = tokens.and_then(|tokens| tokens.next_expiry()) {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        state.gauge(metrics::TOKEN_EXPIRY, &[], since.as_secs_f64());
    }

    if let Some(bytes) = resident() {
        state.gauge(metrics::RESIDENT, &[], bytes as f64);
    }
}

/// One answered version of a database.
fn version(state: &Recorder, name: &str, view: &VersionView) {
    let database = &view.database;
    let version = database.version().to_string();
    let newest = if view.left.is_none() { "true" } else { "false" };
    let labels = [
        ("database", name),
        ("version", &version),
        ("scheme", database.description().scheme),
        ("newest", newest),
    ];
    state.gauge(metrics::VERSION, &labels, 1.0);

    state.gauge(metrics::AGE, &labels[..2], view.age.as_secs_f64());
    if let Some(published) = database.published() {
        let age = SystemTime::now()
            .duration_since(published)
            .unwrap_or_default();
        state.gauge(metrics::DATA_AGE, &labels[..2], age.as_secs_f64());
    }
}

/// The newest version of a database, and the memory of all its versions.
fn database(state: &Recorder, name: &str, versions: &[VersionView]) {
    let label = ("database", name);
    let newest = versions.first().map(|newest| &newest.database);

    let delta = newest.and_then(|newest| newest.delta());
    let entries = delta.map_or(0, |delta| delta.entries);
    state.gauge(metrics::DELTA_ENTRIES, &[label], entries as f64);

    let held = newest.map_or(0, |newest| newest.device_bytes());
    state.gauge(metrics::DEVICE_BYTES, &[label], held as f64);

    let unverified = MemoryUse::unverified(versions);
    state.gauge(metrics::UNVERIFIED, &[label], unverified as f64);

    for (part, bytes) in MemoryUse::of(versions).parts() {
        let labels = [label, ("part", part)];
        state.gauge(metrics::DATABASE_BYTES, &labels, bytes as f64);
    }
}

/// The registered clients of a database. A registry that cannot be read is skipped: requests that
/// use it report the error.
fn clients(state: &Recorder, name: &str, app: &App) {
    let Some(Ok(counts)) = app.registry.as_ref().map(|registry| registry.counts(name)) else {
        return;
    };
    let database = ("database", name);

    for (label, count) in [
        ("registered", counts.registered),
        ("uploading", counts.uploading),
    ] {
        let labels = [database, ("state", label)];
        state.gauge(metrics::CLIENTS, &labels, count as f64);
    }

    for (label, count) in [
        ("ready", counts.tickets_ready),
        ("used", counts.tickets_used),
    ] {
        let labels = [database, ("state", label)];
        state.gauge(metrics::TICKETS, &labels, count as f64);
    }

    state.gauge(metrics::CLIENT_BYTES, &[database], counts.bytes as f64);
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
