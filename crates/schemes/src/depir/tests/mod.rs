//! Full batches, noise and bounds at full parameters.
#![allow(clippy::unwrap_used)]

mod polynomials;

use chacha20::ChaCha20Rng;
use papir_core::scheme::{Client, Parameters, Scheme, Server, Session, Wire};
use papir_core::scratch::InMemory;
use papir_core::sections::{MemorySections, SectionSource};
use papir_core::{Blob, Error, FailureBound, Goal, NoProgress, RecordBuffer, Shape};
use papir_kernels::Backend;
use papir_kernels::pointwise::Modulus;
use papir_kernels::poly_eval::Polynomial;
use papir_reference::simplex::{cube_points, cube_value, exponents, individual_degrees};
use papir_ring::crt::Lift;
use papir_ring::prg::Seed;
use papir_ring::prime::ntt_primes;
use papir_ring::rns::log2_product;
use rand_core::{CryptoRng, Rng, SeedableRng};

use super::Depir;
use super::client::DepirClient;
use super::evaluation::{self, Tables, Tabulated, Tabulation};
use super::interpolation::{interpolate, shortest};
use super::lines::{self, Lines};
use super::params::DepirParams;
use super::server::DepirServer;
use super::simplex::{Simplex, terms};
use super::structure::levels::Steps;
use super::structure::{Form, Points, Structure};
use super::wire::{DepirAnswer, coordinate_mask};
use crate::shared::fixtures::assert_selected_before_refused;

fn records(shape: Shape, rng: &mut dyn CryptoRng) -> RecordBuffer {
    let mut records = RecordBuffer::zeroed(shape);
    rng.fill_bytes(records.packed_mut());
    RecordBuffer::from_packed(shape, records.packed().to_vec()).unwrap()
}

/// Queries an index for each slot, some of them repeated.
fn check_full_batch(params: DepirParams) {
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let shape = params.shape();
    let records = records(shape, &mut rng);
    let server = DepirServer::setup(params, &records, &mut rng, &NoProgress).unwrap();
    let client = DepirClient::new(server.params().clone(), server.public().clone()).unwrap();

    let indices: Vec<u64> = (0..server.params().ring_degree() as u64)
        .map(|_| rng.next_u64() % shape.records())
        .collect();
    let (secret, query) = client.query(None, &indices, &mut rng).unwrap();

    let answer = server.answer(Session::anonymous(), &query).unwrap();
    let found = client.extract(secret, answer).unwrap();

    assert_eq!(found.len(), indices.len());
    for (&index, record) in indices.iter().zip(&found) {
        assert_eq!(
            *record,
            records.get(index).unwrap(),
            "record {index} of {shape:?}"
        );
    }
}

#[test]
fn full_batches_return_their_records() {
    check_full_batch(
        DepirParams::choose(Shape::of_bytes(300, 2).unwrap(), Goal::Balanced).unwrap(),
    );
    check_full_batch(DepirParams::new(Shape::new(1000, 5).unwrap(), 1 << 13, 6).unwrap());
    check_full_batch(DepirParams::new(Shape::of_bytes(50, 5).unwrap(), 1 << 13, 4).unwrap());
    // More variables than the degree, as in databases of millions of records.
    check_full_batch(DepirParams::new(Shape::of_bytes(1200, 2).unwrap(), 1 << 13, 48).unwrap());
    check_full_batch(DepirParams::new(Shape::of_bytes(600, 2).unwrap(), 1 << 13, 12).unwrap());
}

#[test]
#[ignore = "long: the paper's sets"]
fn the_published_sets_return_their_records() {
    for records in [7315, 46_376] {
        check_full_batch(
            DepirParams::new(Shape::of_bytes(records, 2).unwrap(), 1 << 15, 4).unwrap(),
        );
    }
}

