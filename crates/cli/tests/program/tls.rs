//! Certificates, and addresses with the wrong scheme.

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, Issuer, KeyPair,
    date_time_ymd,
};

use crate::support::{
    Folder, Service, fails_for_now, fails_with, lasting_address, papir, program, succeeds,
};

const OPEN: &str = "--allow-not-private";

/// Writes a certificate and its key like those of `openssl req -x509`: self-signed, and allowed to
/// sign others. Returns both paths.
pub(crate) fn self_signed(
    folder: &Folder,
    name: &str,
    host: &str,
    years: (i32, i32),
) -> (String, String) {
    let key = KeyPair::generate().unwrap();
    let certificate = authority(host, years).self_signed(&key).unwrap();
    let path = |kind: &str| format!("{name}.{kind}.pem");
    (
        folder.write(&path("cert"), certificate.pem()),
        folder.write(&path("key"), key.serialize_pem()),
    )
}

fn authority(host: &str, (from, to): (i32, i32)) -> CertificateParams {
    let mut params = CertificateParams::new([host.to_owned()]).unwrap();
    params.distinguished_name.push(DnType::CommonName, "Test");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    (params.not_before, params.not_after) = (date_time_ymd(from, 1, 1), date_time_ymd(to, 1, 1));
    params
}

pub(crate) fn serve(folder: &Folder, own: &(String, String)) -> Service {
    serve_at("127.0.0.1:0", folder, own)
}

fn serve_at(address: &str, folder: &Folder, (cert, key): &(String, String)) -> Service {
    let words = folder.path("words.papir");
    Service::start(
        &[&words],
        &[
            OPEN,
            "--listen",
            address,
            "--tls-cert",
            cert,
            "--tls-key",
            key,
        ],
    )
}

#[test]
fn a_self_signed_certificate_is_accepted_only_as_it_was_given() {
    let folder = Folder::new();
    folder.words(10, "plain");
    let own = self_signed(&folder, "own", "127.0.0.1", (2020, 2100));
    let other = self_signed(&folder, "other", "127.0.0.1", (2020, 2100));
    let service = serve(&folder, &own);
    let get = |ca: &str| ["get", &service.url, OPEN, "--ca", ca, "key-3"].map(str::to_owned);
    assert_eq!(
        succeeds(&get(&own.0).each_ref().map(String::as_str)),
        "value-3"
    );
    // Same subject and names, another key.
    let refused = get(&other.0);
    fails_with(
        &refused.each_ref().map(String::as_str),
        &["CN=Test", "refused", "--ca"],
    );
    fails_with(
        &["get", &service.url, OPEN, "key-3"],
        &["CN=Test", "refused", "--ca"],
    );
    let both = [&own.0, &other.0]
        .map(|file| std::fs::read_to_string(file).unwrap())
        .concat();
    assert_eq!(
        succeeds(
            &get(&folder.write("both.pem", both))
                .each_ref()
                .map(String::as_str)
        ),
        "value-3",
        "one of several"
    );
}

#[test]
fn a_given_certificate_needs_the_right_name_and_time() {
    let folder = Folder::new();
    folder.words(10, "plain");
    for (name, host, years, parts) in [
        (
            "elsewhere",
            "elsewhere.example",
            (2020, 2100),
            ["elsewhere.example", "not for 127.0.0.1"],
        ),
        ("late", "127.0.0.1", (2020, 2021), ["CN=Test", "expired"]),
        (
            "early",
            "127.0.0.1",
            (2090, 2100),
            ["not valid before", "clock"],
        ),
    ] {
        let own = self_signed(&folder, name, host, years);
        let service = serve(&folder, &own);
        fails_with(
            &["get", &service.url, OPEN, "--ca", &own.0, "key-3"],
            &parts,
        );
    }
}

