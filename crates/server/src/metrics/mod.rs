//! Metrics in the Prometheus text format.
//!
//! Each service has its own recorder, so that several services in one process do not mix. The
//! metrics are listed in `table`.

mod counters;
mod recorder;
mod table;

pub(crate) use counters::{Metrics, Stage, Tally};
pub(crate) use recorder::Recorder;
pub(crate) use table::{
    AGE, ANSWER_BYTES, BUILD, CERTIFICATE_EXPIRY, CLIENT_BYTES, CLIENTS, DATA_AGE, DATABASE_BYTES,
    DELTA_ENTRIES, DESCRIPTION_BYTES, DEVICE_BYTES, DEVICE_LOST, QUEUED, READY, REGISTRY_FAILING,
    REGISTRY_WRITES, RESIDENT, RUNNING, TICKETS, TOKEN_EXPIRY, UNVERIFIED, UPLOAD_BYTES, VERSION,
    WAITING,
};
