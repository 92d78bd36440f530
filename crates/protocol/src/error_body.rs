//! The JSON body of every error response.

use serde::{Deserialize, Serialize};
#[cfg(feature = "openapi")]
use utoipa::ToSchema;

/// The JSON body of every error response: `{"error":{"code","message"[,"version"]}}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema), schema(as = Refusal))]
pub struct ErrorBody {
    /// The reason.
    pub error: ErrorDetail,
}

/// The reason of an error response.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema), schema(as = RefusalBody))]
pub struct ErrorDetail {
    /// A short, stable code for programs.
    pub code: String,
    /// A message for people.
    pub message: String,
    /// With `wrong_version`: the newest version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn golden_json() {
        let mut body =
            ErrorBody { error: ErrorDetail { code: "busy".into(), message: "later".into(), version: None } };
        for golden in [
            r#"{"error":{"code":"busy","message":"later"}}"#,
            r#"{"error":{"code":"busy","message":"later","version":"07"}}"#,
        ] {
            assert_eq!(serde_json::to_string(&body).unwrap(), golden);
            assert_eq!(serde_json::from_str::<ErrorBody>(golden).unwrap(), body);
            body.error.version = Some("07".into());
        }
    }
}
