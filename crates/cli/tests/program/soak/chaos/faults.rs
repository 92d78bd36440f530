//! The faults: what each does, how long it lasts, and how it is undone.

use std::fs;
use std::io::Write;
use std::time::Duration;

use rustix::process::Signal;

use super::memory::MemoryLimit;
use super::owner::Database;
use super::services::{Place, Stage};
use super::shim::Setting;

/// A fault of one service, of its disk, clock or files, or of what it depends on.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fault {
    /// SIGTERM, a pause, and a new start.
    Restart(Place),
    /// SIGKILL, a pause, and a new start.
    Kill(Place),
    /// SIGSTOP, then SIGCONT: longer than most times for which programs wait for each other.
    Pause(Place),
    /// Each sync of a file takes 100 ms at the service without a proxy.
    SlowSync,
    /// Its disk has no room.
    FullDisk,
    /// Half of a served file is cut off in place, and all services are told to load it. The file
    /// comes back.
    TruncatedFile,
    /// The PostgreSQL server with the registry crashes, and starts again.
    RegistryAway,
    /// The time of day jumps at the service without a proxy, and back.
    ClockJump {
        /// Hours ahead; negative for back.
        hours: i64,
    },
    /// Another service has its address and tokens: its database has false values, and is signed by
    /// the owner's key as the first version, which clients know.
    LyingReplica,
    /// The service without a proxy may take 128 MiB more memory, and no more. If that kills it, it
    /// starts again.
    MemoryLimit,
}

/// What ends a fault.
pub(super) type Undo<'a> = Box<dyn FnOnce() + 'a>;

impl Fault {
    /// A stable name, for the record.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Restart(_) => "restart",
            Self::Kill(_) => "kill",
            Self::Pause(_) => "pause",
            Self::SlowSync => "slow_sync",
            Self::FullDisk => "full_disk",
            Self::TruncatedFile => "truncated_file",
            Self::RegistryAway => "registry_away",
            Self::ClockJump { .. } => "clock_jump",
            Self::LyingReplica => "lying_replica",
            Self::MemoryLimit => "memory_limit",
        }
    }

    /// The service with the fault; `None` for several.
    pub(super) fn place(self) -> Option<Place> {
        match self {
            Self::Restart(place) | Self::Kill(place) | Self::Pause(place) => Some(place),
            Self::TruncatedFile | Self::RegistryAway => None,
            _ => Some(Place::Alone),
        }
    }

    pub(super) fn lasts(self) -> Duration {
        Duration::from_secs(match self {
            Self::Restart(_) | Self::Kill(_) => 2,
            Self::Pause(_) => 90,
            Self::SlowSync | Self::MemoryLimit => 45,
            Self::FullDisk | Self::ClockJump { .. } => 30,
            Self::RegistryAway => 20,
            Self::LyingReplica => 15,
            Self::TruncatedFile => 10,
        })
    }

    /// Begins the fault. The result undoes it.
    pub(super) fn begin(self, stage: &Stage) -> Undo<'_> {
        match self {
            Self::Restart(place) => {
                let member = stage.member(place);
                member.stop();
                Box::new(move || member.start())
            }
            Self::Kill(place) => {
                let member = stage.member(place);
                member.kill();
                Box::new(move || member.start())
            }
            Self::Pause(place) => {
                let member = stage.member(place);
                member.signal(Signal::STOP);
                Box::new(move || member.signal(Signal::CONT))
            }
            Self::SlowSync => set(stage, Setting::SyncDelayMs, 100),
            Self::FullDisk => set(stage, Setting::DiskFull, 1),
            Self::TruncatedFile => truncate(stage),
            Self::RegistryAway => {
                stage.postgres.crash();
                Box::new(move || stage.postgres.start_again())
            }
            Self::ClockJump { hours } => set(stage, Setting::ClockAheadS, 3600 * hours),
            Self::LyingReplica => lie(stage),
            Self::MemoryLimit => limit_memory(stage),
        }
    }
}

/// Changes a setting of the disk or the clock, and then sets it to zero.
fn set(stage: &Stage, setting: Setting, value: i64) -> Undo<'_> {
    stage.shim.set(setting, value);
    Box::new(move || stage.shim.set(setting, 0))
}

/// Cuts the file of `words`. Nothing is published until it is back.
fn truncate(stage: &Stage) -> Undo<'_> {
    let held = stage.owner.hold();
    let file = stage.owner.file(Database::Words);
    let whole = fs::read(&file).unwrap();
    let half = whole.len() as u64 / 2;
    let cut = fs::OpenOptions::new().write(true).open(&file).unwrap();
    cut.set_len(half).unwrap();
    reload(stage);

    Box::new(move || {
        // By another name first: a reload must not see a part of it.
        let restored = format!("{file}.restored");
        let mut copy = fs::File::create(&restored).unwrap();
        copy.write_all(&whole).unwrap();
        fs::rename(&restored, &file).unwrap();
        reload(stage);
        drop(held);
    })
}

/// Tells all services to load their files.
fn reload(stage: &Stage) {
    for member in &stage.members {
        member.signal(Signal::HUP);
    }
}

/// Puts a lying service in the place of the one without a proxy.
fn lie(stage: &Stage) -> Undo<'_> {
    let member = stage.member(Place::Alone);
    member.stop();
    let registry = stage.folder.path("registry-of-lies");
    let liar = member.impersonate(&stage.owner.forged, &registry);

    Box::new(move || {
        drop(liar);
        member.start();
    })
}

/// Limits the memory of the service without a proxy.
fn limit_memory(stage: &Stage) -> Undo<'_> {
    let member = stage.member(Place::Alone);
    let limit = MemoryLimit::new(member.id().expect("a running service"));
    println!("memory is limited by {}", limit.way());

    Box::new(move || {
        drop(limit);
        if member.has_ended() {
            println!("the limit of memory has ended the service");
            member.kill();
            member.start();
        }
    })
}
