//! Requests about registered clients.

use papir_core::Version;
use serde::{Deserialize, Serialize};
use ureq::http::{Request, Response, header};
use ureq::{AsSendBody, Body};

use crate::transport::{
    JSON_LIMIT, Transport, VERSION_HEADER, advised_wait, read, refusal, transport, unexpected,
};
use crate::{Error, Options, Result};

/// How often a busy service is asked again.
const BUSY_RETRIES: usize = 30;

/// What a service says of a client. Times are seconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientStatus {
    /// Its name, which is its capability.
    pub id: String,
    /// `registered` or `uploading`.
    pub status: String,
    /// When it began to register.
    pub created: u64,
    /// When it was used last.
    pub used: u64,
    /// When it is gone unless it is used before.
    pub expires: u64,
    /// Length of its keys.
    pub keys_bytes: u64,
    /// How many bytes of them are there.
    pub uploaded_bytes: u64,
    /// The longest part of an upload that is taken, in bytes.
    pub part_bytes: u64,
    /// The version of the database that accepted its keys last.
    pub version: String,
    /// Tickets that are prepared and unused.
    pub tickets_ready: u64,
    /// Used tickets that are kept for retries.
    pub tickets_used: u64,
    /// Bytes of its tickets.
    pub ticket_bytes: u64,
    /// How many tickets are prepared ahead.
    pub tickets_ahead: u64,
    /// The lowest ticket number above all that were used.
    pub next_ticket: u64,
}

impl ClientStatus {
    pub(crate) fn is_uploading(&self) -> bool {
        self.status == "uploading"
    }
}

/// The list of a database's clients.
#[derive(Deserialize)]
struct List {
    clients: Vec<ClientStatus>,
}

impl Transport {
    /// What the service says of a client; `None` when it is gone.
    pub(crate) fn client_status(&self, url: &str) -> Result<Option<ClientStatus>> {
        still_there(self.call(url, "GET", &[], ())?).map(|response| json(url, response)).transpose()
    }

    /// Registers keys for a version in one request.
    pub(crate) fn register(&self, url: &str, version: Version, keys: &[u8]) -> Result<ClientStatus> {
        json(url, self.call(url, "POST", &[(VERSION_HEADER, version.to_string())], keys)?)
    }

    /// Begins an upload of keys for a version.
    pub(crate) fn begin_upload(&self, url: &str, version: Version, length: u64) -> Result<ClientStatus> {
        let headers = [(VERSION_HEADER, version.to_string()), ("papir-upload-length", length.to_string())];
        json(url, self.call(url, "POST", &headers, &[][..])?)
    }

    /// Sends one part of the keys; `None` when the client is gone.
    pub(crate) fn upload_part(&self, url: &str, offset: u64, part: &[u8]) -> Result<Option<ClientStatus>> {
        let response = self.call(url, "PATCH", &[("papir-upload-offset", offset.to_string())], part)?;
        still_there(response).map(|response| json(url, response)).transpose()
    }

    /// All clients of a database.
    pub(crate) fn client_list(&self, url: &str) -> Result<Vec<ClientStatus>> {
        let list: List = json(url, self.call(url, "GET", &[], ())?)?;
        Ok(list.clients)
    }

    /// Removes a client; whether there was one.
    pub(crate) fn remove_client(&self, url: &str) -> Result<bool> {
        let response = self.call(url, "DELETE", &[], ())?;
        match response.status().as_u16() {
            200..=299 => Ok(true),
            410 => Ok(false),
            _ => Err(refusal(url, response)),
        }
    }

    /// One request; a busy service is asked again when it says.
    fn call(
        &self,
        url: &str,
        method: &str,
        headers: &[(&str, String)],
        body: impl AsSendBody + Copy,
    ) -> Result<Response<Body>> {
        let mut retries = 0..BUSY_RETRIES;
        loop {
            let mut request = Request::builder().method(method).uri(url);
            for (name, value) in headers {
                request = request.header(*name, value);
            }
            if let Some(token) = &self.token {
                request = request.header(header::AUTHORIZATION, token.bearer().as_str());
            }
            let request = request.body(body).map_err(|error| transport(url, error.into()))?;
            let response = self.agent.run(request).map_err(|error| transport(url, error))?;
            if response.status() != 429 || retries.next().is_none() {
                return Ok(response);
            }
            let wait = advised_wait(&response);
            // Read to its end, so that the connection can be used again.
            drop(refusal(url, response));
            std::thread::sleep(wait);
        }
    }
}

/// `None` for a client that is gone.
fn still_there(response: Response<Body>) -> Option<Response<Body>> {
    Some(response).filter(|response| response.status() != 410)
}

fn json<T: serde::de::DeserializeOwned>(url: &str, response: Response<Body>) -> Result<T> {
    if !response.status().is_success() {
        return Err(refusal(url, response));
    }
    let bytes = read(url, response, JSON_LIMIT)?;
    serde_json::from_slice(&bytes).map_err(|error| unexpected(url, format!("{error}: expected papir's JSON")))
}

/// The registered clients of a database, for its operator.
pub struct Registrations {
    transport: Transport,
    clients: String,
}

impl Registrations {
    /// Those of the database that is named, that the address names, or the only one.
    ///
    /// # Errors
    /// [`Error::BadUrl`], [`Error::NoSuchDatabase`], [`Error::ChooseDatabase`], those of the network.
    pub fn open(url: &str, options: &Options) -> Result<Self> {
        let address = crate::address::Address::parse(url)?;
        let transport = Transport::new(&address, options)?;
        let named = options.database.clone().or_else(|| address.database.clone());
        let name = crate::connection::choose(&transport, &address, named)?;
        Ok(Self { transport, clients: address.of(&name, "/clients") })
    }

    /// All of them.
    ///
    /// # Errors
    /// Those of the network; [`Error::Http`] where the service does not list its clients.
    pub fn list(&self) -> Result<Vec<ClientStatus>> {
        self.transport.client_list(&self.clients)
    }

    /// One of them; `None` when it is gone.
    ///
    /// # Errors
    /// Those of the network.
    pub fn show(&self, id: &str) -> Result<Option<ClientStatus>> {
        self.transport.client_status(&self.of(id)?)
    }

    /// Removes one; whether there was one.
    ///
    /// # Errors
    /// Those of the network.
    pub fn evict(&self, id: &str) -> Result<bool> {
        self.transport.remove_client(&self.of(id)?)
    }

    fn of(&self, id: &str) -> Result<String> {
        let plain = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let bad = Error::BadUrl { url: id.to_owned(), reason: "a client's name is 32 hexadecimal digits" };
        plain.then(|| format!("{}/{id}", self.clients)).ok_or(bad)
    }
}
