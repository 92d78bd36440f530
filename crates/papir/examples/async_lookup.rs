//! Lookups in an asynchronous program: several at the same time, and one that is given up.
//!
//! `cargo run --release -p papir --features aio --example async_lookup [URL KEY]`

use std::error::Error;
use std::time::Duration;

use papir::aio::Connection;
use papir_server::{BoundServer, Database, Server, ServerConfig};
use tokio::time::timeout;

/// Longest time for one lookup.
const PATIENCE: Duration = Duration::from_secs(30);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [url, key] = arguments.as_slice() {
        return print(url, &[key]).await;
    }
    let server = capitals().await?;
    let url = server.url();
    tokio::spawn(server.serve(std::future::pending()));
    print(&url, &["Peru", "Kenya", "Atlantis"]).await
}

/// Looks up the keys at the same time. Clones of a connection share the public part.
async fn print(url: &str, keys: &[&str]) -> Result<(), Box<dyn Error>> {
    let connection = Connection::open(url, None).await?;
    let lookups: Vec<_> = keys
        .iter()
        .map(|key| {
            let mut connection = connection.clone();
            let key = (*key).to_owned();
            tokio::spawn(async move {
                // A future that is dropped loses nothing: the connection can be used again.
                let found = timeout(PATIENCE, connection.get_key(key.as_bytes())).await;
                (key, found)
            })
        })
        .collect();
    for lookup in lookups {
        let (key, found) = lookup.await?;
        let value = found??.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        println!("{key}  {}", value.as_deref().unwrap_or("not found"));
    }
    Ok(())
}

/// Starts a service on this machine.
async fn capitals() -> Result<BoundServer, Box<dyn Error>> {
    let options = papir::Options {
        scheme: "simple".to_owned(),
        ..papir::Options::default()
    };
    let database = papir::Database::build([("Peru", "Lima"), ("Kenya", "Nairobi")], &options)?;
    let (prepared, layout) = database.into_parts();
    let config = ServerConfig {
        listen: "127.0.0.1:0".parse()?,
        ..ServerConfig::default()
    };
    Ok(Server::bind_loaded(config, vec![Database::new("capitals", prepared, layout)]).await?)
}

#[test]
fn it_runs() -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let server = capitals().await?;
        let url = server.url();
        tokio::spawn(server.serve(std::future::pending()));
        print(&url, &["Peru", "Atlantis"]).await
    })
}
