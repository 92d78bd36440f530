//! The client in `examples/from-the-spec`, written from docs/formats.md alone, against a service.

use std::process::Command;

use papir_testkit::proxy::{HOST, RecordingProxy};
use serde_json::{Value, json};

use crate::support::{Folder, Service, isolated, root, succeeds};

/// A command that runs a script of the example, with the Python that the person chose.
fn python(script: &str) -> Command {
    let chosen = std::env::var_os("PAPIR_PYTHON").filter(|python| !python.is_empty());
    let mut command = isolated(chosen.unwrap_or_else(|| "python3".into()));
    command
        .arg("-B")
        .arg(root().join("examples/from-the-spec").join(script));
    command
}

/// Looks keys or indices up, and returns their values.
fn look_up(url: &str, arguments: &[&str]) -> Vec<Value> {
    let output = python("client.py").arg(url).args(arguments).output();
    let output = output.expect("Python 3.10 or later is missing: install it (apt install python3)");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let value = |line: &str| serde_json::from_str::<Value>(line).unwrap()["value"].clone();
    text.lines().map(value).collect()
}

#[test]
fn a_client_from_the_spec_reads_keys_and_records() {
    let folder = Folder::new();
    let row = |i: usize| format!("word-{i},{}\n", "x".repeat(i % 70));
    let rows: String = (0..300).map(row).collect();
    let source = folder.write("rows.csv", format!("word,meaning\n{rows}"));
    let build = |name: &str, scheme: &str, more: &[&str]| {
        let out = folder.path(name);
        let keyed = [
            "build", &source, "--key", "word", "--value", "meaning", "--scheme", scheme, "--out",
            &out,
        ];
        succeeds(&[&keyed, more].concat());
        out
    };
    let plain = build("plain.papir", "simple", &[]);
    let proven = build(
        "proven.papir",
        "simple",
        &["--verifiable", "--failure", "2^-100"],
    );
    let short = build("short.papir", "inspire", &[]);
    let raw = folder.write(
        "raw.bin",
        (0..250u8)
            .flat_map(|i| [b'a' + i % 26; 9])
            .collect::<Vec<_>>(),
    );
    let numbered = folder.path("numbered.papir");
    succeeds(&[
        "build",
        &raw,
        "--format",
        "raw",
        "--record-bytes",
        "9",
        "--scheme",
        "simple",
        "--out",
        &numbered,
    ]);
    let service = Service::start(&[&plain, &proven, &short, &numbered], &[]);
    for name in ["plain", "proven", "short"] {
        let url = format!("{}/v1/databases/{name}", service.url);
        let found = look_up(&url, &["word-7", "word-70", "absent"]);
        assert_eq!(found, [json!("xxxxxxx"), json!(""), Value::Null], "{name}");
    }
    let url = format!("{}/v1/databases/numbered", service.url);
    assert_eq!(
        look_up(&url, &["--index", "27", "249"]),
        [json!("bbbbbbbbb"), json!("ppppppppp")]
    );
}

/// The client's error for a key of a signed database; none if it finds the value.
fn look_up_signed(url: &str, arguments: &[&str]) -> Option<String> {
    let url = format!("{url}/v1/databases/words");
    let output = python("client.py")
        .arg(url)
        .args(arguments)
        .arg("a")
        .output()
        .unwrap();
    let out = String::from_utf8_lossy(&output.stdout);
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(
        output.status.success(),
        out.contains("\"value\""),
        "{out}{error}"
    );
    (!output.status.success()).then(|| error.into_owned())
}

#[test]
fn a_client_from_the_spec_checks_signatures() {
    let folder = Folder::new();
    let key = |file: &str| {
        let file = folder.path(file);
        let public = succeeds(&["checkpoint", "keygen", &file, "--name", "example.org/owner"]);
        (file, public.trim().to_owned())
    };
    let (owner, public) = key("owner.key");
    let (_, stranger) = key("stranger.key");
    let source = folder.write("words.csv", "word,meaning\na,first\nb,second\n");
    let build = |name: &str, more: &[&str]| {
        let out = folder.path(name);
        let keyed = [
            "build", &source, "--key", "word", "--value", "meaning", "--scheme", "simple",
        ];
        succeeds(&[&keyed, &["--name", "words", "--out", &out][..], more].concat());
        out
    };
    let serve = |file: &str| Service::start(&[file], &["--name", "words"]);
    let pin = folder.path("pin");
    let words = build("words.papir", &["--sign", &owner]);
    let old = folder.path("old.papir");
    std::fs::copy(&words, &old).unwrap();
    let service = serve(&words);
    assert_eq!(
        look_up_signed(&service.url, &["--owner", &public, "--pin", &pin]),
        None
    );
    let wrong = look_up_signed(&service.url, &["--owner", &stranger]).unwrap();
    assert!(wrong.contains("the owner did not sign"), "{wrong}");
    drop(service);

    // A second version, and the first one again.
    let changes = folder.write("changes.csv", "word,meaning\nc,third\n");
    succeeds(&["update", &words, "--from", &changes, "--sign", &owner]);
    assert_eq!(look_up_signed(&serve(&words).url, &["--pin", &pin]), None);
    let stored = std::fs::read_to_string(&pin).unwrap();
    assert!(
        stored.starts_with(&format!("papir-owner-pin-1\n{public}\n{public}\n1\n")),
        "{stored}"
    );
    let plain = build("plain.papir", &[]);
    let unsigned = look_up_signed(&serve(&plain).url, &["--pin", &pin]).unwrap();
    assert!(unsigned.contains("an unsigned database"), "{unsigned}");
    let impatient = ["--pin", &pin, "--catch-up", "0"];
    let rollback = look_up_signed(&serve(&old).url, &impatient).unwrap();
    assert!(rollback.contains("a rollback"), "{rollback}");
}

#[test]
fn a_client_from_the_spec_uses_the_proxy_or_refuses_it() {
    let folder = Folder::new();
    let words = folder.words(50, "simple");
    let service = Service::start(&[&words], &[]);
    let address = service.url.strip_prefix("http://").unwrap();
    let proxy = RecordingProxy::to(address.parse().unwrap());
    let at_proxy = |host: &str| format!("http://{host}:7470/v1/databases/words");
    let run = |url: &str, name: &str, value: &str| {
        let mut command = python("client.py");
        command.args([url, "key-7"]).env(name, value);
        command.output().unwrap()
    };

    for name in ["ALL_PROXY", "all_proxy", "http_proxy", "HTTP_PROXY"] {
        let output = run(&at_proxy(HOST), name, &format!("http://{}", proxy.address));
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{name}: {error}");
        let asked = proxy.take();
        assert!(!asked.is_empty(), "{name}");
        assert!(asked.iter().all(|one| one.contains(HOST)), "{asked:?}");
    }

    let socks = format!("socks5://name:secret@{}", proxy.address);
    for value in [socks.as_str(), "http://p:99999", "http://"] {
        let output = run(&at_proxy(HOST), "ALL_PROXY", value);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{value}");
        assert!(error.contains("ALL_PROXY"), "{error}");
        assert!(!error.contains("secret"), "{error}");
    }
    // This machine is reached without it.
    let direct = format!("http://{address}/v1/databases/words");
    assert!(run(&direct, "ALL_PROXY", &socks).status.success());
    assert_eq!(proxy.take(), [""; 0]);
}

#[test]
fn the_vectors_are_right_for_it() {
    let output = python("check_vectors.py").output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
