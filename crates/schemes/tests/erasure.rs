//! Freed memory holds no secret of a client.
//!
//! A global allocator searches every freed block for byte patterns of secret values.
#![allow(clippy::unwrap_used, unsafe_code)]

#[path = "it/short/mod.rs"]
mod short;

use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use num_bigint::BigUint;
use papir_core::erased::{ErasedScheme, ErasedSession};
use papir_core::scheme::{
    Client as _, Goal, Parameters as _, RegisteredClient as _, Server as _, Session, Wire as _,
};
use papir_core::{Choice, NoProgress, NotPrivate, Privacy, RecordBuffer, Records as _, Shape};
use papir_kernels::galois;
use papir_lattice::selection::Storage;
use papir_paillier as paillier;
use papir_research::newton::psi::{self, PsiParams};
use papir_research::newton::{fhe, key};
use papir_ring::prg::Seed;
use papir_ring::{CyclotomicRing as _, Poly, Values, wide};
use papir_schemes::double::packed::{self, ByInspiring};
use papir_schemes::download::{DownloadClient, DownloadParams, DownloadServer};
use papir_schemes::inspire::{Client, Params, Server};
use papir_schemes::pirouette::chain::{PRIME, RESPONSE_PRIME};
use papir_schemes::pirouette::client::RetrievalClient;
use papir_schemes::pirouette::params::PirouetteParams;
use papir_schemes::pirouette::{ParameterSet, Pirouette};
use papir_schemes::shared::messages::PublicSeed;
use papir_schemes::shared::selection::Selects as _;

/// Bytes of a secret value in memory.
#[derive(Clone)]
struct Pattern {
    name: &'static str,
    bytes: Vec<u8>,
    /// Bytes from one of `bytes` to the next.
    stride: usize,
}

