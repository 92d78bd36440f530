//! A build that connects to no service of others.

use std::sync::Arc;

use papir_client::Options;
use papir_server::{DirectoryTransport, RelayTransport};

use crate::failure::Failure;

/// Fails: this build forwards no requests.
pub(crate) fn to_gateway(
    url: &str,
    _options: &Options,
) -> Result<Arc<dyn RelayTransport>, Failure> {
    Err(without_feature(&format!("forwards no requests to {url}")))
}

/// Fails: this build asks no issuer.
pub(crate) fn to_issuer(
    url: &str,
    _options: &Options,
) -> Result<Arc<dyn DirectoryTransport>, Failure> {
    Err(without_feature(&format!(
        "asks no issuer, so {url} cannot be one; a file with its directory can"
    )))
}

fn without_feature(lacks: &str) -> Failure {
    Failure::new(format!(
        "this build of papir {lacks}: build it with the feature relay"
    ))
}
