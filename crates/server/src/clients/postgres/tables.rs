//! Row operations within a transaction of PostgreSQL.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use papir_core::Version;
use papir_store::postgres::Login;
use postgres::types::{ToSql, Type};
use postgres::{Row as PostgresRow, Transaction};

use super::sessions::Sessions;
use crate::clients::error::StoreError;
use crate::clients::id::ClientId;
use crate::clients::keys_digest::{FirstUse, KeysDigest};
use crate::clients::numbers::{Claim, Numbers, TicketKey};
use crate::clients::row::ClientRow;
use crate::clients::tables::{ROOM, ReadTables, Result, Storage, Tables};

/// Time for which the work on a ticket is reserved. A service that crashes holds up a ticket for
/// this time. If a service needs more, its ticket may be prepared twice.
const RESERVED: &str = "20 s";
/// Time for which a service counts as running after its last word.
const HEARD: &str = "60 s";
/// Key of the lock that a service holds while it forgets digests.
const FORGETTING: i64 = 0x7061_7069_7201;
/// Fewest bytes of a digest's row: its header, digest, client and time.
const LEAST_DIGEST_BYTES: i64 = 88;

// Several services sweep at the same time, each after it has renewed rows of its own. One that
// waited for a row of another could be waited for in turn. So a sweep passes over locked rows: a
// service that renews one is running, and one that removes it needs no help.
const SWEEP_ANSWERED: &str = "
    WITH expired AS (
        SELECT database, version, service FROM papir.answered
        WHERE seen < now() - $1::text::interval
        FOR UPDATE SKIP LOCKED)
    DELETE FROM papir.answered a USING expired e
    WHERE a.database = e.database AND a.version = e.version AND a.service = e.service";
const SWEEP_PREPARING: &str = "
    WITH expired AS (
        SELECT client, version, number FROM papir.preparing
        WHERE until < now()
        FOR UPDATE SKIP LOCKED)
    DELETE FROM papir.preparing p USING expired e
    WHERE p.client = e.client AND p.version = e.version AND p.number = e.number";

/// The tables in PostgreSQL.
pub(in crate::clients) struct PostgresTables {
    sessions: Arc<Sessions>,
    /// A random name of this service.
    service: [u8; 16],
}

impl PostgresTables {
    /// Connects, and creates the tables unless they exist.
    pub(in crate::clients) fn open(login: &Login) -> Result<Self> {
        let mut service = [0; 16];
        getrandom::fill(&mut service).map_err(|error| std::io::Error::other(error.to_string()))?;
        let sessions = Arc::new(Sessions::open(login)?);
        Ok(Self { sessions, service })
    }

    pub(super) fn sessions(&self) -> Arc<Sessions> {
        Arc::clone(&self.sessions)
    }

    /// Calls `work` once, and commits its changes if it returns a value.
    fn change<T>(
        &self,
        work: impl FnOnce(&mut Within<'_, '_>) -> Result<Option<T>>,
    ) -> Result<Option<T>> {
        self.sessions.change(|transaction| {
            work(&mut Within {
                transaction,
                locks: true,
            })
        })
    }
}

impl Storage for PostgresTables {
    fn read(&self, work: &mut dyn FnMut(&mut dyn ReadTables) -> Result<()>) -> Result<()> {
        self.sessions.read(|transaction| {
            work(&mut Within {
                transaction,
                locks: false,
            })
        })
    }

    fn write(&self, work: &mut dyn FnMut(&mut dyn Tables) -> Result<bool>) -> Result<()> {
        self.change(|tables| Ok(work(tables)?.then_some(())))?;
        Ok(())
    }

    fn is_failing(&self) -> bool {
        self.sessions.health().is_failing()
    }

    fn probe(&self) -> Result<()> {
        // Parts of no client, removed in the same transaction.
        const FILL: &str =
            "INSERT INTO papir.keys (client, start, length, part) VALUES ($1, 0, 0, $2)";
        const CLEAR: &str = "DELETE FROM papir.keys WHERE client = $1";
        let own = &self.service[..];
        let filler = vec![0_u8; ROOM];

        self.change(|tables| {
            tables.execute(FILL, &[(&own, Type::BYTEA), (&&filler[..], Type::BYTEA)])?;
            tables.execute(CLEAR, &[(&own, Type::BYTEA)])?;
            Ok(Some(()))
        })?;
        self.sessions.health().recovered();
        Ok(())
    }

