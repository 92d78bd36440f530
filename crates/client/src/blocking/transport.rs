//! Tasks of the protocol core over blocking HTTP.

use std::io::Read;
use std::thread::sleep;

use papir_protocol::header;
use ureq::Body;
use ureq::http;

use super::agent::{self, HttpAgent};
use crate::core::{Address, Failure, Request, Response, Step, Task};
use crate::error::Result;
use crate::state::ClientState;
use crate::transport::options::Options;

/// Runs tasks. Clones are cheap and share connections.
#[derive(Clone)]
pub(super) struct Transport {
    http: HttpAgent,
    base: String,
    state: ClientState,
}

impl Transport {
    /// A transport to the service at `address`. Connects at the first request.
    pub(super) fn new(address: &Address, options: &Options) -> Result<Self> {
        Ok(Self {
            http: agent::new(address, options)?,
            base: address.base().to_owned(),
            state: options.client_state(),
        })
    }

    /// Runs a task to its end.
    pub(super) fn run<T>(&self, task: Task<'_, T>) -> T {
        let mut step = task.start();

        loop {
            step = match step {
                Step::Send(request, then) => then.resume(self.send(request)),
                Step::Wait(duration, then) => {
                    sleep(duration);
                    then.resume()
                }
                Step::Store(request, then) => then.resume(self.state.perform(request)),
                Step::Done(output) => return output,
            };
        }
    }

    fn send(&self, request: Request) -> Result<Response, Failure> {
        let mut builder = http::Request::builder()
            .method(request.method.name())
            .uri(format!("{}{}", self.base, request.path));
        for header in &request.headers {
            builder = builder.header(header.name, header.value.as_str());
        }

        let agent = &self.http.agent;
        // An empty body and no body differ: only the former sends `content-length: 0`.
        let response = match &request.body {
            Some(body) => agent.run(builder.body(body.as_slice()).map_err(ureq::Error::from)?),
            None => agent.run(builder.body(()).map_err(ureq::Error::from)?),
        };
        let response = response.map_err(|error| self.http.failure(error))?;
        Ok(receive(&request, response))
    }
}

/// Reads a response, and as much of its body as the core requests.
fn receive(request: &Request, response: http::Response<Body>) -> Response {
    let (head, body) = response.into_parts();
    let headers: Vec<(String, String)> = head
        .headers
        .iter()
        .filter_map(|(name, value)| {
            Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))
        })
        .collect();

    let status = head.status.as_u16();
    let mut response = Response {
        status,
        headers,
        body: Ok(Vec::new()),
    };
    if let Some(limit) = request.body_limit(status, response.header(header::VERSION)) {
        response.body = read(body, limit);
    }
    response
}

/// Reads at most `limit` bytes. The connection can be used again if the body was read to its end.
fn read(body: Body, limit: u64) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let read = body.into_reader().take(limit).read_to_end(&mut bytes);
    read.map_err(ureq::Error::from)?;
    Ok(bytes)
}
