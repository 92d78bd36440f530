//! Scripts over HTTP: the transports add no requests of their own.
//!
//! The server sees connections, request lines, headers and lengths.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use papir_client::core::{Failure, Method, Response};
use papir_client::{Connection, Error, Options};
use papir_protocol::header;

use super::liar::Liar;
use super::runs::{OPENINGS, assert_same, calls};
use super::scripts::{Copied, Script, Start, Variant};
use super::world::{Side, Want, World};
use crate::peer::Call;

/// An observation of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    Connected,
    Request {
        line: String,
        headers: Vec<(String, String)>,
        bytes: usize,
    },
}

/// A transport of the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    Blocking,
    #[cfg(feature = "aio")]
    Async,
}

/// Plays a script over HTTP for every lookup of a database.
pub fn compare(world: &World, side: &Side, script: &Script, transport: Transport) {
    // `papir-server --test it cached` has copies over HTTP.
    if script.waits || script.copy != Copied::Nothing || !script.applies_to(side) {
        return;
    }
    let first = observe(world, side, script, &side.wanted[0], transport);
    assert!(!first.is_empty());
    for want in &side.wanted[1..] {
        let other = observe(world, side, script, want, transport);
        assert_same(
            &first,
            &other,
            &format!("{transport:?}: {}: {want:?}", script.name),
        );
    }
}

fn observe(
    world: &World,
    side: &Side,
    script: &Script,
    want: &Want,
    transport: Transport,
) -> Vec<Seen> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let state = tempfile::tempdir().unwrap();
    let settings = script.settings(world);
    let options = Options {
        owner_key: settings.owner_key,
        schemes: settings.schemes,
        state: Some(state.path().to_owned()),
        known: settings.known,
        patches: settings.patches,
        // In real time, the number of retries would depend on the machine.
        patience: Some(Duration::ZERO),
        ..Options::default()
    };
    let service = Mutex::new((script.peer(side, false), Liar::new(side, &[])));
    let seen = Mutex::new(Vec::new());
    let stopped = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            serve(&listener, &stopped, &seen, &|call| {
                let (peer, liar) = &mut *service.lock().unwrap();
                liar.deliver(peer, call)
            })
        });
        // Also keeps the version.
        let prepares = side.registered.is_some() || script.variant == Variant::Known;
        if script.start != Start::New && prepares {
            transport.register(&url, &options);
        }
        service.lock().unwrap().1 = Liar::new(side, &script.faults);
        // Opened again after an error: the client may resume what was interrupted.
        let _ = (0..OPENINGS).any(|_| transport.look_up(&url, &options, side, want).is_ok());
        stopped.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(listener.local_addr().unwrap());
    });
    let mut seen = seen.into_inner().unwrap();
    // Whether a connection is free again in time depends on the threads of the runtime.
    seen.retain(|seen| transport == Transport::Blocking || *seen != Seen::Connected);
    seen
}

impl Transport {
    fn register(self, url: &str, options: &Options) {
        match self {
            Self::Blocking => Connection::open_with(url, options)
                .unwrap()
                .register()
                .unwrap(),
            #[cfg(feature = "aio")]
            Self::Async => asynchronous::register(url, options),
        }
    }

    fn look_up(self, url: &str, options: &Options, side: &Side, want: &Want) -> Result<(), Error> {
        match self {
            Self::Blocking => look_up(url, options, side, want),
            #[cfg(feature = "aio")]
            Self::Async => asynchronous::look_up(url, options, side, want),
        }
    }
}

/// Makes the usual calls. Errors do not stop the caller.
fn look_up(url: &str, options: &Options, side: &Side, want: &Want) -> Result<(), Error> {
    let mut connection = Connection::open_with(url, options)?;
    for call in calls(side, want) {
        let _ = match want {
            Want::Index(_) => connection
                .get_indices(&call.iter().map(|want| want.index()).collect::<Vec<_>>())
                .map(drop),
            Want::Key(_) => connection
                .get_keys(&call.iter().map(|want| want.key()).collect::<Vec<_>>())
                .map(drop),
        };
    }
    Ok(())
}

/// Calls over the asynchronous transport.
#[cfg(feature = "aio")]
mod asynchronous {
    use papir_client::aio::Connection;
    use papir_client::{Error, Options};
    use tokio::runtime::Runtime;

