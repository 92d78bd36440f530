//! Two services behind a balancer that change their versions at different moments.
#![cfg(unix)]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::support::{Folder, Service, lasting_address, look_up, send, send_to, succeeds, until};

/// Sends every request to the next service, each over its own connection.
struct Balancer {
    address: String,
    stopped: AtomicBool,
    next: AtomicUsize,
}

impl Balancer {
    fn serve(&self, listener: &TcpListener, services: &[String]) {
        thread::scope(|scope| {
            for stream in listener.incoming() {
                if self.stopped.load(Ordering::SeqCst) {
                    return;
                }
                scope.spawn(move || {
                    let service =
                        &services[self.next.fetch_add(1, Ordering::SeqCst) % services.len()];
                    // A connection that breaks is the client's to try again.
                    let _ = stream.and_then(|stream| relay(stream, service));
                });
            }
        });
    }

    fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(&self.address);
    }
}

/// Relays one request and its response, then closes the connection.
fn relay(mut client: TcpStream, service: &str) -> std::io::Result<()> {
    let mut reader = BufReader::new(client.try_clone()?);
    let mut head = String::new();
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let name = line.to_ascii_lowercase();
        if let Some(text) = name.strip_prefix("content-length:") {
            length = text.trim().parse().unwrap();
        }
        if line == "\r\n" {
            break;
        }
        if !name.starts_with("connection:") {
            head += &line;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let mut server = TcpStream::connect(service)?;
    server.write_all(format!("{head}connection: close\r\n\r\n").as_bytes())?;
    server.write_all(&body)?;
    std::io::copy(&mut server, &mut client)?;
    Ok(())
}

/// A replica: its folder, and the service that serves the file there.
struct Replica {
    place: Folder,
    service: Service,
}

impl Replica {
    fn new(snapshot: &[u8]) -> Self {
        let place = Folder::new();
        let file = place.write("words.papir", snapshot);
        Self {
            service: Self::start(&file, &lasting_address()),
            place,
        }
    }

    fn start(file: &str, address: &str) -> Service {
        Service::start(
            &[file],
            &[
                "--keep-old",
                "1h",
                "--lame-duck",
                "500ms",
                "--listen",
                address,
            ],
        )
    }

    fn address(&self) -> &str {
        self.service.url.strip_prefix("http://").unwrap()
    }

    fn swap(&self, snapshot: &[u8]) {
        fs::rename(
            self.place.write("next", snapshot),
            self.place.path("words.papir"),
        )
        .unwrap();
        self.service.reload();
    }

    /// Stops the service as a supervisor does, and starts it again.
    fn restart(&mut self) {
        let address = self.address().to_owned();
        send(Signal::TERM, &self.service);
        assert_eq!(self.service.wait(), Some(0));
        self.service = Self::start(&self.place.path("words.papir"), &address);
    }
}

/// Looks keys up with fresh clients until told to stop.
fn look_up_until(url: &str, state: &Folder, stopped: &AtomicBool, lookups: &AtomicUsize) {
    while !stopped.load(Ordering::SeqCst) {
        look_up(url, state.path(""), 5);
        lookups.fetch_add(5, Ordering::SeqCst);
    }
}

/// Tells the clients to stop when dropped, also by a panic.
pub(crate) struct Stop<'a>(pub(crate) &'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Four clients look keys up through a balancer, while `change` changes the replicas.
fn under_load(url: &str, change: impl FnOnce(&AtomicUsize)) -> usize {
    let done = AtomicBool::new(false);
    let lookups = AtomicUsize::new(0);
    let state = Folder::new();
    let failed = thread::scope(|scope| {
        let clients: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| look_up_until(url, &state, &done, &lookups)))
            .collect();
        let stop = Stop(&done);
        change(&lookups);
        drop(stop);
        clients
            .into_iter()
            .map(|client| client.join())
            .filter(Result::is_err)
            .count()
    });
    assert_eq!(failed, 0, "clients failed");
    lookups.into_inner()
}

