//! Many keys in one query.
//!
//! A batch scheme (`simple-batch`, `inspire-batch`) answers several lookups with one query. The
//! length of the query does not depend on the number of lookups in it.
//!
//! `cargo run --release -p papir --example batch`

use papir::lookup::Wanted;
use papir::{Database, Options, Result, client_of, system_rng};

/// Number of keys in the table.
const ENTRIES: u64 = 1000;
/// Keys that the client looks up. The last one is not in the table.
const WANTED: [u64; 5] = [3, 141, 592, 653, ENTRIES];

fn main() -> Result<()> {
    let options = Options {
        scheme: "simple-batch".to_owned(),
        ..Options::default()
    };
    let entries = (0..ENTRIES).map(|number| (key(number), (number * number).to_string()));
    let database = Database::build(entries, &options)?;

    let client = client_of(&database.bundle())?;
    let keys = WANTED.map(key);
    let wanted = keys.each_ref().map(|key| Wanted::Key(key.as_bytes()));
    let pending = client.prepare_batch(None, &wanted, &mut system_rng())?;
    println!("{} keys in {} query", wanted.len(), pending.queries().len());

    let answers = database.answer(pending.queries())?;
    for (key, value) in keys.iter().zip(pending.finish_all(&answers)?) {
        match value {
            Some(value) => println!("{key}: {}", String::from_utf8_lossy(&value)),
            None => println!("{key}: not found"),
        }
    }
    Ok(())
}

fn key(number: u64) -> String {
    format!("square of {number}")
}

#[test]
fn it_runs() -> Result<()> {
    main()
}
