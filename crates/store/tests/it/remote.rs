//! Snapshots in a folder and on a local S3 server.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use crate::common::{by_key, folder, fresh, keyed, rng, run, source};
use hyper_util::rt::{TokioExecutor, TokioIo};
use papir_checkpoint::{Kind, SigningKey};
use papir_core::{NoProgress, Run};
use papir_store::remote::{Location, Mirror, PushOptions, Settings, StoreProxy, pull, push};
use papir_store::{
    BuildOptions, MergeOptions, Sign, Snapshot, UpdateOptions, merge, update, update_delta,
};
use papir_testkit::proxy::RecordingProxy;
use s3s::auth::SimpleAuth;
use s3s::service::S3ServiceBuilder;

const SMALL: PushOptions = PushOptions {
    part_bytes: 4096,
    prune: None,
};

/// A snapshot of some thousand keys; its values end with `word`.
fn snapshot(folder: &Path, word: &str) -> PathBuf {
    let rows: String = (0..3000)
        .map(|i| format!("key {i},value {i} {word}\n"))
        .collect();
    let options = keyed(
        &source(folder, "small.csv", format!("k,v\n{rows}")),
        "k",
        &["v"],
    );
    run(&options).unwrap();
    options.out
}

fn in_folder(folder: &Path) -> Location {
    let url = format!("file://{}/small.pir", folder.display());
    Location::parse(&url, None, Settings::default()).unwrap()
}

#[test]
fn a_folder_works_as_a_store() {
    let (folder, store) = (folder(), folder());
    let file = snapshot(folder.path(), "old");
    let location = in_folder(store.path());
    let copy = folder.path().join("copy.pir");
    assert_eq!(
        pull(&location, &copy, &NoProgress).unwrap_err().code(),
        "no_such_object"
    );
    let pushed = push(&file, &location, SMALL, &NoProgress).unwrap();
    assert!(pushed.uploaded_parts > 4);
    let mut names: Vec<_> = std::fs::read_dir(store.path())
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["small.pir.manifest.json", "small.pir.parts"]);
    assert!(pull(&location, &copy, &NoProgress).unwrap().changed);
    assert_eq!(
        by_key(&Snapshot::open(&copy).unwrap(), "key 7").unwrap(),
        b"value 7 old"
    );

    // Flip a byte of a stored part.
    let part = store
        .path()
        .join("small.pir.parts")
        .join(pushed.manifest.parts[1].to_hex().as_str());
    let mut bytes = std::fs::read(&part).unwrap();
    bytes[100] ^= 4;
    std::fs::write(&part, bytes).unwrap();
    assert!(!pull(&location, &copy, &NoProgress).unwrap().changed);
    std::fs::remove_file(&copy).unwrap();
    let message = pull(&location, &copy, &NoProgress).unwrap_err().to_string();
    assert!(
        message.starts_with(&format!(
            "part 2 of {} is damaged: file:///",
            pushed.manifest.parts.len()
        )),
        "{message}"
    );
}

/// An S3 server on this machine with one bucket, `data`. It stops with its runtime.
struct S3 {
    _folder: tempfile::TempDir,
    _runtime: tokio::runtime::Runtime,
    address: SocketAddr,
}

impl S3 {
    fn start() -> Self {
        let folder = folder();
        let runtime = tokio::runtime::Runtime::new().unwrap();
        std::fs::create_dir(folder.path().join("data")).unwrap();
        let mut builder = S3ServiceBuilder::new(s3s_fs::FileSystem::new(folder.path()).unwrap());
        builder.set_auth(SimpleAuth::from_single("id", "secret"));
        let service = builder.build().into_shared();
        let listener = runtime
            .block_on(tokio::net::TcpListener::bind("127.0.0.1:0"))
            .unwrap();
        let address = listener.local_addr().unwrap();
        runtime.spawn(async move {
            let server = hyper_util::server::conn::auto::Builder::new(TokioExecutor::new());
            while let Ok((socket, _)) = listener.accept().await {
                let connection = server
                    .serve_connection(TokioIo::new(socket), service.clone())
                    .into_owned();
                tokio::spawn(connection);
            }
        });
        Self {
            _folder: folder,
            _runtime: runtime,
            address,
        }
    }

    fn location(&self, url: &str, secret: &str) -> Location {
        Location::parse(url, Some("small.pir"), self.settings(secret)).unwrap()
    }

    /// Settings of variables, among which none names a proxy.
    fn settings(&self, secret: &str) -> Settings {
        let endpoint = format!("http://{}", self.address);
        let variables = [
            ("AWS_ENDPOINT_URL", endpoint.as_str()),
            ("AWS_ALLOW_HTTP", "true"),
            ("AWS_REGION", "us-east-1"),
            ("AWS_ACCESS_KEY_ID", "id"),
            ("AWS_SECRET_ACCESS_KEY", secret),
        ];
        Settings::of(variables.map(|(name, value)| (name.to_owned(), value.to_owned())))
    }
}

