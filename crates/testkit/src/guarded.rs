//! Child processes that end with their test.

use std::io::Result;
use std::ops::{Deref, DerefMut};
use std::process::{Child, Command};

/// A child process that is killed when it is dropped, as by a test that fails.
pub struct GuardedChild(Child);

impl GuardedChild {
    /// Starts a command.
    ///
    /// # Errors
    /// The errors of [`Command::spawn`].
    pub fn spawn(command: &mut Command) -> Result<Self> {
        command.spawn().map(Self)
    }
}

impl Deref for GuardedChild {
    type Target = Child;

    fn deref(&self) -> &Child {
        &self.0
    }
}

impl DerefMut for GuardedChild {
    fn deref_mut(&mut self) -> &mut Child {
        &mut self.0
    }
}

impl Drop for GuardedChild {
    fn drop(&mut self) {
        // The process may have exited already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::io::Read;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::process::Stdio;
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn a_test_that_fails_leaves_no_process() {
        let begin = Instant::now();
        let mut command = Command::new("sleep");
        command.arg("600").stdout(Stdio::piped());
        let mut child = GuardedChild::spawn(&mut command).unwrap();
        let mut output = child.stdout.take().unwrap();

        let failed = catch_unwind(AssertUnwindSafe(|| {
            let _child = child;
            panic!("the test fails");
        }));
        assert!(failed.is_err());

        // Ends with the process, which holds the other end.
        assert_eq!(output.read_to_end(&mut Vec::new()).unwrap(), 0);
        assert!(begin.elapsed() < Duration::from_secs(300));
    }
}
