//! Messages to systemd, received on a socket in its place.

use std::fs;
use std::os::unix::net::UnixDatagram;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::support::{Folder, PATIENCE, program, send_to};

/// A server whose messages are received.
struct Notifying {
    child: Child,
    socket: UnixDatagram,
    /// The folder of the socket.
    _place: Folder,
    /// A time before the server started.
    begin: Instant,
}

impl Notifying {
    fn start(files: &[&str], watchdog: Option<Duration>) -> Self {
        let place = Folder::short();
        let path = place.path("notify");
        let socket = UnixDatagram::bind(&path).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut command = program();
        command
            .args(["serve", "--listen", "127.0.0.1:0", "--allow-not-private"])
            .args(files);
        command.env("PAPIR_LOG", "off").env("NOTIFY_SOCKET", path);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        if let Some(limit) = watchdog {
            command.env("WATCHDOG_USEC", limit.as_micros().to_string());
        }
        let begin = Instant::now();
        Self {
            child: command.spawn().unwrap(),
            socket,
            _place: place,
            begin,
        }
    }

    /// The next message.
    fn next(&self) -> String {
        let mut bytes = [0; 512];
        let length = self.socket.recv(&mut bytes).expect("a message");
        String::from_utf8(bytes[..length].to_vec()).unwrap()
    }

    /// The next message that is no ping of the watchdog.
    fn next_state(&self) -> String {
        std::iter::repeat_with(|| self.next())
            .find(|message| message != "WATCHDOG=1\n")
            .unwrap()
    }

    fn signal(&self, signal: Signal) {
        send_to(signal, &self.child);
    }
}

impl Drop for Notifying {
    fn drop(&mut self) {
        // The process may have exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The clock of MONOTONIC_USEC, to the second.
fn uptime() -> Duration {
    let text = fs::read_to_string("/proc/uptime").unwrap();
    Duration::from_secs_f64(text.split(' ').next().unwrap().parse().unwrap())
}

#[test]
fn start_reload_and_stop_are_reported() {
    let folder = Folder::new();
    let words = folder.words(10, "plain");
    let mut server = Notifying::start(&[&words], None);
    assert_eq!(server.next(), "READY=1\n");
    for damaged in [false, true] {
        if damaged {
            fs::write(folder.path("damaged"), "damaged").unwrap();
            fs::rename(folder.path("damaged"), &words).unwrap();
        }
        server.signal(Signal::HUP);
        let reloading = server.next();
        let time = reloading
            .strip_prefix("RELOADING=1\nMONOTONIC_USEC=")
            .expect(&reloading);
        let time = Duration::from_micros(time.trim().parse().unwrap());
        assert!(
            uptime().abs_diff(time) < PATIENCE,
            "{time:?} is not the time of the reload"
        );
        assert_eq!(
            server.next(),
            "READY=1\n",
            "the server runs on, also with the old version"
        );
    }
    server.signal(Signal::TERM);
    assert_eq!(server.next(), "STOPPING=1\n");
    assert_eq!(server.child.wait().unwrap().code(), Some(0));
}

#[test]
fn the_watchdog_gets_pings_at_twice_its_rate() {
    let folder = Folder::new();
    let limit = Duration::from_millis(400);
    let server = Notifying::start(&[&folder.words(10, "plain")], Some(limit));
    assert_eq!(server.next_state(), "READY=1\n");
    for _ in 0..8 {
        assert_eq!(server.next(), "WATCHDOG=1\n");
    }
    // Seven intervals of half the limit lie between eight pings. A busy machine may take longer.
    assert!(
        server.begin.elapsed() >= 3 * limit,
        "{:?}",
        server.begin.elapsed()
    );
    server.signal(Signal::TERM);
    assert_eq!(server.next_state(), "STOPPING=1\n");
}

#[test]
fn a_server_that_does_not_start_is_never_ready() {
    let folder = Folder::new();
    let mut server = Notifying::start(&[&folder.path("none.papir")], None);
    assert_eq!(server.child.wait().unwrap().code(), Some(2));
    server.socket.set_nonblocking(true).unwrap();
    assert!(
        server.socket.recv(&mut [0; 512]).is_err(),
        "no message was sent"
    );
}
