//! The memory of processes: samples, growth, and limits.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use papir_testkit::GuardedChild;
use rustix::process::{Pid, Resource, Rlimit, prlimit};

use super::services::Stage;
use crate::support::isolated;

/// Time between two samples.
const INTERVAL: Duration = Duration::from_secs(2);
/// Memory that a limited service may take beyond what it has, in bytes.
const ALLOWED: u64 = 128 << 20;
/// The folder of control groups.
const GROUPS: &str = "/sys/fs/cgroup";

/// The resident memory of a process in bytes, at a time since the start of the run.
#[derive(Clone, Copy)]
struct Sample {
    seconds: f64,
    bytes: u64,
}

/// Samples of the services and of the clients, which are threads of this process.
pub(super) struct Memory {
    names: Vec<&'static str>,
    samples: Vec<Mutex<Vec<Sample>>>,
}

/// The growth of a process during a run.
pub(super) struct Growth {
    pub(super) name: &'static str,
    /// Medians of the first and of the last quarter of the samples, in bytes.
    pub(super) first_quarter: u64,
    pub(super) last_quarter: u64,
    /// Slope of the line through the samples after the first quarter, in bytes an hour.
    pub(super) slope: f64,
}

impl Memory {
    pub(super) fn new(stage: &Stage) -> Self {
        let mut names: Vec<_> = stage.members.iter().map(|one| one.place.name()).collect();
        names.push("clients");
        let samples = names.iter().map(|_| Mutex::default()).collect();
        Self { names, samples }
    }

    /// Takes samples until the run ends. A stopped service has none.
    pub(super) fn sample_until(&self, stage: &Stage, ended: &AtomicBool) {
        let begin = Instant::now();
        while !ended.load(Ordering::SeqCst) {
            let services = stage.members.iter().map(|member| member.id());
            let all = services.chain([Some(std::process::id())]);
            for (samples, id) in self.samples.iter().zip(all) {
                let Some(bytes) = id.and_then(|id| status_bytes(id, "VmRSS:")) else {
                    continue;
                };
                let seconds = begin.elapsed().as_secs_f64();
                let mut samples = samples.lock().unwrap_or_else(PoisonError::into_inner);
                samples.push(Sample { seconds, bytes });
            }
            sleep(INTERVAL);
        }
    }

    /// The last sample of each process in bytes, with its name.
    pub(super) fn last(&self) -> Vec<(&'static str, u64)> {
        let pairs = self.names.iter().zip(&self.samples);
        pairs
            .map(|(&name, samples)| {
                let samples = samples.lock().unwrap_or_else(PoisonError::into_inner);
                (name, samples.last().map_or(0, |sample| sample.bytes))
            })
            .collect()
    }

    /// The growth of each process. Call it once enough samples have been taken.
    pub(super) fn growth(&self) -> Vec<Growth> {
        let pairs = self.names.iter().zip(&self.samples);
        pairs
            .map(|(&name, samples)| {
                let samples = samples.lock().unwrap_or_else(PoisonError::into_inner);
                growth(name, &samples)
            })
            .collect()
    }
}

fn growth(name: &'static str, samples: &[Sample]) -> Growth {
    let quarter = samples.len() / 4;
    Growth {
        name,
        first_quarter: median(&samples[..quarter]),
        last_quarter: median(&samples[samples.len() - quarter..]),
        slope: 3600.0 * slope(&samples[quarter..]),
    }
}

/// The median in bytes; 0 of nothing.
fn median(samples: &[Sample]) -> u64 {
    let mut sorted: Vec<u64> = samples.iter().map(|sample| sample.bytes).collect();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
}

/// The slope of the line through samples by least squares, in bytes a second; 0 of fewer than two.
fn slope(samples: &[Sample]) -> f64 {
    let count = samples.len() as f64;
    let mean_time = samples.iter().map(|one| one.seconds).sum::<f64>() / count;
    let mean_bytes = samples.iter().map(|one| one.bytes as f64).sum::<f64>() / count;

    let mut covariance = 0.0;
    let mut variance = 0.0;
    for sample in samples {
        let time = sample.seconds - mean_time;
        covariance += time * (sample.bytes as f64 - mean_bytes);
        variance += time * time;
    }
    if variance > 0.0 {
        covariance / variance
    } else {
        0.0
    }
}

/// A number of bytes in the status of a process; `None` if it has ended.
fn status_bytes(id: u32, name: &str) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kibibytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kibibytes << 10)
}