/// Compares measured and computed phases: of an evaluation modulo all primes, and of a switched one
/// modulo the kept primes. Records are random, so that interpolation gives the largest
/// coefficients.
fn check_noise(params: DepirParams) {
    let mut rng = ChaCha20Rng::seed_from_u64(6);
    let records = records(params.shape(), &mut rng);
    let server = DepirServer::setup(params, &records, &mut rng, &NoProgress).unwrap();
    let params = server.params();
    let client = DepirClient::new(params.clone(), server.public().clone()).unwrap();

    let indices: Vec<u64> = (0..params.ring_degree() as u64)
        .map(|i| i % params.shape().records())
        .collect();
    let (secret, query) = client.query(None, &indices, &mut rng).unwrap();

    let ciphertexts = server.expand(&query);
    let chunk = 0;
    let (residues, _) = server.evaluate(&server.points(&ciphertexts).unwrap(), chunk);

    let n = params.ring_degree();
    let primes = params.bv().ring().primes();
    let measured = |ciphertext: &[u32], kept: usize| {
        let lift = Lift::new(&primes[..kept], Modulus::new(65_537));
        let found = secret.key.decrypt(params.bv(), &lift, kept, ciphertext);
        found.largest.log2() + log2_product(&primes[..kept])
    };

    // Decryption takes residues power by power, as an answer has them; evaluation gives them prime
    // by prime.
    let whole: Vec<u32> = (0..=params.simplex().degree)
        .flat_map(|power| {
            residues
                .iter()
                .flat_map(move |rows| rows[power * n..][..n].iter().copied())
        })
        .collect();

    let evaluation = params.choice.noise_bits();
    let switching = params.choice.switching_bits();

    let found = measured(&whole, primes.len());
    println!(
        "{}: evaluation 2^{found:.1}, bounded by 2^{evaluation:.1}",
        params.label()
    );
    assert!(
        found < evaluation && found > evaluation - 40.0,
        "evaluation {found}, bound {evaluation}"
    );

    let found = measured(&server.switch(&residues), params.kept);
    // Evaluation noise that remains after switching is negligible if Q exceeds what it needs.
    println!(
        "{}: switched 2^{found:.1}, bounded by 2^{switching:.1}",
        params.label()
    );
    let rest = evaluation - log2_product(&primes[params.kept..]);
    let bound = switching.max(rest) + 1.0;
    assert!(
        found < bound && found > bound - 40.0,
        "switched {found}, bound {bound}"
    );
}

#[test]
fn measured_noise_is_within_the_bounds() {
    check_noise(DepirParams::choose(Shape::of_bytes(300, 2).unwrap(), Goal::Balanced).unwrap());
    check_noise(DepirParams::new(Shape::of_bytes(20, 2).unwrap(), 1 << 13, 3).unwrap());
    check_noise(DepirParams::new(Shape::of_bytes(1200, 2).unwrap(), 1 << 13, 44).unwrap());
}

#[test]
#[ignore = "long: the paper's sets"]
fn measured_noise_of_the_published_sets_is_within_the_bounds() {
    for records in [7315, 46_376] {
        check_noise(DepirParams::new(Shape::of_bytes(records, 2).unwrap(), 1 << 15, 4).unwrap());
    }
}

/// The polynomial of individual degrees, which the paper replaces, has the same values at common
/// points.
#[test]
fn individual_degrees_give_the_same_values() {
    let modulus = Modulus::new(65_537);
    let variables = 3;
    let degree = 4;
    let simplex = Simplex { variables, degree };

    let points = exponents(variables, degree);
    let values: Vec<u32> = (0..simplex.len() as u32)
        .map(|i| (i * 40_503 + 7) % 65_537)
        .collect();
    let mut total = values.clone();
    interpolate(simplex, &mut total);

    // On the cube {0, …, 4}³, zero outside the simplex.
    let cube: Vec<u32> = cube_points(variables, degree)
        .iter()
        .map(|point| {
            points
                .iter()
                .position(|one| one == point)
                .map_or(0, |place| values[place])
        })
        .collect();

    let individual = individual_degrees(&cube, variables, degree, modulus.value());
    for (point, &value) in points.iter().zip(&values) {
        let point: Vec<u32> = point.iter().map(|&x| x as u32).collect();
        assert_eq!(cube_value(&individual, degree, &point, 65_537), value);
        assert_eq!(
            papir_reference::simplex::value(&total, degree, &point, 65_537),
            value
        );
    }

    assert!(
        individual.len() > total.len(),
        "as many terms, of degree {}",
        variables * degree
    );
}

/// The paper's Table 3: 10 MB and 19 MB, 14.5 MB and 54 MB.
#[test]
fn published_sets_have_smaller_messages() {
    for (records, degree, primes, query, answer) in [
        (7315, 18, 19, 10_000_000, 19_000_000),
        (46_376, 30, 31, 14_500_000, 54_250_000),
    ] {
        let params = DepirParams::new(Shape::of_bytes(records, 2).unwrap(), 1 << 15, 4).unwrap();

        assert_eq!(
            params.simplex(),
            Simplex {
                variables: 4,
                degree
            }
        );
        assert_eq!(params.bv().ring().len(), primes);

        let description = params.describe();
        assert!(
            description.sizes.query <= query,
            "{}",
            description.sizes.query
        );
        assert!(
            description.sizes.answer <= answer,
            "{}",
            description.sizes.answer
        );
        assert!(description.security.unwrap().bits >= 128.0 && description.failure_log2 <= -40.0);
    }
}

