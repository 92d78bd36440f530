//! Panics in the log of a service.

use std::panic::set_hook;

/// Logs the place of every panic from now on, without its message: that may contain bytes of a
/// query.
pub(crate) fn log_places() {
    set_hook(Box::new(|panic| {
        let place = panic
            .location()
            .map(ToString::to_string)
            .unwrap_or_default();
        tracing::error!(place, "panicked");
    }));
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use std::io::{Read, Seek};
    use std::panic::{catch_unwind, take_hook};
    use std::sync::Arc;

    use super::*;

    #[test]
    fn the_log_has_the_place_of_a_panic_and_not_its_message() {
        let mut file = tempfile::tempfile().unwrap();
        let log = tracing_subscriber::fmt()
            .with_writer(Arc::new(file.try_clone().unwrap()))
            .finish();

        tracing::subscriber::with_default(log, || {
            log_places();
            let panicked = catch_unwind(|| panic!("a byte of the query: {}", 7));
            drop(take_hook());
            assert!(panicked.is_err());
        });

        let mut text = String::new();
        file.rewind().unwrap();
        file.read_to_string(&mut text).unwrap();
        assert!(
            text.contains("panicked") && text.contains("panics.rs:"),
            "{text}"
        );
        assert!(!text.contains("query"), "{text}");
    }
}