impl From<(&'static str, Vec<u8>)> for Pattern {
    fn from((name, bytes): (&'static str, Vec<u8>)) -> Self {
        Self {
            name,
            bytes,
            stride: 1,
        }
    }
}

/// A pattern, and the number of freed blocks that contained it.
struct Watched {
    pattern: Pattern,
    found: AtomicUsize,
}

static WATCHING: AtomicBool = AtomicBool::new(false);
/// Threads search their blocks at the same time, and every block is searched. Nobody who holds the
/// lock frees memory while `WATCHING` is set: freeing takes the lock.
static PATTERNS: RwLock<Vec<Watched>> = RwLock::new(Vec::new());
/// Serializes the tests, as they share `WATCHING` and `PATTERNS`.
static TURN: Mutex<()> = Mutex::new(());

struct Watch;

// SAFETY: `System` allocates and frees; a block is only read, before it is freed.
unsafe impl GlobalAlloc for Watch {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's contract is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if WATCHING.load(Ordering::Relaxed) {
            // SAFETY: the block is still allocated and has this size. Bytes that were never written
            // are compared like any others.
            let bytes = unsafe { std::slice::from_raw_parts(block, layout.size()) };
            let patterns = PATTERNS.read().unwrap_or_else(PoisonError::into_inner);
            for watched in patterns.iter() {
                if contains(bytes, &watched.pattern) {
                    watched.found.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
        // SAFETY: the caller's contract is passed on.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Watch = Watch;

/// Returns true if a block contains a pattern, at a multiple of four bytes, or of two if the
/// pattern has gaps.
fn contains(block: &[u8], pattern: &Pattern) -> bool {
    let Pattern { bytes, stride, .. } = pattern;
    let span = (bytes.len() - 1) * stride + 1;
    let step = if *stride == 1 { 4 } else { 2 };

    let Some(last) = block.len().checked_sub(span) else {
        return false;
    };
    (0..=last).step_by(step).any(|start| {
        let found = block[start..].iter().step_by(*stride);
        bytes.iter().zip(found).all(|(byte, found)| byte == found)
    })
}

/// Returns the bytes of residues 100 to 107.
fn pattern(poly: &Poly<Values>) -> Vec<u8> {
    poly.residues()[100..108]
        .iter()
        .flat_map(|residue| residue.to_le_bytes())
        .collect()
}

/// Returns the result of `work` and the names of the patterns found in blocks freed meanwhile.
fn freed<T, P: Into<Pattern>>(
    patterns: Vec<P>,
    work: impl FnOnce() -> T,
) -> (T, Vec<&'static str>) {
    let patterns = patterns
        .into_iter()
        .map(|pattern| Watched {
            pattern: pattern.into(),
            found: AtomicUsize::new(0),
        })
        .collect();
    // A test that failed may have left it set.
    WATCHING.store(false, Ordering::SeqCst);
    *PATTERNS.write().unwrap() = patterns;
    WATCHING.store(true, Ordering::SeqCst);
    let result = work();
    WATCHING.store(false, Ordering::SeqCst);
    let found = std::mem::take(&mut *PATTERNS.write().unwrap());
    (
        result,
        found
            .into_iter()
            .filter(|one| one.found.load(Ordering::Relaxed) > 0)
            .map(|one| one.pattern.name)
            .collect(),
    )
}

#[test]
fn freed_memory_holds_no_secret() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    // A freed marker is found.
    let marker = vec![0xA5u8; 64];
    let (_, seen) = freed(vec![("a marker", marker[..32].to_vec())], || {
        drop(black_box(marker.clone()))
    });
    assert_eq!(seen, ["a marker"]);
    let gaps = Pattern {
        name: "a marker with gaps",
        bytes: vec![0xA5; 8],
        stride: 4,
    };
    let (_, seen) = freed(vec![gaps], || {
        let words: Vec<[u8; 4]> = (0..16).map(|k| [k, 1, 0xA5, 2]).collect();
        drop(black_box(words))
    });
    assert_eq!(seen, ["a marker with gaps"]);

    let shape = Shape::of_bytes(300_000, 64).unwrap();
    let params = Params::with_points(shape, 4).unwrap();
    let mut rng = ChaCha20Rng::from_seed([5; 32]);
    let server = Server::setup(
        params.clone(),
        &RecordBuffer::zeroed(shape),
        &mut rng,
        &NoProgress,
    )
    .unwrap();
    let client = Client::new(params.clone(), *server.public()).unwrap();
    let index = 123_457;
    // The first run with this seed tells the secret; the second, watched, makes it again.
    let query = || {
        client
            .query(None, &[index], &mut ChaCha20Rng::from_seed([9; 32]))
            .unwrap()
    };
    let (known, _) = query();

    let ring = params.rlwe().ring();
    let location = params.layout().locate(index);
    let d = ring.degree();
    let image = ring.permute(known.key().values(), &galois::permutation(d, 5));
    let mut point = vec![0i32; d];
    let exponent = location.block as usize * (2 * d / params.layout().points);
    point[exponent % d] = if exponent < d { 1 } else { -1 };
    let point = ring.forward(ring.from_signed(&point));
    let keyed = ring.mul(&point, known.key().values());
    let mut selector = vec![0; d];
    selector[location.column as usize % d] = params.scale();
    let low = params.key_switch().factor(0);
    let high = params.key_switch().factor(1);
    let rgsw = params.rgsw().factor(0);
    let coefficients = known.key().coefficients()[100..108]
        .iter()
        .flat_map(|c| c.to_le_bytes())
        .collect();
    let secrets = vec![
        ("s in values", pattern(known.key().values())),
        ("s in coefficients", coefficients),
        ("the image of s", pattern(&image)),
        (
            "the image of s times the low factor",
            pattern(&ring.scale(&image, low)),
        ),
        (
            "the image of s times the high factor",
            pattern(&ring.scale(&image, high)),
        ),
        ("s·m", pattern(&keyed)),
        (
            "s·m times the RGSW factor",
            pattern(&ring.scale(&keyed, rgsw)),
        ),
        (
            "m times the RGSW factor",
            pattern(&ring.scale(&point, rgsw)),
        ),
        (
            "the selector's message",
            pattern(&ring.forward(ring.from_words(&selector))),
        ),
    ];
    let ((secret, query), seen) = freed(secrets.clone(), query);
    assert!(seen.is_empty(), "making a query frees {seen:?}");

    let answer = server.answer(Session::anonymous(), &query).unwrap();
    let product = ring.mul(
        &ring.forward(ring.from_words(&answer.masks)),
        known.key().values(),
    );
    let centred = ring.to_centred(&ring.inverse(product.clone()));
    let mut secrets = secrets;
    secrets.push(("a·s in values", pattern(&product)));
    secrets.push((
        "a·s centred",
        centred[100..104]
            .iter()
            .flat_map(|x| x.to_le_bytes())
            .collect(),
    ));
    let (_, seen) = freed(secrets, || client.extract(secret, answer).unwrap());
    assert!(seen.is_empty(), "opening an answer frees {seen:?}");
}

/// Both levels of a packed DoublePIR: LWE secret, ring secret, selector and decrypted answer.
#[test]
fn freed_memory_holds_no_secret_of_two_levels() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let shape = Shape::of_bytes(3_000_000, 2).unwrap();
    let params = packed::Params::<ByInspiring>::with_units(shape, 3000).unwrap();
    let mut rng = ChaCha20Rng::from_seed([5; 32]);
    let records = RecordBuffer::zeroed(shape);
    let server = packed::Server::setup(params.clone(), &records, &mut rng, &NoProgress).unwrap();
    let client = packed::Client::new(params.clone(), server.public().clone()).unwrap();
    // The first run with this seed tells the secret; the second, watched, makes it again.
    let index = 3000 * 500 + 1234;
    let query = || {
        client
            .query(None, &[index], &mut ChaCha20Rng::from_seed([9; 32]))
            .unwrap()
    };
    let (known, _) = query();

    let selection = params.selection();
    let ring = selection.rlwe().ring();
    let bytes_of = |words: &[i32]| {
        words
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .collect::<Vec<u8>>()
    };
    let words_of = |words: &[u32]| {
        words
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .collect::<Vec<u8>>()
    };
    let mut selector = vec![0; ring.degree()];
    selector[1234] = selection.scale();
    let secrets = vec![
        ("s1", words_of(&known.first_key()[100..108])),
        ("s2 in values", pattern(known.key().values())),
        (
            "s2 in coefficients",
            bytes_of(&known.key().coefficients()[100..108]),
        ),
        (
            "the selector's message",
            pattern(&ring.forward(ring.from_words(&selector))),
        ),
    ];
    let ((secret, query), seen) = freed(secrets.clone(), query);
    assert!(seen.is_empty(), "making a query frees {seen:?}");

    let answer = server.answer(Session::anonymous(), &query).unwrap();
    let whole = answer.clone().with_masks(&server.public().masks);
    let product = ring.mul(
        &ring.forward(ring.from_words(&whole.masks[..ring.degree()])),
        known.key().values(),
    );
    let phases = whole.phases(selection, known.key());
    let words = whole.open(selection, known.key()).words;
    let mut secrets = secrets;
    secrets.push(("a·s in values", pattern(&product)));
    secrets.push((
        "phases",
        phases[100..104]
            .iter()
            .flat_map(|x| x.to_le_bytes())
            .collect(),
    ));
    secrets.push(("digits", words_of(&words[100..116])));
    let (_, seen) = freed(secrets, || client.extract(secret, answer).unwrap());
    assert!(seen.is_empty(), "opening an answer frees {seen:?}");
}

/// The indices of a download, which are looked up in the client's own copy.
#[test]
fn freed_memory_holds_no_index_of_a_download() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let shape = Shape::of_bytes(300, 8).unwrap();
    let rng = &mut ChaCha20Rng::from_seed([5; 32]);
    let params = DownloadParams::choose(shape, Goal::Balanced).unwrap();
    let server =
        DownloadServer::setup(params, &RecordBuffer::zeroed(shape), rng, &NoProgress).unwrap();
    let client = DownloadClient::new(server.params().clone(), server.public().clone()).unwrap();
    let indices: Vec<u64> = (0..8).map(|i| 17 * i + 3).collect();
    let pattern = indices
        .iter()
        .flat_map(|index| index.to_le_bytes())
        .collect();
    let (_, seen) = freed(vec![("the indices", pattern)], || {
        let (secret, _) = client.query(None, &indices, rng).unwrap();
        drop(secret);
    });
    assert!(seen.is_empty(), "a query frees {seen:?}");
}

/// Registration and a query of Pirouette, under short keys of four bits.
#[test]
fn freed_memory_holds_no_secret_of_evaluation_keys() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let params =
        PirouetteParams::<Tiny>::choose(Shape::of_bytes(100, 32).unwrap(), Goal::Balanced).unwrap();
    let client = RetrievalClient::<Pirouette<Tiny>>::new(
        params.clone(),
        PublicSeed {
            seed: Seed([7; 32]),
        },
    )
    .unwrap();
    let register = || {
        client
            .register(None, &mut ChaCha20Rng::from_seed([9; 32]))
            .unwrap()
    };
    let known = register().0.encode(&params);
    let key: Vec<i32> = known[..2048]
        .iter()
        .map(|&byte| i32::from(byte as i8))
        .collect();
    let response: Vec<i32> = known[2048..]
        .iter()
        .map(|&byte| i32::from(byte as i8))
        .collect();

    let ring = wide::Ring::new(2048, PRIME).unwrap();
    let small = wide::Ring::new(1024, RESPONSE_PRIME).unwrap();
    let residues = ring.from_signed(&key);
    let image = ring.automorphism(&residues, 2049);
    let values = ring.forward(residues.clone());
    let square = ring.mul(&values, &values);
    let scaled = ring.scale(&square, 1 << 8);
    let of_response = small.from_signed(&response);
    let bytes_of = |words: &[i32]| {
        words
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .collect::<Vec<u8>>()
    };
    let words_of = |words: &[u64]| {
        words[100..108]
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .collect::<Vec<u8>>()
    };
    let secrets = vec![
        ("s in coefficients", bytes_of(&key[100..132])),
        ("s in residues", words_of(residues.residues())),
        ("s in values", words_of(values.residues())),
        ("the image of s in residues", words_of(image.residues())),
        (
            "the image of s in values",
            words_of(ring.forward(image.clone()).residues()),
        ),
        (
            "s squared in residues",
            words_of(ring.inverse(square.clone()).residues()),
        ),
        ("s squared in values", words_of(square.residues())),
        (
            "s squared times the lowest factor, in residues",
            words_of(ring.inverse(scaled.clone()).residues()),
        ),
        (
            "s squared times the lowest factor, in values",
            words_of(scaled.residues()),
        ),
        (
            "the response ring's key in coefficients",
            bytes_of(&response[100..132]),
        ),
        (
            "the response ring's key in residues",
            words_of(of_response.residues()),
        ),
        (
            "the response ring's key in values",
            words_of(small.forward(of_response.clone()).residues()),
        ),
    ];
    let ((mut state, keys), seen) = freed(secrets.clone(), register);
    assert!(seen.is_empty(), "registering frees {seen:?}");
    assert!(keys.encode(&params).len() > 1 << 20);
    let query = || {
        drop(
            client
                .query(Some(&mut state), &[7], &mut ChaCha20Rng::from_seed([8; 32]))
                .unwrap(),
        )
    };
    let (_, seen) = freed(secrets.clone(), query);
    assert!(seen.is_empty(), "a query frees {seen:?}");
    let (_, seen) = freed(secrets, || drop(state));
    assert!(seen.is_empty(), "dropping the state frees {seen:?}");
}

