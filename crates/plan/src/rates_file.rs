//! Rates files: the measured rates of machines.
//!
//! The default file is `papir/rates.json` in the user's data folder:
//!
//! ```json
//! {
//!   "format": 1,
//!   "backend": "avx512",
//!   "threads": 8,
//!   "one": { "select16": 2.9e-11, … },
//!   "all": { "select16": 1.1e-11, … },
//!   "group": { "select16": 1.4e-11, … },
//!   "device": {
//!     "name": "cuda:0 (…)",
//!     "memory": 149000000000,
//!     "one": { "select16": 2.3e-13, … },
//!     "group": { … }
//!   }
//! }
//! ```
//!
//! `one`, `all` and `group` give the seconds of each operation of [`papir_core::cost`]. Without
//! `group`, clients that are answered together cost the same as single ones. `device` has the
//! operations that a GPU performs, if one was measured.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use papir_core::Result as CoreResult;
use papir_core::cost::{DeviceRates, Operation, Rates};
use papir_kernels::Backend;
use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// Version of the file format.
const FORMAT: u32 = 1;
/// Maximum length of a file in bytes, far above the length of any valid file.
const MAX_BYTES: u64 = 1 << 16;
/// The end of the name of a file that is being written.
const UNFINISHED: &str = ".unfinished";

#[derive(Serialize, Deserialize)]
struct File {
    format: u32,
    /// The backend of the kernels that was measured.
    backend: String,
    threads: usize,
    one: BTreeMap<String, f64>,
    all: BTreeMap<String, f64>,
    #[serde(default)]
    group: BTreeMap<String, f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    device: Option<DeviceTable>,
}

#[derive(Serialize, Deserialize)]
struct DeviceTable {
    name: String,
    memory: u64,
    one: BTreeMap<String, f64>,
    group: BTreeMap<String, f64>,
}

/// A measured device with its name.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedDevice {
    /// The device's name and place, for example `cuda:0 (NVIDIA H200)`.
    pub name: String,
    /// The device's rates.
    pub rates: DeviceRates,
}

impl NamedDevice {
    /// Returns true if `place` is the device's place, for example `cuda:0`.
    pub fn is_at(&self, place: &str) -> bool {
        self.name.split(' ').next() == Some(place)
    }

    /// The device in the form of the file.
    fn table(&self) -> DeviceTable {
        let mut one = BTreeMap::new();
        let mut group = BTreeMap::new();
        for (op, [alone, in_group]) in self.rates.seconds() {
            one.insert(op.name().to_owned(), alone);
            group.insert(op.name().to_owned(), in_group);
        }

        DeviceTable {
            name: self.name.clone(),
            memory: self.rates.memory(),
            one,
            group,
        }
    }
}

impl DeviceTable {
    /// The device in this table. Refuses a table without a rate for each operation.
    fn device(self) -> CoreResult<NamedDevice> {
        let rates = DeviceRates::new(
            self.memory,
            |op| rate(&self.one, op),
            |op| rate(&self.group, op),
        )?;
        Ok(NamedDevice {
            name: self.name,
            rates,
        })
    }
}

/// Path of the user's rates file, in `XDG_DATA_HOME` or `~/.local/share`; `None` if the environment
/// has neither `XDG_DATA_HOME` nor `HOME`.
pub fn default_path() -> Option<PathBuf> {
    let data = match folder_in("XDG_DATA_HOME") {
        Some(data) => data,
        None => folder_in("HOME")?.join(".local/share"),
    };
    Some(data.join("papir/rates.json"))
}

/// The folder in an environment variable; `None` if it is not set or empty.
fn folder_in(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable)
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
}

/// A machine's rates and their origin.
#[derive(Clone, Debug)]
pub struct LoadedRates {
    /// The rates.
    pub rates: Rates,
    /// "measured" or "built in".
    pub origin: &'static str,
    /// A description of the origin, for output.
    pub description: String,
    /// The device that was measured with the rates; `None` if there is none.
    pub device: Option<NamedDevice>,
}

/// Loads the rates from the file `named`, else from the user's file if it exists. Otherwise returns
/// the built-in rates.
///
/// # Errors
/// The errors of [`read`], also if the file `named` does not exist.
pub fn load(named: Option<&Path>) -> Result<LoadedRates> {
    let path = named.map(Path::to_owned).or_else(default_path);

    // A missing file is an error only if the caller named it.
    match path.filter(|path| named.is_some() || path.exists()) {
        Some(path) => {
            let description = format!("measured on this machine ({})", path.display());
            let (rates, device) = read(&path)?;
            Ok(LoadedRates {
                rates,
                origin: "measured",
                description,
                device,
            })
        }
        None => {
            let description =
                "built in, for a modest machine (measure yours: papir plan --calibrate)".to_owned();
            Ok(LoadedRates {
                rates: Rates::BUILT_IN,
                origin: "built in",
                description,
                device: None,
            })
        }
    }
}

