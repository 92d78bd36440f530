//! A disk and a clock that misbehave, in a library between a service and the C library.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::process::Command;

use crate::support::{Folder, isolated};

/// The library. It maps the file of SOAK_CONTROL, whose first three numbers of 64 bits are those of
/// [`Setting`]. Only regular files are full: sockets and pipes are not on the disk.
const SOURCE: &str = r#"
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t *control;

__attribute__((constructor)) static void open_control(void) {
    const char *path = getenv("SOAK_CONTROL");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) return;
    void *page = mmap(0, 4096, PROT_READ, MAP_SHARED, file, 0);
    close(file);
    if (page != MAP_FAILED) control = page;
}

static void wait_for_disk(void) {
    if (control && control[0] > 0) usleep(1000 * control[0]);
}

static int is_full(int file) {
    struct stat found;
    return control && control[1] && fstat(file, &found) == 0 && S_ISREG(found.st_mode);
}

int fsync(int file) {
    wait_for_disk();
    return syscall(SYS_fsync, file);
}

int fdatasync(int file) {
    wait_for_disk();
    return syscall(SYS_fdatasync, file);
}

ssize_t write(int file, const void *bytes, size_t length) {
    if (is_full(file)) {
        errno = ENOSPC;
        return -1;
    }
    return syscall(SYS_write, file, bytes, length);
}

ssize_t pwrite64(int file, const void *bytes, size_t length, off64_t place) {
    if (is_full(file)) {
        errno = ENOSPC;
        return -1;
    }
    return syscall(SYS_pwrite64, file, bytes, length, place);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    int failed = syscall(SYS_clock_gettime, clock, time);
    if (!failed && control && clock == CLOCK_REALTIME) time->tv_sec += control[2];
    return failed;
}
"#;

/// Length of the mapped file in bytes: a page.
const CONTROL_BYTES: usize = 4096;

/// A setting of the library, by its place in the control file. At 0 everything is as it should be.
#[derive(Clone, Copy)]
pub(super) enum Setting {
    /// Milliseconds that each sync of a file takes.
    SyncDelayMs,
    /// 1 while the disk is full.
    DiskFull,
    /// Seconds by which the time of day is ahead.
    ClockAheadS,
}

/// The compiled library, and its control file.
pub(super) struct Shim {
    library: String,
    path: String,
    control: File,
}

impl Shim {
    pub(super) fn new(folder: &Folder) -> Self {
        let source = folder.write("shim.c", SOURCE);
        let library = folder.path("shim.so");
        let compiled = Command::new("cc")
            .args(["-shared", "-fPIC", "-o", &library, &source])
            .status();
        assert!(compiled.unwrap().success());

        let path = folder.write("control", [0u8; CONTROL_BYTES]);
        let control = fs::OpenOptions::new().write(true).open(&path).unwrap();
        Self {
            library,
            path,
            control,
        }
    }

    /// The variables with which a service loads the library.
    pub(super) fn environment(&self) -> Vec<(&'static str, String)> {
        vec![
            ("LD_PRELOAD", self.library.clone()),
            ("SOAK_CONTROL", self.path.clone()),
        ]
    }

    /// Changes a setting of all services with the library, also of running ones.
    pub(super) fn set(&self, setting: Setting, value: i64) {
        let place = 8 * setting as u64;
        self.control
            .write_all_at(&value.to_ne_bytes(), place)
            .unwrap();
    }
}

/// Without the library, a service would withstand the faults of the disk and the clock that it never
/// sees.
#[test]
fn programs_see_the_full_disk_and_the_other_clock() {
    let folder = Folder::new();
    let shim = Shim::new(&folder);
    let python = |code: &str| {
        let mut command = isolated("python3");
        command
            .args(["-c", code, &folder.path("written")])
            .envs(shim.environment());
        let output = command.output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };

    let write = "import os, sys\n\
                 file = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY)\n\
                 try: print(os.write(file, b'four'))\n\
                 except OSError as error: print(error.errno)";
    assert_eq!(python(write), "4");
    shim.set(Setting::DiskFull, 1);
    let full = python(write);
    shim.set(Setting::DiskFull, 0);
    // Standard output is a pipe, which the disk does not fill.
    assert_eq!(full, "28", "ENOSPC");

    let seconds = "import time; print(int(time.clock_gettime(time.CLOCK_REALTIME)))";
    let now: i64 = python(seconds).parse().unwrap();
    shim.set(Setting::ClockAheadS, 7200);
    let ahead: i64 = python(seconds).parse().unwrap();
    assert!((7200..7500).contains(&(ahead - now)), "{now} {ahead}");

    shim.set(Setting::ClockAheadS, 0);
    shim.set(Setting::SyncDelayMs, 300);
    let sync = "import os, sys, time\n\
                file = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY)\n\
                begin = time.monotonic()\n\
                os.fsync(file)\n\
                print(time.monotonic() - begin >= 0.3)";
    assert_eq!(python(sync), "True");
}