#[test]
fn lines_are_evaluated_as_their_points_are() {
    let prime = ntt_primes(28, 1 << 15, 1)[0];
    let modulus = Modulus::new(prime);
    let mut rng = ChaCha20Rng::seed_from_u64(2);
    for (variables, degree, slots) in [
        (1, 0, 3),
        (1, 4, 5),
        (2, 3, 40),
        (4, 5, 33),
        (3, 7, 1025),
        (9, 3, 70),
        (48, 2, 33),
    ] {
        let simplex = Simplex { variables, degree };
        let mut words = |count: usize, below: u32| -> Vec<u32> {
            (0..count)
                .map(|_| 1 + rng.next_u32() % (below - 1))
                .collect()
        };

        let coefficients = words(terms(variables, degree), 65_537);
        let rows: Vec<Vec<u32>> = (0..2 * variables).map(|_| words(slots, prime)).collect();
        let (bodies, masks): (Vec<&[u32]>, Vec<&[u32]>) = (0..variables)
            .map(|i| (&rows[i][..], &rows[variables + i][..]))
            .unzip();

        let lines = Lines::new(modulus, &bodies, &masks).unwrap();
        let found = lines.evaluate(simplex, &coefficients);

        let lifted: Vec<u32> = coefficients.iter().map(|&c| shortest(c, modulus)).collect();
        let polynomial = Polynomial::new(modulus, variables, degree, &lifted);
        let nodes = lines::nodes(modulus, degree);
        let points = lines::values(modulus, &nodes, &bodies, &masks).concat();
        let mut values = vec![0; (degree + 1) * slots];
        polynomial.evaluate(Backend::current(), &points, &mut values);

        let expected = lines::coefficients(modulus, &nodes, &values);
        assert!(found == expected, "{variables} variables, degree {degree}");
    }

    let zero = vec![0; 3];
    let one = vec![1; 3];
    assert!(Lines::new(modulus, &[&one], &[&zero]).is_none());
}

/// All steps and tables of the data structure give the sum of terms, at any points and at points
/// that share a small first coordinate.
#[test]
fn structures_give_the_values() {
    const COUNT: usize = 300;
    let mut rng = ChaCha20Rng::seed_from_u64(4);
    for (variables, degree) in [(1, 3), (2, 4), (3, 3), (4, 2)] {
        let simplex = Simplex { variables, degree };

        let coefficients: Vec<u32> = (0..simplex.len())
            .map(|_| rng.next_u32() % 65_537)
            .collect();
        for first in [None, Some(0), Some(degree as u32)] {
            let groups: Vec<Points> = ntt_primes(27, 64, 2)
                .into_iter()
                .map(|prime| {
                    let row = |_| (0..COUNT).map(|_| rng.next_u32() % prime).collect();
                    let rows = (usize::from(first.is_some())..variables).map(row).collect();
                    Points {
                        modulus: Modulus::new(prime),
                        count: COUNT,
                        rows,
                    }
                })
                .collect();

            let value = |group: &Points| {
                let lifted: Vec<u32> = coefficients
                    .iter()
                    .map(|&c| shortest(c, group.modulus))
                    .collect();
                let polynomial = Polynomial::new(group.modulus, variables, degree, &lifted);

                let shared = first.map(|x| vec![x; COUNT]);
                let rows: Vec<Vec<u32>> = shared
                    .into_iter()
                    .chain(group.rows.iter().cloned())
                    .collect();

                let mut values = vec![0; COUNT];
                polynomial.evaluate(Backend::current(), &rows.concat(), &mut values);
                values
            };

            let expected: Vec<Vec<u32>> = groups.iter().map(value).collect();
            for steps in [Steps::One, Steps::Two, Steps::Mixture(5)] {
                for tabulated in 0..=variables.min(2 + usize::from(steps != Steps::One)) {
                    let form = Form {
                        largest: 1 << 27,
                        first: first.map(|_| degree as u32),
                        steps,
                        tabulated,
                    };

                    let structure =
                        Structure::new(simplex, &coefficients, form, &mut InMemory, &NoProgress)
                            .unwrap();

                    let (found, effort) = structure.evaluate(first, &groups);
                    assert!(
                        found == expected,
                        "{simplex:?}, {first:?}, {steps:?}, {tabulated} tabulated"
                    );
                    assert_eq!(
                        effort.points,
                        2 * COUNT as u64 * structure.levels().lookups()
                    );
                    assert_eq!(effort.table_bytes == 0, tabulated == 0);
                    assert_eq!(
                        structure.table_bytes(),
                        form.table_lengths(simplex).unwrap().iter().sum::<u64>()
                    );

                    if tabulated == variables {
                        assert_eq!(effort.multiplications, 0);
                    }
                }
            }
        }
    }
}

