//! Runs the commands of the operator's manual, `docs/operate.md`, and of the pages for everyone.

use std::fmt::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, CertifiedIssuer, DnType,
    IsCa, KeyIdMethod, KeyPair, KeyUsagePurpose, RevokedCertParams, date_time_ymd,
    generate_simple_self_signed,
};

use crate::support::{Folder, Service, at_home, root};

/// Pages for everyone, in the order of a reader.
const PAGES: &[&str] = &[
    "README.md",
    "docs/concepts.md",
    "docs/compare.md",
    "docs/capacity.md",
    "docs/faq.md",
    // Last: it serves other databases than the pages before.
    "docs/sources.md",
];

/// Beginnings of commands that build packages from the repository, or measure for minutes.
const ELSEWHERE: &[&str] = &[
    "make ",
    "cargo ",
    "python3 ",
    "papir bench ",
    "papir plan --calibrate",
];

/// Longest run of a script in seconds. Scripts wait in loops for what may never happen.
const LIMIT: &str = "900";

/// The address of the service on these pages.
const ADDRESS: &str = "http://127.0.0.1:7470";

/// Returns the concatenated `sh` blocks of a page.
fn commands(page: &str) -> String {
    page.split("```sh\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
        .collect()
}

/// Returns the commands of a page. The next line belongs to the same command after a line that ends
/// with `\`, and while a single quote is open.
fn commands_apart(page: &str) -> Vec<String> {
    let mut apart = Vec::new();
    let mut command = String::new();

    for line in commands(page).lines() {
        command.push_str(line);

        let quote_is_open = command.matches('\'').count() % 2 == 1;
        match quote_is_open || line.ends_with('\\') {
            true => command.push('\n'),
            false => apart.push(std::mem::take(&mut command)),
        }
    }

    assert!(command.is_empty(), "a command without an end: {command}");
    apart
}

/// Runs a script in a folder with this build of the program. Returns what it prints; if it fails, with
/// its errors.
fn bash(folder: &Folder, script: &str) -> Result<String, String> {
    let program = Path::new(env!("CARGO_BIN_EXE_papir")).parent().unwrap();
    let search_path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let output = at_home("timeout")
        .args([LIMIT, "bash", "-c", script])
        .current_dir(folder.path("."))
        .env("PATH", search_path)
        .env("XDG_DATA_HOME", folder.path("data"))
        // Neither the settings of the person's curl nor a proxy apply.
        .env("CURL_HOME", folder.path("."))
        .env("NO_PROXY", "127.0.0.1,localhost,::1")
        .env("no_proxy", "127.0.0.1,localhost,::1")
        .output()
        .unwrap();

    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    match output.status.success() {
        true => Ok(printed),
        false => Err(format!(
            "{}\n{printed}\n{}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        )),
    }
}

/// Creates the files that the page assumes.
fn prepare(folder: &Folder) {
    let mut words = String::from("word,meaning\n");
    (0..50).for_each(|i| writeln!(words, "key-{i},meaning-{i}").unwrap());
    folder.write("words.csv", words);
    folder.write(
        "changes.csv",
        "word,meaning,gone\nkey-7,changed,\nkey-8,,yes\nkey-new,new,\n",
    );
    folder.write("more.csv", "word,meaning\nkey-9,fresh\n");
    let made = generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    folder.write("cert.pem", made.cert.pem());
    folder.write("key.pem", made.signing_key.serialize_pem());
    prepare_client(folder);
}

/// Creates an authority, and the certificate of a client.
fn prepare_client(folder: &Folder) {
    let mut params = CertificateParams::new([]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params
        .distinguished_name
        .push(DnType::CommonName, "clients");
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    folder.write("clients.pem", authority.pem());
    let key = KeyPair::generate().unwrap();
    let client = CertificateParams::new(["laptop".to_owned()])
        .unwrap()
        .signed_by(&key, &authority)
        .unwrap();
    folder.write("laptop.pem", client.pem());
    folder.write("laptop.key", key.serialize_pem());
}

/// Creates the list of revoked certificates that the page on sources assumes.
fn prepare_revocations(folder: &Folder) {
    let mut params = CertificateParams::new([]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::CrlSign];
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();

    let revoked = [0x0a1b_2c3d_u64, 0x7fff_0001].map(|serial| RevokedCertParams {
        serial_number: serial.into(),
        revocation_time: date_time_ymd(2024, 1, 1),
        reason_code: None,
        invalidity_date: None,
    });
    let list = CertificateRevocationListParams {
        this_update: date_time_ymd(2024, 1, 1),
        next_update: date_time_ymd(2100, 1, 1),
        crl_number: 1.into(),
        issuing_distribution_point: None,
        revoked_certs: revoked.into(),
        key_identifier_method: KeyIdMethod::Sha256,
    };
    let signed = list.signed_by(&authority).unwrap();
    folder.write("ca.crl", signed.pem().unwrap());
}

#[test]
fn commands_of_the_manual_work() {
    if Command::new("curl")
        .arg("--version")
        .stdout(Stdio::null())
        .status()
        .is_err()
    {
        panic!("curl is missing: the manual fetches metrics with it");
    }
    let folder = Folder::new();
    prepare(&folder);
    let page = std::fs::read_to_string(root().join("docs/operate.md")).unwrap();
    // The script ends at the first failure, and kills its background processes when it ends.
    let script = format!(
        "set -eu\ntrap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n{}",
        commands(&page)
    );
    let run = bash(&folder, &script);
    let served = std::fs::read_to_string(folder.path("served.log")).unwrap_or_default();
    let out = run.unwrap_or_else(|output| panic!("{output}\n{served}"));
    for part in [
        "meaning-7{\"key\":\"key-7\",\"value\":\"meaning-7\"}",
        "{\"key\":\"no-such-key\",\"value\":null}",
        "changed",
        "{\"key\":\"key-6\",\"value\":\"meaning-6\"}",
        "meaning-7meaning-8",
        "blocked 2\n",
        "papir_loads_total{database=\"words\",outcome=\"ok\"}",
    ] {
        assert!(out.contains(part), "no {part} in {out}\n{served}");
    }
    let load = std::fs::read_to_string(folder.path("load.txt")).unwrap();
    assert!(
        load.lines()
            .any(|line| line.starts_with("failed") && line.ends_with(" 0")),
        "{load}"
    );
}

#[test]
fn commands_of_the_pages_work() {
    let folder = Folder::new();
    prepare_revocations(&folder);
    let mut service = None;
    let mut run = 0;
    for page in PAGES {
        let text = std::fs::read_to_string(root().join(page)).unwrap();
        for line in commands_apart(&text) {
            if ELSEWHERE
                .iter()
                .any(|beginning| line.starts_with(beginning))
            {
                continue;
            }
            if let Some(served) = line.strip_prefix("papir serve ") {
                let words: Vec<&str> = served
                    .split_whitespace()
                    .take_while(|word| *word != "#")
                    .collect();
                service = Some(Service::start(&[&folder.path(words[0])], &words[1..]));
                continue;
            }
            let line = service
                .as_ref()
                .map_or(line.clone(), |service| line.replace(ADDRESS, &service.url));
            bash(&folder, &line).unwrap_or_else(|output| panic!("{page}: {line}\n{output}"));
            run += 1;
        }
    }
    assert!(run >= 12, "only {run} commands were found");
}