/// Makes a query for one record and opens its answer through the interface over bytes. Checks that
/// both free no block with one of these patterns.
fn assert_lookup_frees_nothing(
    scheme: &dyn ErasedScheme,
    choice: Choice,
    records: &RecordBuffer,
    index: u64,
    patterns: &[Pattern],
) {
    let name = scheme.name();
    let rng = &mut ChaCha20Rng::from_seed([5; 32]);
    let parameters = scheme
        .candidate(records.shape(), choice)
        .unwrap()
        .parameters;
    let server = scheme
        .setup_candidate(&parameters, records, rng, &NoProgress)
        .unwrap();
    let client = scheme.client(&server.public()).unwrap();

    let side = client.registered();
    let mut registered = side.map(|side| side.register(rng).unwrap());
    let keys = registered.as_ref().map(|(_, keys)| {
        let server = server.require_registered().unwrap();
        server.accept_keys(keys).unwrap()
    });
    let number = registered
        .as_ref()
        .zip(side)
        .and_then(|((state, _), side)| side.numbers(state).unwrap().ticket);
    let ticket = keys.as_ref().zip(number).map(|(keys, number)| {
        let server = server.require_registered().unwrap();
        server.ticket(keys, number, None, &NoProgress).unwrap()
    });
    let state = registered.as_mut().map(|(state, _)| state);

    let ((secret, query), seen) = freed(patterns.to_vec(), || {
        client.query(state, &[index], rng).unwrap()
    });
    assert!(seen.is_empty(), "{name}: making a query frees {seen:?}");

    let session = ErasedSession {
        keys: keys.as_ref(),
        ticket: ticket.as_deref(),
    };
    let answer = server.answer(session, &query).unwrap();
    let (found, seen) = freed(patterns.to_vec(), || {
        client.extract(secret, &answer).unwrap()
    });
    assert!(seen.is_empty(), "{name}: opening an answer frees {seen:?}");
    assert_eq!(found, [records.get(index).unwrap()], "{name}");
}

