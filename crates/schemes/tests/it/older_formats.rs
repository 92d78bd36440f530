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
    let (version, payload) = envelope::open(bytes, Kind::Public, scheme.properties().id).unwrap();
    let header = Header {
        kind: Kind::Public,
        scheme: scheme.properties().id,
        version,
    };
    envelope::seal(&header, &change(payload))
}

/// In format 1, Pirouette and Respire had no number in their parameters. In format 2, they had a
/// ring of two primes.
#[test]
fn databases_of_older_rings_name_the_command_that_builds_them_again() {
    let rng = &mut ChaCha20Rng::from_seed([1; 32]);
    let key = OwnerKey::generate(rng);
    for (name, what) in [
        ("pirouette", "a database of pirouette or respire"),
        ("respire", "a database of pirouette or respire"),
        ("pirouette-encrypted", "a database of pirouette-encrypted"),
    ] {
        let scheme = registry::by_name(name).unwrap();
        let owner = (name == "pirouette-encrypted").then_some(&key);
        let scheme = scheme.with_owner_key(owner);
        let records = RecordBuffer::zeroed(Shape::of_bytes(300, 100).unwrap());
        let server = scheme
            .setup(&records, Goal::Balanced, rng, &NoProgress)
            .unwrap();
        let mut sections = MemorySections::default();
        server.save(&mut sections).unwrap();
        let identity = sections.get("identity").unwrap();
        for format in [1u8, 2] {
            let expected = format!(
                "{what} has format version {format}: this papir reads version 3; build it again from its \
                 source: `papir build …`"
            );
            let older = |parameters: &[u8]| match format {
                1 => parameters[4..].to_vec(),
                _ => [&[format, 0, 0, 0], &parameters[4..]].concat(),
            };
            sections
                .put("identity", &[&changed(&*scheme, &identity, older)])
                .unwrap();
            assert_eq!(
                scheme.load(&sections).err().unwrap().to_string(),
                expected,
                "{name}"
            );

            let public = changed(&*scheme, &server.public(), |payload| {
                let mut writer = Writer::new();
                let mut reader = Reader::new("a public part", payload);
                writer.bytes(&older(reader.bytes().unwrap()));
                writer.finish()
            });
            assert_eq!(
                scheme.client(&public).err().unwrap().to_string(),
                expected,
                "{name}"
            );
        }
    }
}
