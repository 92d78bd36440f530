//! A build that exports no traces.

use papir_server::TraceObserver;
use tracing_subscriber::layer::Identity;

use super::Share;
use crate::arguments::network::Network;
use crate::failure::Failure;

/// The export of traces, which this build does not have.
pub(crate) enum Traces {}

impl Traces {
    /// Fails: this build exports no traces.
    pub(crate) fn start(_url: &str, _share: Share, _network: &Network) -> Result<Self, Failure> {
        Err(Failure::new(
            "this build of papir exports no traces: build it with the feature otlp",
        ))
    }

    pub(crate) fn layer(&self) -> Identity {
        match *self {}
    }

    pub(crate) fn observer(&self) -> TraceObserver {
        match *self {}
    }

    pub(crate) fn finish(self) {
        match self {}
    }
}
