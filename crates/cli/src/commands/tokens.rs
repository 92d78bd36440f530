//! `papir tokens`: manages the access tokens of a server.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::SystemTime;

use clap::{Args, Subcommand};
use papir_server::{NewToken, Scope, TokenEntry, TokenFile};
use serde_json::json;

use crate::arguments::duration::Span;
use crate::failure::Outcome;

/// Add, list and revoke a server's tokens.
///
/// The file holds only hashes of tokens and is what `papir serve --tokens FILE` reads. A running
/// server notices changes within about a second.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The token file; `add` creates it.
    file: PathBuf,
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Create a token and print it. It is shown only once and not stored.
    Add(Add),
    /// List tokens with their names and scopes.
    List {
        /// Print one JSON line per token.
        #[arg(long)]
        json: bool,
    },
    /// Revoke a token.
    Revoke {
        /// The token's name.
        #[arg(long)]
        name: String,
    },
}

#[derive(Args)]
struct Add {
    /// The token's name: 1 to 64 of A-Z a-z 0-9 . _ @ -
    #[arg(long)]
    name: String,
    /// The databases it gives access to, by their names in URLs, separated by commas [default:
    /// all]. `papir serve` warns at its start if it has none of them.
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    database: Vec<String>,
    /// The operations it allows, separated by commas: query, metrics, admin.
    #[arg(
        long,
        value_name = "SCOPE,…",
        value_delimiter = ',',
        default_value = "query"
    )]
    scope: Vec<Scope>,
    /// Time until it expires, as in 12h or 30d [default: never].
    #[arg(long, value_name = "TIME")]
    expires_in: Option<Span>,
}

const EXAMPLES: &str = "Examples:
  papir tokens tokens.toml add --name phone --database words > phone.token
  papir tokens tokens.toml add --name prometheus --scope metrics --expires-in 365d
  papir tokens tokens.toml list
  papir tokens tokens.toml revoke --name phone";

pub(crate) fn run(arguments: Arguments) -> Outcome {
    let Arguments { file, action } = arguments;
    let mut out = std::io::stdout();
    match action {
        // The only time that the token is shown: the file has its hash.
        Action::Add(add) => writeln!(out, "{}", *TokenFile::add(&file, add.token())?)?,
        Action::List { json } => list(&TokenFile::read(&file)?, json, &mut out)?,
        Action::Revoke { name } => TokenFile::revoke(&file, &name)?,
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

impl Add {
    fn token(self) -> NewToken {
        NewToken {
            // An empty set would be a token for no database, and nobody asks for one.
            databases: (!self.database.is_empty()).then(|| self.database.into_iter().collect()),
            lifetime: self.expires_in.map(|span| span.0),
            ..NewToken::new(self.name, self.scope)
        }
    }
}

fn list(tokens: &TokenFile, as_json: bool, out: &mut dyn Write) -> std::io::Result<()> {
    let now = SystemTime::now();

    for token in tokens.entries() {
        let TokenEntry {
            name,
            scopes,
            databases,
            created,
            expires,
            ..
        } = token;
        let scopes: Vec<_> = scopes.iter().map(|scope| scope.name()).collect();
        let expired = token.has_expired(now);

        if as_json {
            let line = json!({ "name": name, "scopes": scopes, "databases": databases, "created": created,
                "expires": expires, "expired": expired });
            writeln!(out, "{line}")?;
            continue;
        }

        let databases = match databases {
            Some(all) => all.iter().cloned().collect::<Vec<_>>().join(","),
            None => "all databases".to_owned(),
        };
        let end = match expires {
            // Still listed: the owner sees which of them to renew or revoke.
            Some(time) if expired => format!("expired {time}"),
            Some(time) => format!("until {time}"),
            None => "never expires".to_owned(),
        };
        writeln!(
            out,
            "{name}  {}  {databases}  since {created}  {end}",
            scopes.join(",")
        )?;
    }
    Ok(())
}
