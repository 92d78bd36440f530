//! Names, kinds and labels of all metrics at `GET /metrics`.
//!
//! | metric | kind | labels | meaning |
//! |---|---|---|---|
//! | `papir_query_requests_total` | counter | `database`, `code` | Query requests by outcome: `ok`, the error code, or `abandoned` if the client disconnected |
//! | `papir_queries_total` | counter | `database` | Queries answered; a request holds 1 to max_batch queries |
//! | `papir_groups_total` | counter | `database` | Batches of requests answered together; a request that did not wait is its own batch |
//! | `papir_received_bytes_total` | counter | `database` | Bytes of complete query bodies received |
//! | `papir_sent_bytes_total` | counter | `database`, `part` | Bytes of response bodies sent: `answer`, `public` |
//! | `papir_stage_seconds` | histogram | `database`, `stage` | Time of a query request by stage: `read` (body), `wait` (in the queue), `answer`, and `total` |
//! | `papir_responses_total` | counter | `route`, `status` | Responses by route and status; unknown paths count as route `(unknown)` |
//! | `papir_requests_queued` | gauge | | Query requests that have arrived and wait for their tickets or their turn |
//! | `papir_requests_waiting` | gauge | | Query requests that wait for their turn; part of queued |
//! | `papir_requests_running` | gauge | | Query requests being answered |
//! | `papir_upload_bytes` | gauge | | Bytes of bodies that are arriving or waiting |
//! | `papir_answer_bytes` | gauge | | Bytes of answers that are computed or that clients have not received |
//! | `papir_description_bytes` | gauge | | Bytes of descriptions, metrics and other responses that clients have not received |
//! | `papir_version_info` | gauge | `database`, `version`, `scheme`, `newest` | 1 for each answered version |
//! | `papir_version_age_seconds` | gauge | `database`, `version` | Time since the version was loaded |
//! | `papir_data_age_seconds` | gauge | `database`, `version` | Time since the version was signed or, without a signature, built or last updated |
//! | `papir_delta_entries` | gauge | `database` | Changed keys or records in the delta of the newest version; 0 without one |
//! | `papir_change_to_answer_seconds` | histogram | `database` | Time from the arrival of the first change in a delta until the delta is answered |
//! | `papir_unverified_bytes` | gauge | `database` | Bytes of answered snapshots whose checksums are not verified yet |
//! | `papir_loads_total` | counter | `database`, `outcome` | Loads of versions of databases and sets: `ok`, or `failed` if the old version stays |
//! | `papir_load_failing` | gauge | `database` | 1 if the last load of the database or set failed, else 0 |
//! | `papir_store_failing` | gauge | `database` | 1 while the object store of the database cannot be reached, else 0 |
//! | `papir_database_bytes` | gauge | `database`, `part` | Bytes of all answered versions: `snapshot` files, `encoded` database, `material`, `hint` |
//! | `papir_device_bytes` | gauge | `database` | Bytes of the newest version in the memory of the device; 0 if the CPU answers alone |
//! | `papir_device_lost` | gauge | | 1 after the device has failed for good, so that the CPU answers; absent without a device |
//! | `papir_clients` | gauge | `database`, `state` | Clients by state: `registered`, or `uploading` keys |
//! | `papir_tickets` | gauge | `database`, `state` | Tickets by state: `ready`, or `used` and kept for retries |
//! | `papir_client_bytes` | gauge | `database` | Bytes of registered clients' keys and tickets |
//! | `papir_certificate_expiry_timestamp_seconds` | gauge | | Earliest expiry of a certificate in the TLS chain, as Unix time |
//! | `papir_token_expiry_timestamp_seconds` | gauge | | Earliest expiry of a valid token, as Unix time; absent if none expires |
//! | `papir_ready` | gauge | | 1 when all databases are loaded |
//! | `papir_registry_failing` | gauge | | 1 while the client registry cannot be read or changed |
//! | `papir_registry_writes_total` | counter | | Durable writes of the registry, if it is a file |
//! | `papir_tokens_spent_total` | counter | | Spent private tokens; absent if none are demanded |
//! | `process_resident_memory_bytes` | gauge | | Resident memory of the process, if the system reports it |
//! | `papir_build_info` | gauge | `version` | 1, labelled with the program version |
//!
//! Label values are bounded: configured database names (`(unknown)` for all others), codes, routes
//! and statuses of the interface, and the versions that are currently answered.

use MetricType::{Counter, Gauge, Histogram};

/// Prometheus type of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MetricType {
    /// Only increases.
    Counter,
    /// Increases and decreases.
    Gauge,
    /// Counts by bucket.
    Histogram,
}

/// One metric. The table above repeats its help text.
#[derive(Debug)]
pub(crate) struct Metric {
    pub(crate) name: &'static str,
    pub(crate) kind: MetricType,
    pub(crate) help: &'static str,
}

macro_rules! metrics {
    ($($constant:ident = $kind:ident $name:literal $help:literal;)*) => {
        $(pub(crate) const $constant: Metric = Metric { name: $name, kind: $kind, help: $help };)*
        /// All metrics.
        pub(crate) const ALL: &[Metric] = &[$($constant),*];
    };
}

