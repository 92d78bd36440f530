//! Metrics for alerts: failed loads, the age of data, what expires, and refusals for limits.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::support::files::{build, build_signed, serving};
use crate::support::secured::{pair, source};
use crate::support::{Running, agent, config, get, indexed, lookup, post, rng};
use papir_server::{ClientLimits, NewToken, Protection, Scope, ServerConfig, TlsFiles, TokenFile};
use papir_store::parse_timestamp;
use rcgen::{CertificateParams, KeyPair, date_time_ymd};
use tempfile::TempDir;

/// The value of a metric, by name and labels; `None` if it is missing.
fn value(text: &str, metric: &str) -> Option<f64> {
    let rest = text
        .lines()
        .find_map(|line| line.strip_prefix(metric)?.strip_prefix(' '));
    rest.map(|value| value.parse().unwrap())
}

fn scrape(server: &Running) -> String {
    String::from_utf8(get(&format!("{}/metrics", server.url())).body).unwrap()
}

fn reload(server: &Running) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(server.handle.reload()).unwrap();
}

#[test]
fn a_failed_load_shows_until_the_next_one_succeeds() {
    let folder = TempDir::new().unwrap();
    let words = build(folder.path(), "words.papir", 20, "a");
    let server = Running::start_files(serving(&[&words])).unwrap();
    let failing = || value(&scrape(&server), "papir_load_failing{database=\"words\"}");
    assert_eq!(failing(), Some(0.0));
    fs::rename(&words, folder.path().join("good")).unwrap();
    reload(&server);
    assert_eq!(failing(), Some(1.0));
    fs::rename(folder.path().join("good"), &words).unwrap();
    reload(&server);
    assert_eq!(failing(), Some(0.0));
}

#[test]
fn the_age_of_data_counts_from_its_signature_or_build() {
    let folder = TempDir::new().unwrap();
    let unsigned = build(folder.path(), "plain.papir", 20, "a");
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let month = Duration::from_secs(30 * 86400);
    let signed = build_signed(folder.path(), "signed.papir", "a", (now - month).as_secs());
    let server = Running::start_files(serving(&[&unsigned, &signed])).unwrap();
    let text = scrape(&server);
    let age = |database: &str| {
        let version = lookup(&server.url(), database).version();
        let labels = format!("{{database=\"{database}\",version=\"{version}\"}}");
        value(&text, &format!("papir_data_age_seconds{labels}")).unwrap()
    };
    let patience = 600.0;
    assert!(age("plain") < patience, "{text}");
    assert!(
        (month.as_secs_f64()..month.as_secs_f64() + patience).contains(&age("signed")),
        "{text}"
    );
    let in_memory = Running::start(config(), vec![indexed("table", "plain", 20)]);
    assert!(
        !scrape(&in_memory).contains("papir_data_age_seconds"),
        "its age is not known"
    );
}

/// Writes a certificate that expires on a day of May 2031.
fn issue(files: &TlsFiles, day: u8) {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    params.not_after = date_time_ymd(2031, 5, day);
    fs::write(&files.certificate, params.self_signed(&key).unwrap().pem()).unwrap();
    fs::write(&files.key, key.serialize_pem()).unwrap();
}

/// Adds a token for metrics and returns its text.
fn token(file: &Path, name: &str, lifetime: Option<Duration>) -> String {
    let new = NewToken {
        lifetime,
        ..NewToken::new(name, [Scope::Metrics])
    };
    TokenFile::add(file, new).unwrap().to_string()
}

fn seconds(time: SystemTime) -> f64 {
    time.duration_since(UNIX_EPOCH).unwrap().as_secs_f64()
}

#[test]
fn expiry_of_certificate_and_tokens_is_known() {
    let folder = TempDir::new().unwrap();
    let files = pair(folder.path());
    let tokens = folder.path().join("tokens.toml");
    issue(&files, 6);
    let hour = Duration::from_secs(3600);
    let forever = token(&tokens, "forever", None);
    token(&tokens, "soon", Some(hour));
    token(&tokens, "later", Some(hour * 2));
    // A token that has expired does not hide the next one.
    token(&tokens, "expired", Some(Duration::ZERO));
    let protection = Protection {
        tls: Some(files.clone()),
        tokens: source(&tokens),
        ..Protection::default()
    };
    let server = Running::start(
        ServerConfig {
            protection,
            ..config()
        },
        vec![indexed("table", "plain", 20)],
    );
    let tls = ureq::tls::TlsConfig::builder()
        .disable_verification(true)
        .build();
    let agent = agent().tls_config(tls).build().new_agent();
    let scrape = || {
        let request = agent.get(format!("https://{}/metrics", server.address));
        let mut response = request
            .header("authorization", format!("Bearer {forever}"))
            .call()
            .unwrap();
        response.body_mut().read_to_string().unwrap()
    };
    let certificate = || value(&scrape(), "papir_certificate_expiry_timestamp_seconds");
    let day = |text| parse_timestamp(text).map(seconds);
    assert_eq!(certificate(), day("2031-05-06T00:00:00Z"));
    let next = value(&scrape(), "papir_token_expiry_timestamp_seconds").unwrap();
    let expected = seconds(SystemTime::now() + hour);
    assert!(
        (expected - 600.0..=expected).contains(&next),
        "{next} {expected}"
    );
    issue(&files, 7);
    reload(&server);
    assert_eq!(certificate(), day("2031-05-07T00:00:00Z"), "after a reload");

    let open = Running::start(config(), vec![indexed("table", "plain", 20)]);
    assert!(
        !self::scrape(&open).contains("_expiry_timestamp_seconds"),
        "nothing expires"
    );
}

#[test]
fn queries_beyond_a_limit_are_counted_with_their_code() {
    let limits = ClientLimits {
        rate: Some("1/h".parse().unwrap()),
        burst: 2,
        per_client: 0,
    };
    let protection = Protection {
        limits,
        ..Protection::default()
    };
    let server = Running::start(
        ServerConfig {
            protection,
            ..config()
        },
        vec![indexed("table", "plain", 50)],
    );
    // The public part and one query are within the limit.
    let query = lookup(&server.url(), "table")
        .prepare_index(7, &mut rng())
        .unwrap()
        .queries()
        .concat();
    let statuses: Vec<u16> = (0..4)
        .map(|_| {
            post(
                &format!("{}/v1/databases/table/query", server.url()),
                &query,
            )
            .status
        })
        .collect();
    assert_eq!(statuses, [200, 429, 429, 429]);
    assert_eq!(
        post(
            &format!("{}/v1/databases/other/query", server.url()),
            &query
        )
        .status,
        429
    );
    assert_eq!(
        get(&format!("{}/v1/databases/table/public", server.url())).status,
        429
    );
    let text = scrape(&server);
    let count = |database: &str, code: &str| {
        value(
            &text,
            &format!("papir_query_requests_total{{database=\"{database}\",code=\"{code}\"}}"),
        )
    };
    assert_eq!(
        (count("table", "ok"), count("table", "too_many")),
        (Some(1.0), Some(3.0))
    );
    assert_eq!(count("(unknown)", "too_many"), Some(1.0));
    // Refusals take no time and do not hide that other requests are slow.
    let times = "papir_stage_seconds_count{database=\"table\",stage=\"total\"}";
    assert_eq!(value(&text, times), Some(1.0));
}
