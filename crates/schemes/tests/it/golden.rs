//! Golden hashes of every scheme's bytes.
//!
//! They change with any format, mask or encoding, and with the generator of queries, and are the same on
//! every backend. After an intended change of a format, raise its number; then record the new hashes.

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use papir_core::erased::{ErasedScheme, ErasedServer, ErasedSession};
use papir_core::sections::{MemorySections, SectionSource};
use papir_core::{Goal, NoProgress, NotPrivate, RecordBuffer, Records, Shape};
use papir_schemes::registry;

use crate::short::{registered, with_short_modulus};

/// Makes a test for each scheme, and one that finds registered schemes without golden hashes.
macro_rules! golden {
    ($($name:ident: $records:expr, $record_bytes:expr, $hashes:expr;)*) => {
        $(#[test]
        fn $name() {
            assert_eq!(hashes(&scheme_name(stringify!($name)), $records, $record_bytes), $hashes);
        })*

        #[test]
        fn every_registered_scheme_has_golden_hashes() {
            let golden = [$(scheme_name(stringify!($name))),*];
            let names: Vec<_> = registered().iter().map(|scheme| scheme.name()).collect();
            assert_eq!(names, golden);
        }
    };
}

// Each line has the number of records and the bytes of one. The hashes are of the public part, a
// query, its answer and all sections; if clients register, also of their keys, of a ticket (in
// schemes with tickets) and of the client's state.
golden! {
    plain: 300, 100, [
        "cf1d2208917d2cbd",
        "9e88a044a7165120",
        "ff2959613d2711f0",
        "bb907b20a503d025",
    ];
    simple: 300, 100, [
        "342220a974949318",
        "73da9048b3ffd664",
        "b025cef06fc9370b",
        "cf91cb61452522ce",
    ];
    inspire: 300, 100, [
        "e13a2d782ecef174",
        "59af3859c39dd6db",
        "02c1751d4efdb473",
        "684b789789db8e66",
    ];
    double: 15_000, 2, [
        "7b3ee21c11fae3e8",
        "989ba0751d256cb6",
        "c6c96bad3abd827d",
        "76650034fb177d17",
    ];
    inspire2: 300, 100, [
        "4452f60a760702b4",
        "5704e27ae82f624c",
        "ccacbbea4bc34982",
        "cc11595840262dca",
    ];
    inspire0: 15_000, 2, [
        "6038965689ee2877",
        "04935fdd5ae107f5",
        "4ab317373ec6e800",
        "f34c53b3e67830b2",
    ];
    ypir: 15_000, 2, [
        "0494fa107a7b3402",
        "99211ad629e0a8d6",
        "4060c8591e6250b7",
        "85b0a24785411668",
    ];
    simpleypir: 300, 100, [
        "a2f0ca32d9fc76de",
        "f3f8024e75301b37",
        "4d4c2e25a5aa98ef",
        "d46854e060d09986",
    ];
    zip: 300, 100, [
        "d24df8c091f1c842",
        "5ea2f3daec1d748b",
        "7ed81b7004913a99",
        "fb8c883dd83a3661",
        "157f37fbba95681e",
        "a5c5df98d6921989",
        "20d69d9588bce35d",
    ];
    // Two chunks per record.
    newton: 300, 300, [
        "50ac0782672f3bb9",
        "05bb0277e1474e1b",
        "3828dc3214cfddc8",
        "9372765298834280",
        "8ca50a95ea2dd8f3",
        "5e3ab965bafcd59b",
        "4fb38fe8769ef7ff",
    ];
    newtonsym: 300, 300, [
        "086b2f4f723232aa",
        "6703e2883adb43fa",
        "48a9fe0e2e1808b9",
        "145fee9f51640f1d",
    ];
    zipdouble: 300, 1, [
        "e0d4ebd8cfb32ceb",
        "f54abcc4a3e2f05a",
        "e0caff141e8de144",
        "0d738169398f0f3b",
        "4306fe3b8b3e380f",
        "f33d62ef183c7b91",
        "658d5617148e0a56",
    ];
    inspire_batch: 300, 100, [
        "989e3c45f15e0091",
        "96dda9da619aea48",
        "7d46094522ebbc1d",
        "9a2ac665057dd875",
    ];
    simple_batch: 300, 100, [
        "6043895078337c96",
        "d9117461c2cf0da8",
        "708897c397d5ffd1",
        "c44278ab284c31ba",
    ];
    pirouette: 300, 100, [
        "b4ebb12d74a4adf2",
        "135fed95d3ed6882",
        "a67eaf984ffa67ed",
        "8e2701af960b1700",
        "9399c33c91b298ac",
        "b2c388a04d251b5a",
    ];
    respire: 300, 100, [
        "8d115de27d01c5e0",
        "2c1d782a32f6c6dc",
        "8a9a5521261a0f8e",
        "4da4db9c8c516778",
        "7611ab34dbbedde4",
        "bdba14f603ea5467",
    ];
    pirouette_encrypted: 300, 100, [
        "edc4cbdd71e6f218",
        "8ee265c81a95121e",
        "a1e35755ac939f71",
        "910c2c94be1177d1",
        "d4d9c3044fcb135c",
        "c1505c98f4a67880",
    ];
    depir: 200, 16, [
        "ccda0b0eadc4fc6c",
        "bd84cb3600a81294",
        "80076540f3fe094a",
        "46a74d858c80a988",
    ];
    download: 300, 100, [
        "b55136e61fe28dde",
        "a898731f82ff1354",
        "a7a909778d4b4ca5",
        "75be635aa0bcfa15",
    ];
    inspire1: 300, 100, [
        "5bf06c1b8004c112",
        "c1ec2e8265b5ba9f",
        "7b403f47ce1b025e",
        "be853e0f68413f1c",
    ];
    newtonsym_batch: 300, 300, [
        "3d92ff908c7b2674",
        "80ad93af77ea71a7",
        "bbd51780ef6d3c89",
        "875525e678a87727",
    ];
}

