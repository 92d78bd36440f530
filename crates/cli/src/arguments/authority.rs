//! The authority of a service, as clients write it.

use papir_client::core::Address;

/// The host in lower case, and the port unless it is the default one.
pub(crate) fn authority(address: &Address) -> String {
    let host = address.host().to_ascii_lowercase();
    let host = if host.contains(':') {
        format!("[{host}]")
    } else {
        host
    };

    match (address.port(), address.is_https()) {
        (443, true) | (80, false) => host,
        (port, _) => format!("{host}:{port}"),
    }
}
