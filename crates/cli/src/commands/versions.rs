//! `papir versions`: lists the versions of a database.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::Args;
use papir_client::{DatabaseDetail, Options};
use papir_store::remote::Location;
use serde::Serialize;

use crate::arguments::connecting::{self, Connecting};
use crate::arguments::network::Network;
use crate::arguments::remote;
use crate::failure::{Failure, Outcome};

/// List the versions of a database, the newest first.
///
/// A service has the newest version, and earlier ones that it still answers. A file has its own
/// version, and older ones that `papir update --keep` kept next to it for `papir rollback`. An
/// object store has the version that `papir push` wrote last. The one before it is kept there for
/// services that start, and is not listed.
///
/// Ages of a service's versions are known if the database is signed: its description has the time
/// of the checkpoint and no other. The metric `papir_data_age_seconds` has the age of every
/// version.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// URLs of servers or of databases, prepared files, or object store URLs.
    #[arg(value_name = "URL|FILE", required = true)]
    places: Vec<String>,
    #[command(flatten)]
    connecting: Connecting,
    /// Print one JSON line per version.
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "Examples:
  papir versions words.papir
  papir versions http://127.0.0.1:7470 words.papir --json
  papir versions s3://databases/words.papir";

/// One version at one place.
#[derive(Serialize)]
struct Listed {
    place: String,
    database: Option<String>,
    version: String,
    /// `newest`, `answered` (an earlier version at a service) or `kept` (next to a file).
    state: &'static str,
    /// Its place in the log, if the database is signed.
    sequence: Option<u64>,
    /// Seconds since it was built, updated or signed; null for unsigned and earlier versions of a
    /// service.
    age_seconds: Option<u64>,
    /// Seconds for which a service still answers it.
    seconds_left: Option<u64>,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    // A listing answers no query: versions of any scheme may be shown.
    papir_research::register()?;
    let options = connecting::quiet_for(arguments.json, arguments.connecting.options(true)?);

    let mut out = std::io::stdout();
    for place in &arguments.places {
        for listed in versions(place, &options)? {
            match arguments.json {
                true => writeln!(out, "{}", serde_json::to_string(&listed)?)?,
                false => writeln!(out, "{}", line(&listed))?,
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn versions(place: &str, options: &Options) -> Result<Vec<Listed>, Failure> {
    if connecting::is_url(place) {
        let detail = papir_client::detail(place, options).map_err(connecting::explain)?;
        return Ok(served(place, detail));
    }
    if Location::is_address(place) {
        let network = Network {
            proxy: options.proxy.clone(),
            ca: options.ca.clone(),
        };
        let location = remote::location(place, None, &network)?;
        // The manifest has the version: the parts need not be fetched.
        let manifest = papir_store::remote::manifest(&location)?;
        return Ok(vec![newest(place, None, manifest.version.to_string())]);
    }

    stored(place)
}

/// The newest version at a place, without sequence and age.
fn newest(place: &str, database: Option<String>, version: String) -> Listed {
    Listed {
        place: place.to_owned(),
        database,
        version,
        state: "newest",
        sequence: None,
        age_seconds: None,
        seconds_left: None,
    }
}

/// The versions of a service. Its description has a time for the newest version only, and only if
/// that is signed.
fn served(place: &str, detail: DatabaseDetail) -> Vec<Listed> {
    let DatabaseDetail {
        info,
        previous_versions,
        ..
    } = detail;
    let name = Some(info.name);

    let mut listed = vec![Listed {
        sequence: info.checkpoint.map(|checkpoint| checkpoint.sequence),
        // Only a signed database states a time that its owner vouches for.
        age_seconds: info
            .checkpoint
            .map(|checkpoint| age(UNIX_EPOCH + Duration::from_secs(checkpoint.time))),
        ..newest(place, name.clone(), info.version)
    }];
    for previous in previous_versions {
        listed.push(Listed {
            state: "answered",
            seconds_left: Some(previous.seconds_left),
            ..newest(place, name.clone(), previous.version)
        });
    }
    listed
}

/// The version in a file, and the versions kept next to it.
fn stored(place: &str) -> Result<Vec<Listed>, Failure> {
    let found = papir_store::versions(Path::new(place))?;

    let listed = found.into_iter().map(|version| Listed {
        state: if version.current { "newest" } else { "kept" },
        sequence: version.sequence,
        age_seconds: papir_store::parse_timestamp(version.time()).map(age),
        ..newest(
            &version.path.display().to_string(),
            Some(version.metadata.name),
            version.metadata.version,
        )
    });
    Ok(listed.collect())
}

fn age(time: SystemTime) -> u64 {
    SystemTime::now()
        .duration_since(time)
        // A time in the future is another machine's clock, and not worth an error.
        .unwrap_or_default()
        .as_secs()
}

fn line(listed: &Listed) -> String {
    let mut parts = vec![listed.version.clone(), format!("{:<8}", listed.state)];
    if let Some(sequence) = listed.sequence {
        parts.push(format!("sequence {sequence}"));
    }
    if let Some(age) = listed.age_seconds {
        parts.push(format!("{} old", span(age)));
    }
    if let Some(left) = listed.seconds_left {
        parts.push(format!("answered for {} more", span(left)));
    }

    parts.extend(listed.database.clone());
    parts.push(listed.place.clone());
    parts.join("  ")
}

/// A time in its largest whole unit.
fn span(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", seconds / 60),
        7_200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_whole_units() {
        let found = [0, 119, 120, 7_199, 7_200, 172_800].map(span);
        assert_eq!(found, ["0 s", "119 s", "2 min", "119 min", "2 h", "2 d"]);
    }
}