/// Records of scattered bytes.
fn scattered_records(shape: Shape) -> RecordBuffer {
    let bytes = (0..shape.total_bytes() as u32)
        .map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    RecordBuffer::from_packed(shape, bytes).unwrap()
}

/// The record that is looked up, in every private scheme: as bytes, as the low bytes of words, and
/// as centred bytes with a distance each. Schemes with slow clients have short keys.
#[test]
fn freed_memory_holds_no_record_that_was_looked_up() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let shape = Shape::of_bytes(300, 8).unwrap();
    let records = scattered_records(shape);

    // In the first rows of its column: a list of rows that grows copies them each time.
    let index = 1;
    let record = records.get(index).unwrap();
    let centred = record.iter().map(|byte| byte.wrapping_sub(128)).collect();
    let patterns = [
        Pattern::from(("the record", record.clone())),
        Pattern {
            name: "the record's bytes in words",
            bytes: record,
            stride: 4,
        },
        Pattern {
            name: "the record's rows",
            bytes: centred,
            stride: 4,
        },
    ];

    let listed = short::registered();
    let mut tested = 0;
    for (listed, scheme) in listed.iter().zip(short::all()) {
        if listed.properties().privacy != Privacy::Private {
            continue;
        }
        let choice = match listed.name() {
            // Columns of many rows.
            "zip" => Choice::Columns(10),
            _ => Choice::Goal(Goal::Balanced),
        };
        assert_lookup_frees_nothing(&*scheme, choice, &records, index, &patterns);
        tested += 1;
    }
    assert!(tested >= 17, "{tested} private schemes");
}

