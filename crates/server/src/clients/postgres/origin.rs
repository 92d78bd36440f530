//! History of a cluster: its identifier and timeline.
//!
//! The tables belong to one history. A standby that takes over, and a restored backup, begin a new
//! timeline. Tables that are copied to another cluster get another identifier. In each case, claims
//! that were on disk may be missing. A query could then use a ticket a second time, so the clients
//! whose queries use tickets are removed, and register anew.

use postgres::Client;

use crate::clients::tables::Result;

/// The history of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Origin {
    pub(super) system: i64,
    pub(super) timeline: String,
}

impl Origin {
    /// The history that the server's cluster is in.
    pub(super) fn current(client: &mut Client) -> Result<Self> {
        const CURRENT: &str = "
            SELECT system_identifier, substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)
            FROM pg_control_system()";
        let row = client.query_one(CURRENT, &[])?;
        Ok(Self {
            system: row.get(0),
            timeline: row.get(1),
        })
    }

    /// Removes the clients with tickets if the tables come from another history. Parts of their
    /// keys in an object store are removed when a service starts.
    pub(super) fn follow(&self, client: &mut Client) -> Result<()> {
        const SAME: &str = "SELECT system = $1 AND timeline = $2 FROM papir.origin";
        if client
            .query_one(SAME, &[&self.system, &self.timeline])?
            .get(0)
        {
            return Ok(());
        }

        // Locked before the second look: of several services that notice, one removes the clients.
        let mut transaction = client.transaction()?;
        transaction.execute("SELECT FROM papir.origin FOR UPDATE", &[])?;
        if transaction
            .query_one(SAME, &[&self.system, &self.timeline])?
            .get(0)
        {
            return Ok(());
        }

        let removed = transaction.execute("DELETE FROM papir.clients WHERE ticketed", &[])?;
        transaction.execute(
            "DELETE FROM papir.keys k WHERE part IS NOT NULL
             AND NOT EXISTS (SELECT FROM papir.clients c WHERE c.id = k.client)",
            &[],
        )?;
        let update = "UPDATE papir.origin SET system = $1, timeline = $2";
        transaction.execute(update, &[&self.system, &self.timeline])?;
        transaction.commit()?;

        tracing::warn!(
            removed,
            "the client registry was restored or another PostgreSQL server took over: clients with \
             tickets register again"
        );
        Ok(())
    }
}
