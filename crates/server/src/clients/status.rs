//! Status reports on clients.

use papir_protocol::limit::PART_BYTES;
use papir_protocol::{ClientStatus, RegistryCounts};

use super::id::ClientId;
use super::numbers::TicketCounts;
use super::row::{ClientRow, Stage};

/// Adds one client to the totals.
pub(super) fn count(counts: &mut RegistryCounts, row: &ClientRow, tickets: TicketCounts) {
    match row.stage {
        Stage::Registered => counts.registered += 1,
        Stage::Uploading => counts.uploading += 1,
    }
    counts.tickets_ready += tickets.ready;
    counts.tickets_used += tickets.used;
    counts.bytes = counts.bytes.saturating_add(row.bytes());
}

/// Reports on one client. `uploaded` is the number of key bytes that have arrived, and `ahead` the
/// number of tickets prepared ahead.
pub(super) fn status(
    id: ClientId,
    row: &ClientRow,
    uploaded: u64,
    tickets: TicketCounts,
    ahead: u64,
) -> ClientStatus {
    let registered = row.stage == Stage::Registered;
    let stage = if registered {
        ClientStatus::REGISTERED
    } else {
        ClientStatus::UPLOADING
    };

    ClientStatus {
        id: id.to_string(),
        status: stage.to_owned(),
        created: row.created / 1_000_000,
        used: row.used / 1_000_000,
        expires: row.expires / 1_000_000,
        keys_bytes: row.keys_bytes,
        uploaded_bytes: if registered { row.keys_bytes } else { uploaded },
        part_bytes: PART_BYTES as u64,
        version: row.version.to_string(),
        tickets_ready: tickets.ready,
        tickets_used: tickets.used,
        ticket_bytes: row.ticket_bytes,
        tickets_ahead: ahead,
        next_ticket: row.next_ticket,
        next_sent_ahead: row.next_sent_ahead,
    }
}
