//! JSON descriptions of registered clients.

use serde::{Deserialize, Serialize};
#[cfg(feature = "openapi")]
use utoipa::ToSchema;

/// The status of a registered client. Times are in seconds since 1970, UTC.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct ClientStatus {
    /// Its id, 32 hexadecimal digits. A capability: anyone who has it can use the client's keys.
    #[cfg_attr(feature = "openapi", schema(pattern = "^[0-9a-f]{32}$"))]
    pub id: String,
    /// `registered` or `uploading`.
    pub status: String,
    /// Time at which registration began.
    pub created: u64,
    /// Time of the client's last use.
    pub used: u64,
    /// Time at which the client expires if it is not used again.
    pub expires: u64,
    /// Length of the client's keys in bytes.
    pub keys_bytes: u64,
    /// Number of key bytes that have arrived.
    pub uploaded_bytes: u64,
    /// Longest accepted part of an upload, in bytes.
    pub part_bytes: u64,
    /// The last version of the database that accepted its keys.
    #[cfg_attr(feature = "openapi", schema(pattern = "^[0-9a-f]{16}$"))]
    pub version: String,
    /// Number of prepared tickets of the newest version with consecutive numbers from `next_ticket`
    /// on.
    pub tickets_ready: u64,
    /// Number of used tickets that are kept for retries.
    pub tickets_used: u64,
    /// Bytes of the client's tickets.
    pub ticket_bytes: u64,
    /// Number of tickets that the server prepares ahead.
    pub tickets_ahead: u64,
    /// The largest used ticket number plus one.
    pub next_ticket: u64,
    /// The largest ticket number among the keys that were sent ahead and that queries have used,
    /// plus one.
    pub next_sent_ahead: u64,
}

impl ClientStatus {
    /// The status of a client whose keys have all arrived and were accepted.
    pub const REGISTERED: &str = "registered";
    /// The status of a client whose keys are being uploaded.
    pub const UPLOADING: &str = "uploading";

    /// Returns true if the keys are still being uploaded.
    pub fn is_uploading(&self) -> bool {
        self.status == Self::UPLOADING
    }
}

/// Totals of all clients of a database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct RegistryCounts {
    /// Number of registered clients.
    pub registered: u64,
    /// Number of clients whose keys are being uploaded.
    pub uploading: u64,
    /// Number of prepared, unused tickets.
    pub tickets_ready: u64,
    /// Number of used tickets that are kept for retries.
    pub tickets_used: u64,
    /// Bytes of keys and tickets.
    pub bytes: u64,
}

/// The response to `GET /v1/databases/{name}/clients`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema), schema(as = Clients))]
pub struct ClientList {
    /// All clients of the database.
    pub clients: Vec<ClientStatus>,
    /// Totals of all clients.
    pub counts: RegistryCounts,
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn golden_json() {
        let status = ClientStatus {
            id: "ab".into(),
            status: ClientStatus::UPLOADING.into(),
            created: 1,
            used: 2,
            expires: 3,
            keys_bytes: 4,
            uploaded_bytes: 5,
            part_bytes: 6,
            version: "07".into(),
            tickets_ready: 8,
            tickets_used: 9,
            ticket_bytes: 10,
            tickets_ahead: 11,
            next_ticket: 12,
            next_sent_ahead: 13,
        };
        assert!(status.is_uploading());

        let counts = RegistryCounts {
            registered: 1,
            uploading: 2,
            tickets_ready: 3,
            tickets_used: 4,
            bytes: 5,
        };
        let list = ClientList {
            clients: vec![status],
            counts,
        };

        let golden = concat!(
            r#"{"clients":[{"id":"ab","status":"uploading","created":1,"used":2,"expires":3,"keys_bytes":4,"#,
            r#""uploaded_bytes":5,"part_bytes":6,"version":"07","tickets_ready":8,"tickets_used":9,"#,
            r#""ticket_bytes":10,"tickets_ahead":11,"next_ticket":12,"next_sent_ahead":13}],"counts":{"registered":1,"uploading":2,"#,
            r#""tickets_ready":3,"tickets_used":4,"bytes":5}}"#,
        );
        assert_eq!(serde_json::to_string(&list).unwrap(), golden);
        assert_eq!(serde_json::from_str::<ClientList>(golden).unwrap(), list);
    }
}
