//! Parts of a scheme's description.

use papir_core::{Limits, MAX_RECORDS, Security, UpdateCost, envelope};
use papir_lattice::gadget::GadgetParams;
use papir_lattice::security::Row;

/// Bytes of a message with a payload of this length, envelope included.
pub(crate) fn sealed(payload: usize) -> u64 {
    (envelope::OVERHEAD + payload) as u64
}

/// Bytes of the public part: encoded parameters of this length after their own length, and the
/// rest.
pub(crate) fn sealed_public(parameters: usize, rest: usize) -> u64 {
    sealed(8 + parameters + rest)
}

/// Security as the table of estimates states it.
pub(crate) fn security(row: &'static Row) -> Security {
    Security { bits: row.matzov, source: row.set }
}

/// A gadget's base, digits and dropped bits.
pub(crate) fn gadget(GadgetParams { levels, log_base, drop }: GadgetParams) -> String {
    format!("z = 2^{log_base}, l = {levels}, {drop} low bits dropped")
}

/// Limits of a scheme whose queries ask for one record and need no registration.
pub(crate) fn one_record(record_bits: u64, update: UpdateCost) -> Limits {
    Limits {
        records: MAX_RECORDS,
        record_bits,
        batch: 1,
        client_keys: false,
        tickets: false,
        owner_key: false,
        update,
    }
}
