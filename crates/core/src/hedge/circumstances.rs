//! Circumstances of random draws, in which copies of a machine differ.

use std::fs;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Identity of a boot of Linux, made when the kernel starts.
const BOOT: &str = "/proc/sys/kernel/random/boot_id";
/// WebAssembly in a browser has neither clock nor processes; asking for them would panic.
const IS_BARE_WASM: bool = cfg!(all(target_family = "wasm", target_os = "unknown"));

/// The number of draws of this process so far.
static DRAWS: AtomicU64 = AtomicU64::new(0);

/// Circumstances of a draw of random bytes, which distinguish it from the same draw on a copy of
/// the machine. They are not secret, and the privacy of queries does not depend on them while the
/// system's generator is good.
///
/// Two copies of a machine that draw in the same nanosecond have the same circumstances if the
/// numbers of their processes and draws are equal as well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Circumstances {
    /// Time of day in nanoseconds since 1970.
    clock: Option<u128>,
    process: Option<u32>,
    /// The number of the draw in this process.
    draw: Option<u64>,
    boot: Option<&'static [u8]>,
    /// The parts that the caller has added, each preceded by its length.
    place: Option<Vec<u8>>,
}

impl Circumstances {
    /// The circumstances of a draw that happens now: the clock, the process, the number of the draw
    /// in this process and, on Linux, the boot. No two calls in one process return the same. In
    /// WebAssembly in a browser only the number of the draw is known.
    pub fn now() -> Self {
        let draw = DRAWS.fetch_add(1, Ordering::Relaxed);
        Self {
            clock: clock(),
            process: process(),
            draw: Some(draw),
            boot: boot(),
            place: None,
        }
    }

    /// No circumstances, for tests and test vectors: the same random bytes then give the same
    /// result.
    pub fn none() -> Self {
        Self {
            clock: None,
            process: None,
            draw: None,
            boot: None,
            place: None,
        }
    }

    /// Adds a part that the caller knows, for example the place of a file.
    #[must_use]
    pub fn with(mut self, part: &[u8]) -> Self {
        let place = self.place.get_or_insert_default();
        // The length first: otherwise, two parts could give the same bytes as one.
        place.extend_from_slice(&(part.len() as u64).to_le_bytes());
        place.extend_from_slice(part);
        self
    }

    /// Clock, process, number of the draw, boot and the caller's parts, as bytes; `None` for a part
    /// that the system does not have.
    pub(super) fn parts(&self) -> [Option<Vec<u8>>; 5] {
        [
            self.clock.map(|clock| clock.to_le_bytes().to_vec()),
            self.process.map(|process| process.to_le_bytes().to_vec()),
            self.draw.map(|draw| draw.to_le_bytes().to_vec()),
            self.boot.map(<[u8]>::to_vec),
            self.place.clone(),
        ]
    }
}

fn clock() -> Option<u128> {
    // `SystemTime::now` panics there.
    if IS_BARE_WASM {
        return None;
    }
    let time = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    Some(time.as_nanos())
}

fn process() -> Option<u32> {
    (!cfg!(target_family = "wasm")).then(std::process::id)
}

/// The identity of the boot; `None` on systems other than Linux. It is read once, since it does not
/// change while a process lives.
fn boot() -> Option<&'static [u8]> {
    static IDENTITY: OnceLock<Option<Vec<u8>>> = OnceLock::new();
    IDENTITY
        .get_or_init(|| fs::read(BOOT).ok().filter(|_| cfg!(target_os = "linux")))
        .as_deref()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_draws_have_the_same_circumstances() {
        let draws: Vec<Circumstances> = (0..100).map(|_| Circumstances::now()).collect();
        for (number, draw) in draws.iter().enumerate() {
            assert!(!draws[..number].contains(draw), "{number}");
        }
    }

    /// Every part counts, and no part stands for another one.
    #[test]
    fn each_part_tells_circumstances_apart() {
        let none = Circumstances::none();
        let all = [
            none.clone(),
            Circumstances {
                clock: Some(7),
                ..none.clone()
            },
            Circumstances {
                process: Some(7),
                ..none.clone()
            },
            Circumstances {
                draw: Some(7),
                ..none.clone()
            },
            Circumstances {
                boot: Some(b"7"),
                ..none.clone()
            },
            none.clone().with(b"7"),
            none.clone().with(b"7").with(b""),
            none.clone().with(b"").with(b"7"),
        ];

        for (number, one) in all.iter().enumerate() {
            let parts = one.parts();
            assert!(
                !all[..number].iter().any(|other| other.parts() == parts),
                "{number}"
            );
        }
        assert_eq!(none, Circumstances::none());
    }

    /// A sandbox may hide the identity of the boot.
    #[cfg(target_os = "linux")]
    #[test]
    fn linux_tells_all_of_them() {
        let now = Circumstances::now();
        assert!(now.clock.is_some() && now.process.is_some() && now.draw.is_some());
        assert_eq!(now.boot.map(<[u8]>::to_vec), fs::read(BOOT).ok());
    }
}
