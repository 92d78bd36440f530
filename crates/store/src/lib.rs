//! Sources and prepared snapshots.
