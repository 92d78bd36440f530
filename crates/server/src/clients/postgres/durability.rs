//! Server settings under which a commit is never lost.

use postgres::Client;

use crate::clients::error::StoreError;
use crate::clients::tables::Result;

/// Standbys that could take over: connected ones, and slots that wait for one. Logical replication
/// does not count, since its receivers do not take over, nor do backups.
const SETTINGS: &str = "
    SELECT current_setting('fsync'), current_setting('full_page_writes'),
           current_setting('synchronous_commit'), current_setting('synchronous_standby_names'),
           (SELECT count(*) FROM pg_stat_replication r
            WHERE r.state IS DISTINCT FROM 'backup'
              AND NOT EXISTS (SELECT FROM pg_replication_slots s
                              WHERE s.active_pid = r.pid AND s.slot_type = 'logical'))
         + (SELECT count(*) FROM pg_replication_slots
            WHERE slot_type = 'physical' AND NOT active AND NOT temporary)";

/// Checks that the server is a primary, and that a commit survives its crash and that of a standby
/// that takes over. A lost claim would let two queries use one ticket, which reveals what they ask
/// for. The error names the setting, as found and as expected.
pub(super) fn check(client: &mut Client) -> Result<()> {
    if client.query_one("SELECT pg_is_in_recovery()", &[])?.get(0) {
        return Err(StoreError::other(
            "its PostgreSQL server is a standby: expected the primary",
        ));
    }

    let row = client.query_one(SETTINGS, &[])?;
    for (column, name) in [(0, "fsync"), (1, "full_page_writes")] {
        let found: &str = row.get(column);
        if found != "on" {
            return Err(unsafe_setting(name, found, "on"));
        }
    }

    let commit: &str = row.get(2);
    if !["on", "remote_apply"].contains(&commit) {
        return Err(unsafe_setting("synchronous_commit", commit, "on"));
    }

    // A standby that takes over may lack commits, unless the primary waits for it.
    let synchronous: &str = row.get(3);
    let standbys: i64 = row.get(4);
    if standbys > 0 && synchronous.is_empty() {
        let found = format!("'' with {standbys} standby(s)");
        return Err(unsafe_setting(
            "synchronous_standby_names",
            &found,
            "a synchronous standby",
        ));
    }
    Ok(())
}

/// Refusal of a server with a setting under which a commit may be lost.
fn unsafe_setting(name: &str, found: &str, expected: &str) -> StoreError {
    StoreError::other(format!(
        "its PostgreSQL server has {name} = {found}: expected {expected}, since a ticket whose \
         use is lost could be used twice"
    ))
}
