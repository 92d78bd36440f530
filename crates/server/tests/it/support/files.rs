//! Snapshot files and services that load them.

use std::path::{Path, PathBuf};

use papir_core::NoProgress;
use papir_server::{DatabaseConfig, ServerConfig};
use papir_store::BuildOptions;

use super::{key, rng, value};

/// A snapshot `name` of `count` keys in scheme `plain`.
pub fn build(directory: &Path, name: &str, count: u64, salt: &str) -> PathBuf {
    let (source, out) = (directory.join("source.csv"), directory.join(name));
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let lines: String = (0..count).map(|i| format!("{},{}\n", text(key(i)), text(value(i, salt)))).collect();
    std::fs::write(&source, format!("key,value\n{lines}")).unwrap();
    let options = BuildOptions {
        key: Some("key".into()),
        values: vec!["value".into()],
        scheme: "plain".into(),
        allow_not_private: true,
        ..BuildOptions::new(source, &out)
    };
    papir_store::build(&options, &mut rng(), &NoProgress).unwrap();
    out
}

/// A configuration that serves these files.
pub fn serving(paths: &[&Path]) -> ServerConfig {
    let databases = paths.iter().map(|path| DatabaseConfig::new(*path, None)).collect();
    ServerConfig { databases, max_queued: 1000, ..super::config() }
}
