//! A proxy that counts bytes, like a network observer.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// For each connection, the number of bytes sent in each turn. The turns alternate between client
/// and server, starting with the client.
pub type Traffic = Vec<Vec<usize>>;

/// Relays connections to a service. Its threads end with their connections.
pub struct Proxy {
    pub address: SocketAddr,
    traffic: Arc<Mutex<Traffic>>,
}

impl Proxy {
    pub fn to(target: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let traffic = Arc::new(Mutex::new(Traffic::new()));
        let log = Arc::clone(&traffic);
        thread::spawn(move || {
            for (number, client) in listener.incoming().enumerate() {
                let client = client.unwrap();
                let server = TcpStream::connect(target).unwrap();
                log.lock().unwrap().push(vec![0]);
                relay(
                    client.try_clone().unwrap(),
                    server.try_clone().unwrap(),
                    Arc::clone(&log),
                    number,
                    0,
                );
                relay(server, client, Arc::clone(&log), number, 1);
            }
        });
        Self { address, traffic }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The traffic since the last call. Connections stay open and are still counted.
    pub fn take(&self) -> Traffic {
        self.traffic
            .lock()
            .unwrap()
            .iter_mut()
            .map(|turns| std::mem::replace(turns, vec![0]))
            .collect()
    }

    /// Checks that lookups of these keys have the same traffic: one request each.
    pub fn assert_same_traffic(&self, database: Option<&str>, wanted: &[impl AsRef<[u8]>]) {
        let mut connection = super::open(&self.url(), database).unwrap();
        self.take();

        let mut seen = Vec::new();
        for key in wanted {
            connection.get_key(key.as_ref()).unwrap();
            seen.push(self.take());
        }
        assert!(
            seen[0][0].iter().all(|&bytes| bytes > 0) && seen[0][0].len() == 2,
            "{seen:?}"
        );
        assert!(seen.iter().all(|one| *one == seen[0]), "{seen:?}");
    }
}

/// Copies one direction in a thread. `parity` is 0 for bytes of the client.
fn relay(
    mut from: TcpStream,
    mut to: TcpStream,
    log: Arc<Mutex<Traffic>>,
    number: usize,
    parity: usize,
) {
    thread::spawn(move || {
        let mut buffer = vec![0; 1 << 16];
        while let Ok(count @ 1..) = from.read(&mut buffer) {
            {
                let mut log = log.lock().unwrap();
                let turns = &mut log[number];
                // Even turns are the client's, odd ones the server's.
                if (turns.len() - 1) % 2 != parity {
                    turns.push(0);
                }
                *turns.last_mut().unwrap() += count;
            }
            if to.write_all(&buffer[..count]).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Write);
    });
}
