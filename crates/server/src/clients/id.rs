//! Client ids.

use std::fmt;
use std::str::FromStr;

/// Id of a registered client: 128 random bits, a capability for the client's keys and tickets.
///
/// Printed as 32 hexadecimal digits to the client and the operator, never to a log.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ClientId(u128);

impl ClientId {
    /// A fresh id; `None` if the system provides no randomness.
    pub(crate) fn random() -> Option<Self> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).ok()?;
        Some(Self::of(u128::from_le_bytes(bytes)))
    }

    pub(crate) fn of(number: u128) -> Self {
        Self(number)
    }

    pub(crate) fn number(self) -> u128 {
        self.0
    }
}

impl fmt::Display for ClientId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for ClientId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClientId(..)")
    }
}

impl FromStr for ClientId {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        if text.len() != 32 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(());
        }
        u128::from_str_radix(text, 16).map(Self).map_err(drop)
    }
}
