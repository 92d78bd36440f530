//! A proxy that records what it is asked for: SOCKS5, and HTTP.

use std::io::{Read, Result, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// A host that the proxy alone knows: no resolver has names below `invalid` (RFC 2606).
pub const HOST: &str = "papir.invalid";
/// The login of a proxy that asks for one, as in an address.
pub const LOGIN: &str = "name:pass%3Aword";
/// The same login for SOCKS5: name and password.
const SOCKS_LOGIN: [&[u8]; 2] = [b"name", b"pass:word"];
/// The same login for HTTP, in base64.
const HTTP_LOGIN: &str = "Basic bmFtZTpwYXNzOndvcmQ=";

/// Relays connections to [`HOST`], whatever the port, to a service, and refuses all others. Its
/// threads end with their connections.
pub struct RecordingProxy {
    /// The proxy's own address.
    pub address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

/// Settings of every connection to the proxy.
#[derive(Clone)]
struct RelayedTo {
    service: SocketAddr,
    login: bool,
    asked: Arc<Mutex<Vec<String>>>,
}

impl RecordingProxy {
    /// A proxy that everybody may use.
    pub fn to(service: SocketAddr) -> Self {
        Self::start(service, false)
    }

    /// A proxy that asks for [`LOGIN`].
    pub fn with_login(service: SocketAddr) -> Self {
        Self::start(service, true)
    }

    fn start(service: SocketAddr, login: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let relay = RelayedTo {
            service,
            login,
            asked: Arc::clone(&asked),
        };

        thread::spawn(move || {
            for client in listener.incoming() {
                let relay = relay.clone();
                // A client may close its connection at any time.
                thread::spawn(move || drop(relay.serve(client.unwrap())));
            }
        });
        Self { address, asked }
    }

    /// The kind and the target of each connection since the last call, such as `socks5
    /// papir.invalid:80`, `connect papir.invalid:443` or `get papir.invalid:80`. The last is a
    /// request over plain HTTP.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.asked.lock().unwrap())
    }
}

impl RelayedTo {
    fn serve(&self, mut client: TcpStream) -> Result<()> {
        let mut first = [0];
        client.read_exact(&mut first)?;
        match first {
            [5] => self.socks(client),
            _ => self.http(client, first[0]),
        }
    }

    /// SOCKS5 (RFC 1928), after its first byte.
    fn socks(&self, mut client: TcpStream) -> Result<()> {
        let methods = counted(&mut client)?;
        let method = if self.login { 2 } else { 0 };
        if !methods.contains(&method) {
            self.note("socks5 without login");
            return client.write_all(&[5, 0xff]);
        }

        client.write_all(&[5, method])?;
        if self.login {
            // The version of the login (RFC 1929).
            client.read_exact(&mut [0])?;
            let login = [counted(&mut client)?, counted(&mut client)?];
            if login != SOCKS_LOGIN {
                self.note("socks5 with a bad login");
                return client.write_all(&[1, 1]);
            }
            client.write_all(&[1, 0])?;
        }

        let mut request = [0; 4];
        client.read_exact(&mut request)?;
        let host = match request[3] {
            3 => String::from_utf8_lossy(&counted(&mut client)?).into_owned(),
            // An address: the client has resolved the name itself.
            kind => {
                let mut address = vec![0; if kind == 1 { 4 } else { 16 }];
                client.read_exact(&mut address)?;
                format!("address of kind {kind}")
            }
        };
        let mut port = [0; 2];
        client.read_exact(&mut port)?;
        self.note(&format!("socks5 {host}:{}", u16::from_be_bytes(port)));

        if host != HOST {
            return client.write_all(&[5, 2, 0, 1, 0, 0, 0, 0, 0, 0]);
        }
        let service = TcpStream::connect(self.service)?;
        client.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0])?;
        copy_both_ways(client, service)
    }

    /// HTTP, after the first byte of the first request.
    fn http(&self, mut client: TcpStream, first: u8) -> Result<()> {
        let mut head = read_head(&mut client, vec![first])?;
        if self.login && !head.contains(HTTP_LOGIN) {
            self.note("http without login");
            return refuse(&mut client, "407 Proxy Authentication Required");
        }

        if let Some(target) = target_of(&head, "CONNECT ") {
            self.note(&format!("connect {target}"));
            if !is_known(&target) {
                return refuse(&mut client, "502 Bad Gateway");
            }
            let service = TcpStream::connect(self.service)?;
            client.write_all(b"HTTP/1.1 200 OK\r\n\r\n")?;
            return copy_both_ways(client, service);
        }

        let mut service = TcpStream::connect(self.service)?;
        let mut back = service.try_clone()?;
        let mut to_client = client.try_clone()?;
        thread::spawn(move || {
            let _ = std::io::copy(&mut back, &mut to_client);
            let _ = to_client.shutdown(Shutdown::Both);
        });

        loop {
            let (method, rest) = head.split_once(' ').unwrap();
            let target = target_of(rest, "http://").unwrap_or_default();
            self.note(&format!("{} {target}", method.to_lowercase()));
            if !is_known(&target) {
                return refuse(&mut client, "502 Bad Gateway");
            }

            service.write_all(head.replacen(&format!("http://{target}"), "", 1).as_bytes())?;
            let length = body_length(&head);
            std::io::copy(&mut (&mut client).take(length), &mut service)?;
            head = read_head(&mut client, Vec::new())?;
        }
    }

    fn note(&self, asked: &str) {
        self.asked.lock().unwrap().push(asked.to_owned());
    }
}

fn is_known(target: &str) -> bool {
    target.split(':').next() == Some(HOST)
}

/// Host and port after a prefix, up to a slash or a space.
fn target_of(text: &str, prefix: &str) -> Option<String> {
    let rest = text.strip_prefix(prefix)?;
    rest.split(['/', ' ']).next().map(str::to_owned)
}

/// Bytes after their number in one byte.
fn counted(client: &mut TcpStream) -> Result<Vec<u8>> {
    let mut count = [0];
    client.read_exact(&mut count)?;
    let mut bytes = vec![0; count[0].into()];
    client.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// The rest of a request's head, after the bytes in `head`.
fn read_head(client: &mut TcpStream, mut head: Vec<u8>) -> Result<String> {
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        client.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}

fn body_length(head: &str) -> u64 {
    let lower = head.to_lowercase();
    let line = lower
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    line.map_or(0, |length| length.parse().unwrap())
}

fn refuse(client: &mut TcpStream, status: &str) -> Result<()> {
    let head = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    client.write_all(head.as_bytes())
}

fn copy_both_ways(client: TcpStream, service: TcpStream) -> Result<()> {
    let mut from_service = service.try_clone()?;
    let mut to_client = client.try_clone()?;
    thread::spawn(move || {
        let _ = std::io::copy(&mut from_service, &mut to_client);
        let _ = to_client.shutdown(Shutdown::Write);
    });

    let mut from_client = client;
    let mut to_service = service;
    std::io::copy(&mut from_client, &mut to_service)?;
    to_service.shutdown(Shutdown::Write)
}