metrics! {
    QUERY_REQUESTS = Counter "papir_query_requests_total"
        "Query requests by outcome: `ok`, the error code, or `abandoned` if the client disconnected";
    QUERIES = Counter "papir_queries_total" "Queries answered; a request holds 1 to max_batch queries";
    GROUPS = Counter "papir_groups_total"
        "Batches of requests answered together; a request that did not wait is its own batch";
    RECEIVED = Counter "papir_received_bytes_total" "Bytes of complete query bodies received";
    SENT = Counter "papir_sent_bytes_total" "Bytes of response bodies sent: `answer`, `public`";
    STAGE = Histogram "papir_stage_seconds"
        "Time of a query request by stage: `read` (body), `wait` (in the queue), `answer`, and `total`";
    RESPONSES = Counter "papir_responses_total"
        "Responses by route and status; unknown paths count as route `(unknown)`";
    QUEUED = Gauge "papir_requests_queued"
        "Query requests that have arrived and wait for their tickets or their turn";
    WAITING = Gauge "papir_requests_waiting"
        "Query requests that wait for their turn; part of queued";
    RUNNING = Gauge "papir_requests_running" "Query requests being answered";
    UPLOAD_BYTES = Gauge "papir_upload_bytes" "Bytes of bodies that are arriving or waiting";
    ANSWER_BYTES = Gauge "papir_answer_bytes"
        "Bytes of answers that are computed or that clients have not received";
    DESCRIPTION_BYTES = Gauge "papir_description_bytes"
        "Bytes of descriptions, metrics and other responses that clients have not received";
    VERSION = Gauge "papir_version_info" "1 for each answered version";
    AGE = Gauge "papir_version_age_seconds" "Time since the version was loaded";
    DATA_AGE = Gauge "papir_data_age_seconds"
        "Time since the version was signed or, without a signature, built or last updated";
    DELTA_ENTRIES = Gauge "papir_delta_entries"
        "Changed keys or records in the delta of the newest version; 0 without one";
    CHANGE_TO_ANSWER = Histogram "papir_change_to_answer_seconds"
        "Time from the arrival of the first change in a delta until the delta is answered";
    UNVERIFIED = Gauge "papir_unverified_bytes"
        "Bytes of answered snapshots whose checksums are not verified yet";
    LOADS = Counter "papir_loads_total"
        "Loads of versions of databases and sets: `ok`, or `failed` if the old version stays";
    LOAD_FAILING = Gauge "papir_load_failing" "1 if the last load of the database or set failed, else 0";
    STORE_FAILING = Gauge "papir_store_failing"
        "1 while the object store of the database cannot be reached, else 0";
    DATABASE_BYTES = Gauge "papir_database_bytes"
        "Bytes of all answered versions: `snapshot` files, `encoded` database, `material`, `hint`";
    DEVICE_BYTES = Gauge "papir_device_bytes"
        "Bytes of the newest version in the memory of the device; 0 if the CPU answers alone";
    DEVICE_LOST = Gauge "papir_device_lost"
        "1 after the device has failed for good, so that the CPU answers; absent without a device";
    CLIENTS = Gauge "papir_clients" "Clients by state: `registered`, or `uploading` keys";
    TICKETS = Gauge "papir_tickets"
        "Tickets by state: `ready`, or `used` and kept for retries";
    CLIENT_BYTES = Gauge "papir_client_bytes" "Bytes of registered clients' keys and tickets";
    CERTIFICATE_EXPIRY = Gauge "papir_certificate_expiry_timestamp_seconds"
        "Earliest expiry of a certificate in the TLS chain, as Unix time";
    TOKEN_EXPIRY = Gauge "papir_token_expiry_timestamp_seconds"
        "Earliest expiry of a valid token, as Unix time; absent if none expires";
    READY = Gauge "papir_ready" "1 when all databases are loaded";
    REGISTRY_FAILING = Gauge "papir_registry_failing"
        "1 while the client registry cannot be read or changed";
    REGISTRY_WRITES = Counter "papir_registry_writes_total"
        "Durable writes of the registry, if it is a file";
    TOKENS_SPENT = Counter "papir_tokens_spent_total"
        "Spent private tokens; absent if none are demanded";
    RESIDENT = Gauge "process_resident_memory_bytes"
        "Resident memory of the process, if the system reports it";
    BUILD = Gauge "papir_build_info" "1, labelled with the program version";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_lists_all_metrics() {
        let rows: Vec<&str> = include_str!("table.rs")
            .lines()
            .filter_map(|line| line.strip_prefix("//! | `"))
            .collect();
        assert_eq!(rows.len(), ALL.len());

        for (row, metric) in rows.iter().zip(ALL) {
            let kind = format!("{:?}", metric.kind).to_lowercase();
            assert!(
                row.starts_with(&format!("{}` | {kind} | ", metric.name)),
                "{row}\n{metric:?}"
            );
            assert!(
                row.ends_with(&format!(" | {} |", metric.help)),
                "{row}\n{metric:?}"
            );
        }
    }
}
