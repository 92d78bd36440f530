//! Requests that tickets are prepared for: queries, and the tickets themselves.

use std::sync::Arc;
use std::time::Duration;

use papir_core::Version;
use papir_protocol::{code, header};

use super::request::{Accepted, Method, Request, Response};
use super::service::{Service, advised_wait};
use super::task::Io;
use crate::error::{Error, Result};

/// How long a client waits for its tickets to be prepared.
const TICKET_PATIENCE: Duration = Duration::from_secs(600);

/// Queries to send.
pub(crate) struct QueryRequest<'a> {
    /// The version that they are for.
    pub(crate) version: Version,
    /// The registered client's id, in schemes with client keys.
    pub(crate) client: Option<&'a str>,
    /// The ticket numbers that they use.
    pub(crate) tickets: &'a [u64],
    /// The queries back to back.
    pub(crate) queries: Arc<Vec<u8>>,
    /// Longest acceptable body of answers, in bytes.
    pub(crate) limit: u64,
}

/// The outcome of a query request.
pub(crate) enum QueryReply {
    /// The answers back to back.
    Answers(Vec<u8>),
    /// The refusal: the version is not answered any more.
    WrongVersion(Error),
    /// The refusal: the client is gone, or its ticket was used.
    ClientGone(Error),
}

impl Service {
    /// Sends queries for one version. The same bytes are sent again while the server is busy, and
    /// while it prepares the client's tickets, at most [`TICKET_PATIENCE`].
    pub(crate) async fn query(&self, io: &Io, path: &str, query: &QueryRequest<'_>) -> Result<QueryReply> {
        let (mut retries, start) = (Self::busy_retries(), self.platform.now());
        loop {
            let response = self.send(io, self.query_request(path, query)).await?;
            match response.status {
                200 => return self.body(path, response, query.limit).map(QueryReply::Answers),
                409 => return Ok(QueryReply::WrongVersion(self.refusal(path, response))),
                410 => return Ok(QueryReply::ClientGone(self.refusal(path, response))),
                429 if retries.next().is_some() => io.wait(advised_wait(&response)).await,
                503 if self.is_patient(start) => self.wait_for_ticket(io, path, response).await?,
                _ => return Err(self.refusal(path, response)),
            }
        }
    }

    fn query_request(&self, path: &str, query: &QueryRequest<'_>) -> Request {
        let request = Request::new(Method::Post, path, Accepted::UpTo(query.limit))
            .with_header(header::VERSION, query.version.to_string());
        let mut request = self.authorized(request);
        if let Some(client) = query.client {
            request = request.with_header(header::CLIENT, client.to_owned());
        }
        if !query.tickets.is_empty() {
            let numbers: Vec<String> = query.tickets.iter().map(u64::to_string).collect();
            request = request.with_header(header::TICKET, numbers.join(","));
        }
        request.with_binary(Arc::clone(&query.queries))
    }

    /// Fetches a ticket of a version, as soon as it is prepared; `None` if that version or client
    /// has no such ticket any more.
    pub(crate) async fn ticket(
        &self,
        io: &Io,
        path: &str,
        version: Version,
        limit: u64,
    ) -> Result<Option<Vec<u8>>> {
        let (mut retries, start) = (Self::busy_retries(), self.platform.now());
        loop {
            let request =
                Request::get(path, Accepted::UpTo(limit)).with_header(header::VERSION, version.to_string());
            let response = self.send(io, self.authorized(request)).await?;
            match response.status {
                200 => return self.body(path, response, limit).map(Some),
                409 | 410 => return Ok(None),
                429 if retries.next().is_some() => io.wait(advised_wait(&response)).await,
                503 if self.is_patient(start) => self.wait_for_ticket(io, path, response).await?,
                _ => return Err(self.refusal(path, response)),
            }
        }
    }

    fn is_patient(&self, start: Duration) -> bool {
        self.platform.now().saturating_sub(start) < TICKET_PATIENCE
    }

    /// Waits as long as the server advises, if it is preparing the client's tickets.
    ///
    /// # Errors
    /// Every other refusal.
    async fn wait_for_ticket(&self, io: &Io, path: &str, response: Response) -> Result<()> {
        let wait = advised_wait(&response);
        let refused = self.refusal(path, response);
        if refused.code() != code::NO_TICKET {
            return Err(refused);
        }
        io.wait(wait).await;
        Ok(())
    }
}
