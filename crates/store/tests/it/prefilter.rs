//! Filters of keys in snapshots, updates, deltas and signed versions.

use std::fs;
use std::path::{Path, PathBuf};

use papir_checkpoint::{Kind, SigningKey};
use papir_core::{NoProgress, Run};
use papir_lookup::{Lookup, Wanted};
use papir_store::{
    BuildOptions, MergeOptions, Sign, Snapshot, UpdateOptions, merge, sign, stored_log, update,
    update_delta,
};

use crate::common::{Served, folder, fresh, keyed, options, refusal, rng, run, source};

const BITS: u8 = 20;

/// Options of a database of 300 words with a filter.
fn words(folder: &Path) -> BuildOptions {
    let rows: String = (0..300)
        .map(|number| format!("word {number},meaning {number}\n"))
        .collect();
    let source = source(folder, "words.csv", format!("word,meaning\n{rows}"));
    BuildOptions {
        room: 10,
        prefilter: Some(BITS),
        ..keyed(&source, "word", &["meaning"])
    }
}

fn signing() -> Sign {
    let name = "example.org/owner".parse().unwrap();
    Sign::new(SigningKey::generate(name, Kind::Note, &mut rng(1)))
}

/// A client with the filters that a service would send.
fn client(file: &Path) -> Lookup {
    let served = Served::open(file);
    let stated = served.base.bundle().prefilter.unwrap();
    let filter = served.base.prefilter.unwrap();
    assert_eq!(filter.summary, stated);
    served
        .lookup
        .stating_prefilter(Some(stated))
        .with_prefilter(filter.bytes.to_vec())
        .unwrap()
}

fn excludes(lookup: &Lookup, key: &str) -> bool {
    lookup.excludes_vartime(Wanted::Key(key.as_bytes()))
}

fn changes(file: &Path, text: &str, sign: Option<Sign>) -> UpdateOptions {
    let changes = source(file.parent().unwrap(), "changes.csv", text);
    UpdateOptions {
        delete: Some("gone".into()),
        sign,
        ..UpdateOptions::new(file, changes)
    }
}

const CHANGES: &str = "word,meaning,gone\nfresh,new,\nword 2,,yes\n";

/// Checks the filters after [`CHANGES`]: of a delta if `beside`.
fn check_changed(file: &Path, beside: bool) {
    let lookup = client(file);
    assert!(!excludes(&lookup, "fresh"));
    assert!(!excludes(&lookup, "word 3"));
    assert!(excludes(&lookup, "other"));
    // A removed key stays until a merge.
    assert_eq!(excludes(&lookup, "word 2"), !beside);
}

#[test]
fn a_build_has_the_filter_of_its_keys() {
    let folder = folder();
    let options = words(folder.path());
    let report = run(&options).unwrap();

    let snapshot = Snapshot::open(&options.out).unwrap();
    assert_eq!(snapshot.metadata.prefilter, Some(BITS));
    assert_eq!(snapshot.bundle().prefilter, report.prefilter);
    let mut sections = snapshot.sections.iter();
    let section = sections.find(|one| one.name == "prefilter");
    assert_eq!(section.unwrap().bytes, report.prefilter.unwrap().bytes);

    let lookup = client(&options.out);
    let missing: Vec<u32> = (0..300)
        .filter(|number| excludes(&lookup, &format!("word {number}")))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
    assert!(excludes(&lookup, "word 300"));
}

#[test]
fn without_the_option_nothing_changes() {
    let folder = folder();
    let options = BuildOptions {
        prefilter: None,
        ..words(folder.path())
    };
    let report = run(&options).unwrap();
    assert_eq!(report.prefilter, None);

    let snapshot = Snapshot::open(&options.out).unwrap();
    assert!(snapshot.prefilter.is_none());
    assert!(!snapshot.sections.iter().any(|one| one.name == "prefilter"));
    let metadata = serde_json::to_string(&snapshot.metadata).unwrap();
    assert!(!metadata.contains("prefilter"), "{metadata}");
    // The format of bundles is that of earlier releases.
    assert_eq!(snapshot.bundle().encode()[4..6], [1, 0]);
}

