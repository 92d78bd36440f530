//! The directory of an issuer: its public keys as JSON (RFC 9578, section 4).

use serde::{Deserialize, Serialize};

use crate::base64url;
use crate::challenge::TOKEN_TYPE;
use crate::error::PassError;
use crate::key::{IssuerPublicKey, SPKI_BYTES};

/// Longest directory that is parsed, in bytes.
pub const MAX_DIRECTORY_BYTES: usize = 64 << 10;
/// Most keys of a directory, of all token types.
pub const MAX_DIRECTORY_KEYS: usize = 64;
/// Longest address of an issuer in bytes.
pub const MAX_URI_BYTES: usize = 2048;

/// The name of the format, for errors.
const WHAT: &str = "issuer directory";

/// The keys of an issuer for tokens of type 2, the preferred one first, and its address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IssuerDirectory {
    request_uri: String,
    keys: Vec<DirectoryKey>,
}

/// A public key in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectoryKey {
    /// The key.
    pub key: IssuerPublicKey,
    /// The time from which on the key is used, in seconds since 1970, UTC; without it, at once.
    pub not_before: Option<u64>,
}

/// The JSON object of a directory. Unknown fields are ignored.
#[derive(Serialize, Deserialize)]
struct DirectoryJson {
    #[serde(rename = "issuer-request-uri")]
    request_uri: String,
    #[serde(rename = "token-keys")]
    keys: Vec<KeyJson>,
}

/// The JSON object of a key.
#[derive(Serialize, Deserialize)]
struct KeyJson {
    #[serde(rename = "token-type")]
    token_type: u16,
    #[serde(rename = "token-key")]
    key: String,
    #[serde(
        rename = "not-before",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    not_before: Option<u64>,
}

impl IssuerDirectory {
    /// A directory of an issuer that takes requests at this address, which may be relative to the
    /// directory's.
    ///
    /// # Errors
    /// [`PassError::Malformed`] for an address that is empty or has other characters than visible
    /// ASCII; [`PassError::TooLarge`] for more than [`MAX_URI_BYTES`] or [`MAX_DIRECTORY_KEYS`].
    pub fn new(request_uri: impl Into<String>, keys: Vec<DirectoryKey>) -> Result<Self, PassError> {
        let request_uri = request_uri.into();
        PassError::check_bound(
            "bytes of issuer-request-uri",
            request_uri.len(),
            MAX_URI_BYTES,
        )?;
        PassError::check_bound("keys of the issuer", keys.len(), MAX_DIRECTORY_KEYS)?;

        let is_visible = request_uri.bytes().all(|byte| byte.is_ascii_graphic());
        if request_uri.is_empty() || !is_visible {
            let found = format!("{} bytes", request_uri.len());
            return Err(PassError::malformed(
                "issuer-request-uri",
                found,
                "visible ASCII",
            ));
        }
        Ok(Self { request_uri, keys })
    }

    /// The address of requests; perhaps relative to the directory's.
    pub fn request_uri(&self) -> &str {
        &self.request_uri
    }

    /// The keys, the preferred one first.
    pub fn keys(&self) -> &[DirectoryKey] {
        &self.keys
    }

    /// The key that clients use at a time in seconds since 1970, UTC: the first one whose time has
    /// come.
    pub fn current(&self, now: u64) -> Option<&IssuerPublicKey> {
        let mut keys = self.keys.iter();
        let current = keys.find(|entry| entry.not_before.is_none_or(|time| time <= now));
        current.map(|entry| &entry.key)
    }

    /// The key with this id.
    pub fn by_id(&self, id: &[u8]) -> Option<&IssuerPublicKey> {
        let mut keys = self.keys.iter().map(|entry| &entry.key);
        keys.find(|key| key.id()[..] == *id)
    }

    /// The directory as JSON.
    ///
    /// # Errors
    /// [`PassError::Malformed`] if it cannot be written as JSON.
    pub fn to_json(&self) -> Result<String, PassError> {
        let mut keys = Vec::new();
        for entry in &self.keys {
            keys.push(KeyJson {
                token_type: TOKEN_TYPE,
                key: base64url::encode(entry.key.spki()),
                not_before: entry.not_before,
            });
        }

        let request_uri = self.request_uri.clone();
        let json = DirectoryJson { request_uri, keys };
        serde_json::to_string(&json).map_err(|error| malformed(&error))
    }

