//! Certificate log: its entries in files, and the service that auditors query.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use papir::{BucketTarget, NoProgress, system_rng};
use papir_core::Run;
use papir_server::{DatabaseConfig, RegistryConfig, ReloadHandle, Server, ServerConfig};
use papir_store::{BuildOptions, UpdateOptions};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::certificates::{TimestampedCertificate, key};
use crate::{BATCH, Result, timed};

/// Columns of the files of entries.
const HASH: &str = "leaf_hash";
const ENTRY: &str = "entry";
/// Free room in the table for later entries, in per cent.
const ROOM: u32 = 20;

/// A log and its service on a free port of this machine. The service stops when the log is dropped.
pub(crate) struct Log {
    folder: TempDir,
    entries: u64,
    url: String,
    reload: ReloadHandle,
    runtime: Runtime,
}

/// The cost of adding entries.
pub(crate) struct Growth {
    pub(crate) update: Duration,
    /// Time in which the service loads the new version and swaps it in.
    pub(crate) reload: Duration,
}

impl Log {
    /// Prepares a log of this many entries, and serves it.
    pub(crate) fn serve(entries: u64) -> Result<Self> {
        let folder = TempDir::new()?;
        build(&folder, entries)?;
        let runtime = Runtime::new()?;
        let server = runtime.block_on(Server::bind(configuration(&folder)?))?;
        let url = server.url();
        let reload = server.reload_handle();
        runtime.spawn(server.serve(std::future::pending()));
        Ok(Self {
            folder,
            entries,
            url,
            reload,
            runtime,
        })
    }

    /// Number of entries.
    pub(crate) fn entries(&self) -> u64 {
        self.entries
    }

    /// The service's address.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Adds certificates in a new version of the database, which the service loads. The service then
    /// updates the tickets of its auditors.
    pub(crate) fn grow(&mut self, count: u64) -> Result<Growth> {
        let end = self.entries + count;
        let ((), update) = timed(|| self.update(end))?;
        let ((), reload) = timed(|| self.swap())?;
        self.entries = end;
        Ok(Growth { update, reload })
    }

    fn update(&self, end: u64) -> Result<()> {
        let changes = write_entries(&self.folder, "changes.csv", self.entries, end)?;
        let options = UpdateOptions::new(snapshot(&self.folder), changes);
        papir_store::update(&options, &mut Run::new(&mut system_rng(), &NoProgress))?;
        Ok(())
    }

    fn swap(&self) -> Result<()> {
        let loaded = self.runtime.block_on(self.reload.reload())?;
        loaded
            .into_iter()
            .try_for_each(|database| database.outcome.map(drop))?;
        Ok(())
    }
}

/// Prepares the first version of the log's database.
fn build(folder: &TempDir, entries: u64) -> Result<()> {
    let source = write_entries(folder, "entries.csv", 0, entries)?;
    let options = BuildOptions {
        scheme: "zip".to_owned(),
        key: Some(HASH.to_owned()),
        values: vec![ENTRY.to_owned()],
        // Short records make short columns, and thus few ciphertexts per ticket.
        bucket: Some(BucketTarget::Grow(128)),
        room: ROOM,
        ..BuildOptions::new(source, snapshot(folder))
    };
    papir_store::Build::new(&options).run(&mut Run::new(&mut system_rng(), &NoProgress))?;
    Ok(())
}

/// Writes the entries from `start` to `end` as CSV. Returns the file's path.
fn write_entries(folder: &TempDir, name: &str, start: u64, end: u64) -> Result<PathBuf> {
    let path = folder.path().join(name);
    let row = |number| {
        format!(
            "{},{number}\n",
            key(&TimestampedCertificate::of_entry(number).leaf_hash())
        )
    };
    fs::write(
        &path,
        format!("{HASH},{ENTRY}\n") + &(start..end).map(row).collect::<String>(),
    )?;
    Ok(path)
}

fn snapshot(folder: &TempDir) -> PathBuf {
    folder.path().join("log.papir")
}

/// Returns the settings of the service: tickets for a whole batch are ready for each auditor.
fn configuration(folder: &TempDir) -> Result<ServerConfig> {
    let registry = RegistryConfig::new(folder.path().join("registry"));
    Ok(ServerConfig {
        listen: "127.0.0.1:0".parse()?,
        databases: vec![DatabaseConfig::new(snapshot(folder), None)],
        registry: Some(RegistryConfig {
            tickets_ahead: BATCH as u64,
            ..registry
        }),
        ..ServerConfig::default()
    })
}