/// Writes the rates of this machine and of a device to a file, and creates its parent folders.
///
/// # Errors
/// [`Error::Write`] if the file cannot be written, and [`Error::Backend`] for an unusable
/// `PAPIR_BACKEND`.
pub fn write(path: &Path, rates: &Rates, device: Option<&NamedDevice>) -> Result<()> {
    let file = File {
        format: FORMAT,
        backend: Backend::try_from_env()?.name().to_owned(),
        threads: rates.threads(),
        one: table_of(|op| rates.one(op)),
        all: table_of(|op| rates.all(op)),
        group: table_of(|op| rates.group(op)),
        device: device.map(NamedDevice::table),
    };
    let text = serde_json::to_string_pretty(&file).map_err(|error| unwritable(path, error))?;

    let folder = path.parent().unwrap_or(Path::new(""));
    fs::create_dir_all(folder).map_err(|error| unwritable(path, error))?;
    replace(path, &(text + "\n")).map_err(|error| unwritable(path, error))
}

/// Replaces a file by this text. A reader, and the disk after a crash, has the old text or the new
/// one, never a part of it. The new file has the permissions of the old one.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    // A link keeps its target: without this the rename would replace the link.
    let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let former = fs::metadata(path).ok();
    if former.as_ref().is_some_and(|found| !found.is_file()) {
        // A rename would put a file in the place of a device or a pipe.
        return fs::write(path, text);
    }

    // In the same folder, because a rename does not cross file systems.
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}{UNFINISHED}", std::process::id()));
    let unfinished = path.with_file_name(name);

    let replaced = write_durably(&unfinished, text)
        .and_then(|()| match former {
            Some(former) => fs::set_permissions(&unfinished, former.permissions()),
            None => Ok(()),
        })
        .and_then(|()| fs::rename(&unfinished, path));
    if replaced.is_err() {
        // A full disk has refused the text already; the error of that is the one to report.
        let _ = fs::remove_file(&unfinished);
    }
    replaced
}

