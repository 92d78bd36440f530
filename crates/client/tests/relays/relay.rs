//! A relay and a gateway in one, on a thread.

use std::io::{BufRead, BufReader, Read, Result, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// A relay that records its requests. Its thread ends with the process.
pub struct FakeRelay {
    /// Its address.
    pub url: String,
    requests: Arc<Mutex<Vec<Received>>>,
}

/// A request to the relay.
#[derive(Clone, Debug)]
pub struct Received {
    /// The method and the path.
    pub target: String,
    /// The lines of the headers, in lower case.
    pub headers: String,
    pub body: Vec<u8>,
}

/// The relay's reply.
pub struct Reply {
    pub status: u16,
    pub media: &'static str,
    pub body: Vec<u8>,
    /// Set if the connection breaks before the last byte.
    pub is_broken: bool,
}

impl Reply {
    pub fn new(status: u16, media: &'static str, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status,
            media,
            body: body.into(),
            is_broken: false,
        }
    }
}

impl FakeRelay {
    /// A relay that answers by the function that `make` returns on the relay's thread.
    pub fn start<F: FnMut(&Received) -> Reply + 'static>(
        make: impl FnOnce() -> F + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/relay", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));

        let record = Arc::clone(&requests);
        thread::spawn(move || {
            let mut answer = make();
            for stream in listener.incoming() {
                // A client may connect and send nothing.
                let Ok(received) = receive(stream.as_ref().unwrap()) else {
                    continue;
                };
                record.lock().unwrap().push(received.clone());
                let _ = send(&stream.unwrap(), &answer(&received));
            }
        });
        Self { url, requests }
    }

    /// The requests since the last call.
    pub fn take(&self) -> Vec<Received> {
        std::mem::take(&mut *self.requests.lock().unwrap())
    }
}

fn receive(stream: &TcpStream) -> Result<Received> {
    let mut reader = BufReader::new(stream);
    let mut target = String::new();
    reader.read_line(&mut target)?;
    let (target, _) = target.split_once(" HTTP/1.1").unwrap_or_default();

    let mut headers = String::new();
    while !headers.ends_with("\r\n\r\n") && headers != "\r\n" {
        if reader.read_line(&mut headers)? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
    }
    let headers = headers.to_ascii_lowercase();

    let length = headers
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
    reader.read_exact(&mut body)?;
    Ok(Received {
        target: target.to_owned(),
        headers,
        body,
    })
}

fn send(mut stream: &TcpStream, reply: &Reply) -> Result<()> {
    let head = format!(
        "HTTP/1.1 {} Reply\r\ncontent-type: {}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        reply.status,
        reply.media,
        reply.body.len()
    );
    stream.write_all(head.as_bytes())?;
    let sent = reply.body.len() - usize::from(reply.is_broken);
    stream.write_all(&reply.body[..sent])
}