    /// Parses a directory. Keys for other token types are skipped.
    ///
    /// # Errors
    /// [`PassError::TooLarge`] for more than [`MAX_DIRECTORY_BYTES`] and for the lists in it,
    /// [`PassError::Malformed`] for other JSON and base64url, [`PassError::Key`] for another key of
    /// type 2.
    pub fn parse(json: &[u8]) -> Result<Self, PassError> {
        PassError::check_bound("bytes of the directory", json.len(), MAX_DIRECTORY_BYTES)?;
        let json: DirectoryJson =
            serde_json::from_slice(json).map_err(|error| malformed(&error))?;
        PassError::check_bound("keys of the issuer", json.keys.len(), MAX_DIRECTORY_KEYS)?;

        let mut keys = Vec::new();
        for entry in json.keys {
            if entry.token_type == TOKEN_TYPE {
                let spki = base64url::decode("token-key", &entry.key, SPKI_BYTES)?;
                keys.push(DirectoryKey {
                    key: IssuerPublicKey::parse(&spki)?,
                    not_before: entry.not_before,
                });
            }
        }
        Self::new(json.request_uri, keys)
    }
}

/// The error for other JSON. Its text has only the place, since the input is not trusted.
fn malformed(error: &serde_json::Error) -> PassError {
    let found = format!(
        "an error at line {}, column {}",
        error.line(),
        error.column()
    );
    PassError::malformed(WHAT, found, "issuer-request-uri and token-keys")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{ISSUER, OTHER_ISSUER};

    fn directory() -> IssuerDirectory {
        let next = DirectoryKey {
            key: OTHER_ISSUER.public().clone(),
            not_before: Some(100),
        };
        let now = DirectoryKey {
            key: ISSUER.public().clone(),
            not_before: None,
        };
        IssuerDirectory::new("/request", vec![next, now]).unwrap()
    }

    #[test]
    fn directories_return() {
        let json = directory().to_json().unwrap();
        assert!(json.starts_with(
            "{\"issuer-request-uri\":\"/request\",\"token-keys\":[{\"token-type\":2,"
        ));
        assert_eq!(
            IssuerDirectory::parse(json.as_bytes()).unwrap(),
            directory()
        );
    }

    #[test]
    fn the_first_key_whose_time_has_come_is_used() {
        let directory = directory();
        assert_eq!(directory.current(99), Some(ISSUER.public()));
        assert_eq!(directory.current(100), Some(OTHER_ISSUER.public()));
        assert_eq!(directory.by_id(ISSUER.public().id()), Some(ISSUER.public()));
        assert_eq!(directory.by_id(&[0; 32]), None);
        assert_eq!(directory.by_id(&[]), None);

        let later = vec![directory.keys()[0].clone()];
        let later = IssuerDirectory::new("/", later).unwrap();
        assert_eq!(later.current(99), None);
    }

    #[test]
    fn keys_of_other_types_and_unknown_fields_are_skipped() {
        let json = br#"{"issuer-request-uri": "https://i.example/r", "more": [1],
            "token-keys": [{"token-type": 1, "token-key": "*", "more": {}}]}"#;
        let directory = IssuerDirectory::parse(json).unwrap();
        assert_eq!(directory.request_uri(), "https://i.example/r");
        assert!(directory.keys().is_empty());
    }

    /// A directory with this address and these JSON objects of keys.
    fn json(request_uri: &str, keys: &str) -> String {
        format!(r#"{{"issuer-request-uri":"{request_uri}","token-keys":[{keys}]}}"#)
    }

    #[test]
    fn other_directories_are_refused() {
        let key = r#"{"token-type":2,"token-key":"AAAA"}"#;
        let large_type = key.replace("2,", "65538,");
        let unpadded = key.replace("AAAA", "A");
        let early = key.replace("2,", "2,\"not-before\":-1,");
        let doubled = r#"{"issuer-request-uri":"/",""#;
        let doubled = json("/", "").replacen("{\"", doubled, 1);

        for (text, code) in [
            (String::new(), "malformed"),
            ("[]".to_owned(), "malformed"),
            ("{}".to_owned(), "malformed"),
            ("[".repeat(60_000), "malformed"),
            (json("", ""), "malformed"),
            (json("a b", ""), "malformed"),
            (doubled, "malformed"),
            (json("/", &large_type), "malformed"),
            (json("/", &unpadded), "malformed"),
            (json("/", &early), "malformed"),
            (json("/", key), "issuer_key"),
            (json("/", &vec![key; 65].join(",")), "too_large"),
            (json(&"a".repeat(2049), ""), "too_large"),
            (" ".repeat(MAX_DIRECTORY_BYTES + 1), "too_large"),
        ] {
            let refused = IssuerDirectory::parse(text.as_bytes());
            assert_eq!(refused.unwrap_err().code(), code, "{text}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn changed_directories_are_refused_or_return(place: prop::sample::Index, byte: u8) {
            let mut json = directory().to_json().unwrap().into_bytes();
            let place = place.index(json.len());
            json[place] = byte;
            if let Ok(directory) = IssuerDirectory::parse(&json) {
                let again = directory.to_json().unwrap();
                prop_assert_eq!(IssuerDirectory::parse(again.as_bytes()).unwrap(), directory);
            }
        }
    }
}
