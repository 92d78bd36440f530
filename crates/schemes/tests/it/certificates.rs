//! Certificates of failure bounds, checked by a script that shares no code with papir.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use papir_core::certificate::{CertifiedFailure, FailureCertificate, Rational};
use papir_core::erased::ErasedScheme;
use papir_core::{Description, FailureBound, Goal, Shape, Target};
use papir_lattice::security::{Method, TABLE};
use papir_schemes::for_each_scheme;
use papir_schemes::registry;

/// Schemes without certificates: their bounds are of other kinds.
const WITHOUT: [&str; 4] = ["pirouette", "respire", "pirouette-encrypted", "depir"];

/// Names of the schemes of this crate.
macro_rules! names {
    ($($name:ident: $scheme:ty { $($word:ident),* })*) => {
        [$(stringify!($name)),*]
    };
}

/// The schemes of this crate, without those that other tests add to the registry.
fn schemes() -> Vec<&'static dyn ErasedScheme> {
    let names = for_each_scheme!(names).into_iter();
    names
        .map(|name| registry::by_name(&name.replace('_', "-")).unwrap())
        .collect()
}

fn shapes() -> [Shape; 2] {
    [
        Shape::of_bytes(5000, 8).unwrap(),
        Shape::new(90_000, 3).unwrap(),
    ]
}

/// A certificate and the description of the same parameters.
struct Case {
    description: Description,
    certificate: FailureCertificate,
}

impl Case {
    fn new(scheme: &dyn ErasedScheme, shape: Shape, target: Target) -> Self {
        let candidate = scheme.candidate_for(shape, target).unwrap();
        Self {
            certificate: scheme.certificate(&candidate.parameters).unwrap(),
            description: candidate.description,
        }
    }
}

/// Certificates of all schemes that have them, at two shapes and two bounds. A larger shape, for
/// which columns hold several points, follows for `inspire`.
fn cases() -> Vec<Case> {
    let bounds = [FailureBound::DEFAULT, FailureBound::of_bits(100).unwrap()];
    let mut cases = Vec::new();
    for scheme in schemes() {
        if WITHOUT.contains(&scheme.name()) {
            continue;
        }

        for shape in shapes() {
            let goal = Goal::Balanced;
            cases.extend(bounds.map(|failure| Case::new(scheme, shape, Target { goal, failure })));
        }
    }

    let inspire = registry::by_name("inspire").unwrap();
    let large = Shape::of_bytes(1 << 20, 256).unwrap();
    let goal = Goal::MinCommunication;
    cases.extend(bounds.map(|failure| Case::new(inspire, large, Target { goal, failure })));
    cases
}

fn reference(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../reference")
        .join(file)
}

/// Runs a script of the folder `reference` over certificates.
fn run(script: &str, cases: &[Case]) -> Output {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{script}-files"));
    fs::create_dir_all(&folder).unwrap();
    let mut files = Vec::new();
    for (i, case) in cases.iter().enumerate() {
        let name = format!("{i}-{}.json", case.certificate.scheme);
        let file = folder.join(name);
        fs::write(&file, case.certificate.json()).unwrap();
        files.push(file);
    }

    let chosen = std::env::var_os("PAPIR_PYTHON").filter(|python| !python.is_empty());
    let output = Command::new(chosen.unwrap_or_else(|| "python3".into()))
        .arg("-B")
        .arg(reference(script))
        .args(&files)
        .output();
    output.expect("Python 3.10 or later is missing: install it (apt install python3)")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn the_bound_of_a_certificate_is_that_of_the_description() {
    for case in cases() {
        let Case {
            description,
            certificate,
        } = case;
        let name = description.scheme;

        assert_eq!(certificate.scheme, name);
        assert_eq!(certificate.asked_bits, description.failure_bound.bits());
        match certificate.failure {
            CertifiedFailure::Never(_) => {
                assert_eq!(description.failure_log2, f64::NEG_INFINITY, "{name}");
            }
            CertifiedFailure::Bits(bits) => {
                let expected = Rational::of_float(-description.failure_log2);
                assert_eq!(Some(bits), expected, "{name}");
            }
        }
    }
}

#[test]
fn a_certificate_of_several_points_is_among_the_cases() {
    let one = Rational::from(1u32);
    let points = cases()
        .into_iter()
        .flat_map(|case| case.certificate.parameters);
    let mut points = points.filter(|(name, _)| name == "points");

    assert!(points.any(|(_, points)| points != one));
}

#[test]
fn the_script_accepts_the_certificates_of_all_schemes() {
    let cases = cases();
    let output = run("certificate.py", &cases);

    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout).lines().count(), cases.len());
}

/// Alters every term, parameter and estimate of every certificate, one at a time.
#[test]
fn the_script_refuses_altered_certificates() {
    let output = run("certificate_mutations.py", &cases());

    let stdout = text(&output.stdout);
    assert!(output.status.success(), "{stdout}{}", text(&output.stderr));
    let altered = stdout.split_whitespace().next().unwrap();
    assert!(altered.parse::<u32>().unwrap() > 1000, "{stdout}");
}

#[test]
fn schemes_without_certificates_say_so() {
    for name in WITHOUT {
        let scheme = registry::by_name(name).unwrap();
        let candidate = scheme
            .candidate_for(shapes()[0], Goal::Balanced.into())
            .unwrap();

        let error = scheme.certificate(&candidate.parameters).unwrap_err();
        let expected = format!("{name} has no certificate of its failure bound");
        assert_eq!(error.to_string(), expected);
    }
}

/// The script has a table of its own, and lists fewer rows: those with optimised samples that allow
/// a scheme.
#[test]
fn the_rows_of_the_script_are_those_of_the_security_table() {
    let script = fs::read_to_string(reference("certificate_terms.py")).unwrap();
    let (_, table) = script.split_once("\nTABLE = [\n").unwrap();
    let (table, _) = table.split_once("\n]\n").unwrap();

    for line in table.lines() {
        let row = TABLE.iter().find(|row| {
            let begin = format!("    (\"{}\", {}, \"{}\", ", row.set, row.n, row.log2_q);
            let end = format!(
                "\"{}\", \"{}\", \"{}\"),",
                row.secret, row.sigma, row.matzov
            );
            line == begin + &end
        });
        let row = row.unwrap_or_else(|| panic!("{line} is not in the table"));
        assert!(row.allowed() && row.method == Method::SamplesOptimised);
    }
}
