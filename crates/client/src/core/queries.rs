//! Query requests and their replies.

use std::sync::Arc;
use std::time::Duration;

use papir_core::Version;
use papir_protocol::{code, header, media};

use super::request::{Accepted, Method, Request, Response};
use super::retries::advised;
use super::service::Service;
use super::task::Io;
use crate::error::{Error, Result};

/// Maximum time to wait until the server has prepared a client's tickets.
pub(super) const TICKET_TIMEOUT: Duration = Duration::from_secs(600);

/// Shortest pause before a query is repeated whose ticket is not ready.
const MIN_WAIT: Duration = Duration::from_secs(1);

/// Queries to send in one request.
pub(crate) struct QueryRequest<'a> {
    /// The database version of the queries.
    pub(crate) version: Version,
    /// The registered client's id, in schemes with client keys.
    pub(crate) client: Option<&'a str>,
    /// The numbers of the queries, in schemes with tickets.
    pub(crate) tickets: &'a [u64],
    /// The concatenated queries, or a short message of them.
    pub(crate) queries: Arc<Vec<u8>>,
    /// Set for a short message.
    pub(crate) is_short: bool,
    /// Longest acceptable body of answers, in bytes.
    pub(crate) limit: u64,
}

/// The outcome of a query request.
pub(crate) enum QueryReply {
    /// The concatenated answers.
    Answers(Vec<u8>),
    /// The server does not answer queries for this version, or no longer does.
    WrongVersion(Error),
    /// The service has no such client any more, or the client's ticket was used.
    ClientGone(Error),
}

impl Service {
    /// Sends queries for one version. Repeats the same bytes while the server prepares the client's
    /// tickets, for at most [`TICKET_TIMEOUT`].
    pub(crate) async fn query(
        &self,
        io: &Io,
        path: &str,
        query: &QueryRequest<'_>,
    ) -> Result<QueryReply> {
        let start = self.platform.now();

        loop {
            // The same bytes each time: two queries with one ticket could reveal both indices.
            let response = self.send(io, self.query_request(path, query)).await?;
            match response.status {
                200 => {
                    return self
                        .binary(path, response, query.limit)
                        .map(QueryReply::Answers);
                }
                409 => return Ok(QueryReply::WrongVersion(self.refusal(path, response))),
                410 => return Ok(QueryReply::ClientGone(self.refusal(path, response))),
                // Waited for here, beyond the patience for a busy service: a ticket takes minutes
                // for large databases.
                503 if !query.tickets.is_empty() && self.may_wait(start) => {
                    self.wait_for_ticket(io, path, response).await?
                }
                _ => {
                    let sent = query.queries.len();
                    return Err(self.refusal_of(path, response, Some(sent)));
                }
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

        let media_type = match query.is_short {
            true => media::SHORT,
            false => media::BINARY,
        };
        request.with_content(media_type, Arc::clone(&query.queries))
    }

    fn may_wait(&self, start: Duration) -> bool {
        self.platform.now().saturating_sub(start) < TICKET_TIMEOUT
    }

    /// If the server is preparing the client's tickets, waits as long as it advises, but at least
    /// [`MIN_WAIT`]. Returns any other refusal as an error.
    async fn wait_for_ticket(&self, io: &Io, path: &str, response: Response) -> Result<()> {
        // At least a second, also if the service advises none: it prepares tickets in idle time.
        let wait = advised(&response).unwrap_or_default().max(MIN_WAIT);
        let refused = self.refusal(path, response);
        if refused.code() != code::NO_TICKET {
            return Err(refused);
        }

        io.wait(wait).await;
        Ok(())
    }
}
