//! Short messages of registered clients: four bytes in place of each envelope.
//!
//! ```text
//! query    handle (4), the payloads of the queries
//! answer   tag (4), the payloads of the answers
//! ```
//!
//! The service and the client compute handle and tag from the client's id, which the service chose
//! at random and only the two know. The handle names client and version. The tag binds an answer to
//! client, version and query: every change of them passes with probability 2⁻³² only.

use zeroize::{Zeroize, Zeroizing};

use crate::envelope::{self, Header, Kind};
use crate::{Error, Result, Version, shown_bytes};

/// Bytes that a short message adds to its payloads: a handle or a tag.
pub const OVERHEAD: usize = 4;
/// BLAKE3's context string, which separates these keys from all other uses of the hash.
const CONTEXT: &str = "papir 2026 short messages v1";
/// First byte of the hash's input for a handle.
const HANDLE: u8 = 0;
/// First byte of the hash's input for a tag.
const TAG: u8 = 1;

/// One client and one version of a database, to which short messages are bound.
pub struct Binding {
    /// A hash of the client's id, the scheme and the version. Secret, as the id is.
    key: Zeroizing<[u8; 32]>,
    scheme: u16,
    version: Version,
}

impl Binding {
    /// The binding of the client with the id `client`, as the service printed it, to a version of a
    /// database of this scheme.
    pub fn new(client: &str, scheme: u16, version: Version) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key(CONTEXT);
        // The id is last and alone has no fixed length.
        hasher
            .update(&scheme.to_le_bytes())
            .update(&version.0)
            .update(client.as_bytes());
        let key = Zeroizing::new(*hasher.finalize().as_bytes());
        hasher.zeroize();

