//! Verifiable snapshots: lookups with proofs, and their roots.

use crate::common::{by_index, by_key, client, folder, keyed, options, run, source};
use papir_lookup::Root;
use papir_store::{BuildOptions, Snapshot};

fn opened(mut options: BuildOptions) -> Snapshot {
    options.verifiable = true;
    run(&options).unwrap();
    Snapshot::open(&options.out).unwrap()
}

fn csv(salt: &str) -> String {
    (0..700).fold("k,v\n".to_owned(), |csv, i| {
        csv + &format!("key-{i},value-{i}-{salt}\n")
    })
}

#[test]
fn keys_and_records_are_looked_up_with_proofs() {
    let folder = folder();
    let snapshot = opened(keyed(
        &source(folder.path(), "a.csv", csv("x")),
        "k",
        &["v"],
    ));
    assert_eq!(by_key(&snapshot, "key-699").unwrap(), b"value-699-x");
    assert_eq!(by_key(&snapshot, "key-700"), None);
    // Bucket and proof together fit the unit of one answer.
    assert!(
        snapshot.metadata.record_bits <= 8 * 4096,
        "{}",
        snapshot.metadata.record_bits
    );
    let raw: Vec<u8> = (0..999u32).flat_map(u32::to_le_bytes).collect();
    let mut indexed = options(&source(folder.path(), "numbers.bin", raw));
    indexed.record_bytes = Some(4);
    let snapshot = opened(indexed);
    assert_eq!(by_index(&snapshot, 998), 998u32.to_le_bytes());
    assert_eq!(snapshot.metadata.record_bits, 8 * (4 + 10 * 32));
}

#[test]
fn clients_compute_the_root_which_changes_with_the_records() {
    let folder = folder();
    let root = |name: &str, text: String| {
        let snapshot = opened(keyed(&source(folder.path(), name, text), "k", &["v"]));
        let root: Root = snapshot.metadata.root.as_ref().unwrap().parse().unwrap();
        assert_eq!(client(&snapshot).root(), Some(root));
        root
    };
    assert_ne!(root("a.csv", csv("x")), root("b.csv", csv("y")));
    let plain = keyed(&source(folder.path(), "c.csv", csv("x")), "k", &["v"]);
    run(&plain).unwrap();
    let plain = Snapshot::open(&plain.out).unwrap();
    assert_eq!((client(&plain).root(), plain.metadata.root), (None, None));
}
