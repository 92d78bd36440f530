//! Clients of the service: keys, status and tickets.

use std::sync::Arc;

use papir_client::ClientStatus;
use papir_client::core::{Failure, Platform, Response};
use papir_core::erased::ErasedKeys;
use papir_protocol::{code, header, limit};

use super::{Call, Peer, json, refusal};
use crate::ticket_table::{AHEAD, TicketTable};

/// A client at the service.
#[derive(Clone)]
pub struct Registered {
    /// `None` while the keys are being uploaded.
    pub(super) keys: Option<Arc<ErasedKeys>>,
    pub(super) received: Vec<u8>,
    length: u64,
    removed: bool,
    pub tickets: TicketTable,
}

impl Registered {
    /// Removes the client at the service.
    pub fn remove(&mut self) {
        self.removed = true;
    }
}

impl Peer {
    /// Returns true if the client does not exist, or the newest version refuses its keys.
    pub(super) fn refuses_keys(&self, id: &str) -> bool {
        self.client(id).is_none_or(|client| {
            client.keys.is_some() && self.newest().accept_keys(&client.received).is_err()
        })
    }

    /// A client's tickets, prepared until now.
    pub(super) fn tickets(&mut self, id: &str) -> Option<&mut TicketTable> {
        let version = self.newest().server.version().to_string();
        let now = self.now();
        let each = self.ticket_time;
        let client = self
            .clients
            .get_mut(id.parse::<usize>().ok()?)
            .filter(|client| !client.removed)?;
        client.tickets.work(&version, now, each);
        Some(&mut client.tickets)
    }

    pub(super) fn client(&self, id: &str) -> Option<&Registered> {
        self.clients
            .get(id.parse::<usize>().ok()?)
            .filter(|client| !client.removed)
    }

    pub(super) fn remove(&mut self, id: &str) -> Response {
        if self.client(id).is_none() {
            return refusal(410, code::CLIENT_GONE);
        }
        self.clients[id.parse::<usize>().unwrap()].remove();
        Response {
            status: 204,
            headers: Vec::new(),
            body: Ok(Vec::new()),
        }
    }

    pub(super) fn register(&mut self, call: &Call) -> Result<Response, Failure> {
        if let Some((status, code)) = self.registering {
            return Ok(refusal(status, code));
        }
        let announced = call
            .header(header::UPLOAD_LENGTH)
            .map(|length| length.parse().unwrap());
        self.clients.push(Registered {
            keys: None,
            received: Vec::new(),
            length: announced.unwrap_or(call.body.len() as u64),
            removed: false,
            tickets: TicketTable::new(self.platform.now()),
        });
        let id = format!("{:032}", self.clients.len() - 1);
        if announced.is_none() {
            self.accept(&id, &call.body)?;
        }
        Ok(Response {
            status: 201,
            ..self.status(&id)
        })
    }

    pub(super) fn upload(&mut self, id: &str, part: &[u8]) -> Result<Response, Failure> {
        if self.client(id).is_none() {
            return Ok(refusal(410, code::CLIENT_GONE));
        }
        self.accept(id, part)?;
        Ok(self.status(id))
    }

    /// Adds a part of a client's keys, and reads the keys once they are whole.
    fn accept(&mut self, id: &str, part: &[u8]) -> Result<(), Failure> {
        let offer = self.newest().clone();
        let client = &mut self.clients[id.parse::<usize>()?];
        client.received.extend_from_slice(part);
        if client.received.len() as u64 == client.length {
            client.keys = Some(offer.accept_keys(&client.received)?);
        }
        Ok(())
    }

    pub(super) fn status(&mut self, id: &str) -> Response {
        let version = self.newest().server.version().to_string();
        let tickets = self.tickets(id);
        let tickets = tickets.map(|tickets| {
            (
                tickets.next,
                tickets.next_sent_ahead,
                tickets.ready(&version),
            )
        });
        let (next_ticket, next_sent_ahead, tickets_ready) = tickets.unwrap_or_default();
        let Some(client) = self.client(id) else {
            return refusal(410, code::CLIENT_GONE);
        };
        let whole = client.keys.is_some();
        let status = if whole {
            ClientStatus::REGISTERED
        } else {
            ClientStatus::UPLOADING
        };
        let received = if whole {
            client.length
        } else {
            client.received.len() as u64
        };
        let status = ClientStatus {
            id: id.to_owned(),
            status: status.into(),
            created: 0,
            used: 0,
            expires: 0,
            keys_bytes: client.length,
            uploaded_bytes: received,
            part_bytes: limit::PART_BYTES as u64,
            version,
            tickets_ready,
            tickets_used: 0,
            ticket_bytes: 0,
            tickets_ahead: AHEAD,
            next_ticket,
            next_sent_ahead,
        };
        json(200, &status)
    }
}