        Self {
            key,
            scheme,
            version,
        }
    }

    /// The binding of the client with the id `client` to the scheme and the version that an
    /// enveloped query names.
    ///
    /// # Errors
    /// [`Error::Malformed`] for bytes that do not begin as an enveloped query.
    pub fn of_query(client: &str, query: &[u8]) -> Result<Self> {
        let named = envelope::named_version(query, Kind::Query);
        let scheme = query.get(6..8).and_then(|bytes| bytes.try_into().ok());
        match (scheme.map(u16::from_le_bytes), named) {
            (Some(scheme), Some(version)) => Ok(Self::new(client, scheme, version)),
            _ => Err(Error::malformed(
                "a query",
                "another beginning",
                "an envelope of a query",
            )),
        }
    }

    /// The version.
    pub fn version(&self) -> Version {
        self.version
    }

    /// The handle, the first bytes of every short query of this client to this version.
    pub fn handle(&self) -> [u8; OVERHEAD] {
        self.first_bytes(&[&[HANDLE]])
    }

    /// Makes one short message of enveloped queries.
    ///
    /// # Errors
    /// The errors of [`envelope::open_version`] for queries of another scheme or version.
    pub fn shorten_queries<Q: AsRef<[u8]>>(&self, queries: &[Q]) -> Result<Vec<u8>> {
        let mut message = self.handle().to_vec();
        for query in queries {
            message.extend_from_slice(self.opened(query.as_ref(), Kind::Query)?);
        }
        Ok(message)
    }

    /// Returns the concatenated enveloped queries of a short message, whose payloads have `each`
    /// bytes.
    ///
    /// # Errors
    /// [`Error::Length`] for a message without a whole number of queries, at least one;
    /// [`Error::Malformed`] for another handle.
    pub fn restore_queries(&self, message: &[u8], each: usize) -> Result<Vec<u8>> {
        let payloads = payloads_of_query(message, each)?;
        if handle_of(message)? != self.handle() {
            return Err(Error::malformed(
                "a short query's handle",
                shown_bytes(&message[..OVERHEAD]),
                "that of this client and version",
            ));
        }

        Ok(payloads
            .chunks_exact(each)
            .flat_map(|payload| envelope::seal(&self.header(Kind::Query), payload))
            .collect())
    }

    /// Makes one short message of the concatenated enveloped answers to the short message `query`.
    ///
    /// # Errors
    /// [`Error::Malformed`] for bytes that are no concatenated envelopes, and the errors of
    /// [`envelope::open_version`] for answers of another scheme or version.
    pub fn shorten_answers(&self, query: &[u8], answers: &[u8]) -> Result<Vec<u8>> {
        let answers = envelope::split(answers)
            .ok_or_else(|| Error::malformed("answers", "another length", "whole envelopes"))?;

        let mut message = vec![0; OVERHEAD];
        for answer in answers {
            message.extend_from_slice(self.opened(answer, Kind::Answer)?);
        }

        let tag = self.tag(query, &message[OVERHEAD..]);
        message[..OVERHEAD].copy_from_slice(&tag);
        Ok(message)
    }

    /// Returns true if `message` is the answer to the short message `query`, for this client and
    /// version. A false message passes with probability 2⁻³².
    pub fn is_answer(&self, query: &[u8], message: &[u8]) -> bool {
        message
            .split_first_chunk::<OVERHEAD>()
            .is_some_and(|(tag, payloads)| *tag == self.tag(query, payloads))
    }

    /// Returns the concatenated enveloped answers of a short message with `count` answers to the
    /// short message `query`.
    ///
    /// # Errors
    /// [`Error::Malformed`] for a message that is no answer to the query for this client and
    /// version, and for payloads of different lengths.
    pub fn restore_answers(&self, query: &[u8], message: &[u8], count: usize) -> Result<Vec<u8>> {
        if !self.is_answer(query, message) {
            return Err(Error::malformed(
                "a short answer",
                "a tag of another client, version, query or content",
                "the tag of an answer to this query: ask again, or send a new query",
            ));
        }

        let payloads = &message[OVERHEAD..];
        let each = payloads.len() / count.max(1);
        if each == 0 || each * count != payloads.len() {
            let found = format!("{} bytes", payloads.len());
            let expected = format!("{count} payloads of one length");
            return Err(Error::malformed("a short answer", found, expected));
        }

        Ok(payloads
            .chunks_exact(each)
            .flat_map(|payload| envelope::seal(&self.header(Kind::Answer), payload))
            .collect())
    }

    fn header(&self, kind: Kind) -> Header {
        Header {
            kind,
            scheme: self.scheme,
            version: self.version,
        }
    }

    /// The payload of an envelope of this scheme and version.
    fn opened<'m>(&self, message: &'m [u8], kind: Kind) -> Result<&'m [u8]> {
        envelope::open_version(message, kind, self.scheme, self.version)
    }

    /// The tag of answers to a short message. The query's length comes first: otherwise, another
    /// query and other answers could give the same bytes.
    fn tag(&self, query: &[u8], answers: &[u8]) -> [u8; OVERHEAD] {
        let length = (query.len() as u64).to_le_bytes();
        self.first_bytes(&[&[TAG], &length, query, answers])
    }

    /// The first bytes of the keyed hash over these parts.
    fn first_bytes(&self, parts: &[&[u8]]) -> [u8; OVERHEAD] {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        for part in parts {
            hasher.update(part);
        }

        let mut first = [0; OVERHEAD];
        first.copy_from_slice(&hasher.finalize().as_bytes()[..OVERHEAD]);
        hasher.zeroize();
        first
    }
}

/// The handle of a short query.
///
/// # Errors
/// [`Error::Length`] for fewer bytes than a handle has.
pub fn handle_of(message: &[u8]) -> Result<[u8; OVERHEAD]> {
    message.first_chunk().copied().ok_or(Error::Length {
        what: "a short query",
        found: message.len() as u64,
        expected: OVERHEAD as u64,
    })
}

