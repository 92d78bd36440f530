//! The place of client state: its file, machine and boot.

/// The place of a slot, as hashes. Tickets must never be used from two copies of a state, so that a
/// state of a scheme with tickets is bound to its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Identifies the slot. A copy of the slot has another value.
    pub slot: [u8; 32],
    /// Identifies the machine and its boot.
    pub boot: [u8; 32],
}