#[test]
fn the_environment_names_trusted_certificates_unless_a_file_is_given() {
    let folder = Folder::short();
    folder.words(10, "plain");
    let own = self_signed(&folder, "own", "127.0.0.1", (2020, 2100));
    let other = self_signed(&folder, "other", "127.0.0.1", (2020, 2100));
    let empty = folder.write("empty.pem", "");
    let service = serve(&folder, &own);

    let run = |variables: &[(&str, &str)], arguments: &[&str]| {
        let mut command = program();
        command.args(arguments).envs(variables.iter().copied());
        let output = command.output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8(text).unwrap())
    };
    let get = ["get", &service.url, OPEN, "key-3"];
    let with_other = [&get[..], &["--ca", &other.0]].concat();
    let place = folder.path("places");
    std::fs::create_dir(&place).unwrap();
    std::fs::copy(&own.0, format!("{place}/own.pem")).unwrap();

    // (variables, arguments, success, part of the output)
    type Case<'a> = (&'a [(&'a str, &'a str)], &'a [&'a str], bool, &'a str);
    let cases: [Case; 8] = [
        (&[("SSL_CERT_FILE", &own.0)], &get, true, "value-3"),
        (&[("SSL_CERT_DIR", &place)], &get, true, "value-3"),
        (
            &[("SSL_CERT_FILE", &other.0)],
            &get,
            false,
            "SSL_CERT_FILE=",
        ),
        (
            &[("SSL_CERT_FILE", &own.0)],
            &with_other,
            false,
            "other.cert.pem",
        ),
        (&[("SSL_CERT_FILE", &empty)], &get, false, "SSL_CERT_FILE"),
        (&[("SSL_CERT_FILE", "/none")], &get, false, "/none"),
        (
            &[("SSL_CERT_FILE", "")],
            &get,
            false,
            "not one of those trusted (trusted: the ",
        ),
        (&[], &get, false, "not one of those trusted (trusted: the "),
    ];
    for (variables, arguments, succeeds, part) in cases {
        let (success, output) = run(variables, arguments);
        assert_eq!(success, succeeds, "{variables:?} {arguments:?}: {output}");
        assert!(
            output.contains(part),
            "{variables:?} {arguments:?}: {output}"
        );
    }

    let (_, examined) = run(&[("SSL_CERT_FILE", &own.0)], &["doctor", &service.url]);
    assert!(
        examined.contains(&format!("trusted by SSL_CERT_FILE={}", own.0)),
        "{examined}"
    );
}

#[cfg(feature = "cloud")]
#[test]
fn an_object_store_is_trusted_by_the_same_option() {
    let folder = Folder::new();
    folder.words(10, "plain");
    let own = self_signed(&folder, "own", "127.0.0.1", (2020, 2100));
    let other = self_signed(&folder, "other", "127.0.0.1", (2020, 2100));
    let service = serve(&folder, &own);
    let copy = folder.path("copy.papir");

    // The service is no object store: it knows no such object.
    let pull = |ca: &str| {
        let mut command = program();
        command.args(["pull", "s3://data/words.papir", &copy, "--ca", ca]);
        command.envs([
            ("AWS_ENDPOINT_URL", service.url.as_str()),
            ("AWS_REGION", "us-east-1"),
            ("AWS_ACCESS_KEY_ID", "id"),
            ("AWS_SECRET_ACCESS_KEY", "secret"),
        ]);
        let output = command.output().unwrap();
        String::from_utf8(output.stderr).unwrap()
    };
    let answered = pull(&own.0);
    assert!(answered.contains("no such object"), "{answered}");
    let refused = pull(&other.0);
    assert!(!refused.contains("no such object"), "{refused}");
    let missing = pull("/none/ca.pem");
    assert!(missing.contains("/none/ca.pem"), "{missing}");
}

#[cfg(feature = "postgres")]
#[test]
fn postgres_is_trusted_by_the_same_option() {
    let folder = Folder::new();
    let words = folder.words(50, "inspire");
    // Nothing listens on port 1: the file is read before a connection is made.
    let address = "postgres://papir@127.0.0.1:1/papir?sslmode=require";
    let missing = ["--ca", "/none/ca.pem"];

    for command in [
        &["clients", address, "list"][..],
        &["follow", address, "--publish", &words],
        &[
            "serve",
            &words,
            "--listen",
            "127.0.0.1:0",
            "--registry",
            address,
        ],
    ] {
        let output = papir(&[command, &missing].concat());
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success(), "{command:?}");
        assert!(stderr.contains("/none/ca.pem"), "{command:?}: {stderr}");
    }
}