#[test]
fn replicas_that_change_at_different_moments_answer_every_lookup() {
    let folder = Folder::new();
    let first = fs::read(folder.words(20, "simple")).unwrap();
    let replicas = [Replica::new(&first), Replica::new(&first)];
    let addresses = [0, 1].map(|number: usize| replicas[number].address().to_owned());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let url = format!("http://{address}");
    let balancer = Balancer {
        address,
        stopped: AtomicBool::new(false),
        next: AtomicUsize::new(0),
    };
    let lookups = thread::scope(|scope| {
        scope.spawn(|| balancer.serve(&listener, &addresses));
        let lookups = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            under_load(&url, |lookups| {
                for version in 0..3 {
                    let next = fs::read(folder.words(21 + version, "simple")).unwrap();
                    for replica in &replicas {
                        replica.swap(&next);
                        sleep(Duration::from_millis(400));
                    }
                }
                until("lookups are answered", || {
                    lookups.load(Ordering::SeqCst) > 50
                });
            })
        }));
        balancer.stop();
        lookups.expect("every lookup is answered")
    });
    assert!(lookups > 50, "{lookups}");
    assert_eq!(
        succeeds(&["get", &replicas[1].service.url, "key-22"]),
        "value-22"
    );
}

/// Twenty rolling updates behind nginx. Every second one restarts the services.
#[test]
#[ignore = "long; needs nginx"]
fn rolling_updates_behind_nginx_lose_no_lookup() {
    let folder = Folder::new();
    let first = fs::read(folder.words(20, "simple")).unwrap();
    let mut replicas = [Replica::new(&first), Replica::new(&first)];
    let nginx = Nginx::start(&[replicas[0].address(), replicas[1].address()]);
    let begin = Instant::now();
    let mut rolls = 0;
    let lookups = under_load(&nginx.url, |lookups| {
        while rolls < 20 || lookups.load(Ordering::SeqCst) < 20_000 {
            let next = fs::read(folder.words(21 + rolls % 50, "simple")).unwrap();
            for replica in &mut replicas {
                replica.swap(&next);
                sleep(Duration::from_millis(500));
                if rolls % 2 == 1 {
                    replica.restart();
                }
            }
            rolls += 1;
            assert!(
                begin.elapsed() < Duration::from_secs(900),
                "{rolls} updates, {lookups:?} lookups"
            );
        }
    });
    println!(
        "{lookups} lookups, {rolls} updates in {:?}",
        begin.elapsed()
    );
}

/// nginx with the services behind it, stopped when dropped.
pub(crate) struct Nginx {
    pub(crate) url: String,
    process: Child,
    _folder: Folder,
}

impl Nginx {
    fn start(services: &[&str]) -> Self {
        Self::start_with(services, "")
    }

    /// With further directives of its `http` block.
    pub(crate) fn start_with(services: &[&str], more: &str) -> Self {
        let folder = Folder::new();
        let address = lasting_address();
        let servers: String = services
            .iter()
            .map(|service| format!("server {service};"))
            .collect();
        // A query may be longer than nginx's default limit of 1 MiB.
        let configuration = format!(
            "daemon off; pid pid; error_log error.log; events {{}}
             http {{
               access_log off;
               client_max_body_size 64m; client_body_temp_path body; proxy_temp_path proxy;
               fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
               {more}
               upstream papir {{ {servers} keepalive 8; }}
               server {{
                 listen {address};
                 location / {{
                   proxy_pass http://papir; proxy_http_version 1.1; proxy_set_header Connection '';
                 }}
               }}
             }}"
        );
        let file = folder.write("nginx.conf", configuration);
        let prefix = folder.path("");
        let process = Command::new("nginx")
            .args(["-p", &prefix, "-e", "error.log", "-c", &file])
            .spawn()
            .expect("this test needs nginx: install it (apt-get install nginx-light)");
        // First, so that it is stopped if it does not answer.
        let nginx = Self {
            url: format!("http://{address}"),
            process,
            _folder: folder,
        };
        until("nginx starts", || TcpStream::connect(&address).is_ok());
        nginx
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        send_to(Signal::TERM, &self.process);
        let _ = self.process.wait();
    }
}
