//! Golden hashes of InsPIRe's bytes for fixed parameters, independent of the search.

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use papir_core::erased::ErasedSession;
use papir_core::scheme::Parameters as _;
use papir_core::sections::{MemorySections, SectionSource};
use papir_core::{FailureBound, NoProgress, RecordBuffer, Shape};
use papir_lattice::gadget::GadgetParams;
use papir_lattice::params::Literal as RlweLiteral;
use papir_schemes::inspire::params::{KeyBits, Literal};
use papir_schemes::inspire::{Interpolation, Params};
use papir_schemes::registry;

/// Returns the first 8 bytes of BLAKE3, in hexadecimal.
fn hash(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex()[..16].to_owned()
}

/// Returns the hashes of query, answer and all sections but the parameters.
fn hashes(sizes: &[usize], query_bits: u32, key_bits: KeyBits) -> [String; 3] {
    let mut rng = ChaCha20Rng::from_seed([11; 32]);
    let shape = Shape::of_bytes(300, 100).unwrap();
    let bytes = (0..30_000u32)
        .map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    let records = RecordBuffer::from_packed(shape, bytes).unwrap();
    let gadget = GadgetParams {
        levels: 2,
        log_base: 19,
        drop: 18,
    };
    let params = Params::new(Literal {
        shape,
        rlwe: RlweLiteral::DEFAULT,
        interpolation: Interpolation::of_variables(sizes).unwrap(),
        key_switch: gadget,
        rgsw: gadget,
        query_bits,
        key_bits,
        answer_bits: (28, 20),
        reserved: true,
        failure: FailureBound::DEFAULT,
    });
    let scheme = registry::by_name("inspire").unwrap();
    let server = scheme
        .setup_candidate(&params.unwrap().encode(), &records, &mut rng, &NoProgress)
        .unwrap();
    let client = scheme.client(&server.public()).unwrap();
    let (secret, query) = client.query(None, &[123], &mut rng).unwrap();
    let answer = server.answer(ErasedSession::default(), &query).unwrap();
    let expected = papir_core::extract_bits(records.packed(), 123 * 800, 800);
    assert_eq!(client.extract(secret, &answer).unwrap(), [expected]);
    let mut sections = MemorySections::default();
    server.save(&mut sections).unwrap();
    let mut all = Vec::new();
    for name in sections.names().filter(|name| name.starts_with("inspire/")) {
        all.extend_from_slice(name.as_bytes());
        all.extend_from_slice(&sections.get(name).unwrap());
    }
    [hash(&query), hash(&answer), hash(&all)]
}

#[test]
fn one_two_and_eight_points() {
    for (sizes, query_bits, key_bits, expected) in [
        (
            &[][..],
            36,
            48,
            ["4efe1eaf61b9b2cd", "ce0c276784789b5d", "8ac24cbb3fd90372"],
        ),
        (
            &[2],
            38,
            49,
            ["5d4ca97263518dc0", "cb9e5aded0d1474e", "8012cb56522e6f35"],
        ),
        (
            &[8],
            42,
            52,
            ["e90c437ce7c6e70a", "64b3ed93cbfea6b6", "f7a82ee20b844153"],
        ),
    ] {
        assert_eq!(
            hashes(sizes, query_bits, KeyBits::equal(key_bits)),
            expected,
            "{sizes:?}"
        );
    }
}

/// t = 3 · 4, keys rounded to three widths, and two variables.
#[test]
fn twelve_points_three_key_widths_and_two_variables() {
    let key_bits = KeyBits {
        y_g: 52,
        y_h: 48,
        rgsw: 49,
    };
    assert_eq!(
        hashes(&[12], 42, key_bits),
        ["e879354e1b71544f", "53dd458a426c5965", "34b5756f4cdaa354"]
    );
    assert_eq!(
        hashes(&[2, 4], 42, key_bits),
        ["95f870257280a48c", "bad0607096436491", "b0ab47995a2c9bf0"]
    );
}
