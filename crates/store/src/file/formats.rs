//! Format numbers of files, written and read.
//!
//! To change a format, raise `written` here, keep the reader of the older numbers, and record
//! fixtures: see "Compatibility" in `docs/formats.md`.

use papir_core::Formats;

/// Snapshot files.
pub const SNAPSHOT: Formats = Formats {
    what: "a snapshot",
    oldest: 1,
    written: 1,
    renew: "build it again from its source: `papir build …`",
};

/// Manifests of snapshots in object stores.
pub const MANIFEST: Formats = Formats {
    what: "a manifest",
    oldest: 1,
    written: 1,
    renew: "push the snapshot again: `papir push …`",
};

/// Prepared sets for private intersection.
pub const SET: Formats = Formats {
    what: "a prepared set",
    oldest: 1,
    written: 1,
    renew: "prepare it again from its source: `papir psi prepare …`",
};
