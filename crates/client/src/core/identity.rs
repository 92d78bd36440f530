//! Identity of the place of client state: file, machine and boot.

/// The place of a slot, as hashes. Two copies of a state must never use the same tickets, so the
/// state of a scheme with tickets is bound to its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Hash of the identity of the slot's lock file. A copy of the slot has another value.
    pub slot: [u8; 32],
    /// Hash of the identities of the machine and its boot.
    pub boot: [u8; 32],
}
