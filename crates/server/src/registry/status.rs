//! What is said of a client and of all of them.

use serde::Serialize;
use utoipa::ToSchema;

use super::id::ClientId;
use super::row::{Row, Stage};
use super::tickets::TicketCounts;

/// One client, as the service and the program say it. Times are seconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct ClientStatus {
    /// Its capability, 32 hexadecimal digits.
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
    /// Tickets of the version that is served that are prepared and unused.
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

/// What all clients of a database take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct RegistryCounts {
    /// Registered clients.
    pub registered: u64,
    /// Clients whose keys are being uploaded.
    pub uploading: u64,
    /// Tickets that are prepared and unused.
    pub tickets_ready: u64,
    /// Used tickets that are kept for retries.
    pub tickets_used: u64,
    /// Bytes of keys and tickets.
    pub bytes: u64,
}

impl RegistryCounts {
    /// Counts one client.
    pub(crate) fn add(&mut self, row: &Row, tickets: TicketCounts) {
        match row.stage {
            Stage::Registered => self.registered += 1,
            Stage::Uploading => self.uploading += 1,
        }
        self.tickets_ready += tickets.ready;
        self.tickets_used += tickets.used;
        self.bytes = self.bytes.saturating_add(row.bytes());
    }
}

impl ClientStatus {
    pub(crate) fn new(id: ClientId, row: &Row, uploaded: u64, tickets: TicketCounts, ahead: u64) -> Self {
        let registered = row.stage == Stage::Registered;
        Self {
            id: id.to_string(),
            status: if registered { "registered" } else { "uploading" }.to_owned(),
            created: row.created / 1_000_000,
            used: row.used / 1_000_000,
            expires: row.expires / 1_000_000,
            keys_bytes: row.keys_bytes,
            uploaded_bytes: if registered { row.keys_bytes } else { uploaded },
            part_bytes: super::PART_BYTES as u64,
            version: row.version.to_string(),
            tickets_ready: tickets.ready,
            tickets_used: tickets.used,
            ticket_bytes: row.ticket_bytes,
            tickets_ahead: ahead,
            next_ticket: row.next_ticket,
        }
    }
}
