//! Registry rows: one per client.

use papir_core::codec::{Reader, Writer};
use papir_core::{Formats, Result, Version};

/// Stage of a registration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The keys are being uploaded.
    Uploading,
    /// The keys are complete and accepted.
    Registered,
}

/// Hash of the token or network that registered a client.
///
/// All owners of a site have the same first bytes ([`site`]).
pub(crate) type Owner = [u8; 16];

/// Hash of the site of an owner: of an IPv6 /48, which may have 65,536 networks. All private tokens
/// are one site, and every other owner is a site of its own.
pub(crate) type Site = [u8; 8];

/// The site of an owner.
pub(crate) fn site(owner: &Owner) -> Site {
    let mut site = Site::default();
    site.copy_from_slice(&owner[..size_of::<Site>()]);
    site
}

/// One client. Times are in microseconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClientRow {
    pub(crate) stage: Stage,
    /// Set once it has sent a query.
    pub(crate) queried: bool,
    /// Set if its queries use tickets.
    pub(crate) ticketed: bool,
    pub(crate) owner: Owner,
    pub(crate) created: u64,
    /// Last use: registration, an uploaded part, a query.
    pub(crate) used: u64,
    /// Time from which the client counts as gone.
    pub(crate) expires: u64,
    /// Length of its keys in bytes, including the envelope.
    pub(crate) keys_bytes: u64,
    /// Bytes of its tickets, both ready and used.
    pub(crate) ticket_bytes: u64,
    /// The largest used ticket number plus one.
    pub(crate) next_ticket: u64,
    /// The same for queries whose keys were sent ahead.
    pub(crate) next_sent_ahead: u64,
    /// The last version of the database that accepted its keys.
    pub(crate) version: Version,
}

/// Format numbers of encoded rows.
const FORMATS: Formats = Formats {
    what: "a client of the registry",
    oldest: 4,
    written: 4,
    renew: "remove the registry's directory: clients register again",
};

impl ClientRow {
    /// A client that starts to upload keys of `keys_bytes` bytes, for queries with tickets. `ttl`
    /// is in microseconds.
    pub(crate) fn new(owner: Owner, keys_bytes: u64, version: Version, now: u64, ttl: u64) -> Self {
        Self {
            stage: Stage::Uploading,
            queried: false,
            ticketed: true,
            owner,
            created: now,
            used: now,
            expires: now.saturating_add(ttl),
            keys_bytes,
            ticket_bytes: 0,
            next_ticket: 0,
            next_sent_ahead: 0,
            version,
        }
    }

    pub(crate) fn is_expired(&self, now: u64) -> bool {
        self.expires <= now
    }

    /// Bytes counted against the quota.
    pub(crate) fn bytes(&self) -> u64 {
        self.keys_bytes.saturating_add(self.ticket_bytes)
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::new();
        writer
            .u8(FORMATS.written as u8)
            .u8(u8::from(self.stage == Stage::Registered));

        writer.u64(self.created).u64(self.used).u64(self.expires);
        writer
            .u64(self.keys_bytes)
            .u64(self.ticket_bytes)
            .u64(self.next_ticket)
            .raw(&self.version.0);
        writer
            .u8(self.queried.into())
            .raw(&self.owner)
            .u8(self.ticketed.into());
        writer.u64(self.next_sent_ahead);

        writer.finish()
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new("a client of the registry", bytes);
        FORMATS.check(reader.u8()?.into())?;

        let stage = if reader.u8()? == 1 {
            Stage::Registered
        } else {
            Stage::Uploading
        };
        let created = reader.u64()?;
        let used = reader.u64()?;
        let expires = reader.u64()?;
        let keys_bytes = reader.u64()?;
        let ticket_bytes = reader.u64()?;
        let next_ticket = reader.u64()?;
        let version = Version(reader.array()?);
        let queried = reader.u8()? == 1;
        let owner = reader.array()?;
        let ticketed = reader.u8()? == 1;
        let next_sent_ahead = reader.u64()?;
        reader.finish()?;

        Ok(Self {
            stage,
            queried,
            ticketed,
            owner,
            created,
            used,
            expires,
            keys_bytes,
            ticket_bytes,
            next_ticket,
            next_sent_ahead,
            version,
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn golden_bytes() {
        let row = ClientRow {
            stage: Stage::Registered,
            queried: false,
            ticketed: false,
            owner: [8; 16],
            created: 1,
            used: 2,
            expires: 3,
            keys_bytes: 4,
            ticket_bytes: 5,
            next_ticket: 6,
            next_sent_ahead: 9,
            version: Version([7; 8]),
        };
        let bytes = row.encode();

        let numbers = (1..=6u64).flat_map(u64::to_le_bytes);
        let fields: Vec<u8> = [1].into_iter().chain(numbers).chain([7; 8]).collect();
        let last = 9u64.to_le_bytes();
        assert_eq!(
            bytes,
            [&[4], &fields[..], &[0], &[8; 16], &[0], &last].concat()
        );

        assert_eq!(ClientRow::decode(&bytes).unwrap(), row);
        assert!(
            ClientRow::decode(&bytes[1..]).is_err()
                && ClientRow::decode(&[&bytes[..], &[0]].concat()).is_err()
        );
        for other in [3, 5] {
            let error = ClientRow::decode(&[&[other][..], &bytes[1..]].concat()).unwrap_err();
            assert!(matches!(error, papir_core::Error::Format { .. }), "{error}");
        }
    }
}
