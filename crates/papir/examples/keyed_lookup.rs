//! Keyed lookup in one process.
//!
//! The owner prepares a table of keys and updates it; a client looks up keys in both versions.
//!
//! `cargo run --release -p papir --example keyed_lookup`

use papir::{Database, Lookup, Options, Result, client_of, system_rng};

/// Keys and values of the table.
const CODES: [(&str, &str); 5] = [
    ("AT", "Austria"),
    ("BR", "Brazil"),
    ("KE", "Kenya"),
    ("NZ", "New Zealand"),
    ("PE", "Peru"),
];
/// Entry that is added later.
const ADDED: (&str, &str) = ("JP", "Japan");

fn main() -> Result<()> {
    // The server's side. `simple` prepares small tables fastest; by default the records choose.
    let options = Options {
        scheme: "simple".to_owned(),
        room: 50,
        ..Options::default()
    };
    let database = Database::build(CODES, &options)?;

    // The client's side. The bundle is public, and fetched once per version of the database.
    let client = client_of(&database.bundle())?;
    for key in ["NZ", "JP"] {
        print(key, get(&client, &database, key)?);
    }

    // A new version. Clients fetch its bundle; clients with the old bundle need the old database.
    let database = database.update([(ADDED.0, Some(ADDED.1)), ("AT", None)])?;
    let client = client_of(&database.bundle())?;
    print("AT", get(&client, &database, "AT")?);
    print("JP", get(&client, &database, "JP")?);
    Ok(())
}

/// Looks up a key. Queries and answers are bytes, passed by a function call here.
fn get(client: &Lookup, database: &Database, key: &str) -> Result<Option<String>> {
    // `pending` holds the secret that decrypts the answers. `finish` consumes it.
    let pending = client.prepare_key(key.as_bytes(), &mut system_rng())?;
    let answers = database.answer(pending.queries())?;
    let value = pending.finish(&answers)?;
    Ok(value.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}

fn print(key: &str, value: Option<String>) {
    println!("{key}  {}", value.as_deref().unwrap_or("not found"));
}

#[test]
fn it_runs() -> Result<()> {
    main()
}
