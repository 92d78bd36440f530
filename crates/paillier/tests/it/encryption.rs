//! Keys, encryption and decryption at small sizes and at full size.

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use papir_paillier::{
    Error, ModulusFault, Params, Plaintext, PublicKey, SecretKey, random_ciphertexts,
};
use papir_ring::prg::Seed;
use proptest::prelude::*;

fn rng(seed: u8) -> ChaCha20Rng {
    ChaCha20Rng::from_seed([seed; 32])
}

fn key(bits: u32, s: u32) -> SecretKey {
    SecretKey::generate(Params::insecure(bits, s).unwrap(), &mut rng(1)).unwrap()
}

/// Returns the largest plaintext, mˢ − 1.
fn largest(public: &PublicKey) -> Vec<u64> {
    let m = public.modulus();
    let mut product = vec![1];
    for _ in 0..public.params().s() {
        product = multiply(&product, &m);
    }
    product[0] -= 1;
    product
}

/// Multiplies numbers in words.
fn multiply(a: &[u64], b: &[u64]) -> Vec<u64> {
    let mut product = vec![0u64; a.len() + b.len()];
    for (i, &a) in a.iter().enumerate() {
        let mut carry = 0u128;
        for (j, &b) in b.iter().enumerate() {
            let sum = u128::from(a) * u128::from(b) + u128::from(product[i + j]) + carry;
            product[i + j] = sum as u64;
            carry = sum >> 64;
        }
        product[i + b.len()] = carry as u64;
    }
    while product.last() == Some(&0) {
        product.pop();
    }
    product
}

fn padded(words: &[u64], params: &Params) -> Vec<u64> {
    let mut words = words.to_vec();
    words.resize(params.plaintext_words(), 0);
    words
}

#[test]
fn decryption_inverts_encryption() {
    for (bits, s) in [(256, 1), (256, 2), (256, 3), (384, 1), (512, 3)] {
        let key = key(bits, s);
        let public = key.public();
        for words in [vec![], vec![1], vec![u64::MAX; 3], largest(public)] {
            let plaintext = public.plaintext(&words).unwrap();
            let ciphertext = public.encrypt(&plaintext, &mut rng(2));
            assert_eq!(
                key.decrypt(&ciphertext).words(),
                padded(&words, public.params()),
                "{bits}, {s}"
            );
            let own = key
                .encrypt_many(std::slice::from_ref(&plaintext), &mut rng(2))
                .unwrap();
            assert_eq!(
                key.decrypt(&own[0]).words(),
                padded(&words, public.params()),
                "{bits}, {s}"
            );
        }
    }
}

#[test]
fn sums_and_multiples_are_modular() {
    for s in 1..=3 {
        let key = key(256, s);
        let public = key.public();
        let largest = largest(key.public());
        let encrypt =
            |words: &[u64]| public.encrypt(&public.plaintext(words).unwrap(), &mut rng(3));
        let decrypted = |ciphertext| key.decrypt(&ciphertext).words().to_vec();
        let of = |word| padded(&[word], public.params());
        assert_eq!(
            decrypted(public.add(&encrypt(&largest), &encrypt(&[5]))),
            of(4)
        );
        assert_eq!(
            decrypted(public.add_plain(&encrypt(&[5]), &public.plaintext(&largest).unwrap())),
            of(4)
        );
        assert_eq!(
            decrypted(public.multiply_plain(&encrypt(&[5]), &[7])),
            of(35)
        );
        assert_eq!(
            decrypted(public.multiply_plain(&encrypt(&largest), &largest)),
            of(1),
            "(−1)²"
        );
        assert_eq!(decrypted(public.multiply_plain(&encrypt(&[5]), &[])), of(0));
        assert_eq!(
            decrypted(public.subtract(&encrypt(&[5]), &encrypt(&[3])).unwrap()),
            of(2)
        );
        let five = public.plaintext(&[5]).unwrap();
        let minus_one = public.plaintext(&largest).unwrap();
        assert_eq!(public.plain_sum(&five, &minus_one).words(), of(4));
        assert_eq!(public.plain_difference(&five, &minus_one).words(), of(6));
    }
}

