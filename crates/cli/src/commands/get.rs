//! `papir get`: looks up keys or indices in a served database.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use papir_client::{Connection, Costs, KnownVersion, Options, Pin, PrefilterUse, Watcher};
use papir_lookup::Root;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::arguments::connecting::{self, Connecting};
use crate::arguments::prefilter::PrefilterArguments;
use crate::arguments::servers::ServerArguments;
use crate::arguments::state::StateArguments;
use crate::arguments::trust::TrustArguments;
use crate::describe::{json_field, milliseconds, seconds};
use crate::failure::{Failure, Outcome};
use crate::lines;
use crate::progress::Bars;
use papir_plan::units;

/// Exit code if a key is absent.
const ABSENT: u8 = 1;

/// Look up keys without revealing them to the server.
///
/// For one key, prints the raw bytes of its value. For several keys, --batch or --json, prints one
/// JSON line each: `value` is the value as text, or `value_base64` if it is not UTF-8. If the text
/// is a JSON object or array, as values of several columns are, `value_json` is that object. The
/// exit code is 0 if all keys were found, 1 if some are absent, 2 on error, 3 on an error that may
/// pass.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    servers: ServerArguments,
    /// The keys to look up.
    #[arg(value_name = "KEY", required_unless_present_any = ["index", "batch"])]
    keys: Vec<OsString>,
    /// Record numbers, starting at 0, for a database without keys.
    #[arg(long, value_name = "N", num_args = 1.., conflicts_with = "keys")]
    index: Vec<u64>,
    /// A file with one key per line, or one record number per line for a database without keys; -
    /// is standard input. If the database is prepared for batches (papir build --batch), the
    /// lookups are sent in batches: the server learns the number of batches, but not how full they
    /// are.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["keys", "index"])]
    batch: Option<PathBuf>,
    #[command(flatten)]
    connecting: Connecting,
    /// Use the version of the database that this client knows, without asking for the newest one: a
    /// lookup is then one request. The first lookup keeps the version with the client's state. A
    /// newer version is fetched once the server refuses the known one.
    #[arg(long)]
    known: bool,
    /// Print JSON even for a single key.
    #[arg(long)]
    json: bool,
    /// Print costs on stderr; with --json as one JSON line.
    #[arg(short, long)]
    verbose: bool,
    /// The expected root of the database, as `papir inspect` prints it: 64 hexadecimal digits. It
    /// is pinned. Without this option, the root of a verifiable database is pinned at the first
    /// lookup.
    #[arg(long, value_name = "HEX")]
    root: Option<Root>,
    #[command(flatten)]
    trust: TrustArguments,
    #[command(flatten)]
    prefilter: PrefilterArguments,
    /// Refuse lookups outside a schedule, whose times the server sees. This command has no
    /// schedule: it sends no query then, and says what a query would tell, with a filter of the
    /// keys (papir build --prefilter) also that the key is probably present. The libraries have
    /// schedules.
    #[arg(long)]
    hide_times: bool,
    #[command(flatten)]
    state: StateArguments,
    /// Query even if the scheme reveals the queries to the server.
    #[arg(long, visible_alias = "insecure-newton")]
    allow_not_private: bool,
}

const EXAMPLES: &str = "Examples:
  papir get http://127.0.0.1:7470 apple
  papir get http://127.0.0.1:7470 apple pear --database fruit -v
  papir get http://127.0.0.1:7470/v1/databases/numbers --index 7 8
  papir get https://a.example --also https://b.example apple
  papir get http://127.0.0.1:7470 apple --known
  papir get http://127.0.0.1:7470 --batch words.txt";

/// The result of one lookup.
struct LookupOutcome {
    /// The key or the index, as a JSON field.
    asked: Map<String, Value>,
    /// `None` if the key is absent.
    value: Option<Vec<u8>>,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let mut connection = connect(arguments)?;

    let found = match &arguments.batch {
        Some(file) => batch(&mut connection, file)?,
        None if arguments.index.is_empty() => {
            let bytes: Vec<&[u8]> = arguments
                .keys
                .iter()
                // Keys are bytes. An argument of Unix need not be UTF-8 either.
                .map(|key| key.as_encoded_bytes())
                .collect();
            keys(&mut connection, &bytes)?
        }
        None => indices(&mut connection, &arguments.index)?,
    };