#[test]
fn a_chain_ends_at_the_given_issuer() {
    let folder = Folder::new();
    folder.words(10, "plain");
    let root_key = KeyPair::generate().unwrap();
    let key = KeyPair::generate().unwrap();
    let params = authority("root.example", (2020, 2100));
    let root = folder.write("root.pem", params.self_signed(&root_key).unwrap().pem());
    let issuer = Issuer::new(params, root_key);
    let own = CertificateParams::new(["127.0.0.1".to_owned()])
        .unwrap()
        .signed_by(&key, &issuer)
        .unwrap();
    let own = (
        folder.write("own.pem", own.pem()),
        folder.write("own.key.pem", key.serialize_pem()),
    );
    let service = serve(&folder, &own);
    assert_eq!(
        succeeds(&["get", &service.url, OPEN, "--ca", &root, "key-3"]),
        "value-3"
    );
}

#[test]
fn addresses_with_the_wrong_scheme_name_the_right_one() {
    let folder = Folder::new();
    let words = folder.words(10, "plain");
    let own = self_signed(&folder, "own", "127.0.0.1", (2020, 2100));
    let address = lasting_address();
    let tls = serve_at(&address, &folder, &own);
    let plain = Service::start(&[&words], &[OPEN]);
    let as_http = format!("http://{address}");
    let as_https = plain.url.replace("http://", "https://");
    fails_with(
        &["get", &as_http, OPEN, "key-3"],
        &["TLS", &format!("try {}", tls.url)],
    );
    fails_with(
        &["get", &as_https, OPEN, "key-3"],
        &["TLS", &format!("try {}", plain.url)],
    );
    drop((tls, plain));
    fails_for_now(&["get", &as_http, OPEN, "key-3"], &[&as_http]);
}

#[test]
fn a_name_is_resolved_to_listen_on() {
    let folder = Folder::new();
    let words = folder.words(10, "plain");
    let service = Service::start(&[&words], &[OPEN, "--listen", "localhost:0"]);
    assert_eq!(succeeds(&["get", &service.url, OPEN, "key-3"]), "value-3");
}

#[test]
fn a_service_asks_for_a_client_certificate() {
    let folder = Folder::new();
    let words = folder.words(10, "plain");
    let own = self_signed(&folder, "own", "127.0.0.1", (2020, 2100));
    let issuer = CertifiedIssuer::self_signed(
        authority("clients.example", (2020, 2100)),
        KeyPair::generate().unwrap(),
    );
    let issuer = issuer.unwrap();
    let root = folder.write("clients.pem", issuer.pem());
    let client = |name: &str, year: i32| {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new([name.to_owned()]).unwrap();
        (params.not_before, params.not_after) =
            (date_time_ymd(2020, 1, 1), date_time_ymd(year, 1, 1));
        let certificate = params.signed_by(&key, &issuer).unwrap().pem();
        let path = |kind: &str| format!("{name}.{kind}.pem");
        (
            folder.write(&path("cert"), certificate),
            folder.write(&path("key"), key.serialize_pem()),
        )
    };
    let good = client("good", 2100);
    let late = client("late", 2021);
    let tls = [
        OPEN,
        "--tls-cert",
        &own.0,
        "--tls-key",
        &own.1,
        "--client-ca",
        &root,
    ];
    let service = Service::start(&[&words], &tls);
    let get = ["get", &service.url, OPEN, "--ca", &own.0, "key-3"];
    assert_eq!(succeeds(&with(&get, &good)), "value-3");
    fails_with(&get, &["asks for a client certificate", "--client-cert"]);
    fails_with(&with(&get, &late), &["client certificate", "expired"]);
    fails_with(
        &[&get[..], &["--client-cert", &good.0]].concat(),
        &["--client-key"],
    );
    let found = papir(&["doctor", &service.url, "--ca", &own.0]);
    let text = String::from_utf8(found.stdout).unwrap();
    assert!(
        found.status.code() == Some(2) && text.contains("--client-cert FILE and --client-key FILE"),
        "{text}"
    );
}

/// A command with a client's certificate and key.
fn with<'a>(command: &[&'a str], (cert, key): &'a (String, String)) -> Vec<&'a str> {
    [command, &["--client-cert", cert, "--client-key", key]].concat()
}
