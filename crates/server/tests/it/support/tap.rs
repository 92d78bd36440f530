//! A proxy that observes requests and can cut connections.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// Decision about a request.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Pass,
    Cut,
}

type Hook = Arc<dyn Fn(&str) -> Verdict + Send + Sync>;

/// Relays connections to a service. Its threads end with their connections.
pub struct Tap {
    pub address: SocketAddr,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Tap {
    /// Calls `hook` with the head of each request before the service receives it.
    pub fn new(target: SocketAddr, hook: impl Fn(&str) -> Verdict + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let heads = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&heads);
        let hook: Hook = Arc::new(hook);
        thread::spawn(move || {
            for client in listener.incoming() {
                let client = client.unwrap();
                // If the service was stopped, the client receives no response.
                if let Ok(server) = TcpStream::connect(target) {
                    relay(client, server, Arc::clone(&log), Arc::clone(&hook));
                }
            }
        });
        Self { address, heads }
    }

    pub fn passing(target: SocketAddr) -> Self {
        Self::new(target, |_| Verdict::Pass)
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Heads of the requests since the last call.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.heads.lock().unwrap())
    }

    /// Client and tickets of each query since the last call. A query that was retried because its
    /// ticket was not prepared counts once.
    pub fn queries(&self) -> Vec<(String, String)> {
        let heads = self.take();
        let queries = heads
            .iter()
            .filter(|head| head.starts_with("POST") && head.contains("/query "));
        let mut named: Vec<_> = queries
            .map(|head| (header(head, "papir-client"), header(head, "papir-ticket")))
            .collect();
        named.dedup();
        named
    }
}

/// A header's value.
pub fn header(head: &str, name: &str) -> String {
    let line = head.lines().find_map(|line| {
        line.to_lowercase()
            .strip_prefix(&format!("{name}: "))
            .map(str::to_owned)
    });
    line.unwrap_or_default()
}

fn relay(client: TcpStream, server: TcpStream, log: Arc<Mutex<Vec<String>>>, hook: Hook) {
    let mut from_client = client.try_clone().unwrap();
    let mut to_client = client;
    let mut to_server = server.try_clone().unwrap();
    let mut from_server = server;
    thread::spawn(move || {
        let _ = std::io::copy(&mut from_server, &mut to_client);
        let _ = to_client.shutdown(Shutdown::Both);
    });
    thread::spawn(move || {
        let _ = requests(&mut from_client, &mut to_server, &log, &hook);
        let _ = (
            from_client.shutdown(Shutdown::Both),
            to_server.shutdown(Shutdown::Both),
        );
    });
}

/// Forwards requests until the hook or either side ends the connection.
fn requests(
    from: &mut TcpStream,
    to: &mut TcpStream,
    log: &Mutex<Vec<String>>,
    hook: &Hook,
) -> std::io::Result<()> {
    loop {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            from.read_exact(&mut byte)?;
            head.push(byte[0]);
        }
        let text = String::from_utf8_lossy(&head).into_owned();
        log.lock().unwrap().push(text.clone());
        if hook(&text) == Verdict::Cut {
            return Ok(());
        }
        to.write_all(&head)?;
        let length: u64 = header(&text, "content-length").parse().unwrap_or(0);
        std::io::copy(&mut from.take(length), to)?;
    }
}
