//! Outcome of a subcommand.

use std::fmt;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use papir_core::without_passwords;

/// Exit code of a failure.
const FAILED: u8 = 2;
/// Exit code of a failure that a later attempt may not have.
const FAILED_FOR_NOW: u8 = 3;
/// Exit code of a program whose output nobody reads any more, as shells report it: 128 + SIGPIPE.
const UNREAD: u8 = 141;

/// A subcommand's exit code, or a failure.
pub(crate) type Outcome = Result<ExitCode, Failure>;

/// A failed command. Always prints as one line.
#[derive(Debug)]
pub(crate) struct Failure {
    message: String,
    kind: FailureKind,
}

/// The exit code of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FailureKind {
    /// The same command fails again.
    Lasting,
    /// A later attempt may succeed: the server is busy, not ready, or out of reach.
    Temporary,
    /// The reader of stdout has ended, such as `head`. It has what it wanted.
    Unread,
}

impl Failure {
    /// Creates a failure with this message. Passwords of addresses are hidden: messages end up in
    /// logs and in reports to others.
    pub(crate) fn new(message: impl fmt::Display) -> Self {
        Self {
            message: without_passwords(&one_line(&message.to_string())),
            kind: FailureKind::Lasting,
        }
    }

    /// Creates a failure about a file.
    pub(crate) fn at(path: &Path, error: impl fmt::Display) -> Self {
        Self::new(format!("{}: {error}", path.display()))
    }
}

impl Failure {
    /// The exit code of the program.
    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self.kind {
            FailureKind::Lasting => FAILED,
            FailureKind::Temporary => FAILED_FOR_NOW,
            FailureKind::Unread => UNREAD,
        })
    }

    /// Returns whether the user should read of it.
    pub(crate) fn is_shown(&self) -> bool {
        self.kind != FailureKind::Unread
    }
}

impl<E: std::error::Error + 'static> From<E> for Failure {
    fn from(error: E) -> Self {
        let any: &(dyn std::error::Error + 'static) = &error;

        let of_client = any
            .downcast_ref()
            .is_some_and(papir_client::Error::is_retryable);
        let of_store = any.downcast_ref().is_some_and(is_temporary);
        let of_server = any
            .downcast_ref()
            .is_some_and(papir_server::Error::is_temporary);

        let kind = if is_unread(any) {
            FailureKind::Unread
        } else if of_client || of_store || of_server {
            FailureKind::Temporary
        } else {
            FailureKind::Lasting
        };
        Self {
            kind,
            ..Self::new(error)
        }
    }
}

/// Returns whether the reader of the output has ended. Only output is written without an error of
/// its own kind, except by benchmarks.
fn is_unread(error: &(dyn std::error::Error + 'static)) -> bool {
    let output = match error.downcast_ref() {
        Some(papir_measure::Error::Output(output)) => Some(output),
        _ => error.downcast_ref::<io::Error>(),
    };
    output.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// Returns whether a command may succeed later: the object store or the network failed.
fn is_temporary(error: &papir_store::Error) -> bool {
    matches!(error, papir_store::Error::Remote(remote) if remote.is_temporary())
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Returns a text as one line without control characters: a service's text must not control a
/// terminal.
pub(crate) fn one_line(text: &str) -> String {
    let line = text.lines().map(str::trim).collect::<Vec<_>>().join(" ");

    line.replace('\t', " ")
        .replace(char::is_control, "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_lines_become_one() {
        assert_eq!(Failure::new("a\n  b\n\nc").to_string(), "a b  c");
    }

    #[test]
    fn a_message_has_no_password() {
        let message = Failure::new("http://u:secret@h: refused").to_string();
        assert_eq!(message, "http://u:***@h: refused");
    }

    #[test]
    fn a_message_does_not_control_the_terminal() {
        let message = Failure::new("a\u{1b}]0;title\u{7}b\rc\u{9b}2J").to_string();
        assert_eq!(message, "a\u{fffd}]0;title\u{fffd}b\u{fffd}c\u{fffd}2J");
    }

    #[test]
    fn only_errors_that_may_pass_are_retryable() {
        let http = |status| papir_client::Error::Http {
            url: String::new(),
            status,
            code: String::new(),
            message: String::new(),
            current: None,
        };

        for (status, retryable) in [
            (429, true),
            (503, true),
            (500, false),
            (401, false),
            (409, false),
        ] {
            let kind = match retryable {
                true => FailureKind::Temporary,
                false => FailureKind::Lasting,
            };
            assert_eq!(Failure::from(http(status)).kind, kind, "{status}");
        }

        // An answer that does not decode is final.
        let damaged = papir_client::Error::Core(papir_core::Error::NotDecodable);
        assert_eq!(Failure::from(damaged).kind, FailureKind::Lasting);
    }

    #[test]
    fn a_reader_that_has_ended_needs_no_message() {
        let closed = Failure::from(io::Error::from(io::ErrorKind::BrokenPipe));
        assert!(!closed.is_shown());

        let other = Failure::from(io::Error::from(io::ErrorKind::StorageFull));
        assert!(other.is_shown());
    }
}
