//! Addresses of the servers of one database.

use clap::Args;

/// The server of a database, and further ones.
#[derive(Args)]
pub(crate) struct ServerArguments {
    /// The server, as http://host:port or unix:/path/of/a/socket, or one of its databases, as
    /// http://host:port/v1/databases/name.
    url: String,
    /// Another server of the same database, used while the first is away, behind or different; may
    /// be repeated. It must have the same database, signed by the same owner or with the same root.
    /// The token is sent to each server that is used.
    #[arg(long, value_name = "URL")]
    also: Vec<String>,
}

impl ServerArguments {
    /// All addresses, in the order in which the servers are tried.
    pub(crate) fn urls(&self) -> Vec<&str> {
        let others = self.also.iter().map(String::as_str);
        std::iter::once(self.url.as_str()).chain(others).collect()
    }
}
