//! Settings of object stores from environment variables.

/// Settings of the object store clients: the variables that each cloud's own tools read.
#[derive(Clone, Default)]
pub struct Settings {
    #[cfg_attr(not(feature = "cloud"), allow(dead_code))]
    pub(super) variables: Vec<(String, String)>,
}

impl Settings {
    /// Reads the variables `AWS_…`, `GOOGLE_…` and `AZURE_…` of this process.
    pub fn from_environment() -> Self {
        let text = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
        Self::of(text)
    }

    /// Takes variables by name and ignores those that belong to no cloud.
    pub fn of(variables: impl IntoIterator<Item = (String, String)>) -> Self {
        let variables = variables.into_iter().filter(|(name, _)| is_of_cloud(name)).collect();
        Self { variables }
    }
}

fn is_of_cloud(name: &str) -> bool {
    ["AWS_", "GOOGLE_", "AZURE_"].iter().any(|prefix| name.starts_with(prefix))
}