    use super::super::runs::calls;
    use super::super::world::{Side, Want};

    pub fn register(url: &str, options: &Options) {
        let register = async { Connection::open_with(url, options).await?.register().await };
        Runtime::new().unwrap().block_on(register).unwrap();
    }

    pub fn look_up(url: &str, options: &Options, side: &Side, want: &Want) -> Result<(), Error> {
        Runtime::new().unwrap().block_on(async {
            let mut connection = Connection::open_with(url, options).await?;
            for call in calls(side, want) {
                let _ = match want {
                    Want::Index(_) => {
                        let indices: Vec<_> = call.iter().map(|want| want.index()).collect();
                        connection.get_indices(&indices).await.map(drop)
                    }
                    Want::Key(_) => {
                        let keys: Vec<_> = call.iter().map(|want| want.key()).collect();
                        connection.get_keys(&keys).await.map(drop)
                    }
                };
            }
            Ok(())
        })
    }
}

/// The service: responds to a request.
pub type Deliver<'a> = dyn Fn(&Call) -> Result<Response, Failure> + Sync + 'a;

/// Serves each connection on its own thread: a client may leave one open and open another.
pub fn serve(
    listener: &TcpListener,
    stopped: &AtomicBool,
    seen: &Mutex<Vec<Seen>>,
    deliver: &Deliver<'_>,
) {
    thread::scope(|scope| {
        for stream in listener.incoming() {
            if stopped.load(Ordering::SeqCst) {
                return;
            }
            seen.lock().unwrap().push(Seen::Connected);
            let stream = stream.unwrap();
            scope.spawn(move || serve_connection(&stream, seen, deliver));
        }
    });
}

fn serve_connection(stream: &TcpStream, seen: &Mutex<Vec<Seen>>, deliver: &Deliver<'_>) {
    let mut reader = BufReader::new(stream);
    while let Some((line, call)) = read_call(&mut reader) {
        let headers = call
            .headers
            .iter()
            .filter(|(name, _)| name != "host")
            .cloned()
            .collect();
        seen.lock().unwrap().push(Seen::Request {
            line,
            headers,
            bytes: call.body.len(),
        });
        if !deliver(&call).is_ok_and(|response| write(stream, response)) {
            break;
        }
    }
}

/// Reads a request. Returns `None` at the end of the connection.
fn read_call(reader: &mut impl BufRead) -> Option<(String, Call)> {
    let mut line = String::new();
    let mut headers = Vec::new();
    reader
        .read_line(&mut line)
        .ok()
        .filter(|bytes| *bytes > 0)?;
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let Some((name, value)) = header.trim_end().split_once(": ") else {
            break;
        };
        headers.push((name.to_ascii_lowercase(), value.to_owned()));
    }
    let mut words = line.split(' ');
    let method = match words.next()? {
        "GET" => Method::Get,
        "POST" => Method::Post,
        "PATCH" => Method::Patch,
        "DELETE" => Method::Delete,
        other => panic!("{other}"),
    };
    let path = words.next()?.to_owned();
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let mut body = vec![0; length.map_or(0, |(_, length)| length.parse().unwrap())];
    reader.read_exact(&mut body).ok()?;
    Some((
        line,
        Call {
            method,
            path,
            headers,
            body,
        },
    ))
}

/// Writes a response. Returns false if the connection ends with it. It sets the waiting time that a
/// refusal asks for to zero.
fn write(mut stream: &TcpStream, response: Response) -> bool {
    let Response {
        status,
        mut headers,
        body,
    } = response;
    if [429, 503].contains(&status) {
        headers.retain(|(name, _)| name != header::RETRY_AFTER);
        headers.push((header::RETRY_AFTER.to_owned(), "0".to_owned()));
    }
    // A body that breaks off is announced and not sent.
    let announced = body.as_ref().map_or(100, Vec::len);
    let mut head = format!("HTTP/1.1 {status} x\r\ncontent-length: {announced}\r\n");
    headers
        .iter()
        .for_each(|(name, value)| head += &format!("{name}: {value}\r\n"));
    let sent = stream.write_all(
        &[
            head.as_bytes(),
            b"\r\n",
            body.as_deref().unwrap_or_default(),
        ]
        .concat(),
    );
    sent.is_ok() && body.is_ok()
}
