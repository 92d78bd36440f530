//! Spent private tokens within a transaction of redb.

use redb::{ReadableTable, WriteTransaction};

use super::tables::{ISSUER_KEYS, SPENT, Within};
use crate::clients::spent_token::{IssuerKeyId, SpentToken};
use crate::clients::tables::{Result, SpentTables};

/// The first and the last digest in order.
const LOWEST: [u8; 32] = [0; 32];
const HIGHEST: [u8; 32] = [0xff; 32];

impl SpentTables for Within<'_, WriteTransaction> {
    fn spend(&mut self, token: &SpentToken) -> Result<bool> {
        let keys = self.0.open_table(ISSUER_KEYS)?;
        let state = keys.get(&token.key)?.map(|found| found.value());
        if state.is_none_or(|state| state.1) {
            return Ok(false);
        }

        let mut spent = self.0.open_table(SPENT)?;
        let before = spent.insert((&token.key, &token.digest), ())?;
        Ok(before.is_none())
    }

    fn note_issuer_keys(&mut self, keys: &[IssuerKeyId], time: u64) -> Result<Vec<IssuerKeyId>> {
        let mut noted = self.0.open_table(ISSUER_KEYS)?;
        let mut usable = Vec::with_capacity(keys.len());
        for key in keys {
            let before = noted.get(key)?.map(|found| found.value());
            let accepted = match before {
                Some((_, true)) => continue,
                Some((earlier, false)) => earlier.max(time),
                None => time,
            };

            noted.insert(key, (accepted, false))?;
            usable.push(*key);
        }
        Ok(usable)
    }

    fn forget_spent(&mut self, now: u64, after: u64, chunk: u64) -> Result<u64> {
        let mut noted = self.0.open_table(ISSUER_KEYS)?;
        let mut in_use = Vec::new();
        let mut ended = Vec::new();
        for entry in noted.iter()? {
            let (key, state) = entry?;
            match state.value() {
                (_, true) => ended.push(*key.value()),
                (accepted, false) => in_use.push((accepted, *key.value())),
            }
        }

        let last = in_use.iter().map(|(accepted, _)| *accepted).max();
        let time = last.unwrap_or(0).min(now).saturating_sub(after);
        let mut due: u64 = 0;
        for (accepted, key) in &in_use {
            if *accepted < time {
                noted.insert(key, (*accepted, true))?;
                ended.push(*key);
                due += 1;
            }
        }

        let mut forgotten = 0;
        for key in &ended {
            forgotten += self.forget_of_key(key, chunk.saturating_sub(forgotten))?;
        }
        Ok(due + forgotten)
    }

    fn forget_ended_keys(&mut self, now: u64, after: u64) -> Result<u64> {
        let mut noted = self.0.open_table(ISSUER_KEYS)?;
        let spent = self.0.open_table(SPENT)?;
        let mut last = 0;
        let mut ended = Vec::new();
        for entry in noted.iter()? {
            let (key, state) = entry?;
            match state.value() {
                (accepted, true) => ended.push((accepted, *key.value())),
                (accepted, false) => last = last.max(accepted),
            }
        }

        let time = last.min(now).saturating_sub(after);
        let mut removed = 0;
        for (accepted, key) in &ended {
            let mut tokens = spent.range((key, &LOWEST)..=(key, &HIGHEST))?;
            if *accepted < time && tokens.next().is_none() {
                noted.remove(key)?;
                removed += 1;
            }
        }
        Ok(removed)
    }
}

impl Within<'_, WriteTransaction> {
    /// Forgets at most `most` spent tokens of a key. Returns their number.
    fn forget_of_key(&self, key: &IssuerKeyId, most: u64) -> Result<u64> {
        let mut spent = self.0.open_table(SPENT)?;
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let mut digests = Vec::new();
        for entry in spent.range((key, &LOWEST)..=(key, &HIGHEST))?.take(most) {
            let of_token = entry?.0;
            digests.push(*of_token.value().1);
        }

        for digest in &digests {
            spent.remove((key, digest))?;
        }
        Ok(digests.len() as u64)
    }
}