#[test]
fn filters_follow_updates_deltas_and_merges() {
    let folder = folder();
    let options = words(folder.path());
    run(&options).unwrap();
    let file = options.out;

    let changed = changes(&file, CHANGES, None);
    update_delta(&changed, None, &mut Run::new(&mut fresh(), &NoProgress)).unwrap();
    check_changed(&file, true);

    merge(
        &MergeOptions::new(&file),
        &mut Run::new(&mut fresh(), &NoProgress),
    )
    .unwrap();
    check_changed(&file, false);

    let more = changes(&file, "word,meaning,gone\nlate,later,\nfresh,,yes\n", None);
    update(&more, &mut Run::new(&mut fresh(), &NoProgress)).unwrap();
    let lookup = client(&file);
    assert!(!excludes(&lookup, "late"));
    assert!(excludes(&lookup, "fresh"));
}

/// Checks that the newest leaf states the public parts, and with them the filters.
fn check_stated(file: &Path) {
    let log = stored_log(file).unwrap().unwrap();
    log.check_signed().unwrap();
    let leaf = log.newest().unwrap();

    let served = Served::open(file);
    let bundle = served.base.bundle();
    leaf.check_public_part(&bundle.encode()).unwrap();
    let delta = served.delta.map(|delta| delta.part().encode());
    leaf.check_delta(delta.as_deref()).unwrap();

    let mut other = bundle;
    other.prefilter.as_mut().unwrap().hash[0] ^= 1;
    leaf.check_public_part(&other.encode()).unwrap_err();
}

#[test]
fn a_signature_covers_the_filters() {
    let folder = folder();
    let options = BuildOptions {
        sign: Some(signing()),
        ..words(folder.path())
    };
    run(&options).unwrap();
    let file = options.out;
    check_stated(&file);

    sign(&file, &signing(), &mut Run::new(&mut fresh(), &NoProgress)).unwrap();
    check_stated(&file);

    let changed = changes(&file, CHANGES, Some(signing()));
    update_delta(&changed, None, &mut Run::new(&mut fresh(), &NoProgress)).unwrap();
    check_stated(&file);
    check_changed(&file, true);

    let merging = MergeOptions {
        sign: Some(signing()),
        ..MergeOptions::new(&file)
    };
    merge(&merging, &mut Run::new(&mut fresh(), &NoProgress)).unwrap();
    check_stated(&file);
    check_changed(&file, false);
}

/// The offset of the section of the filter in a file.
fn offset_of(file: &Path) -> usize {
    let bytes = fs::read(file).unwrap();
    let magic = b"PIRK\x01\x00";
    let found = bytes.windows(magic.len()).position(|part| part == magic);
    found.unwrap()
}

#[test]
fn a_changed_filter_is_refused() {
    let folder = folder();
    let options = words(folder.path());
    run(&options).unwrap();
    let file: PathBuf = options.out;

    let mut bytes = fs::read(&file).unwrap();
    bytes[offset_of(&file) + 30] ^= 1;
    fs::write(&file, &bytes).unwrap();
    let error = Snapshot::open(&file).err().unwrap();
    assert!(error.to_string().contains("section `prefilter`"), "{error}");
}

#[test]
fn filters_that_cannot_be_are_refused() {
    let folder = folder();
    let with_bits = |bits| BuildOptions {
        prefilter: Some(bits),
        ..words(folder.path())
    };
    for bits in [0, 3, 25] {
        let error = refusal(&with_bits(bits));
        assert_eq!(error.code(), "out_of_bounds", "{bits}");
    }

    let records = source(folder.path(), "records.bin", [7; 40]);
    let unkeyed = BuildOptions {
        record_bytes: Some(2),
        prefilter: Some(8),
        ..options(&records)
    };
    let error = refusal(&unkeyed).to_string();
    assert!(error.contains("without keys"), "{error}");

    let owner = papir_core::OwnerKey::generate(&mut rng(3));
    let encrypted = BuildOptions {
        scheme: "pirouette-encrypted".to_owned(),
        encrypt: Some(owner),
        ..words(folder.path())
    };
    let error = refusal(&encrypted).to_string();
    assert!(error.contains("encrypted database"), "{error}");
}