    fn reserve_ticket(&self, id: ClientId, version: Version, number: u64) -> Result<bool> {
        const RESERVE: &str = "
            INSERT INTO papir.preparing (client, version, number, service, until)
            VALUES ($1, $2, $3, $4, now() + $5::text::interval)
            ON CONFLICT (client, version, number)
            DO UPDATE SET service = excluded.service, until = excluded.until
            WHERE preparing.until < now() OR preparing.service = excluded.service";

        let reserved = self.change(|tables| {
            let changed = tables.execute(
                RESERVE,
                &[
                    (&bytes(id), Type::BYTEA),
                    (&&version.0[..], Type::BYTEA),
                    (&signed(number), Type::INT8),
                    (&&self.service[..], Type::BYTEA),
                    (&RESERVED, Type::TEXT),
                ],
            )?;
            Ok(Some(changed == 1))
        })?;
        Ok(reserved == Some(true))
    }

    fn release_tickets(&self) -> Result<()> {
        let own: &[Parameter<'_>] = &[(&&self.service[..], Type::BYTEA)];
        self.change(|tables| {
            tables.execute("DELETE FROM papir.preparing WHERE service = $1", own)?;
            Ok(Some(()))
        })?;
        Ok(())
    }

    fn note_versions(&self, database: &str, versions: &[Version]) -> Result<Vec<Version>> {
        const NOTE: &str = "
            INSERT INTO papir.answered (database, version, service, seen) VALUES ($1, $2, $3, now())
            ON CONFLICT (database, version, service) DO UPDATE SET seen = now()";

        let answered = self.change(|tables| {
            for version in versions {
                tables.execute(
                    NOTE,
                    &[
                        (&database, Type::TEXT),
                        (&&version.0[..], Type::BYTEA),
                        (&&self.service[..], Type::BYTEA),
                    ],
                )?;
            }

            // Removed before the query: the versions of a service that crashed are not answered.
            let heard: &[Parameter<'_>] = &[(&HEARD, Type::TEXT)];
            tables.execute(SWEEP_ANSWERED, heard)?;
            tables.execute(SWEEP_PREPARING, &[])?;

            // Expired rows that are locked count: their service may be renewing them, and tickets
            // of a version that it answers must stay.
            let rows = tables.query(
                "SELECT DISTINCT version FROM papir.answered WHERE database = $1",
                &[(&database, Type::TEXT)],
            )?;
            let mut answered = Vec::with_capacity(rows.len());
            for row in &rows {
                answered.push(version_of(row, 0)?);
            }
            Ok(Some(answered))
        })?;
        Ok(answered.unwrap_or_default())
    }
}

/// The tables within a transaction.
pub(super) struct Within<'t, 'c> {
    transaction: &'t mut Transaction<'c>,
    /// Set in a change: rows that are read are locked until the transaction ends.
    locks: bool,
}

/// A parameter with its type, so that a statement takes one round trip.
pub(super) type Parameter<'p> = (&'p (dyn ToSql + Sync), Type);

impl Within<'_, '_> {
    pub(super) fn execute(&mut self, statement: &str, parameters: &[Parameter<'_>]) -> Result<u64> {
        Ok(self.transaction.execute_typed(statement, parameters)?)
    }

    pub(super) fn query(
        &mut self,
        statement: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<PostgresRow>> {
        Ok(self.transaction.query_typed(statement, parameters)?)
    }
}

/// The bytes of a client's id, in the order of its text form.
pub(super) fn bytes(id: ClientId) -> Vec<u8> {
    id.number().to_be_bytes().to_vec()
}

/// A number in a column, whose type is signed. Both have the same bits.
pub(super) fn signed(number: u64) -> i64 {
    number.cast_signed()
}

fn number_of(row: &PostgresRow, column: usize) -> u64 {
    row.get::<_, i64>(column).cast_unsigned()
}

fn array<const N: usize>(row: &PostgresRow, column: usize) -> Result<[u8; N]> {
    let found: &[u8] = row.get(column);
    found.try_into().map_err(|_| {
        let found = format!("{} bytes in column {column}", found.len());
        papir_core::Error::malformed("a row of the registry", found, format!("{N} bytes")).into()
    })
}

fn id_of(row: &PostgresRow, column: usize) -> Result<ClientId> {
    Ok(ClientId::of(u128::from_be_bytes(array(row, column)?)))
}

fn version_of(row: &PostgresRow, column: usize) -> Result<Version> {
    Ok(Version(array(row, column)?))
}

/// A claim in three columns from `first` on: number, version and hash.
fn claim_of(row: &PostgresRow, first: usize) -> Result<Claim> {
    let number = number_of(row, first);
    let version = version_of(row, first + 1)?;
    Ok(Claim {
        number,
        version,
        hash: array(row, first + 2)?,
    })
}

/// A ticket in three columns from `first` on: version, number and length.
fn ticket_key_of(row: &PostgresRow, first: usize) -> Result<TicketKey> {
    let version = version_of(row, first)?;
    let number = number_of(row, first + 1);
    Ok(TicketKey {
        version,
        number,
        bytes: u64::from(row.get::<_, i32>(first + 2).cast_unsigned()),
    })
}

/// Sorts tickets by version and number.
fn sort(keys: &mut [TicketKey]) {
    keys.sort_unstable_by_key(|key| (key.version, key.number));
}

impl ReadTables for Within<'_, '_> {
    fn row(&mut self, database: &str, id: ClientId) -> Result<Option<ClientRow>> {
        let statement = if self.locks {
            "SELECT entry FROM papir.clients WHERE id = $1 AND database = $2 FOR UPDATE"
        } else {
            "SELECT entry FROM papir.clients WHERE id = $1 AND database = $2"
        };
        let rows = self.query(
            statement,
            &[(&bytes(id), Type::BYTEA), (&database, Type::TEXT)],
        )?;
        match rows.first() {
            Some(row) => Ok(Some(ClientRow::decode(row.get(0))?)),
            None => Ok(None),
        }
    }

    fn rows(&mut self, database: &str) -> Result<Vec<(ClientId, ClientRow)>> {
        // A lock on the rows does not keep others from adding one.
        if self.locks {
            let lock = "SELECT pg_advisory_xact_lock(hashtextextended('papir ' || $1, 0))";
            self.execute(lock, &[(&database, Type::TEXT)])?;
        }

        let statement = "SELECT id, entry FROM papir.clients WHERE database = $1";
        let rows = self.query(statement, &[(&database, Type::TEXT)])?;
        rows.iter()
            .map(|row| Ok((id_of(row, 0)?, ClientRow::decode(row.get(1))?)))
            .collect()
    }

    fn databases(&mut self) -> Result<BTreeSet<String>> {
        let rows = self.query("SELECT DISTINCT database FROM papir.clients", &[])?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }

    fn ids(&mut self) -> Result<HashSet<ClientId>> {
        self.query("SELECT id FROM papir.clients", &[])?
            .iter()
            .map(|row| id_of(row, 0))
            .collect()
    }

    fn claims(&mut self, id: ClientId) -> Result<Vec<Claim>> {
        let statement = "SELECT number, version, hash FROM papir.uses WHERE client = $1";
        let rows = self.query(statement, &[(&bytes(id), Type::BYTEA)])?;
        rows.iter().map(|row| claim_of(row, 0)).collect()
    }

    fn ticket_keys(&mut self, id: ClientId) -> Result<Vec<TicketKey>> {
        let statement =
            "SELECT version, number, octet_length(ticket) FROM papir.tickets WHERE client = $1";
        let rows = self.query(statement, &[(&bytes(id), Type::BYTEA)])?;

        let mut keys = Vec::with_capacity(rows.len());
        for row in &rows {
            keys.push(ticket_key_of(row, 0)?);
        }
        sort(&mut keys);
        Ok(keys)
    }

    fn all_numbers(&mut self, database: &str) -> Result<HashMap<ClientId, Numbers>> {
        const CLAIMS: &str = "
            SELECT u.client, u.number, u.version, u.hash
            FROM papir.uses u JOIN papir.clients c ON c.id = u.client WHERE c.database = $1";
        const TICKETS: &str = "
            SELECT t.client, t.version, t.number, octet_length(t.ticket)
            FROM papir.tickets t JOIN papir.clients c ON c.id = t.client WHERE c.database = $1";

        let mut all: HashMap<ClientId, Numbers> = HashMap::new();
        for row in self.query(CLAIMS, &[(&database, Type::TEXT)])? {
            let numbers = all.entry(id_of(&row, 0)?).or_default();
            numbers.claims.push(claim_of(&row, 1)?);
        }
        for row in self.query(TICKETS, &[(&database, Type::TEXT)])? {
            let numbers = all.entry(id_of(&row, 0)?).or_default();
            numbers.tickets.push(ticket_key_of(&row, 1)?);
        }

        for numbers in all.values_mut() {
            sort(&mut numbers.tickets);
        }
        Ok(all)
    }

    fn ticket(&mut self, id: ClientId, version: Version, number: u64) -> Result<Option<Vec<u8>>> {
        let rows = self.query(
            "SELECT ticket FROM papir.tickets WHERE client = $1 AND version = $2 AND number = $3",
            &[
                (&bytes(id), Type::BYTEA),
                (&&version.0[..], Type::BYTEA),
                (&signed(number), Type::INT8),
            ],
        )?;
        Ok(rows.first().map(|row| row.get(0)))
    }

    fn first_use(&mut self, digest: KeysDigest) -> Result<Option<FirstUse>> {
        let rows = self.query(
            "SELECT client, noted FROM papir.digests WHERE digest = $1",
            &[(&&digest.0[..], Type::BYTEA)],
        )?;
        match rows.first() {
            Some(row) => Ok(Some(FirstUse {
                client: id_of(row, 0)?,
                time: number_of(row, 1),
            })),
            None => Ok(None),
        }
    }
}

impl Tables for Within<'_, '_> {
    fn put_row(&mut self, database: &str, id: ClientId, row: &ClientRow) -> Result<()> {
        const PUT: &str = "
            INSERT INTO papir.clients (id, database, ticketed, entry) VALUES ($1, $2, $3, $4)
            ON CONFLICT (id) DO UPDATE SET ticketed = excluded.ticketed, entry = excluded.entry";
        self.execute(
            PUT,
            &[
                (&bytes(id), Type::BYTEA),
                (&database, Type::TEXT),
                (&row.ticketed, Type::BOOL),
                (&row.encode(), Type::BYTEA),
            ],
        )?;
        Ok(())
    }

    fn remove_row(&mut self, database: &str, id: ClientId) -> Result<bool> {
        let statement = "DELETE FROM papir.clients WHERE id = $1 AND database = $2";
        Ok(self.execute(
            statement,
            &[(&bytes(id), Type::BYTEA), (&database, Type::TEXT)],
        )? == 1)
    }

    fn claim(&mut self, id: ClientId, claim: Claim) -> Result<Claim> {
        const CLAIM: &str = "
            INSERT INTO papir.uses (client, number, version, hash) VALUES ($1, $2, $3, $4)
            ON CONFLICT (client, number) DO NOTHING";
        let id = bytes(id);
        let number = signed(claim.number);
        let inserted = self.execute(
            CLAIM,
            &[
                (&id, Type::BYTEA),
                (&number, Type::INT8),
                (&&claim.version.0[..], Type::BYTEA),
                (&&claim.hash[..], Type::BYTEA),
            ],
        )?;
        if inserted == 1 {
            return Ok(claim);
        }

        let rows = self.query(
            "SELECT number, version, hash FROM papir.uses WHERE client = $1 AND number = $2",
            &[(&id, Type::BYTEA), (&number, Type::INT8)],
        )?;
        match rows.first() {
            Some(row) => claim_of(row, 0),
            None => Err(StoreError::aborted()),
        }
    }

    fn remove_claims(&mut self, id: ClientId, numbers: &[u64]) -> Result<()> {
        if numbers.is_empty() {
            return Ok(());
        }

        let numbers: Vec<i64> = numbers.iter().copied().map(signed).collect();
        let statement = "DELETE FROM papir.uses WHERE client = $1 AND number = ANY($2)";
        self.execute(
            statement,
            &[(&bytes(id), Type::BYTEA), (&numbers, Type::INT8_ARRAY)],
        )?;
        Ok(())
    }

    fn put_ticket(
        &mut self,
        id: ClientId,
        version: Version,
        number: u64,
        ticket: &[u8],
    ) -> Result<()> {
        self.execute(
            "INSERT INTO papir.tickets (client, version, number, ticket) VALUES ($1, $2, $3, $4)",
            &[
                (&bytes(id), Type::BYTEA),
                (&&version.0[..], Type::BYTEA),
                (&signed(number), Type::INT8),
                (&ticket, Type::BYTEA),
            ],
        )?;
        Ok(())
    }

    fn remove_tickets(&mut self, id: ClientId, keys: &[TicketKey]) -> Result<()> {
        const REMOVE: &str = "
            DELETE FROM papir.tickets t USING unnest($2::bytea[], $3::bigint[]) AS gone (version, number)
            WHERE t.client = $1 AND t.version = gone.version AND t.number = gone.number";
        if keys.is_empty() {
            return Ok(());
        }

        let versions: Vec<&[u8]> = keys.iter().map(|key| &key.version.0[..]).collect();
        let numbers: Vec<i64> = keys.iter().map(|key| signed(key.number)).collect();
        self.execute(
            REMOVE,
            &[
                (&bytes(id), Type::BYTEA),
                (&versions, Type::BYTEA_ARRAY),
                (&numbers, Type::INT8_ARRAY),
            ],
        )?;
        Ok(())
    }

    fn note_keys(&mut self, digest: KeysDigest, first: FirstUse) -> Result<FirstUse> {
        const NOTE: &str = "
            INSERT INTO papir.digests (digest, client, noted) VALUES ($1, $2, $3)
            ON CONFLICT (digest) DO NOTHING";
        let inserted = self.execute(
            NOTE,
            &[
                (&&digest.0[..], Type::BYTEA),
                (&bytes(first.client), Type::BYTEA),
                (&signed(first.time), Type::INT8),
            ],
        )?;
        if inserted == 1 {
            return Ok(first);
        }

        // Absent only if another service has just forgotten it.
        self.first_use(digest)?.ok_or_else(StoreError::aborted)
    }

    fn forget_keys(&mut self, digest: KeysDigest) -> Result<()> {
        let own: &[Parameter<'_>] = &[(&&digest.0[..], Type::BYTEA)];
        self.execute("DELETE FROM papir.digests WHERE digest = $1", own)?;
        Ok(())
    }

    fn forget_old_keys(&mut self, time: u64, most: u64, chunk: u64) -> Result<u64> {
        // The old ones come first, so that one limit holds for both reasons. The counts end where
        // they no longer matter. All rows are counted only if the table is so large that it may
        // have too many: a service sweeps every few seconds.
        const FORGET: &str = "
            WITH counted AS (
                SELECT (SELECT count(*) FROM (
                            SELECT FROM papir.digests WHERE noted < $1 LIMIT $3) AS o) AS old,
                       CASE WHEN pg_relation_size('papir.digests') / $4 <= $2 THEN 0
                            ELSE (SELECT count(*) FROM (
                                      SELECT FROM papir.digests LIMIT $5) AS p)
                       END AS present)
            DELETE FROM papir.digests WHERE digest IN (
                SELECT digest FROM papir.digests ORDER BY noted
                LIMIT (SELECT least($3, greatest(old, present - $2)) FROM counted))";

        // One service at a time: two could each lock rows that the other one wants. The lock is not
        // waited for, since its holder does this work.
        let lock = "SELECT pg_try_advisory_xact_lock($1)";
        let locked = self.query(lock, &[(&FORGETTING, Type::INT8)])?;
        if !locked.first().is_some_and(|row| row.get(0)) {
            return Ok(0);
        }

        // No more rows than a sum of 64 signed bits can be asked for.
        let counted = most.saturating_add(chunk).min(i64::MAX as u64);
        self.execute(
            FORGET,
            &[
                (&signed(time), Type::INT8),
                (&signed(most), Type::INT8),
                (&signed(chunk), Type::INT8),
                (&LEAST_DIGEST_BYTES, Type::INT8),
                (&signed(counted), Type::INT8),
            ],
        )
    }
}

#[cfg(all(test, unix))]
#[allow(clippy::unwrap_used)]
mod tests;
