//! Origins of trusted certificates.

use std::fmt;
use std::path::PathBuf;

/// The origin of the certificates that a client trusts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RootSource {
    /// A file that the caller gave.
    File(PathBuf),
    /// The file that `SSL_CERT_FILE` names, and the folders that `SSL_CERT_DIR` names.
    Variables {
        /// The value of `SSL_CERT_FILE`; `None` if it is not set.
        file: Option<PathBuf>,
        /// The value of `SSL_CERT_DIR`; `None` if it is not set.
        folders: Option<PathBuf>,
    },
    /// The store of the operating system.
    System,
    /// The copy of Mozilla's list that is bundled in this program.
    Bundled,
}

impl fmt::Display for RootSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Variables { file, folders } => {
                let named = [("SSL_CERT_FILE", file), ("SSL_CERT_DIR", folders)];
                let set: Vec<String> = named
                    .into_iter()
                    .filter_map(|(name, value)| {
                        Some(format!("{name}={}", value.as_ref()?.display()))
                    })
                    .collect();
                f.write_str(&set.join(" and "))
            }
            Self::System => f.write_str("the system's store"),
            Self::Bundled => f.write_str("the bundled list, since the system has none"),
        }
    }
}
