//! Costs of the operations at 3,072 bits on one core.
//!
//! Run with `cargo run --release -p papir-paillier --example costs`. The argument `ticket` adds the
//! products of a ticket of 1,256 bases and 160 rows, which takes minutes.
#![allow(clippy::unwrap_used)]

use std::time::{Duration, Instant};

use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use papir_paillier::compress::{
    CompressionKey, ExpandedKey, KeyKind, Layout, Lwe, LweParams, PackedKey, Scale,
};
use papir_paillier::products::{Exponents, Products};
use papir_paillier::{Params, PublicKey, SecretKey, random_ciphertexts};
use papir_ring::prg::Seed;

/// Runs `work` and prints the time for each of `count` operations.
fn measure<T>(what: &str, count: u32, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = work();
    let each: Duration = start.elapsed() / count;
    println!("{what:<60} {each:>12.3?}");
    result
}

/// Pseudorandom exponents.
struct Pattern {
    rows: usize,
    columns: usize,
    bits: u32,
}

impl Exponents for Pattern {
    fn rows(&self) -> usize {
        self.rows
    }

    fn columns(&self) -> usize {
        self.columns
    }

    fn bits(&self) -> u32 {
        self.bits
    }

    fn read(&self, row: usize, column: usize, words: &mut [u64]) {
        let mut state = (row * self.columns + column) as u64 + 1;
        for word in words {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            *word = state.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
    }
}

fn encryption(key: &SecretKey, rng: &mut ChaCha20Rng) {
    let public = key.public();
    let plaintext = public.plaintext(&[7]).unwrap();
    measure("encrypt", 1, || public.encrypt(&plaintext, rng));
    let many = vec![plaintext; 64];
    let ciphertexts = measure("encrypt_many by the owner, each of 64", 64, || {
        key.encrypt_many(&many, rng).unwrap()
    });
    measure("decrypt", 1, || key.decrypt(&ciphertexts[0]));
    measure("decrypt_many, each of 64", 64, || {
        key.decrypt_many(&ciphertexts)
    });
    measure("add", 1, || public.add(&ciphertexts[0], &ciphertexts[1]));
    measure("multiply_plain, 3,072 bits", 1, || {
        public.multiply_plain(&ciphertexts[0], &public.modulus())
    });
    measure("random_ciphertexts, each of 1,256", 1256, || {
        random_ciphertexts(public, &Seed([1; 32]), "c", 0, 1256)
    });
    let bytes = public.to_bytes();
    measure("reading a public key", 1, || {
        PublicKey::from_bytes(*public.params(), &bytes).unwrap()
    });
}

fn compression(key: &SecretKey, rng: &mut ChaCha20Rng) {
    for (n, bits, kind) in [
        (630, 64, KeyKind::Binary),
        (1305, 11, KeyKind::Binary),
        (2048, 54, KeyKind::Ternary),
    ] {
        let lwe = LweParams::new(n, 1 << bits, kind).unwrap();
        let mask = u64::MAX >> (64 - bits);
        let secret: Vec<u64> = (0..n).map(|_| rng.next_u64() & 1).collect();
        let layout = Layout::new(key.public(), lwe, Scale::Separate).unwrap();
        let slots = layout.slots();
        println!("(n, log2 q) = ({n}, {bits}), {kind:?}: {slots} phases a ciphertext");
        let mut encryption = || Lwe {
            mask: (0..n).map(|_| rng.next_u64() & mask).collect(),
            body: rng.next_u64() & mask,
        };
        let encryptions: Vec<Lwe> = (0..slots).map(|_| encryption()).collect();
        let ck = measure("  compression key", 1, || {
            CompressionKey::generate(key, &lwe, &secret, rng).unwrap()
        });
        measure("  one, key not expanded", 1, || {
            ck.compress(&layout, &encryptions[..1]).unwrap()
        });
        measure("  a full ciphertext, key not expanded", 1, || {
            ck.compress(&layout, &encryptions).unwrap()
        });
        let expanded = measure("  expansion", 1, || ExpandedKey::new(ck, bits).unwrap());
        println!("  expanded key of {} bytes", expanded.bytes());
        measure("  one, key expanded", 1, || {
            expanded.compress(&layout, &encryptions[..1]).unwrap()
        });
        measure("  a full ciphertext, key expanded", 1, || {
            expanded.compress(&layout, &encryptions).unwrap()
        });
        let packing = Layout::largest_packing(key.public(), lwe, Scale::Separate).unwrap();
        let layout = Layout::packed(key.public(), lwe, Scale::Separate, packing).unwrap();
        println!("  packed: {packing} digits a ciphertext");
        let packed = measure("  packed key", 1, || {
            PackedKey::generate(key, &layout, &secret, rng).unwrap()
        });
        measure("  unpacking", 1, || packed.unpack());
    }
}

/// Computes `rows` rows of a ticket; the longest step determines how soon a worker can stop.
fn ticket(key: &SecretKey, rows: usize, memory: usize) {
    let public = key.public();
    let bases = random_ciphertexts(public, &Seed([1; 32]), "ticket", 0, 1256);
    let exponents = Pattern {
        rows,
        columns: 1256,
        bits: 3072,
    };
    let mut products = Products::new(public, &bases, exponents, 0..rows, memory).unwrap();
    let plan = *products.plan();
    let work = products.work();
    println!("{rows} rows of 1,256 powers of 3,072 bits: {plan:?}, {work} multiplications");
    let start = Instant::now();
    let mut longest = Duration::ZERO;
    loop {
        let step = Instant::now();
        let more = products.step();
        longest = longest.max(step.elapsed());
        if !more {
            break;
        }
    }
    let all = start.elapsed();
    let each = start.elapsed() / work as u32;
    println!("  {all:.3?}, {each:.3?} a multiplication, longest step {longest:.3?}");
}

fn main() {
    let rng = &mut ChaCha20Rng::from_seed([1; 32]);
    let key = measure("key generation", 1, || {
        SecretKey::generate(Params::default(), rng).unwrap()
    });
    encryption(&key, rng);
    compression(&key, rng);
    ticket(&key, 8, 64 << 20);
    if std::env::args().any(|argument| argument == "ticket") {
        ticket(&key, 160, 512 << 20);
    }
}