#[test]
fn a_snapshot_is_pushed_to_s3_and_pulled_back() {
    let folder = folder();
    let s3 = S3::start();
    let location = s3.location("s3://data/some/where/", "secret");
    let old = push(
        &snapshot(folder.path(), "old"),
        &location,
        SMALL,
        &NoProgress,
    )
    .unwrap();
    assert_eq!(location.to_string(), "s3://data/some/where/small.pir");

    let mirror = Mirror::new(location.clone(), &folder.path().join("cache")).unwrap();
    assert_eq!(mirror.refresh(&NoProgress).unwrap().manifest, old.manifest);
    assert_eq!(
        by_key(&Snapshot::open(mirror.file()).unwrap(), "key 2999").unwrap(),
        b"value 2999 old"
    );

    let again = push(
        &folder.path().join("small.pir"),
        &location,
        SMALL,
        &NoProgress,
    )
    .unwrap();
    assert_eq!(again.uploaded_parts, 0);
    push(
        &snapshot(folder.path(), "new"),
        &location,
        PushOptions::pruning(),
        &NoProgress,
    )
    .unwrap();
    assert!(mirror.refresh(&NoProgress).unwrap().changed);
    assert_eq!(
        by_key(&Snapshot::open(mirror.file()).unwrap(), "key 0").unwrap(),
        b"value 0 new"
    );
}

#[test]
fn errors_of_s3_are_reported() {
    let folder = folder();
    let s3 = S3::start();
    let copy = folder.path().join("copy.pir");
    let fails =
        |url: &str, secret: &str| pull(&s3.location(url, secret), &copy, &NoProgress).unwrap_err();
    let missing = fails("s3://data/none.pir", "secret");
    assert_eq!(
        missing.to_string(),
        "no such object: s3://data/none.pir.manifest.json"
    );
    let denied = fails("s3://data/none.pir", "wrong");
    assert_eq!(denied.code(), "no_permission", "{denied}");
    assert!(
        denied
            .to_string()
            .starts_with("fetching s3://data/none.pir.manifest.json: no permission"),
        "{denied}"
    );
    assert_eq!(
        fails("s3://nowhere/none.pir", "secret").code(),
        "no_such_object"
    );
}

#[test]
fn a_pull_loses_no_changes_and_forks_no_log() {
    let (folder, store) = (folder(), folder());
    let location = in_folder(store.path());
    let key = SigningKey::generate(
        "example.org/owner".parse().unwrap(),
        Kind::Note,
        &mut rng(1),
    );
    let sign = Some(Sign {
        time: Some(1_800_000_000),
        ..Sign::new(key)
    });
    let csv = source(folder.path(), "small.csv", "k,v\n1,a\n2,b\n");
    let options = BuildOptions {
        sign: sign.clone(),
        ..keyed(&csv, "k", &["v"])
    };
    run(&options).unwrap();
    let file = options.out;
    let copy = folder.path().join("copy.pir");
    let change = |to: &Path, row: &str| {
        let changes = source(folder.path(), "changes.csv", format!("k,v\n{row}\n"));
        UpdateOptions {
            sign: sign.clone(),
            ..UpdateOptions::new(to, changes)
        }
    };
    let refused = |part: &str| {
        let error = pull(&location, &copy, &NoProgress).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    };
    push(&file, &location, SMALL, &NoProgress).unwrap();
    pull(&location, &copy, &NoProgress).unwrap();
    update_delta(
        &change(&copy, "1,here"),
        None,
        &mut Run::new(&mut fresh(), &NoProgress),
    )
    .unwrap();
    assert!(
        !pull(&location, &copy, &NoProgress).unwrap().changed,
        "the same version"
    );
    update(
        &change(&file, "1,there"),
        &mut Run::new(&mut fresh(), &NoProgress),
    )
    .unwrap();
    push(&file, &location, SMALL, &NoProgress).unwrap();
    refused("changes beside");
    merge(
        &MergeOptions {
            sign: sign.clone(),
            ..MergeOptions::new(&copy)
        },
        &mut Run::new(&mut fresh(), &NoProgress),
    )
    .unwrap();
    refused("signed versions of");
    assert_eq!(
        by_key(&Snapshot::open(&copy).unwrap(), "1").unwrap(),
        b"here"
    );
    // A copy without versions of its own follows.
    std::fs::remove_file(&copy).unwrap();
    pull(&location, &copy, &NoProgress).unwrap();
    update(
        &change(&file, "2,new"),
        &mut Run::new(&mut fresh(), &NoProgress),
    )
    .unwrap();
    push(&file, &location, SMALL, &NoProgress).unwrap();
    assert!(pull(&location, &copy, &NoProgress).unwrap().changed);
}

