//! Definitions of the tables.

use postgres::{Client, Transaction};

use super::origin::Origin;
use crate::clients::error::StoreError;
use crate::clients::tables::Result;

/// Format of the tables.
const FORMAT: i32 = 1;
/// Key of the lock that is held while the tables are created.
const LOCK: i64 = 0x7061_7069_7200;

/// Tickets and keys are not compressed: they are random.
const TABLES: &str = "
    CREATE SCHEMA papir;
    CREATE TABLE papir.origin (
        only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
        format   integer NOT NULL,
        system   bigint  NOT NULL,
        timeline text    NOT NULL);
    CREATE TABLE papir.clients (
        id       bytea   PRIMARY KEY,
        database text    NOT NULL,
        ticketed boolean NOT NULL,
        entry    bytea   NOT NULL);
    CREATE INDEX ON papir.clients (database);
    CREATE TABLE papir.tickets (
        client   bytea  REFERENCES papir.clients ON DELETE CASCADE,
        version  bytea,
        number   bigint,
        ticket   bytea  NOT NULL,
        PRIMARY KEY (client, version, number));
    CREATE TABLE papir.uses (
        client   bytea  REFERENCES papir.clients ON DELETE CASCADE,
        number   bigint,
        version  bytea  NOT NULL,
        hash     bytea  NOT NULL,
        PRIMARY KEY (client, number));
    CREATE TABLE papir.keys (
        client   bytea,
        start    bigint,
        length   bigint NOT NULL,
        part     bytea,
        PRIMARY KEY (client, start));
    CREATE UNLOGGED TABLE papir.preparing (
        client   bytea,
        version  bytea,
        number   bigint,
        service  bytea       NOT NULL,
        until    timestamptz NOT NULL,
        PRIMARY KEY (client, version, number));
    CREATE UNLOGGED TABLE papir.answered (
        database text,
        version  bytea,
        service  bytea,
        seen     timestamptz NOT NULL,
        PRIMARY KEY (database, version, service));
    ALTER TABLE papir.tickets ALTER COLUMN ticket SET STORAGE EXTERNAL;
    ALTER TABLE papir.keys ALTER COLUMN part SET STORAGE EXTERNAL;
";

/// Tables that the first releases with this format did not have, and do not need.
const LATER_TABLES: &str = "
    CREATE TABLE papir.digests (
        digest   bytea  PRIMARY KEY,
        client   bytea  NOT NULL,
        noted    bigint NOT NULL);
    CREATE INDEX ON papir.digests (noted);
";

/// Tables of spent private tokens, which earlier releases did not have, and do not need.
const SPENT_TABLES: &str = "
    CREATE TABLE papir.issuer_keys (
        key      bytea   PRIMARY KEY,
        accepted bigint  NOT NULL,
        ended    boolean NOT NULL);
    CREATE TABLE papir.spent (
        key      bytea,
        digest   bytea,
        PRIMARY KEY (key, digest));
";

/// Creates the tables unless they exist. `origin` is the history that they then belong to. Fails
/// for tables of another format.
pub(super) fn create(client: &mut Client, origin: &Origin) -> Result<()> {
    let mut transaction = client.transaction()?;

    // Locked before the look: of several services that start, one creates the tables.
    transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&LOCK])?;
    if is_missing(&mut transaction, "papir.origin")? {
        transaction.batch_execute(TABLES)?;
        transaction.execute(
            "INSERT INTO papir.origin (format, system, timeline) VALUES ($1, $2, $3)",
            &[&FORMAT, &origin.system, &origin.timeline],
        )?;
    }

    let format: i32 = transaction
        .query_one("SELECT format FROM papir.origin", &[])?
        .get(0);
    if format != FORMAT {
        return Err(StoreError::other(format!(
            "its tables have format {format}: this release reads format {FORMAT}"
        )));
    }

    // Asked first: `IF NOT EXISTS` would need the right to create even where the table exists.
    if is_missing(&mut transaction, "papir.digests")? {
        transaction.batch_execute(LATER_TABLES)?;
    }
    if is_missing(&mut transaction, "papir.spent")? {
        transaction.batch_execute(SPENT_TABLES)?;
    }
    Ok(transaction.commit()?)
}

/// Returns whether a table does not exist.
fn is_missing(transaction: &mut Transaction<'_>, table: &str) -> Result<bool> {
    let row = transaction.query_one("SELECT to_regclass($1) IS NULL", &[&table])?;
    Ok(row.get(0))
}
