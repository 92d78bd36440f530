//! Databases of older formats are refused with the command that builds them again.

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use papir_core::codec::{Reader, Writer};
use papir_core::envelope::{self, Header, Kind};
use papir_core::erased::ErasedScheme;
use papir_core::sections::{MemorySections, SectionSink, SectionSource};
use papir_core::{Goal, NoProgress, OwnerKey, RecordBuffer, Shape};
use papir_schemes::registry;

/// Opens an envelope of kind 1, changes its payload and closes it again.
fn changed(scheme: &dyn ErasedScheme, bytes: &[u8], change: impl Fn(&[u8]) -> Vec<u8>) -> Vec<u8> {
    let (version, payload) = envelope::open(bytes, Kind::Public, scheme.id()).unwrap();
    let header = Header { kind: Kind::Public, scheme: scheme.id(), version };
    envelope::seal(&header, &change(payload))
}

/// Format 1 of `pirouette` and `respire` had no number in its parameters, and records without
/// whitening.
#[test]
fn databases_without_whitening_name_the_command_that_builds_them_again() {
    for name in ["pirouette", "respire"] {
        let scheme = registry::by_name(name).unwrap();
        let records = RecordBuffer::zeroed(Shape::of_bytes(300, 100).unwrap());
        let rng = &mut ChaCha20Rng::from_seed([1; 32]);
        let server = scheme.setup(&records, Goal::Balanced, rng, &NoProgress).unwrap();
        let expected = "a database of pirouette or respire has format version 1: this papir reads \
            version 2; build it again from its source: `papir build …`";

        let mut sections = MemorySections::default();
        server.save(&mut sections).unwrap();
        let identity = sections.get("identity").unwrap();
        sections
            .put("identity", &[&changed(scheme, &identity, |parameters| parameters[4..].to_vec())])
            .unwrap();
        assert_eq!(scheme.load(&sections).err().unwrap().to_string(), expected, "{name}");

        let public = changed(scheme, &server.public(), |payload| {
            let mut writer = Writer::new();
            writer.bytes(&Reader::new("a public part", payload).bytes().unwrap()[4..]);
            writer.finish()
        });
        assert_eq!(scheme.client(&public).err().unwrap().to_string(), expected, "{name}");
    }
}

/// Format 1 of `pirouette-encrypted` differs in its answers only, so its databases load.
#[test]
fn encrypted_databases_of_format_1_load_and_are_written_with_a_number() {
    let rng = &mut ChaCha20Rng::from_seed([1; 32]);
    let scheme =
        registry::by_name("pirouette-encrypted").unwrap().with_owner_key(Some(&OwnerKey::generate(rng)));
    let records = RecordBuffer::zeroed(Shape::of_bytes(300, 100).unwrap());
    let server = scheme.setup(&records, Goal::Balanced, rng, &NoProgress).unwrap();
    let mut sections = MemorySections::default();
    server.save(&mut sections).unwrap();
    let identity = sections.get("identity").unwrap();
    let older = changed(&*scheme, &identity, |parameters| parameters[4..].to_vec());
    sections.put("identity", &[&older]).unwrap();
    let loaded = scheme.load(&sections).unwrap();
    assert_eq!(loaded.public(), server.public());
    let mut written = MemorySections::default();
    loaded.save(&mut written).unwrap();
    assert!(*written.get("identity").unwrap() == *identity);
}
