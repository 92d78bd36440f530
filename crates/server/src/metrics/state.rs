//! The state of a service at the moment of looking, beside its counters.

use super::recorder::Recorder;
use super::table;
use crate::Error;
use crate::api::App;
use crate::memory;
use crate::versions::Standing;

/// The text of `GET /metrics`.
///
/// The state is set in a recorder made for this one look: versions that are gone take their labels
/// with them.
pub(crate) fn render(app: &App) -> Result<String, Error> {
    let state = Recorder::new()?;
    process(&state, app);
    for name in app.catalog.names() {
        // A name of the catalog's own is known to it.
        let standing = app.catalog.standing(name).unwrap_or_default();
        database(&state, name, &standing);
        if standing.first().is_some_and(|newest| newest.database.description().limits.client_keys) {
            clients(&state, name, app);
        }
    }
    Ok(sorted(&(app.metrics.0.render() + &state.render())))
}

fn process(state: &Recorder, app: &App) {
    let load = app.gate.load();
    state.gauge(table::QUEUED, &[], load.queued as f64);
    state.gauge(table::WAITING, &[], load.waiting as f64);
    state.gauge(table::RUNNING, &[], load.running as f64);
    state.gauge(table::READY, &[], if app.catalog.all().is_ok() { 1.0 } else { 0.0 });
    state.gauge(table::BUILD, &[("version", env!("CARGO_PKG_VERSION"))], 1.0);
    if let Some(bytes) = memory::resident() {
        state.gauge(table::RESIDENT, &[], bytes as f64);
    }
}

fn database(state: &Recorder, name: &str, standing: &[Standing]) {
    for Standing { database, age, left } in standing {
        let (version, newest) =
            (database.version().to_string(), if left.is_none() { "true" } else { "false" });
        let scheme = database.info().summary.scheme;
        let labels = [("database", name), ("version", &version), ("scheme", scheme), ("newest", newest)];
        state.gauge(table::VERSION, &labels, 1.0);
        state.gauge(table::AGE, &labels[..2], age.as_secs_f64());
    }
    let memory = memory::of(standing);
    for (part, bytes) in memory.parts() {
        state.gauge(table::DATABASE_BYTES, &[("database", name), ("part", part)], bytes as f64);
    }
}

/// The registered clients of a database. A registry that cannot be read has no figures; whoever
/// uses it hears of that.
fn clients(state: &Recorder, name: &str, app: &App) {
    let Some(Ok(counts)) = app.registry.as_ref().map(|registry| registry.counts(name)) else {
        return;
    };
    for (label, count) in [("registered", counts.registered), ("uploading", counts.uploading)] {
        state.gauge(table::CLIENTS, &[("database", name), ("state", label)], count as f64);
    }
    for (label, count) in [("ready", counts.tickets_ready), ("used", counts.tickets_used)] {
        state.gauge(table::TICKETS, &[("database", name), ("state", label)], count as f64);
    }
    state.gauge(table::CLIENT_BYTES, &[("database", name)], counts.bytes as f64);
}

/// The blocks of the text, one a metric, by name: it is read by people too.
fn sorted(text: &str) -> String {
    let mut blocks: Vec<&str> = text.split("\n\n").map(str::trim).filter(|block| !block.is_empty()).collect();
    blocks.sort_unstable();
    blocks.join("\n\n") + "\n"
}
