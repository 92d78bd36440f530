//! Identity of a slot: hashes of lock file, machine, boot.
//!
//! Only hashes are stored, because the identity of a machine is confidential (`man machine-id`).

use std::fs::{self, File, Metadata};
use std::time::UNIX_EPOCH;

use crate::core::Place;

/// Identity of a Linux machine, made at its installation.
const MACHINE: &str = "/etc/machine-id";
/// Identity of a boot of Linux, made when the kernel starts.
const BOOT: &str = "/proc/sys/kernel/random/boot_id";

/// The identities of this machine and its boot; `None` on systems that do not have them.
pub(super) struct Host {
    machine: Option<Vec<u8>>,
    boot: Option<Vec<u8>>,
}

impl Host {
    /// Reads the identities of this machine. Only Linux has both.
    pub(super) fn this() -> Self {
        Self {
            machine: fs::read(MACHINE).ok(),
            boot: fs::read(BOOT).ok(),
        }
    }
}

/// The place of the slot with this lock file; `None` if the system has no identities of files.
pub(super) fn of_slot(lock: &File, host: &Host) -> Option<Place> {
    let file = lock
        .metadata()
        .ok()
        .and_then(|metadata| file_identity(&metadata))?;
    Some(Place {
        slot: hash("papir client state: lock file", &[Some(&file)]),
        boot: hash(
            "papir client state: boot",
            &[host.machine.as_deref(), host.boot.as_deref()],
        ),
    })
}

/// Device, inode and time of creation of a file, as far as the system has them. A system may give
/// the inode of a removed file to its copy, but not its time of creation.
fn file_identity(metadata: &Metadata) -> Option<Vec<u8>> {
    let created = metadata
        .created()
        .ok()
        .and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let created = created.map(|time| time.as_nanos().to_le_bytes());

    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let numbers = [metadata.dev(), metadata.ino()].map(u64::to_le_bytes);
        Some(
            [
                numbers.as_flattened(),
                created.as_ref().map_or(&[], |time| &time[..]),
            ]
            .concat(),
        )
    }
    #[cfg(not(unix))]
    created.map(|time| time.to_vec())
}

/// The hash of parts, some of which may be missing, with a context string for one purpose.
fn hash(purpose: &str, parts: &[Option<&[u8]>]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key(purpose);
    for part in parts {
        hasher.update(&[u8::from(part.is_some())]);
        let part = part.unwrap_or_default();
        hasher
            .update(&(part.len() as u64).to_le_bytes())
            .update(part);
    }
    hasher.finalize().into()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn host(machine: &str, boot: Option<&str>) -> Host {
        Host {
            machine: Some(machine.into()),
            boot: boot.map(Into::into),
        }
    }

    #[test]
    fn a_place_changes_with_the_file_the_machine_and_the_boot() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let copy = folder.path().join("b");
        let here = host("machine", Some("boot"));
        let of = |path, host: &Host| of_slot(&File::open(path).unwrap(), host).unwrap();
        fs::write(&path, []).unwrap();
        fs::copy(&path, &copy).unwrap();
        let first = of(&path, &here);

        assert_eq!(of(&path, &here), first);
        assert_ne!(of(&copy, &here).slot, first.slot);
        assert_eq!(of(&copy, &here).boot, first.boot);

        // A copy that takes the place of the first file.
        fs::remove_file(&path).unwrap();
        fs::copy(&copy, &path).unwrap();
        assert_ne!(of(&path, &here).slot, first.slot);

        let hosts = [
            host("another", Some("boot")),
            host("machine", Some("next")),
            host("machine", None),
        ];
        let mut boots: Vec<_> = hosts.iter().map(|host| of(&copy, host)).collect();
        boots.push(of(&copy, &here));
        for (number, place) in boots.iter().enumerate() {
            assert!(
                place.slot == boots[0].slot && !boots[..number].contains(place),
                "{number}"
            );
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn linux_tells_the_boot() {
        let host = Host::this();
        assert_eq!(
            host.boot.as_ref().unwrap().len(),
            37,
            "a UUID and a line feed"
        );
        assert_eq!(host.boot, Host::this().boot);
    }
}