/// The payloads of a short query, of `each` bytes: at least one.
fn payloads_of_query(message: &[u8], each: usize) -> Result<&[u8]> {
    let payloads = message.get(OVERHEAD..).unwrap_or_default();
    if each == 0 || payloads.is_empty() || !payloads.len().is_multiple_of(each) {
        let whole = payloads.len().div_ceil(each.max(1)).max(1);
        return Err(Error::Length {
            what: "a short query",
            found: message.len() as u64,
            expected: (OVERHEAD + whole.saturating_mul(each)) as u64,
        });
    }
    Ok(payloads)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const ID: &str = "5f0c6c0e8f8c4d0b9a55e2b7a4a0e9d1";

    fn binding(client: &str, scheme: u16, version: u8) -> Binding {
        Binding::new(client, scheme, Version([version; 8]))
    }

    fn sealed(binding: &Binding, kind: Kind, payload: &[u8]) -> Vec<u8> {
        envelope::seal(&binding.header(kind), payload)
    }

    #[test]
    fn messages_are_restored() {
        let own = binding(ID, 14, 1);
        let queries = [
            sealed(&own, Kind::Query, b"one"),
            sealed(&own, Kind::Query, b"two"),
        ];
        let query = own.shorten_queries(&queries).unwrap();
        let named = Binding::of_query(ID, &queries[0]).unwrap();
        assert_eq!(query[..4], own.handle());
        assert_eq!(named.handle(), own.handle());
        assert!(Binding::of_query(ID, &query).is_err());
        assert_eq!(&query[4..], b"onetwo");
        assert_eq!(own.restore_queries(&query, 3).unwrap(), queries.concat());

        let answers = [
            sealed(&own, Kind::Answer, b"first"),
            sealed(&own, Kind::Answer, b"other"),
        ]
        .concat();
        let answer = own.shorten_answers(&query, &answers).unwrap();
        assert_eq!(&answer[4..], b"firstother");
        assert_eq!(own.restore_answers(&query, &answer, 2).unwrap(), answers);
        assert!(own.restore_answers(&query, &answer, 3).is_err());
    }

    #[test]
    fn handles_depend_on_client_scheme_and_version() {
        let other = ID.replace('5', "6");
        let all = [
            binding(ID, 14, 1).handle(),
            binding(ID, 14, 2).handle(),
            binding(ID, 15, 1).handle(),
            binding(&other, 14, 1).handle(),
        ];
        for (position, handle) in all.iter().enumerate() {
            assert!(!all[..position].contains(handle), "{position}");
        }
        assert_eq!(all[0], binding(ID, 14, 1).handle());
    }

    #[test]
    fn a_foreign_handle_and_a_truncated_query_are_refused() {
        let own = binding(ID, 14, 1);
        let query = own
            .shorten_queries(&[sealed(&own, Kind::Query, b"one")])
            .unwrap();

        for length in 0..query.len() {
            let part = &query[..length];
            assert!(own.restore_queries(part, 3).is_err(), "{length}");
        }
        assert!(own.restore_queries(&query, 0).is_err());
        for other in [binding(ID, 14, 2), binding("other", 14, 1)] {
            let refused = other.restore_queries(&query, 3).unwrap_err();
            assert!(matches!(refused, Error::Malformed { .. }), "{refused}");
        }
    }

    #[test]
    fn an_answer_of_another_client_version_query_or_content_is_refused() {
        let own = binding(ID, 14, 1);
        let answer_of = |binding: &Binding, query: &[u8]| {
            let answer = sealed(binding, Kind::Answer, b"answer");
            binding.shorten_answers(query, &answer).unwrap()
        };
        let query = b"hand and payload";
        let answer = answer_of(&own, query);
        assert!(own.is_answer(query, &answer));

        let others = [
            answer_of(&binding(ID, 14, 2), query),
            answer_of(&binding(ID, 15, 1), query),
            answer_of(&binding("other", 14, 1), query),
            answer_of(&own, b"hand and payloae"),
            answer_of(&own, b""),
        ];
        for other in &others {
            assert!(own.restore_answers(query, other, 1).is_err());
        }

        for length in 0..answer.len() {
            assert!(!own.is_answer(query, &answer[..length]), "{length}");
        }
        for position in 0..answer.len() {
            let mut damaged = answer.clone();
            damaged[position] ^= 1;
            assert!(!own.is_answer(query, &damaged), "{position}");
        }
    }

    /// The values are from `examples/from-the-spec/blake3.py`.
    #[test]
    fn golden_bytes() {
        let own = binding(ID, 14, 7);
        let answer = sealed(&own, Kind::Answer, b"answer");
        let message = own.shorten_answers(b"query", &answer).unwrap();
        assert_eq!(own.handle(), GOLDEN_HANDLE);
        assert_eq!(message[..OVERHEAD], GOLDEN_TAG);
    }

    const GOLDEN_HANDLE: [u8; OVERHEAD] = [0x72, 0x85, 0xfa, 0x67];
    const GOLDEN_TAG: [u8; OVERHEAD] = [0x48, 0x55, 0x6b, 0xc0];
}