/// The unit of a record in its column and its slot there, in the schemes that keep both with the
/// secret of a query.
#[test]
fn freed_memory_holds_no_place_of_a_record() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    // Eight records of five bits are a unit. A choice of columns counts records as units, so that
    // a column has a hundred units.
    let shape = Shape::new(20_000, 5).unwrap();
    let records = RecordBuffer::zeroed(shape);
    let unit = 97;
    let slot = 6;

    let bytes = |place: [u64; 2]| place.map(u64::to_le_bytes).concat();
    let patterns = [
        Pattern::from(("unit and slot", bytes([unit, slot]))),
        Pattern::from(("slot and unit", bytes([slot, unit]))),
    ];
    for name in ["simple", "zip"] {
        let scheme = short::with_short_modulus(name);
        let choice = Choice::Columns(200);
        let index = 8 * unit + slot;
        assert_lookup_frees_nothing(&*scheme, choice, &records, index, &patterns);
    }
}

/// The bytes that a client joins of decrypted words.
#[test]
fn freed_memory_holds_no_bytes_of_decrypted_words() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let words: Vec<u32> = (0..2048u32)
        .map(|i| i.wrapping_mul(2_654_435_761) >> 28)
        .collect();
    for storage in [Storage::Words, Storage::Nibbles] {
        let pattern = storage.bytes_of(&words)[..16].to_vec();
        let (_bytes, seen) = freed(vec![("the bytes", pattern)], || storage.bytes_of(&words));
        assert!(seen.is_empty(), "{storage:?} frees {seen:?}");
    }
}

