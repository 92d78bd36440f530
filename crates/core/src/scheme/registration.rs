//! Numbers of registered clients' queries.

/// The next numbers of a registered client's state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StateNumbers {
    /// The number of the next unused ticket, which never decreases; below
    /// [`SENT_AHEAD`](super::SENT_AHEAD). `None` in schemes without tickets.
    pub ticket: Option<u64>,
    /// The number of the next query: that of a held key, with [`SENT_AHEAD`](super::SENT_AHEAD)
    /// added, or else the next ticket's.
    pub query: Option<u64>,
    /// The number of held keys. As many of the next queries need no ticket.
    pub held: usize,
}

impl StateNumbers {
    /// The numbers of a state without held keys, whose next query uses this ticket.
    pub const fn of_ticket(number: u64) -> Self {
        Self {
            ticket: Some(number),
            query: Some(number),
            held: 0,
        }
    }
}
