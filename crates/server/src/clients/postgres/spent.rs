//! Spent private tokens within a transaction of PostgreSQL.

use postgres::types::Type;

use super::tables::{Within, signed};
use crate::clients::spent_token::{IssuerKeyId, SpentToken};
use crate::clients::tables::{Result, SpentTables};

/// Key of the lock that a service holds while it forgets spent tokens.
const FORGETTING: i64 = 0x7061_7069_7202;

impl SpentTables for Within<'_, '_> {
    fn spend(&mut self, token: &SpentToken) -> Result<bool> {
        // A second transaction with the same token waits for the end of the first. The key's row is
        // locked, so that the key cannot end before this token is noted: without the lock, another
        // service could end the key and forget the token, and this one would accept it again.
        // Services that note that a key is accepted do not wait for this kind of lock.
        const SPEND: &str = "
            WITH usable AS (
                SELECT key FROM papir.issuer_keys WHERE key = $1 AND NOT ended FOR KEY SHARE)
            INSERT INTO papir.spent (key, digest) SELECT key, $2 FROM usable
            ON CONFLICT (key, digest) DO NOTHING";

        let inserted = self.execute(
            SPEND,
            &[
                (&&token.key[..], Type::BYTEA),
                (&&token.digest[..], Type::BYTEA),
            ],
        )?;
        Ok(inserted == 1)
    }

    fn note_issuer_keys(&mut self, keys: &[IssuerKeyId], time: u64) -> Result<Vec<IssuerKeyId>> {
        const NOTE: &str = "
            INSERT INTO papir.issuer_keys AS k (key, accepted, ended) VALUES ($1, $2, false)
            ON CONFLICT (key) DO UPDATE SET accepted = greatest(k.accepted, excluded.accepted)
            WHERE NOT k.ended";

        let mut usable = Vec::with_capacity(keys.len());
        for key in keys {
            let noted = self.execute(
                NOTE,
                &[(&&key[..], Type::BYTEA), (&signed(time), Type::INT8)],
            )?;
            if noted == 1 {
                usable.push(*key);
            }
        }
        Ok(usable)
    }

    fn forget_spent(&mut self, now: u64, after: u64, chunk: u64) -> Result<u64> {
        // Locked for update, which waits for the transactions that spend tokens of the keys.
        const END: &str = "
            WITH due AS (
                SELECT key FROM papir.issuer_keys
                WHERE NOT ended AND accepted < -$2 + least(
                    $1, (SELECT max(accepted) FROM papir.issuer_keys WHERE NOT ended))
                ORDER BY key FOR UPDATE)
            UPDATE papir.issuer_keys k SET ended = true FROM due WHERE k.key = due.key";
        // One look at the index for each ended key, however many tokens of other keys there are.
        const FORGET: &str = "
            DELETE FROM papir.spent s
            USING (SELECT k.key, d.digest
                   FROM papir.issuer_keys k CROSS JOIN LATERAL (
                       SELECT o.digest FROM papir.spent o WHERE o.key = k.key LIMIT $1) AS d
                   WHERE k.ended LIMIT $1) AS gone
            WHERE s.key = gone.key AND s.digest = gone.digest";

        // One service at a time. The lock is not waited for, since its holder does this work.
        let lock = "SELECT pg_try_advisory_xact_lock($1)";
        let locked = self.query(lock, &[(&FORGETTING, Type::INT8)])?;
        if !locked.first().is_some_and(|row| row.get(0)) {
            return Ok(0);
        }

        let ended = self.execute(
            END,
            &[(&signed(now), Type::INT8), (&signed(after), Type::INT8)],
        )?;
        let forgotten = self.execute(FORGET, &[(&signed(chunk), Type::INT8)])?;
        Ok(ended + forgotten)
    }

    fn forget_ended_keys(&mut self, now: u64, after: u64) -> Result<u64> {
        // Without a key in use, the maximum is null, and no row is removed.
        const REMOVE: &str = "
            DELETE FROM papir.issuer_keys k
            WHERE k.ended AND k.accepted < $1 - $2
                AND k.accepted < -$2 + (
                    SELECT max(u.accepted) FROM papir.issuer_keys u WHERE NOT u.ended)
                AND NOT EXISTS (SELECT FROM papir.spent s WHERE s.key = k.key)";

        self.execute(
            REMOVE,
            &[(&signed(now), Type::INT8), (&signed(after), Type::INT8)],
        )
    }
}