#[cfg(unix)]
#[test]
fn a_pulled_file_keeps_its_readers() {
    use std::os::unix::fs::PermissionsExt;
    let (folder, store) = (folder(), folder());
    let file = snapshot(folder.path(), "old");
    let location = in_folder(store.path());
    let copy = folder.path().join("copy.pir");
    push(&file, &location, SMALL, &NoProgress).unwrap();
    pull(&location, &copy, &NoProgress).unwrap();
    std::fs::set_permissions(&copy, PermissionsExt::from_mode(0o600)).unwrap();
    push(
        &snapshot(folder.path(), "new"),
        &location,
        SMALL,
        &NoProgress,
    )
    .unwrap();
    assert!(pull(&location, &copy, &NoProgress).unwrap().changed);
    assert_eq!(
        std::fs::metadata(&copy).unwrap().permissions().mode() & 0o777,
        0o600
    );
}

/// Fetches the manifest of a snapshot.
fn listed(settings: Settings) -> papir_store::Result<()> {
    let location = Location::parse("s3://data/small.pir", None, settings)?;
    papir_store::remote::manifest(&location).map(drop)
}

#[test]
fn a_port_of_an_excluded_host_counts() {
    let folder = folder();
    let s3 = S3::start();
    let location = s3.location("s3://data/small.pir", "secret");
    push(
        &snapshot(folder.path(), "old"),
        &location,
        SMALL,
        &NoProgress,
    )
    .unwrap();

    let proxy = RecordingProxy::to(s3.address);
    let through = |exclusions: String| StoreProxy::Through {
        url: format!("socks5h://{}", proxy.address),
        exclusions,
    };
    for exclusions in [
        s3.address.to_string(),
        format!("example.org,*:{}", s3.address.port()),
    ] {
        listed(s3.settings("secret").with_proxy(through(exclusions))).unwrap();
        assert_eq!(proxy.take(), [""; 0]);
    }

    // At another port, the host is reached through the proxy, which alone knows it.
    let hidden = [
        ("AWS_ALLOW_HTTP", "true"),
        ("AWS_REGION", "us-east-1"),
        ("AWS_ACCESS_KEY_ID", "id"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
        ("AWS_ENDPOINT_URL", "http://papir.invalid:9000"),
    ];
    let settings = Settings::of(hidden.map(|(name, value)| (name.to_owned(), value.to_owned())));
    listed(settings.with_proxy(through("papir.invalid:9001".to_owned()))).unwrap();
    assert_eq!(proxy.take(), ["socks5 papir.invalid:9000"]);
}

#[test]
fn stores_are_reached_through_the_proxy_or_not_at_all() {
    let folder = folder();
    let s3 = S3::start();
    let location = s3.location("s3://data/small.pir", "secret");
    push(
        &snapshot(folder.path(), "old"),
        &location,
        SMALL,
        &NoProgress,
    )
    .unwrap();

    let proxy = RecordingProxy::to(s3.address);
    let at_the_proxy = |exclusions: &str| StoreProxy::Through {
        url: format!("socks5h://{}", proxy.address),
        exclusions: exclusions.to_owned(),
    };
    // At an address that the proxy alone knows.
    let hidden = |more: &[(&str, &str)]| {
        let mut variables = vec![
            ("AWS_ALLOW_HTTP", "true"),
            ("AWS_REGION", "us-east-1"),
            ("AWS_ACCESS_KEY_ID", "id"),
            ("AWS_SECRET_ACCESS_KEY", "secret"),
            ("AWS_ENDPOINT_URL", "http://papir.invalid:9000"),
        ];
        variables.extend(more);
        Settings::of(
            variables
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value.to_owned())),
        )
    };
    let asked = ["socks5 papir.invalid:9000"];

    listed(hidden(&[]).with_proxy(at_the_proxy(""))).unwrap();
    assert_eq!(proxy.take(), asked);

    // The cloud's own variable, with names resolved at the proxy.
    let own = format!("socks5://{}", proxy.address);
    listed(hidden(&[
        ("AWS_PROXY_URL", &own),
        ("ALL_PROXY", "http://p"),
    ]))
    .unwrap();
    assert_eq!(proxy.take(), asked);

    // Excluded hosts are reached directly.
    listed(s3.settings("secret").with_proxy(at_the_proxy("127.0.0.1"))).unwrap();
    listed(s3.settings("secret").with_proxy(StoreProxy::Direct)).unwrap();
    assert_eq!(proxy.take(), [""; 0]);

    for variable in ["ALL_PROXY", "https_proxy"] {
        let error = listed(hidden(&[(variable, &own)])).unwrap_err();
        assert_eq!(error.code(), "settings");
        assert!(error.to_string().contains(variable), "{error}");
    }
    assert_eq!(proxy.take(), [""; 0]);
}