/// A limit of a process's memory, which ends when it is dropped.
pub(super) enum MemoryLimit {
    /// By a control group of its own.
    Group {
        id: u32,
        own: PathBuf,
        from: PathBuf,
    },
    /// By the size of its address space.
    AddressSpace { id: u32 },
}

impl MemoryLimit {
    /// Limits a process to what it has and [`ALLOWED`].
    pub(super) fn new(id: u32) -> Self {
        match Self::by_group(id) {
            Some(limit) => limit,
            None => {
                let size = status_bytes(id, "VmSize:").expect("a running service");
                limit_address_space(id, Some(size + ALLOWED));
                Self::AddressSpace { id }
            }
        }
    }

    /// The limit by a control group; `None` if this user may not make one.
    fn by_group(id: u32) -> Option<Self> {
        let (from, setting) = group_of_memory()?;
        let own = from.join(format!("papir-soak-{id}"));
        fs::create_dir(&own).ok()?;

        // Dropped if a step fails, which undoes the ones before it.
        let limit = Self::Group {
            id,
            own: own.clone(),
            from,
        };
        // What the process has stays with the old group.
        fs::write(own.join(setting), ALLOWED.to_string()).ok()?;
        fs::write(own.join("cgroup.procs"), id.to_string()).ok()?;
        Some(limit)
    }

    pub(super) fn way(&self) -> &'static str {
        match self {
            Self::Group { .. } => "control group",
            Self::AddressSpace { .. } => "address space",
        }
    }
}

impl Drop for MemoryLimit {
    fn drop(&mut self) {
        match self {
            // A process that was killed is in no group.
            Self::Group { id, own, from } => {
                let _ = fs::write(from.join("cgroup.procs"), id.to_string());
                let _ = fs::remove_dir(own);
            }
            Self::AddressSpace { id } => limit_address_space(*id, None),
        }
    }
}

/// Sets the size of an address space in bytes; `None` for no limit. A process that has ended has
/// none.
fn limit_address_space(id: u32, bytes: Option<u64>) {
    let limit = Rlimit {
        current: bytes,
        maximum: None,
    };
    // No process would stand for this one.
    if let Some(process) = i32::try_from(id).ok().and_then(Pid::from_raw) {
        let _ = prlimit(Some(process), Resource::As, limit);
    }
}

/// This process's control group for memory, and the file of its limit.
fn group_of_memory() -> Option<(PathBuf, &'static str)> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let of_version_1 = groups.lines().find_map(|line| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        let is_memory = controllers.split(',').any(|one| one == "memory");
        is_memory.then(|| (group_at("memory", path), "memory.limit_in_bytes"))
    });
    of_version_1.or_else(|| {
        let path = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
        Some((group_at("", path), "memory.max"))
    })
}

/// The folder of a group. In a container its path may be that of the machine outside, and the root of
/// its own groups is at the top.
fn group_at(controller: &str, path: &str) -> PathBuf {
    let top = Path::new(GROUPS).join(controller);
    let inner = top.join(path.trim_start_matches('/'));
    if inner.is_dir() { inner } else { top }
}

#[test]
fn growth_is_a_slope_and_two_medians() {
    let line = |per_second: f64| -> Vec<Sample> {
        (0..100)
            .map(|number| Sample {
                seconds: f64::from(number),
                bytes: (1_000_000.0 + per_second * f64::from(number)) as u64,
            })
            .collect()
    };
    let flat = growth("flat", &line(0.0));
    assert_eq!(
        (flat.first_quarter, flat.last_quarter),
        (1_000_000, 1_000_000)
    );
    assert!(flat.slope.abs() < 1.0, "{}", flat.slope);

    let grown = growth("grown", &line(10.0));
    assert_eq!(
        (grown.first_quarter, grown.last_quarter),
        (1_000_120, 1_000_870)
    );
    assert!((grown.slope - 36_000.0).abs() < 1.0, "{}", grown.slope);
    assert_eq!(growth("nothing", &[]).first_quarter, 0);
}

#[test]
fn a_limit_of_the_address_space_ends() {
    let mut command = isolated("sleep");
    let child = GuardedChild::spawn(command.arg("600")).unwrap();
    let limits = || fs::read_to_string(format!("/proc/{}/limits", child.id())).unwrap();
    let before = limits();

    limit_address_space(child.id(), Some(1 << 30));
    assert!(limits().contains("1073741824"), "{}", limits());
    drop(MemoryLimit::AddressSpace { id: child.id() });
    assert_eq!(limits(), before);
}
