//! Requests to a service about its registered clients.

use std::sync::Arc;

use papir_core::Version;
use papir_protocol::{ClientList, ClientStatus, header, limit};
use serde::de::DeserializeOwned;

use super::request::{Accepted, Method, Request, Response};
use super::service::Service;
use super::task::Io;
use crate::error::{Result, unexpected};

impl Service {
    /// The status of a client; `None` if the service has no such client. Fails if `version` is
    /// given and is not the newest version.
    pub(crate) async fn client_status(
        &self,
        io: &Io,
        path: &str,
        version: Option<Version>,
    ) -> Result<Option<ClientStatus>> {
        let mut request = request(Method::Get, path);
        if let Some(version) = version {
            request = request.with_header(header::VERSION, version.to_string());
        }
        let response = self.send(io, self.authorized(request)).await?;
        self.unless_gone(path, response, None)
    }

    /// Registers a client: sends all its keys in one request.
    pub(crate) async fn register(
        &self,
        io: &Io,
        path: &str,
        version: Version,
        keys: Arc<Vec<u8>>,
    ) -> Result<ClientStatus> {
        let sent = keys.len();
        let request = request(Method::Post, path)
            .with_header(header::VERSION, version.to_string())
            .with_body(keys);
        let response = self.send(io, self.authorized(request)).await?;
        self.status(path, response, Some(sent))
    }

    /// Registers a client whose keys, of `length` bytes, follow in parts.
    pub(crate) async fn begin_upload(
        &self,
        io: &Io,
        path: &str,
        version: Version,
        length: u64,
    ) -> Result<ClientStatus> {
        let request = request(Method::Post, path)
            .with_header(header::VERSION, version.to_string())
            .with_header(header::UPLOAD_LENGTH, length.to_string())
            // Empty, and not absent: some proxies refuse a POST without a length.
            .with_body(Arc::default());
        let response = self.send(io, self.authorized(request)).await?;
        self.status(path, response, None)
    }

    /// Sends the part of the keys from `offset` on; `None` if the service has no such client.
    pub(crate) async fn upload_part(
        &self,
        io: &Io,
        path: &str,
        offset: u64,
        part: &[u8],
    ) -> Result<Option<ClientStatus>> {
        let request = request(Method::Patch, path)
            .with_header(header::UPLOAD_OFFSET, offset.to_string())
            .with_body(Arc::new(part.to_vec()));
        let response = self.send(io, self.authorized(request)).await?;
        self.unless_gone(path, response, Some(part.len()))
    }

    /// The status of all clients of a database.
    pub(crate) async fn client_list(&self, io: &Io, path: &str) -> Result<Vec<ClientStatus>> {
        let list: ClientList = self.json_up_to(io, path, limit::CLIENTS_BYTES).await?;
        list.clients
            .into_iter()
            .map(|status| self.checked(path, status))
            .collect()
    }

    /// Removes a client. Returns false if the service has no such client.
    pub(crate) async fn remove_client(&self, io: &Io, path: &str) -> Result<bool> {
        let request = Request::new(Method::Delete, path, Accepted::Nothing);
        let response = self.send(io, self.authorized(request)).await?;
        match response.status {
            200..=299 => Ok(true),
            // Somebody else removed it, or it expired: the result is the one that was asked for.
            410 => Ok(false),
            _ => Err(self.refusal(path, response)),
        }
    }

    /// The status in a response to a request with `sent` bytes of keys; `None` if the service has
    /// no such client.
    fn unless_gone(
        &self,
        path: &str,
        response: Response,
        sent: Option<usize>,
    ) -> Result<Option<ClientStatus>> {
        if response.status == 410 {
            Ok(None)
        } else {
            self.status(path, response, sent).map(Some)
        }
    }

    fn status(&self, path: &str, response: Response, sent: Option<usize>) -> Result<ClientStatus> {
        self.checked(path, self.success(path, response, sent)?)
    }

    /// Checks the id in a status, because it becomes a part of paths and headers.
    fn checked(&self, path: &str, status: ClientStatus) -> Result<ClientStatus> {
        if is_client_id(&status.id) {
            return Ok(status);
        }

        let reason = format!(
            "the client's id {:?}: expected 32 hexadecimal digits",
            status.id
        );
        Err(unexpected(&self.url(path), reason))
    }

    fn success<T: DeserializeOwned>(
        &self,
        path: &str,
        response: Response,
        sent: Option<usize>,
    ) -> Result<T> {
        if response.is_success() {
            self.decode(path, response, limit::JSON_BYTES)
        } else {
            Err(self.refusal_of(path, response, sent))
        }
    }
}

/// Returns true if a text is a client's id: 32 hexadecimal digits.
pub(super) fn is_client_id(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn request(method: Method, path: &str) -> Request {
    Request::new(method, path, Accepted::UpTo(limit::JSON_BYTES))
}
