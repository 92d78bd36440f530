//! The tokens that are not spent.

use std::mem;

use papir_core::{Error as CoreError, Formats, Result as CoreResult};
use papir_privacy_pass::{
    DIGEST_BYTES, IssuerDirectory, IssuerPublicKey, PassToken, TOKEN_BYTES, TOKENS_PER_BATCH,
};
use zeroize::{Zeroize, Zeroizing};

/// Most tokens that are kept: those of several challenges, of which the oldest are dropped first.
const MAX_TOKENS: usize = 4 * TOKENS_PER_BATCH;
/// Format numbers of the record.
const FORMATS: Formats = Formats {
    what: "a record of tokens",
    oldest: 1,
    written: 1,
    renew: "remove it to fetch tokens again",
};

/// The tokens of one service and one issuer that are not spent, the oldest first. They are erased
/// on drop.
///
/// The record has the format number in one byte, then each token as it is sent.
#[derive(Default)]
pub(super) struct UnspentTokens(Vec<PassToken>);

impl UnspentTokens {
    /// Decodes a record.
    ///
    /// # Errors
    /// [`CoreError::Format`] for another format, [`CoreError::Malformed`] for other bytes.
    pub(super) fn decode(record: &[u8]) -> CoreResult<Self> {
        let (format, encoded) = record.split_first().unwrap_or((&0, &[][..]));
        FORMATS.check(u32::from(*format))?;

        let has_length = encoded.len().is_multiple_of(TOKEN_BYTES);
        if !has_length || encoded.len() > MAX_TOKENS * TOKEN_BYTES {
            let found = format!("{} bytes", encoded.len());
            return Err(malformed(found));
        }
        let mut tokens = Self::default();
        for bytes in encoded.chunks_exact(TOKEN_BYTES) {
            let token = PassToken::parse(bytes);
            tokens.0.push(token.map_err(malformed)?);
        }
        Ok(tokens)
    }

    /// Encodes the record.
    pub(super) fn encode(&self) -> Zeroizing<Vec<u8>> {
        // Allocated in full: growing would leave copies of the tokens in memory.
        let length = 1 + self.0.len() * TOKEN_BYTES;
        let mut record = Zeroizing::new(Vec::with_capacity(length));
        record.push(FORMATS.written as u8);
        for token in &self.0 {
            let bytes = Zeroizing::new(token.encode());
            record.extend_from_slice(&bytes[..]);
        }
        record
    }

    /// Takes the oldest token for the challenge with this digest; `None` if there is none.
    pub(super) fn take(&mut self, digest: &[u8; DIGEST_BYTES]) -> Option<PassToken> {
        let mut tokens = self.0.iter();
        let place = tokens.position(|token| token.input.challenge_digest == *digest)?;
        Some(self.0.remove(place))
    }

    /// The number of tokens for the challenge with this digest.
    pub(super) fn count(&self, digest: &[u8; DIGEST_BYTES]) -> usize {
        let tokens = self.0.iter();
        let of_challenge = tokens.filter(|token| token.input.challenge_digest == *digest);
        of_challenge.count()
    }

    /// Adds the tokens of others, as [`Self::add`] does.
    pub(super) fn append(&mut self, mut others: Self) {
        self.add(mem::take(&mut others.0));
    }

    /// Adds tokens. The oldest ones are dropped if there are too many.
    pub(super) fn add(&mut self, tokens: Vec<PassToken>) {
        self.0.extend(tokens);
        let dropped = self.0.len().saturating_sub(MAX_TOKENS);
        self.0.drain(..dropped).for_each(erase);
    }

    /// Drops the tokens under keys that the issuer's directory does not have.
    pub(super) fn keep_listed(&mut self, directory: &IssuerDirectory) {
        self.keep(|token| directory.by_id(&token.input.key_id).is_some());
    }

    /// Drops the tokens under other keys than this.
    pub(super) fn keep_of(&mut self, key: &IssuerPublicKey) {
        self.keep(|token| token.input.key_id == *key.id());
    }

    /// Drops the tokens for which `is_kept` returns false.
    fn keep(&mut self, is_kept: impl Fn(&PassToken) -> bool) {
        self.0
            .extract_if(.., |token| !is_kept(token))
            .for_each(erase);
    }
}

impl Drop for UnspentTokens {
    fn drop(&mut self) {
        self.0.drain(..).for_each(erase);
    }
}

/// Erases a token.
fn erase(mut token: PassToken) {
    token.input.zeroize();
    token.authenticator.zeroize();
}

fn malformed(found: impl ToString) -> CoreError {
    CoreError::malformed("a record of tokens", found, "whole tokens, at most 128")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// A token for a challenge, whose other fields are `number`.
    fn token(digest: u8, number: u8) -> PassToken {
        let mut bytes = [number; TOKEN_BYTES];
        bytes[..2].copy_from_slice(&[0, 2]);
        bytes[34..66].fill(digest);
        PassToken::parse(&bytes).unwrap()
    }

    #[test]
    fn the_oldest_token_of_a_challenge_is_taken_once() {
        let mut tokens = UnspentTokens::default();
        tokens.add(vec![token(1, 1), token(2, 2), token(1, 3)]);
        assert_eq!(tokens.take(&[1; 32]), Some(token(1, 1)));
        assert_eq!((tokens.count(&[1; 32]), tokens.count(&[3; 32])), (1, 0));

        let mut tokens = UnspentTokens::decode(&tokens.encode()).unwrap();
        assert_eq!(tokens.take(&[1; 32]), Some(token(1, 3)));
        assert_eq!(tokens.take(&[1; 32]), None);
        assert_eq!(tokens.take(&[2; 32]), Some(token(2, 2)));
        assert_eq!(*tokens.encode(), [1]);
    }

    #[test]
    fn tokens_are_bounded_and_the_oldest_are_dropped() {
        let mut tokens = UnspentTokens::default();
        tokens.add(vec![token(1, 1)]);
        tokens.add(vec![token(2, 2); MAX_TOKENS]);
        assert_eq!(tokens.take(&[1; 32]), None);
        let record = tokens.encode();
        assert_eq!(record.len(), 1 + MAX_TOKENS * TOKEN_BYTES);

        let longer = [&record[..], &[0; TOKEN_BYTES]].concat();
        assert!(UnspentTokens::decode(&longer).is_err());
    }

    #[test]
    fn damaged_records_are_refused() {
        let mut tokens = UnspentTokens::default();
        tokens.add(vec![token(1, 1)]);
        let record = tokens.encode();
        for length in [0, 2, TOKEN_BYTES, TOKEN_BYTES + 2] {
            let mut bytes = record.to_vec();
            bytes.resize(length, 0);
            assert!(UnspentTokens::decode(&bytes).is_err(), "{length}");
        }

        let mut other = record.to_vec();
        other[2] = 1;
        assert!(UnspentTokens::decode(&other).is_err(), "another token type");
        let mut newer = record.to_vec();
        newer[0] = 2;
        let refused = UnspentTokens::decode(&newer).err().unwrap();
        assert!(refused.to_string().contains("update papir"), "{refused}");
    }
}
