//! Descriptions of databases, for Python.

use papir_client::aio::Connection;
use papir_client::{Accepted, Costs, DatabaseInfo};
use serde_json::{Value, json};

/// A database and the costs of its client, after the newest lookup.
pub(crate) struct ClientDescription {
    info: DatabaseInfo,
    version: String,
    checkpoint: Option<Accepted>,
    root: Option<String>,
    costs: Costs,
}

impl ClientDescription {
    /// The description of a connection now.
    pub(crate) fn of(connection: &Connection) -> Self {
        let lookup = connection.lookup();
        Self {
            info: connection.info().clone(),
            version: lookup.version().to_string(),
            checkpoint: connection.checkpoint().cloned(),
            root: lookup.root().map(|root| root.to_string()),
            costs: connection.costs(),
        }
    }

    /// JSON for `pypapir._description`. Times are in seconds.
    pub(crate) fn as_json(&self) -> String {
        let Self { info, costs, .. } = self;

        let described = json!({
            "info": {
                "name": info.name,
                "scheme": info.scheme,
                "version": info.version,
                "records": info.records,
                "record_bits": info.record_bits,
                "keyed": info.keyed,
                "max_batch": info.max_batch,
                "private": info.private,
                "sizes": info.sizes,
                "security_bits": info.security_bits,
                "failure_log2": info.failure_log2,
                "parameters": info.parameters,
            },
            "version": self.version,
            "checkpoint": self.checkpoint.as_ref().map(signed),
            "root": self.root,
            "costs": {
                "public_bytes": costs.public_bytes,
                "registration_bytes": costs.registration_bytes,
                "query_bytes": costs.query_bytes,
                "answer_bytes": costs.answer_bytes,
                "requests": costs.requests,
                "fetch_s": costs.fetch.as_secs_f64(),
                "query_s": costs.query.as_secs_f64(),
                "round_trip_s": costs.round_trip.as_secs_f64(),
                "extract_s": costs.extract.as_secs_f64(),
            },
        });
        described.to_string()
    }
}

/// The owner's statement about the version in use.
fn signed(accepted: &Accepted) -> Value {
    json!({
        "owner": accepted.owner.to_string(),
        "sequence": accepted.seen.sequence,
        "cosignatures": accepted.cosignatures,
    })
}