/// The prime factors of a Paillier modulus and their powers, when a stored key is read and used.
#[test]
fn freed_memory_holds_no_factor_of_a_modulus() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    for s in [1, 2] {
        let rng = &mut ChaCha20Rng::from_seed([5; 32]);
        let params = paillier::Params::insecure(512, s).unwrap();
        let stored = paillier::SecretKey::generate(params, rng)
            .unwrap()
            .to_bytes();

        // A header of eight bytes, and both primes.
        let mut patterns = Vec::new();
        for prime in stored[8..].chunks_exact(params.modulus_bytes() / 2) {
            let number = BigUint::from_bytes_le(prime);
            patterns.push(("a prime", prime.to_vec()));
            patterns.push(("its square", number.pow(2).to_bytes_le()));
            patterns.push(("its cube", number.pow(3).to_bytes_le()));
        }
        assert_eq!(patterns.len(), 6);

        let (_, seen) = freed(patterns, || {
            let key = paillier::SecretKey::from_bytes(params, &stored).unwrap();
            let seed = Seed([1; 32]);
            let ciphertexts = paillier::random_ciphertexts(key.public(), &seed, "erasure", 0, 3);
            let plaintexts = key.decrypt_many(&ciphertexts);
            drop(key.encrypt_many(&plaintexts, rng).unwrap());
        });
        assert!(seen.is_empty(), "a key with s = {s} frees {seen:?}");
    }
}

/// The point at which a client of NewtonPIR opens its answers: the point gives the index.
#[test]
fn freed_memory_holds_no_point_of_newton() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let key = key::SecretKey::generate(256, &mut ChaCha20Rng::from_seed([5; 32])).unwrap();
    let n = Arc::clone(key.modulus());

    // A generator of the same seed draws the same point again.
    let fresh = || ChaCha20Rng::from_seed([6; 32]);
    let roots = n.random(2, &mut fresh());
    let squares = n.product(&roots, &roots);
    let elements = roots.chunks(n.limbs()).chain(squares.chunks(n.limbs()));
    let secret = |one: &[u64]| ("a root or its square", bytemuck::cast_slice(one).to_vec());
    let patterns: Vec<(_, Vec<u8>)> = elements.map(secret).collect();
    let (_, seen) = freed(patterns, || drop(fhe::random_point(&n, &mut fresh())));
    assert!(seen.is_empty(), "a point frees {seen:?}");
}