/// Writes a file, which is on disk on return.
fn write_durably(path: &Path, text: &str) -> io::Result<()> {
    let mut file = fs::File::create(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// Reads a rates file written by [`write()`]. Returns the machine's rates and its device.
///
/// # Errors
/// [`Error::Rates`] for a file that cannot be read, or has other contents.
pub fn read(path: &Path) -> Result<(Rates, Option<NamedDevice>)> {
    // Before the file is read: another file may be of any length.
    let metadata = fs::metadata(path).map_err(|error| unreadable(path, error))?;
    let bytes = metadata.len();
    if bytes > MAX_BYTES {
        return Err(unreadable(path, format!("{bytes} bytes")));
    }

    let text = fs::read_to_string(path).map_err(|error| unreadable(path, error))?;
    let file: File = serde_json::from_str(&text).map_err(|error| unreadable(path, error))?;
    if file.format != FORMAT {
        let found = format!("format {}", file.format);
        return Err(unreadable(path, found));
    }

    let rates = file.rates().map_err(|error| unreadable(path, error))?;
    let device = match file.device {
        Some(table) => Some(table.device().map_err(|error| unreadable(path, error))?),
        None => None,
    };
    Ok((rates, device))
}

impl File {
    /// The machine's rates. Refuses a file without a rate for each operation.
    fn rates(&self) -> CoreResult<Rates> {
        let group = if self.group.is_empty() {
            &self.one
        } else {
            &self.group
        };
        let rates = Rates::new(
            self.threads,
            |op| rate(&self.one, op),
            |op| rate(&self.all, op),
        )?;
        rates.with_groups(|op| rate(group, op))
    }
}

/// A table of the rates of all operations by name.
fn table_of(rate: impl Fn(Operation) -> f64) -> BTreeMap<String, f64> {
    Operation::ALL
        .into_iter()
        .map(|op| (op.name().to_owned(), rate(op)))
        .collect()
}

/// The rate of an operation; NaN, which is refused, if the table does not have it.
fn rate(table: &BTreeMap<String, f64>, op: Operation) -> f64 {
    table.get(op.name()).copied().unwrap_or(f64::NAN)
}

fn unwritable(path: &Path, reason: impl ToString) -> Error {
    Error::Write {
        file: path.to_owned(),
        reason: reason.to_string(),
    }
}

fn unreadable(path: &Path, reason: impl ToString) -> Error {
    Error::Rates {
        file: path.to_owned(),
        reason: reason.to_string(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn rates_round_trip_through_their_file() {
        let folder = std::env::temp_dir().join(format!("papir-rates-{}", std::process::id()));
        let path = folder.join("deeper/rates.json");
        let rates = Rates::new(4, |op| 1e-9 * (1 + op as usize) as f64, |_| 1e-10).unwrap();
        let rates = rates
            .with_groups(|op| 1e-9 / (1 + op as usize) as f64)
            .unwrap();
        let device = DeviceRates::new(1 << 37, |op| 0.5f64.powi(40 + op as i32), |_| 0.5).unwrap();
        let device = NamedDevice {
            name: "cuda:0 (a GPU)".to_owned(),
            rates: device,
        };
        assert!(device.is_at("cuda:0") && !device.is_at("cuda:01"));

        write(&path, &rates, Some(&device)).unwrap();
        let (again, found) = read(&path).unwrap();
        let found = found.unwrap();
        assert_eq!((found.name, found.rates.memory()), (device.name, 1 << 37));
        for ((_, found), (op, expected)) in found.rates.seconds().zip(device.rates.seconds()) {
            for (a, b) in found.into_iter().zip(expected) {
                assert!((a / b - 1.0).abs() < 1e-12, "{op:?}: {a} {b}");
            }
        }
        assert_eq!(again.threads(), 4);
        for op in Operation::ALL {
            let near = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-12;
            assert!(
                near(again.one(op), rates.one(op)) && near(again.all(op), rates.all(op)),
                "{again:?}"
            );
            assert!(near(again.group(op), rates.group(op)), "{again:?}");
        }

        let text = fs::read_to_string(&path).unwrap();
        for (from, to) in [
            ("\"format\": 1", "\"format\": 2"),
            ("\"threads\": 4", "\"threads\": 0"),
            ("\"word\"", "\"words\""),
            ("1e-10", "-1e-10"),
            ("{", ""),
        ] {
            assert!(text.contains(from), "{from} is not in {text}");
            fs::write(&path, text.replacen(from, to, 1)).unwrap();
            let error = read(&path).unwrap_err().to_string();
            assert!(
                error.contains("rates.json") && error.contains("--calibrate"),
                "{error}"
            );
        }

        fs::write(&path, vec![b' '; 1 << 17]).unwrap();
        assert!(
            read(&path)
                .unwrap_err()
                .to_string()
                .contains("131072 bytes")
        );
        fs::remove_dir_all(folder).unwrap();
        assert!(read(&path).is_err());
    }

    /// A hard link keeps the file that a write in place would have changed.
    #[test]
    fn a_rates_file_is_replaced_as_a_whole() {
        let folder = std::env::temp_dir().join(format!("papir-replaced-{}", std::process::id()));
        let path = folder.join("rates.json");
        let old = folder.join("old.json");

        write(&path, &Rates::BUILT_IN, None).unwrap();
        fs::hard_link(&path, &old).unwrap();
        let rates = Rates::new(4, |_| 1e-9, |_| 1e-10).unwrap();
        write(&path, &rates, None).unwrap();

        assert_eq!(read(&old).unwrap().0.threads(), Rates::BUILT_IN.threads());
        assert_eq!(read(&path).unwrap().0.threads(), 4);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);

        // A folder in its place refuses the new file, of which nothing stays.
        let taken = folder.join("taken.json");
        fs::create_dir(&taken).unwrap();
        let error = write(&taken, &rates, None).unwrap_err();
        assert!(matches!(error, Error::Write { .. }), "{error}");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 3);

        fs::remove_dir_all(folder).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn permissions_are_kept_and_special_files_stay() {
        use std::os::unix::fs::{FileTypeExt, PermissionsExt};

        let folder = std::env::temp_dir().join(format!("papir-kept-{}", std::process::id()));
        let path = folder.join("rates.json");
        write(&path, &Rates::BUILT_IN, None).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        write(&path, &Rates::BUILT_IN, None).unwrap();
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o640
        );

        // A socket refuses to be written, and a rename would have removed it.
        let socket = folder.join("socket");
        let listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        assert!(write(&socket, &Rates::BUILT_IN, None).is_err());
        assert!(fs::metadata(&socket).unwrap().file_type().is_socket());

        drop(listener);
        fs::remove_dir_all(folder).unwrap();
    }
}
