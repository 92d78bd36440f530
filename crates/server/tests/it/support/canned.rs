//! A server with canned responses.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// Most bytes of a body without end: a client that reads on would take them all.
const ENDLESS: usize = 64 << 20;

/// A response: status, headers, body, the number of announced bytes that are missing, and whether
/// the body goes on until the client ends the connection.
#[derive(Clone, Default)]
pub struct Canned {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
    pub missing: usize,
    pub endless: bool,
}

/// Answers each `METHOD path` by a function, one request per connection.
pub struct CannedServer {
    pub address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
}

impl CannedServer {
    pub fn start(answer: impl Fn(&str) -> Canned + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&requests);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let Some(request) = read_request(&stream) else {
                    continue;
                };
                log.lock().unwrap().push(request.clone());
                write(&mut stream, &answer(&request));
            }
        });
        Self { address, requests }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Number of requests with this method.
    pub fn count(&self, method: &str) -> usize {
        self.requests
            .lock()
            .unwrap()
            .iter()
            .filter(|request| request.starts_with(method))
            .count()
    }
}

/// Reads a request including its body. Returns "METHOD path".
fn read_request(stream: &TcpStream) -> Option<String> {
    let mut reader = BufReader::new(stream);
    let mut first = String::new();
    let mut length = 0;
    reader.read_line(&mut first).ok()?;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? <= 2 {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    reader.read_exact(&mut vec![0; length]).ok()?;
    Some(first.rsplit_once(" HTTP")?.0.to_owned())
}

fn write(stream: &mut TcpStream, canned: &Canned) {
    let mut head = format!("HTTP/1.1 {} x\r\nconnection: close\r\n", canned.status);
    // Without a length, a body ends with its connection.
    if !canned.endless {
        let length = canned.body.len() + canned.missing;
        head += &format!("content-length: {length}\r\n");
    }
    for (name, value) in &canned.headers {
        head += &format!("{name}: {value}\r\n");
    }
    // A client may close early.
    let _ = stream.write_all(&[head.as_bytes(), b"\r\n", &canned.body].concat());

    let part = [0; 1 << 14];
    let mut more = if canned.endless { ENDLESS } else { 0 };
    while more > 0 && stream.write_all(&part).is_ok() {
        more -= part.len();
    }
}
