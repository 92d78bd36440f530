//! Address schemes of object stores, and their settings from environment variables.

/// A kind of object store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    S3,
    Google,
    Azure,
    Folder,
}

/// The scheme that addresses of each kind start with.
pub(super) const SCHEMES: [(&str, Kind); 4] = [
    ("s3://", Kind::S3),
    ("gs://", Kind::Google),
    ("az://", Kind::Azure),
    ("file://", Kind::Folder),
];

/// Returns whether `text` starts with the scheme of an object store.
pub(super) fn is_address(text: &str) -> bool {
    SCHEMES.iter().any(|(scheme, _)| text.starts_with(scheme))
}

/// The error for an address with any other scheme.
pub(super) const UNKNOWN_SCHEME: &str = "it must start with s3://, gs://, az:// or file:///";

/// Settings of the object store clients: the variables that each cloud's own tools read.
#[derive(Clone, Default)]
pub struct Settings {
    #[cfg_attr(not(feature = "cloud"), allow(dead_code))]
    pub(super) variables: Vec<(String, String)>,
}

impl Settings {
    /// Reads the variables `AWS_…`, `GOOGLE_…` and `AZURE_…` of this process.
    pub fn from_environment() -> Self {
        let text = std::env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        });
        Self::of(text)
    }

    /// Settings from variables. Variables of other programs and empty ones are ignored.
    pub fn of(variables: impl IntoIterator<Item = (String, String)>) -> Self {
        let variables = variables
            .into_iter()
            .filter(|(name, value)| is_of_cloud(name) && !value.is_empty())
            .collect();
        Self { variables }
    }
}

fn is_of_cloud(name: &str) -> bool {
    ["AWS_", "GOOGLE_", "AZURE_"]
        .iter()
        .any(|prefix| name.starts_with(prefix))
}
