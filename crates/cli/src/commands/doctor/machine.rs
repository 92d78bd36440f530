//! Checks of this machine.

use std::time::Duration;

use papir_kernels::Backend;
use papir_server::ServerConfig;

use super::finding::Finding;
use crate::service::open_files;

/// The instructions that answers will use.
pub(super) fn processor() -> Finding {
    // As a service would choose it: the variable may name one that this processor lacks.
    let backend = match Backend::try_from_env() {
        Ok(backend) => backend,
        Err(error) => {
            return Finding::fail("processor", error, "unset PAPIR_BACKEND, or name another");
        }
    };

    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let detail = format!("{threads} threads, instructions: {backend}");

    match backend {
        Backend::PORTABLE => Finding::warn(
            "processor",
            detail,
            "answers take several times as long without vector instructions: a processor with AVX2 or AVX-512",
        ),
        // Set for a measurement and forgotten, it costs a multiple of the time of every answer.
        _ if backend != Backend::detect() => Finding::warn(
            "processor",
            format!("{detail}, and this processor has {}", Backend::detect()),
            "unset PAPIR_BACKEND",
        ),
        _ => Finding::ok("processor", detail),
    }
}

/// The limit on open files, for as many connections as a service allows by default.
pub(super) fn open_files() -> Finding {
    // The default: the limit of the future service is not known here.
    let connections = ServerConfig::default().protection.max_connections;

    match open_files::raise_limit(connections) {
        None => Finding::ok(
            "open files",
            format!("enough for {connections} connections"),
        ),
        Some(reason) => Finding::warn(
            "open files",
            reason,
            "raise the limit, or lower --max-connections",
        ),
    }
}

/// The whole days of a time.
pub(super) fn days(time: Duration) -> u64 {
    time.as_secs() / 86_400
}
