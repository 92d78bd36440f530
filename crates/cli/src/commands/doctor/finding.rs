//! Results of checks.

use std::time::Duration;

use papir_core::without_passwords;
use serde::Serialize;

/// Shortest rest of a certificate's validity without a warning.
pub(super) const RENEW_BEFORE: Duration = Duration::from_secs(14 * 86_400);

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Status {
    Ok,
    Warn,
    Fail,
}

impl Status {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Fail => "fail",
        }
    }
}

/// One check.
#[derive(Debug, Serialize)]
pub(super) struct Finding {
    pub(super) check: &'static str,
    pub(super) status: Status,
    pub(super) detail: String,
    /// The remedy.
    pub(super) fix: Option<String>,
}

impl Finding {
    pub(super) fn ok(check: &'static str, detail: impl ToString) -> Self {
        Self {
            check,
            status: Status::Ok,
            detail: without_passwords(&detail.to_string()),
            fix: None,
        }
    }

    pub(super) fn warn(check: &'static str, detail: impl ToString, fix: &str) -> Self {
        Self {
            check,
            status: Status::Warn,
            detail: without_passwords(&detail.to_string()),
            fix: Some(fix.to_owned()),
        }
    }

    pub(super) fn fail(check: &'static str, detail: impl ToString, fix: &str) -> Self {
        Self {
            check,
            status: Status::Fail,
            detail: without_passwords(&detail.to_string()),
            fix: Some(fix.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn details_have_no_passwords() {
        let url = "https://u:secret@h";
        for finding in [
            Finding::ok("connection", url),
            Finding::warn("connection", url, ""),
            Finding::fail("connection", url, ""),
        ] {
            assert_eq!(finding.detail, "https://u:***@h");
        }
    }
}