#[test]
fn batch_decryption_matches_single_decryption() {
    for s in 1..=3 {
        let key = key(256, s);
        let plaintexts: Vec<Plaintext> = (0..19u64)
            .map(|i| key.public().plaintext(&[i * i, i]).unwrap())
            .collect();
        let ciphertexts = key.encrypt_many(&plaintexts, &mut rng(4)).unwrap();
        let decrypted = key.decrypt_many(&ciphertexts);
        for ((plaintext, ciphertext), decrypted) in
            plaintexts.iter().zip(&ciphertexts).zip(&decrypted)
        {
            assert_eq!(plaintext.words(), decrypted.words());
            assert_eq!(plaintext.words(), key.decrypt(ciphertext).words());
        }
        assert!(key.decrypt_many(&[]).is_empty());
        key.public().check_units(&ciphertexts).unwrap();
    }
}

#[test]
fn randomness_is_fresh_or_given() {
    let key = key(256, 1);
    let public = key.public();
    let plaintext = public.plaintext(&[9]).unwrap();
    let mut rng = rng(5);
    assert_ne!(
        public.encrypt(&plaintext, &mut rng),
        public.encrypt(&plaintext, &mut rng)
    );
    let twice = key
        .encrypt_many(&[plaintext.clone(), plaintext.clone()], &mut rng)
        .unwrap();
    assert_ne!(twice[0], twice[1]);
    let given = [3, 0, 0, 0, 0, 0, 0, 0];
    let ciphertext = public.encrypt_with(&plaintext, &given).unwrap();
    assert_eq!(ciphertext, public.encrypt_with(&plaintext, &given).unwrap());
    assert_eq!(key.decrypt(&ciphertext).words(), [9, 0, 0, 0]);
    assert!(public.encrypt_with(&plaintext, &[0; 8]).is_err());
    assert!(public.encrypt_with(&plaintext, &[1; 7]).is_err());
}

/// Encryptions by the owner of the secret key have the same distribution as others: r^(mˢ) for a
/// uniform r. Their (p − 1)(q − 1)-th powers therefore depend on the plaintext only.
#[test]
fn encryptions_of_zero_by_the_owner_are_residues() {
    let key = key(256, 2);
    let public = key.public();
    let zeros = vec![public.plaintext(&[]).unwrap(); 3];
    for ciphertext in key.encrypt_many(&zeros, &mut rng(6)).unwrap() {
        let (p, q) = primes(&key);
        let order = multiply(
            &[&[p[0] - 1], &p[1..]].concat(),
            &[&[q[0] - 1], &q[1..]].concat(),
        );
        let mut one = vec![0; public.params().ciphertext_words()];
        one[0] = 1;
        assert_eq!(public.multiply_plain(&ciphertext, &order).words(), one);
    }
}

fn primes(key: &SecretKey) -> (Vec<u64>, Vec<u64>) {
    let bytes = key.to_bytes();
    let words = |bytes: &[u8]| {
        bytes
            .chunks(8)
            .map(|word| u64::from_le_bytes(word.try_into().unwrap()))
            .collect()
    };
    let (p, q) = bytes[8..].split_at((bytes.len() - 8) / 2);
    (words(p), words(q))
}

#[test]
fn primes_have_half_the_bits_and_two_top_bits_set() {
    for seed in 0..5 {
        let key = SecretKey::generate(Params::insecure(256, 1).unwrap(), &mut rng(seed)).unwrap();
        let (p, q) = primes(&key);
        assert_ne!(p, q);
        assert!(p[1] >> 62 == 3 && q[1] >> 62 == 3);
        assert_eq!(multiply(&p, &q), key.public().modulus());
    }
}

