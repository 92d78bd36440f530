//! Persistence and updates: save and load, damaged sections, versions.

use papir_core::envelope::{self, Header, Kind};
use papir_core::sections::{MemorySections, SectionSource};
use papir_core::{Blob, Change, Error, NoProgress, Result, extract_bits};
use rand_core::Rng;

use super::config::ConformanceConfig;
use super::fixture::{Fixture, Registration, is_parse_error};
use super::readback;

/// Runs all checks of this file. Leaves the fixture at a new version.
pub(super) fn check(fixture: &mut Fixture<'_>, config: &ConformanceConfig) {
    check_save_and_load(fixture);
    check_refused_changes(fixture);
    check_update(fixture, config);
    readback::check_reads(fixture);
    readback::check_setup_from_prepared(fixture);
}

/// A database that was saved and loaded has the same public bytes and gives the same answers.
fn check_save_and_load(fixture: &mut Fixture<'_>) {
    let mut sections = MemorySections::default();
    fixture
        .server
        .save(&mut sections)
        .expect("saving to memory");
    let loaded = fixture
        .scheme
        .load(&sections)
        .expect("loading what was saved");

    assert!(
        loaded.public() == fixture.server.public(),
        "public bytes changed by saving"
    );
    readback::check_records_of(fixture, &*loaded);
    assert_eq!(
        (loaded.version(), loaded.describe()),
        (fixture.server.version(), fixture.server.describe())
    );

    let index = fixture.shape.records() / 3;
    let sent = fixture.send(&[index]);
    let answer = fixture.answer(&sent);
    let again = loaded
        .answer(fixture.registration.session(&sent), &sent.query)
        .expect("an answer");
    assert!(answer == again, "a loaded database gives another answer");

    let mut twice = MemorySections::default();
    loaded.save(&mut twice).expect("saving to memory");
    assert!(
        sections.names().eq(twice.names()),
        "other sections the second time"
    );
    for name in sections.names() {
        assert!(
            *sections.get(name).unwrap() == *twice.get(name).unwrap(),
            "section {name} changed"
        );
    }

    check_damaged_sections(fixture, &sections);
}

/// Sections of which one is replaced or missing.
struct Damaged<'a> {
    sections: &'a MemorySections,
    name: &'a str,
    replacement: Option<Blob>,
}

impl SectionSource for Damaged<'_> {
    fn get(&self, name: &str) -> Result<Blob> {
        if name != self.name {
            return self.sections.get(name);
        }
        self.replacement
            .clone()
            .ok_or_else(|| Error::MissingSection {
                name: name.to_owned(),
            })
    }
}

/// Missing, short, long and foreign sections cause typed errors.
fn check_damaged_sections(fixture: &Fixture<'_>, sections: &MemorySections) {
    let load = |name, replacement| {
        fixture
            .scheme
            .load(&Damaged {
                sections,
                name,
                replacement,
            })
            .err()
    };

    for name in sections.names() {
        let whole = sections.get(name).unwrap();
        assert!(
            matches!(load(name, None), Some(Error::MissingSection { .. })),
            "{name} missing"
        );

        let short = Blob::copy_of(&whole[..whole.len().saturating_sub(1)]);
        for (what, bytes) in [
            ("empty", Blob::copy_of(&[])),
            ("short", short),
            ("long", longer(&whole)),
        ] {
            if bytes.len() == whole.len() {
                continue;
            }
            let error = load(name, Some(bytes))
                .unwrap_or_else(|| panic!("section {name}, {what}: accepted"));
            assert!(is_parse_error(&error), "section {name}, {what}: {error:?}");
        }
    }

    let header = Header {
        kind: Kind::Public,
        scheme: fixture.scheme.properties().id + 1,
        version: fixture.server.version(),
    };
    let foreign = Blob::copy_of(&envelope::seal(&header, &[]));
    assert!(matches!(
        load("identity", Some(foreign)),
        Some(Error::WrongScheme { .. })
    ));
}

fn longer(bytes: &[u8]) -> Blob {
    Blob::copy_of(&[bytes, &[0]].concat())
}

/// Changes that do not fit are refused, by the cost estimate too; no changes cost nothing.
fn check_refused_changes(fixture: &mut Fixture<'_>) {
    let none = fixture
        .server
        .update_cost(&[])
        .expect("the cost of no changes");
    assert_eq!(none.setup, fixture.server.describe().work.setup);
    assert!(
        none.update.iter().next().is_none(),
        "no changes cost {:?}",
        none.update
    );

    let record = vec![0; fixture.shape.record_bytes()];
    let outside = Change {
        index: fixture.shape.records(),
        record: record.clone(),
    };
    let long = Change {
        index: 0,
        record: [record, vec![0]].concat(),
    };

    for (change, code) in [(outside, "index_out_of_range"), (long, "wrong_length")] {
        let changes = [change];
        let beforehand = fixture.server.update_cost(&changes).err();
        let error = fixture
            .server
            .update(&changes, &mut fixture.rng, &NoProgress)
            .err();
        let codes = [beforehand, error].map(|error| error.as_ref().map(Error::code));
        assert_eq!(codes, [Some(code); 2], "the cost and the update");
    }
}

/// A new version returns new values and unchanged ones, and refuses messages of the old version;
/// the old server still answers correctly.
fn check_update(fixture: &mut Fixture<'_>, config: &ConformanceConfig) {
    let old = fixture.send(&[0]);
    let old_answer = fixture.answer(&old);
    let changes = random_changes(fixture);

    let server = fixture
        .server
        .update(&changes, &mut fixture.rng, &NoProgress)
        .expect("an update");
    assert_ne!(
        server.version(),
        fixture.server.version(),
        "an update is a new version"
    );

    let refused = server
        .answer(fixture.registration.session(&old), &old.query)
        .err();
    assert!(
        matches!(refused, Some(Error::WrongVersion { .. })),
        "{refused:?}"
    );

    let client = fixture
        .scheme
        .client(&server.public())
        .expect("a client of the new version");
    let late = client.extract(fixture.send(&[0]).secret, &old_answer).err();
    assert!(matches!(late, Some(Error::WrongVersion { .. })), "{late:?}");

    // The old server is not changed by the update: it still has the old records.
    for change in &changes {
        fixture.check_lookup(&[change.index]);
    }

    // From here on, the fixture is the new version.
    for change in &changes {
        fixture.records.set(change.index, &change.record).unwrap();
    }
    fixture.registration = Registration::open(&*client, &*server, &mut fixture.rng);
    (fixture.server, fixture.client) = (server, client);

    let mut indices = fixture.indices(config.random_indices);
    indices.extend(changes.iter().map(|change| change.index));
    for index in indices {
        fixture.check_lookup(&[index]);
    }
}

/// New values for the first, the last and some other records; one record changes twice.
fn random_changes(fixture: &mut Fixture<'_>) -> Vec<Change> {
    let mut indices = fixture.indices(2);
    indices.push(indices[0]);
    let bits = fixture.shape.record_bits();

    indices
        .into_iter()
        .map(|index| {
            let mut bytes = vec![0; fixture.shape.record_bytes()];
            fixture.rng.fill_bytes(&mut bytes);
            Change {
                index,
                record: extract_bits(&bytes, 0, bits),
            }
        })
        .collect()
}
