//! Errors of a build without the features for Parquet, SQLite, zstd, PostgreSQL and object stores.

use papir_store::postgres::Login;
use papir_store::remote::{Location, Settings};
use papir_store::{BuildOptions, FollowOptions, Follower, SlotOptions, UpdateOptions};

use crate::common::{folder, keyed, refusal, source};

#[test]
fn missing_features_are_named() {
    let folder = folder();
    for (name, bytes, text) in [
        (
            "words.csv.zst",
            &b"\x28\xb5\x2f\xfd"[..],
            "is a zstd file, and this build of papir has no zstd support: build with the feature `zstd`",
        ),
        (
            "words.parquet",
            &[],
            "is a Parquet file, and this build of papir has no Parquet support: build with the feature `parquet`",
        ),
        (
            "words.arrow",
            b"ARROW1\0\0",
            "is an Arrow file, and this build of papir has no Arrow support: build with the feature `parquet`",
        ),
        (
            "words.db",
            &[],
            "is an SQLite database, and this build of papir has no SQLite support: build with the feature `sqlite`",
        ),
    ] {
        let path = source(folder.path(), name, bytes);
        let error = refusal(&keyed(&path, "word", &[]));
        assert_eq!(error.code(), "missing_feature");
        assert_eq!(error.to_string(), format!("{} {text}", path.display()));
    }
    let address = "postgres://db/words";
    let login = Login {
        address: address.to_owned(),
        ..Login::default()
    };
    let slot = SlotOptions::new(login, "words", "words");
    let update = UpdateOptions::new(folder.path(), address);
    let followed = Follower::new(FollowOptions {
        slot: Some(slot),
        ..FollowOptions::new(update)
    });
    let text = "is a PostgreSQL server, and this build of papir has no PostgreSQL support: build with the feature \
         `postgres`";
    assert_eq!(
        followed.err().unwrap().to_string(),
        format!("{address} {text}")
    );
    let queried = BuildOptions {
        server: Some(Login {
            address: address.to_owned(),
            ..Login::default()
        }),
        query: Some("SELECT word FROM words".to_owned()),
        out: folder.path().join("words.pir"),
        ..keyed(address.as_ref(), "word", &[])
    };
    assert_eq!(refusal(&queried).to_string(), format!("{address} {text}"));
    for url in [
        "s3://bucket/words.papir",
        "gs://bucket/words.papir",
        "az://bucket/words.papir",
        "file:///words",
    ] {
        assert!(Location::is_address(url));
        let error = Location::parse(url, None, Settings::default()).unwrap_err();
        let text = "is an object store address, and this build of papir has no object store support: \
             build with the feature `cloud`";
        assert_eq!(error.code(), "missing_feature");
        assert_eq!(error.to_string(), format!("{url} {text}"));
    }
    let unknown = Location::parse("ftp://host/words", None, Settings::default()).unwrap_err();
    assert_eq!(unknown.code(), "bad_url");
}
