//! Queries to the server of a slot, and its errors.

use postgres::Client;
use postgres::fallible_iterator::FallibleIterator;
use postgres::types::ToSql;

use crate::follow::options::SlotOptions;

/// A slot on the server.
pub(super) struct ServerSlot {
    pub(super) plugin: String,
    /// The place up to which it has advanced.
    pub(super) confirmed: u64,
    /// The server's identity, its timeline, and the database.
    pub(super) server: String,
    /// Set if the server has removed log that the slot needs.
    pub(super) lost: bool,
}

/// The content of a publication.
pub(super) enum Published {
    /// One whole table: its name, with its schema.
    Table(String),
    /// Anything else, in words.
    Other(String),
}

/// The slot of this name in the server's database; `None` if there is none.
pub(super) fn slot_of(
    client: &mut Client,
    name: &str,
) -> Result<Option<ServerSlot>, postgres::Error> {
    const SLOT: &str = "SELECT plugin::text, (confirmed_flush_lsn - '0/0'::pg_lsn)::bigint, \
         (SELECT system_identifier::text FROM pg_control_system()) || '/' \
         || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) || '/' || database, \
         coalesce(wal_status = 'lost', false) FROM pg_replication_slots \
         WHERE slot_name = $1 AND database = current_database()";

    let found = client.query_opt(SLOT, &[&name])?;
    Ok(found.map(|row| ServerSlot {
        plugin: row.get(0),
        confirmed: row.get::<_, Option<i64>>(1).unwrap_or_default() as u64,
        server: row.get(2),
        lost: row.get(3),
    }))
}

/// The table of a publication.
pub(super) fn table_of(
    client: &mut Client,
    publication: &str,
) -> Result<Published, postgres::Error> {
    // Servers before version 15 know no filters of rows: the field is missing there.
    const TABLES: &str = "SELECT schemaname || '.' || tablename, to_jsonb(t) ->> 'rowfilter' IS NOT NULL \
         FROM pg_publication_tables t WHERE pubname = $1";
    const KINDS: &str = "SELECT pubinsert AND pubupdate AND pubdelete AND pubtruncate FROM pg_publication WHERE pubname = $1";

    let Some(kinds) = client.query_opt(KINDS, &[&publication])? else {
        return Ok(Published::Other("does not exist".to_owned()));
    };
    let tables = client.query(TABLES, &[&publication])?;

    Ok(match &tables[..] {
        [table] if table.get(1) => Published::Other("has a filter of rows".to_owned()),
        [_] if !kinds.get::<_, bool>(0) => Published::Other("leaves out some changes".to_owned()),
        [table] => Published::Table(table.get(0)),
        several => Published::Other(format!("has {} tables", several.len())),
    })
}

/// The columns of a table that are unique only at the end of a statement or transaction. Until then
/// a key may have two rows, and the changes do not say which one a deletion means.
pub(super) fn deferrable_keys(
    client: &mut Client,
    table: &str,
) -> Result<Vec<String>, postgres::Error> {
    const KEYS: &str = "SELECT a.attname::text FROM pg_constraint c \
         JOIN pg_class t ON t.oid = c.conrelid JOIN pg_namespace n ON n.oid = t.relnamespace \
         JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = c.conkey[1] \
         WHERE n.nspname || '.' || t.relname = $1 AND c.contype IN ('p', 'u') AND c.condeferrable \
         AND cardinality(c.conkey) = 1 AND NOT EXISTS (SELECT FROM pg_index i WHERE i.indrelid = t.oid \
         AND i.indisunique AND i.indisvalid AND i.indimmediate AND i.indpred IS NULL AND i.indnkeyatts = 1 \
         AND i.indkey[0] = c.conkey[1])";

    Ok(client
        .query(KEYS, &[&table])?
        .iter()
        .map(|row| row.get(0))
        .collect())
}

/// The end of the log that is on disk.
pub(super) fn end_of_log(client: &mut Client) -> Result<u64, postgres::Error> {
    const END: &str = "SELECT (pg_current_wal_flush_lsn() - '0/0'::pg_lsn)::bigint";
    Ok(client.query_one(END, &[])?.get::<_, i64>(0) as u64)
}

/// The next messages of a slot, in order, without advancing it: at least `at_once`, or all that
/// there are. Returns `None` if they have more than `most` bytes.
pub(super) fn peek(
    client: &mut Client,
    options: &SlotOptions,
    at_once: i32,
    most: usize,
) -> Result<Option<Vec<Vec<u8>>>, postgres::Error> {
    const PEEK: &str = "SELECT data FROM pg_logical_slot_peek_binary_changes($1, NULL, $2, \
         'proto_version', '1', 'publication_names', $3)";

    let publication = quoted(&options.publication);
    let parameters: [&(dyn ToSql + Sync); 3] = [&options.slot, &at_once, &publication];
    let mut rows = client.query_raw(PEEK, parameters)?;

    // Row by row: a transaction that is too long is given up before it fills the memory.
    let mut found = Vec::new();
    let mut bytes = 0;
    while let Some(row) = rows.next()? {
        let message: Vec<u8> = row.get(0);
        bytes += message.len();
        if bytes > most {
            return Ok(None);
        }
        found.push(message);
    }
    Ok(Some(found))
}

/// Lets the server forget its log up to a place.
pub(super) fn advance(client: &mut Client, slot: &str, to: u64) -> Result<(), postgres::Error> {
    const ADVANCE: &str = "SELECT pg_replication_slot_advance($1, $2::text::pg_lsn)";
    client.query(ADVANCE, &[&slot, &place(to)]).map(drop)
}

/// A place in the log, as PostgreSQL writes it.
pub(super) fn place(bytes: u64) -> String {
    format!("{:X}/{:X}", bytes >> 32, bytes as u32)
}

/// A publication's name in the plugin's list of names.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Returns whether another attempt may succeed: the connection failed, the server stops or starts
/// or lacks resources, or another session uses the slot.
pub(super) fn may_pass(error: &postgres::Error) -> bool {
    const CODES: [&str; 5] = ["08", "53", "57", "55006", "55P03"];
    // Without a code the connection failed, and the server said nothing.
    let code = error.code().map(postgres::error::SqlState::code);
    code.is_none_or(|code| CODES.iter().any(|begin| code.starts_with(begin)))
}