    if arguments.verbose {
        print_costs(&connection, arguments.json)?;
    }
    // A batch of one line prints JSON, too: its length must not decide on the format.
    print(&found, !arguments.json && arguments.batch.is_none())?;

    Ok(if found.iter().all(|one| one.value.is_some()) {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(ABSENT)
    })
}

/// Prints the results: JSON lines or, if `plain`, the bytes of a single value.
fn print(found: &[LookupOutcome], plain: bool) -> std::io::Result<()> {
    let mut out = std::io::stdout();

    match found {
        [one] if plain => match &one.value {
            // Without a line end, so that a file of the value is the value.
            Some(value) => out.write_all(value)?,
            None => writeln!(std::io::stderr(), "absent")?,
        },
        found => {
            for one in found {
                writeln!(out, "{}", json_line(one))?;
            }
        }
    }
    out.flush()
}

/// Connects to the database. A scheme that is not private is refused before any query unless it is
/// allowed.
fn connect(arguments: &Arguments) -> Result<Connection, Failure> {
    let options = arguments
        .trust
        .add_to(arguments.connecting.options(arguments.allow_not_private)?)?;
    let options = connecting::quiet_for(arguments.json, options);
    let options = arguments.prefilter.add_to(options, PrefilterUse::Use);
    let options = Options {
        root: arguments.root,
        known: match arguments.known {
            true => KnownVersion::Use,
            false => KnownVersion::Ask,
        },
        hide_times: arguments.hide_times,
        // Somebody who looks things up relies on the answers. Commands that only look at a service
        // pin nothing.
        pin: Pin::OwnerAndRoot,
        watcher: Watcher::new(Bars::new()),
        ..arguments.state.add_to(options)?
    };

    Connection::open_any(&arguments.servers.urls(), &options).map_err(connecting::explain)
}

/// Looks up the lines of a file.
fn batch(connection: &mut Connection, file: &Path) -> Result<Vec<LookupOutcome>, Failure> {
    let bytes = lines::read(file)?;
    let lines = lines::of(&bytes);
    // Nothing would be sent, and the exit code would say that all keys were found.
    if lines.is_empty() {
        return Err(Failure::new(format!(
            "{} is empty: expected one key per line",
            file.display()
        )));
    }
    if connection.info().keyed {
        return keys(connection, &lines);
    }

    let numbers: Vec<Result<u64, Failure>> = lines
        .iter()
        .zip(1..)
        .map(|(text, line)| record_number(file, line, text))
        .collect();

    // A line without a number is queried like an index out of range: the query must not depend on
    // what is looked up.
    let asked: Vec<u64> = numbers
        .iter()
        .map(|number| *number.as_ref().unwrap_or(&u64::MAX))
        .collect();
    // The error of a bad line counts only after the exchange, and before that of the network.
    let found = indices(connection, &asked);

    for number in numbers {
        number?;
    }
    found
}

/// Parses a line of a file as a record number.
fn record_number(file: &Path, line: usize, text: &[u8]) -> Result<u64, Failure> {
    let number = std::str::from_utf8(text)
        .ok()
        .and_then(|text| text.trim().parse().ok());

    number.ok_or_else(|| {
        let text = String::from_utf8_lossy(text);
        Failure::new(format!(
            "{}, line {line}: `{text}` is not a record number",
            file.display()
        ))
    })
}

fn keys(connection: &mut Connection, keys: &[&[u8]]) -> Result<Vec<LookupOutcome>, Failure> {
    let values = connection.get_keys(keys).map_err(connecting::explain)?;

    Ok(keys
        .iter()
        .zip(values)
        .map(|(key, value)| LookupOutcome {
            asked: Map::from_iter([json_field("key", key)]),
            value,
        })
        .collect())
}

fn indices(connection: &mut Connection, indices: &[u64]) -> Result<Vec<LookupOutcome>, Failure> {
    if connection.info().keyed {
        return Err(Failure::new(
            "--index cannot be used with a keyed database, whose records are buckets of entries; give the KEY",
        ));
    }

    let records = connection
        .get_indices(indices)
        .map_err(connecting::explain)?;
    Ok(indices
        .iter()
        .zip(records)
        .map(|(index, record)| LookupOutcome {
            asked: Map::from_iter([("index".to_owned(), json!(index))]),
            value: Some(record),
        })
        .collect())
}

