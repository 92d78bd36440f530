//! Address schemes of object stores.

/// A kind of object store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    S3,
    Google,
    Azure,
    Folder,
}

/// The scheme that addresses of each kind start with.
pub(super) const SCHEMES: [(&str, Kind); 4] =
    [("s3://", Kind::S3), ("gs://", Kind::Google), ("az://", Kind::Azure), ("file://", Kind::Folder)];

/// Returns whether `text` starts with the scheme of an object store.
pub(super) fn is_address(text: &str) -> bool {
    SCHEMES.iter().any(|(scheme, _)| text.starts_with(scheme))
}

/// The reason given for an address with any other scheme.
pub(super) const UNKNOWN_SCHEME: &str = "it must start with s3://, gs://, az:// or file:///";
