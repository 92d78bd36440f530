//! A store that cuts its connections in the middle of a snapshot.
#![cfg(unix)]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::spawn;

use rustix::process::Signal;

use crate::support::{Folder, Service, has_metric, send, succeeds, until};

/// Serves the objects of a folder as an S3 server does.
#[derive(Default)]
struct Store {
    /// Set while parts of snapshots are cut half-way.
    cuts: AtomicBool,
    /// Number of parts that were cut.
    cut: AtomicUsize,
}

impl Store {
    /// Serves until the test ends. Returns the store and its address.
    fn start(folder: String) -> (Arc<Self>, String) {
        let store = Arc::new(Self::default());
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let shared = Arc::clone(&store);
        spawn(move || {
            for stream in listener.incoming() {
                // A connection that breaks is the service's to try again.
                let _ = stream.and_then(|stream| shared.reply(&folder, stream));
            }
        });
        (store, address)
    }

    /// Answers one request, and closes the connection.
    fn reply(&self, folder: &str, mut stream: TcpStream) -> std::io::Result<()> {
        let mut lines = BufReader::new(stream.try_clone()?).lines();
        let request = lines.next().transpose()?.unwrap_or_default();
        let headers: Vec<String> = lines
            .map_while(Result::ok)
            .take_while(|line| !line.is_empty())
            .collect();
        let path = request.split(' ').nth(1).unwrap_or_default();
        let Some(bytes) = path
            .strip_prefix("/bucket/")
            .and_then(|key| fs::read(format!("{folder}/{key}")).ok())
        else {
            return stream.write_all(
                b"HTTP/1.1 404 Not Found\r\nconnection: close\r\ncontent-length: 0\r\n\r\n",
            );
        };
        let cut = path.contains(".parts/") && self.cuts.load(Ordering::SeqCst);
        let resumed = headers
            .iter()
            .any(|line| line.to_ascii_lowercase().starts_with("range:"));
        if cut && resumed {
            // The rest of a part that was cut never arrives either.
            return Ok(());
        }
        let head = format!(
            "HTTP/1.1 200 OK\r\nconnection: close\r\netag: \"{}\"\r\nlast-modified: Tue, 01 Sep 2026 00:00:00 GMT\r\n\
             content-length: {}\r\n\r\n",
            bytes.len(),
            bytes.len()
        );
        stream.write_all(head.as_bytes())?;
        let sent = if cut { bytes.len() / 2 } else { bytes.len() };
        self.cut.fetch_add(usize::from(cut), Ordering::SeqCst);
        stream.write_all(&bytes[..sent])
    }
}

#[test]
fn a_refresh_that_is_cut_leaves_the_old_version_and_the_next_one_works() {
    let folder = Folder::new();
    let place = Folder::new();
    let file = format!("file://{}", place.path("words.papir"));
    succeeds(&["push", &folder.words(10, "simple"), &file]);
    let (store, address) = Store::start(place.path(""));
    let environment = [
        ("AWS_ENDPOINT_URL", address.as_str()),
        ("AWS_ALLOW_HTTP", "true"),
        ("AWS_ACCESS_KEY_ID", "test"),
        ("AWS_SECRET_ACCESS_KEY", "test"),
        ("AWS_REGION", "us-east-1"),
    ];
    let cache = folder.path("cache");
    let more = ["--cache", &cache, "--watch", "1"];
    let service = Service::start_in(&environment, &["s3://bucket/words.papir"], &more);
    let get = |key: &str| succeeds(&["get", &service.url, key]);
    let metric = |line: &str| has_metric(&service.url, line);
    assert_eq!(get("key-3"), "value-3");

    store.cuts.store(true, Ordering::SeqCst);
    succeeds(&["push", &folder.words(30, "simple"), &file]);
    send(Signal::HUP, &service);
    until("the load fails", || {
        metric("papir_load_failing{database=\"words\"} 1")
    });
    until("the watch fails, too", || {
        metric("papir_store_failing{database=\"words\"} 1")
    });
    assert!(store.cut.load(Ordering::SeqCst) > 0, "nothing was cut");
    assert_eq!(get("key-3"), "value-3");
    assert_eq!(
        succeeds(&["versions", &service.url]).lines().count(),
        1,
        "the old version is served"
    );

    store.cuts.store(false, Ordering::SeqCst);
    until("the watch loads the new version", || {
        metric("papir_load_failing{database=\"words\"} 0")
    });
    until("the store is back", || {
        metric("papir_store_failing{database=\"words\"} 0")
    });
    assert_eq!(get("key-20"), "value-20");
}