/// A record of several chunks, which a client of NewtonPIR joins.
#[test]
fn freed_memory_holds_no_record_of_several_chunks() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let shape = Shape::of_bytes(20, 200).unwrap();
    let records = scattered_records(shape);

    let index = 7;
    let begin = records.get(index).unwrap()[..16].to_vec();
    let patterns = [Pattern::from(("the record's first bytes", begin))];
    for name in ["newton", "newtonsym"] {
        let scheme = short::with_short_modulus(name);
        let choice = Choice::Goal(Goal::Balanced);
        assert_lookup_frees_nothing(&*scheme, choice, &records, index, &patterns);
    }
}

/// A record of NewtonPIR that is refused, because the last chunk of its answer is damaged.
#[test]
fn freed_memory_holds_no_refused_record() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let shape = Shape::of_bytes(20, 200).unwrap();
    let records = scattered_records(shape);
    let index = 7;
    let begin = records.get(index).unwrap()[..16].to_vec();

    let rng = &mut ChaCha20Rng::from_seed([5; 32]);
    let scheme = short::with_short_modulus("newtonsym");
    let candidate = scheme.candidate(shape, Choice::Goal(Goal::Balanced));
    let parameters = candidate.unwrap().parameters;
    let server = scheme
        .setup_candidate(&parameters, &records, rng, &NoProgress)
        .unwrap();
    let client = scheme.client(&server.public()).unwrap();
    let (secret, query) = client.query(None, &[index], rng).unwrap();
    let session = ErasedSession {
        keys: None,
        ticket: None,
    };
    let mut answer = server.answer(session, &query).unwrap();

    // The last number, of 256 bits. The other chunks still give most of the record.
    let number = answer.len() - 32;
    answer[number] ^= 1;
    let (refused, seen) = freed(vec![("the record's first bytes", begin)], || {
        client.extract(secret, &answer)
    });
    assert!(matches!(refused, Err(papir_core::Error::NotDecodable)));
    assert!(seen.is_empty(), "a refused answer frees {seen:?}");
}

/// The items of the party that answers a request for an intersection.
#[test]
fn freed_memory_holds_no_item_of_an_intersection() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let word = NotPrivate::acknowledged();
    let rng = &mut ChaCha20Rng::from_seed([5; 32]);
    let params = PsiParams::new(20, 60).unwrap();
    let params = params.with_modulus_bits(256).unwrap();
    let params = params.partitioned(3).unwrap();
    let n = Arc::clone(key::SecretKey::generate(256, rng).unwrap().modulus());

    let items: Vec<psi::Item> = (1..=60)
        .map(|i: psi::Item| i.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835))
        .collect();
    let receiver = psi::Receiver::new(params.clone(), Arc::clone(&n), &items[..20], word).unwrap();
    let sender = psi::Sender::new(params, &items, word).unwrap();
    let (_, request) = receiver.request(rng).unwrap();

    let item = items[42];
    let element = n.enter(&[item as u64, (item >> 64) as u64], 2);
    let element = element.iter().flat_map(|limb| limb.to_le_bytes()).collect();
    let patterns = vec![
        ("an item", item.to_le_bytes().to_vec()),
        ("an item as an element", element),
    ];
    let (_, seen) = freed(patterns, || sender.respond(&request, rng).unwrap());
    assert!(seen.is_empty(), "a response frees {seen:?}");
}

/// Short keys of four bits.
#[derive(Clone, Copy, Debug)]
struct Tiny;

impl ParameterSet for Tiny {
    const NAME: &'static str = "pirouette-tiny";
    const ID: u16 = 0xfff5;
    const ENCRYPTED: (&'static str, u16) = ("pirouette-encrypted-tiny", 0xfff6);
    const PRIVACY: Privacy = Privacy::NotPrivate("its keys are tiny: it is for tests");
    const DIMENSIONS: [usize; 2] = [4, 4];
}
