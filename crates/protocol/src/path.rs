//! Paths of the routes.

/// Path of the list of databases, with which the paths of every database start.
pub const DATABASES: &str = "/v1/databases";
/// Path of the description of the set for private set intersection.
pub const PSI: &str = "/v1/psi";
/// Path of the filter of the set for private set intersection.
pub const PSI_FILTER: &str = "/v1/psi/filter";
/// Path of the evaluation of blinded elements.
pub const PSI_EVALUATE: &str = "/v1/psi/evaluate";
/// Path of the liveness probe, which succeeds while the server listens.
pub const ALIVE: &str = "/healthz";
/// Path of the readiness probe, which succeeds once all databases are loaded.
pub const READY: &str = "/readyz";
/// Path of the metrics.
pub const METRICS: &str = "/metrics";
/// Path of the OpenAPI document.
pub const OPENAPI: &str = "/openapi.json";

/// Path of a gateway of Oblivious HTTP: its key configurations, and its sealed requests (RFC 9540).
pub const OHTTP_GATEWAY: &str = "/.well-known/ohttp-gateway";

/// The path of the description of the database `name`.
pub fn database(name: &str) -> String {
    format!("{DATABASES}/{}", escape(name))
}

/// The path of the public part of the database `name`.
pub fn public(name: &str) -> String {
    database(name) + "/public"
}

/// The path of the filter of the keys of the database `name`.
pub fn prefilter(name: &str) -> String {
    database(name) + "/prefilter"
}

/// The path of a description, a public part or a filter, for one version of the database.
pub fn of_version(path: &str, version: &str) -> String {
    format!("{path}?version={}", escape(version))
}

/// The path of the hashes of the blocks of a public part, for one version of the database `name`.
pub fn public_hashes(name: &str, version: &str) -> String {
    format!("{}/{}/hashes", public(name), escape(version))
}

/// The path of some blocks of a public part, for one version of the database `name`. The set of
/// blocks has the text of `papir_lookup::BlockRanges`.
pub fn public_blocks(name: &str, version: &str, blocks: &str) -> String {
    format!("{}/{}/blocks/{blocks}", public(name), escape(version))
}

/// The path of the signed checkpoint of the database `name`.
pub fn checkpoint(name: &str) -> String {
    database(name) + "/checkpoint"
}

/// The path of the proof of the newest version of the signed database `name`.
pub fn checkpoint_proof(name: &str) -> String {
    checkpoint(name) + "/proof"
}

/// The path of the log of the signed database `name`.
pub fn checkpoint_log(name: &str) -> String {
    checkpoint(name) + "/log"
}

/// The path of queries to the database `name`.
pub fn query(name: &str) -> String {
    database(name) + "/query"
}

/// The path of the registered clients of the database `name`.
pub fn clients(name: &str) -> String {
    database(name) + "/clients"
}

/// The path of the registered client with this id.
pub fn client(name: &str, id: &str) -> String {
    format!("{}/{id}", clients(name))
}

/// The path of the upload of the keys of the registered client with this id.
pub fn client_keys(name: &str, id: &str) -> String {
    client(name, id) + "/keys"
}

/// Percent-encodes every byte except ASCII letters, digits and `-._`.
pub fn escape(name: &str) -> String {
    let mut escaped = String::with_capacity(name.len());
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            escaped += &format!("%{byte:02X}");
        }
    }
    escaped
}

/// Undoes the percent-encoding of a database's name in a path; `None` for an invalid escape, and
/// for bytes that are not UTF-8.
pub fn unescape(segment: &str) -> Option<String> {
    let mut bytes = segment.bytes();
    let mut name = Vec::with_capacity(segment.len());
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            let high = digit(bytes.next()?)?;
            let low = digit(bytes.next()?)?;
            name.push(high << 4 | low);
        } else {
            name.push(byte);
        }
    }
    String::from_utf8(name).ok()
}

/// The value of a hexadecimal digit; `None` for another byte.
fn digit(byte: u8) -> Option<u8> {
    let value = char::from(byte).to_digit(16)?;
    Some(value as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped() {
        assert_eq!(query("a b/ü"), "/v1/databases/a%20b%2F%C3%BC/query");
        assert_eq!(database("A-z_0.9~"), "/v1/databases/A-z_0.9%7E");
        assert_eq!(
            checkpoint_proof("words"),
            "/v1/databases/words/checkpoint/proof"
        );
        assert_eq!(
            checkpoint_log("words"),
            "/v1/databases/words/checkpoint/log"
        );

        assert_eq!(prefilter("a b"), "/v1/databases/a%20b/prefilter");
        let version = of_version(&public("words"), "0123456789abcdef");
        assert_eq!(
            version,
            "/v1/databases/words/public?version=0123456789abcdef"
        );
    }

    #[test]
    fn escaped_names_are_read_again() {
        for name in ["words", "a b/ü", "%41", "A-z_0.9~"] {
            assert_eq!(unescape(&escape(name)).as_deref(), Some(name));
        }
        assert_eq!(
            ["%4", "%", "%+4", "%ff"].map(unescape),
            [None, None, None, None]
        );
    }

    #[test]
    fn paths_of_blocks() {
        assert_eq!(
            public_hashes("a b", "0123456789abcdef"),
            "/v1/databases/a%20b/public/0123456789abcdef/hashes"
        );
        assert_eq!(
            public_blocks("words", "0123456789abcdef", "0,17-65"),
            "/v1/databases/words/public/0123456789abcdef/blocks/0,17-65"
        );
    }

    #[test]
    fn paths_of_clients() {
        assert_eq!(clients("words"), "/v1/databases/words/clients");
        assert_eq!(
            client_keys("words", "ab"),
            "/v1/databases/words/clients/ab/keys"
        );
    }
}