/// Evaluation by tables, at points on lines and at the paper's, gives the answer of lines.
#[test]
fn answers_by_tables_are_those_on_lines() {
    let mut rng = ChaCha20Rng::seed_from_u64(5);
    let shape = Shape::of_bytes(30, 2).unwrap();
    let integers = DepirParams::new(shape, 1 << 13, 4).unwrap();
    // 1 modulo 2nk: at roots of unity, as in the paper.
    let roots = DepirParams::fourier(shape, 1 << 13, 4).unwrap();

    let k = lines::roots(roots.simplex().degree);
    assert!(
        roots
            .bv()
            .ring()
            .primes()
            .iter()
            .all(|prime| (prime - 1) % (k << 14) == 0)
    );

    for params in [integers, roots] {
        let records = records(params.shape(), &mut rng);

        let server = DepirServer::setup(params.clone(), &records, &mut rng, &NoProgress).unwrap();
        let client = DepirClient::new(server.params().clone(), server.public().clone()).unwrap();
        let (secret, query) = client.query(None, &[3, 7, 7], &mut rng).unwrap();

        let answered = |server: &DepirServer| {
            let answer = server.answer(Session::anonymous(), &query).unwrap();
            answer.encode(server.params())
        };
        let expected = answered(&server);
        for (tabulated, steps, points) in [
            (0, Steps::One, evaluation::Points::OnLines),
            (1, Steps::One, evaluation::Points::OfPaper),
            (4, Steps::Mixture(6), evaluation::Points::OnLines),
            (3, Steps::Two, evaluation::Points::OfPaper),
        ] {
            let tabulation = Tabulation {
                tabulated,
                steps,
                points,
            };
            let params = params.clone().tabulated(tabulation).unwrap();

            let server = DepirServer::setup(params, &records, &mut rng, &NoProgress).unwrap();
            assert!(answered(&server) == expected, "{tabulation:?}");

            let again = DepirParams::decode(&server.params().encode()).unwrap();
            assert_eq!(again.describe(), server.params().describe());
            assert_eq!(again.tabulation(), Some(tabulation));

            let mut sections = MemorySections::default();
            server.save(&mut sections).unwrap();
            assert_eq!(
                sections
                    .names()
                    .any(|name| name.starts_with("depir/tables/0/")),
                tabulated > 0
            );
            let loaded = DepirServer::load(again, &sections).unwrap();
            assert!(answered(&loaded) == expected, "{tabulation:?}");
        }

        let answer = DepirAnswer::decode(server.params(), &expected).unwrap();
        let found = client.extract(secret, answer).unwrap();
        assert_eq!(found, [3, 7, 7].map(|index| records.get(index).unwrap()));
    }

    // For tiny's degree there are enough below 2²⁸, for small's there are not.
    assert!(DepirParams::fourier(Shape::of_bytes(7315, 2).unwrap(), 1 << 15, 4).is_ok());
    let error = DepirParams::fourier(Shape::of_bytes(46_376, 2).unwrap(), 1 << 15, 4).unwrap_err();
    assert!(error.to_string().contains("too few primes"), "{error}");
}

