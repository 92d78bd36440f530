//! What a token allows.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::str::FromStr;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use serde::{Deserialize, Serialize};

use crate::Error;

/// A kind of request that a token may allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// See databases and ask them.
    Query,
    /// Read the service's metrics.
    Metrics,
    /// See and end what clients have registered.
    Admin,
}

impl Scope {
    /// All scopes.
    pub const ALL: [Self; 3] = [Self::Query, Self::Metrics, Self::Admin];

    /// Its name in token files and commands.
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
        found.ok_or_else(|| Error::BadScope { text: text.to_owned() })
    }
}

/// What one request may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Grant {
    /// The token's name; `None` where there are no tokens.
    pub(crate) name: Option<Arc<str>>,
    scopes: Arc<BTreeSet<Scope>>,
    databases: Option<Arc<BTreeSet<String>>>,
}

impl Grant {
    /// What everybody may where there are no tokens.
    pub(crate) fn everything() -> Self {
        Self { name: None, scopes: Arc::new(Scope::ALL.into()), databases: None }
    }

    /// What the token of this name may: in all databases where they are `None`.
    pub(crate) fn new(name: &str, scopes: BTreeSet<Scope>, databases: Option<BTreeSet<String>>) -> Self {
        Self { name: Some(name.into()), scopes: Arc::new(scopes), databases: databases.map(Arc::new) }
    }

    pub(crate) fn has(&self, scope: Scope) -> bool {
        self.scopes.contains(&scope)
    }

    pub(crate) fn allows(&self, database: &str) -> bool {
        self.databases.as_ref().is_none_or(|allowed| allowed.contains(database))
    }

    /// The databases that it names, where it is not for all.
    pub(crate) fn databases(&self) -> Option<&BTreeSet<String>> {
        self.databases.as_deref()
    }
}

/// Handlers take the grant that the check left with the request.
impl<S: Sync> FromRequestParts<S> for Grant {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(parts.extensions.get::<Self>().cloned().unwrap_or_else(Self::everything))
    }
}
