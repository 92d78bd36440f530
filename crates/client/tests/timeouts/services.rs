//! Services that do not answer in time.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

/// A service, which stops when it is dropped.
pub struct Service {
    /// Its address.
    pub url: String,
    listener: TcpListener,
    is_served: bool,
}

impl Service {
    /// Connections are open, and nobody reads them.
    pub fn silent() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        Self {
            url: format!("http://{}", listener.local_addr().unwrap()),
            listener,
            is_served: false,
        }
    }

    /// Serves each connection on a thread.
    fn serving(serve: fn(TcpStream)) -> Self {
        let mut service = Self::silent();
        service.is_served = true;
        let listener = service.listener.try_clone().unwrap();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { return };
                let mut first = [0];
                // The last connection, of `drop`, sends nothing.
                if !matches!(stream.peek(&mut first), Ok(1)) {
                    return;
                }
                thread::spawn(move || serve(stream));
            }
        });
        service
    }

    /// The head of a response arrives byte by byte, and never ends.
    pub fn slow_head() -> Self {
        Self::serving(|mut stream| trickle(&mut stream, "HTTP/1.1 200 OK\r\nx: "))
    }

    /// The body of a response arrives byte by byte, and never ends.
    pub fn slow_body() -> Self {
        Self::serving(|mut stream| {
            let head = "HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n";
            // After an error, so does `trickle`.
            let _ = stream.write_all(head.as_bytes());
            trickle(&mut stream, "{");
        })
    }

    /// Every request is refused for now.
    pub fn busy() -> Self {
        Self::serving(|mut stream| {
            let mut request = [0; 4096];
            while matches!(stream.read(&mut request), Ok(length) if length > 0) {
                let head = "HTTP/1.1 503 Busy\r\nretry-after: 20\r\ncontent-length: 0\r\n\r\n";
                if stream.write_all(head.as_bytes()).is_err() {
                    return;
                }
            }
        })
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        if self.is_served {
            let stream = TcpStream::connect(self.listener.local_addr().unwrap()).unwrap();
            // Ends the thread that accepts connections.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

/// Sends a text and then spaces, byte by byte, until the client closes the connection.
fn trickle(stream: &mut TcpStream, text: &str) {
    for byte in text.bytes().chain(std::iter::repeat(b' ')) {
        if stream.write_all(&[byte]).is_err() {
            return;
        }
        // Each byte is in time for a timeout of a single read.
        thread::sleep(Duration::from_millis(10));
    }
}
