//! Clients of each transport, for tests of what stands between a client and its service.

use std::time::Duration;

use papir_client::{Connection, Options, Pin, ProxySetting, Result};

/// Opens a connection, and looks record 3 up.
pub(crate) type Client = fn(&str, &Options) -> Result<Vec<u8>>;

/// A client of each transport, with its name.
pub(crate) const CLIENTS: &[(&str, Client)] = &[
    ("blocking", |url, options| {
        Connection::open_with(url, options)?.get_index(3)
    }),
    #[cfg(feature = "aio")]
    ("aio", asynchronous),
];

/// A runtime for the asynchronous client.
#[cfg(feature = "aio")]
pub(crate) fn runtime() -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build().unwrap()
}

#[cfg(feature = "aio")]
fn asynchronous(url: &str, options: &Options) -> Result<Vec<u8>> {
    runtime().block_on(async {
        let mut connection = papir_client::aio::Connection::open_with(url, options).await?;
        connection.get_index(3).await
    })
}

/// Options of a client that tries each request once, and caches nothing.
pub(crate) fn single_try() -> Options {
    Options {
        pin: Pin::Nothing,
        no_cache: true,
        patience: Some(Duration::ZERO),
        ..Options::default()
    }
    .proxy(ProxySetting::Direct)
}
