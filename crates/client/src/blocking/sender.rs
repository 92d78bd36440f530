//! Requests to services that are not papir's.

use std::fmt;
use std::io::Read;
use std::time::Duration;

use ureq::http::Request;

use super::agent::{self, HttpAgent};
use crate::core::Address;
use crate::error::{Error, Result};
use crate::transport::options::Options;

/// Sends requests to an HTTP service of another kind, such as a collector of traces, as the client
/// connects to a papir service: with its certificates, its proxy and its errors.
pub struct HttpSender {
    http: HttpAgent,
}

/// A response of any status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpReceived {
    /// The HTTP status.
    pub status: u16,
    /// The headers, with names in lower case.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The body, up to a limit.
    pub body: Vec<u8>,
}

impl HttpSender {
    /// A sender to the service at `url`, with the certificates, the identity and the proxy of
    /// `options`. Connects at the first request.
    ///
    /// # Errors
    /// [`Error::BadUrl`], [`Error::BadCa`], [`Error::BadIdentity`] and [`Error::BadProxy`];
    /// [`Error::BadRelay`] if the options have a relay, which reaches services of papir only.
    pub fn new(url: &str, options: &Options) -> Result<Self> {
        if let Some(relay) = &options.relay {
            return Err(relay.unusable("it carries requests to services of papir only"));
        }

        let address = Address::parse(url)?;
        Ok(Self {
            http: agent::new(&address, options)?,
        })
    }

    /// Sends a body to an address of the service. The response is read up to `limit` bytes, and
    /// everything ends after `time`.
    ///
    /// # Errors
    /// [`Error::Transport`] if there is no response in time.
    pub fn post(
        &self,
        url: &str,
        headers: &[(&str, &[u8])],
        body: &[u8],
        time: Duration,
        limit: u64,
    ) -> Result<HttpReceived> {
        self.exchange(url, headers, body, time, limit)
            .map_err(|error| Error::Transport {
                url: url.to_owned(),
                source: self.http.failure(error),
            })
    }

    fn exchange(
        &self,
        url: &str,
        headers: &[(&str, &[u8])],
        body: &[u8],
        time: Duration,
        limit: u64,
    ) -> Result<HttpReceived, ureq::Error> {
        let mut request = Request::post(url);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }

        // The time covers the lookup of the name and the body, too: nothing else ends a silent
        // service.
        let agent = &self.http.agent;
        let configured = agent.configure_request(request.body(body)?);
        let response = agent.run(configured.timeout_global(Some(time)).build())?;

        let (head, body) = response.into_parts();
        let mut headers = Vec::new();
        for (name, value) in &head.headers {
            headers.push((name.as_str().to_owned(), value.as_bytes().to_vec()));
        }

        let mut bytes = Vec::new();
        body.into_reader().take(limit).read_to_end(&mut bytes)?;
        Ok(HttpReceived {
            status: head.status.as_u16(),
            headers,
            body: bytes,
        })
    }
}

impl fmt::Debug for HttpSender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HttpSender")
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::net::{TcpListener, TcpStream};
    use std::thread;

    use super::*;
    use crate::transport::proxy::ProxySetting;

    /// Reads a request with a body of five bytes, and answers it.
    fn answer(stream: &TcpStream) -> (String, [u8; 5]) {
        let mut reader = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(reader.read_line(&mut head).unwrap(), 0, "{head}");
        }
        let mut body = [0; 5];
        reader.read_exact(&mut body).unwrap();

        let response = "HTTP/1.1 503 Busy\r\nretry-after: 7\r\ncontent-length: 4\r\n\r\nlong";
        let mut writer = stream;
        writer.write_all(response.as_bytes()).unwrap();
        (head, body)
    }

    #[test]
    fn a_response_has_its_status_its_headers_and_the_beginning_of_its_body() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let service = thread::spawn(move || answer(&listener.accept().unwrap().0));

        let options = Options::default().proxy(ProxySetting::Direct);
        let sender = HttpSender::new(&url, &options).unwrap();
        let headers = [("x-kind", &b"traces"[..])];
        let time = Duration::from_secs(300);
        let received = sender.post(&format!("{url}/v1"), &headers, b"spans", time, 2);
        let received = received.unwrap();

        let (head, body) = service.join().unwrap();
        assert!(head.starts_with("POST /v1 HTTP/1.1\r\n"), "{head}");
        assert!(head.contains("x-kind: traces\r\n"), "{head}");
        assert_eq!(&body, b"spans");

        assert_eq!(received.status, 503);
        let retry_after = ("retry-after".to_owned(), b"7".to_vec());
        assert!(received.headers.contains(&retry_after), "{received:?}");
        assert_eq!(received.body, b"lo");
    }
}