#[test]
fn invalid_moduli_are_refused() {
    let params = Params::insecure(256, 1).unwrap();
    let (p, q) = primes(&key(256, 1));
    let fault = |words: &[u64]| match PublicKey::new(params, words) {
        Err(Error::Modulus { found }) => found,
        other => panic!("{other:?}"),
    };
    let m = multiply(&p, &q);
    assert!(PublicKey::new(params, &m).is_ok());
    assert_eq!(fault(&multiply(&p, &p)), ModulusFault::Square);
    let mut even = m.clone();
    even[0] -= 1;
    assert_eq!(fault(&even), ModulusFault::Even);
    assert_eq!(
        fault(&[m[0], m[1], m[2], 1]),
        ModulusFault::Bits {
            found: 193,
            expected: 256
        }
    );
    assert!(matches!(
        PublicKey::new(params, &m[..3]),
        Err(Error::Length { .. })
    ));
    assert_eq!(
        fault(&multiply(&[3], &[1, 0, 0, 1 << 62])),
        ModulusFault::SmallFactor(3)
    );
    // 65,521 times 2²⁴⁰ + 73, which has no small factor.
    assert_eq!(
        fault(&multiply(&[65_521], &[73, 0, 0, 1 << 48])[..4]),
        ModulusFault::SmallFactor(65_521)
    );
    // 2²⁵⁶ − 189 is the largest prime of 256 bits.
    assert_eq!(
        fault(&[u64::MAX - 188, u64::MAX, u64::MAX, u64::MAX]),
        ModulusFault::Prime
    );
}

#[test]
fn plaintexts_and_ciphertexts_are_residues() {
    let key = key(256, 1);
    let public = key.public();
    let m = public.modulus();
    assert!(public.plaintext(&m).is_err());
    assert!(public.plaintext(&[0; 5]).is_err());
    let square = multiply(&m, &m);
    assert!(public.ciphertext(square.clone()).is_err());
    assert!(public.ciphertext(vec![0; 8]).is_err());
    assert!(public.ciphertext(vec![1; 7]).is_err());
    let mut last = square;
    last[0] -= 1;
    assert!(public.ciphertext(last).is_ok());
    let (p, _) = primes(&key);
    let mut multiple_of_p = p;
    multiple_of_p.resize(8, 0);
    let multiple_of_p = public.ciphertext(multiple_of_p).unwrap();
    assert!(
        public
            .check_units(std::slice::from_ref(&multiple_of_p))
            .is_err()
    );
    assert!(public.subtract(&multiple_of_p, &multiple_of_p).is_err());
}

