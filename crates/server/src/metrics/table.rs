//! What is measured. Names, kinds and labels of every metric at `GET /metrics`:
//!
//! | metric | kind | labels | meaning |
//! |---|---|---|---|
//! | `papir_query_requests_total` | counter | `database`, `code` | Requests for answers by outcome: `ok`, the code of the refusal, or `abandoned` when the client went away |
//! | `papir_queries_total` | counter | `database` | Queries answered; a request holds one to max_batch |
//! | `papir_groups_total` | counter | `database` | Groups of requests that were answered together; one that need not wait is a group by itself |
//! | `papir_received_bytes_total` | counter | `database` | Bytes of query bodies that arrived whole |
//! | `papir_sent_bytes_total` | counter | `database`, `part` | Bytes of bodies sent: `answer`, `public` |
//! | `papir_stage_seconds` | histogram | `database`, `stage` | Time of a request for answers: `read` its body, `wait` for its turn, `answer`, and `total` |
//! | `papir_responses_total` | counter | `route`, `status` | Responses of all routes; other addresses count as route `(unknown)` |
//! | `papir_requests_queued` | gauge | | Requests for answers that upload or wait |
//! | `papir_requests_waiting` | gauge | | Of these, those that are there and wait for their turn |
//! | `papir_requests_running` | gauge | | Requests that are being answered |
//! | `papir_version_info` | gauge | `database`, `version`, `scheme`, `newest` | 1 for each version that is answered |
//! | `papir_version_age_seconds` | gauge | `database`, `version` | Time since the version was put in place |
//! | `papir_loads_total` | counter | `database`, `outcome` | Versions put in place: `ok`, or `failed` with the old one staying |
//! | `papir_database_bytes` | gauge | `database`, `part` | Bytes of all versions that are answered: `mapped` files, `encoded` database, `material`, `hint` |
//! | `papir_clients` | gauge | `database`, `state` | Registered clients: `registered`, and `uploading` their keys |
//! | `papir_tickets` | gauge | `database`, `state` | Tickets of registered clients: `ready`, and `used` ones kept for retries |
//! | `papir_client_bytes` | gauge | `database` | Bytes of registered clients' keys and tickets |
//! | `papir_ready` | gauge | | 1 when all databases are loaded |
//! | `process_resident_memory_bytes` | gauge | | Resident memory of the process, where the system tells |
//! | `papir_build_info` | gauge | `version` | 1, with the program's version |
//!
//! The values of labels are few: names of databases as configured (`(unknown)` for all others), codes,
//! routes and statuses of the interface, and the versions that are answered at the moment.

use Kind::{Counter, Gauge, Histogram};

/// What a metric is to a reader of metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Only grows.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Counts by size.
    Histogram,
}

/// One metric. Its row stands in the table above, with the same words.
#[derive(Debug)]
pub(crate) struct Metric {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) help: &'static str,
}

macro_rules! metrics {
    ($($constant:ident = $kind:ident $name:literal $help:literal;)*) => {
        $(pub(crate) const $constant: Metric = Metric { name: $name, kind: $kind, help: $help };)*
        /// All of them.
        pub(crate) const ALL: &[Metric] = &[$($constant),*];
    };
}

metrics! {
    QUERY_REQUESTS = Counter "papir_query_requests_total"
        "Requests for answers by outcome: `ok`, the code of the refusal, or `abandoned` when the client went away";
    QUERIES = Counter "papir_queries_total" "Queries answered; a request holds one to max_batch";
    GROUPS = Counter "papir_groups_total"
        "Groups of requests that were answered together; one that need not wait is a group by itself";
    RECEIVED = Counter "papir_received_bytes_total" "Bytes of query bodies that arrived whole";
    SENT = Counter "papir_sent_bytes_total" "Bytes of bodies sent: `answer`, `public`";
    STAGE = Histogram "papir_stage_seconds"
        "Time of a request for answers: `read` its body, `wait` for its turn, `answer`, and `total`";
    RESPONSES = Counter "papir_responses_total"
        "Responses of all routes; other addresses count as route `(unknown)`";
    QUEUED = Gauge "papir_requests_queued" "Requests for answers that upload or wait";
    WAITING = Gauge "papir_requests_waiting"
        "Of these, those that are there and wait for their turn";
    RUNNING = Gauge "papir_requests_running" "Requests that are being answered";
    VERSION = Gauge "papir_version_info" "1 for each version that is answered";
    AGE = Gauge "papir_version_age_seconds" "Time since the version was put in place";
    LOADS = Counter "papir_loads_total"
        "Versions put in place: `ok`, or `failed` with the old one staying";
    DATABASE_BYTES = Gauge "papir_database_bytes"
        "Bytes of all versions that are answered: `mapped` files, `encoded` database, `material`, `hint`";
    CLIENTS = Gauge "papir_clients" "Registered clients: `registered`, and `uploading` their keys";
    TICKETS = Gauge "papir_tickets"
        "Tickets of registered clients: `ready`, and `used` ones kept for retries";
    CLIENT_BYTES = Gauge "papir_client_bytes" "Bytes of registered clients' keys and tickets";
    READY = Gauge "papir_ready" "1 when all databases are loaded";
    RESIDENT = Gauge "process_resident_memory_bytes"
        "Resident memory of the process, where the system tells";
    BUILD = Gauge "papir_build_info" "1, with the program's version";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_has_its_row_and_every_row_its_metric() {
        let rows: Vec<&str> =
            include_str!("table.rs").lines().filter_map(|line| line.strip_prefix("//! | `")).collect();
        assert_eq!(rows.len(), ALL.len());
        for (row, metric) in rows.iter().zip(ALL) {
            let kind = format!("{:?}", metric.kind).to_lowercase();
            assert!(row.starts_with(&format!("{}` | {kind} | ", metric.name)), "{row}\n{metric:?}");
            assert!(row.ends_with(&format!(" | {} |", metric.help)), "{row}\n{metric:?}");
        }
    }
}
