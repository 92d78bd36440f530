//! JSON description of a set for private set intersection.

use serde::{Deserialize, Serialize};
#[cfg(feature = "openapi")]
use utoipa::ToSchema;

/// The response to `GET /v1/psi`: the public description of the set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
pub struct PsiInfo {
    /// `filter` if receivers download a filter, `retrieval` if they look elements up in a database.
    pub kind: String,
    /// The version of the filter or database, 16 hexadecimal digits.
    #[cfg_attr(feature = "openapi", schema(pattern = "^[0-9a-f]{16}$"))]
    pub version: String,
    /// Number of elements in the set.
    pub elements: u64,
    /// Length of the longest label in bytes; null for a set without labels.
    pub longest_label: Option<u32>,
    /// Maximum number of elements in one request.
    pub max_elements: usize,
    /// Length of the filter in bytes; null without a filter.
    pub filter_bytes: Option<u64>,
    /// The name of the database in which receivers look elements up; null for a filter.
    pub database: Option<String>,
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn golden_json() {
        let info = PsiInfo {
            kind: "filter".into(),
            version: "07".into(),
            elements: 3,
            longest_label: None,
            max_elements: 4096,
            filter_bytes: Some(20),
            database: None,
        };

        let golden = concat!(
            r#"{"kind":"filter","version":"07","elements":3,"longest_label":null,"max_elements":4096,"#,
            r#""filter_bytes":20,"database":null}"#,
        );
        assert_eq!(serde_json::to_string(&info).unwrap(), golden);
        assert_eq!(serde_json::from_str::<PsiInfo>(golden).unwrap(), info);
    }
}