#[test]
fn bytes_round_trip() {
    let key = key(256, 2);
    let params = *key.public().params();
    let bytes = key.to_bytes();
    let again = SecretKey::from_bytes(params, &bytes).unwrap();
    assert_eq!(again.public(), key.public());
    let public = PublicKey::from_bytes(params, &key.public().to_bytes()).unwrap();
    assert_eq!(&public, key.public());
    let ciphertext = public.encrypt(&public.plaintext(&[77]).unwrap(), &mut rng(7));
    let read = public
        .ciphertext_from_bytes(&ciphertext.to_bytes())
        .unwrap();
    assert_eq!(read, ciphertext);
    let plaintext = again.decrypt(&read);
    assert_eq!(plaintext.words(), [77, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(plaintext.to_bytes()[..2], [77, 0]);
    assert_eq!(bytes.len(), SecretKey::byte_length(&params));
    assert_eq!(public.to_bytes().len(), PublicKey::byte_length(&params));
}

#[test]
fn golden_bytes() {
    let key = key(256, 1);
    let header = [b'P', b'A', b'I', b'1', 1, 1, 0, 1];
    let public = key.public().to_bytes();
    assert_eq!(public[..8], header);
    let m = key.public().modulus();
    assert_eq!(
        public[8..],
        m.iter()
            .flat_map(|word| word.to_le_bytes())
            .collect::<Vec<u8>>()
    );
    let mut secret_header = header;
    secret_header[4] = 2;
    assert_eq!(key.to_bytes()[..8], secret_header);
    let plaintext = key.public().plaintext(&[2]).unwrap();
    let one = key
        .public()
        .encrypt_with(&plaintext, &[1, 0, 0, 0, 0, 0, 0, 0])
        .unwrap();
    // (1 + m)² with r = 1 is 1 + 2m.
    let mut expected = multiply(&[2], &m);
    expected[0] += 1;
    expected.resize(8, 0);
    assert_eq!(
        one.to_bytes(),
        expected
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .collect::<Vec<u8>>()
    );
}

#[test]
fn damaged_bytes_are_refused() {
    let key = key(256, 1);
    let params = *key.public().params();
    let public = key.public().to_bytes();
    let secret = key.to_bytes().to_vec();
    for length in [0, 7, public.len() - 1, public.len() + 1] {
        let mut cut = public.clone();
        cut.resize(length, 0);
        assert!(matches!(
            PublicKey::from_bytes(params, &cut),
            Err(Error::Length { .. })
        ));
        cut.clone_from(&secret);
        cut.resize(length, 0);
        assert!(matches!(
            SecretKey::from_bytes(params, &cut),
            Err(Error::Length { .. })
        ));
    }
    for i in 0..8 {
        let mut damaged = public.clone();
        damaged[i] ^= 1;
        assert!(
            matches!(
                PublicKey::from_bytes(params, &damaged),
                Err(Error::Malformed { .. })
            ),
            "byte {i}"
        );
    }
    for i in 8..secret.len() {
        let mut damaged = secret.clone();
        damaged[i] ^= 4;
        assert!(SecretKey::from_bytes(params, &damaged).is_err(), "byte {i}");
    }
    assert!(
        matches!(
            PublicKey::from_bytes(params, &secret),
            Err(Error::Malformed { .. })
        ),
        "another kind"
    );
    let twice = [&secret[..24], &secret[8..24]].concat();
    let refused = SecretKey::from_bytes(params, &twice).err();
    assert_eq!(
        refused,
        Some(Error::Primes {
            found: "are too close to each other"
        })
    );
}

#[test]
fn random_ciphertexts_are_golden_and_distinct() {
    // A fixed modulus, so that only the expansion determines the bytes.
    let modulus = [
        15_090_197_830_382_623_699,
        17_116_257_135_990_478_818,
        6_247_029_459_136_591_071,
        13_590_283_471_597_947_666,
    ];
    let public = PublicKey::new(Params::insecure(256, 1).unwrap(), &modulus).unwrap();
    let seed = Seed([9; 32]);
    let first = random_ciphertexts(&public, &seed, "ticket", 0, 3);
    assert_eq!(
        first[..2],
        random_ciphertexts(&public, &seed, "ticket", 0, 2)
    );
    assert_ne!(first, random_ciphertexts(&public, &seed, "ticket", 1, 3));
    assert_ne!(first, random_ciphertexts(&public, &seed, "other", 0, 3));
    assert_ne!(
        first,
        random_ciphertexts(&public, &Seed([8; 32]), "ticket", 0, 3)
    );
    public.check_units(&first).unwrap();
    let bytes: Vec<u8> = first[0].to_bytes();
    assert_eq!(bytes[..8], GOLDEN_CIPHERTEXT, "{:?}", &bytes[..8]);
}

const GOLDEN_CIPHERTEXT: [u8; 8] = [183, 172, 175, 135, 222, 9, 207, 147];

#[test]
fn full_size_keys_work() {
    let key = SecretKey::generate(Params::default(), &mut rng(1)).unwrap();
    let params = *key.public().params();
    let public = PublicKey::from_bytes(params, &key.public().to_bytes()).unwrap();
    let key = SecretKey::from_bytes(params, &key.to_bytes()).unwrap();
    let plaintext = public.plaintext(&largest(&public)).unwrap();
    let ciphertexts = [
        public.encrypt(&plaintext, &mut rng(2)),
        key.encrypt_many(std::slice::from_ref(&plaintext), &mut rng(2))
            .unwrap()
            .remove(0),
    ];
    for decrypted in key.decrypt_many(&ciphertexts) {
        assert_eq!(decrypted.words(), plaintext.words());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn encryption_is_additive(a: [u64; 3], b: [u64; 3], factor: u32, s in 1u32..=3, seed: u8) {
        let key = key(256, s);
        let public = key.public();
        let encrypt = |words: &[u64]| public.encrypt(&public.plaintext(words).unwrap(), &mut rng(seed));
        let combined = public.add(&public.multiply_plain(&encrypt(&a), &[factor.into()]), &encrypt(&b));
        let product = multiply(&a, &[factor.into()]);
        let mut expected = padded(&product, public.params());
        let mut carry = false;
        for (word, b) in expected.iter_mut().zip(b.iter().chain(std::iter::repeat(&0))) {
            let (sum, over) = word.overflowing_add(*b);
            let (sum, again) = sum.overflowing_add(u64::from(carry));
            (*word, carry) = (sum, over || again);
        }
        let decrypted = key.decrypt(&combined);
        prop_assert_eq!(decrypted.words(), expected);
    }
}
