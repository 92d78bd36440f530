//! Tokens that give access to no database of a service.

use std::collections::BTreeSet;

use papir_server::{Scope, ServerConfig, TokenEntry, TokenFile, TokenSource};

/// Describes each token that is limited to databases which the service does not have: a misspelt
/// name, most of the time. Files that cannot be read are left to the checks of the server.
pub(crate) fn warnings(config: &ServerConfig) -> Vec<String> {
    let served: BTreeSet<&str> = config
        .databases
        .iter()
        .map(|database| database.name.as_str())
        .collect();

    let mut found = Vec::new();
    for source in &config.protection.tokens {
        // A file that cannot be read is an error of the service itself, and no second one here.
        let tokens = TokenFile::read(&source.path).unwrap_or_default();
        let unused = tokens
            .entries()
            .iter()
            .filter(|token| is_unused(token, source, &served));
        found.extend(unused.map(|token| warning(token, source, &served)));
    }
    found
}

/// Returns whether a token that allows queries allows none of the served databases. Other scopes do
/// not depend on databases.
fn is_unused(token: &TokenEntry, source: &TokenSource, served: &BTreeSet<&str>) -> bool {
    let Some(names) = &token.databases else {
        return false;
    };

    let usable = names.iter().any(|name| {
        served.contains(name.as_str()) && source.only.as_ref().is_none_or(|only| only == name)
    });
    // Other scopes, such as that for metrics, are of the service and need no database.
    token.scopes.contains(&Scope::Query) && !usable
}

fn warning(token: &TokenEntry, source: &TokenSource, served: &BTreeSet<&str>) -> String {
    let limited: Vec<&str> = token
        .databases
        .iter()
        .flatten()
        .map(String::as_str)
        .collect();
    let limited = limited.join(", ");
    let served = match &source.only {
        Some(only) => only.clone(),
        None => served.iter().copied().collect::<Vec<_>>().join(", "),
    };

    format!(
        "{}: the token `{}` is for the databases {limited}, and is useless here: this service has \
         {served} (papir tokens revoke, then add with another --database)",
        source.path.display(),
        token.name
    )
}
