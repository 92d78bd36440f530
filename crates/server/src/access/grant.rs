//! Scopes, and the permissions of a request.

use std::collections::BTreeSet;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::error::Error;

/// A kind of request that a token may allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// List and query databases.
    Query,
    /// Read the service's metrics.
    Metrics,
    /// List and remove registered clients.
    Admin,
}

impl Scope {
    /// All scopes.
    pub const ALL: [Self; 3] = [Self::Query, Self::Metrics, Self::Admin];

    /// The name in token files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Query => "query",
            Self::Metrics => "metrics",
            Self::Admin => "admin",
        }
    }
}

impl FromStr for Scope {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let found = Self::ALL.into_iter().find(|scope| scope.name() == text);
        found.ok_or_else(|| Error::BadScope {
            text: text.to_owned(),
        })
    }
}

/// Permissions of one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Grant {
    /// The token's name; `None` if tokens are not configured.
    pub(crate) name: Option<Arc<str>>,
    scopes: Arc<BTreeSet<Scope>>,
    databases: Option<Arc<BTreeSet<String>>>,
}

impl Grant {
    /// All permissions, for a service without tokens.
    pub(crate) fn everything() -> Self {
        Self {
            name: None,
            scopes: Arc::new(Scope::ALL.into()),
            databases: None,
        }
    }

    /// The right to query all databases, for everybody in a service that demands private tokens.
    pub(crate) fn of_everybody() -> Self {
        Self {
            name: None,
            scopes: Arc::new([Scope::Query].into()),
            databases: None,
        }
    }

    /// Permissions of the token `name`; `None` allows all databases.
    pub(crate) fn new(
        name: &str,
        scopes: BTreeSet<Scope>,
        databases: Option<BTreeSet<String>>,
    ) -> Self {
        Self {
            name: Some(name.into()),
            scopes: Arc::new(scopes),
            databases: databases.map(Arc::new),
        }
    }

    pub(crate) fn has(&self, scope: Scope) -> bool {
        self.scopes.contains(&scope)
    }

    pub(crate) fn allows(&self, database: &str) -> bool {
        self.databases
            .as_ref()
            .is_none_or(|allowed| allowed.contains(database))
    }

    /// The allowed databases; `None` means all.
    pub(crate) fn databases(&self) -> Option<&BTreeSet<String>> {
        self.databases.as_deref()
    }
}