fn json_line(found: &LookupOutcome) -> String {
    let field = match &found.value {
        Some(bytes) => json_field("value", bytes),
        None => ("value".to_owned(), Value::Null),
    };
    let mut object = found.asked.clone();
    object.extend([field]);

    let mut line = Value::Object(object).to_string();
    // Appended as text: a parsed value would be printed in another form.
    if let Some(json) = found.value.as_deref().and_then(structured) {
        line.truncate(line.len() - 1);
        line += &format!(",\"value_json\":{json}}}");
    }
    line
}

/// A value that is a JSON object or array, as written: parsing and printing it would change long
/// numbers and the order of members. Line breaks, which JSON has only between tokens, become
/// spaces.
fn structured(value: &[u8]) -> Option<String> {
    let json: &RawValue = serde_json::from_slice(value).ok()?;
    let text = json.get();

    // Numbers and words are valid JSON as well, but their text says as much.
    text.starts_with(['{', '['])
        .then(|| text.replace(['\n', '\r'], " "))
}

fn print_costs(connection: &Connection, json: bool) -> std::io::Result<()> {
    let costs = connection.costs();
    if json {
        return writeln!(std::io::stderr(), "{}", costs_json(&costs));
    }

    let Costs {
        public_bytes,
        registration_bytes,
        query_bytes,
        answer_bytes,
        requests,
        ..
    } = costs;
    let name = &connection.info().name;
    let version = &connection.info().version;
    // Keys are sent at a client's first use only, often in an earlier run.
    let registered = match registration_bytes {
        0 => String::new(),
        bytes => format!("registered  {} of keys sent once\n", units::bytes(bytes)),
    };

    let text = format!(
        "database    {name}, version {version}, scheme {}\n\
         fetched     {} once, in {}\n\
         {registered}\
         sent        {} in {requests} request(s), made in {}\n\
         received    {}, {} after sending, decoded in {}",
        connection.info().scheme,
        units::bytes(public_bytes),
        seconds(costs.fetch),
        units::bytes(query_bytes),
        seconds(costs.query),
        units::bytes(answer_bytes),
        seconds(costs.round_trip),
        seconds(costs.extract),
    );
    writeln!(std::io::stderr(), "{text}")
}

fn costs_json(costs: &Costs) -> Value {
    json!({
        "public_bytes": costs.public_bytes,
        "registration_bytes": costs.registration_bytes,
        "upload_bytes": costs.query_bytes,
        "download_bytes": costs.answer_bytes,
        "requests": costs.requests,
        "fetch_ms": milliseconds(costs.fetch),
        "query_ms": milliseconds(costs.query),
        "round_trip_ms": milliseconds(costs.round_trip),
        "extract_ms": milliseconds(costs.extract),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_lines_hold_text_or_base64() {
        let line = |value: Option<&[u8]>| {
            json_line(&LookupOutcome {
                asked: Map::from_iter([json_field("key", b"k")]),
                value: value.map(<[u8]>::to_vec),
            })
        };

        assert_eq!(line(Some(b"v")), r#"{"key":"k","value":"v"}"#);
        assert_eq!(line(Some(&[0xff])), r#"{"key":"k","value_base64":"/w=="}"#);
        assert_eq!(line(None), r#"{"key":"k","value":null}"#);
        assert_eq!(
            line(Some(b"{\"b\": 1.50,\n\"a\": []}")),
            r#"{"key":"k","value":"{\"b\": 1.50,\n\"a\": []}","value_json":{"b": 1.50, "a": []}}"#
        );
        assert_eq!(line(Some(b"7")), r#"{"key":"k","value":"7"}"#);
        assert_eq!(line(Some(b"[7")), r#"{"key":"k","value":"[7"}"#);
        assert_eq!(
            json_line(&LookupOutcome {
                asked: Map::from_iter([json_field("key", &[0xfe])]),
                value: None,
            }),
            r#"{"key_base64":"/g==","value":null}"#
        );
    }
}