/// Tables that are missing or of another length are found when a database is loaded.
#[test]
fn incomplete_tables_are_refused() {
    /// Sections without one of them, or with a shorter one.
    struct Without<'a>(&'a MemorySections, &'a str, bool);
    impl SectionSource for Without<'_> {
        fn get(&self, name: &str) -> papir_core::Result<Blob> {
            let section = self.0.get(name)?;
            match (name == self.1, self.2) {
                (true, true) => Ok(Blob::copy_of(&section[1..])),
                (true, false) => Err(Error::MissingSection {
                    name: name.to_owned(),
                }),
                _ => Ok(section),
            }
        }
    }

    let mut rng = ChaCha20Rng::seed_from_u64(7);
    let shape = Shape::of_bytes(10, 4).unwrap();
    let params = DepirParams::new(shape, 1 << 13, 3).unwrap();
    let tabulation = Tabulation {
        tabulated: 3,
        steps: Steps::Two,
        points: evaluation::Points::OnLines,
    };
    let params = params.tabulated(tabulation).unwrap();

    let server = DepirServer::setup(
        params.clone(),
        &records(shape, &mut rng),
        &mut rng,
        &NoProgress,
    )
    .unwrap();

    let mut sections = MemorySections::default();
    server.save(&mut sections).unwrap();
    assert!(DepirServer::load(params.clone(), &sections).is_ok());

    let names: Vec<&str> = sections
        .names()
        .filter(|name| name.starts_with("depir/tables/1/"))
        .collect();
    assert!(names.len() > 3, "a chunk of its own has its tables");

    for name in [names[0], names[names.len() - 1]] {
        let short = DepirServer::load(params.clone(), &Without(&sections, name, true))
            .err()
            .unwrap();
        assert!(matches!(short, Error::Length { .. }), "{short}");

        let missing = DepirServer::load(params.clone(), &Without(&sections, name, false))
            .err()
            .unwrap();
        assert!(matches!(missing, Error::MissingSection { .. }), "{missing}");
    }
}

/// Tables that are asked for are chosen by their work, and refused if none are short enough.
#[test]
fn tables_are_chosen_to_fit() {
    let shape = Shape::of_bytes(7315, 2).unwrap();
    let with = |tabulated, steps| {
        let tables = Tables {
            tabulated,
            steps,
            points: evaluation::Points::OnLines,
        };
        DepirParams::choose_with_tables(shape, tables, FailureBound::DEFAULT)
    };

    let whole = with(Tabulated::All, None).unwrap();
    let tabulation = whole.tabulation().unwrap();
    assert_eq!(tabulation.tabulated, whole.simplex().variables);
    assert!(
        (1 << 30..=10 << 30).contains(&whole.table_bytes()),
        "{}",
        whole.table_bytes()
    );
    assert_eq!(
        whole.describe().sizes.database,
        4 * whole.simplex().len() as u64 + whole.table_bytes()
    );

    let one = with(Tabulated::First(1), Some(Steps::One)).unwrap();
    assert!(one.table_bytes() < 1 << 30 && one.label().contains("tables of 1 variables, one step"));

    // Steps that are given may need longer tables.
    assert!(
        with(Tabulated::All, Some(Steps::One))
            .unwrap()
            .table_bytes()
            > whole.table_bytes()
    );

    let error = with(Tabulated::First(49), None).unwrap_err();
    assert!(matches!(error, Error::Parameters { .. }), "{error}");

    // A plan offers them only where they are faster than lines.
    let offered = DepirParams::candidates(shape, FailureBound::DEFAULT).unwrap();
    assert!(offered.iter().all(|params| params.tabulation().is_none()));
}

#[test]
fn masks_differ() {
    let params = DepirParams::choose(Shape::of_bytes(30, 2).unwrap(), Goal::Balanced).unwrap();
    let seed = Seed([3; 32]);

    let masks: Vec<Vec<u32>> = (0..params.simplex().variables)
        .map(|i| coordinate_mask(&params, &seed, i))
        .collect();

    for (i, mask) in masks.iter().enumerate() {
        for other in &masks[..i] {
            let same = mask.iter().zip(other).filter(|(a, b)| a == b).count();
            assert!(same < 4, "{same} residues of two masks are the same");
        }
    }
}

#[test]
fn the_records_are_selected_before_an_answer_is_refused() {
    let mut rng = ChaCha20Rng::seed_from_u64(8);
    let params = DepirParams::choose(Shape::of_bytes(300, 2).unwrap(), Goal::Balanced).unwrap();
    let records = records(params.shape(), &mut rng);
    let server = DepirServer::setup(params, &records, &mut rng, &NoProgress).unwrap();
    let client = DepirClient::new(server.params().clone(), server.public().clone()).unwrap();
    assert_selected_before_refused::<Depir>(&server, &client, &[3, 7], &mut rng);
}

