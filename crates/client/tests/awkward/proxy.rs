//! A proxy with limits, delays and pages of its own, and a service behind it, on a thread.

use std::io::{BufRead, BufReader, ErrorKind, Read, Result, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread::{self, sleep};
use std::time::Duration;

use papir_client::core::{Method, Response};

use crate::peer::{Call, Peer};

/// The path of the service at the proxy, which the proxy removes.
pub const PREFIX: &str = "/pir";
/// The time after which the proxy ends a connection, in place of 100 s.
pub const CUT: Duration = Duration::from_millis(100);
/// The pause before each buffer of a response.
const PAUSE: Duration = Duration::from_millis(10);
/// The proxy's own page.
const PAGE: &[u8] = b"\n<!DOCTYPE html>\n<html><body>A gateway's page</body></html>\n";

/// Treatment of a request and its response by a proxy.
#[derive(Clone, Copy, Debug)]
pub enum Manner {
    /// Passes both on.
    Passes,
    /// Collects this number of bytes of the response before it sends them on.
    Buffers(usize),
    /// Refuses bodies of more bytes with status 413.
    LimitsBodies(usize),
    /// Ends the connection after [`CUT`], without a response.
    CutsBefore,
    /// Ends the connection after this number of bytes of the response's body, and [`CUT`].
    CutsWithin(usize),
    /// Sends a page of its own with this status and type, in place of the response.
    ShowsPage(u16, &'static str),
}

/// A proxy before a service. Its thread ends with the process.
pub struct FakeProxy {
    /// The address of the service at the proxy.
    pub url: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl FakeProxy {
    /// A proxy that treats requests whose paths end with `route` by `manner`, and passes on all
    /// others. `make` returns the service on the proxy's thread.
    pub fn start(
        route: &'static str,
        manner: Manner,
        make: impl FnOnce() -> Peer + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}{PREFIX}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));

        let record = Arc::clone(&asked);
        thread::spawn(move || {
            let mut carrier = Carrier {
                route,
                manner,
                service: make(),
                asked: record,
            };
            for stream in listener.incoming() {
                // A client may end its connection at any time.
                let _ = carrier.carry(&stream.unwrap());
            }
        });
        Self { url, asked }
    }

    /// The methods and paths of the requests since the last call, as the service sees them.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.asked.lock().unwrap())
    }
}

/// The proxy's thread.
struct Carrier {
    route: &'static str,
    manner: Manner,
    service: Peer,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Carrier {
    /// Carries one request and its response.
    fn carry(&mut self, stream: &TcpStream) -> Result<()> {
        let mut call = read_call(stream)?;
        let Some(path) = call.path.strip_prefix(PREFIX).map(str::to_owned) else {
            return send_page(stream, 404, "text/html");
        };
        call.path = path;
        let line = format!("{} {}", call.method.name(), call.path);
        self.asked.lock().unwrap().push(line);

        match self.manner_of(&call) {
            Manner::ShowsPage(status, media) => send_page(stream, status, media),
            Manner::LimitsBodies(most) if call.body.len() > most => {
                send_page(stream, 413, "text/html")
            }
            Manner::CutsBefore => {
                sleep(CUT);
                Ok(())
            }
            Manner::CutsWithin(bytes) => {
                let response = self.service.receive(&call).unwrap();
                send_part(stream, response, bytes)
            }
            Manner::Buffers(bytes) => {
                let response = self.service.receive(&call).unwrap();
                send_slowly(stream, response, bytes)
            }
            Manner::Passes | Manner::LimitsBodies(_) => {
                let response = self.service.receive(&call).unwrap();
                send_slowly(stream, response, usize::MAX)
            }
        }
    }

    fn manner_of(&self, call: &Call) -> Manner {
        let path = call.path.split('?').next().unwrap();
        match path.ends_with(self.route) {
            true => self.manner,
            false => Manner::Passes,
        }
    }
}

fn read_call(stream: &TcpStream) -> Result<Call> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let mut words = line.split(' ');
    let method = match words.next() {
        Some("GET") => Method::Get,
        Some("POST") => Method::Post,
        Some("PATCH") => Method::Patch,
        Some("DELETE") => Method::Delete,
        // A client may connect and send nothing.
        _ => return Err(ErrorKind::UnexpectedEof.into()),
    };
    let path = words.next().unwrap().to_owned();

    let mut call = Call {
        method,
        path,
        headers: Vec::new(),
        body: Vec::new(),
    };
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(": ") else {
            break;
        };
        call.headers
            .push((name.to_ascii_lowercase(), value.to_owned()));
    }

    let length = call.header("content-length");
    let length = length.map_or(0, |length| length.parse().unwrap());
    call.body = vec![0; length];
    reader.read_exact(&mut call.body)?;
    Ok(call)
}

/// The head of a response with a body of `length` bytes.
fn head(response: &Response, length: usize) -> String {
    let mut lines = vec![format!("HTTP/1.1 {} Reply", response.status)];
    for (name, value) in &response.headers {
        lines.push(format!("{name}: {value}"));
    }
    lines.push(format!("content-length: {length}"));
    lines.push("connection: close\r\n\r\n".to_owned());
    lines.join("\r\n")
}

fn send_page(stream: &TcpStream, status: u16, media: &str) -> Result<()> {
    let page = Response {
        status,
        headers: vec![("content-type".to_owned(), media.to_owned())],
        body: Ok(PAGE.to_vec()),
    };
    send_slowly(stream, page, usize::MAX)
}

/// Sends a response with a pause before each `buffer` bytes of its body.
fn send_slowly(mut stream: &TcpStream, response: Response, buffer: usize) -> Result<()> {
    let head = head(&response, response.body.as_ref().unwrap().len());
    stream.write_all(head.as_bytes())?;
    for part in response.body.unwrap().chunks(buffer) {
        sleep(PAUSE);
        stream.write_all(part)?;
    }
    Ok(())
}

/// Sends a response up to this number of bytes of its body.
fn send_part(mut stream: &TcpStream, response: Response, bytes: usize) -> Result<()> {
    let head = head(&response, response.body.as_ref().unwrap().len());
    stream.write_all(head.as_bytes())?;
    stream.write_all(&response.body.unwrap()[..bytes])?;
    sleep(CUT);
    Ok(())
}