/// Several units of rows.
#[test]
#[ignore = "long"]
fn zipdouble_of_many_records() {
    let expected = [
        "f8d9e0cacf9ca54b",
        "73321a2c2dd92f45",
        "5e2dfdb231b2d529",
        "ff0d4e2b7e301526",
        "4306fe3b8b3e380f",
        "fa1dc5c09f4d6107",
        "658d5617148e0a56",
    ];
    assert_eq!(hashes("zipdouble", 15_000, 2), expected);
}

/// The name of the scheme that the function `test` tests.
fn scheme_name(test: &str) -> String {
    test.replace('_', "-")
}

/// First 8 bytes of BLAKE3, in hexadecimal.
fn hash(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex()[..16].to_owned()
}

/// Records of fixed bytes.
fn database(records: u64, record_bytes: u64) -> RecordBuffer {
    let shape = Shape::of_bytes(records, record_bytes).unwrap();
    let bytes = (0..(records * record_bytes) as u32)
        .map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    RecordBuffer::from_packed(shape, bytes).unwrap()
}

/// Names and contents of a prepared database's sections.
fn sections(server: &dyn ErasedServer) -> Vec<u8> {
    let mut sections = MemorySections::default();
    server.save(&mut sections).unwrap();
    let mut all = Vec::new();
    for name in sections.names().map(str::to_owned).collect::<Vec<_>>() {
        all.extend_from_slice(name.as_bytes());
        all.extend_from_slice(&sections.get(&name).unwrap());
    }
    all
}

/// The scheme of this name, under a fixed owner's key if its databases are encrypted.
///
/// ZipPIR has a short modulus here, since its tickets take minutes otherwise.
fn scheme(name: &str, shape: Shape) -> Box<dyn ErasedScheme> {
    const KEY: &str =
        "papir-owner-key-1-000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
    if name.starts_with("zip") {
        return with_short_modulus(name);
    }
    registered();
    let scheme = registry::by_name(name)
        .unwrap()
        .allow_insecure(NotPrivate::acknowledged());
    let encrypted = scheme.plan(shape, Goal::Balanced).unwrap().limits.owner_key;
    scheme.with_owner_key(encrypted.then(|| KEY.parse().unwrap()).as_ref())
}

/// A small prepared database; batch schemes are prepared for batches of seven.
fn prepared(
    scheme: &dyn ErasedScheme,
    records: &RecordBuffer,
    rng: &mut ChaCha20Rng,
) -> Box<dyn ErasedServer> {
    let Some(batches) = registry::batches_named(scheme.name()) else {
        return scheme
            .setup(records, Goal::Balanced, rng, &NoProgress)
            .unwrap();
    };
    let parameters = batches
        .candidate(records.shape(), Goal::Balanced, 7)
        .unwrap()
        .parameters;
    scheme
        .setup_candidate(&parameters, records, rng, &NoProgress)
        .unwrap()
}

fn hashes(name: &str, records: u64, record_bytes: u64) -> Vec<String> {
    let mut rng = ChaCha20Rng::from_seed([11; 32]);
    let records = database(records, record_bytes);
    let index = 123 % records.shape().records();
    let scheme = scheme(name, records.shape());
    let server = prepared(&*scheme, &records, &mut rng);
    let client = scheme.client(&server.public()).unwrap();
    let mut registered = client.register(&mut rng).unwrap();
    let keys = registered
        .as_ref()
        .map(|(_, keys)| server.accept_keys(keys).unwrap());
    let number = registered
        .as_ref()
        .and_then(|(state, _)| client.next_ticket(state).unwrap());
    let ticket = keys
        .as_ref()
        .zip(number)
        .map(|(keys, number)| server.ticket(keys, number, &NoProgress).unwrap());
    let state = registered.as_mut().map(|(state, _)| state);
    let (secret, query) = client.query(state, &[index], &mut rng).unwrap();
    let session = ErasedSession {
        keys: keys.as_ref(),
        ticket: ticket.as_deref(),
    };
    let answer = server.answer(session, &query).unwrap();
    assert_eq!(
        client.extract(secret, &answer).unwrap(),
        [records.get(index).unwrap()]
    );
    let mut all = vec![server.public(), query, answer, sections(&*server)];
    if let Some((state, keys)) = registered {
        all.push(keys);
        all.extend(ticket);
        all.push(client.save_state(&state).unwrap().to_vec());
    }
    all.iter().map(|bytes| hash(bytes)).collect()
}