/// Kernels hold residues below 2²⁸ in 32 bits. A server's parameters may claim longer primes.
#[test]
fn longer_primes_of_a_server_are_refused() {
    let params = DepirParams::new(Shape::of_bytes(300, 2).unwrap(), 1 << 13, 4).unwrap();
    let plain = params.encode();
    let tables = Tables {
        tabulated: Tabulated::First(1),
        steps: Some(Steps::One),
        points: evaluation::Points::OnLines,
    };
    let tabulated = params.with_tables(tables).unwrap().encode();

    // The primes begin at 26, the largest first, so that longer ones keep the order.
    let longer = ntt_primes(29, 1 << 13, 1)[0];
    assert!(longer > 1 << 28);
    for prime in [longer, (1 << 28) + 1, u32::MAX] {
        for encoded in [&plain, &tabulated] {
            assert!(DepirParams::decode(encoded).is_ok());
            let mut bytes = encoded.clone();
            bytes[26..30].copy_from_slice(&prime.to_le_bytes());
            let refused = DepirParams::decode(&bytes);
            assert!(
                matches!(refused, Err(Error::Parameters { .. })),
                "{prime}: {:?}",
                refused.err()
            );
        }
    }
}

#[test]
fn oversized_databases_are_refused_with_a_reason() {
    let refused = |records, bits| {
        let error =
            DepirParams::choose(Shape::new(records, bits).unwrap(), Goal::Balanced).unwrap_err();
        assert!(matches!(error, Error::OutOfBounds { .. }), "{error}");
        error.to_string()
    };

    assert!(refused((1 << 28) + 1, 16).contains("at most 268435456"));
    assert!(refused(1 << 28, 2048).contains("at most 256"));

    // Two variables would need an unsupported degree.
    let error = DepirParams::new(Shape::of_bytes(7315, 2).unwrap(), 1 << 15, 2).unwrap_err();
    assert!(matches!(error, Error::OutOfBounds { .. }), "{error}");
    let error = DepirParams::new(Shape::of_bytes(7315, 2).unwrap(), 1 << 14, 4).unwrap_err();
    assert!(matches!(error, Error::Insecure { .. }), "{error}");

    let server_like = DepirParams::new(Shape::of_bytes(300, 2).unwrap(), 1 << 13, 4).unwrap();
    let mut bytes = server_like.encode();
    assert_eq!(
        DepirParams::decode(&bytes).unwrap().describe(),
        server_like.describe()
    );

    // The shape has 16 bytes, n 4 and m 2. So the number of primes is at 22, of kept ones at 24.
    // Fewer primes in answers than switching needs, or more than exist.
    for kept in [0, 1, 200] {
        let mut bytes = bytes.clone();
        bytes[24] = kept;
        assert!(
            matches!(DepirParams::decode(&bytes), Err(Error::Parameters { .. })),
            "{kept} kept"
        );
    }

    // The plaintext modulus as another prime: modulo it, nothing is hidden.
    let count = server_like.bv().ring().len();
    let mut more = [&bytes[..], &65_537u32.to_le_bytes()].concat();
    more[22] += 1;
    let error = DepirParams::decode(&more).unwrap_err().to_string();
    assert!(error.contains("divides the plaintext modulus"), "{error}");

    // Half of the primes: less than the noise.
    let half = count / 2;
    bytes[22] = half as u8;
    bytes.truncate(26 + 4 * half);
    assert!(matches!(
        DepirParams::decode(&bytes),
        Err(Error::Parameters { .. })
    ));

    for variables in [0, 49] {
        let error =
            DepirParams::new(Shape::of_bytes(300, 2).unwrap(), 1 << 13, variables).unwrap_err();
        assert!(
            error.to_string().contains("a polynomial's variables"),
            "{error}"
        );
    }
}

#[test]
fn every_shape_within_the_limits_has_parameters() {
    for (records, bits) in [
        (1, 1),
        (2, 256),
        (1 << 20, 16),
        (1 << 20, 256),
        (1 << 20, 1),
        (65_536, 17),
        (1 << 28, 256),
    ] {
        for goal in Goal::ALL {
            let params = DepirParams::choose(Shape::new(records, bits).unwrap(), goal).unwrap();

            let description = params.describe();
            assert!(
                description.failure_log2 <= -40.0 && description.security.unwrap().bits >= 128.0
            );
            assert!(params.simplex().len() as u64 >= records * bits / 256);
        }
    }

    assert_eq!(Depir::NAME, "depir");
}
